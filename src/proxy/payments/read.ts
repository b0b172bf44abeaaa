/** Reading a payment: the real one with the till’s own reference, or what its order says (`docs/field-notes.md` QR §3). */

import { payment as paymentSchema } from '../../contract/payments.ts';
import type { MappingContext } from '../../mapping/tables.ts';
import { markLimitation } from '../evidence/exchange.ts';
import { type Answered, answered, type LegacyAnswer, refused } from '../http/answer.ts';
import { type LegacyCall, merchantContext } from '../http/call.ts';
import { isMintedPayment, orderNumberOf } from '../ids.ts';
import type { Ports } from '../ports.ts';
import { distrust } from '../routing/merchant-identity.ts';
import { noteRead } from '../sales/acknowledgement.ts';
import type { Link } from '../sales/link.ts';
import { readLink } from '../sales/refresh.ts';
import { paymentContradictionIn, reportContradiction } from '../sales/settle.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { hasDoubt, lookAtOrder } from './refund-decisions.ts';
import { refundsOfOrder, withOwnDates } from './refund-view.ts';

/** `GET /v1/payments/{id}`; the service's errors are told as they came. */
export async function getPayment(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'carry' };
  const link = await settledLink(ports, call, call.link);
  const read = await readPayment(ports, call, link, ports.settings.reads.fresh_ms);
  if (read.kind === 'failed') return read.answer;
  await noteRead(ports, link);
  if (read.kind === 'missing') return answered(200, await tellFromOrder(ports, call, link));
  return answered(200, await ownView(ports, call, link, read.payment));
}

// A payment of ours as the till sees it: the real one with the till's own reference, or else what its order says.

export type PaymentRead =
  | { kind: 'real'; payment: Record<string, unknown> }
  /** The service has none under that number, or there is no real number. */
  | { kind: 'missing' }
  | { kind: 'failed'; answer: Answered };

/** The payment for a caller who needs it, whatever can be read: the real one, or told from its order. */
export async function showPayment(ports: Ports, call: LegacyCall, link: Link, fresh_ms: number): Promise<unknown> {
  const read = await readPayment(ports, call, link, fresh_ms);
  return read.kind === 'real' ? ownView(ports, call, link, read.payment) : tellFromOrder(ports, call, link);
}

/**
 * `GET /v1/payments/{id}` upstream; kept for each state of the order, so that what an event tells is read anew.
 * @param fresh_ms how old an answer may be.
 */
export async function readPayment(ports: Ports, call: LegacyCall, link: Link, fresh_ms: number): Promise<PaymentRead> {
  const { payment_id, order_version } = link;
  if (payment_id === null || isMintedPayment(payment_id)) return { kind: 'missing' };
  const ask = (): Promise<UpstreamOutcome> =>
    ports.upstreams.orders.send({
      name: 'payment',
      method: 'GET',
      path: `/v1/payments/${payment_id}`,
      token: call.token,
      timeout_ms: ports.settings.reads.timeout_ms,
    });
  const isKept = (one: UpstreamOutcome): boolean =>
    one.kind === 'answered' && (one.status === 200 || one.status === 404);
  const key = `payment ${link.merchant_id} ${payment_id} ${order_version}`;
  const outcome = await ports.memory.cache.get(key, ports.clock.now(), fresh_ms, ask, isKept);
  if (outcome.kind === 'answered' && outcome.status === 404) return { kind: 'missing' };
  if (outcome.kind === 'answered' && outcome.status === 200) {
    const parsed = paymentSchema.safeParse(outcome.body);
    const isIt = parsed.success && String(parsed.data.id) === payment_id;
    // The body itself is told on, so that its keys keep their order and its numbers their text.
    if (!isIt) return { kind: 'failed', answer: refused(call.operation.family, 'unavailable') };
    const payment = outcome.body as Record<string, unknown>;
    if (!(await isContradicting(ports, link, payment))) return { kind: 'real', payment };
    return { kind: 'failed', answer: refused(call.operation.family, 'outcome_unknown') };
  }
  return { kind: 'failed', answer: await asUpstreamSays(ports, call, outcome) };
}

/** True for a payment that is another sale's, although it has the number of this one's: reported, and not shown. */
async function isContradicting(ports: Ports, link: Link, payment: Record<string, unknown>): Promise<boolean> {
  const key = `payment ${link.legacy_id}`;
  const contradiction = paymentContradictionIn(link, payment);
  if (contradiction === null) ports.memory.sales.contradicted.delete(key);
  else await reportContradiction(ports, link, link.order_id ?? 'none', contradiction, key);
  return contradiction !== null;
}

/** The service's own error, in its own words: both sides of Puente speak the same family here. */
export async function asUpstreamSays(ports: Ports, call: LegacyCall, outcome: UpstreamOutcome): Promise<Answered> {
  const { family } = call.operation;
  if (outcome.kind === 'not_sent') return refused(family, 'bad_gateway');
  if (outcome.kind === 'broken' || outcome.status < 400) return refused(family, 'unavailable');
  const { status, body, retry_after_ms } = outcome;
  if (status === 401) await distrust(ports, call.token);
  if (body === undefined) return refused(family, 'unavailable');
  if (retry_after_ms === null) return answered(status, body);
  return answered(status, body, { 'retry-after': String(Math.ceil(retry_after_ms / 1000)) });
}

/** A real payment with what is the till's own instead of what went upstream; key order kept. */
export async function ownView(
  ports: Ports,
  call: LegacyCall,
  link: Link,
  real: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  // Its `order` has a number that is no merchant order; that of a QR sale is one.
  if (link.family === 'point') markLimitation(ports.exchange, 'LIM-08');
  const { id } = (real.order ?? {}) as { id?: unknown }; // any JSON object, or null
  const context = paymentContext(ports, call, link, id);
  const { value } = ports.tables.answer(call.operation, real, context);
  const own = { ...real, ...(value.body as Record<string, unknown>) }; // the table has just checked it
  if (real.refunds !== undefined) own.refunds = await withOwnDates(ports, call, link, real.refunds);
  return own;
}

/** Where the service has no such payment: the order's word for it. */
export async function tellFromOrder(ports: Ports, call: LegacyCall, link: Link): Promise<unknown> {
  const current = link.state === 'LIVE' ? await readLink(ports, link, call.token) : link;
  const refunds = await refundsOfOrder(ports, call, current);
  const context = { ...paymentContext(ports, call, current), refunds };
  return ports.tables.payment(current.order ?? {}, context).value.body;
}

/** The link, with a refund in doubt settled by a look at its order; not while one is being made. */
export async function settledLink(ports: Ports, call: LegacyCall, link: Link): Promise<Link> {
  if (ports.memory.mutex.busy(link.legacy_id) || !(await hasDoubt(ports, link))) return link;
  const { exponent } = ports.tables.site(call.merchant.site);
  const deadline = call.received_at + ports.settings.create.deadline_ms;
  return ports.memory.mutex.run(link.legacy_id, async () => {
    const seen = await lookAtOrder(ports, link, { token: call.token, exponent, deadline });
    return seen.link;
  });
}

/** @param real_id `order.id` of the real payment. */
function paymentContext(ports: Ports, call: LegacyCall, link: Link, real_id?: unknown): MappingContext {
  return {
    ...merchantContext(ports, call.merchant),
    merchant_id: Number(link.merchant_id),
    payment_id: Number(link.payment_id),
    client_reference: link.client_reference,
    currency: ports.tables.site(call.merchant.site).currency,
    amount_minor: link.amount_minor,
    created_at: link.created_at,
    payment_order: { type: 'mercadopago', id: orderNumberOf(link, real_id) },
  };
}
