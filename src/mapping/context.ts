/** The mapping context: facts that a table may read beside its source, each with its meaning and its calls. */
import { z } from 'zod';
import { createIntentBody, intentStates } from '../contract/legacy-point.ts';
import { merchantOrderStates } from '../contract/merchant-orders.ts';
import { qrModes } from '../contract/orders.ts';

const milliseconds = z.int().describe('Epoch milliseconds.');

/** Every key is optional, because no call needs all; its description names the calls that have it. */
export const contextSchema = z.object({
  site: z.string().optional().describe("The merchant's site, such as MLB; on every request. Decides which rows fire."),
  exponent: z.int().optional().describe("Decimals of the site's currency; wherever an amount is read or written."),
  reference: z
    .string()
    .optional()
    .describe(
      'The external reference that goes upstream, derived or verbatim (`docs/architecture.md` Decision 5); on create.',
    ),
  voucher: z
    .enum(['refuse', 'drop'])
    .optional()
    .describe("The merchant's setting for a preference that orders don't know; on create."),
  currency: z
    .string()
    .optional()
    .describe("The site's currency, XXX where the site is not known; on QR sales, and on answers about payments."),
  merchant_id: z
    .int()
    .optional()
    .describe("The merchant's user id as a number; on answers about QR sales and payments."),
  client_reference: z
    .string()
    .nullish()
    .describe("The till's own reference as text, null when it gave none; on answers about QR sales and payments."),
  external_pos_id: z.string().optional().describe('The point of sale of a QR sale; on its create.'),
  mode: z.enum(qrModes).optional().describe('How the QR is shown; on the create of a QR sale.'),
  received_at: milliseconds
    .optional()
    .describe('When the call came in, epoch milliseconds; a date of expiry counts from here.'),
  preference_id: z
    .string()
    .optional()
    .describe("`<merchant>-<uuid>`, the id of v1's preference; on answers about QR sales."),
  request: z
    .looseObject({
      items: z.unknown(),
      sponsor_id: z.unknown(),
      notification_url: z.string().nullish(),
      marketplace_fee: z.unknown(),
    })
    .partial()
    .optional()
    .describe('The body of the create as the till sent it; on answers about QR sales.'),
  merchant_order_id: z.int().optional().describe('The number of a merchant order; on answers about merchant orders.'),
  payment_order: z
    .object({ type: z.literal('mercadopago'), id: z.string() })
    .optional()
    .describe('What a payment was made for, its number as text; on answers about payments.'),
  nickname: z.string().optional().describe("The seller's public name; on answers about merchant orders."),
  payment_id: z.int().optional().describe('The number of the payment; on answers about payments and merchant orders.'),
  transaction_id: z.string().optional().describe('The payment inside the order, `PAY…`; on a refund of a part of it.'),
  refund_minor: z.int().optional().describe('The part to refund, minor units; on a refund that is not the whole.'),
  refund_number: z.int().optional().describe('A synthetic number, for a refund without one; on answers about refunds.'),
  refunds: z
    .array(z.unknown())
    .optional()
    .describe('The refunds of a payment as the till sees them; on payments shown from their order.'),
  order_id: z.string().optional().describe('The order behind the legacy id; on get and cancel.'),
  cancelable_status: z
    .literal('at_terminal')
    .optional()
    .describe('Given on cancel when the merchant allows canceling an order that is on the terminal.'),
  intent_id: z.string().optional().describe('The legacy id; on every answer about an intent, and on notices.'),
  device_id: z.string().optional().describe('The terminal the intent was made for; on answers about an intent.'),
  state: z
    .enum([...intentStates, ...merchantOrderStates])
    .optional()
    .describe('The state the client is to see; on get, last status and notices.'),
  state_at: milliseconds.optional().describe('When that state was reached, epoch milliseconds; on last status.'),
  held: z
    .object(createIntentBody.out.pick({ additional_info: true, payment: true, description: true }).shape)
    .optional()
    .describe('Fields that the client sent and an order does not have, given back verbatim; on answers and notices.'),
  amount_minor: z.int().optional().describe('The amount of the create, minor units; on answers and notices.'),
  created_at: milliseconds.optional().describe('When the intent was made, epoch milliseconds; on notices.'),
  caller_id: z.union([z.int(), z.string()]).optional().describe("The merchant's user id, digits; on notices."),
  client_id: z
    .union([z.int(), z.string()])
    .optional()
    .describe("The application's id, digits, where it is known; on notices."),
  payment_state: z.enum(['approved', 'rejected']).optional().describe('How the payment ended; on notices of FINISHED.'),
  events: z
    .array(z.object({ payment_intent_id: z.string(), status: z.enum(intentStates), created_on: milliseconds }))
    .optional()
    .describe("The merchant's own history, newest first; on the events list."),
  platform_id: z.string().optional().describe('From X-platform-id, by the headers table.'),
  integrator_id: z.string().optional().describe('From X-integrator-id, by the headers table.'),
  expiration_time: z
    .string()
    .optional()
    .describe('From X-Ttl-Store-Preference as an ISO duration, by the headers table.'),
});
