/** Handles events: hints to read an order (`docs/architecture.md` Decision 7, `docs/protocol.md` §3.11). */
import { ORDER_ID } from '../../contract/identifiers.ts';
import { noteId, type Ports } from '../ports.ts';
import type { InboxEvent } from '../records/notices.ts';
import { credentialOf } from '../routing/merchant-identity.ts';
import { LONGEST_EVENT_WAIT_MS, PARKED_FOR_MS } from '../store.ts';
import { hasEnded, isPaid, type Link, type LinkState } from './link.ts';
import { nodesOf } from './order-transition.ts';
import { adoptLost } from './orphans.ts';
import { lookAtLink, readOrder } from './refresh.ts';
import { commitOrder } from './settle.ts';

/** At most one read a second for each order, so that a flood of forged events is not amplified. */
const READ_INTERVAL_MS = 1_000;
/** First pause before an event whose order can't be read is tried again; it doubles with each attempt. */
const RETRY_MS = 2_000;
/** Tries of an event whose order upstream does not know: about six minutes. */
const ABSENT_TRIES = 10;
/** Tries of an event that its order does not show: a quarter of a minute. Polls follow an open order, and the sweep others. */
const BEHIND_TRIES = 3;
/** Longer than any pause between the tries of an event: one that another process ended, or that expired, loses its place. */
const PLACE_KEPT_MS = 10 * 60_000;
/** A `processed` later than this may report a refunded part: no source says which action does (`docs/field-notes.md` Orders §4.1). */
const PAYMENT_REPORT_MS = 60_000;
/** Fewest tries, about an hour: its age may come from a clock that was set forward (`test/faults/README.md` F47). */
const FEWEST_TRIES = 60;
/** Links without an order id whose create may have reached upstream. */
const ADOPTING: readonly LinkState[] = ['SENDING', 'IN_DOUBT', 'LOST'];

/** Paid or not, and its refunds as text. */
interface Shown {
  is_paid: boolean;
  refunds: string;
}

/** `in_turn`: put off, and not counted as a try. */
type EventEnd = 'done' | 'parked' | 'expired' | 'later' | 'in_turn';

/** Handles one inbox event: matched and read → done; no link yet → parked; unreadable now → later. */
export async function handleEvent(ports: Ports, event: InboxEvent): Promise<EventEnd> {
  try {
    return await followEvent(ports, event);
  } catch (error) {
    // An event left due would be taken again at once; enough of them would hold up all others.
    await later(ports, event);
    throw error;
  }
}

async function followEvent(ports: Ports, event: InboxEvent): Promise<EventEnd> {
  const link = await matchingLink(ports, event);
  if (link === null) return (await adoptLost(ports, event)) ? done(ports, event) : parkUnlessMatched(ports, event);
  noteId(ports, link.legacy_id);
  const order_id = link.order_id ?? event.order_id;
  if (order_id === null) return later(ports, event);
  const last_read_at = ports.memory.sales.reads.last(order_id);
  const since_read_ms = ports.clock.now() - last_read_at;
  const is_read = link.order_id !== null && last_read_at > event.received_at;
  const before = shownBefore(ports, event, link);
  if (is_read && !isWanting(ports, event, link, before)) return finish(ports, event, link);
  // Only a signed event of an open order is read at once.
  const urgent = event.verified && link.state === 'LIVE';
  if (!urgent && since_read_ms < READ_INTERVAL_MS) {
    // A till that polls would put the event off until the sale ends, so its read counts as a try.
    if (is_read) return event.attempts < BEHIND_TRIES ? later(ports, event) : finish(ports, event, link);
    return inTurn(ports, event, READ_INTERVAL_MS - since_read_ms);
  }
  const read = await readFor(ports, link, order_id, event);
  // Upstream sent the event but does not know the order: one answer may be wrong, and no other event may come (F28).
  const may_come = read === 'absent' && event.attempts < ABSENT_TRIES;
  if (may_come && (event.verified || takePlace(ports, event, link, before))) return later(ports, event);
  if (read === 'foreign' || read === 'absent') return park(ports, event);
  if (read === 'unread') return later(ports, event);
  const may_lag = event.attempts < BEHIND_TRIES && SHOWS.has(reportOf(event));
  const committed = read === 'read' ? null : read;
  const latest = may_lag ? (committed ?? (await ports.store.links.link(link.legacy_id))) : null;
  if (latest !== null && isWanting(ports, event, latest, before)) return later(ports, event);
  return finish(ports, event, latest ?? link, committed !== null);
}

/** True while the sale does not show what the event reports, and the event may be tried again. */
function isWanting(ports: Ports, event: InboxEvent, link: Link, before: Shown): boolean {
  return isBehind(link, event, before) && takePlace(ports, event, link, before);
}

/** The event is done, and its place free. Another one that has the place waits for one more change: of two refunds, say. */
function finish(ports: Ports, event: InboxEvent, link: Link, is_stored = false): Promise<EventEnd> {
  const { retried } = ports.memory.sales;
  const place = placeOf(link, event);
  const holder = retried.get(place);
  if (holder?.sequence === event.sequence) retried.delete(place);
  else if (holder !== undefined) retried.set(place, { ...holder, before: shownOf(link) });
  return done(ports, event, is_stored);
}

/** What of a sale the next refund changes. */
function shownOf(link: Link): Shown {
  const refunded = link.order?.transactions?.payments?.[0]?.refunded_amount;
  const refunds = JSON.stringify([refunded, nodesOf(link.order).map(({ status }) => status)]);
  return { is_paid: isPaid(link), refunds };
}

/** What the sale showed when the event was first looked at: a sale that shows a refund may be refunded once more. */
function shownBefore({ memory }: Ports, event: InboxEvent, link: Link): Shown {
  const retried = memory.sales.retried.get(placeOf(link, event));
  return retried?.sequence === event.sequence ? retried.before : shownOf(link);
}

function isRefunded(link: Link, before: Shown): boolean {
  return link.order?.status === 'refunded' || shownOf(link).refunds !== before.refunds;
}

/** When a sale shows what an event reports, by the last word of its action; other actions report nothing of use. */
const SHOWS = new Map<string | undefined, (link: Link, before: Shown, received_at: number) => boolean>([
  [
    'processed',
    (link, before, received_at) =>
      isPaid(link) &&
      (!before.is_paid || received_at - link.legacy_state_at < PAYMENT_REPORT_MS || isRefunded(link, before)),
  ],
  ['refunded', isRefunded],
  ...['canceled', 'expired', 'failed'].map((end) => [end, hasEnded] as const),
]);

function reportOf({ action }: InboxEvent): string | undefined {
  return action.split('.').at(-1);
}

/** True while a sale does not show what an event reports: the order is read at once, and a read may lag (F27). */
function isBehind(link: Link, event: InboxEvent, before: Shown): boolean {
  return SHOWS.get(reportOf(event))?.(link, before, event.received_at) === false;
}

/**
 * One event of each sale and report at a time gets more tries: events are repeated, and unsigned ones can be forged. Signatures of
 * in-store QR events don't match (`docs/field-notes.md` Orders §4.2), so there is a place for unsigned ones, too; those
 * of a create in doubt wait for its end. False while another event has the place.
 */
function takePlace({ memory, clock }: Ports, event: InboxEvent, link: Link, before: Shown): boolean {
  const { retried } = memory.sales;
  const place = placeOf(link, event);
  const { sequence } = event;
  if (!event.verified && link.state === 'LOST') return false;
  const holder = retried.get(place);
  const now = clock.now();
  if (holder !== undefined && holder.sequence !== sequence && Math.abs(now - holder.at) < PLACE_KEPT_MS) return false;
  retried.set(place, { sequence, before, at: now });
  return true;
}

/** Signed events have places of their own, which no forged one can take, and each report has: a refund may follow at once. */
function placeOf({ legacy_id }: Link, event: InboxEvent): string {
  const report = reportOf(event);
  return `${legacy_id} ${event.verified} ${SHOWS.has(report) ? report : ''}`;
}

/** By order id, then by the reference that was sent; never across merchants (`test/faults/README.md` F108). */
async function matchingLink(ports: Ports, event: InboxEvent): Promise<Link | null> {
  const byOrder = event.order_id === null ? null : await ports.store.links.linkByOrder(event.order_id);
  if (byOrder !== null) return event.user_id === null || event.user_id === byOrder.merchant_id ? byOrder : null;
  if (event.reference === null || event.user_id === null) return null;
  return ports.store.links.linkByReference(event.user_id, event.reference);
}

/**
 * Reads the order after a running create; a create without an order id adopts it if its reference is the one sent.
 * A link: as the order changed it, stored with the end of the event.
 */
async function readFor(
  ports: Ports,
  link: Link,
  order_id: string,
  event: InboxEvent,
): Promise<Link | 'read' | 'unread' | 'absent' | 'foreign'> {
  if (!ORDER_ID.test(order_id)) return 'foreign';
  const token = await credentialOf(ports, link.merchant_id);
  if (token === null) return 'unread';
  return ports.memory.mutex.run(link.legacy_id, async () => {
    // An order id never changes.
    const current = link.order_id === null ? ((await ports.store.links.link(link.legacy_id)) ?? link) : link;
    if (current.order_id !== null) {
      if (current.order_id !== order_id) return 'foreign';
      const before = ports.memory.sales.reads.number(order_id);
      const looked = await lookAtLink(ports, current, token, { force: true, event });
      if (looked.is_committed) return looked.link;
      return ports.memory.sales.reads.number(order_id) > before ? 'read' : 'unread';
    }
    // A create that was refused or never sent has no order: another system made the one with its reference.
    if (!ADOPTING.includes(current.state)) return 'foreign';
    const order = await readOrder(ports, token, order_id);
    if (order === 'missing') return 'absent';
    if (order === null) return 'unread';
    const { point, qr } = order.config ?? {};
    const unit = point?.terminal_id ?? qr?.external_pos_id ?? current.unit;
    if (order.external_reference !== current.reference_sent || unit !== current.unit) return 'foreign';
    const adopted = await commitOrder(ports, current, order, { event });
    if (adopted.link.order_id !== order.id) return 'foreign';
    if (!adopted.is_committed) return 'read'; // another process has adopted it meanwhile
    ports.count('settlements', 'adopted_by_event');
    return adopted.link;
  });
}

/** A create that settled just before the event was parked has already recalled its events: match once more. */
async function parkUnlessMatched(ports: Ports, event: InboxEvent): Promise<EventEnd> {
  const end = await park(ports, event);
  if ((await matchingLink(ports, event)) === null) return end;
  await ports.store.events.saveEvent(event.sequence, { state: 'pending', next_attempt_at: ports.clock.now() });
  return 'in_turn';
}

async function park(ports: Ports, event: InboxEvent): Promise<EventEnd> {
  const too_old = event.received_at + PARKED_FOR_MS <= ports.clock.now();
  ports.count('events', too_old ? 'expired' : 'parked');
  if (too_old)
    ports.log.warn('an event matched no order until it expired', {
      action: event.action,
      order_id: event.order_id ?? 'none',
    });
  const state = too_old ? 'expired' : 'parked';
  await ports.store.events.saveEvent(event.sequence, { state, attempts: event.attempts + 1 });
  return state;
}

async function inTurn(ports: Ports, event: InboxEvent, wait_ms: number): Promise<EventEnd> {
  await ports.store.events.saveEvent(event.sequence, { next_attempt_at: ports.clock.now() + wait_ms });
  return 'in_turn';
}

/** The order could not be read: again after a pause that grows with the attempts. */
async function later(ports: Ports, event: InboxEvent): Promise<EventEnd> {
  // Without an end, an order that can't be read any more (no token, too old) would be requested every minute for ever.
  const isOld = event.received_at + PARKED_FOR_MS <= ports.clock.now();
  if (isOld && event.attempts >= FEWEST_TRIES) return park(ports, event);
  const pause_ms = Math.min(RETRY_MS * 2 ** event.attempts, LONGEST_EVENT_WAIT_MS);
  await ports.store.events.saveEvent(event.sequence, {
    state: 'pending',
    attempts: event.attempts + 1,
    next_attempt_at: ports.clock.now() + pause_ms,
  });
  return 'later';
}

async function done(ports: Ports, event: InboxEvent, is_stored = false): Promise<EventEnd> {
  ports.count('events', 'done');
  if (!is_stored) await ports.store.events.saveEvent(event.sequence, { state: 'done', attempts: event.attempts + 1 });
  return 'done';
}
