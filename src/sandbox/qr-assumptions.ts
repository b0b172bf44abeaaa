import { z } from 'zod';

export const qrOrderAssumptions = {
  second_static_order: z
    .enum(['independent', 'refused'])
    .default('independent')
    .describe(
      'A second static or hybrid order on a till: both stay open and its code shows the newest, or 409 (docs/field-notes.md Orders §1.6).',
    ),
  qr_in_mexico: z
    .enum(['refused', 'accepted'])
    .default('refused')
    .describe(
      'QR orders in Mexico: the QR pages list ARS, BRL, CLP and UYU, yet some are published for Mexico (docs/field-notes.md Orders §10).',
    ),
  qr_installments: z
    .enum(['refused', 'accepted'])
    .default('refused')
    .describe(
      'Instalments in QR orders (config.payment_method): for Point alone (docs/field-notes.md Spec Order), or taken, because a QR page knows installments_cost (docs/field-notes.md Orders §1.2).',
    ),
  qr_refund_days: z
    .union([z.literal(360), z.literal(180)])
    .default(360)
    .describe(
      'Days in which a QR payment can be refunded: the error page says 360, the guide 180 (docs/field-notes.md Orders §2).',
    ),
  qr_signature: z
    .enum(['bad', 'as_point'])
    .default('bad')
    .describe(
      'Signature of webhooks about QR orders: one that never validates, as seen live, or as for Point (docs/field-notes.md Orders §4.2).',
    ),
};

export const legacyQrAssumptions = {
  legacy_qr_expiry_ms: z
    .int()
    .min(1000)
    .default(600_000)
    .describe(
      'Virtual time after which a legacy QR order without a lifetime of its own is over; documented for v1 alone (docs/field-notes.md QR §1.1).',
    ),
  legacy_qr_preference_status: z
    .union([z.literal(200), z.literal(201)])
    .default(200)
    .describe('HTTP status of a v1 create (docs/field-notes.md QR §11).'),
  legacy_qr_code_status: z
    .union([z.literal(200), z.literal(201)])
    .default(201)
    .describe('HTTP status of a dynamic or hybrid create (docs/field-notes.md QR §1.3).'),
  legacy_qr_delete_empty: z
    .union([z.literal(204), z.literal(400), z.literal(404)])
    .default(204)
    .describe('HTTP status of DELETE on a till without an order (docs/field-notes.md QR §1.2).'),
  legacy_qr_locked: z
    .enum(['refused', 'replaced'])
    .default('refused')
    .describe(
      'PUT, POST or DELETE on a till whose order is being paid: refused, or done as if nobody were paying (docs/field-notes.md QR §10).',
    ),
  legacy_qr_nameless_till: z
    .enum(['refused', 'accepted'])
    .default('refused')
    .describe(
      'A v1 call by the internal number of a till without external id: 404, or as any till (docs/field-notes.md QR §4).',
    ),
  merchant_order_birth: z
    .enum(['creation', 'payment'])
    .default('creation')
    .describe(
      'Whether a merchant order is made with its QR order or at the first payment (docs/field-notes.md QR finding 11).',
    ),
  merchant_order_sort: z
    .enum(['newest_first', 'oldest_first'])
    .default('newest_first')
    .describe('Order of the elements of a merchant order search, which no page tells (docs/field-notes.md QR §2).'),
  ipn_resource_base: z
    .url({ protocol: /^https?$/ })
    .default('https://api.mercadolibre.com')
    .describe('Host of the resource URL in merchant_order notices (docs/field-notes.md QR finding 3).'),
  local_notification_urls: z
    .enum(['not_called', 'called'])
    .default('not_called')
    .describe(
      'Whether notifications go to localhost and 127.0.0.1, which the specification says must not be used (docs/field-notes.md Spec IPN); webhooks about orders go where webhook_url says.',
    ),
  source_news_ipn: z
    .enum(['webhooks', 'ipn'])
    .default('webhooks')
    .describe(
      'What source_news=ipn in a notification_url means: by webhook only (docs/field-notes.md Spec IPN), or by IPN only as the guide says (docs/field-notes.md QR finding 10).',
    ),
};
