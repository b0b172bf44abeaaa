/** What the store keeps for telling merchants: which notices are due, and what came of each attempt. */
import type { Attempt, Notice } from './notices.ts';

/** Which part of a backlog of notices is asked for. */
export interface NoticeTurn {
  now: number;
  /** Empty: from the beginning. */
  after_merchant: string;
  merchants: number;
  each: number;
  except_merchants: readonly string[];
}

/** The notices of one merchant behind a certain one. */
export interface NoticesBehind {
  now: number;
  merchant_id: string;
  /** Null: from the oldest on. */
  after: Pick<Notice, 'next_attempt_at' | 'created_at' | 'sequence' | 'id'> | null;
  limit: number;
}

export interface DeliveryStore {
  /**
   * Due notices, oldest first, each on its own schedule. Where several processes share the store, one whose predecessor of the
   * same topic and id was superseded during an attempt is handed to the process of that attempt alone: the notifier there
   * keeps the two in order.
   */
  dueNotices(now: number, limit: number): Promise<Notice[]>;
  /**
   * The same in turns, for a backlog in which one merchant's notices would hide the others': of each merchant its oldest,
   * at most `each`; merchants in the order of their ids from after `after_merchant` on, without `except_merchants`, at
   * most `merchants`. `last_merchant` is where the next turn goes on; null when this was the last one.
   */
  dueNoticesInTurn(turn: NoticeTurn): Promise<{ notices: Notice[]; last_merchant: string | null }>;
  /** Due notices of one merchant, oldest first, for a merchant whose oldest have to wait for their receiver's place. */
  dueNoticesBehind(asked: NoticesBehind): Promise<Notice[]>;
  /** Makes a merchant's pending notices due now, e.g. after its URL was set. */
  hastenNotices(merchant_id: string, now: number): Promise<void>;
  /**
   * Writes an attempt, and the notice's new state and next attempt, in one transaction: the one place in which a notice
   * becomes delivered. One that was superseded meanwhile stays so, unless it was delivered.
   * @throws PuenteError conflict when another attempt was recorded meanwhile.
   */
  recordAttempt(
    notice: Notice,
    attempt: Attempt,
    next: { state: Notice['state']; next_attempt_at: number },
  ): Promise<void>;
}
