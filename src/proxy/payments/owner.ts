/** Finds the link of one of upstream's payments, also before the link has the payment's number. */
import { payment as paymentSchema } from '../../contract/payments.ts';
import type { Ports } from '../ports.ts';
import { distrust } from '../routing/merchant-identity.ts';
import type { Link } from '../sales/link.ts';
import { refreshLink } from '../sales/refresh.ts';
import { SHORTEST_READ_MS, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';

/** The fields of a payment that identify its sale. Only these are cached, because there may be thousands. */
interface PaymentTraits {
  id?: unknown;
  external_reference?: unknown;
  order?: unknown;
}

/** The sale of a payment never changes. */
const TRAITS_FRESH_MS = 60 * 60_000;

interface SeenTraits {
  /** Epoch ms. */
  at: number;
  /** Null without an answer. */
  status: number | null;
  traits: PaymentTraits | null;
}

/**
 * The link of a payment whose event is late or lost. Reads the payment once, and the order of the link that it names.
 * Null for a payment that is not Puente's, or can't be read now.
 * @param token accepted as this merchant's. @param payment_id digits.
 */
export async function findUnseenPayment(
  ports: Ports,
  token: Secret,
  merchant_id: string,
  payment_id: string,
): Promise<Link | null> {
  const { at, traits } = await readTraits(ports, token, merchant_id, payment_id);
  const found = traits === null ? null : await linkOfPayment(ports, token, merchant_id, traits, at);
  if (found === null) return null;
  const link = found.payment_id === payment_id ? found : await refreshLink(ports, found, token);
  // Of several payment attempts at one sale, the order names the one that counts.
  return link.payment_id === payment_id ? link : null;
}

async function readTraits(ports: Ports, token: Secret, merchant_id: string, payment_id: string): Promise<SeenTraits> {
  const at = ports.clock.now();
  const read = async (): Promise<SeenTraits> => {
    const outcome = await sendPaymentRead(ports, token, payment_id);
    if (outcome.kind !== 'answered') return { at, status: null, traits: null };
    if (outcome.status === 401) await distrust(ports, token);
    const parsed = outcome.status === 200 ? paymentSchema.safeParse(outcome.body) : null;
    const isIt = parsed?.success === true && String(parsed.data.id) === payment_id;
    return { at, status: outcome.status, traits: isIt ? traitsOf(parsed.data) : null };
  };
  return ports.memory.cache.get(`payment owner ${merchant_id} ${payment_id}`, at, TRAITS_FRESH_MS, read, (one) =>
    one.status === 404 ? ports.settings.reads.search_fresh_ms : one.traits !== null,
  );
}

/** @param payment_id digits. @param deadline epoch ms, cuts the read. */
export function sendPaymentRead(
  ports: Ports,
  token: Secret,
  payment_id: string,
  deadline = Number.POSITIVE_INFINITY,
): Promise<UpstreamOutcome> {
  const left_ms = Math.max(deadline - ports.clock.now(), SHORTEST_READ_MS);
  const timeout_ms = Math.min(ports.settings.reads.timeout_ms, left_ms);
  const path = `/v1/payments/${payment_id}`;
  return ports.upstreams.orders.send({ name: 'payment', method: 'GET', path, token, timeout_ms });
}

function traitsOf({ id, external_reference, order }: PaymentTraits): PaymentTraits {
  return { id, external_reference, order: { id: orderIdOf(order) } };
}

function orderIdOf(order: unknown): unknown {
  return (order as { id?: unknown } | null | undefined)?.id; // any JSON
}

/**
 * The link that a payment names by its number, its order, or the reference that was sent upstream. A link without the
 * payment is refreshed from its order.
 * @param known_at epoch ms when the payment was requested: an order that was read since then is recent enough.
 */
export async function linkOfPayment(
  ports: Ports,
  token: Secret,
  merchant_id: string,
  payment: PaymentTraits,
  known_at: number,
): Promise<Link | null> {
  const { store } = ports;
  const paid = await store.links.linkByPayment(String(payment.id));
  if (paid !== null) return paid.merchant_id === merchant_id ? paid : null;
  const order_id = orderIdOf(payment.order);
  const ordered = typeof order_id === 'string' ? await store.links.linkByOrder(order_id) : null;
  if (ordered?.merchant_id === merchant_id) return withPayment(ports, token, ordered, payment, known_at);
  const { external_reference } = payment;
  if (typeof external_reference !== 'string') return null;
  const link = await store.links.linkByReference(merchant_id, external_reference);
  if (link === null) return null;
  const isDerived = external_reference !== link.client_reference;
  // The client may have used its own reference elsewhere before: then the order must name this payment.
  if (!isDerived && (link.state !== 'LIVE' || link.payment_id !== null)) return null;
  const found = await withPayment(ports, token, link, payment, known_at);
  return isDerived || found.payment_id === String(payment.id) ? found : null;
}

async function withPayment(
  ports: Ports,
  token: Secret,
  link: Link,
  payment: PaymentTraits,
  known_at: number,
): Promise<Link> {
  if (link.payment_id === String(payment.id) || ports.memory.sales.reads.last(link.order_id ?? '') >= known_at)
    return link;
  return refreshLink(ports, link, token, { force: true });
}
