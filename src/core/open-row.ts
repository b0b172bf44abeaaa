/** The row of a new sale: judged by what holds its unit, in the transaction that writes it (`reliability.md` §3.3, step 1). */
import type { LegacyCall } from './call.ts';
import { isHeld } from './change.ts';
import { tickOf } from './clock.ts';
import type { Link } from './link.ts';
import { judgeOpening } from './opening.ts';
import type { LegacySale } from './records/routing.ts';
import { hasRoom, noRoom } from './room.ts';
import type { Runtime } from './runtime.ts';
import type { Sale } from './sale.ts';
import type { Opening } from './store.ts';

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
  sale: Sale,
  link: Link,
  on_orders: boolean,
): Promise<Row> {
  const window_ms = runtime.settings.create.join_window_ms;
  let unwritten = 'left' as Unwritten['kind'] | 'no_room'; // the last word counts, in whatever call it was said
  const leave = (kind: typeof unwritten): Opening => {
    unwritten = kind;
    return { kind: 'unwanted' };
  };
  const { opening, ...rest } = await runtime.store.openLink(
    link,
    (holder) => {
      if (holder === null && !on_orders) return leave('left');
      if (holder !== null && isHeld(runtime, holder)) return { kind: 'busy' };
      const judged = judgeOpening(holder, link, window_ms, ageOf(runtime, holder, link));
      if (judged.kind === 'join' || (judged.kind === 'busy' && sale.holds_unit)) return judged;
      // What holds no unit is in nobody's way: it was only looked at as a possible retry.
      if (!on_orders) return leave('left');
      if (!hasRoom(runtime)) return leave('no_room');
      return runtime.upstream.isShut?.('POST', token) === true ? leave('shut') : { kind: 'open' };
    },
    merchant.revision,
  );
  if (opening.kind === 'open' && link.client_key === null) runtime.opened.set(link.legacy_id, tickOf(runtime.clock));
  if (opening.kind !== 'unwanted') return { opening, ...rest };
  if (unwritten === 'no_room') throw noRoom(runtime);
  return { opening: { kind: unwritten }, link, elsewhere: null };
}

/**
 * How old the holder is: by the wall clock, or by the one that nobody can set where this process opened it and that says
 * less. By a wall clock that was set forward, a retry would be a sale of its own; on a till's static code it would cancel the
 * first, which a buyer may have before them (`reliability.md` F47).
 */
function ageOf({ opened, clock }: Runtime, holder: Link | null, candidate: Link): number {
  if (holder === null) return 0;
  const age_ms = candidate.created_at - holder.created_at;
  const opened_at = opened.get(holder.legacy_id);
  return opened_at === undefined ? age_ms : Math.min(age_ms, tickOf(clock) - opened_at);
}
