/** Stored notices and their deliveries, and events of the inbox. */
import type { NoticeTopic } from '../../mapping/schema.ts';

/** `point`: in the merchant's Point dialect when sent. `ipn`, `webhook`: of a QR sale (`docs/field-notes.md` QR §5). */
export type NoticeForm = 'point' | 'ipn' | 'webhook';

/** A notice for a merchant: a state of a link, with the facts at that moment. */
export interface NewNotice {
  legacy_id: string;
  merchant_id: string;
  topic: NoticeTopic;
  form: NoticeForm;
  /** The intent, payment or merchant order that it is about. */
  subject: string;
  /** Topic `point`: the flat intent body. Else the webhook's facts as JSON text (`docs/field-notes.md` QR §5.3). */
  body: string;
  created_at: number;
  next_attempt_at: number;
}

/** A stored notice: due until it is delivered, replaced, or given up. */
export interface Notice extends NewNotice {
  /** UUID, the same on every attempt. */
  id: string;
  /** Order within its link, from 1. */
  sequence: number;
  /** `superseded`: replaced, before its delivery, by a newer one of the same topic and id. */
  state: 'pending' | 'delivered' | 'dead' | 'superseded';
  /** Attempts that count against the receiver. */
  attempts: number;
}

/** One attempt to deliver a notice; `at` is its start, epoch ms. */
export interface Attempt {
  at: number;
  duration_ms: number;
  /** `theirs`: status, timeout, broken connection. `ours`: policy, no URL, no secret; not the receiver's fault. */
  outcome: 'delivered' | 'theirs' | 'ours';
  status: number | null;
  /** One sentence, without the receiver's body. */
  detail: string;
  /** Without path and parameters; null when nothing was sent. */
  url: string | null;
}

/** A notice as the delivery log shows it. */
export interface LoggedNotice extends Notice {
  /** Sent again at an operator's request. */
  replayed: boolean;
  /** All attempts, Puente's own failures included. */
  tries: number;
  last_attempt: Attempt | null;
}

/** A missing field does not filter. `since` and `until`: epoch ms of creation, [since, until). */
export interface NoticeFilter {
  legacy_id?: string;
  merchant_id?: string;
  states?: readonly Notice['state'][];
  topic?: NoticeTopic;
  since?: number;
  until?: number;
  min_attempts?: number;
}

export interface NoticeSum {
  topic: NoticeTopic;
  form: Notice['form'];
  state: Exclude<Notice['state'], 'superseded'>;
  /** Attempts that count against the receiver; 2 means two or more. */
  attempts: 0 | 1 | 2;
  count: number;
}

/** Legacy retried after 15 minutes: what is acknowledged later than that after it was made needed a retry. */
export const LATE_AFTER_MS = 15 * 60_000;

/** Attempts by merchant, receiver and outcome. */
export interface AttemptSum extends Pick<Attempt, 'url' | 'outcome'> {
  merchant_id: string;
  count: number;
  /** Of these, those made more than `LATE_AFTER_MS` after their notice, which was not delivered before. */
  late: number;
  /** Epoch ms of the newest. */
  last_at: number;
}

/** Received, not processed yet. */
export interface NewEvent {
  received_at: number;
  order_id: string | null;
  reference: string | null;
  user_id: string | null;
  verified: boolean;
  /** Action or status of the event, for the log. */
  action: string;
}

/** A stored event of upstream, and how far it was handled. */
export interface InboxEvent extends NewEvent {
  sequence: number;
  /** `pending`: to be read; `parked`: no link matches yet; `done`; `expired`: parked for too long. */
  state: 'pending' | 'parked' | 'done' | 'expired';
  attempts: number;
  next_attempt_at: number;
}

/** One turn through the merchants of a backlog: some notices of each. */
export interface NoticeTurn {
  now: number;
  /** Empty: from the first. */
  after_merchant: string;
  merchants: number;
  each: number;
  except_merchants: readonly string[];
}

/** The due notices of one merchant after a given one. */
export interface NoticesBehind {
  now: number;
  merchant_id: string;
  /** Null: from the oldest. */
  after: Pick<Notice, 'next_attempt_at' | 'created_at' | 'sequence' | 'id'> | null;
  limit: number;
}
