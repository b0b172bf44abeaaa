/** The states tables as a function: an order's status and a policy to what legacy clients see. */
import type { WrittenStates } from './schema.ts';
import type { LinkFamily, OrderState, StateRow, Tables } from './tables.ts';

/** The row for a status the table doesn't know; it must never look final (`reliability.md` F25). */
export const UNKNOWN_STATUS = 'unknown';

type Declined = Parameters<Tables['state']>[2];
type Found = StateRow & { known: boolean; detail: string | undefined };
type ByStatus = ReadonlyMap<string, Record<Declined, Found>[]>;

/** @returns a function that never fails: an unknown status gives the row `unknown`. */
export function stateFinder(tables: readonly WrittenStates[]): Tables['state'] {
  const byFamily = new Map(tables.map((table) => [table.family, rowsByStatus(table)]));
  return (family, order, declined) => {
    const rows = byFamily.get(family) as ByStatus; // `check` demands a table for each family of links
    const known = rows.get(order.status) ?? (rows.get(UNKNOWN_STATUS) as Record<Declined, Found>[]); // and this row
    return (known.find((row) => fits(row[declined], order)) ?? known.at(-1))?.[declined] as Found; // never empty
  };
}

function fits(row: Found, order: OrderState): boolean {
  return row.detail === undefined || row.detail === order.status_detail;
}

function rowsByStatus({ table, rows }: WrittenStates): ByStatus {
  const found = new Map<string, Record<Declined, Found>[]>();
  rows.forEach((row, index) => {
    const under = (declined: Declined): Found => ({
      shows: typeof row.shows === 'string' ? row.shows : row.shows[declined],
      rank: row.rank,
      final: row.final,
      held: row.settled !== undefined,
      notices: row.notices,
      row: `${table}#${index + 1}`,
      known: row.status !== UNKNOWN_STATUS,
      detail: row.detail,
    });
    const same = found.get(row.status) ?? [];
    found.set(row.status, [...same, { error: under('error'), finished: under('finished') }]);
  });
  return found;
}

/** The families whose links have states. */
export const linkFamilies: readonly LinkFamily[] = ['point', 'qr'];
