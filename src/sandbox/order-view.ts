/** An order in answers and webhooks. Source: `docs/field-notes.md` Spec Order, Orders §1.3, §3.2, §4.1. */

import type { Exponent } from '../contract/sites.ts';
import { isoDate } from './dates.ts';
import { amountText, plainAmountText, totalMinor, withdrawnMinor } from './money.ts';
import type { AtTerminal, AtTill, Order, Refund } from './records.ts';
import type { World } from './world.ts';

/**
 * The order as upstream's `GET /v1/orders/{id}` has it (`docs/field-notes.md` Orders §3.2); amounts are decimal texts.
 */
export function renderOrder(world: World, order: Order): object {
  const { settings } = world;
  const { place } = order;
  const { site, application_id } = world.merchant(order.merchant_id);
  return {
    id: order.id,
    type: place.type,
    user_id: order.merchant_id,
    external_reference: order.external_reference,
    description: order.description,
    expiration_time: order.expiration_time,
    ...(place.type === 'qr' && renderTotals(order, place, site.exponent)),
    marketplace_fee: order.marketplace_fee,
    processing_mode: 'automatic',
    country_code: settings.country_code === 'alpha3' ? site.country_alpha3 : site.country_alpha2,
    currency: site.currency,
    integration_data: { application_id, ...order.integration_data },
    status: order.status,
    status_detail: order.status_detail,
    created_date: isoDate(order.created_at_ms, settings.date_fraction_digits),
    last_updated_date: isoDate(order.updated_at_ms, settings.date_fraction_digits),
    config: { ...renderPlace(place), payment_method: order.payment_method },
    type_response: place.type === 'qr' && place.qr_data !== undefined ? { qr_data: place.qr_data } : undefined,
    transactions: {
      payments: place.type === 'qr' && !place.has_payment ? undefined : [renderTransaction(order, site.exponent)],
      cash_outs: place.type === 'qr' ? renderWithdrawal(order, place, site.exponent) : undefined,
      refunds:
        order.refunds.length === 0 ? undefined : order.refunds.map((refund) => renderRefund(refund, site.exponent)),
    },
    items: place.type === 'qr' ? place.items : undefined,
    discounts: place.type === 'qr' ? place.discounts?.sent : undefined,
  };
}

/** `total_paid_amount` was seen in a live GET of a QR order (`docs/field-notes.md` Orders §3.2). */
function renderTotals(order: Order, place: AtTill, exponent: Exponent): object {
  const paid_minor = order.transaction.paid_minor;
  return {
    total_amount: order.total_amount ?? amountText(totalMinor(order), exponent),
    total_paid_amount:
      paid_minor === null ? undefined : amountText(paid_minor + (place.withdrawal?.amount_minor ?? 0), exponent),
  };
}

function renderPlace(place: AtTerminal | AtTill): object {
  if (place.type === 'qr') return { qr: { external_pos_id: place.external_pos_id, mode: place.mode } };
  const { terminal_id, print_on_terminal, ticket_number } = place;
  return { point: { terminal_id, print_on_terminal, ticket_number } };
}

function renderTransaction({ transaction, place }: Order, exponent: Exponent): object {
  const paid = transaction.payment_method;
  const text = (minor: number): string => amountText(minor, exponent);
  const discount_type = place.type === 'qr' ? place.discount_type : undefined;
  return {
    id: transaction.id,
    amount: text(transaction.amount_minor),
    paid_amount: transaction.paid_minor === null ? undefined : text(transaction.paid_minor),
    tip_amount: transaction.tip_minor === 0 ? undefined : text(transaction.tip_minor),
    refunded_amount: transaction.refunded_minor === 0 ? undefined : text(transaction.refunded_minor),
    status: transaction.status,
    status_detail: transaction.status_detail ?? undefined,
    reference_id: transaction.reference_id === null ? undefined : String(transaction.reference_id),
    payment_method: paid ?? undefined,
    card: paid !== null && isCard(paid.type) ? INVENTED_CARD : undefined,
    discounts: discount_type === undefined ? undefined : { type: discount_type },
  };
}

/** Has the shape of a payment; the vendor's page shows only the request. */
function renderWithdrawal({ transaction }: Order, { withdrawal }: AtTill, exponent: Exponent): object[] | undefined {
  if (withdrawal === null) return undefined;
  const { id, amount_minor, refunded_minor } = withdrawal;
  return [
    {
      id,
      amount: amountText(amount_minor, exponent),
      refunded_amount: refunded_minor === 0 ? undefined : amountText(refunded_minor, exponent),
      status: transaction.status,
      status_detail: transaction.status_detail ?? undefined,
      reference_id: transaction.reference_id === null ? undefined : String(transaction.reference_id),
    },
  ];
}

const INVENTED_CARD = { first_digits: '503175', last_digits: '0604' };

/** One element of `transactions.refunds` (`docs/field-notes.md` Orders §2); the amount is a decimal text. */
export function renderRefund(refund: Refund, exponent: Exponent): object {
  return {
    id: refund.id,
    transaction_id: refund.transaction_id,
    reference_id: refund.reference_id,
    amount: amountText(refund.amount_minor, exponent),
    status: refund.status,
  };
}

/** The `data` node of a webhook: amounts may lack decimals, and the payment number is nested as `reference.id`. */
export function renderEventData(world: World, order: Order): object {
  const { transaction, place } = order;
  const { exponent } = world.merchant(order.merchant_id).site;
  const text = (minor: number): string =>
    (world.settings.webhook_amounts === 'plain' ? plainAmountText : amountText)(minor, exponent);
  const paid = transaction.paid_minor;
  const states = {
    status: transaction.status,
    status_detail: transaction.status_detail ?? undefined,
    reference: transaction.reference_id === null ? undefined : { id: String(transaction.reference_id) },
  };
  const payment = {
    id: transaction.id,
    amount: text(transaction.amount_minor),
    paid_amount: paid === null ? undefined : text(paid),
    refunded_amount: transaction.refunded_minor === 0 ? undefined : text(transaction.refunded_minor),
    ...states,
    payment_method: transaction.payment_method ?? undefined,
  };
  const withdrawal = place.type === 'qr' ? place.withdrawal : null;
  return {
    id: order.id,
    type: place.type,
    version: order.version,
    external_reference: order.external_reference,
    status: order.status,
    status_detail: order.status_detail,
    total_paid_amount: paid === null ? undefined : text(paid + withdrawnMinor(order)),
    transactions: {
      payments: place.type === 'qr' && !place.has_payment ? undefined : [payment],
      cash_outs:
        withdrawal === null ? undefined : [{ id: withdrawal.id, amount: text(withdrawal.amount_minor), ...states }],
    },
  };
}

/** Other types have no card fields. */
export function isCard(payment_method_type: string): boolean {
  return payment_method_type === 'credit_card' || payment_method_type === 'debit_card';
}
