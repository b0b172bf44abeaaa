/** What the sandbox's two logs hold: the calls it got, and the notifications it sent. */

export interface RequestLine {
  at: string;
  method: string;
  path: string;
  idempotency_key: string | null;
  /** Null while unanswered, or when the answer never left. */
  status: number | null;
}

export interface SentLine {
  at: string;
  url: string;
  /** `order` webhooks, or the legacy dialects. */
  topic: string;
  /** The order or intent announced. */
  subject: string;
  action: string;
  /** Counted from 1. */
  attempt: number;
  /** Status of the receiver, or null with the reason. */
  status: number | null;
  failure: string | null;
}
