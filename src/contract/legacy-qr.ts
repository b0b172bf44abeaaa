/** The legacy in-store QR API of tills: attended v1 and v2, dynamic and hybrid. Source: `docs/field-notes.md` QR §1. */
import { LosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { EXTERNAL_ID } from './identifiers.ts';
import { jsonObject, writtenInteger } from './json.ts';
import { writtenAmount, writtenQuantity } from './legacy-amount.ts';
import { legacyHeaders } from './legacy-body.ts';

/** A whole number of more digits than a double holds; tills that number by the clock use 17. */
const longInteger = z.custom<LosslessNumber>(
  (value) => value instanceof LosslessNumber && /^[1-9]\d{15,255}$/.test(value.value),
);
/** Text up to 256 characters; documentation samples also show a number (`docs/field-notes.md` QR finding 1). */
const reference = z.union([
  z.string().min(1).max(256),
  writtenInteger.refine((value) => Number(value) >= 0),
  longInteger,
]);
const text = z.string().max(256);
const title = z.string().min(1).max(256);
/** No maximum is documented, unlike the order's own title (`docs/field-notes.md` QR §1.1, §1.2). */
const itemTitle = z.string().min(1);
/** Samples lack a scheme (`www.…`); the request tables refuse a text that is no URL (`identifiers.ts`, callableUrl). */
const notificationUrl = z.string().max(500);
const idText = z.union([z.string(), writtenInteger, longInteger]);
const currency = z.string().regex(/^[A-Z]{3}$/);

/** v1, `docs/field-notes.md` QR §1.1: no total; the sum of `unit_price × quantity` is the amount. */
export const preferenceBody = z.looseObject({
  external_reference: reference,
  notification_url: notificationUrl.nullish(),
  sponsor_id: idText.nullish(),
  items: z
    .array(
      z.looseObject({
        id: idText.nullish(),
        title: itemTitle,
        currency_id: currency,
        unit_price: writtenAmount,
        quantity: writtenQuantity,
        description: z.string().nullish(),
        picture_url: z.string().nullish(),
      }),
    )
    .min(1),
  marketplace_fee: writtenAmount.nullish(),
  payment_methods: jsonObject({ installments: writtenInteger.nullish() }).nullish(),
});

/** v2, dynamic and hybrid, `docs/field-notes.md` QR §1.2 and §1.3. */
export const storeOrderBody = z.looseObject({
  external_reference: reference,
  title,
  description: text.nullish(),
  notification_url: notificationUrl.nullish(),
  expiration_date: z.string().nullish(),
  total_amount: writtenAmount,
  items: z
    .array(
      z.looseObject({
        sku_number: idText.nullish(),
        category: z.string().nullish(),
        title: itemTitle,
        description: z.string().nullish(),
        unit_price: writtenAmount,
        quantity: writtenQuantity,
        unit_measure: z.string().min(1),
        currency_id: currency.nullish(),
        total_amount: writtenAmount,
        picture_url: z.string().nullish(),
      }),
    )
    .nullish(),
  sponsor: jsonObject({ id: idText.nullish() }).nullish(),
  cash_out: jsonObject({ amount: writtenAmount.nullish() }).nullish(),
  taxes: z.array(jsonObject({ value: z.unknown().optional(), type: z.string().nullish() })).nullish(),
  marketplace_fee: writtenAmount.nullish(),
});

const externalPos = z.string().regex(EXTERNAL_ID);
/** Any text: `proxy/qr/point-of-sale.ts` has checked the owner of the path and the kind of number. */
const user = z.string();
/** The path has the external id or the internal number of the point of sale; the context always has the external id. */
const preferencePath = z.object({
  user_id: user.optional(),
  external_pos_id: externalPos.optional(),
  pos_id: user.optional(),
});
const storePath = z.object({ user_id: user, external_store_id: externalPos.optional(), external_pos_id: externalPos });

export const createPreferenceRequest = z.object({ path: preferencePath, headers: legacyHeaders, body: preferenceBody });
export const createStoreOrderRequest = z.object({ path: storePath, headers: legacyHeaders, body: storeOrderBody });
export const cancelPreferenceRequest = z.object({ path: preferencePath });
export const cancelStoreOrderRequest = z.object({ path: storePath });

export const confirmationBody = z.looseObject({ status: z.string(), status_detail: z.string().optional() });

// ---- answers -------------------------------------------------------------------------------------------------

const jsonNumber = z.custom<unknown>();

/** v1: the object of a checkout preference (`docs/field-notes.md` QR §1.1, answer). */
export const preferenceAnswer = z.object({
  body: z.object({
    id: z.string(),
    collector_id: z.int(),
    client_id: z.int(),
    sponsor_id: z.unknown(),
    items: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        currency_id: z.string(),
        unit_price: jsonNumber,
        quantity: z.int(),
        description: z.string(),
        picture_url: z.string(),
      }),
    ),
    total_amount: jsonNumber,
    amount: jsonNumber,
    external_reference: z.string(),
    operation_type: z.literal('regular_payment'),
    notification_url: z.string(),
    payment_methods: z.unknown(),
    marketplace: z.string(),
    marketplace_fee: jsonNumber,
    expires: z.boolean(),
    additional_info: z.string(),
    back_urls: z.unknown(),
    payer: z.unknown(),
    site_id: z.string(),
    processing_modes: z.unknown(),
    internal_metadata: z.unknown(),
    collector: z.unknown(),
  }),
});

/** v2, GET: the order as it was sent, without ids and state (`docs/field-notes.md` QR §1.2). */
export const storeOrderAnswer = z.object({ body: z.unknown() });

/** Dynamic and hybrid: the id looks like a UUID and is no merchant order (`docs/field-notes.md` QR §1.3). */
export const qrCodeAnswer = z.object({ body: z.object({ in_store_order_id: z.string(), qr_data: z.string() }) });

/** The in-store family has plural `causes` (`docs/field-notes.md` QR §1.1, errors). */
export const instoreError = z.object({
  error: z.string(),
  message: z.string(),
  status: z.int(),
  causes: z.array(z.unknown()),
});
