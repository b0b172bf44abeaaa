/** An order as the sandbox keeps it, and as it shows it in answers and webhooks. Source: `interface.md` Order, `orders-api.md` §1.3, §3.2, §4.1. */
import type { Settings } from './assumptions.ts';
import type { Merchant } from './cast.ts';
import type { Timer } from './clock.ts';
import { isoDate } from './dates.ts';
import { amountText, plainAmountText } from './money.ts';

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
  status: 'processing' | 'processed';
}

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

export interface Order {
  id: string;
  merchant: Merchant;
  external_reference: string;
  description: string | undefined;
  expiration_time: string;
  terminal_id: string;
  print_on_terminal: string;
  ticket_number: string | undefined;
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

/** The full order of create, get and cancel answers. */
export function renderOrder(order: Order, settings: Settings): object {
  const { site } = order.merchant;
  return {
    id: order.id,
    type: 'point',
    user_id: order.merchant.user_id,
    external_reference: order.external_reference,
    description: order.description,
    expiration_time: order.expiration_time,
    processing_mode: 'automatic',
    country_code: settings.country_code === 'alpha3' ? site.country_alpha3 : site.country_alpha2,
    currency: site.currency,
    integration_data: { application_id: order.merchant.application_id, ...order.integration_data },
    status: order.status,
    status_detail: order.status_detail,
    created_date: isoDate(order.created_at_ms, settings.date_fraction_digits),
    last_updated_date: isoDate(order.updated_at_ms, settings.date_fraction_digits),
    config: {
      point: {
        terminal_id: order.terminal_id,
        print_on_terminal: order.print_on_terminal,
        ticket_number: order.ticket_number,
      },
      payment_method: order.payment_method,
    },
    transactions: {
      payments: [renderTransaction(order.transaction)],
      refunds: order.refunds.length === 0 ? undefined : order.refunds.map(renderRefund),
    },
  };
}

function renderTransaction(transaction: Transaction): object {
  const paid = transaction.payment_method;
  return {
    id: transaction.id,
    amount: amountText(transaction.amount_minor),
    paid_amount: transaction.paid_minor === null ? undefined : amountText(transaction.paid_minor),
    tip_amount: transaction.tip_minor === 0 ? undefined : amountText(transaction.tip_minor),
    refunded_amount: transaction.refunded_minor === 0 ? undefined : amountText(transaction.refunded_minor),
    status: transaction.status,
    status_detail: transaction.status_detail ?? undefined,
    reference_id: transaction.reference_id === null ? undefined : String(transaction.reference_id),
    payment_method: paid ?? undefined,
    card: paid !== null && isCard(paid.type) ? INVENTED_CARD : undefined,
  };
}

const INVENTED_CARD = { first_digits: '503175', last_digits: '0604' };

export function isCard(payment_method_type: string): boolean {
  return payment_method_type === 'credit_card' || payment_method_type === 'debit_card';
}

/** A node of `transactions.refunds[]`. */
export function renderRefund(refund: Refund): object {
  return {
    id: refund.id,
    transaction_id: refund.transaction_id,
    reference_id: refund.reference_id,
    amount: amountText(refund.amount_minor),
    status: refund.status,
  };
}

/** The `data` node of a webhook: amounts may lack decimals, and the payment number is nested as `reference.id`. */
export function renderEventData(order: Order, settings: Settings): object {
  const text = settings.webhook_amounts === 'plain' ? plainAmountText : amountText;
  const { transaction } = order;
  const paid = transaction.paid_minor;
  return {
    id: order.id,
    type: 'point',
    version: order.version,
    external_reference: order.external_reference,
    status: order.status,
    status_detail: order.status_detail,
    total_paid_amount: paid === null ? undefined : text(paid),
    transactions: {
      payments: [
        {
          id: transaction.id,
          amount: text(transaction.amount_minor),
          paid_amount: paid === null ? undefined : text(paid),
          refunded_amount: transaction.refunded_minor === 0 ? undefined : text(transaction.refunded_minor),
          status: transaction.status,
          status_detail: transaction.status_detail ?? undefined,
          reference: transaction.reference_id === null ? undefined : { id: String(transaction.reference_id) },
          payment_method: transaction.payment_method ?? undefined,
        },
      ],
    },
  };
}
