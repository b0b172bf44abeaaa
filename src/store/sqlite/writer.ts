/** The writer thread: owns the one writing connection and commits whole groups of units with one fsync. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { AUDIT_GENESIS, chainHash } from '../../core/audit.ts';
import type { AuditEntry } from '../../core/store.ts';
import { failureOf, textOf, unusableBecause } from './failure.ts';
import { applySettings, assertSettings, BUSY_TIMEOUT_MS } from './settings.ts';
import type { FromWriter, ToWriter, Unit, UnitResult, Value, WriterSetup } from './unit.ts';
import { type WriteName, writes } from './writes.ts';

/** Long enough to stay out of the way of payments, short enough that the log never rests large or with erased bytes in it. */
const IDLE_BEFORE_CHECKPOINT_MS = 1_000;

/** Commits a group; a unit that is refused is undone alone. Nothing is answered before the commit is on the disk. */
function commitGroup(connection: Connection, units: Unit[]): UnitResult[] {
  const { database, begin, commit, rollback } = connection;
  try {
    begin.run();
    let results = runPlainly(connection, units);
    if (results === null) {
      rollback.run();
      begin.run();
      results = runGuarded(connection, units);
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
 * Runs units without savepoints, which would copy every page a unit touches and cost a third of the work. Null when a unit
 * was refused after a part of it took effect: then the group must be run again, guarded.
 */
function runPlainly(connection: Connection, units: Unit[]): UnitResult[] | null {
  const results: UnitResult[] = [];
  for (const unit of units) {
    const { result, half } = runUnit(connection, unit);
    if (half) return null;
    results.push(result);
  }
  return results;
}

function runGuarded(connection: Connection, units: Unit[]): UnitResult[] {
  return units.map((unit) => {
    connection.savepoint.run();
    const { result, half } = runUnit(connection, unit);
    if (half) connection.undo.run();
    connection.release.run();
    return result;
  });
}

/**
 * Runs one unit; `half` when it was refused and left something behind. A statement that is refused leaves nothing itself.
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
    if (unit.audit !== undefined) appendAudit(connection, unit.audit);
    return { result: { kind: 'done' }, half: false };
  } catch (error) {
    const failure = failureOf(error);
    if (!connection.database.inTransaction || (failure !== 'constraint' && failure !== 'failed')) throw error;
    return { result: { kind: failure, text: textOf(error) }, half: touched };
  }
}

/** The chain is read and written inside the unit, so it can't fork, and a unit that is undone leaves no gap. */
function appendAudit(connection: Connection, entry: AuditEntry): void {
  const last = connection.lastAudit.get();
  const detail = JSON.stringify(entry.detail);
  // Hashed as it will be read back: what JSON can't hold must not be in the hash either.
  const line = { ...entry, detail: JSON.parse(detail), sequence: (last?.sequence ?? 0) + 1 };
  const hash = chainHash(last?.hash ?? AUDIT_GENESIS, line);
  connection.statements.insert_audit.run(
    line.sequence,
    line.at,
    line.who,
    line.action,
    line.subject,
    line.reason,
    detail,
    hash,
  );
}

type Connection = ReturnType<typeof openConnection>;

/** @throws PuenteError store_unusable when a setting does not hold before or after the first write. */
function openConnection(setup: WriterSetup) {
  const database = new Database(setup.path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  applySettings(database, setup.path);
  if (setup.max_pages > 0) database.pragma(`max_page_count = ${setup.max_pages}`);
  const prepared = Object.entries(writes).map(([name, sql]) => [name, database.prepare<Value[]>(sql)]);
  // The keys are exactly those of `writes`, which the type of Object.entries can't say.
  const statements = Object.fromEntries(prepared) as Record<WriteName, Database.Statement<Value[]>>;
  statements.remember.run('opened_at', String(setup.opened_at));
  assertSettings(database, setup.path);
  return {
    database,
    statements,
    lastAudit: database.prepare<[], { sequence: number; hash: string }>(
      'SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1',
    ),
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
    rollback: database.prepare('ROLLBACK'),
    savepoint: database.prepare('SAVEPOINT unit'),
    undo: database.prepare('ROLLBACK TO unit'),
    release: database.prepare('RELEASE unit'),
  };
}

function serve(connection: Connection, port: MessagePort, post: (message: FromWriter) => void): void {
  let idle: NodeJS.Timeout | undefined;
  const checkpoint = () => {
    try {
      connection.database.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      if (failureOf(error) === 'fatal') post({ kind: 'fatal', text: textOf(error) });
    }
  };
  port.on('message', (message: ToWriter) => {
    clearTimeout(idle);
    if (message.kind === 'close') {
      checkpoint();
      connection.database.close();
      post({ kind: 'closed' });
      port.close();
      return;
    }
    post({ kind: 'results', results: commitGroup(connection, message.units) });
    idle = setTimeout(checkpoint, IDLE_BEFORE_CHECKPOINT_MS);
  });
  post({ kind: 'ready' });
}

function start(port: MessagePort, setup: WriterSetup): void {
  const post = (message: FromWriter) => port.postMessage(message);
  try {
    serve(openConnection(setup), port, post);
  } catch (error) {
    post({ kind: 'refused', message: unusableBecause(setup.path, error).message });
    port.close();
  }
}

if (parentPort !== null) start(parentPort, workerData);
