/** Commits groups of units on one connection, in the writer thread or in a simulation without a second thread. */
import type Database from 'better-sqlite3';
import type { ChainMark } from '../../proxy/audit.ts';
import { type Cover, noCover } from '../../proxy/vault.ts';
import type { Step, Unit, UnitResult, Value } from '../engine.ts';
import { LAST_AUDIT, LAST_OF_SUBJECT, valuesOfAudits, type Write, type WriteName, writes } from '../writes.ts';
import { failureOf, textOf } from './failure.ts';
import type { Packed } from './group-commit.ts';
import { prepareCovered } from './reader.ts';

/** Commits a group; a refused unit is rolled back alone. Returns after the commit is on the disk. */
export function commitGroup(connection: Connection, units: Unit[]): UnitResult[] {
  const { database, begin, commit, rollback } = connection;
  try {
    begin.run();
    let results = runAll(connection, units, false);
    if (results === null) {
      rollback.run();
      begin.run();
      results = runAll(connection, units, true) ?? [];
    }
    commit.run();
    return results;
  } catch (error) {
    const failure = failureOf(error);
    const kind = failure === 'constraint' ? 'failed' : failure;
    if (database.inTransaction && kind !== 'fatal') rollback.run();
    return units.map(() => ({ kind, text: textOf(error) }));
  }
}

/**
 * Savepoints copy every page that a unit touches and cost a third of the work: only used once a unit was refused after
 * a part of it took effect. Null when that happens without them: then the group must be run again.
 */
function runAll(connection: Connection, units: Unit[], is_guarded: boolean): UnitResult[] | null {
  const { savepoint, undo, release } = connection;
  const results: UnitResult[] = [];
  for (const unit of units) {
    if (is_guarded) savepoint.run();
    const { result, half } = runUnit(connection, unit);
    if (half && !is_guarded) return null;
    if (half) undo.run();
    if (is_guarded) release.run();
    results.push(result);
  }
  return results;
}

/**
 * `half`: the unit was refused and left a change behind; a refused statement leaves none.
 * @throws the driver's error when it is not the unit's own fault: then the whole group has failed.
 */
function runUnit(connection: Connection, unit: Unit): { result: UnitResult; half: boolean } {
  let touched = false;
  try {
    for (const step of unit.steps) {
      const { changes } = connection.statements[step.write].run(...step.values);
      touched ||= changes > 0;
      if (step.changes !== undefined && step.changes !== changes)
        return { result: { kind: 'conflict' }, half: touched };
    }
    if (unit.audit !== undefined) {
      const lines = [unit.audit].flat();
      const { newest_seen } = unit;
      const [first] = newest_seen === undefined ? [] : lines;
      if (first !== undefined && (connection.lastOfSubject.get(first.subject)?.sequence ?? 0) > (newest_seen ?? 0))
        return { result: { kind: 'conflict' }, half: touched };
      // Read and written inside the unit: the chain can't fork, and a unit that is rolled back leaves no gap.
      const { lastAudit, statements } = connection;
      for (const values of valuesOfAudits(lastAudit.get(), lines)) statements.insert_audit.run(...values);
    }
    return { result: { kind: 'done' }, half: false };
  } catch (error) {
    const failure = failureOf(error);
    if (!connection.database.inTransaction || (failure !== 'constraint' && failure !== 'failed')) throw error;
    return { result: { kind: failure, text: textOf(error) }, half: touched };
  }
}

interface PreparedWrite {
  run(...values: Value[]): Database.RunResult;
}

function preparedWrite(database: Database.Database, { sql, needs }: Write, cover: Cover): PreparedWrite {
  const { statement, covered } = prepareCovered(database, sql, cover);
  const run: PreparedWrite['run'] = (...values) => statement.run(...covered(values));
  if (needs === undefined) return { run };
  const look = database.prepare(needs);
  return { run: (...values) => (look.get() === undefined ? NO_ROW : run(...values)) };
}

const NO_ROW: Database.RunResult = { changes: 0, lastInsertRowid: 0 };

export type Connection = ReturnType<typeof prepareCommits>;

/** Prepares every write on a connection whose settings are applied. */
export function prepareCommits(database: Database.Database, cover: Cover = noCover) {
  const prepared = Object.entries(writes).map(([name, write]) => [name, preparedWrite(database, write, cover)]);
  // The keys are exactly those of `writes`, which the type of Object.entries loses.
  const statements = Object.fromEntries(prepared) as Record<WriteName, PreparedWrite>;
  return {
    database,
    statements,
    lastOfSubject: database.prepare<[string], Pick<ChainMark, 'sequence'>>(LAST_OF_SUBJECT),
    lastAudit: database.prepare<[], ChainMark>(LAST_AUDIT),
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
    rollback: database.prepare('ROLLBACK'),
    savepoint: database.prepare('SAVEPOINT unit'),
    undo: database.prepare('ROLLBACK TO unit'),
    release: database.prepare('RELEASE unit'),
  };
}

/** The inverse of `pack`, without locks. */
export function unpack(packed: Packed): Unit[] {
  const units: Unit[] = [];
  for (let at = 0; at < packed.length; ) {
    const [count, audit, newest_seen, checkpoint] = packed.slice(at, at + 4) as [
      number,
      NonNullable<Unit['audit']> | null,
      number | null,
      boolean,
    ];
    at += 4;
    const steps: Step[] = [];
    for (let step = 0; step < count; step++) {
      const [write, changes, length] = packed.slice(at, at + 3) as [WriteName, number | null, number];
      at += 3;
      const values = packed.slice(at, at + length) as Value[];
      at += length;
      steps.push(changes === null ? { write, values } : { write, values, changes });
    }
    units.push({
      steps,
      ...(audit === null ? {} : { audit }),
      ...(newest_seen === null ? {} : { newest_seen }),
      ...(checkpoint ? { checkpoint } : {}),
    });
  }
  return units;
}
