/** The row of a new sale: judged by what holds its unit, in the transaction that writes it (`reliability.md` §3.3, step 1). */
import { durationMs } from '../../contract/duration.ts';
import { tickOf } from '../clock.ts';
import type { LegacyCall } from '../http/call.ts';
import type { LegacySale } from '../records/routing.ts';
import type { Runtime } from '../runtime.ts';
import type { Opening } from '../store.ts';
import type { Link } from './link.ts';
import { type RetryWindows, retriedSale } from './opening.ts';
import { hasRoom, noRoom } from './room.ts';

/**
 * Nothing was written. `left`: the stage says legacy and nothing on orders is in the way any more. `shut`: nothing works
 * upstream. `moved`: its merchant was set meanwhile. `used`: its reference is.
 */
type Unwritten = { kind: 'elsewhere' | 'left' | 'shut' | 'moved' | 'used' };
export type Row = {
  opening: Exclude<Opening, { kind: 'unwanted' }> | Unwritten;
  link: Link;
  elsewhere: LegacySale | null;
};

/**
 * Writes the row of a sale, unless something is in its way or its place is elsewhere by now.
 * @throws PuenteError store_failed when it can't be proved that the row is durable; refused while the disk is low or full.
 */
export async function openRow(
  runtime: Runtime,
  { token, merchant }: LegacyCall,
  link: Link,
  on_orders: boolean,
): Promise<Row> {
  const windows = windowsOf(runtime, link);
  let unwritten = 'left' as Unwritten['kind'] | 'no_room'; // the last word counts, in whatever call it was said
  const leave = (kind: typeof unwritten): Opening => {
    unwritten = kind;
    return { kind: 'unwanted' };
  };
  const { opening, ...rest } = await runtime.store.openLink(
    link,
    (found) => {
      const is_known = found.unheard !== null && runtime.known.get(found.unheard.legacy_id) === true;
      const met = is_known ? { ...found, unheard: null } : found;
      const retried = retriedSale(met, link, windows);
      if (retried !== null) return { kind: 'join', link: retried };
      if (met.holder !== null) return { kind: 'busy', link: met.holder };
      if (!on_orders) return leave('left');
      if (!hasRoom(runtime)) return leave('no_room');
      return runtime.upstream.isShut?.('POST', token) === true ? leave('shut') : { kind: 'open' };
    },
    merchant.revision,
  );
  if (opening.kind === 'open') runtime.opened.set(link.legacy_id, tickOf(runtime.clock));
  if (opening.kind !== 'unwanted') return { opening, ...rest };
  if (unwritten === 'no_room') throw noRoom(runtime);
  return { opening: { kind: unwritten }, link, elsewhere: null };
}

/**
 * Ages by the wall clock, or by the one that nobody can set where this process opened the sale and that says less. By a wall clock
 * that was set forward, a retry would be a sale of its own (`reliability.md` F47).
 */
function windowsOf({ opened, clock, settings }: Runtime, candidate: Link): RetryWindows {
  const since = ({ legacy_id }: Link, at: number): number => {
    const wall_ms = candidate.created_at - at;
    const opened_at = opened.get(legacy_id);
    return opened_at === undefined ? wall_ms : Math.min(wall_ms, tickOf(clock) - opened_at);
  };
  const { join_window_ms, replay_window_ms } = settings.create;
  return {
    join_window_ms,
    replay_window_ms,
    age_ms: (link) => since(link, link.created_at),
    // The end of an order that was read is by the service's clock, the beginning of its link by ours.
    lifetime_ms: ({ order, expires_at, created_at }) =>
      order === null
        ? expires_at - created_at
        : (durationMs(order.expiration_time, created_at) ?? settings.create.default_lifetime_ms),
    acknowledged_ms: (link) => since(link, link.acknowledged_at ?? link.created_at),
  };
}
