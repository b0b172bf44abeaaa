/** Schemas of the records of a world, in memory and in a snapshot; those of its control door: `actions.ts`. */

import { z } from 'zod';
import type { Json } from '../contract/json.ts';
import { intentStates } from '../contract/legacy-point.ts';
import { orderStatuses, qrModes } from '../contract/orders.ts';
import { paymentStatuses } from '../contract/payments.ts';
import { type Site, siteIds, sites } from '../contract/sites.ts';

/** Whole minor units of the site's currency. */
const minor = z.int();
/** Virtual time, epoch milliseconds. */
const time_ms = z.int();
/** Any JSON value; exact numbers keep their source text. */
const json = z.custom<Json>((value) => value !== undefined);

export const merchantSchema = z.strictObject({
  user_id: z.string(),
  nickname: z.string(),
  site: z.codec(z.enum(siteIds), z.custom<Site>(), { decode: (id) => sites[id], encode: ({ site_id }) => site_id }),
  /** Invented; the control door shows it, so that a first call can be copied. */
  access_token: z.string(),
  application_id: z.string(),
  /** Whether the application of its OAuth tokens is a marketplace (`docs/field-notes.md` Spec Errors). */
  has_marketplace: z.boolean(),
  /** Whether it has the agreement for cash withdrawals (`docs/field-notes.md` Spec Errors, `seller_configuration`). */
  may_hand_out_cash: z.boolean(),
});
export type Merchant = z.output<typeof merchantSchema>;

/** The SHA-256 of an access token. Only OAuth tokens may take a marketplace fee. */
export const tokenSchema = z.strictObject({ hash: z.string(), merchant_id: z.string(), oauth: z.boolean() });

/** A code that `POST /oauth/token` exchanges, once. */
export const grantSchema = z.strictObject({
  code: z.string(),
  type: z.enum(['authorization_code', 'refresh_token']),
  merchant_id: z.string(),
});

export const storeSchema = z.strictObject({
  id: z.string(),
  merchant_id: z.string(),
  /** Empty for a store without one. */
  external_id: z.string(),
  name: z.string(),
  business_hours: json,
  location: z.record(z.string(), json),
  created_at_ms: time_ms,
});
export type Store = z.output<typeof storeSchema>;

export const pointOfSaleSchema = z.strictObject({
  id: z.int(),
  merchant_id: z.string(),
  /** Null for a till without one, which can't take orders of the orders API (`docs/field-notes.md` QR §4). */
  external_id: z.string().nullable(),
  store_id: z.string(),
  uuid: z.string(),
  name: z.string(),
  fixed_amount: z.boolean(),
  category: z.number().nullable(),
  url: z.string().nullable(),
  created_at_ms: time_ms,
  updated_at_ms: time_ms,
});
export type PointOfSale = z.output<typeof pointOfSaleSchema>;

export const terminalSchema = z.strictObject({
  /** Unique per merchant only. */
  id: z.string(),
  merchant_id: z.string(),
  pos_id: z.int().nullable(),
  operating_mode: z.enum(['PDV', 'STANDALONE', 'SELF_SERVICE', 'UNDEFINED']),
  /** `old` software ignores `x-allow-cancelable-status` (`docs/field-notes.md` Orders §3.1). */
  software: z.enum(['current', 'old']),
  /** The one order or intent that the terminal holds, shared by both APIs. */
  occupation: z.strictObject({ kind: z.enum(['order', 'intent']), id: z.string() }).nullable(),
});
export type Terminal = z.output<typeof terminalSchema>;

/** What a buyer can scan: an order, or a legacy QR order by its `in_store_order_id`. */
export const payableSchema = z.strictObject({
  kind: z.enum(['order', 'legacy_qr']),
  id: z.string(),
  merchant_id: z.string(),
  pos_id: z.int(),
  /** Static and hybrid: the till's printed code shows the newest of its payables. */
  on_pos: z.boolean(),
});
export type Payable = z.output<typeof payableSchema>;

export type OrderStatus = (typeof orderStatuses)[number];

const orderRefundSchema = z.strictObject({
  id: z.string(),
  transaction_id: z.string(),
  reference_id: z.string(),
  amount_minor: minor,
  status: z.enum(['processing', 'processed', 'failed']),
});
export type Refund = z.output<typeof orderRefundSchema>;

const methodSchema = z.strictObject({ type: z.string(), id: z.string(), installments: z.int() });
export type Method = z.output<typeof methodSchema>;

/** What the buyer pays. An order for a cash withdrawal alone has an amount of 0 here, which is not shown. */
const transactionSchema = z.strictObject({
  id: z.string(),
  amount_minor: minor,
  status: z.enum(orderStatuses),
  /** Null on creation: a new Point order shows none (`docs/field-notes.md` Orders §1.3). */
  status_detail: z.string().nullable(),
  reference_id: z.int().nullable(),
  paid_minor: minor.nullable(),
  tip_minor: minor,
  refunded_minor: minor,
  payment_method: methodSchema.nullable(),
});

const atTerminalSchema = z.strictObject({
  type: z.literal('point'),
  terminal_id: z.string(),
  print_on_terminal: z.string(),
  ticket_number: z.string().optional(),
});
export type AtTerminal = z.output<typeof atTerminalSchema>;

const atTillSchema = z.strictObject({
  type: z.literal('qr'),
  pos_id: z.int(),
  external_pos_id: z.string(),
  mode: z.enum(qrModes),
  /** The order's own code; missing in static mode. */
  qr_data: z.string().optional(),
  /** Echoed as sent. */
  items: z.array(z.looseObject({ external_categories: z.array(z.unknown()).optional() })).optional(),
  discounts: z
    .strictObject({
      payment_methods: z.array(z.strictObject({ type: z.string(), new_total_minor: minor })),
      sent: z.unknown(),
    })
    .optional(),
  /** Cash for the buyer; it has the state of the transaction. */
  withdrawal: z.strictObject({ id: z.string(), amount_minor: minor, refunded_minor: minor }).nullable(),
  has_payment: z.boolean(),
  /** A buyer is paying: cancels are refused, and the expiry waits. */
  is_locked: z.boolean(),
  is_expiry_due: z.boolean(),
  /** The payment method of the discount that applied. */
  discount_type: z.string().optional(),
});
export type AtTill = z.output<typeof atTillSchema>;

const echoed = z.record(z.string(), z.unknown()).optional();

export const orderSchema = z.strictObject({
  id: z.string(),
  merchant_id: z.string(),
  external_reference: z.string(),
  description: z.string().optional(),
  expiration_time: z.string(),
  place: z.discriminatedUnion('type', [atTerminalSchema, atTillSchema]),
  /** QR only, as sent. */
  total_amount: z.string().optional(),
  marketplace_fee: z.string().optional(),
  /** `config.payment_method` and `integration_data`, echoed as sent. */
  payment_method: echoed,
  integration_data: echoed,
  status: z.enum(orderStatuses),
  status_detail: z.string(),
  created_at_ms: time_ms,
  updated_at_ms: time_ms,
  paid_at_ms: time_ms.nullable(),
  /** Rises with each change. */
  version: z.int(),
  transaction: transactionSchema,
  refunds: z.array(orderRefundSchema),
});
export type Order = z.output<typeof orderSchema>;

/** Made through the payments API, an order or a terminal. */
const paymentRefundSchema = z.strictObject({
  id: z.int(),
  amount_minor: minor,
  status: z.enum(['approved', 'in_process', 'rejected']),
  created_at_ms: time_ms,
});
export type PaymentRefund = z.output<typeof paymentRefundSchema>;

export const paymentSchema = z.strictObject({
  id: z.int(),
  merchant_id: z.string(),
  status: z.enum(paymentStatuses),
  status_detail: z.string(),
  amount_minor: minor,
  tip_minor: minor,
  refunded_minor: minor,
  external_reference: z.string().nullable(),
  description: z.string().nullable(),
  payment_type_id: z.string(),
  payment_method_id: z.string(),
  installments: z.int(),
  created_at_ms: time_ms,
  updated_at_ms: time_ms,
  refunds: z.array(paymentRefundSchema),
  /** The till of a QR payment, or of the terminal, at the time of the payment. */
  pos: pointOfSaleSchema.pick({ id: true, external_id: true, store_id: true }).nullable(),
  /** What was paid; `legacy_qr` has an `in_store_order_id`, `invoice` the id of a subscription's invoice. */
  origin: z.strictObject({ kind: z.enum(['order', 'intent', 'legacy_qr', 'invoice']), id: z.string() }),
  /** Legacy QR only; shown as `order.id`. */
  merchant_order_id: z.int().nullable(),
});
export type Payment = z.output<typeof paymentSchema>;

/** The buyer's bank demands the money of a payment back; `GET /v1/chargebacks/{id}` shows it. */
export const chargebackSchema = z.strictObject({
  id: z.int(),
  payment_id: z.int(),
  merchant_id: z.string(),
  amount_minor: minor,
  /** `won`: the seller keeps the money; `lost`: the buyer has it back. */
  status: z.enum(['opened', 'won', 'lost']),
  created_at_ms: time_ms,
  updated_at_ms: time_ms,
});
export type Chargeback = z.output<typeof chargebackSchema>;

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

export const invoiceSchema = z.strictObject({
  id: z.int(),
  merchant_id: z.string(),
  status: z.enum(invoiceStatuses),
  summarized: z.enum(summaries),
  preapproval_id: z.string(),
  reason: z.string(),
  external_reference: z.string(),
  amount_minor: minor,
  payer_id: z.int(),
  retry_attempt: z.int(),
  created_at_ms: time_ms,
  modified_at_ms: time_ms,
  debit_at_ms: time_ms,
  /** Null before the first attempt. */
  payment: z
    .strictObject({ id: z.int(), status: z.enum(invoicePaymentStatuses), status_detail: z.string() })
    .nullable(),
});
export type Invoice = z.output<typeof invoiceSchema>;

const step = z.strictObject({ state: z.enum(intentStates), at_ms: time_ms });
export type Step = z.output<typeof step>;

/** Work of the legacy API on a terminal: a payment intent or a refund intent. */
const terminalWork = {
  /** Lower-case UUID. */
  id: z.string(),
  merchant_id: z.string(),
  device_id: z.string(),
  /** From OPEN to the current state, oldest first. */
  history: z.tuple([step], step),
  additional_info: z.unknown().optional(),
};

export const intentSchema = z.strictObject({
  ...terminalWork,
  amount_minor: minor,
  /** As sent; missing where the site does not support it. */
  description: z.string().optional(),
  /** `payment` of a create: the till's preferred method (MLB only, `docs/field-notes.md` Point §1.3). */
  preference: z
    .looseObject({
      type: z.string().optional(),
      installments: z.int().optional(),
      installments_cost: z.string().optional(),
      voucher_type: z.string().optional(),
    })
    .optional(),
  /** Identifies a repeated create: `<merchant>/<device>/<key>` and the hash of the body; null without a key. */
  create_key: z.strictObject({ name: z.string(), body_hash: z.string() }).nullable(),
  /** Null until a card is read. No payment has this number when the outcome must be read on the terminal. */
  payment_id: z.int().nullable(),
});
export type PaymentIntent = z.output<typeof intentSchema>;

export const refundIntentSchema = z.strictObject({
  ...terminalWork,
  payment: z.int(),
  /** As sent, text or number. */
  payment_id: z.union([z.string(), z.number()]),
});
export type RefundIntent = z.output<typeof refundIntentSchema>;
export type TerminalWork = PaymentIntent | RefundIntent;

export const integratorSchema = z.strictObject({
  merchant_id: z.string(),
  created_at_ms: time_ms,
  updated_at_ms: time_ms,
  event_channel_devices: z.array(z.string()),
});

/** Where a merchant's legacy notifications go; a null URL sends none. */
export const noticeTargetSchema = z.strictObject({
  merchant_id: z.string(),
  /** For payment intents. */
  url: z.string().nullable(),
  topic: z.enum(['point_integration_ipn', 'point_integration_wh']),
  /** For feed notices of objects without a `notification_url`. */
  ipn_url: z.string().nullable(),
  /** Signs `point_integration_wh` and the feed's webhooks; never shown. Without it the sandbox's own secret signs. */
  secret: z.string().optional(),
});
export type NoticeTarget = z.output<typeof noticeTargetSchema>;

const qrItemSchema = z.strictObject({
  id: z.string(),
  title: z.string(),
  description: z.string(),
  category_id: z.string(),
  picture_url: z.string().nullable(),
  currency_id: z.string(),
  /** Decimal text as it was sent. */
  unit_price: z.string(),
  quantity: z.int(),
});
export type QrItem = z.output<typeof qrItemSchema>;

/** The content of an order, from the body of either version. */
const qrContent = {
  external_reference: z.string(),
  /** Title of a v2 order, and of the first item in v1. */
  description: z.string(),
  notification_url: z.string().nullable(),
  sponsor_id: z.int().nullable(),
  items: z.array(qrItemSchema),
  /** Includes the cash. */
  total_minor: minor,
  /** Cash that the buyer takes away. */
  cash_out_minor: minor,
  /** Decimal text. */
  marketplace_fee: z.string(),
  /** Null: the sandbox's default. */
  lifetime_ms: z.int().nullable(),
  /** The whole body, for GET of v2. */
  sent: json,
};
export type QrContent = z.output<z.ZodObject<typeof qrContent>>;

export const qrOrderSchema = z.strictObject({
  ...qrContent,
  /** `in_store_order_id`, a lower-case UUID. */
  id: z.string(),
  /** `attended`: the till's printed code shows it; `dynamic`: a code of its own; `hybrid`: both. */
  mode: z.enum(['attended', 'dynamic', 'hybrid']),
  merchant_id: z.string(),
  pos_id: z.int(),
  /** `canceled` by DELETE; `expired` by its lifetime or by the till's next order. */
  state: z.enum(['open', 'paid', 'expired', 'canceled']),
  /** A buyer is paying. */
  locked: z.boolean(),
  created_at_ms: time_ms,
  updated_at_ms: time_ms,
  expires_at_ms: time_ms,
  /** Rejected payments included, oldest first. */
  payment_ids: z.array(z.int()),
  /** Null until there is one (setting `merchant_order_birth`). */
  merchant_order_id: z.int().nullable(),
  /** The till's report on the cash; null before it. */
  confirmation: z.string().nullable(),
});
export type QrOrder = z.output<typeof qrOrderSchema>;

export const keySchema = z.strictObject({
  /** `<merchant>/<key>`. */
  name: z.string(),
  /** Hash of path and body; null matches any, because the body was never read. */
  fingerprint: z.string().nullable(),
  stored_at_ms: time_ms,
  answer: z.strictObject({ status: z.int(), body: z.string() }),
  /** The order that the call made or changed. */
  order_id: z.string().nullable(),
});
export type KeyEntry = z.output<typeof keySchema>;
