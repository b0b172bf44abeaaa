/** Does a link say what its order says? Pure: one comparison, one typed mismatch. */
import type { Order } from '../../contract/orders.ts';
import { say } from '../../locales/sentences.ts';
import type { Tables } from '../../mapping/tables.ts';
import type { Link } from './link.ts';
import { type AdvanceRules, advance, rowOf } from './order-transition.ts';
import { contradictionIn, mismatchKindOf } from './settle.ts';

/**
 * `missing`: the service does not know the order, or nobody knows what became of a create. `stale`: the order has moved
 * on and the link has not. `orphan`: an order of ours that no link has. `amount`: the sums differ. `contradiction`: the
 * order is not what was asked for in another way. `state`: both are final, and they disagree.
 */
export const mismatchKinds = ['missing', 'stale', 'orphan', 'amount', 'contradiction', 'state'] as const;
export type MismatchKind = (typeof mismatchKinds)[number];

/** `read`: move the link to its order. `give_up`: report it lost and free its unit. `adopt`: give the order its link. */
export type Repair = 'read' | 'give_up' | 'adopt' | 'none';

export interface Mismatch {
  kind: MismatchKind;
  merchant_id: string;
  unit: string | null;
  legacy_id: string | null;
  order_id: string | null;
  /** One sentence with both sides. */
  what: string;
  repair: Repair;
}

/** `missing` when the service answered that it does not exist, `gone` when it is also given up (`isGone`). */
export type Known = Order | 'missing' | 'gone';

/** @returns null when both agree. */
export function judgeLink(link: Link, order: Known, tables: Tables, rules: AdvanceRules): Mismatch | null {
  if (order === 'missing' || order === 'gone') return missing(link, order);
  const contradiction = contradictionIn(link, order, rules.exponent);
  if (contradiction !== null) {
    const kind = mismatchKindOf(contradiction);
    return { ...about(link), kind, what: contradiction.said.text, repair: 'none' };
  }
  const { change } = advance(link, order, tables, rules);
  if (changesState(link, change)) {
    const { state, legacy_state } = link;
    const what = say('mismatch.stale', { state, legacy_state, order_status: order.status }).text;
    return { ...about(link), kind: 'stale', what, repair: 'read' };
  }
  const row = rowOf(link, order, tables, rules);
  if (!disagrees(link, order, row)) return null;
  const { legacy_state } = link;
  const what = say('mismatch.state', { legacy_state, order_status: order.status, shows: row.shows }).text;
  return { ...about(link), kind: 'state', what, repair: 'none' };
}

/** A create whose outcome nobody has learnt although its replay window is over; `lookAfter` gives it up after its lifetime. */
export function judgeUnknown(link: Link, now: number, replay_window_ms: number): Mismatch | null {
  const in_doubt = link.state === 'IN_DOUBT' || link.state === 'SENDING';
  if (!in_doubt || link.order_id !== null || now < link.created_at + replay_window_ms) return null;
  const what = say('mismatch.unresolved', {}).text;
  return { ...about(link), kind: 'missing', what, repair: 'none' };
}

function missing(link: Link, order: 'missing' | 'gone'): Mismatch | null {
  if (link.state === 'LOST') return null; // reported already
  return {
    ...about(link),
    kind: 'missing',
    what: say('mismatch.missing', { state: link.state }).text,
    repair: link.state === 'LIVE' && order === 'gone' ? 'give_up' : 'none',
  };
}

function changesState(link: Link, change: { state?: Link['state']; legacy_state?: Link['legacy_state'] }): boolean {
  const { state = link.state, legacy_state = link.legacy_state } = change;
  return state !== link.state || legacy_state !== link.legacy_state;
}

/** What is held back, or shown by a policy of the merchant, is no disagreement; a paid order that shows as unpaid is. */
function disagrees(link: Link, order: Order, row: ReturnType<Tables['state']>): boolean {
  if (link.state !== 'DONE' || !row.known || !row.final || row.held) return false;
  return row.shows !== link.legacy_state && order.status !== link.order?.status;
}

function about(link: Link): Pick<Mismatch, 'merchant_id' | 'unit' | 'legacy_id' | 'order_id'> {
  return { merchant_id: link.merchant_id, unit: link.unit, legacy_id: link.legacy_id, order_id: link.order_id };
}
