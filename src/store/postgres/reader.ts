/** Reads: each one prepared statement; a search takes a round trip of its own, lookups go together (`lookups.ts`). */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PuenteError } from '../../error.ts';
import { type Cover, noCover } from '../../proxy/cover.ts';
import { coverOpener } from '../covered.ts';
import type { Read, Reader, ReadKind } from '../engine.ts';
import { storeFailed } from '../failure.ts';
import type { Value } from '../unit.ts';
import { type Statement, statementOf } from './dialect.ts';
import { failureOf, isUnprepared, textOf } from './failure.ts';
import { createLookups, type Rows } from './lookups.ts';
import { type PoolSettings, withConnection } from './pool.ts';

/** After a fail-over all idle connections are broken at once, and a read does no harm twice. */
export const SECOND_TRY_AFTER_MS = 50;

/** A read over the network. */
export interface AwaitedRead<Values extends Value[], Row> extends Read<Values, Row> {
  get(...values: Values): Promise<Row | undefined>;
  all(...values: Values): Promise<Row[]>;
}

export interface PostgresReader extends Reader {
  prepare<Values extends Value[], Row>(sql: string, kind?: ReadKind): AwaitedRead<Values, Row>;
}

/**
 * @param pool open. Covered texts come out as they were written.
 * @param limits of the pool.
 */
export function readerOn(
  pool: Pool,
  { statement_timeout_ms }: Pick<PoolSettings, 'statement_timeout_ms'>,
  cover: Cover = noCover,
): PostgresReader {
  const open = coverOpener(cover);
  const lookups = createLookups(pool, { statement_timeout_ms, open });
  const search = async ({ name, text, parametersOf }: Statement, values: readonly Value[]): Promise<Rows> => {
    const asked = await withConnection(pool, (client) => client.query({ name, text, values: parametersOf(values) }));
    return asked.rows.map(open);
  };
  return {
    prepare<Values extends Value[], Row>(sql: string, kind: ReadKind = 'search'): AwaitedRead<Values, Row> {
      const statement = statementOf(sql, cover);
      const ask = kind === 'lookup' ? lookups.ask : search;
      // The caller names what its own SELECT lists.
      const all = async (...values: Values): Promise<Row[]> => (await rowsOf(() => ask(statement, values))) as Row[];
      return { all, get: async (...values) => (await all(...values))[0] };
    },
  };
}

async function rowsOf(ask: () => Promise<Rows>): Promise<Rows> {
  try {
    return await ask();
  } catch (error) {
    if (failureOf(error) !== 'gone' && !isUnprepared(error)) throw failedBecause(error);
  }
  await pause(SECOND_TRY_AFTER_MS);
  return ask().catch((error: unknown) => {
    throw failedBecause(error);
  });
}

function failedBecause(error: unknown): unknown {
  if (error instanceof PuenteError) return error;
  // Twice, because the one before it was broken off twice.
  const failure = isUnprepared(error) ? 'gone' : failureOf(error);
  if (failure === null) return error;
  return storeFailed(failure === 'conflict' || failure === 'again' ? 'failed' : failure, textOf(error), error);
}
