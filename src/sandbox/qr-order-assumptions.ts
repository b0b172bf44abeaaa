/** The settings that concern orders of type qr. */
import { z } from 'zod';

export const qrOrderAssumptions = {
  second_static_order: z
    .enum(['independent', 'refused'])
    .default('independent')
    .describe(
      'A second static or hybrid order on a till: both stay open and its code shows the newest, or 409 (orders-api.md §1.6).',
    ),
  qr_in_mexico: z
    .enum(['refused', 'accepted'])
    .default('refused')
    .describe(
      'QR orders in Mexico: the QR pages list ARS, BRL, CLP and UYU, yet some are published for Mexico (orders-api.md §10).',
    ),
  qr_installments: z
    .enum(['refused', 'accepted'])
    .default('refused')
    .describe(
      'Instalments in QR orders (config.payment_method): for Point alone (interface.md, Order), or taken, because a QR page knows installments_cost (orders-api.md §1.2).',
    ),
  qr_refund_days: z
    .union([z.literal(360), z.literal(180)])
    .default(360)
    .describe('Days in which a QR payment can be refunded: the error page says 360, the guide 180 (orders-api.md §2).'),
  qr_signature: z
    .enum(['bad', 'as_point'])
    .default('bad')
    .describe(
      'Signature of webhooks about QR orders: one that never validates, as seen live, or as for Point (orders-api.md §4.2).',
    ),
};
