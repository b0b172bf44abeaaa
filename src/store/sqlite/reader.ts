/** The main thread's connection, for reads only: a read takes microseconds and needs no round trip to the writer. */
import Database from 'better-sqlite3';
import { type Cover, noCover } from '../../proxy/vault.ts';
import type { Failure, Value } from '../engine.ts';
import { COVERED_COLUMNS } from '../writes.ts';
import { failureOf, textOf } from './failure.ts';
import { BUSY_TIMEOUT_MS } from './settings.ts';

/** A prepared read of rows of one form. */
export interface Read<Values extends Value[], Row> {
  get(...values: Values): NoInfer<Row> | undefined;
  all(...values: Values): Row[];
}

export interface Reader {
  /** `Row` is what the SELECT lists; the tables are STRICT, so the column types hold. */
  prepare<Values extends Value[], Row>(sql: string): Read<Values, Row>;
  close(): void;
}

/** What a read that failed throws. */
type Failed = (failure: Failure, text: string) => Error;

/** Opens the reading connection of a prepared file. */
export function openReader(path: string, failed: Failed, cover?: Cover): Reader {
  const database = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  for (const setting of ['query_only = ON', 'trusted_schema = OFF', 'cell_size_check = ON', 'mmap_size = 0']) {
    database.pragma(setting);
  }
  return readerOn(database, failed, cover);
}

/** Reads on an open connection, which `close` closes. Covered texts come out as they were written. */
export function readerOn(database: Database.Database, failed: Failed, cover: Cover = noCover): Reader {
  const tried = <Result>(read: () => Result): Result => {
    try {
      return read();
    } catch (error) {
      throw failed(failureOf(error), textOf(error));
    }
  };
  return {
    prepare<Values extends Value[], Row>(sql: string): Read<Values, Row> {
      const { statement, covered } = prepareCovered<Row>(database, sql, cover);
      const open = rowOpener(statement, cover);
      return {
        get(...values) {
          const row = tried(() => statement.get(...covered(values)));
          return row === undefined ? undefined : open(row);
        },
        all: (...values) => tried(() => statement.all(...covered(values))).map((row) => open(row)),
      };
    },
    close: () => void database.close(),
  };
}

// Covered texts: values of `cover(?)` and `cover_order(?)` in statements, and columns of the rows that are read.

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
function rowOpener(statement: Database.Statement<never[], unknown>, cover: Cover): <Row>(row: Row) => Row {
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
