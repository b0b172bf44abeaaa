/** What a table may know beside its source: the keys of the mapping context, each with its meaning and who gives it. */
import { z } from 'zod';
import { intentStates } from '../contract/legacy-point.ts';

const milliseconds = z.int().describe('Epoch milliseconds.');

/** Every key is optional here, because no call needs them all; the sentence says when it is given. */
export const contextSchema = z.object({
  site: z.string().optional().describe("The merchant's site, such as MLB; on every request. Decides which rows fire."),
  exponent: z.int().optional().describe("Decimals of the site's currency; wherever an amount is read or written."),
  reference: z
    .string()
    .optional()
    .describe('The external reference that goes upstream, derived or verbatim (DESIGN decision 5); on create.'),
  voucher: z
    .enum(['refuse', 'drop'])
    .optional()
    .describe("The merchant's setting for a preference that orders don't know; on create."),
  order_id: z.string().optional().describe('The order behind the legacy id; on get and cancel.'),
  cancelable_status: z
    .literal('at_terminal')
    .optional()
    .describe('Given on cancel when the merchant allows canceling an order that is on the terminal.'),
  intent_id: z.string().optional().describe('The legacy id; on every answer about an intent, and on notices.'),
  device_id: z.string().optional().describe('The terminal the intent was made for; on answers about an intent.'),
  state: z.enum(intentStates).optional().describe('The state the client is to see; on get, last status and notices.'),
  state_at: milliseconds.optional().describe('When that state was reached, epoch milliseconds; on last status.'),
  held: z
    .object({ additional_info: z.unknown(), payment: z.unknown(), description: z.string().optional() })
    .optional()
    .describe('What the client said and the order does not carry, given back verbatim; on answers and notices.'),
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
