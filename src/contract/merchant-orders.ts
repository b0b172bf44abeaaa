/** Merchant orders, which the orders API doesn't have any more. Source: `docs/field-notes.md` QR §2. */
import { z } from 'zod';

/** `order_status`, the finer of the two states; `status` follows from it. */
export const merchantOrderStates = [
  'payment_required',
  'payment_in_process',
  'partially_paid',
  'paid',
  'partially_reverted',
  'reverted',
  'expired',
  'undefined',
] as const;
export type MerchantOrderState = (typeof merchantOrderStates)[number];

/** States without a further payment. */
export const finalMerchantOrderStates: readonly MerchantOrderState[] = [
  'paid',
  'partially_reverted',
  'reverted',
  'expired',
];

/** `opened`: to be paid; `closed`: approved sum reaches the total, refunded or not; `expired`: canceled or expired. */
export const merchantOrderStatuses = ['opened', 'closed', 'expired'] as const;

const amount = z.custom<unknown>();

const merchantOrderPayment = z.object({
  id: z.int(),
  transaction_amount: amount,
  total_paid_amount: amount,
  shipping_cost: amount,
  currency_id: z.string(),
  status: z.string(),
  status_detail: z.string(),
  operation_type: z.literal('regular_payment'),
  date_approved: z.string().nullable(),
  date_created: z.string(),
  last_modified: z.string(),
  amount_refunded: amount,
});

const merchantOrderItem = z.object({
  id: z.string(),
  category_id: z.string(),
  currency_id: z.string(),
  description: z.string(),
  picture_url: z.string().nullable(),
  title: z.string(),
  quantity: z.int(),
  unit_price: amount,
});

/** `payments`, `shipments`, `payouts` and `items` are always arrays, because clients count them. */
export const merchantOrder = z.object({
  id: z.int(),
  status: z.enum(merchantOrderStatuses),
  external_reference: z.string(),
  preference_id: z.string(),
  payments: z.array(merchantOrderPayment),
  shipments: z.array(z.unknown()),
  payouts: z.array(z.unknown()),
  collector: z.object({ id: z.int(), email: z.string(), nickname: z.string() }),
  marketplace: z.string(),
  notification_url: z.string().nullable(),
  date_created: z.string(),
  last_updated: z.string(),
  /** Digits: the official SDKs read text, and one of them only text. */
  sponsor_id: z.string().nullable(),
  shipping_cost: amount,
  total_amount: amount,
  site_id: z.string(),
  paid_amount: amount,
  refunded_amount: amount,
  payer: z.object({ id: z.int(), email: z.string() }).nullable(),
  items: z.array(merchantOrderItem),
  cancelled: z.boolean(),
  additional_info: z.string(),
  /** Digits, likewise. */
  application_id: z.string().nullable(),
  is_test: z.boolean(),
  order_status: z.enum(merchantOrderStates),
});

export const merchantOrderAnswer = z.object({ body: merchantOrder });

/** A search: `elements` is null when nothing is found (`docs/field-notes.md` QR §2). */
export const merchantOrderSearch = z.object({
  elements: z.array(z.looseObject({ id: z.int() })).nullable(),
  next_offset: z.int(),
  total: z.int(),
});

/** Filters that clients and SDKs send, `docs/field-notes.md` QR §2. */
export const merchantOrderFilters = [
  'status',
  'external_reference',
  'preference_id',
  'marketplace',
  'date_created_from',
  'date_created_to',
  'last_updated_from',
  'last_updated_to',
  'sponsor_id',
  'site_id',
  'payer_id',
  'items',
  'application_id',
  'order_status',
  'limit',
  'offset',
] as const;
