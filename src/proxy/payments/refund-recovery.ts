/** Settling refunds in doubt by reading their order (`docs/protocol.md` §3.9). */
import type { Order } from '../../contract/orders.ts';
import { tickOf } from '../clock.ts';
import type { Ports } from '../ports.ts';
import type { Refund } from '../records/refunds.ts';
import { LATE_EFFECT_MS } from '../records/routing.ts';
import type { Link } from '../sales/link.ts';
import { readOrder } from '../sales/refresh.ts';
import { applyOrder } from '../sales/settle.ts';
import type { Secret } from '../vault.ts';
import { findRefund, isOpen } from './refund-decisions.ts';

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
export async function lookAtOrder(ports: Ports, link: Link, plan: LookPlan): Promise<Look> {
  const { order_id } = link;
  if (order_id === null) return { link, order: null, settled: null };
  const seen = await ports.memory.mutex.run(`order:${order_id}`, async () => {
    const current = (await ports.store.links.link(link.legacy_id)) ?? link;
    const order = await readOrder(ports, plan.token, order_id, plan.deadline);
    if (order === null || order === 'missing') return { link: current, order: null };
    return { link: await applyOrder(ports, current, order), order };
  });
  if (seen.order === null) return { ...seen, settled: null };
  return { ...seen, settled: await settleDoubt(ports, link.legacy_id, seen.order, plan.exponent) };
}

/** True while a refund of the link has no outcome. */
export async function hasDoubt(ports: Ports, link: Link): Promise<boolean> {
  return (await ports.store.refunds.refunds(link.legacy_id)).some(isOpen);
}

/**
 * One that the order still doesn't show when it may not be repeated any more, and has not for a while, never happened: were
 * it held on, the payment could never be refunded again.
 */
async function settleDoubt(ports: Ports, legacy_id: string, order: Order, exponent: number): Promise<Refund | null> {
  const refunds = await ports.store.refunds.refunds(legacy_id);
  const doubtful = refunds.find(isOpen);
  if (doubtful === undefined) return null;
  const claimed = refunds.map((one) => one.upstream_id);
  const facts = findRefund(order, doubtful, claimed, exponent);
  const unseen_ms = facts === null ? unseenFor(ports, doubtful) : 0;
  if (facts !== null) return ports.store.refunds.saveRefund(doubtful, { ...facts, state: 'DONE' });
  // Where nothing is left, it neither happened nor can.
  const isOver = !mayRepeat(ports, doubtful) && unseen_ms >= LATE_EFFECT_MS;
  if (!isOver && order.status !== 'refunded') return null;
  ports.log.warn('a refund in doubt never showed on its order', { legacy_id, order_id: order.id });
  return ports.store.refunds.saveRefund(doubtful, { state: 'REFUSED' });
}

/**
 * How long looks of this process have not shown it, by the clock that nobody can set: one that was set forward or back
 * closes the window at once, while the refund itself may still be on its way (`test/faults/README.md` F47).
 */
function unseenFor({ clock, memory }: Ports, { id }: Refund): number {
  const tick_ms = tickOf(clock);
  const since_ms = memory.sales.missing.get(id);
  if (since_ms === undefined) memory.sales.missing.set(id, tick_ms);
  return tick_ms - (since_ms ?? tick_ms);
}

/** The same key may be sent again for as long as upstream surely remembers it (`docs/protocol.md` §3.5, retry rules). */
export function mayRepeat(ports: Ports, refund: Refund): boolean {
  const age_ms = ports.clock.now() - refund.created_at;
  return age_ms >= 0 && age_ms < ports.settings.create.replay_window_ms;
}
