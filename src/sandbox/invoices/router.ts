/** `GET /authorized_payments/search` and `/{id}`: the invoices of subscriptions. Source: `interface.md` Endpoints, `orders-api.md` §9. */
import type { Router } from 'express';
import { json } from '../answer.ts';
import { type OlderCall, type OlderHandler, olderRouter, paged, pageOf, refuse, refuseWith } from '../older-call.ts';
import type { World } from '../world.ts';
import { castInvoices } from './cast.ts';
import { type Invoice, renderInvoice } from './invoice.ts';

/** As in the sample of the page. */
const DEFAULT_LIMIT = 20;

/** The search stands before the invoice whose id could read `search`. */
export function invoicesRouter(world: World): Router {
  const fill = (): void => {
    for (const invoice of castInvoices(world)) world.invoices.set(invoice.id, invoice);
  };
  fill();
  world.onReset(fill);
  return olderRouter(world, [
    ['get', '/authorized_payments/search', searchInvoices],
    ['get', '/authorized_payments/:id', getInvoice],
  ]);
}

/** All parameters travel in the query, and none is mandatory (`orders-api.md` §9). */
const searchInvoices: OlderHandler = (call) => {
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
  return paged(found, page, (invoice) => render(call, invoice));
};

const getInvoice: OlderHandler = (call) => {
  const id = call.path('id');
  if (!/^\d{1,15}$/.test(id)) throw refuse('invalid_property', 'id');
  const invoice = call.world.invoices.get(Number(id));
  if (invoice === undefined || !isOwn(call, invoice)) throw refuseWith(invoiceNotFound);
  return json(200, render(call, invoice));
};

const filters: Readonly<Record<string, (invoice: Invoice) => string | null>> = {
  id: ({ id }) => String(id),
  preapproval_id: ({ preapproval_id }) => preapproval_id,
  payment_id: ({ payment }) => (payment === null ? null : String(payment.id)),
  payer_id: ({ payer_id }) => String(payer_id),
};

/** No answer is published for a number that no invoice has. */
const invoiceNotFound = { status: 404, error: 'not_found', message: 'Invoice not found' };

function isOwn({ merchant }: OlderCall, invoice: Invoice): boolean {
  return invoice.merchant_id === merchant.user_id;
}

function render({ merchant, world }: OlderCall, invoice: Invoice): object {
  return renderInvoice(invoice, merchant, world.settings);
}
