/** Losses and differences of a period: how often from its exchanges, what they are from the tables and the inbox. */

import type { Spoken } from '../../error.ts';
import type { Tables } from '../../mapping/tables.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { adviceOn } from '../readiness/losses.ts';
import type { DifferenceLine, LossLine } from './report.ts';
import type { Tally } from './tally.ts';

const WEIGHTS: readonly LossLine['weight'][] = ['money', 'identity', 'other'];
/** Groups that people can read in one report. */
const MOST_DIFFERENCES = 5_000;

/** Money first, then who and what it was for, then by count. */
export function lossLines({ tables }: Pick<Runtime, 'tables'>, tally: Tally): LossLine[] {
  return [...tally.losses.values()]
    .map((loss) => ({ ...loss, advice: adviceFor(tables, loss).text }))
    .toSorted(
      (a, b) =>
        WEIGHTS.indexOf(a.weight) - WEIGHTS.indexOf(b.weight) ||
        b.count + b.would_be_count - (a.count + a.would_be_count),
    );
}

/** What to tell the till's maker of a loss, really and on paper. */
export function adviceFor(tables: Tables, loss: Omit<LossLine, 'advice'>): Spoken {
  return adviceOn(tables, { ...loss, count: loss.count + loss.would_be_count });
}

/** Groups that were seen in the period, the most frequent first. */
export async function differenceLines(
  runtime: Runtime,
  merchant_id: string | null,
  tally: Tally,
): Promise<{ lines: DifferenceLine[]; left_out: number }> {
  const filter = merchant_id === null ? {} : { merchant_id };
  const groups = await runtime.store.differences(filter, runtime.clock.now());
  const lines = groups
    .map((group) => ({ group, count: tally.signatures.get(`${group.merchant_id} ${group.signature}`) ?? 0 }))
    .filter(({ count }) => count > 0)
    .map(({ group, count }) => ({
      merchant_id: group.merchant_id,
      signature: group.signature,
      operation: group.operation,
      what: group.what,
      path: group.path,
      legacy: group.legacy,
      orders: group.orders,
      state: group.state,
      count,
      first_at: new Date(group.first_at).toISOString(),
      last_at: new Date(group.last_at).toISOString(),
    }))
    .toSorted((a, b) => b.count - a.count);
  return { lines: lines.slice(0, MOST_DIFFERENCES), left_out: Math.max(0, lines.length - MOST_DIFFERENCES) };
}
