/** The history of QR sales and refunds: the tills' log, the upstream's books, the notices, and the reads at the end. */

export type QrKind = 'v2' | 'v1' | 'dynamic';

export interface SaleFacts {
  /** Also in the title of its only item, `sale-<number>`, which identifies the sale in the upstream's books. */
  number: number;
  kind: QrKind;
  pos: string;
  reference: string;
  amount_minor: number;
}

/** Calls are in the order in which they began; several creates of one sale are retries. */
export interface TillCall {
  what: 'create' | 'remove';
  pos: string;
  sale: number | null;
  /** Null when the connection broke before an answer. */
  status: number | null;
  qr_data: string | null;
}

/** One refund that a cashier wants, with all tries of the till. */
export interface RefundAsk {
  number: number;
  sale: number;
  /** Null requests the rest. */
  amount_minor: number | null;
  key: string | null;
  /** The till had read the payment with the earlier refunds, so this one is not a repetition. */
  knows_earlier: boolean;
  calls: { status: number | null; refund_id: string | null; amount_minor: number | null }[];
}

export interface BookedOrder {
  id: string;
  pos: string;
  mode: string;
  title: string;
  total_minor: number;
  amount_minor: number;
  status: string;
  is_partly_refunded: boolean;
  /** `status_detail` of its payment, which depends on the canceling party. */
  detail: string;
  qr_data: string | null;
  created_at: number;
  /** When it stopped being payable; null while it is payable. */
  ended_at: number | null;
  payment_id: string | null;
  refunds: { id: string; amount_minor: number }[];
}

export interface BookedPayment {
  id: string;
  amount_minor: number;
  refunded_minor: number;
}

export interface ToldNotice {
  topic: 'payment' | 'merchant_order';
  id: string;
  /** The state in a webhook of a merchant order: `opened`, `closed` or `expired`; otherwise null. */
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
  open_after_recovery: string[];
  orders: BookedOrder[];
  payments: BookedPayment[];
  notices: ToldNotice[];
  /** Reads of everything that a notice named, after the last restart. */
  merchant_orders: Map<string, MerchantOrderRead>;
  payment_reads: Map<string, PaymentRead>;
  reported: string[];
  /** Orders whose answer a kill may have cut off, although a notice of them was acknowledged. */
  known_by_notice: string[];
  probes: { pos: string; status: number | null }[];
  unsettled: string[];
  integrity: string;
}
