/** Commits units: all statements of a unit are sent in one write, and answered at once, so that it takes one round trip. */
import type { Pool, PoolClient, QueryResult } from 'pg';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { AuditEntry } from '../../proxy/audit.ts';
import { createDrain, createEntries } from '../../proxy/concurrency.ts';
import { type Cover, noCover } from '../../proxy/vault.ts';
import {
  type CommitResult,
  type Locks,
  type Step,
  storeFailed,
  type Unit,
  type Value,
  type Writer,
} from '../engine.ts';
import { LAST_AUDIT, LAST_OF_SUBJECT, valuesOfAudits, type WriteName } from '../writes.ts';
import { type Statement, statementOf } from './dialect.ts';
import { failureOf, inOneTransaction, inOneWrite, type Prepared, textOf, withConnection } from './pool.ts';
import { postgresWrites } from './writes.ts';

/** A deadlock rolls one of two transactions back; more in a row are a defect, not traffic. */
const ATTEMPTS = 4;
/** The last lock that a unit takes, so that it is held the shortest. */
const AUDIT_LOCK = 'audit';

const lockAlone = 'pg_advisory_xact_lock(hashtextextended(?, 0))';
const lockShared = 'pg_advisory_xact_lock_shared(hashtextextended(?, 0))';
/** A sale takes four at most; each combination is a prepared statement in every connection. */
const LOCKS_AT_ONCE = 4;

interface PostgresWriter extends Writer {
  /** Waits for running units, and refuses later ones. */
  close(): Promise<void>;
}

/** @param note called after each unit with whether the database did its work. */
export function openWriter(pool: Pool, note: (is_well: boolean) => void, cover: Cover = noCover): PostgresWriter {
  const turns = createTurns();
  const statements = statementsWith(cover);
  const underWay = createDrain();
  let is_closed = false;
  return {
    commit(unit) {
      if (is_closed) {
        return Promise.reject(new PuenteError('store_failed', say('store.closed', {})));
      }
      const committing = turns.take(unit.locks ?? {}, () => commitUnit(pool, statements, unit));
      const ticket = underWay.begin();
      committing
        .then(
          () => note(true),
          // A defect of this program says nothing about the database.
          (error: unknown) => error instanceof PuenteError && note(false),
        )
        .finally(() => underWay.done(ticket));
      return committing;
    },
    async close() {
      is_closed = true;
      await underWay.settled();
    },
  };
}

async function commitUnit(pool: Pool, statements: Statements, unit: Unit): Promise<CommitResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await withConnection(pool, (client) => send(client, statements, unit));
    } catch (error) {
      if (error instanceof PuenteError) throw error;
      const failure = failureOf(error);
      if (failure === null) throw error;
      if (failure === 'conflict') return { kind: 'conflict' };
      if (failure === 'constraint') return { kind: 'constraint', text: textOf(error) };
      if (failure === 'again' && attempt < ATTEMPTS) continue;
      // A commit without an answer may have happened: then the row exists, and recovery finds it.
      throw storeFailed(failure === 'again' ? 'failed' : failure, textOf(error), error);
    }
  }
}

/** @throws the driver's error; then the unit is rolled back, or its outcome is unknown. */
async function send(client: PoolClient, statements: Statements, unit: Unit): Promise<CommitResult> {
  const [step, ...others] = unit.steps;
  const is_alone = others.length === 0 && unit.locks === undefined && unit.audit === undefined;
  if (is_alone && step !== undefined && (step.changes ?? 1) === 1) {
    const { rowCount } = await query(client, statements.plain(step.write), step.values);
    return step.changes !== undefined && rowCount !== step.changes ? { kind: 'conflict' } : { kind: 'done' };
  }
  const { steps, audit, newest_seen } = unit;
  const locks = locksOf(unit).map(({ sql, names }) => prepared(statements.of(sql), names));
  const changes = steps.map((one) => guarded(statements, one));
  const lines = audit === undefined ? [] : [audit].flat();
  const [first] = lines;
  if (first === undefined) {
    await inOneTransaction(client, [...locks, ...changes]);
    return { kind: 'done' };
  }
  const sent: Promise<QueryResult>[] = [];
  inOneWrite(client, () => {
    sent.push(client.query('BEGIN ISOLATION LEVEL READ COMMITTED'));
    for (const one of [...locks, ...changes]) sent.push(client.query(one));
    sent.push(query(client, statements.of(`SELECT ${lockAlone}`), [AUDIT_LOCK]));
    if (newest_seen !== undefined) sent.push(query(client, statements.of(LAST_OF_SUBJECT), [first.subject]));
    sent.push(query(client, statements.of(LAST_AUDIT), []));
  });
  return commitAudited(client, statements, sent, lines, newest_seen);
}

/** Reads the last line to chain to it: a second round trip, only for operators' changes, creates in doubt and faults. */
async function commitAudited(
  client: PoolClient,
  statements: Statements,
  sent: Promise<QueryResult>[],
  lines: readonly AuditEntry[],
  newest_seen: number | undefined,
): Promise<CommitResult> {
  try {
    const results = await allOf(sent);
    const of_subject: { sequence: number } | undefined = results.at(-2)?.rows[0]; // if it was requested
    if (newest_seen !== undefined && (of_subject?.sequence ?? 0) > newest_seen) {
      await client.query('ROLLBACK');
      return { kind: 'conflict' };
    }
    const last: { sequence: number; hash: string } | undefined = results.at(-1)?.rows[0];
    const inserts = valuesOfAudits(last, lines).map((one) => query(client, statements.plain('insert_audit'), one));
    await allOf([...inserts, client.query('COMMIT')]);
    return { kind: 'done' };
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** In one order for all units, so that no two deadlock; a statement takes its locks from left to right. */
function locksOf({ locks: { alone = [], shared = [] } = {} }: Unit): { sql: string; names: string[] }[] {
  const names = [...alone, ...shared].sort();
  return Array.from({ length: Math.ceil(names.length / LOCKS_AT_ONCE) }, (_, group) => {
    const some = names.slice(group * LOCKS_AT_ONCE, (group + 1) * LOCKS_AT_ONCE);
    const taken = some.map((name) => (alone.includes(name) ? lockAlone : lockShared));
    return { sql: `SELECT ${taken.join(', ')}`, names: some };
  });
}

function guarded(statements: Statements, { write, values, changes }: Step): Prepared {
  if (changes === undefined) return prepared(statements.plain(write), values);
  return prepared(statements.guarded(write), [...values, changes]);
}

function query(client: PoolClient, statement: Statement, values: readonly Value[]): Promise<QueryResult> {
  return client.query(prepared(statement, values));
}

function prepared({ name, text, parametersOf }: Statement, values: readonly Value[]): Prepared {
  return { name, text, values: parametersOf(values) };
}

/** The first error is the cause; later ones only report that the transaction had ended. */
async function allOf(sent: Promise<QueryResult>[]): Promise<QueryResult[]> {
  const settled = await Promise.allSettled(sent);
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

type Statements = ReturnType<typeof statementsWith>;

function statementsWith(cover: Cover) {
  const known = new Map<string, Statement>();
  const once = (sql: string): Statement => {
    const statement = known.get(sql) ?? statementOf(sql, cover);
    known.set(sql, statement);
    return statement;
  };
  return {
    of: once,
    plain: (write: WriteName) => once(postgresWrites[write]),
    /** The last value is the number of rows that it must change; any other number ends the transaction. */
    guarded: (write: WriteName) =>
      once(`WITH step AS (${postgresWrites[write]} RETURNING 1) SELECT must_be((SELECT count(*) FROM step), ?)`),
  };
}

// Work of this process that must not overlap waits here, first come first served, without a connection each.

/** Holders and waiters of a name: the last exclusive one, and the shared ones after it. */
interface Line {
  alone: Promise<unknown> | null;
  /** An array, because a Set keeps deleted entries alive (`proxy/concurrency.ts`). */
  sharing: Promise<unknown>[];
}

function createTurns() {
  const lines = createEntries<Line>();
  const lineOf = (name: string): Line => {
    const line = lines.get(name) ?? { alone: null, sharing: [] };
    lines.set(name, line);
    return line;
  };
  return {
    /** Runs `work` after all earlier work whose locks exclude it. */
    take<Result>(locks: Locks, work: () => Promise<Result>): Promise<Result> {
      const alone = (locks.alone ?? []).map(lineOf);
      const shared = (locks.shared ?? []).map(lineOf);
      const before = [...alone, ...shared].map((line) => line.alone);
      for (const line of alone) before.push(...line.sharing);
      const mine = Promise.allSettled(before).then(work);
      for (const line of alone) Object.assign(line, { alone: mine, sharing: [] });
      for (const line of shared) line.sharing.push(mine);
      const leave = (): void => {
        for (const name of [...(locks.alone ?? []), ...(locks.shared ?? [])]) {
          const line = lineOf(name);
          const index = line.sharing.indexOf(mine);
          if (index !== -1) line.sharing.splice(index, 1);
          if (line.alone === mine) line.alone = null;
          if (line.alone === null && line.sharing.length === 0) lines.delete(name);
        }
      };
      mine.then(leave, leave);
      return mine;
    },
  };
}
