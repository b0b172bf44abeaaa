/** What a history of QR sales and refunds is made of: the tills' log, the upstream's books, the notices, and the reads at the end. */

export type QrKind = 'v2' | 'v1' | 'dynamic';

export interface SaleFacts {
  /** Also the title of its only item, `sale-<number>`, by which the upstream's books name it. */
  number: number;
  kind: QrKind;
  pos: string;
  /** The till's own. */
  reference: string;
  amount_minor: number;
}

/** A call of a till, in the order in which they were begun; several creates of one sale are retries. */
export interface TillCall {
  what: 'create' | 'remove';
  pos: string;
  /** Null for a remove. */
  sale: number | null;
  /** Null when the connection broke before an answer. */
  status: number | null;
  /** The code of a dynamic sale that was answered. */
  qr_data: string | null;
}

/** One refund that a cashier wants, however often the till has to ask for it. */
export interface RefundAsk {
  number: number;
  sale: number;
  /** Null asks for all that is left. */
  amount_minor: number | null;
  key: string | null;
  /** The till had found the payment with the refunds before this one, so that this one is none of them. */
  knows_earlier: boolean;
  /** `refund_id` and `amount_minor` as a 201 tells them. */
  calls: { status: number | null; refund_id: string | null; amount_minor: number | null }[];
}

export interface BookedOrder {
  id: string;
  pos: string;
  mode: string;
  /** The title of its first item. */
  title: string;
  total_minor: number;
  /** Of its one payment. */
  amount_minor: number;
  status: string;
  is_partly_refunded: boolean;
  /** `status_detail` of its payment: says who canceled. */
  detail: string;
  qr_data: string | null;
  created_at: number;
  /** When it could not be paid any more; null while it can. */
  ended_at: number | null;
  payment_id: string | null;
  refunds: { id: string; amount_minor: number }[];
}

export interface BookedPayment {
  id: string;
  amount_minor: number;
  refunded_minor: number;
}

/** A notice as the receiver got it, IPN or webhook. */
export interface ToldNotice {
  topic: 'payment' | 'merchant_order';
  id: string;
  /** What a webhook of a merchant order says: `opened`, `closed` or `expired`; null where a notice tells no state. */
  status: string | null;
  /** The path of an IPN's `resource`; null in a webhook. */
  resource: string | null;
}

export interface MerchantOrderRead {
  http: number;
  reference: string;
  order_status: string;
  total_minor: number;
  payments: string[];
}

export interface PaymentRead {
  http: number;
  amount_minor: number;
  refunded_minor: number;
}

export interface QrHistory {
  sales: SaleFacts[];
  calls: TillCall[];
  asks: RefundAsk[];
  /** Orders that could still be paid when recovery was through, before anybody's time ran out. */
  open_after_recovery: string[];
  orders: BookedOrder[];
  payments: BookedPayment[];
  notices: ToldNotice[];
  /** GET of everything that a notice named, after the last restart. */
  merchant_orders: Map<string, MerchantOrderRead>;
  payment_reads: Map<string, PaymentRead>;
  /** Orders that Puente's own report names. */
  reported: string[];
  /** Orders that a kill may have hidden from their tills, although a notice of them was acknowledged. */
  heard_by_notice: string[];
  /** A last create on every point of sale. */
  probes: { pos: string; status: number | null }[];
  /** What recovery had not done in time, in words. */
  unsettled: string[];
  /** Answer of SQLite's own check of the file. */
  integrity: string;
}
