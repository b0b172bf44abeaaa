/** Many moves in a row: what is done next, by the day's budget and the safety stops among its merchants: pure. */

import { say } from '../../locales/sentences.ts';
import type { BulkItem, BulkMove } from '../../proxy/records/routing.ts';
import type { Trip } from '../../proxy/routing/merchant.ts';

const DAY_MS = 86_400_000;

export type BulkStep =
  | { kind: 'move'; item: BulkItem }
  /** Until epoch ms, and why. */
  | { kind: 'wait'; until: number; why: string }
  | { kind: 'stop'; why: string }
  | { kind: 'done'; why: string };

/** A safety stop that stands at one of its merchants. */
export interface StopSeen {
  merchant_id: string;
  trip: Trip;
}

/**
 * The next step. A safety stop that came after the start ends all of it: what moved one merchant into trouble may move the
 * next (`peers.md` §4 row 10). An older one refuses its own merchant alone.
 * @param now epoch ms; the budget is of the UTC day.
 */
export function nextStep(bulk: BulkMove, stops: readonly StopSeen[], now: number): BulkStep {
  const stop = stops.find(({ trip }) => trip.at >= bulk.created_at);
  if (stop !== undefined)
    return { kind: 'stop', why: say('bulk.stopped', { merchant: stop.merchant_id, why: stop.trip.why }).text };
  const item = bulk.items.find(({ state }) => state === 'waiting');
  if (item === undefined) return { kind: 'done', why: summary(bulk) };
  const spent = spentToday(bulk, now);
  if (spent < bulk.per_day) return { kind: 'move', item };
  const until = (Math.floor(now / DAY_MS) + 1) * DAY_MS;
  return { kind: 'wait', until, why: `${spent} of ${bulk.per_day} moves of today are made; goes on at ${iso(until)}.` };
}

/** Moves and proposals of the UTC day; what was refused, or there already, costs nothing. */
export function spentToday({ items }: Pick<BulkMove, 'items'>, now: number): number {
  const today = Math.floor(now / DAY_MS);
  return items.filter(
    ({ state, at }) => (state === 'moved' || state === 'proposed') && at !== null && Math.floor(at / DAY_MS) === today,
  ).length;
}

/** The bulk with one item settled. */
export function settled(
  bulk: BulkMove,
  item: BulkItem,
  state: Exclude<BulkItem['state'], 'waiting'>,
  detail: string,
  now: number,
): BulkMove {
  const after = (one: BulkItem): BulkItem =>
    one.merchant_id === item.merchant_id ? { ...one, state, detail, at: now } : one;
  const items = bulk.items.map(after);
  return { ...bulk, items, detail: summary({ items }) };
}

/** `3 moved, 1 refused, 6 waiting`. */
export function summary({ items }: Pick<BulkMove, 'items'>): string {
  const by = Map.groupBy(items, ({ state }) => state);
  const count = (state: BulkItem['state']): number => by.get(state)?.length ?? 0;
  return say('bulk.summary', {
    moved: count('moved'),
    proposed: count('proposed'),
    refused: count('refused'),
    skipped: count('skipped'),
    waiting: count('waiting'),
  }).text;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
