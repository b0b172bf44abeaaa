/** What a world of the sandbox keeps: orders, payments with their refunds and chargebacks, invoices, and faults that are set. */

import { z } from 'zod';
import type { paymentStatuses } from '../contract/payments.ts';
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
  /** Null on creation: a new Point order shows none (`docs/field-notes.md` Orders §1.3). */
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

/** A refund of a payment, made through the payments API, an order or a terminal. */
export interface PaymentRefund {
  id: number;
  amount_minor: number;
  status: 'approved' | 'in_process' | 'rejected';
  created_at_ms: number;
}

/** The buyer's bank asks for the money of a payment back; `GET /v1/chargebacks/{id}` shows it. */
export interface Chargeback {
  id: number;
  payment_id: number;
  merchant_id: string;
  /** Minor units. */
  amount_minor: number;
  /** `won`: the seller keeps the money; `lost`: the buyer has it back. */
  status: 'opened' | 'won' | 'lost';
  created_at_ms: number;
  updated_at_ms: number;
}

/** A payment as `GET /v1/payments/{id}` knows it; amounts in minor units of the site's currency. */
export interface Payment {
  id: number;
  merchant_id: string;
  status: (typeof paymentStatuses)[number];
  status_detail: string;
  amount_minor: number;
  tip_minor: number;
  refunded_minor: number;
  external_reference: string | null;
  description: string | null;
  payment_type_id: string;
  payment_method_id: string;
  installments: number;
  created_at_ms: number;
  updated_at_ms: number;
  refunds: PaymentRefund[];
  /** The till of a QR payment, and the terminal's otherwise. */
  pos: PointOfSale | null;
  /** What the payment was made for; `legacy_qr` names the `in_store_order_id`, `invoice` that of a subscription. */
  origin: { kind: 'order' | 'intent' | 'legacy_qr' | 'invoice'; id: string };
  /** Of a legacy QR payment; shown as `order.id`. */
  merchant_order_id: number | null;
}

export const invoiceStatuses = ['scheduled', 'processed', 'recycling', 'canceled'] as const;

export const summaries = ['pending', 'done'] as const;

export const invoicePaymentStatuses = [
  'pending',
  'approved',
  'authorized',
  'in_process',
  'in_mediation',
  'rejected',
  'canceled',
  'refunded',
  'charged_back',
] as const;

export interface Invoice {
  id: number;
  merchant_id: string;
  status: (typeof invoiceStatuses)[number];
  summarized: (typeof summaries)[number];
  preapproval_id: string;
  reason: string;
  external_reference: string;
  /** Minor units of the site's currency. */
  amount_minor: number;
  payer_id: number;
  retry_attempt: number;
  created_at_ms: number;
  modified_at_ms: number;
  debit_at_ms: number;
  /** Null before the first attempt. */
  payment: { id: number; status: (typeof invoicePaymentStatuses)[number]; status_detail: string } | null;
}

/**
 * `refuse`: the socket is destroyed before the body is read. `reset`: the connection is reset. `delay`: real time passes.
 * `error`: an answer with this status and code. `truncate`: half of the true answer, then a reset. `no_answer`: silence.
 * `html`: an HTML page instead of JSON. `alter`: the true answer with other values, named in `set`.
 */
export const faultSchema = z.strictObject({
  method: z.string().toUpperCase().default('*'),
  /** The path without query; `*` stands for any text. */
  path: z.string().min(1),
  merchant: z.string().optional(),
  kind: z.enum(['refuse', 'reset', 'delay', 'error', 'truncate', 'no_answer', 'html', 'alter']),
  /** Before: the request has no effect. After: it has its effect, and only the answer is spoiled. */
  when: z.enum(['before', 'after']).default('before'),
  /** The first matching request it acts on, counted from 1. */
  nth: z.int().min(1).default(1),
  /** How many requests it acts on. */
  times: z.union([z.int().min(1), z.literal('always')]).default(1),
  delay_ms: z.int().min(0).max(600_000).default(1000),
  status: z.int().min(200).max(599).optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  details: z.array(z.string()).optional(),
  /** For `alter`: dotted paths in the answer, such as `transactions.payments.0.amount`; null takes the value away. */
  set: z.record(z.string(), z.json()).optional(),
});

export type FaultRule = z.infer<typeof faultSchema>;

export interface Fault {
  rule: FaultRule;
  pattern: RegExp;
  /** Requests that matched, and requests it acted on. */
  matched: number;
  acted: number;
}
