/** The next step of a bulk move: who is moved next, by the budget of the day and the safety stops since its start. Pure. */
import type { Spoken } from '../../error.ts';
import { encoded, readStored, say } from '../../locales/message.ts';
import type { BulkItem, BulkMove } from '../../proxy/records/routing.ts';
import type { Trip } from '../../proxy/routing/merchant.ts';
import { DAY_MS, iso } from '../fields.ts';

type BulkStep =
  | { kind: 'move'; item: BulkItem }
  /** `until` in epoch ms. Each `why` is an encoded message. */
  | { kind: 'wait'; until: number; why: string }
  | { kind: 'stop'; why: string }
  | { kind: 'done'; why: string };

export interface StopSeen {
  merchant_id: string;
  trip: Trip;
}

/** The merchant has further steps before it: neither done nor left out. */
export function isWaiting({ state }: BulkItem): boolean {
  return state === 'waiting';
}

/** States of bulk moves and ramps that have not ended. */
export const OPEN = ['proposed', 'running', 'paused'] as const satisfies readonly BulkMove['state'][];

/** To legacy: it has no usual budget of a day, and no safety stop ends it, which may be its reason. */
export function isBack(move: BulkMove['move'], { own = {} }: BulkItem): boolean {
  return (own.stage ?? move.stage) === 'legacy';
}

/** A merchant waits for its way back to legacy. @param failed those that don't count. */
export function hasBack({ move, items, ramp }: BulkMove, failed: ReadonlySet<string> = new Set()): boolean {
  return ramp === null && items.some((one) => isWaiting(one) && !failed.has(one.merchant_id) && isBack(move, one));
}

/**
 * The next step. A safety stop after the start ends the bulk move once those that go back to legacy are there: the next
 * merchant may be harmed too. An older stop refuses only its own merchant.
 * @param stops since the start; not needed while one goes back that has not failed. @param now epoch ms; the budget is of
 * the UTC day. @param failed merchants whose step failed: each of the others comes first.
 */
export function nextStep(
  bulk: BulkMove,
  stops: readonly StopSeen[],
  now: number,
  failed: ReadonlySet<string> = new Set(),
): BulkStep {
  const waiting = bulk.items.filter(isWaiting);
  const fresh = waiting.filter(({ merchant_id }) => !failed.has(merchant_id));
  const goesBack = (one: BulkItem): boolean => isBack(bulk.move, one);
  const [stop] = stops;
  const back = fresh.find(goesBack) ?? (stop === undefined ? undefined : waiting.find(goesBack));
  const item = back ?? fresh[0] ?? waiting[0];
  if (item === undefined) return { kind: 'done', why: encoded(summary(bulk)) };
  if (stop !== undefined && back === undefined) {
    const { merchant_id: merchant, trip } = stop;
    return { kind: 'stop', why: encoded(say('bulk.stopped', { merchant, why: readStored(trip.why) })) };
  }
  // Beside others the budget is theirs alone.
  const others = bulk.items.filter((one) => !goesBack(one));
  const spent = spentToday(others.length === 0 ? bulk : { items: others }, now);
  if (spent < bulk.per_day || (others.length > 0 && goesBack(item))) return { kind: 'move', item };
  const until = (Math.floor(now / DAY_MS) + 1) * DAY_MS;
  const why = encoded(say('bulk.waits', { spent, per_day: bulk.per_day, goes_on_at: iso(until) }));
  return { kind: 'wait', until, why };
}

/** Moves and proposals of the UTC day; refused and skipped merchants don't count. */
export function spentToday({ items }: Pick<BulkMove, 'items'>, now: number): number {
  const today = Math.floor(now / DAY_MS);
  return items.filter(
    ({ state, at }) => (state === 'moved' || state === 'proposed') && at !== null && Math.floor(at / DAY_MS) === today,
  ).length;
}

/** A copy; the summary in `detail` follows. @param now epoch ms. */
export function withItemState(
  bulk: BulkMove,
  item: BulkItem,
  state: Exclude<BulkItem['state'], 'waiting'>,
  detail: string,
  now: number,
): BulkMove {
  const after = (one: BulkItem): BulkItem =>
    one.merchant_id === item.merchant_id ? { ...one, state, detail, at: now } : one;
  const items = bulk.items.map(after);
  return { ...bulk, items, detail: encoded(summary({ items })) };
}

/** How many merchants are in each state. */
export function summary({ items }: Pick<BulkMove, 'items'>): Spoken {
  const by = Map.groupBy(items, ({ state }) => state);
  const count = (state: BulkItem['state']): number => by.get(state)?.length ?? 0;
  return say('bulk.summary', {
    moved: count('moved'),
    proposed: count('proposed'),
    refused: count('refused'),
    skipped: count('skipped'),
    waiting: count('waiting'),
  });
}
