/** An order of either type as the sandbox keeps it. Source: `interface.md` Order, `orders-api.md` §1.3, §3.2. */
import type { Merchant, PointOfSale } from './cast.ts';
import type { Timer } from './clock.ts';

export type OrderStatus =
  | 'created'
  | 'at_terminal'
  | 'processed'
  | 'failed'
  | 'action_required'
  | 'canceled'
  | 'expired'
  | 'refunded';

export interface Refund {
  id: string;
  transaction_id: string;
  reference_id: string;
  amount_minor: number;
  status: 'processing' | 'processed' | 'failed';
}

/** What the buyer pays. An order of a cash withdrawal alone has one of nothing, which is not shown. */
export interface Transaction {
  id: string;
  amount_minor: number;
  status: OrderStatus;
  /** Null on creation: a new Point order shows none (`orders-api.md` §1.3). */
  status_detail: string | null;
  reference_id: number | null;
  paid_minor: number | null;
  tip_minor: number;
  refunded_minor: number;
  payment_method: { type: string; id: string; installments: number } | null;
}

/** Where a Point order is paid. */
export interface AtTerminal {
  type: 'point';
  terminal_id: string;
  print_on_terminal: string;
  ticket_number: string | undefined;
}

/** Where a QR order is paid, and what only QR orders have. */
export interface AtTill {
  type: 'qr';
  pos: PointOfSale;
  external_pos_id: string;
  mode: 'static' | 'dynamic' | 'hybrid';
  /** The order's own code, unless it is static. */
  qr_data: string | undefined;
  /** Echoed as sent. */
  items: readonly { external_categories?: unknown[] }[] | undefined;
  discounts: { payment_methods: readonly { type: string; new_total_minor: number }[]; sent: unknown } | undefined;
  /** Cash that the buyer takes away; its state is the transaction's. */
  withdrawal: { id: string; amount_minor: number; refunded_minor: number } | null;
  has_payment: boolean;
  /** A buyer has begun to pay: nobody can cancel, and the expiry waits. */
  is_locked: boolean;
  is_expiry_due: boolean;
  /** Set when a discount applied: the method it applied with. */
  discount_type: string | undefined;
}

export interface Order {
  id: string;
  merchant: Merchant;
  external_reference: string;
  description: string | undefined;
  expiration_time: string;
  place: AtTerminal | AtTill;
  /** Of QR, as sent. */
  total_amount: string | undefined;
  marketplace_fee: string | undefined;
  /** `config.payment_method` and `integration_data`, echoed as sent. */
  payment_method: Record<string, unknown> | undefined;
  integration_data: Record<string, unknown> | undefined;
  status: OrderStatus;
  status_detail: string;
  created_at_ms: number;
  updated_at_ms: number;
  paid_at_ms: number | null;
  /** Rises with each change. */
  version: number;
  transaction: Transaction;
  refunds: Refund[];
  /** Expiry and terminal steps; all are canceled once the order is over. */
  timers: Timer[];
}

/** Minor units that the order asks for: the payment and, if there is one, the withdrawal. */
export function totalMinor(order: Order): number {
  return order.transaction.amount_minor + withdrawnMinor(order);
}

/** Minor units of cash that the order hands out. */
export function withdrawnMinor({ place }: Order): number {
  return place.type === 'qr' ? (place.withdrawal?.amount_minor ?? 0) : 0;
}

export function isCard(payment_method_type: string): boolean {
  return payment_method_type === 'credit_card' || payment_method_type === 'debit_card';
}
