/** Reads an order and moves its link to it; cancels an order (`docs/protocol.md` §3.9). */
import { type Order, order as orderSchema } from '../../contract/orders.ts';
import { PuenteError } from '../../error.ts';
import { tickOf } from '../clock.ts';
import { markLimitation } from '../evidence/exchange.ts';
import type { LogFields } from '../log.ts';
import type { Ports } from '../ports.ts';
import type { InboxEvent } from '../records/notices.ts';
import { distrust } from '../routing/merchant-identity.ts';
import { routeOf, SHORTEST_READ_MS, sendUntilReady, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import type { Link } from './link.ts';
import { changeLink, commitOrder, isContradicted } from './settle.ts';

/**
 * Reads a link's order and moves the link to it. One read of an order runs at a time; one younger than `fresh_ms` is
 * reused unless `force` is set. A read that fails leaves the stored state (`test/faults/README.md` F27, F28).
 */
export async function refreshLink(ports: Ports, link: Link, token: Secret, options: ReadOptions = {}): Promise<Link> {
  return (await lookAtLink(ports, link, token, options)).link;
}

interface ReadOptions {
  force?: boolean;
  deadline?: number;
  /** Done in the commit of what the order changes. */
  event?: InboxEvent;
}

/** The same for a till's read. @throws PuenteError refused while upstream's answers contradict the sale. */
export async function readLink(ports: Ports, link: Link, token: Secret): Promise<Link> {
  const { link: latest, found } = await lookAtLink(ports, link, token);
  if (found !== 'contradicted') return latest;
  // The till is answered in its family's words, so this text is never shown.
  const message = 'the order contradicts its sale';
  throw new PuenteError('refused', message, { facts: { error: 'outcome_unknown' } });
}

/**
 * Like `refreshLink`, and returns what was found. `missing`: upstream does not know the order. `contradicted`: it
 * contradicts the sale. `refused`: the token is not valid. `unread`: nothing new, also when another read was reused.
 * `is_committed`: the order has changed the link.
 */
export async function lookAtLink(
  ports: Ports,
  link: Link,
  token: Secret,
  options: ReadOptions = {},
): Promise<{
  link: Link;
  found: 'order' | 'missing' | 'contradicted' | 'refused' | 'unread';
  is_committed?: boolean;
}> {
  const { order_id } = link;
  if (order_id === null) return { link, found: 'unread' };
  const requested_at = ports.clock.now();
  const begun_before = ports.memory.sales.reads.begun();
  return ports.memory.mutex.run(`order:${order_id}`, async () => {
    const current = (await ports.store.links.link(link.legacy_id)) ?? link;
    const last = ports.memory.sales.reads.last(order_id);
    const fresh_ms = options.force === true ? 0 : ports.settings.reads.fresh_ms;
    const known = (): 'contradicted' | 'unread' => (isContradicted(ports, link) ? 'contradicted' : 'unread');
    if (ports.memory.sales.reads.number(order_id) > begun_before) return { link: current, found: known() };
    if (last > 0 && requested_at - last < fresh_ms) {
      if (current.state === 'LIVE') markLimitation(ports.exchange, 'LIM-11');
      return { link: current, found: known() };
    }
    const { order, status } = await requestOrder(ports, token, order_id, options.deadline, {
      legacy_id: link.legacy_id,
    });
    if (order !== null) {
      const applied = await commitOrder(ports, current, order, { event: options.event });
      return { ...applied, found: isContradicted(ports, link) ? 'contradicted' : 'order' };
    }
    return { link: current, found: status === 404 ? 'missing' : status === 401 ? 'refused' : 'unread' };
  });
}

/** Null when the order can't be read now, `missing` when it does not exist. @param deadline epoch ms, cuts the read. */
export async function readOrder(
  ports: Ports,
  token: Secret,
  order_id: string,
  deadline?: number,
): Promise<Order | 'missing' | null> {
  const { order, status } = await requestOrder(ports, token, order_id, deadline);
  return order === null && status === 404 ? 'missing' : order;
}

/** The order, null when it can't be read; the status, null without an answer. @param about for the log. */
async function requestOrder(
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
    ports.log.warn('order could not be read; the stored state is used', { ...about, order_id, cause });
  } else ports.memory.sales.reads.mark(order_id, started_at, number);
  return { order, status };
}

/** Reads further apart don't prove that it was missing in between: upstream was down, or another process read it. */
const LONGEST_GAP_MS = 10 * 60_000;

/** Only a 404 counts as not found; any other failed read proves nothing. */
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

/** The order in an answer, if it is complete and has the id; a null id matches none. */
export function readableOrder(outcome: UpstreamOutcome, order_id: string | null): Order | null {
  if (outcome.kind !== 'answered' || outcome.status < 200 || outcome.status > 299) return null;
  const parsed = orderSchema.safeParse(outcome.body);
  return parsed.success && parsed.data.id === order_id ? parsed.data : null;
}

// The cancel of an order: recorded, then sent, and never repeated blindly (`docs/protocol.md` §3.9).

/** Recorded before the cancel is sent: after a crash a canceled order is known to be Puente's doing. */
export async function markSent(ports: Ports, link: Link): Promise<Link> {
  const marked = await changeLink(ports, link, (current) =>
    current.cancel === null ? { change: { cancel: 'sent' } } : null,
  );
  ports.memory.failpoint('cancel.marked');
  return marked;
}

/**
 * Sends the cancel with one key until upstream can do it. The key depends on the revision: a later cancel is another
 * one.
 * @param deadline epoch ms until which a till waits; 0: no till waits, and the cancel is sent once.
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
  const outcome = await sendUntilReady(ports, deadline, async () => {
    const left_ms = deadline === 0 ? attempt_timeout_ms : deadline - ports.clock.now();
    // Its mark took long to write, as on a slow disk.
    if (left_ms <= 0) return { kind: 'not_sent', cause: 'its time was over' };
    return ports.upstreams.orders.send({
      ...routeOf('cancel', order_id),
      headers,
      token,
      idempotency_key: ports.vault.keyed('cancel-key', `${link.legacy_id}:${link.revision}`),
      timeout_ms: Math.min(left_ms, attempt_timeout_ms),
    });
  });
  ports.memory.failpoint('cancel.sent');
  return outcome;
}
