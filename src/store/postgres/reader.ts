/** Reads: each one prepared statement and one round trip. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type Cover, noCover } from '../../core/cover.ts';
import { PuenteError } from '../../error.ts';
import { coverOpener } from '../covered.ts';
import type { Read, Reader } from '../engine.ts';
import { storeFailed } from '../failure.ts';
import type { Value } from '../unit.ts';
import { type Statement, statementOf } from './dialect.ts';
import { failureOf, textOf } from './failure.ts';
import { withConnection } from './pool.ts';

/** After a fail-over all idle connections are broken at once, and a read does no harm twice. */
export const SECOND_TRY_AFTER_MS = 50;

/** A read over the network. */
export interface AwaitedRead<Values extends Value[], Row> extends Read<Values, Row> {
  get(...values: Values): Promise<Row | undefined>;
  all(...values: Values): Promise<Row[]>;
}

export interface PostgresReader extends Reader {
  prepare<Values extends Value[], Row>(sql: string): AwaitedRead<Values, Row>;
}

/** @param pool open. Covered texts come out as they were written. */
export function readerOn(pool: Pool, cover: Cover = noCover): PostgresReader {
  const open = coverOpener(cover);
  return {
    prepare<Values extends Value[], Row>(sql: string): AwaitedRead<Values, Row> {
      const statement = statementOf(sql, cover);
      const all = async (...values: Values): Promise<Row[]> =>
        (await rowsOf(pool, statement, values)).map(open) as Row[]; // the caller names what its own SELECT lists
      return { all, get: async (...values) => (await all(...values))[0] };
    },
  };
}

type Rows = Record<string, unknown>[];

async function rowsOf(pool: Pool, statement: Statement, values: readonly Value[]): Promise<Rows> {
  try {
    return await ask(pool, statement, values);
  } catch (error) {
    if (failureOf(error) !== 'gone') throw failedBecause(error);
  }
  await pause(SECOND_TRY_AFTER_MS);
  return ask(pool, statement, values).catch((error: unknown) => {
    throw failedBecause(error);
  });
}

async function ask(pool: Pool, { name, text, parametersOf }: Statement, values: readonly Value[]): Promise<Rows> {
  const result = await withConnection(pool, (client) => client.query({ name, text, values: parametersOf(values) }));
  return result.rows;
}

function failedBecause(error: unknown): unknown {
  if (error instanceof PuenteError) return error;
  const failure = failureOf(error);
  if (failure === null) return error;
  return storeFailed(failure === 'conflict' || failure === 'again' ? 'failed' : failure, textOf(error), error);
}
