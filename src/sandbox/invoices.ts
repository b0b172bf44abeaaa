/** Subscription invoices (`GET /authorized_payments/…`). Source: `docs/field-notes.md` Spec Endpoints, Orders §9. */

import { z } from 'zod';
import { DAY_MS } from '../contract/duration.ts';
import { json } from './answer.ts';
import { type Call, type Handler, paged, pageOf, type Rows } from './call.ts';
import { offsetDate } from './dates.ts';
import { amountNumber, amountText } from './money.ts';
import { refuse } from './payments/refunds.ts';
import { recordPayment } from './payments.ts';
import { type Invoice, invoicePaymentStatuses, invoiceStatuses, type Merchant, summaries } from './records.ts';
import type { World } from './world.ts';

/** As in the page's sample. */
const DEFAULT_LIMIT = 20;

/** All parameters are in the query, and none is mandatory (`docs/field-notes.md` Orders §9). */
const searchInvoices: Handler = (call) => {
  const page = pageOf(call.query, DEFAULT_LIMIT, (name) => refuse('invalid_property', name));
  const wanted = Object.entries(filters).flatMap(([name, read]) => {
    const value = call.query.get(name);
    if (value === null || value === '') return [];
    if (name !== 'preapproval_id' && !/^\d{1,18}$/.test(value)) throw refuse('invalid_property', name);
    return [{ read, value }];
  });
  const found = [...call.world.invoices.values()].filter(
    (invoice) => isOwn(call, invoice) && wanted.every(({ read, value }) => read(invoice) === value),
  );
  return paged(found, page, (invoice) => renderInvoice(call.world, invoice));
};

const getInvoice: Handler = (call) => {
  const id = call.path('id');
  if (!/^\d{1,15}$/.test(id)) throw refuse('invalid_property', 'id');
  const invoice = call.world.invoices.get(Number(id));
  if (invoice === undefined || !isOwn(call, invoice)) throw refuse(invoiceNotFound);
  return json(200, renderInvoice(call.world, invoice));
};

const filters: Readonly<Record<string, (invoice: Invoice) => string | null>> = {
  id: ({ id }) => String(id),
  preapproval_id: ({ preapproval_id }) => preapproval_id,
  payment_id: ({ payment }) => (payment === null ? null : String(payment.id)),
  payer_id: ({ payer_id }) => String(payer_id),
};

/** The answer for an unknown number is not published. */
const invoiceNotFound = { status: 404, error: 'not_found', message: 'Invoice not found' };

function isOwn({ merchant }: Call, invoice: Invoice): boolean {
  return invoice.merchant_id === merchant.user_id;
}

// A subscription invoice ("authorized payment") in answers. Source: `docs/field-notes.md` Spec Invoice, Orders §9.

/** Settings decide where the pages contradict themselves. */
export function renderInvoice({ settings, merchant }: World, invoice: Invoice): object {
  const { site } = merchant(invoice.merchant_id);
  const spelled = (status: string): string => (status === 'canceled' ? settings.invoice_canceled : status);
  const { external_reference, payment } = invoice;
  const isNumber = settings.invoice_external_reference === 'number' && /^[1-9]\d{0,14}$/.test(external_reference);
  return {
    id: invoice.id,
    type: 'scheduled',
    date_created: offsetDate(invoice.created_at_ms),
    last_modified: offsetDate(invoice.modified_at_ms),
    preapproval_id: invoice.preapproval_id,
    reason: invoice.reason,
    external_reference: isNumber ? Number(external_reference) : external_reference,
    currency_id: site.currency,
    transaction_amount:
      settings.invoice_amount === 'number'
        ? amountNumber(invoice.amount_minor, site)
        : amountText(invoice.amount_minor, site.exponent),
    debit_date: offsetDate(invoice.debit_at_ms),
    retry_attempt: invoice.retry_attempt,
    status: spelled(invoice.status),
    summarized: invoice.summarized,
    payer_id: invoice.payer_id,
    ...(payment !== null && { payment: { ...payment, status: spelled(payment.status) } }),
  };
}

// The payment of an invoice, for listeners and the payments API (`docs/field-notes.md` Spec Events, topic `payment`).

/** Stores and announces the payment of this attempt, if there is one. */
function recordAttempt(world: World, invoice: Invoice): void {
  if (invoice.payment === null) return;
  const { id, status, status_detail } = invoice.payment;
  const { merchant_id, amount_minor, external_reference, reason: description } = invoice;
  const payment = {
    id,
    merchant_id,
    // The payments API spells it with two l (`docs/field-notes.md` QR §3).
    status: status === 'canceled' ? ('cancelled' as const) : status,
    status_detail,
    amount_minor,
    refunded_minor: status === 'refunded' ? amount_minor : 0,
    external_reference,
    description,
    origin: { kind: 'invoice' as const, id: String(invoice.id) },
  };
  recordPayment(world, payment, { type: 'credit_card', id: 'master', installments: 1 }, undefined);
}

// The invoices of the cast, and `POST /_sandbox/invoices/{merchant}`, which adds more.

/** Invoice numbers of the cast: ten digits, as in published examples. */
const FIRST_INVOICE_ID = 6_100_000_001;
const FIRST_INVOICE_PAYMENT_ID = 19_800_000_001;
const INVENTED_PAYER_ID = 700_900_001;

/** Every field may be given; the defaults are invented. */
export const wantedInvoice = z.strictObject({
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

/** For each merchant a collected, a scheduled, a retried and a canceled one. */
export function fillInvoices(world: World): void {
  const rejected = { status: 'rejected', status_detail: 'cc_rejected_insufficient_amount' } as const;
  const wanted: readonly z.input<typeof wantedInvoice>[] = [
    {},
    { status: 'scheduled', summarized: 'pending', retry_attempt: 0, payment: null },
    { status: 'recycling', summarized: 'pending', retry_attempt: 2, payment: rejected },
    { status: 'canceled', retry_attempt: 4, payment: { status: 'canceled', status_detail: 'expired' } },
  ];
  for (const merchant of world.merchants.values()) {
    for (const fields of wanted) {
      const invoice = makeInvoice(world, merchant, world.invoices.size, wantedInvoice.parse(fields));
      world.invoices.set(invoice.id, invoice);
    }
  }
}

/** A known id changes its invoice, as another collection attempt does. */
export function putInvoice(world: World, merchant: Merchant, wanted: z.output<typeof wantedInvoice>): Invoice {
  const made = makeInvoice(world, merchant, world.invoices.size, wanted);
  const { created_at_ms } = world.invoices.get(made.id) ?? made;
  const invoice = { ...made, created_at_ms };
  world.invoices.set(invoice.id, invoice);
  recordAttempt(world, invoice);
  return invoice;
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

/** The search comes first, because `:id` would match `search`. */
export const invoiceRows: Rows<'payments'> = [
  ['get', '/authorized_payments/search', searchInvoices],
  ['get', '/authorized_payments/:id', getInvoice],
];
