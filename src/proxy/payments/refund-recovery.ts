/** Settling refunds in doubt by reading their order (`reliability.md` §3.9). */
import type { Order } from '../../contract/orders.ts';
import { tickOf } from '../clock.ts';
import { LATE_EFFECT_MS } from '../records/routing.ts';
import { credentialOf } from '../routing/merchant-identity.ts';
import type { Runtime } from '../runtime.ts';
import type { Link } from '../sales/link.ts';
import { readOrder } from '../sales/refresh.ts';
import { applyOrder, changeLink } from '../sales/settle.ts';
import type { Secret } from '../secret.ts';
import { findRefund, isOpen, type Refund, sumsOf } from './refund-decisions.ts';

export interface Look {
  link: Link;
  /** As it was read now; null when it could not be read. */
  order: Order | null;
  /** The refund whose outcome was found by this look. */
  settled: Refund | null;
}

export interface LookPlan {
  token: Secret;
  /** Decimals of the payment's currency. */
  exponent: number;
  /** Epoch ms at which the caller has to answer. */
  deadline: number;
}

/** Reads the order now, moves the link to it, and settles a refund in doubt that the order shows, or never showed. */
export async function lookAtOrder(runtime: Runtime, link: Link, plan: LookPlan): Promise<Look> {
  const { order_id } = link;
  if (order_id === null) return { link, order: null, settled: null };
  const seen = await runtime.serial.run(`order:${order_id}`, async () => {
    const current = (await runtime.store.link(link.legacy_id)) ?? link;
    const order = await readOrder(runtime, plan.token, order_id, plan.deadline);
    if (order === null || order === 'missing') return { link: current, order: null };
    return { link: await applyOrder(runtime, current, order), order };
  });
  if (seen.order === null) return { ...seen, settled: null };
  return { ...seen, settled: await settleDoubt(runtime, link.legacy_id, seen.order, plan.exponent) };
}

/** True while a refund of the link has no outcome. */
export async function hasDoubt(runtime: Runtime, link: Link): Promise<boolean> {
  return (await runtime.store.refunds(link.legacy_id)).some(isOpen);
}

/**
 * One that the order still doesn't show when it may not be repeated any more, and has not for a while, never happened: were
 * it held on, the payment could never be refunded again.
 */
async function settleDoubt(
  runtime: Runtime,
  legacy_id: string,
  order: Order,
  exponent: number,
): Promise<Refund | null> {
  const refunds = await runtime.store.refunds(legacy_id);
  const doubtful = refunds.find(isOpen);
  if (doubtful === undefined) return null;
  const claimed = refunds.map((one) => one.upstream_id);
  const facts = findRefund(order, doubtful, claimed, exponent);
  const unseen_ms = facts === null ? unseenFor(runtime, doubtful) : 0;
  if (facts !== null) return runtime.store.saveRefund(doubtful, { ...facts, state: 'DONE' });
  // Where nothing is left, it neither happened nor can.
  const isOver = !mayRepeat(runtime, doubtful) && unseen_ms >= LATE_EFFECT_MS;
  if (!isOver && order.status !== 'refunded') return null;
  runtime.log.warn('a refund in doubt never showed on its order', { legacy_id, order_id: order.id });
  return runtime.store.saveRefund(doubtful, { state: 'REFUSED' });
}

/**
 * How long looks of this process have not shown it, by the clock that nobody can set: one that was set forward or back
 * closes the window at once, while the refund itself may still be on its way (`reliability.md` F47).
 */
function unseenFor({ clock, missing }: Runtime, { id }: Refund): number {
  const tick_ms = tickOf(clock);
  const since_ms = missing.get(id);
  if (since_ms === undefined) missing.set(id, tick_ms);
  return tick_ms - (since_ms ?? tick_ms);
}

/** The same key may be sent again for as long as upstream surely remembers it (`reliability.md` §3.5, retry rules). */
export function mayRepeat(runtime: Runtime, refund: Refund): boolean {
  const age_ms = runtime.clock.now() - refund.created_at;
  return age_ms >= 0 && age_ms < runtime.settings.create.replay_window_ms;
}

// Looks after refunds whose order has not shown them yet: a read may lag or fail, and the event may never come.

/** The call that asks for a refund looks by itself; this is for the time when it is surely over. */
const FIRST_LOOK_MS = 30_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
/** What an order doesn't show by then it never will, and reads of the payment still tell it. */
const GIVEN_UP_AFTER_MS = 24 * 60 * 60_000;

/** Before a refund is written down: its order is looked at later, whatever becomes of this call and this process. */
export async function expectRefund(runtime: Runtime, link: Link): Promise<void> {
  await changeLink(runtime, link, () => ({ change: { next_check_at: runtime.clock.now() + FIRST_LOOK_MS } }));
}

/** Looks at the order of a link that is over, until it shows what was refunded. The caller holds the link's serial. */
export async function lookAfterRefunds(runtime: Runtime, link: Link): Promise<void> {
  const token = await credentialOf(runtime, link.merchant_id);
  const { exponent } = runtime.tables.site((await runtime.store.merchant(link.merchant_id))?.site ?? null);
  const deadline = runtime.clock.now() + runtime.settings.create.deadline_ms;
  const isDue = (await unseenRefunds(runtime, link, exponent)).length > 0;
  const seen =
    isDue && token !== null ? await lookAtOrder(runtime, link, { token, exponent, deadline }) : { link, order: null };
  const left = isDue ? await unseenRefunds(runtime, seen.link, exponent) : [];
  const age_ms = runtime.clock.now() - Math.max(...left.map(({ created_at }) => created_at));
  // Its age alone may be a clock that was set forward, and what is in doubt holds its payment.
  const isOver = age_ms >= GIVEN_UP_AFTER_MS && seen.order !== null && !left.some(isOpen);
  const next_check_at = left.length === 0 || isOver ? null : runtime.clock.now() + pauseAfter(age_ms);
  await changeLink(runtime, seen.link, () => ({ change: { next_check_at } }));
}

/** Refunds without an outcome, and those that were made and don't show yet. */
async function unseenRefunds(runtime: Runtime, link: Link, exponent: number): Promise<Refund[]> {
  const { refunded_minor } = sumsOf(link.order, link.amount_minor, exponent);
  const isShown = (one: Refund): boolean => refunded_minor >= one.refunded_before_minor + (one.refunded_minor ?? 0);
  return (await runtime.store.refunds(link.legacy_id)).filter(
    (one) => isOpen(one) || (one.state === 'DONE' && !isShown(one)),
  );
}

/** Ever less often; a clock that was set back makes none longer. */
function pauseAfter(age_ms: number): number {
  return Math.min(Math.max(FIRST_LOOK_MS, age_ms / 4), LONGEST_PAUSE_MS);
}
