/** The target of a transfer: reads and writes of whole steps, each write one transaction. */
import { types } from 'pg';
import { noCover } from '../../proxy/vault.ts';
import type { Value } from '../conditions.ts';
import { restored, statementOf } from '../postgres/dialect.ts';
import { clientFor, databaseUnusable, failedBecause, textOf } from '../postgres/pool.ts';
import { type WriteName, writes } from '../writes.ts';
import {
  type Cell,
  type Column,
  type ColumnType,
  type CopiedTable,
  namesOf,
  parametersOf,
  type Row,
  type Shape,
  unnestOf,
} from './rows.ts';

const TEXT = 25;
const FLOAT8 = 701;
const BYTEA = 17;

/** Keys take little memory. */
const KEYS = 10_000;

export type Target = Awaited<ReturnType<typeof openTarget>>;
type Run = (sql: string, values?: readonly unknown[]) => Promise<Record<string, string | null>[]>;
type Together = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** @throws PuenteError store_unusable when the server can't be reached. */
export async function openTarget(url: string, location: string, connect_timeout_ms: number) {
  const client = clientFor(url, connect_timeout_ms, 'puente migrate-store', { getTypeParser: parserOf });
  const run: Run = async (sql, values = []) => {
    try {
      return (await client.query<Record<string, string | null>>(sql, [...values])).rows;
    } catch (error) {
      throw failedBecause(error);
    }
  };
  try {
    await client.connect();
    // A step may take long. Rows must be found by their keys, also with the statistics of a table that was empty.
    await client.query(
      'SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET enable_hashjoin = off; SET enable_mergejoin = off',
    );
  } catch (error) {
    await client.end().catch(() => undefined);
    throw databaseUnusable(location, textOf(error), 'See that the server runs and that its address is right', error);
  }
  const together: Together = async (work) => {
    await run('BEGIN');
    try {
      const result = await work();
      await run('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  };
  return {
    /** The address without user and password. */
    location,
    /** @throws PuenteError store_failed. */
    run,
    /** One transaction, rolled back when `work` throws. */
    together,
    write: (write: WriteName, values: readonly Value[]) => {
      const { text, parametersOf } = statementOf(writes[write].sql, noCover);
      return run(text, parametersOf(values));
    },
    ...readsOf(run),
    ...writesOf(run, together),
    close: () => client.end().catch(() => undefined),
  };
}

function readsOf(run: Run) {
  const keysOf = (shape: Shape, rest: (names: string) => string, values: Cell[] = []) => {
    const columns = keyColumnsOf(shape);
    const names = namesOf(columns.map(({ name }) => name));
    const rows = run(`SELECT ${names} FROM "${shape.table}" ${rest(names)}`, values);
    return rows.then((found) => found.map((row) => columns.map(({ name }): Cell => row[name] ?? null)));
  };
  return {
    async columns(table: string): Promise<Column[]> {
      const rows = await run(
        `SELECT attname AS name, attidentity::text AS identity, pg_get_serial_sequence($1, attname) AS numbers,
           format_type(CASE typbasetype WHEN 0 THEN atttypid ELSE typbasetype END, NULL) AS type
         FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
         WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
        [`"${table}"`],
      );
      return rows.map(({ name, type, identity, numbers }) => ({
        name: String(name),
        type: type as ColumnType, // the migrations use no other
        is_identity: identity !== '',
        is_numbered: numbers !== null,
      }));
    },
    async count(table: string): Promise<number> {
      const [row] = await run(`SELECT count(*) AS rows FROM "${table}"`);
      return Number(row?.rows);
    },
    /** Stored rows of these keys, in any order. */
    async find(shape: Shape, keys: readonly Row[]): Promise<Row[]> {
      const columns = keyColumnsOf(shape);
      const names = columns.map(({ name }) => name);
      const rows = await run(
        `SELECT ${namesOf(namesIn(shape), 'kept.')} FROM ${unnestOf(columns)} AS wanted (${namesOf(names)})
         JOIN "${shape.table}" AS kept ON ${sameKey(names, 'kept', 'wanted')}`,
        parametersOf(keys, columns.length),
      );
      return rows.map((row) => namesIn(shape).map((name): Cell => row[name] ?? null));
    },
    /** Keys after a key, in the server's order. */
    keysAfter(shape: Shape, key: Row | null): Promise<Row[]> {
      const columns = keyColumnsOf(shape);
      const behind = columns.map(({ type }, at) => `$${at + 1}::${type}`).join(', ');
      const values = key === null ? [] : parametersOf([key], columns.length).flat();
      const where = (names: string) => (key === null ? '' : `WHERE (${names}) > (${behind})`);
      return keysOf(shape, (names) => `${where(names)} ORDER BY ${names} LIMIT ${KEYS}`, values);
    },
    /** Null when the table is empty. */
    async lastKey(shape: Shape): Promise<Row | null> {
      const last = (names: string) => `ORDER BY ${names.replaceAll(',', ' DESC,')} DESC LIMIT 1`;
      return (await keysOf(shape, last))[0] ?? null;
    },
  };
}

function writesOf(run: Run, together: Together) {
  /** Without triggers: their rows are copied too. The end of the transaction enables them again. */
  const asTheyAre = <Result>({ table, columns }: Shape, work: () => Promise<Result>): Promise<Result> => {
    const identities = columns.filter(({ is_identity }) => is_identity);
    const alter = async (triggers: string, given: string) => {
      const given_by = identities.map(({ name }) => `ALTER COLUMN "${name}" SET GENERATED ${given}`);
      await run(`ALTER TABLE "${table}" ${[`${triggers} TRIGGER USER`, ...given_by].join(', ')}`);
    };
    return together(async () => {
      await alter('DISABLE', 'BY DEFAULT');
      const result = await work();
      await alter('ENABLE', 'ALWAYS');
      return result;
    });
  };
  const changed = async (shape: Shape, sql: string, keys: readonly Row[]): Promise<void> => {
    const columns = keyColumnsOf(shape);
    await asTheyAre(shape, () => run(sql, parametersOf(keys, columns.length)));
  };
  return {
    /** Skips rows without a parent, and rows that a unique index refuses. @returns how many were inserted. */
    insert: ({ parent }: CopiedTable, shape: Shape, rows: readonly Row[]): Promise<number> =>
      asTheyAre(shape, async () => {
        const names = namesOf(namesIn(shape));
        const where =
          parent === undefined
            ? ''
            : `WHERE EXISTS (SELECT 1 FROM "${parent.table}" AS parent WHERE parent."${parent.key}" = new."${parent.column}")`;
        const [added] = await run(
          `WITH added AS (INSERT INTO "${shape.table}" (${names})
             SELECT ${names} FROM ${unnestOf(shape.columns)} AS new (${names}) ${where} ON CONFLICT DO NOTHING RETURNING 1)
           SELECT count(*) AS rows FROM added`,
          parametersOf(rows, shape.columns.length),
        );
        return Number(added?.rows);
      }),
    async update(shape: Shape, rows: readonly Row[]): Promise<void> {
      const names = namesIn(shape);
      const keys = keyColumnsOf(shape).map(({ name }) => name);
      const others = names.filter((name) => !keys.includes(name)).map((name) => `"${name}" = new."${name}"`);
      if (others.length === 0) return;
      const sql = `UPDATE "${shape.table}" AS kept SET ${others.join(', ')}
        FROM ${unnestOf(shape.columns)} AS new (${namesOf(names)}) WHERE ${sameKey(keys, 'kept', 'new')}`;
      await asTheyAre(shape, () => run(sql, parametersOf(rows, names.length)));
    },
    release: (table: CopiedTable, shape: Shape, keys: readonly Row[]) =>
      changed(shape, `UPDATE "${shape.table}" AS kept SET ${table.release} ${named(shape, 'FROM')}`, keys),
    remove: (shape: Shape, keys: readonly Row[]) =>
      changed(shape, `DELETE FROM "${shape.table}" AS kept ${named(shape, 'USING')}`, keys),
  };
}

function named(shape: Shape, word: 'FROM' | 'USING'): string {
  const columns = keyColumnsOf(shape);
  const names = columns.map(({ name }) => name);
  return `${word} ${unnestOf(columns)} AS wanted (${namesOf(names)}) WHERE ${sameKey(names, 'kept', 'wanted')}`;
}

function sameKey(names: readonly string[], first: string, second: string): string {
  return names.map((name) => `${first}."${name}" = ${second}."${name}"`).join(' AND ');
}

function keyColumnsOf({ columns, key }: Shape): Column[] {
  return key.flatMap((at) => columns[at] ?? []);
}

function namesIn({ columns }: Shape): string[] {
  return columns.map(({ name }) => name);
}

/** Every value as text, so that no digit is lost. */
function parserOf(type: number, format?: 'text' | 'binary') {
  if (type === BYTEA) return types.getTypeParser(type, format);
  if (type === FLOAT8) return (text: string) => String(Number(text));
  return type === TEXT ? restored : (text: string) => text;
}
