/** Choices that the specification leaves open for payments, refunds, chargebacks, stores and invoices; part of the sandbox's settings. */
import { z } from 'zod';

export const paymentAssumptions = {
  order_payments: z
    .enum(['readable', 'hidden'])
    .default('readable')
    .describe('Whether the payments API knows payments made by orders, or says 404 (legacy-qr.md §3, §11).'),
  order_payment_refunds: z
    .enum(['refused', 'allowed'])
    .default('refused')
    .describe('Whether the payments API refunds payments made by orders, or says 2063 (legacy-qr.md §3).'),
  refund_key_required: z
    .boolean()
    .default(false)
    .describe('Whether POST …/refunds without X-Idempotency-Key is refused with 4292 (legacy-qr.md §3).'),
  payment_refund_days: z
    .int()
    .min(1)
    .default(180)
    .describe('Days in which the payments API refunds; its pages name errors for older ones and no number.'),
  refund_too_old_code: z
    .union([z.literal(2024), z.literal(15016)])
    .default(2024)
    .describe('Which of the two documented numbers says that a payment is too old to be refunded (legacy-qr.md §3).'),
  payment_refund_status: z
    .enum(['approved', 'in_process'])
    .default('approved')
    .describe('Status of a new refund; in_process becomes approved after simulated_step_ms (legacy-qr.md §3).'),
  chargeback_payment: z
    .enum(['payment_id', 'payments'])
    .default('payment_id')
    .describe('How a chargeback names its payment; interface.md shows no shape, the other fields are the SDK type.'),
  store_create_status: z
    .union([z.literal(200), z.literal(201)])
    .default(200)
    .describe('HTTP status of a new store or till; the pages say 200, and no capture shows it (legacy-qr.md §4).'),
  invoice_external_reference: z
    .enum(['text', 'number'])
    .default('text')
    .describe('JSON type of an invoice external_reference made of digits (interface.md, Invoice).'),
  invoice_amount: z
    .enum(['number', 'text'])
    .default('number')
    .describe('JSON type of an invoice transaction_amount (interface.md, Invoice).'),
  invoice_canceled: z
    .enum(['canceled', 'cancelled'])
    .default('canceled')
    .describe('Spelling of the canceled status of invoices and their payments (orders-api.md §9).'),
};
