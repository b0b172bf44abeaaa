/** Recovery of sales that no request is waiting for: finish, settle, look at, or give up (`docs/protocol.md` §3.7, §3.8). */
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
import { lookAtLink, markSent, readableOrder, refreshLink, sendCancel } from './refresh.ts';
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
import { mayReplay, sendLink } from './submit.ts';
import { LONGEST_UNSEEN_MS } from './unseen.ts';

/** An order without an outcome is given up so long after its lifetime, or later: no payment can come any more. */
const LOST_AFTER_MS = 5 * 60_000;
/** A link that can't be worked on now (no token, upstream away) is looked at again after this long. */
const LATER_MS = 30_000;
/** A look so late was kept back by more than a backlog: Puente was down, or its clock was set. */
const UNSEEN_MS = 2 * 60_000;
/** What ended unseen keeps its unit so long at most. */
const LONGEST_HOLD_MS = LONGEST_UNSEEN_MS + LOST_AFTER_MS;
/** No read has found an order for so long, by the clock that nobody can set, before it counts as gone. */
const UNFOUND_MS = 20 * 60_000;

/** Looks after one due link; must not be called while a client's call on it is running (the serial sees to that). */
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
      // Left due, it would be taken again at once, and enough of its kind would keep every other link waiting.
      await postpone(ports, current, {});
      throw error;
    }
  });
}

/** A create without an outcome: replayed inside the window, then left to an event, then reported as lost. */
async function finish(ports: Ports, link: Link, due_at: number): Promise<void> {
  const now = ports.clock.now();
  if (now > link.expires_at + LOST_AFTER_MS) {
    const expires_at = unseenEnd(link, due_at, now);
    return expires_at === null ? hearOut(ports, link) : wait(ports, link, { expires_at });
  }
  const token = mayReplay(ports, link) ? await credentialOf(ports, link.merchant_id) : null;
  if (token === null) {
    await postpone(ports, link, link.state === 'SENDING' ? { state: 'IN_DOUBT' } : {});
    return;
  }
  const deadline = now + ports.settings.create.deadline_ms;
  const sent = await sendLink(ports, link.legacy_id, { token, deadline, body: null, for_client: false });
  ports.log.info('create completed', { legacy_id: link.legacy_id, action: sent.kind });
}

/**
 * Before a create is given up, the events that named its reference are looked at once more: their order may have been
 * missing for one read only, and nobody else will ask for it (`test/faults/README.md` F28).
 */
async function hearOut(ports: Ports, link: Link): Promise<void> {
  const { clock } = ports;
  const { missing } = ports.memory.sales;
  if (missing.get(link.legacy_id) !== undefined) {
    missing.delete(link.legacy_id);
    return void (await giveUp(ports, link, say('settled.lost', {})));
  }
  missing.set(link.legacy_id, tickOf(clock));
  return wait(ports, link, {});
}

async function wait(ports: Ports, link: Link, change: { expires_at?: number }): Promise<void> {
  const next_check_at = ports.clock.now() + LATER_MS;
  await changeLink(ports, link, () => ({
    change: { ...change, state: 'IN_DOUBT', next_check_at },
    recall_events: true,
  }));
}

/**
 * When an order is over whose end came while nobody looked; null when somebody did. The wall clock alone can't tell whether
 * that time has passed, or the clock was set forward and the order can still be paid (`test/faults/README.md` F47: no mass expiry):
 * so its unit stays held for what was left at the look that was due.
 */
function unseenEnd(link: Link, due_at: number, now: number): number | null {
  const left_ms = Math.min(link.expires_at + LOST_AFTER_MS - due_at, LONGEST_HOLD_MS);
  return now - due_at > UNSEEN_MS && left_ms > 0 ? now + left_ms - LOST_AFTER_MS : null;
}

/** A live order: settled when nobody was told of it, read otherwise, so that silence never hides an outcome. */
async function look(ports: Ports, link: Link): Promise<void> {
  const token = await credentialOf(ports, link.merchant_id);
  if (token === null) return postpone(ports, link, {});
  const { link: seen, found } = await lookAtLink(ports, link, token, { force: true });
  if (seen.state === 'DONE') {
    ports.count('silent_orders');
    return;
  }
  if ((found === 'missing' || found === 'contradicted') && isGone(ports, seen))
    return void (await giveUp(ports, seen, say('settled.lost', {})));
  const due = ports.clock.now() >= settlementTime(ports, seen);
  if (unclaimed(seen) && due && seen.order?.status === 'created') return settle(ports, seen, seen.order.id, token);
  await changeLink(ports, seen, (current) => ({ change: nextLook(ports, current) }));
}

/**
 * True for an order that can't be paid any more and must not hold its terminal: its time is over, and this process has read
 * again and again that upstream does not know it, or knows something else under its id. Some answers may be a mistake, and so may be the clock by which its time is
 * over (`test/faults/README.md` F28, F47).
 */
export function isGone({ clock, memory }: Ports, link: Link): boolean {
  const { unfound, contradicted } = memory.sales;
  const known = link.order_id === null ? undefined : (unfound.get(link.order_id) ?? contradicted.get(link.legacy_id));
  if (known === undefined || clock.now() <= link.expires_at + LOST_AFTER_MS) return false;
  return tickOf(clock) - known.since_ms >= UNFOUND_MS;
}

/**
 * Its till was told that somebody has to look at the terminal; whoever does may still pay there, and that must be known. While
 * nobody says where the order stands, payments are made as ever, so that the looks go on for as long as an event would wait.
 */
async function lookAtReleased(ports: Ports, link: Link): Promise<void> {
  const { clock, settings } = ports;
  const { awaited } = ports.memory.sales;
  const since_ms = awaited.get(link.legacy_id) ?? tickOf(clock);
  awaited.set(link.legacy_id, since_ms);
  const token = await credentialOf(ports, link.merchant_id);
  const { link: seen, found } =
    token === null ? { link, found: null } : await lookAtLink(ports, link, token, { force: true });
  const isHopeless = tickOf(clock) - since_ms >= PARKED_FOR_MS && clock.now() >= link.expires_at + PARKED_FOR_MS;
  const isAnswered = found === 'order' || isGone(ports, seen);
  await changeLink(ports, seen, (current) => {
    const { next_check_at } = nextLook(ports, current);
    const goesOn = !isAnswered && !isHopeless && isReleased(ports, current);
    const later = goesOn ? clock.now() + settings.reconcile.max_interval_ms : null;
    return { change: { next_check_at: next_check_at ?? later } };
  });
}

/** The order exists but no 2xx can have been delivered: cancel it while nobody is at the terminal (default policy). */
async function settle(ports: Ports, link: Link, order_id: string, token: Secret): Promise<void> {
  if (ports.settings.create.unclaimed === 'adopt') {
    await reportUnclaimed(ports, link, 'adopted', { client_answer: 'maybe' });
    return;
  }
  const marked = await markSent(ports, link);
  const order = readableOrder(await sendCancel(ports, marked, token), order_id);
  const after = await (order === null
    ? refreshLink(ports, marked, token, { force: true })
    : applyOrder(ports, marked, order));
  if (after.state === 'LIVE') await stays(ports, after, link.cancel === null);
}

/** A customer may have begun to pay. It is tried again and again; whoever answers for the shop learns of it once. */
async function stays(ports: Ports, link: Link, is_first: boolean): Promise<void> {
  if (is_first) await reportUnclaimed(ports, link, 'not_canceled');
  await changeLink(ports, link, (current) => ({ change: nextLook(ports, current) }));
}

/**
 * Reports a link as lost and frees its unit; not when it was changed since it was read, as by a till's read that found its
 * order. @param why for the audit line. @returns true when it is lost now.
 */
export async function giveUp(ports: Ports, link: Link, why: Spoken): Promise<boolean> {
  const now = ports.clock.now();
  const merchant = await ports.store.merchants.merchant(link.merchant_id);
  const after = await changeLink(ports, link, (current) => {
    if (current.revision !== link.revision) return null;
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

/** What is given up: reported, never deleted, and no longer in the way of its terminal. */
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

async function postpone(ports: Ports, link: Link, change: { state?: 'IN_DOUBT' }): Promise<void> {
  const next_check_at = ports.clock.now() + LATER_MS;
  await changeLink(ports, link, () => ({ change: { ...change, next_check_at } }));
}
