/** What the store keeps of notices: what each tells, how it stands, and the log of their delivery. */
import type { NoticeTopic } from '../../mapping/schema.ts';

/** `point`: as the merchant's Point dialect says when it is sent. `ipn`, `webhook`: of a QR sale (`docs/field-notes.md` QR §5). */
export type NoticeForm = 'point' | 'ipn' | 'webhook';

/** A notification to be told to a merchant: which state of which link, with the facts as they were at that moment. */
export interface NewNotice {
  legacy_id: string;
  merchant_id: string;
  topic: NoticeTopic;
  form: NoticeForm;
  /** The intent, payment or merchant order it is about. */
  subject: string;
  /** Topic `point`: the flat intent body. Otherwise the facts of the webhook form, JSON text (`docs/field-notes.md` QR §5.3). */
  body: string;
  created_at: number;
  next_attempt_at: number;
}

export interface Notice extends NewNotice {
  /** UUID, the same on every attempt. */
  id: string;
  /** Order within its link, from 1. */
  sequence: number;
  /** `superseded`: a newer one of the same topic and id was made before this one was delivered, and goes out in its place. */
  state: 'pending' | 'delivered' | 'dead' | 'superseded';
  /** Those that count against the receiver. */
  attempts: number;
}

export interface Attempt {
  at: number;
  duration_ms: number;
  /** `theirs`: status, timeout, broken connection. `ours`: blocked by policy, no URL, no secret; never counts against the receiver. */
  outcome: 'delivered' | 'theirs' | 'ours';
  status: number | null;
  /** One sentence, no body of the receiver. */
  detail: string;
  /** Where it went, without path and parameters; null when it went nowhere. */
  url: string | null;
}

/** A notice as the delivery log shows it. */
export interface LoggedNotice extends Notice {
  /** Asked for again by an operator. */
  replayed: boolean;
  /** All attempts, our own faults too. */
  tries: number;
  last_attempt: Attempt | null;
}

/** Which notices are meant; what is not named is not asked for. `since` and `until`: epoch ms of creation, [since, until). */
export interface NoticeFilter {
  legacy_id?: string;
  merchant_id?: string;
  states?: readonly Notice['state'][];
  topic?: NoticeTopic;
  since?: number;
  until?: number;
  /** Tried at least so often. */
  min_attempts?: number;
}

/** Notices that stand alike. */
export interface NoticeSum {
  topic: NoticeTopic;
  form: Notice['form'];
  state: Exclude<Notice['state'], 'superseded'>;
  /** Attempts that count against the receiver; 2 stands for more too. */
  attempts: 0 | 1 | 2;
  count: number;
}

/** An event as it came in, before anything is done with it. */
export interface NewEvent {
  received_at: number;
  order_id: string | null;
  reference: string | null;
  user_id: string | null;
  verified: boolean;
  /** What was announced, for the log: action or status. */
  action: string;
}

export interface InboxEvent extends NewEvent {
  sequence: number;
  /** `pending`: to be read; `parked`: no link matches yet; `done`; `expired`: parked for too long. */
  state: 'pending' | 'parked' | 'done' | 'expired';
  attempts: number;
  next_attempt_at: number;
}
