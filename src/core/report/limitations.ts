/** Which numbered limitations the period's traffic met: those of operations that were called on orders. */
import type { Limitation } from '../../mapping/tables.ts';
import type { LimitationLine } from './report.ts';
import type { Tally } from './tally.ts';

/** Those with calls on orders, the most frequent first. */
export function limitationLines(limitations: readonly Limitation[], tally: Tally): LimitationLine[] {
  return limitations
    .map(({ id, title, effect, workaround, operations }) => ({
      id,
      title,
      effect,
      workaround,
      calls: callsOf(tally, operations),
    }))
    .filter(({ calls }) => calls > 0)
    .toSorted((a, b) => b.calls - a.calls);
}

function callsOf(tally: Tally, operations: readonly string[]): number {
  return operations.reduce((calls, name) => calls + (tally.traffic.get(`${name} orders`)?.calls ?? 0), 0);
}
