/** The main thread's connection, for reads only: a read takes microseconds and needs no round trip to the writer. */
import Database from 'better-sqlite3';
import { type Cover, noCover } from '../../proxy/cover.ts';
import { storeFailed, type Value } from '../engine.ts';
import { prepareCovered, rowOpener } from './cover.ts';
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

/**
 * Opens the reading connection of a prepared file. Reads throw PuenteError store_failed.
 * @param onBroken called when a read shows that the disk or the file can't be trusted any more.
 */
export function openReader(path: string, onBroken: (text: string) => void, cover?: Cover): Reader {
  const database = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  for (const setting of ['query_only = ON', 'trusted_schema = OFF', 'cell_size_check = ON', 'mmap_size = 0']) {
    database.pragma(setting);
  }
  return readerOn(database, onBroken, cover);
}

/** Reads on an open connection, which `close` closes. Covered texts come out as they were written. */
export function readerOn(
  database: Database.Database,
  onBroken: (text: string) => void,
  cover: Cover = noCover,
): Reader {
  const tried = <Result>(read: () => Result): Result => {
    try {
      return read();
    } catch (error) {
      const failure = failureOf(error);
      if (failure === 'fatal') onBroken(textOf(error));
      throw storeFailed(failure, textOf(error));
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
