/** The invoices every merchant starts with, and `POST /_sandbox/invoices/{merchant}`, which makes more. */
import { type Request, Router } from 'express';
import { z } from 'zod';
import { type Answer, json, send } from '../answer.ts';
import { readBody } from '../body.ts';
import type { Merchant } from '../cast.ts';
import { merchantOf, parse } from '../control-call.ts';
import type { World } from '../world.ts';
import { type Invoice, invoicePaymentStatuses, invoiceStatuses, renderInvoice, summaries } from './invoice.ts';
import { recordAttempt } from './payment.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Invoice numbers of the cast: ten digits, as in published examples. */
const FIRST_INVOICE_ID = 6_100_000_001;
const FIRST_INVOICE_PAYMENT_ID = 19_800_000_001;
const INVENTED_PAYER_ID = 700_900_001;

/** Every field may be given; the rest is invented. */
const wantedInvoice = z.strictObject({
  id: z.int().positive().optional(),
  status: z.enum(invoiceStatuses).default('processed'),
  summarized: z.enum(summaries).default('done'),
  preapproval_id: z.string().min(1).optional(),
  reason: z.string().default('Monthly plan'),
  external_reference: z.string().default('2301'),
  amount_minor: z.int().positive().default(150_000),
  payer_id: z.int().positive().default(INVENTED_PAYER_ID),
  retry_attempt: z.int().min(0).default(1),
  debit_date: z.iso.datetime({ offset: true }).optional(),
  /** Null before the first attempt. */
  payment: z
    .strictObject({
      id: z.int().positive().optional(),
      status: z.enum(invoicePaymentStatuses).default('approved'),
      status_detail: z.string().default('accredited'),
    })
    .nullable()
    .default({ status: 'approved', status_detail: 'accredited' }),
});

/** A collected, a coming, a retried and a canceled one for each merchant. */
export function castInvoices(world: World): Invoice[] {
  const rejected = { status: 'rejected', status_detail: 'cc_rejected_insufficient_amount' } as const;
  const wanted: readonly z.input<typeof wantedInvoice>[] = [
    {},
    { status: 'scheduled', summarized: 'pending', retry_attempt: 0, payment: null },
    { status: 'recycling', summarized: 'pending', retry_attempt: 2, payment: rejected },
    { status: 'canceled', retry_attempt: 4, payment: { status: 'canceled', status_detail: 'expired' } },
  ];
  return [...world.merchants.values()].flatMap((merchant, place) =>
    wanted.map((fields, index) =>
      makeInvoice(world, merchant, place * wanted.length + index, wantedInvoice.parse(fields)),
    ),
  );
}

/** Part of the control door. An id that is there already changes its invoice, as another collection attempt does. */
export function invoiceControl(world: World): Router {
  const router = Router();
  router.post('/_sandbox/invoices/:merchant', readBody, (request, response) =>
    send(response, createInvoice(world, request)),
  );
  return router;
}

function createInvoice(world: World, request: Request): Answer {
  const merchant = merchantOf(world, request);
  const wanted = parse(wantedInvoice, request);
  const made = makeInvoice(world, merchant, world.invoices.size, wanted);
  const before = world.invoices.get(made.id);
  const invoice = before === undefined ? made : { ...made, created_at_ms: before.created_at_ms };
  world.invoices.set(invoice.id, invoice);
  recordAttempt(world, invoice);
  return json(201, renderInvoice(invoice, merchant, world.settings));
}

/** @param ordinal makes the invented numbers differ. */
function makeInvoice(
  world: World,
  merchant: Merchant,
  ordinal: number,
  { debit_date, payment, ...fields }: z.output<typeof wantedInvoice>,
): Invoice {
  const now_ms = world.clock.now();
  const created_at_ms = now_ms - DAY_MS;
  const usual_debit_ms = fields.status === 'scheduled' ? now_ms + DAY_MS : created_at_ms;
  return {
    ...fields,
    id: fields.id ?? FIRST_INVOICE_ID + ordinal,
    merchant_id: merchant.user_id,
    preapproval_id: fields.preapproval_id ?? `2c93808400000000000000000${merchant.user_id.slice(-7)}`,
    created_at_ms,
    modified_at_ms: now_ms,
    debit_at_ms: debit_date === undefined ? usual_debit_ms : Date.parse(debit_date),
    payment: payment === null ? null : { ...payment, id: payment.id ?? FIRST_INVOICE_PAYMENT_ID + ordinal },
  };
}
