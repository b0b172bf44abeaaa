/** Carries the rows that were never carried, in steps; where it is stands in the target, so that a run that was cut off goes on. */
import type { Failpoint } from '../../proxy/failpoint.ts';
import { keyOf, type Row, type Shape } from './rows.ts';
import type { Source } from './source.ts';
import type { CarriedTable } from './tables.ts';
import type { Target } from './target.ts';

/** Where the copy of a table is. */
interface Place {
  /** Null before its first row. */
  key: Row | null;
  rows: number;
}

/** Made by `begin.ts`, and gone at the end. */
export const PROGRESS_TABLE = `CREATE TABLE IF NOT EXISTS transfer_progress (
  "table" TEXT PRIMARY KEY, last_key TEXT NOT NULL, rows BIGINT NOT NULL)`;

/**
 * Goes on behind the last step that an earlier run has noted; one that was not noted any more is done again, which does no
 * harm. Rows that changed since, and those that another row was in the way of, are not looked at here: `settle.ts` finds them.
 * @param tell rows of the table so far. @returns rows added by this run.
 */
export async function copyTable(
  source: Source,
  target: Target,
  table: CarriedTable,
  shape: Shape,
  tell: (rows: number) => void,
  failpoint: Failpoint,
): Promise<number> {
  let place = await placeOf(target, table.name);
  let added = 0;
  for (;;) {
    const rows = source.after(shape, place.key);
    const last = rows.at(-1);
    if (last === undefined) return added;
    added += await target.insert(table, shape, rows);
    place = { key: keyOf(shape, last), rows: place.rows + rows.length };
    await notePlace(target, table.name, place);
    failpoint('transfer.copied');
    tell(place.rows);
  }
}

async function placeOf(target: Target, table: string): Promise<Place> {
  const [row] = await target.run('SELECT last_key, rows FROM transfer_progress WHERE "table" = $1', [table]);
  return row === undefined ? { key: null, rows: 0 } : { key: JSON.parse(String(row.last_key)), rows: Number(row.rows) };
}

async function notePlace(target: Target, table: string, { key, rows }: Place): Promise<void> {
  await target.run(
    `INSERT INTO transfer_progress ("table", last_key, rows) VALUES ($1, $2, $3)
     ON CONFLICT ("table") DO UPDATE SET last_key = excluded.last_key, rows = excluded.rows`,
    [table, JSON.stringify(key), rows],
  );
}
