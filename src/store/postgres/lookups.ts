/** Reads by a key that are asked for in one turn of the process: they go to the server together, and the same question goes once. */
import type { Pool, PoolClient } from 'pg';
import type { Value } from '../unit.ts';
import type { Statement } from './dialect.ts';
import { failureOf } from './failure.ts';
import { inOneWrite, withConnection } from './pool.ts';

export type Rows = readonly Readonly<Record<string, unknown>>[];

export interface Lookups {
  /**
   * The rows as they are after this was asked; who asks the same at the same time has the same ones, so that they are frozen.
   * @throws PuenteError store_failed when there is no connection; the driver's error otherwise.
   */
  ask(statement: Statement, values: readonly Value[]): Promise<Rows>;
}

/** What waits for its place on a connection. */
interface Question {
  statement: Statement;
  values: readonly Value[];
  rows: Promise<Rows>;
  answer(rows: Rows): void;
  fail(error: unknown): void;
}

/** As many calls as begin together (`core/side-by-side.ts`); the rest asks for a connection of its own. */
const AT_ONCE = 32;

/** @param open makes what is covered in a row readable, in place. */
export function createLookups(pool: Pool, open: <Row extends Record<string, unknown>>(row: Row) => Row): Lookups {
  const waiting = new Map<string, Question>();
  /** A connection has been asked for, and will take what waits then. */
  let is_coming = false;

  const take = (): Question[] => {
    const taken = [...waiting.entries()].slice(0, AT_ONCE);
    for (const [key] of taken) waiting.delete(key);
    is_coming = false;
    if (waiting.size > 0) begin();
    return taken.map(([, question]) => question);
  };
  const begin = (): void => {
    is_coming = true;
    // When all calls that go on in this turn have asked.
    process.nextTick(() => {
      let taken = null as Question[] | null; // set in the work, where the compiler doesn't look
      const work = (client: PoolClient): Promise<void> => {
        taken = take();
        return askAll(client, taken, open);
      };
      withConnection(pool, work).catch((error: unknown) => {
        // Those on a connection that broke have been told by their own statements; without one nobody has.
        for (const { fail } of taken ?? take()) fail(error);
      });
    });
  };
  return {
    ask(statement, values) {
      const key = `${statement.name} ${JSON.stringify(values)}`;
      const before = waiting.get(key);
      if (before !== undefined) return before.rows;
      const { promise: rows, resolve: answer, reject: fail } = Promise.withResolvers<Rows>();
      waiting.set(key, { statement, values, rows, answer, fail });
      if (!is_coming) begin();
      return rows;
    },
  };
}

/** @throws the error after which the connection is of no use any more. */
async function askAll(
  client: PoolClient,
  questions: readonly Question[],
  open: <Row extends Record<string, unknown>>(row: Row) => Row,
): Promise<void> {
  const told: Promise<unknown>[] = [];
  inOneWrite(client, () => {
    for (const { statement, values, answer, fail } of questions) {
      const { name, text, parametersOf } = statement;
      const asked = client.query<Record<string, unknown>>({ name, text, values: parametersOf(values) });
      told.push(asked);
      asked.then(({ rows }) => answer(rows.map((row) => Object.freeze(open(row))))).catch(fail);
    }
  });
  const settled = await Promise.allSettled(told);
  for (const one of settled) {
    if (one.status === 'rejected' && [null, 'gone'].includes(failureOf(one.reason))) throw one.reason;
  }
}
