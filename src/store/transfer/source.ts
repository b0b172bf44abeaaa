/** The source of a transfer: a file, read in short steps so that a running Puente is not blocked. */
import { rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { PuenteError } from '../../error.ts';
import type { ChainMark } from '../../proxy/audit.ts';
import { readMigrations } from '../migrations.ts';
import { storeUnusable, unusableBecause } from '../sqlite/failure.ts';
import {
  type InstanceLock,
  isOurs,
  MIGRATIONS_DIRECTORY,
  realPathOf,
  takeInstanceLock,
  versionOf,
} from '../sqlite/file.ts';
import { refuseUnderWay, restoringNote } from '../sqlite/under-way.ts';
import { LAST_AUDIT } from '../writes.ts';
import { type Cell, namesOf, type Row, type Shape } from './rows.ts';

/** Rows of one step at most, which are copied again when a transfer is interrupted. */
const STEP_ROWS = 1_000;
/** Bytes of one step: rows with captured messages are large, and a step is in memory twice. */
const STEP_BYTES = 8 * 1024 * 1024;
const WAIT_MS = 5_000;

export type Source = ReturnType<typeof openSource>;

/** @param is_final locks, and refuses a file in use. @throws PuenteError store_unusable, with fault and repair. */
export function openSource(file: string, is_final: boolean, key_mark: string) {
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    throw storeUnusable(file, 'it does not exist', 'Name the data directory of the installation: PUENTE_DATA_DIR');
  const path = realPathOf(file);
  const lock = lockFor(path, is_final);
  // Removes the files that SQLite makes for reading: an empty log would hide from the next start that a log was lost.
  const made = lock === null ? [] : ['-wal', '-shm'].filter((suffix) => !isThere(path + suffix));
  let database: Database.Database | null = null;
  const close = (): void => {
    database?.close();
    for (const suffix of made) rmSync(path + suffix, { force: true });
    lock?.release();
  };
  try {
    if (restoringNote(path) !== null) refuseUnderWay(path);
    database = new Database(path, { readonly: true, fileMustExist: true, timeout: WAIT_MS });
    database.defaultSafeIntegers(true);
    const meta = refuseUnfit(database, path, key_mark);
    return { path, ...readsOf(database, meta), close };
  } catch (error) {
    close();
    throw unusableBecause(path, error);
  }
}

/** Without a running Puente, takes the lock, so that none starts while its log may be removed. */
function lockFor(path: string, is_final: boolean): InstanceLock | null {
  try {
    return takeInstanceLock(path);
  } catch (error) {
    const in_use = error instanceof PuenteError && error.facts.in_use === true;
    if (in_use && !is_final) return null;
    if (!in_use) throw error;
    throw storeUnusable(
      path,
      'a Puente is using it',
      'Stop it, then repeat the command; with --ahead most rows are copied before that, so that the stop is short',
      error,
    );
  }
}

function refuseUnfit(database: Database.Database, path: string, key_mark: string): Map<string, string> {
  if (!isOurs(database))
    throw storeUnusable(path, 'it is the database of another program', 'Name another data directory');
  const schema = versionOf(database);
  const newest = readMigrations(MIGRATIONS_DIRECTORY).length;
  if (schema !== newest) {
    const repair = schema < newest ? 'Start this build on it once, which brings it there' : 'Use the newer build';
    throw storeUnusable(path, `it has schema ${schema}, and this build copies schema ${newest} alone`, repair);
  }
  const rows = database.prepare<[], { name: string; value: string }>('SELECT name, value FROM meta').all();
  const meta = new Map(rows.map(({ name, value }) => [name, value]));
  if (meta.get('key_mark') !== key_mark)
    throw storeUnusable(
      path,
      'PUENTE_SECRET_KEY is not the key that its values were sealed with',
      'Set that key: sealed values are copied as they are',
    );
  return meta;
}

function readsOf(database: Database.Database, meta: ReadonlyMap<string, string>) {
  const statements = new Map<string, Database.Statement<unknown[], Record<string, unknown>>>();
  const prepared = (sql: string) => {
    const statement = statements.get(sql) ?? database.prepare<unknown[], Record<string, unknown>>(sql);
    statements.set(sql, statement);
    return statement;
  };
  const first = (sql: string, ...values: unknown[]) => Object.values(prepared(sql).get(...values) ?? {})[0];
  const names = (sql: string, ...values: unknown[]) =>
    prepared(sql)
      .all(...values)
      .map(({ name }) => String(name));
  return {
    meta,
    instance_id: meta.get('instance_id') ?? '',
    tables: () => names(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`),
    columns: (table: string) => names('SELECT name FROM pragma_table_info(?)', table),
    count: (table: string) => Number(first(`SELECT count(*) FROM "${table}"`)),
    /** Rows after a key, in its order; none at the end. */
    after(shape: Shape, key: Row | null): Row[] {
      const columns = shape.columns.map(({ name }) => name);
      const keys = shape.key.map((at) => columns[at] ?? '');
      const behind = key === null ? '' : `WHERE (${namesOf(keys)}) > (${keys.map(() => '?').join(', ')})`;
      const sql = `SELECT ${namesOf(columns)} FROM "${shape.table}" ${behind} ORDER BY ${namesOf(keys)} LIMIT ${STEP_ROWS}`;
      const rows: Row[] = [];
      let bytes = 0;
      for (const row of prepared(sql).iterate(...boundTo(shape, key ?? []))) {
        const cells = columns.map((name) => cellOf(row[name]));
        rows.push(cells);
        bytes += cells.reduce((sum, cell) => sum + (cell?.length ?? 0), 0);
        if (bytes > STEP_BYTES) break;
      }
      return rows;
    },
    has(shape: Shape, key: Row): boolean {
      const keys = shape.key.map((at) => `"${shape.columns[at]?.name}" = ?`);
      return first(`SELECT 1 FROM "${shape.table}" WHERE ${keys.join(' AND ')}`, ...boundTo(shape, key)) !== undefined;
    },
    /** The last number that the table gave to a row, also when the row is deleted; 0 for a table without numbers. */
    lastNumber: (table: string) => Number(first('SELECT seq FROM sqlite_sequence WHERE name = ?', table) ?? 0),
    linkCounts: () =>
      prepared('SELECT state, links FROM link_counts')
        .all()
        .map(({ state, links }) => [String(state), Number(links)] as const),
    auditHead(): ChainMark | null {
      const row = prepared(LAST_AUDIT).get();
      return row === undefined ? null : { sequence: Number(row.sequence), hash: String(row.hash) };
    },
  };
}

/** Cells of a key as the engine compares them: numbers as numbers. */
function boundTo(shape: Shape, key: Row): unknown[] {
  return key.map((cell, at) => (shape.columns[shape.key[at] ?? -1]?.type === 'text' ? cell : BigInt(String(cell))));
}

function cellOf(value: unknown): Cell {
  if (value === null || typeof value === 'string' || Buffer.isBuffer(value)) return value;
  return String(value);
}

function isThere(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}
