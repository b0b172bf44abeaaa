/** Payments and refunds as the payments API shows them. Source: `docs/field-notes.md` QR §3, field lists. */
import { hash } from 'node:crypto';
import { offsetDate } from '../dates.ts';
import { amountNumber } from '../money.ts';
import type { Merchant, Payment, PaymentRefund } from '../records.ts';
import type { World } from '../world.ts';

/** Invented fee of each payment, in thousandths, so that net and gross differ. */
const FEE_PER_MILLE = 8;
/** Statuses of payments whose money was taken at some time. */
const takenStatuses: readonly Payment['status'][] = ['approved', 'in_mediation', 'refunded', 'charged_back'];

/** The payment as `GET /v1/payments/{id}` has it (`docs/field-notes.md` QR §3); amounts are JSON numbers. */
export function renderPayment(world: World, payment: Payment): object {
  const merchant = world.merchant(payment.merchant_id);
  const amount = (minor: number): number => amountNumber(minor, merchant.site);
  return {
    id: payment.id,
    ...renderDates(payment),
    operation_type: payment.origin.kind === 'invoice' ? 'recurring_payment' : 'regular_payment',
    issuer_id: null,
    payment_method_id: payment.payment_method_id,
    payment_type_id: payment.payment_type_id,
    payment_method: { id: payment.payment_method_id, type: payment.payment_type_id, issuer_id: null },
    status: payment.status,
    status_detail: payment.status_detail,
    currency_id: merchant.site.currency,
    description: payment.description,
    live_mode: true,
    sponsor_id: null,
    authorization_code: wasTaken(payment) && isCard(payment) ? String(payment.id).slice(-6) : null,
    collector_id: Number(merchant.user_id),
    payer: INVENTED_PAYER,
    metadata: {},
    additional_info: {},
    external_reference: payment.external_reference,
    transaction_amount: amount(payment.amount_minor),
    transaction_amount_refunded: amount(payment.refunded_minor),
    coupon_amount: 0,
    shipping_amount: 0,
    taxes_amount: 0,
    installments: payment.installments,
    ...renderFees(payment, amount),
    captured: wasTaken(payment),
    binary_mode: false,
    statement_descriptor: null,
    card: isCard(payment) ? INVENTED_CARD : {},
    notification_url: null,
    processing_mode: 'aggregator',
    pos_id: payment.pos === null ? null : String(payment.pos.id),
    store_id: payment.pos?.store_id ?? null,
    order: renderOrderOf(payment),
    point_of_interaction: renderPlace(world, payment),
    refunds: payment.refunds.map((refund) => renderRefund(payment, refund, merchant)),
  };
}

/**
 * A payment as the oldest SDKs read it. The vendor's table lists collection fields beside payment fields; whether a
 * collection had the payment's own names too is not published, so it has both here.
 */
export function renderCollection(world: World, payment: Payment): object {
  const { site, nickname } = world.merchant(payment.merchant_id);
  const amount = (minor: number): number => amountNumber(minor, site);
  const { transaction_details } = renderFees(payment, amount);
  const { net_received_amount, total_paid_amount, installment_amount } = transaction_details;
  const order_id = renderOrderOf(payment).id;
  const card = isCard(payment) ? INVENTED_CARD : null;
  const collection = {
    ...renderPayment(world, payment),
    last_modified: offsetDate(payment.updated_at_ms),
    reason: payment.description,
    order_id,
    merchant_order_id: payment.merchant_order_id ?? order_id,
    payer: { ...INVENTED_PAYER, nickname: 'BUYER' },
    collector: { id: Number(payment.merchant_id), nickname },
    site_id: site.site_id,
    marketplace: 'NONE',
    payment_type: payment.payment_type_id,
    amount_refunded: amount(payment.refunded_minor),
    shipping_cost: 0,
    net_received_amount,
    total_paid_amount,
    installment_amount,
    coupon_fee: 0,
    finance_fee: 0,
    discount_fee: 0,
    marketplace_fee: 0,
    ...(card && { cardholder: card.cardholder, last_four_digits: card.last_four_digits }),
  };
  return { collection };
}

/** Shape: `refundAnswer` in `contract/payments.ts`. */
export function renderRefund(payment: Payment, refund: PaymentRefund, merchant: Merchant): object {
  const amount = amountNumber(refund.amount_minor, merchant.site);
  return {
    id: refund.id,
    payment_id: payment.id,
    amount,
    metadata: {},
    source: { id: merchant.user_id, name: merchant.nickname, type: 'collector' },
    date_created: offsetDate(refund.created_at_ms),
    unique_sequence_number: null,
    refund_mode: 'standard',
    adjustment_amount: 0,
    status: refund.status,
    reason: null,
    amount_refunded_to_payer: amount,
  };
}

/** Epoch milliseconds; null when the payer's money was never taken. */
export function approvedAt(payment: Payment): number | null {
  return wasTaken(payment) ? payment.created_at_ms : null;
}

function wasTaken(payment: Payment): boolean {
  return takenStatuses.includes(payment.status);
}

function isCard(payment: Payment): boolean {
  return payment.payment_type_id.endsWith('_card');
}

function renderDates(payment: Payment): object {
  const approved_at_ms = approvedAt(payment);
  const approved = approved_at_ms === null ? null : offsetDate(approved_at_ms);
  return {
    date_created: offsetDate(payment.created_at_ms),
    date_approved: approved,
    date_last_updated: offsetDate(payment.updated_at_ms),
    date_of_expiration: null,
    money_release_date: approved,
  };
}

function renderFees(payment: Payment, amount: (minor: number) => number) {
  const gross_minor = wasTaken(payment) ? payment.amount_minor + payment.tip_minor : 0;
  const fee_minor = Math.round((gross_minor * FEE_PER_MILLE) / 1000);
  const type = 'mercadopago_fee';
  return {
    fee_details: fee_minor === 0 ? [] : [{ type, amount: amount(fee_minor), fee_payer: 'collector' }],
    charges_details:
      fee_minor === 0
        ? []
        : [
            {
              id: `${payment.id}-001`,
              name: type,
              type: 'fee',
              accounts: { from: 'collector', to: 'mp' },
              amounts: { original: amount(fee_minor), refunded: 0 },
              metadata: {},
            },
          ],
    transaction_details: {
      net_received_amount: amount(gross_minor - fee_minor),
      total_paid_amount: amount(gross_minor),
      overpaid_amount: 0,
      installment_amount: amount(Math.round(gross_minor / payment.installments)),
      external_resource_url: null,
      financial_institution: null,
      payment_method_reference_id: null,
    },
  };
}

/** Digits as text (`docs/field-notes.md` Point finding 13); for legacy QR the merchant order's number (QR §2). */
function renderOrderOf({ origin, merchant_order_id }: Payment): { type: string; id: string } {
  return { type: 'mercadopago', id: merchant_order_id === null ? inventedOrder(origin.id) : String(merchant_order_id) };
}

/** 19 digits as in the recorded answer; the same origin gives the same number. */
function inventedOrder(origin_id: string): string {
  const digits = BigInt(`0x${hash('sha256', origin_id, 'hex').slice(0, 15)}`);
  return String(2_000_000_000_000_000_000n + digits);
}

/** The values of `type` are not published; clients read the field (`docs/field-notes.md` QR §3). */
function renderPlace(world: World, payment: Payment): object {
  const { kind, id } = payment.origin;
  if (kind === 'invoice') {
    return {
      type: 'SUBSCRIPTIONS',
      business_info: { unit: 'online_payments', sub_unit: 'recurring' },
      transaction_data: { subscription_id: world.invoices.get(Number(id))?.preapproval_id ?? null },
    };
  }
  const isQr = kind === 'legacy_qr' || (kind === 'order' && world.orders.get(id)?.place.type === 'qr');
  return {
    type: isQr ? 'INSTORE' : 'POINT',
    business_info: { unit: 'in_person', sub_unit: isQr ? 'qr' : 'point' },
    transaction_data: isQr ? { bank_info: { payer: {}, collector: {}, is_same_bank_account_owner: null } } : {},
  };
}

const INVENTED_PAYER = {
  type: 'guest',
  id: '700900001',
  email: 'buyer@example.com',
  identification: { type: 'OTHER', number: '00000001' },
  first_name: null,
  last_name: null,
};

const INVENTED_CARD = {
  id: null,
  first_six_digits: '503175',
  last_four_digits: '0604',
  expiration_month: 11,
  expiration_year: 2030,
  cardholder: { name: 'INVENTED BUYER', identification: { type: 'OTHER', number: '00000001' } },
};
