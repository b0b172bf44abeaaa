/** Covering as SQL sees it: functions for what is written and looked up, and the columns that are opened when rows are read. */
import type Database from 'better-sqlite3';
import type { Cover } from '../../core/cover.ts';
import { COVERED_COLUMNS } from '../covered.ts';

/**
 * Gives a connection `cover(text)` and `cover_order(json)`; NULL stays NULL. No statement that writes one of the columns, or
 * compares it with a value from outside, goes without them.
 */
export function teachCover(database: Database.Database, cover: Cover): void {
  const options = { deterministic: true, directOnly: true };
  database.function('cover', options, (text: unknown) => (typeof text === 'string' ? cover.text(text) : text));
  database.function('cover_order', options, (json: unknown) => (typeof json === 'string' ? cover.order(json) : json));
}

/** What makes the rows of a statement readable; itself for a statement without such a column. */
export function rowOpener(statement: Database.Statement<never[], unknown>, cover: Cover): <Row>(row: Row) => Row {
  const names = statement
    .columns()
    .map(({ name }) => name)
    .filter((name) => COVERED_COLUMNS.some((covered) => covered === name));
  if (names.length === 0) return (row) => row;
  return (row) => {
    const values = row as Record<string, unknown>; // a row of the driver is a plain object of its columns
    for (const name of names) {
      const value = values[name];
      if (typeof value === 'string') values[name] = cover.open(value);
    }
    return row;
  };
}
