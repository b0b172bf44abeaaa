/** The states table as a function: an order status and a policy to what legacy clients see. */
import type { IntentState } from '../contract/legacy-point.ts';
import type { WrittenStates } from './schema.ts';
import type { StateRow, Tables } from './tables.ts';

/** The row for a status the table doesn't know; it must never look final (`reliability.md` F25). */
export const UNKNOWN_STATUS = 'unknown';

type Declined = Parameters<Tables['state']>[1];
type Found = StateRow & { known: boolean };

/** @returns a function that never fails: an unknown status gives the row `unknown`. */
export function stateFinder(tables: readonly WrittenStates[]): Tables['state'] {
  const found = new Map<string, Record<Declined, Found>>();
  for (const { table, rows } of tables) {
    rows.forEach((row, index) => {
      const under = (declined: Declined): Found => ({
        intent: (typeof row.intent === 'string' ? row.intent : row.intent[declined]) as IntentState, // proved by `check`
        rank: row.rank,
        final: row.final,
        held: row.settled !== undefined,
        notice: row.notice,
        row: `${table}#${index + 1}`,
        known: row.status !== UNKNOWN_STATUS,
      });
      found.set(row.status, { error: under('error'), finished: under('finished') });
    });
  }
  const unknown = found.get(UNKNOWN_STATUS) as Record<Declined, Found>; // `check` demands the row
  return (order_status, declined) => (found.get(order_status) ?? unknown)[declined];
}
