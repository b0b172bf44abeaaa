/** What the store keeps for telling merchants: which notices are due, and what came of each attempt. */
import type { Notice } from './notices.ts';

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
