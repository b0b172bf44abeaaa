/** Reads, each a prepared statement: a search takes its own round trip; lookups of one event-loop tick share one. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import { type Cover, noCover } from '../../proxy/vault.ts';
import { COVERED_COLUMNS } from '../conditions.ts';
import type { Read, Reader, ReadKind, Value } from '../engine.ts';
import { type Parameter, type Statement, statementOf } from './dialect.ts';
import {
  ANSWER_GRACE_MS,
  failedBecause,
  failureOf,
  inOneWrite,
  isOutdated,
  isUnprepared,
  type PoolSettings,
  withConnection,
} from './pool.ts';

/** After a fail-over all idle connections are broken at once; a read can be repeated. */
export const SECOND_TRY_AFTER_MS = 50;

/** As many connections as the settings allow; each is dropped by its first try. */
const MOST_OUTDATED = 1_000;

/** Covered texts are returned decrypted. */
export function readerOn(
  pool: Pool,
  { statement_timeout_ms }: Pick<PoolSettings, 'statement_timeout_ms'>,
  cover: Cover = noCover,
): Reader {
  const open = (row: Row): Row => {
    for (const name of COVERED_COLUMNS) {
      const value = row[name];
      if (typeof value === 'string') row[name] = cover.open(value);
    }
    return row;
  };
  const lookups = createLookups(pool, { statement_timeout_ms, open });
  const search = async ({ name, text, parametersOf }: Statement, values: readonly Value[]): Promise<Rows> => {
    const result = await withConnection(pool, (client) => client.query({ name, text, values: parametersOf(values) }));
    return result.rows.map(open);
  };
  return {
    prepare<Values extends Value[], Row>(sql: string, kind: ReadKind = 'search'): Read<Values, Row> {
      const statement = statementOf(sql, cover);
      const query = kind === 'lookup' ? lookups.read : search;
      // The caller declares the rows of its own SELECT.
      const all = async (...values: Values): Promise<Row[]> => (await rowsOf(() => query(statement, values))) as Row[];
      return { all, get: async (...values: Values) => (await all(...values))[0] };
    },
  };
}

async function rowsOf(query: () => Promise<Rows>): Promise<Rows> {
  for (let left = MOST_OUTDATED; ; left--) {
    try {
      return await query();
    } catch (error) {
      if (isOutdated(error) && left > 0) continue; // its connection was dropped
      if (failureOf(error) !== 'gone' && !isUnprepared(error)) throw failedBecause(error);
      break;
    }
  }
  await pause(SECOND_TRY_AFTER_MS);
  return query().catch((error: unknown) => {
    throw failedBecause(error);
  });
}

// Lookups: reads by a key. Lookups of one event-loop tick are sent together, equal ones once.

type Row = Record<string, unknown>;
type Rows = readonly Readonly<Row>[];

export type Lookups = ReturnType<typeof createLookups>;

/** The driver accepts a time limit per query, which its types lack. */
interface Limited extends QueryConfig {
  query_timeout: number;
}

/** A lookup that waits for its place on a connection. */
interface Question {
  statement: Statement;
  parameters: readonly Parameter[];
  /** The event-loop tick of the request. */
  tick: number;
  rows: Promise<Rows>;
  answer(rows: Rows): void;
  fail(error: unknown): void;
}

export interface LookupsOptions {
  statement_timeout_ms: number;
  /** Decrypts the covered columns of a row, in place. */
  open(row: Row): Row;
}

/** As many calls as begin together (`proxy/concurrency.ts`). */
const AT_ONCE = 32;

/** @param pool each tick takes one connection, and one more for each 32 further lookups. */
export function createLookups(pool: Pool, options: LookupsOptions) {
  /** Oldest first. */
  const waiting = new Map<string, Question>();
  let tick = 0;
  let queued = 0;

  const takeIf = (is_meant: (question: Question, index: number) => boolean): Question[] => {
    const taken = [...waiting.entries()].filter(([, question], index) => is_meant(question, index));
    for (const [key] of taken) waiting.delete(key);
    return taken.map(([, question]) => question);
  };
  /** The first open connection takes the oldest questions: a slow connection delays no question of another. */
  const connect = (requested_in: number): void => {
    let taken = null as Question[] | null; // set in `work`, outside the compiler's flow analysis
    const work = async (client: PoolClient): Promise<void> => {
      taken = takeIf((_question, index) => index < AT_ONCE);
      if (taken.length > 0) await queryAll(client, taken, options);
    };
    withConnection(pool, work).catch((error: unknown) => {
      // On a broken connection each statement has failed already; without a connection none has.
      for (const { fail } of taken ?? takeIf((question) => question.tick <= requested_in)) fail(error);
    });
  };
  /** Runs after all calls of this tick. */
  const endTick = (): void => {
    for (let started = 0; started < queued; started += AT_ONCE) connect(tick);
    queued = 0;
    tick++;
  };
  return {
    /**
     * The rows as they are after the call. Equal calls before the sending share the rows, which are therefore frozen.
     * @throws PuenteError store_failed when there is no connection; the driver's error otherwise.
     */
    read(statement: Statement, values: readonly Value[]): Promise<Rows> {
      const key = `${statement.name} ${JSON.stringify(values)}`;
      const before = waiting.get(key);
      if (before !== undefined) return before.rows;
      const parameters = statement.parametersOf(values);
      const { promise: rows, resolve: answer, reject: fail } = Promise.withResolvers<Rows>();
      waiting.set(key, { statement, parameters, tick, rows, answer, fail });
      if (queued === 0) process.nextTick(endTick);
      queued++;
      return rows;
    },
  };
}

/** @throws the error that broke the connection. */
async function queryAll(
  client: PoolClient,
  questions: readonly Question[],
  { statement_timeout_ms, open }: LookupsOptions,
): Promise<void> {
  const results: Promise<unknown>[] = [];
  inOneWrite(client, () => {
    for (const { statement, parameters, answer, fail } of questions) {
      const { name, text } = statement;
      // Each statement waits for those before it, but the driver starts its clock now.
      const query_timeout = statement_timeout_ms * (results.length + 1) + ANSWER_GRACE_MS;
      const query: Limited = { name, text, values: [...parameters], query_timeout };
      const result = client.query<Row>(query);
      results.push(result);
      result.then(({ rows }) => answer(rows.map((row) => Object.freeze(open(row))))).catch(fail);
    }
  });
  const settled = await Promise.allSettled(results);
  for (const one of settled) {
    if (one.status === 'rejected' && [null, 'gone'].includes(failureOf(one.reason))) throw one.reason;
  }
}
