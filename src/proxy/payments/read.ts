/** A payment and its refunds: real with the till's reference, or made from its order (`docs/field-notes.md` QR §3). */

import { payment as paymentSchema } from '../../contract/payments.ts';
import type { MappingContext } from '../../mapping/tables.ts';
import { markLimitation } from '../evidence/exchange.ts';
import {
  type Answered,
  answered,
  type LegacyAnswer,
  type LegacyCall,
  merchantContext,
  refused,
} from '../http/answer.ts';
import { isSyntheticPayment, orderNumberOf } from '../ids.ts';
import type { Ports } from '../ports.ts';
import { noteRead } from '../sales/known-to-till.ts';
import type { Link } from '../sales/link.ts';
import { readLink } from '../sales/refresh.ts';
import { paymentContradictionIn, reportContradiction } from '../sales/settle.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { asUpstreamSays } from './legacy-search.ts';
import { sendPaymentRead } from './owner.ts';
import { hasDoubt, lookAtOrder } from './refund-decisions.ts';
import { refundedIn, refundsOfOrder, sumOfRefunds, withOwnDates } from './refund-view.ts';

/** `GET /v1/payments/{id}`; upstream's errors are proxied unchanged. */
export async function getPayment(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  if (call.link === null) return { kind: 'proxy' };
  const link = await settledLink(ports, call, call.link);
  const read = await readPayment(ports, call, link, ports.settings.reads.fresh_ms);
  if (read.kind === 'failed') return read.answer;
  const payment = await (read.kind === 'missing'
    ? paymentFromOrder(ports, call, link)
    : ownView(ports, call, link, read.payment));
  const refunded_minor = refundedIn(ports, call, payment as Record<string, unknown>); // the table has just checked it
  return noteRead(ports, { link, refunded_minor }, answered(200, payment));
}

type PaymentRead =
  | { kind: 'real'; payment: Record<string, unknown> }
  /** Upstream has no payment with that number, or the number is Puente's own. */
  | { kind: 'missing' }
  | { kind: 'failed'; answer: Answered };

/** The real payment, or one made from its order where that can't be read. */
export async function showPayment(ports: Ports, call: LegacyCall, link: Link, fresh_ms: number): Promise<unknown> {
  const read = await readPayment(ports, call, link, fresh_ms);
  return read.kind === 'real' ? ownView(ports, call, link, read.payment) : paymentFromOrder(ports, call, link);
}

/** Cached for each state of the order, so that an event causes a new read. @param fresh_ms how old an answer may be. */
export async function readPayment(ports: Ports, call: LegacyCall, link: Link, fresh_ms: number): Promise<PaymentRead> {
  const { payment_id, order_version } = link;
  if (payment_id === null || isSyntheticPayment(payment_id)) return { kind: 'missing' };
  const key = `payment ${link.merchant_id} ${payment_id} ${order_version}`;
  const read = (): Promise<UpstreamOutcome> => sendPaymentRead(ports, call.token, payment_id);
  const isKept = (one: UpstreamOutcome): boolean =>
    one.kind === 'answered' && (one.status === 200 || one.status === 404);
  const outcome = await ports.memory.cache.get(key, ports.clock.now(), fresh_ms, read, isKept);
  if (outcome.kind === 'answered' && outcome.status === 404) return { kind: 'missing' };
  if (outcome.kind !== 'answered' || outcome.status !== 200)
    return { kind: 'failed', answer: await asUpstreamSays(ports, call, outcome) };
  const parsed = paymentSchema.safeParse(outcome.body);
  const { family } = call.operation;
  if (!parsed.success || String(parsed.data.id) !== payment_id)
    return { kind: 'failed', answer: refused(family, 'unavailable') };
  // The unparsed body is passed on, so that keys keep their order and numbers their text.
  const payment = outcome.body as Record<string, unknown>;
  if (await isContradicting(ports, link, payment))
    return { kind: 'failed', answer: refused(family, 'outcome_unknown') };
  return { kind: 'real', payment };
}

/** True for the payment of another sale with this one's number: it is reported, and not shown. */
async function isContradicting(ports: Ports, link: Link, payment: Record<string, unknown>): Promise<boolean> {
  const key = `payment ${link.legacy_id}`;
  const contradiction = paymentContradictionIn(link, payment);
  if (contradiction === null) ports.memory.sales.contradicted.delete(key);
  else await reportContradiction(ports, link, link.order_id ?? 'none', contradiction, key);
  return contradiction !== null;
}

/** A real payment with the till's own values instead of those that were sent upstream; keeps the key order. */
export async function ownView(
  ports: Ports,
  call: LegacyCall,
  link: Link,
  real: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  // Its `order` number is not a merchant order; that of a QR sale is one.
  if (link.family === 'point') markLimitation(ports.exchange, 'LIM-08');
  const { id } = (real.order ?? {}) as { id?: unknown }; // any JSON object, or null
  const context = paymentContext(ports, call, link, id);
  const { value } = ports.tables.answer(call.operation, real, context);
  const own = { ...real, ...(value.body as Record<string, unknown>) }; // the table has just checked it
  if (real.refunds !== undefined) own.refunds = await withOwnDates(ports, call, link, real.refunds);
  return own;
}

/** The legacy body of a payment, made from its order, which is read first while the sale is open. */
export async function paymentFromOrder(ports: Ports, call: LegacyCall, link: Link): Promise<unknown> {
  const current = link.state === 'LIVE' ? await readLink(ports, link, call.token) : link;
  const refunds = await refundsOfOrder(ports, call, current);
  const context = { ...paymentContext(ports, call, current), refunds };
  return ports.tables.payment(current.order ?? {}, context).value.body;
}

/** Settles a refund in doubt by reading its order, unless a refund is being made. */
async function settledLink(ports: Ports, call: LegacyCall, link: Link): Promise<Link> {
  if (ports.memory.mutex.busy(link.legacy_id) || !(await hasDoubt(ports, link))) return link;
  const { exponent } = ports.tables.site(call.merchant.site);
  const deadline = call.received_at + ports.settings.create.deadline_ms;
  return ports.memory.mutex.run(link.legacy_id, async () => {
    const result = await lookAtOrder(ports, link, { token: call.token, exponent, deadline });
    return result.link;
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

/** `GET /v1/payments/:id/refunds`, of a sale on orders; another payment is proxied. */
export async function listRefunds(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const found = await findRefunds(ports, call);
  if ('kind' in found) return found;
  const refunded_minor = sumOfRefunds(found.refunds, ports.tables.site(call.merchant.site).exponent);
  return noteRead(ports, { link: found.link, refunded_minor }, answered(200, found.refunds));
}

/** `GET /v1/payments/:id/refunds/:refund_id`; 404 for a refund that the sale does not have. */
export async function getRefund(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const found = await findRefunds(ports, call);
  if ('kind' in found) return found;
  const { link, refunds } = found;
  const at = refunds.findIndex((one) => String((one as { id?: unknown }).id) === call.path.refund_id); // any JSON
  if (at < 0) return refused(call.operation.family, 'refund_not_found');
  // A till that names a refund knows those before it.
  const refunded_minor = sumOfRefunds(refunds.slice(0, at + 1), ports.tables.site(call.merchant.site).exponent);
  return noteRead(ports, { link, refunded_minor }, answered(200, refunds[at]));
}

/** The refunds of the real payment, or those of its order. */
async function findRefunds(ports: Ports, call: LegacyCall): Promise<LegacyAnswer | { link: Link; refunds: unknown[] }> {
  if (call.link === null) return { kind: 'proxy' };
  const link = await settledLink(ports, call, call.link);
  const read = await readPayment(ports, call, link, ports.settings.reads.fresh_ms);
  if (read.kind === 'failed') return read.answer;
  const real = read.kind === 'real' ? await withOwnDates(ports, call, link, read.payment.refunds) : undefined;
  return { link, refunds: Array.isArray(real) ? real : await refundsOfOrder(ports, call, link) };
}
