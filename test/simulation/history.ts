/** What a simulated run leaves behind, seen from outside: clients' log, upstream's books, receivers' log, and the database's rows. */

import type { Plan } from './steps.ts';

/** One call of a till. */
export interface TillCall {
  number: number;
  what: 'sell' | 'read' | 'cancel' | 'probe' | 'last read' | 'refund' | 'refunds read';
  /** The sale that it is about. */
  sale: number;
  /** Which of the equal sales that the cashier wanted one after the other, from 1; null for a call that is no create. */
  meant: number | null;
  merchant_id: string;
  /** `point:<terminal>` or `qr:<point of sale>`. */
  unit: string;
  from: number;
  /** When the answer came, or the till gave up, or the connection broke. */
  to: number | null;
  /** Null without an answer. */
  status: number | null;
  /** Of the intent, where an answer or the call names one. */
  legacy_id: string | null;
  /** Of the merchant order that was read; null for every other call. */
  merchant_order_id: number | null;
  /** As an answer shows them. */
  state: string | null;
  amount: string | null;
  /** What was asked back; null for every other call. */
  refund: RefundAsk | null;
  /** Number of the refund, as an answer shows it. */
  refund_id: string | null;
  /** Status of the answer that the product gave, whether the till received it or not; null while it has given none. */
  left: number | null;
  /** The committed row when the answer left. */
  row: RowThen | null;
  error: string | null;
}

export interface RefundAsk {
  payment_id: string;
  /** Null asks for everything that is left. */
  minor: number | null;
  /** The till's own; null for one that sends none. */
  key: string | null;
}

export interface RowThen {
  state: string;
  client_answer: string;
  order_id: string | null;
  legacy_state: string;
}

export interface SaleFacts {
  number: number;
  kind: 'point' | 'static' | 'dynamic';
  merchant_id: string;
  unit: string;
  amount_minor: number;
  /** The till's own, in the header; null for one that sends none. */
  key: string | null;
}

/** A call that the product made, as the network saw it. */
export interface UpstreamCall {
  at: number;
  name: string;
  merchant_id: string;
  key: string | null;
  /** The whole body as text; null without one. */
  body: string | null;
  path: string;
  /** What was done to it on the way; null for nothing. */
  fault: string | null;
  /** What the product was answered; null without an answer. */
  status: number | null;
  over_at: number | null;
  /** Which run of the process made it. */
  life: number;
}

/** A call that was proxied to legacy. */
export interface CarriedCall {
  at: number;
  /** The till's call that it is. */
  call: number | null;
  method: string;
  url: string;
  status: number | null;
}

export interface Webhook {
  at: number;
  order_id: string;
  action: string;
  /** `theirs`: by the upstream; `forged`: by somebody else; `again`: a real one, sent once more. */
  from: 'theirs' | 'forged' | 'again';
  status: number | null;
  /** At the answer a committed row of it was there. */
  kept: boolean;
}

export interface Delivery {
  at: number;
  url: string;
  /** `point`, `payment`, `merchant_order`, or `topic_merchant_order_wh`, which tells a state. */
  topic: string;
  subject: string;
  state: string | null;
  status: number | null;
}

export interface Order {
  id: string;
  merchant_id: string;
  unit: string;
  /** Of a QR order; those of mode `dynamic` hold no unit. */
  mode: string | null;
  reference: string;
  amount_minor: number;
  status: string;
  /** Who canceled it. */
  detail: string | null;
  payment_id: string | null;
  refunds: { id: string; number: string; amount_minor: number; at: number }[];
  created_at: number;
  /** When it was paid, or was over without; null while it is open. */
  ended_at: number | null;
}

export interface Intent {
  id: string;
  merchant_id: string;
  unit: string;
  amount_minor: number;
  status: string;
  created_at: number;
  ended_at: number | null;
}

export interface LinkRow {
  legacy_id: string;
  merchant_id: string;
  family: string;
  unit: string;
  slot: string | null;
  reference_sent: string;
  idempotency_key: string;
  amount_minor: number;
  state: string;
  client_answer: string;
  order_id: string | null;
  order_version: string | null;
  legacy_state: string;
  merchant_order_id: number | null;
  payment_id: string | null;
  created_at: number;
  expires_at: number;
  /** Its merchant's, in the transaction that wrote the row; null for a merchant without a row. */
  stage_at_birth: string | null;
  /** When it was committed, and when the outcome of its create was: epoch ms of the true clock. Null while that is in doubt. */
  born_at: number;
  known_at: number | null;
}

/** A refund that was asked for, as the product has written it down. */
export interface RefundRow {
  id: string;
  number: string;
  legacy_id: string;
  payment_id: string;
  idempotency_key: string;
  state: string;
  upstream_id: string | null;
  reference_id: string | null;
  refunded_minor: number | null;
  created_at: number;
}

export interface History {
  seed: number;
  /** When it was over, epoch ms. */
  ended_at: number;
  sales: SaleFacts[];
  calls: TillCall[];
  upstream: UpstreamCall[];
  carried: CarriedCall[];
  webhooks: Webhook[];
  deliveries: Delivery[];
  orders: Order[];
  intents: Intent[];
  links: LinkRow[];
  refunds: RefundRow[];
  events: { order_id: string | null; reference: string | null; state: string; received_at: number }[];
  notices: { legacy_id: string; state: string; topic: string }[];
  audits: AuditRow[];
  merchants: { id: string; stage: string | null }[];
  /** Stages as they were set: [at, merchant, stage]. */
  stages: { at: number; merchant_id: string; stage: string }[];
  /** When the machine's wall clock was set, true epoch ms, and by how much. */
  clocks: { at: number; by_ms: number }[];
  /** When a process started, each life once. */
  starts: number[];
  /** Log lines or answers that show a secret; errors that nobody expected. */
  leaks: string[];
  failures: string[];
  /** What was still going on at the end, and what the last process still remembered of creates and refunds. */
  left: { under_way: number; unsettled: number; flights: number };
  /** What happened, and what of the product's settings decides what is right. */
  steps: Plan['steps'];
  product: Plan['product'];
}

export interface AuditRow {
  sequence: number;
  at: number;
  who: string;
  action: string;
  subject: string;
  reason: string;
  detail: unknown;
  hash: string;
}
