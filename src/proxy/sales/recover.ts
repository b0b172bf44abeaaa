/** Recovers sales that no request waits for: finish, settle, read or give up (`docs/protocol.md` §3.7, §3.8). */
import type { Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { tickOf } from '../clock.ts';
import { lookAfterRefunds } from '../payments/refund-decisions.ts';
import type { Ports } from '../ports.ts';
import { credentialOf } from '../routing/merchant-identity.ts';
import { PARKED_FOR_MS } from '../store.ts';
import type { Secret } from '../vault.ts';
import type { Link, LinkChange } from './link.ts';
import { endOfMerchantOrder } from './order-transition.ts';
import { lookAtLink, readableOrder, refreshLink, sendCancel } from './refresh.ts';
import {
  applyOrder,
  changeLink,
  isReleased,
  nextLook,
  noticesFor,
  settlementLine,
  settlements,
  settlementTime,
  unclaimed,
} from './settle.ts';
import { mayRepeat, sendLink } from './submit.ts';
import { LONGEST_UNSEEN_MS } from './unseen.ts';

/** A create without an outcome is given up this long after its order's lifetime: no payment can come any more. */
const LOST_AFTER_MS = 5 * 60_000;
/** A link that can't be worked on now (no token, upstream away) is looked at again after this long. */
const LATER_MS = 30_000;
/** No backlog delays a look this long: Puente was down, or its clock was set. */
const UNSEEN_MS = 2 * 60_000;
/** An order that ended while Puente did not look holds its unit for so long at most. */
const LONGEST_HOLD_MS = LONGEST_UNSEEN_MS + LOST_AFTER_MS;
/** An order is given up when no read has found it for so long, by the monotonic clock. */
const UNFOUND_MS = 20 * 60_000;

/** Works on one due link, in its mutex: never while a till's call on it runs. */
export async function lookAfter(ports: Ports, link: Link): Promise<void> {
  await ports.memory.mutex.run(link.legacy_id, async () => {
    const current = (await ports.store.links.link(link.legacy_id)) ?? link;
    const { next_check_at: due_at } = current;
    if (due_at === null || due_at > ports.clock.now()) return;
    try {
      if (current.state === 'SENDING' || current.state === 'IN_DOUBT') await finish(ports, current, due_at);
      else if (current.state === 'LIVE') await look(ports, current);
      else if (isReleased(ports, current)) await lookAtReleased(ports, current);
      else await lookAfterRefunds(ports, current);
    } catch (error) {
      // A link left due would be taken again at once; enough of them would hold up all others.
      await postpone(ports, current, {});
      throw error;
    }
  });
}

/** A create without an outcome: repeated inside the window, then left to an event, then reported as lost. */
async function finish(ports: Ports, link: Link, due_at: number): Promise<void> {
  const now = ports.clock.now();
  if (now > link.expires_at + LOST_AFTER_MS) {
    const expires_at = unseenEnd(link, due_at, now);
    return expires_at === null ? awaitOutcome(ports, link) : wait(ports, link, { expires_at });
  }
  const token = mayRepeat(ports, link) ? await credentialOf(ports, link.merchant_id) : null;
  if (token === null) {
    await postpone(ports, link, link.state === 'SENDING' ? { state: 'IN_DOUBT' } : {});
    return;
  }
  const deadline = now + ports.settings.create.deadline_ms;
  const sent = await sendLink(ports, link.legacy_id, { token, deadline, body: null, for_client: false });
  ports.log.info('create completed', { legacy_id: link.legacy_id, action: sent.kind });
}

/** Before a create is given up, its events are handled once more: a read may be wrong (`test/faults/README.md` F28). */
async function awaitOutcome(ports: Ports, link: Link): Promise<void> {
  const { clock } = ports;
  const { missing } = ports.memory.sales;
  if (missing.get(link.legacy_id) !== undefined) {
    missing.delete(link.legacy_id);
    return void (await giveUp(ports, link, say('settled.lost', {})));
  }
  missing.set(link.legacy_id, tickOf(clock));
  return wait(ports, link, {});
}

function wait(ports: Ports, link: Link, change: { expires_at?: number }): Promise<void> {
  return postpone(ports, link, { ...change, state: 'IN_DOUBT' }, true);
}

/**
 * The new end, epoch ms, of an order that ended while Puente did not look; null for any other. The clock may have been
 * set forward and the order still be payable (`test/faults/README.md` F47: no mass expiry), so the order keeps its unit
 * for the time that was left at the look that was due.
 */
function unseenEnd(link: Link, due_at: number, now: number): number | null {
  const left_ms = Math.min(link.expires_at + LOST_AFTER_MS - due_at, LONGEST_HOLD_MS);
  return now - due_at > UNSEEN_MS && left_ms > 0 ? now + left_ms - LOST_AFTER_MS : null;
}

/** Reads a live order, so that missing events hide no outcome; settles one that is unclaimed. */
async function look(ports: Ports, link: Link): Promise<void> {
  const token = await credentialOf(ports, link.merchant_id);
  if (token === null) return postpone(ports, link, {});
  const { link: latest, found } = await lookAtLink(ports, link, token, { force: true });
  if (latest.state === 'DONE') {
    ports.count('silent_orders');
    return;
  }
  if ((found === 'missing' || found === 'contradicted') && isGivenUp(ports, latest))
    return void (await giveUp(ports, latest, say('settled.lost', {})));
  const due = ports.clock.now() >= settlementTime(ports, latest);
  if (unclaimed(latest) && due && latest.order?.status === 'created')
    return settle(ports, latest, latest.order.id, token);
  await changeLink(ports, latest, (current) => ({ change: nextLook(ports, current) }));
}

/**
 * True for an order that must not hold its terminal any more: its lifetime has passed, and for `UNFOUND_MS` upstream has
 * not known it, or has contradicted its sale. An answer or the clock may be wrong (`test/faults/README.md` F28, F47).
 */
export function isGivenUp({ clock, memory }: Ports, link: Link): boolean {
  const { unfound, contradicted } = memory.sales;
  const known = link.order_id === null ? undefined : (unfound.get(link.order_id) ?? contradicted.get(link.legacy_id));
  if (known === undefined || clock.now() <= link.expires_at + LOST_AFTER_MS) return false;
  return tickOf(clock) - known.since_ms >= UNFOUND_MS;
}

/** Reads a released order, which may still be paid; without an answer, for as long as an event would wait. */
async function lookAtReleased(ports: Ports, link: Link): Promise<void> {
  const { clock, settings } = ports;
  const { awaited } = ports.memory.sales;
  const since_ms = awaited.get(link.legacy_id) ?? tickOf(clock);
  awaited.set(link.legacy_id, since_ms);
  const token = await credentialOf(ports, link.merchant_id);
  const { link: latest, found } =
    token === null ? { link, found: null } : await lookAtLink(ports, link, token, { force: true });
  const isHopeless = tickOf(clock) - since_ms >= PARKED_FOR_MS && clock.now() >= link.expires_at + PARKED_FOR_MS;
  const isAnswered = found === 'order' || isGivenUp(ports, latest);
  await changeLink(ports, latest, (current) => {
    const { next_check_at } = nextLook(ports, current);
    const goesOn = !isAnswered && !isHopeless && isReleased(ports, current);
    const later = goesOn ? clock.now() + settings.reconcile.max_interval_ms : null;
    return { change: { next_check_at: next_check_at ?? later } };
  });
}

/** Cancels an unclaimed order that is not on the terminal yet, or adopts it (`create.unclaimed`). */
async function settle(ports: Ports, link: Link, order_id: string, token: Secret): Promise<void> {
  if (ports.settings.create.unclaimed === 'adopt') {
    await reportUnclaimed(ports, link, 'adopted', { client_answer: 'maybe' });
    return;
  }
  // Written anew each time: a till's retry at another process may have claimed the order since it was read.
  const marked = await changeLink(ports, link, (current) =>
    unclaimed(current) ? { change: { cancel: 'sent' } } : null,
  );
  if (!unclaimed(marked)) return void (await changeLink(ports, marked, (one) => ({ change: nextLook(ports, one) })));
  ports.memory.failpoint('cancel.marked');
  const order = readableOrder(await sendCancel(ports, marked, token), order_id);
  const after = await (order === null
    ? refreshLink(ports, marked, token, { force: true })
    : applyOrder(ports, marked, order));
  if (after.state === 'LIVE') await stays(ports, after, link.cancel === null);
}

/** The order is live after its cancel: a customer may be paying. It is tried again, and reported once. */
async function stays(ports: Ports, link: Link, is_first: boolean): Promise<void> {
  if (is_first) await reportUnclaimed(ports, link, 'not_canceled');
  await changeLink(ports, link, (current) => ({ change: nextLook(ports, current) }));
}

/** Reports a link as lost and frees its unit, unless it changed since it was read. @returns true when it is lost. */
export async function giveUp(ports: Ports, link: Link, why: Spoken): Promise<boolean> {
  const now = ports.clock.now();
  const merchant = await ports.store.merchants.merchant(link.merchant_id);
  const after = await changeLink(ports, link, (current) => {
    if (current.revision !== link.revision) return null; // a till may have found its order
    const change = lost(current, now);
    const news = current.family === 'qr' ? endOfMerchantOrder(current, { ...current, ...change }, now) : [];
    const notices = noticesFor(ports, current, merchant, news);
    return { change, notices, audit: settlementLine(ports, current, why) };
  });
  if (after.state !== 'LOST') return false;
  ports.count('lost_links');
  ports.log.error('order never resolved: reported as lost', {
    legacy_id: link.legacy_id,
    merchant: link.merchant_id,
  });
  return true;
}

/** The change of a link that is given up: never deleted, and its unit is free. */
export function lost(link: Link, now: number): LinkChange {
  return {
    state: 'LOST',
    sealed_body: null,
    next_check_at: null,
    legacy_state: link.family === 'qr' ? 'expired' : 'ABANDONED',
    legacy_state_at: now,
  };
}

async function reportUnclaimed(
  ports: Ports,
  link: Link,
  what: 'adopted' | 'not_canceled',
  change: LinkChange = {},
): Promise<void> {
  ports.count('settlements', settlements[what]);
  await changeLink(ports, link, () => ({ change, audit: settlementLine(ports, link, say(`settled.${what}`, {})) }));
}

async function postpone(ports: Ports, link: Link, change: LinkChange, recall_events = false): Promise<void> {
  const next_check_at = ports.clock.now() + LATER_MS;
  await changeLink(ports, link, () => ({ change: { ...change, next_check_at }, recall_events }));
}
