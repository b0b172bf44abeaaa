/** Reading an order and moving its link to what it says; and canceling an order, written down first and never repeated blindly (`docs/protocol.md` §3.9). */
import { type Order, order as orderSchema } from '../../contract/orders.ts';
import { PuenteError } from '../../error.ts';
import { tickOf } from '../clock.ts';
import { markLimitation } from '../evidence/exchange.ts';
import type { LogFields } from '../log.ts';
import type { Ports } from '../ports.ts';
import { distrust } from '../routing/merchant-identity.ts';
import { routeOf, sendUntilReady, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import type { Link } from './link.ts';
import { applyOrder, changeLink, isContradicted } from './settle.ts';

/**
 * Reads a live link's order and moves the link to it. One read per order at a time; a read younger than `fresh_ms`
 * is good enough unless `force` is set. What can't be read leaves the stored state standing (`test/faults/README.md` F27, F28).
 */
export async function refreshLink(ports: Ports, link: Link, token: Secret, options: ReadOptions = {}): Promise<Link> {
  return (await lookAtLink(ports, link, token, options)).link;
}

interface ReadOptions {
  force?: boolean;
  deadline?: number;
}

/**
 * The same for a till that reads its sale. While upstream's answers contradict the sale nobody knows how it stands, and what
 * is stored must not be told for it.
 * @throws PuenteError refused.
 */
export async function readLink(ports: Ports, link: Link, token: Secret): Promise<Link> {
  const { link: seen, found } = await lookAtLink(ports, link, token);
  if (found !== 'contradicted') return seen;
  // For a till, which is answered in its family's words: no operator reads this text.
  const message = 'the order contradicts its sale';
  throw new PuenteError('refused', message, { facts: { error: 'outcome_unknown' } });
}

/**
 * The same as `refreshLink`, for a caller that can do something about what was found: the order; that upstream doesn't know
 * it; one that contradicts the sale; that the token is none (any more); or nothing, also where another read was good enough.
 */
export async function lookAtLink(
  ports: Ports,
  link: Link,
  token: Secret,
  options: ReadOptions = {},
): Promise<{ link: Link; found: 'order' | 'missing' | 'contradicted' | 'refused' | 'unread' }> {
  const { order_id } = link;
  if (order_id === null) return { link, found: 'unread' };
  const asked_at = ports.clock.now();
  const begun_before = ports.memory.sales.reads.begun();
  return ports.memory.mutex.run(`order:${order_id}`, async () => {
    const current = (await ports.store.links.link(link.legacy_id)) ?? link;
    const last = ports.memory.sales.reads.last(order_id);
    const fresh_ms = options.force === true ? 0 : ports.settings.reads.fresh_ms;
    const known = (): 'contradicted' | 'unread' => (isContradicted(ports, link) ? 'contradicted' : 'unread');
    if (ports.memory.sales.reads.number(order_id) > begun_before) return { link: current, found: known() };
    if (last > 0 && asked_at - last < fresh_ms) {
      if (current.state === 'LIVE') markLimitation(ports.exchange, 'LIM-11');
      return { link: current, found: known() };
    }
    const { order, status } = await askOrder(ports, token, order_id, options.deadline, {
      legacy_id: link.legacy_id,
    });
    if (order !== null) {
      const applied = await applyOrder(ports, current, order);
      return { link: applied, found: isContradicted(ports, link) ? 'contradicted' : 'order' };
    }
    return { link: current, found: status === 404 ? 'missing' : status === 401 ? 'refused' : 'unread' };
  });
}

/** A read whose caller has no time left still gets this long: most are answered in a few milliseconds. */
const SHORTEST_READ_MS = 250;

/**
 * `GET /v1/orders/{id}`; null when it can't be read now, `missing` when upstream says that it does not exist.
 * @param deadline epoch ms at which the caller has to answer; the read is cut there.
 */
export async function readOrder(
  ports: Ports,
  token: Secret,
  order_id: string,
  deadline?: number,
): Promise<Order | 'missing' | null> {
  const { order, status } = await askOrder(ports, token, order_id, deadline);
  return order === null && status === 404 ? 'missing' : order;
}

/** The order, null when it can't be read; and what was answered, null when nothing was. @param about for the log. */
async function askOrder(
  ports: Ports,
  token: Secret,
  order_id: string,
  deadline = Number.POSITIVE_INFINITY,
  about: LogFields = {},
): Promise<{ order: Order | null; status: number | null }> {
  const started_at = ports.clock.now();
  const number = ports.memory.sales.reads.begin();
  const outcome = await ports.upstreams.orders.send({
    ...routeOf('get', order_id),
    token,
    timeout_ms: Math.min(ports.settings.reads.timeout_ms, Math.max(deadline - started_at, SHORTEST_READ_MS)),
  });
  const order = readableOrder(outcome, order_id);
  const status = outcome.kind === 'answered' ? outcome.status : null;
  noteUnfound(ports, order_id, order, status);
  if (order === null) {
    if (status === 401) await distrust(ports, token);
    const cause = outcome.kind === 'answered' ? `status ${outcome.status}` : outcome.cause;
    ports.log.warn('order could not be read; the stored state stands', { ...about, order_id, cause });
  } else ports.memory.sales.reads.mark(order_id, started_at, number);
  return { order, status };
}

/** Two reads that are further apart don't say that it was missing between them: upstream was away, or another process read. */
const LONGEST_GAP_MS = 10 * 60_000;

/** What can't be read at all says nothing of whether it is there. */
function noteUnfound(ports: Ports, order_id: string, order: Order | null, status: number | null): void {
  const { clock, settings } = ports;
  const { unfound } = ports.memory.sales;
  if (order !== null) unfound.delete(order_id);
  else if (status === 404) {
    const last_ms = tickOf(clock);
    const gap_ms = Math.max(LONGEST_GAP_MS, 2 * settings.reconcile.max_interval_ms);
    const known = unfound.get(order_id);
    const goesOn = known !== undefined && last_ms - known.last_ms <= gap_ms;
    unfound.set(order_id, { since_ms: goesOn ? known.since_ms : last_ms, last_ms });
  }
}

/** The order in an answer, when it is complete and the one that was asked for; null fits none. */
export function readableOrder(outcome: UpstreamOutcome, order_id: string | null): Order | null {
  if (outcome.kind !== 'answered' || outcome.status < 200 || outcome.status > 299) return null;
  const parsed = orderSchema.safeParse(outcome.body);
  return parsed.success && parsed.data.id === order_id ? parsed.data : null;
}

// The cancel of an order upstream: written down, sent, and never repeated blindly (`docs/protocol.md` §3.9).

/** Written down before it is done: after a crash an already canceled order is known to be our doing. */
export async function markSent(ports: Ports, link: Link): Promise<Link> {
  const marked = await changeLink(ports, link, (current) =>
    current.cancel === null ? { change: { cancel: 'sent' } } : null,
  );
  ports.memory.failpoint('cancel.marked');
  return marked;
}

/**
 * `POST /v1/orders/{id}/cancel`, with one key until upstream can do it. The key differs per stored revision: a later cancel
 * is a distinct operation.
 * @param deadline epoch ms until which a till waits; without one nobody waits, and it is sent once.
 * @throws Error for a link whose order is not known: a defect, because there is nothing to cancel yet.
 */
export async function sendCancel(
  ports: Ports,
  link: Link,
  token: Secret,
  headers: Record<string, string> = {},
  deadline = 0,
): Promise<UpstreamOutcome> {
  if (link.order_id === null) throw new Error(`the link ${link.legacy_id} has no order to cancel`);
  const { attempt_timeout_ms } = ports.settings.create;
  const { order_id } = link;
  const outcome = await sendUntilReady(ports, deadline, () =>
    ports.upstreams.orders.send({
      ...routeOf('cancel', order_id),
      headers,
      token,
      idempotency_key: ports.vault.keyed('cancel-key', `${link.legacy_id}:${link.revision}`),
      timeout_ms: deadline === 0 ? attempt_timeout_ms : Math.min(deadline - ports.clock.now(), attempt_timeout_ms),
    }),
  );
  ports.memory.failpoint('cancel.sent');
  return outcome;
}
