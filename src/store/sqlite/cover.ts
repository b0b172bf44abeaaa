/** Covers values of `cover(?)` and `cover_order(?)` in statements, and opens covered columns of the rows that are read. */
import type Database from 'better-sqlite3';
import type { Cover } from '../../proxy/cover.ts';
import type { Value } from '../engine.ts';
import { COVERED_COLUMNS } from '../writes.ts';

/** Prepares a statement whose values are covered before SQLite gets them; NULL stays NULL. */
export function prepareCovered<Row>(
  database: Database.Database,
  sql: string,
  cover: Cover,
): { statement: Database.Statement<Value[], Row>; covered: (values: Value[]) => Value[] } {
  const places: { at: number; covers: (text: string) => string }[] = [];
  let at = 0;
  const text = sql.replace(/cover_order\(\?\)|cover\(\?\)|\?/g, (form) => {
    if (form !== '?') places.push({ at, covers: form.startsWith('cover_order') ? cover.order : cover.text });
    at += 1;
    return '?';
  });
  const covered = (values: Value[]): Value[] => {
    if (places.length === 0) return values;
    const copy = values.slice();
    for (const { at, covers } of places) {
      const value = copy[at];
      if (typeof value === 'string') copy[at] = covers(value);
    }
    return copy;
  };
  return { statement: database.prepare<Value[], Row>(text), covered };
}

/** Defines both as functions of a connection, for migrations, which cover stored texts. */
export function teachCover(database: Database.Database, cover: Cover): void {
  const options = { deterministic: true, directOnly: true };
  database.function('cover', options, (text: unknown) => (typeof text === 'string' ? cover.text(text) : text));
  database.function('cover_order', options, (json: unknown) => (typeof json === 'string' ? cover.order(json) : json));
}

/** Opens the covered columns of a row, in place; does nothing for a statement without any. */
export function rowOpener(statement: Database.Statement<never[], unknown>, cover: Cover): <Row>(row: Row) => Row {
  const names = statement
    .columns()
    .map(({ name }) => name)
    .filter((name) => COVERED_COLUMNS.includes(name));
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
