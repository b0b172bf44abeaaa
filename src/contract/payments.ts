/** Payments and their refunds, `/v1/payments`. Source: `docs/field-notes.md` QR §3. */
import { z } from 'zod';
import { writtenAmount } from './legacy-amount.ts';

const amount = z.custom<unknown>();

/** Digits as text (`docs/field-notes.md` Point finding 13) suit official SDKs that read a 64-bit integer or a text. */
const paymentOrder = z.object({ type: z.literal('mercadopago'), id: z.string().regex(/^\d{1,19}$/) });

/** Cancelled has two l here (`docs/field-notes.md` QR §3). */
export const paymentStatuses = [
  'pending',
  'approved',
  'authorized',
  'in_process',
  'in_mediation',
  'rejected',
  'cancelled',
  'refunded',
  'charged_back',
] as const;

/** A real payment of upstream; fields that are not named here pass unchanged. */
export const payment = z.looseObject({
  id: z.int(),
  status: z.string(),
  external_reference: z.string().nullish(),
  order: z.looseObject({}).nullish(),
  date_created: z.string().optional(),
});

/** Changes to a real payment of a sale on orders: the till's reference, and the number of its order. */
export const paymentChange = z.object({
  body: z.object({
    external_reference: z.string().nullable().optional(),
    order: paymentOrder,
  }),
});

/** A payment built from its order alone, when upstream has none under that number. */
export const orderPaymentAnswer = z.object({
  body: z.object({
    id: z.int(),
    status: z.enum(paymentStatuses),
    status_detail: z.string(),
    external_reference: z.string().nullable(),
    transaction_amount: amount,
    transaction_amount_refunded: amount,
    currency_id: z.string(),
    collector_id: z.int(),
    description: z.string().nullable().optional(),
    operation_type: z.literal('regular_payment'),
    payment_method_id: z.string().optional(),
    payment_type_id: z.string().optional(),
    installments: z.int().optional(),
    date_created: z.string(),
    date_approved: z.string().nullable(),
    date_last_updated: z.string(),
    order: paymentOrder,
    refunds: z.array(z.unknown()),
    captured: z.boolean(),
    live_mode: z.boolean(),
    metadata: z.object({}),
    transaction_details: z.object({ total_paid_amount: amount }),
  }),
});

/** Fields of a payment with another name in a collection; the others keep theirs. */
export const shownPayment = z.looseObject({
  date_last_updated: z.unknown(),
  description: z.unknown(),
  order: z.looseObject({ id: z.unknown() }).nullish(),
  collector_id: z.unknown(),
  payment_type_id: z.unknown(),
  transaction_amount_refunded: amount,
  shipping_amount: amount,
  transaction_details: z
    .looseObject({ net_received_amount: amount, total_paid_amount: amount, installment_amount: amount })
    .nullish(),
  fee_details: z.unknown(),
  card: z.looseObject({ cardholder: z.unknown(), last_four_digits: z.unknown() }).nullish(),
});

/** Names in the oldest SDKs' collections, by the vendor's table ("Deprecation of API Collections for IPN"). */
export const collectionNames = z.object({
  body: z.object({
    last_modified: z.unknown().optional(),
    reason: z.unknown().optional(),
    order_id: z.unknown().optional(),
    merchant_order_id: z.unknown().optional(),
    collector: z.object({ id: z.unknown() }).optional(),
    site_id: z.string().optional(),
    payment_type: z.unknown().optional(),
    amount_refunded: amount.optional(),
    shipping_cost: amount.optional(),
    net_received_amount: amount.optional(),
    total_paid_amount: amount.optional(),
    installment_amount: amount.optional(),
    coupon_fee: amount.optional(),
    finance_fee: amount.optional(),
    discount_fee: amount.optional(),
    marketplace_fee: amount.optional(),
    cardholder: z.unknown().optional(),
    last_four_digits: z.unknown().optional(),
  }),
});

/** A search; results of any shape pass. */
export const paymentSearch = z.object({
  paging: z.object({ total: z.int(), limit: z.int(), offset: z.int() }),
  results: z.array(z.looseObject({})),
});

/** `POST …/refunds`: no body and `{}` mean the whole payment (`docs/field-notes.md` QR §3). */
export const refundBody = z.looseObject({ amount: writtenAmount.optional() });
export const createRefundRequest = z.object({
  path: z.object({ payment_id: z.string().regex(/^\d{1,18}$/) }),
  body: refundBody,
});
/** `PUT /collections/{id}`, the refund of the oldest clients: always whole (`docs/field-notes.md` QR §3). */
export const refundCollectionRequest = z.object({
  path: z.object({ payment_id: z.string().regex(/^\d{1,18}$/) }),
  body: z.looseObject({ status: z.string() }),
});

export const refundStatuses = ['approved', 'rejected', 'in_process'] as const;

/** `docs/field-notes.md` QR §3. */
export const refundAnswer = z.object({
  body: z.object({
    id: z.int(),
    payment_id: z.int(),
    amount,
    metadata: z.object({}),
    source: z.object({ id: z.string(), name: z.string(), type: z.literal('collector') }),
    date_created: z.string(),
    unique_sequence_number: z.null(),
    refund_mode: z.literal('standard'),
    adjustment_amount: amount,
    status: z.enum(refundStatuses),
    reason: z.null(),
    amount_refunded_to_payer: amount,
  }),
});

/** The payments family has singular `cause` (`docs/field-notes.md` QR §3, error envelope). */
export const paymentError = z.object({
  message: z.string(),
  error: z.string(),
  status: z.int(),
  cause: z.array(z.object({ code: z.int(), description: z.string(), data: z.string().nullable() })),
});
