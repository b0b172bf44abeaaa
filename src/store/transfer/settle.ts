/** Makes the target what the source is, now that nobody writes to it, and proves it row by row. */
import { PuenteError } from '../../error.ts';
import { type Compared, compareTable } from './compare.ts';
import { keyOf, type Row, type Shape } from './rows.ts';
import type { Source } from './source.ts';
import type { CarriedTable } from './tables.ts';
import type { Target } from './target.ts';

export interface Settled {
  table: string;
  rows: number;
  /** Rows that had changed since they were copied, were not there yet, or had gone. */
  changed: number;
  missing: number;
  extra: number;
  /** Over all rows as they stand on both sides. */
  sha256: string;
}

/**
 * First goes what is gone, children before parents, and what changes lets go of what it alone may hold; then rows are written,
 * parents first; then what was written is read back once more. A table that is equal at once is read once.
 * @param teller is told rows of a table so far. @throws PuenteError conflict when a row is not equal in the end.
 */
export async function settle(
  source: Source,
  target: Target,
  tables: readonly (readonly [CarriedTable, Shape])[],
  teller: (table: string) => (rows: number) => void,
): Promise<Settled[]> {
  const first = new Map<string, Compared>();
  for (const [table, shape] of tables.toReversed()) {
    const repairs = {
      extra: (keys: Row[]) => target.remove(shape, keys),
      changed: async (rows: Row[]) => {
        const keys = rows.map((row) => keyOf(shape, row));
        if (table.release !== undefined) await target.release(table, shape, keys);
      },
    };
    first.set(table.name, await compareTable(source, target, shape, repairs, teller(table.name)));
  }
  const different = tables.filter(([{ name }]) => !isEqual(first.get(name)));
  for (const [table, shape] of different) {
    const repairs = {
      changed: (rows: Row[]) => target.update(shape, rows),
      missing: async (rows: Row[]) => void (await target.insert(table, shape, rows)),
    };
    await compareTable(source, target, shape, repairs, teller(table.name));
  }
  const last = new Map<string, Compared>(first);
  for (const [{ name }, shape] of different)
    last.set(name, await compareTable(source, target, shape, {}, teller(name)));
  return tables.map(([{ name }]) => settledOf(name, first.get(name), last.get(name)));
}

function isEqual(compared: Compared | undefined): boolean {
  if (compared === undefined) return false;
  const { changed, missing, extra, source_sha256, target_sha256 } = compared;
  return changed === 0 && missing === 0 && extra === 0 && source_sha256 === target_sha256;
}

function settledOf(table: string, first: Compared | undefined, last: Compared | undefined): Settled {
  if (first === undefined || last === undefined || !isEqual(last)) {
    const { changed = 0, missing = 0, extra = 0 } = last ?? {};
    throw new PuenteError(
      'conflict',
      `${changed + missing + extra} rows of ${table} are not what they were in the file (${changed} changed, ${missing} missing, ${extra} too many): see that nothing else writes to the database, and repeat the command. Nothing was changed in the file.`,
    );
  }
  const { changed, missing, extra } = first;
  return { table, rows: last.rows, changed, missing, extra, sha256: last.target_sha256 };
}
