/** The record of a simulated run: logs of clients and receivers, the upstream's books, the database's rows. */
import type { Plan } from './steps.ts';

export interface TillCall {
  number: number;
  what: 'sell' | 'read' | 'cancel' | 'probe' | 'last read' | 'refund' | 'refunds read';
  sale: number;
  /** Which of the consecutive equal sales that the cashier wanted, from 1; null unless a create. */
  meant: number | null;
  merchant_id: string;
  /** `point:<terminal>` or `qr:<point of sale>`. */
  unit: string;
  from: number;
  /** Time of the answer, of the till's timeout, or of the broken connection. */
  to: number | null;
  status: number | null;
  /** Of the intent, from the answer or the call. */
  legacy_id: string | null;
  /** Of the merchant order that was read; null for every other call. */
  merchant_order_id: number | null;
  /** From the answer. */
  state: string | null;
  amount: string | null;
  refund: RefundAsk | null;
  /** Number of the refund, from the answer. */
  refund_id: string | null;
  /** Status of the product's answer, whether the till received it or not; null before it. */
  left: number | null;
  row: RowThen | null;
  error: string | null;
}

export interface RefundAsk {
  payment_id: string;
  /** Null requests all that is left. */
  minor: number | null;
  /** The till's own; null without one. */
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
  /** The till's own, in the header; null without one. */
  key: string | null;
}

export interface UpstreamCall {
  at: number;
  name: string;
  merchant_id: string;
  key: string | null;
  body: string | null;
  path: string;
  /** The fault that the network applied; null without one. */
  fault: string | null;
  status: number | null;
  over_at: number | null;
  /** Number of the process run that made it. */
  life: number;
}

export interface ProxiedCall {
  at: number;
  /** Number of the till's call. */
  call: number | null;
  method: string;
  url: string;
  status: number | null;
}

export interface Webhook {
  at: number;
  order_id: string;
  action: string;
  /** `theirs`: by the upstream; `forged`: by an attacker; `again`: a real one, repeated. */
  from: 'theirs' | 'forged' | 'again';
  status: number | null;
  /** A committed row of it existed at the answer. */
  kept: boolean;
}

export interface Delivery {
  at: number;
  url: string;
  /** `point`, `payment`, `merchant_order`, or `topic_merchant_order_wh`, which contains a state. */
  topic: string;
  subject: string;
  state: string | null;
  status: number | null;
  /** The answer did not reach the product, which therefore can't know of it. */
  is_lost: boolean;
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
  detail: string | null;
  payment_id: string | null;
  refunds: { id: string; number: string; amount_minor: number; at: number }[];
  created_at: number;
  /** When it was paid, or ended without payment; null while it is open. */
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
  /** Its merchant's stage in the transaction that wrote the row; null for a merchant without a row. */
  stage_at_birth: string | null;
  /** When the row and the outcome of its create were committed: true epoch ms. Null while in doubt. */
  born_at: number;
  known_at: number | null;
  /** When its row last became one in doubt, true epoch ms; null: never. */
  doubted_at: number | null;
}

/** A call as it was recorded, in plans with ramps; times by the product's wall clock, epoch ms. */
export interface RecordedCall {
  merchant_id: string;
  operation: string;
  lane: 'legacy' | 'orders';
  outcome: string;
  at: number;
  duration_ms: number;
}

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
  ended_at: number;
  sales: SaleFacts[];
  calls: TillCall[];
  upstream: UpstreamCall[];
  proxied: ProxiedCall[];
  webhooks: Webhook[];
  deliveries: Delivery[];
  orders: Order[];
  intents: Intent[];
  links: LinkRow[];
  refunds: RefundRow[];
  events: { order_id: string | null; reference: string | null; state: string; received_at: number }[];
  notices: { legacy_id: string; state: string; topic: string }[];
  audits: AuditRow[];
  recorded: RecordedCall[];
  merchants: { id: string; stage: string | null }[];
  stages: { at: number; merchant_id: string; stage: string }[];
  /** Changes of the machine's wall clock; `at` in true epoch ms. */
  clocks: { at: number; by_ms: number }[];
  /** Starts of processes, once for each run. */
  starts: number[];
  /** Log lines or answers with a secret; unexpected errors. */
  leaks: string[];
  failures: string[];
  /** Work in flight at the end, and creates and refunds in the memory of the last process. */
  left: { under_way: number; unsettled: number; flights: number };
  /** The steps, and the product's settings that decide the expected results. */
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
