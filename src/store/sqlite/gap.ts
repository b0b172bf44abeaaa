/** Gaps: periods whose writes a restore or a lost log took, stored in the file (`test/faults/README.md` F40, F60). */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { encoded, say } from '../../locales/message.ts';
import type { AuditAction, ChainMark } from '../../proxy/audit.ts';
import { LIVE } from '../conditions.ts';
import { LAST_AUDIT, valuesOfAudit, writes } from '../writes.ts';
import { RUN } from './settings.ts';

/** The two byte orders of a write-ahead log (sqlite.org/fileformat2.html §4.1). */
const LOG_MAGIC: readonly number[] = [0x377f0682, 0x377f0683];

interface Gap {
  /** Epoch ms: writes from then on are missing. */
  from: number;
  until: number;
  action: Extract<AuditAction, 'restored' | 'log lost'>;
  reason: string;
  detail: Record<string, string>;
}

/**
 * Stores the gap for the doctor and for reconciliation, and a line in the audit chain. An open sale counts as possibly
 * answered to its till: the answer may be in the missing period, and then the sale must not be canceled as unclaimed
 * (`docs/protocol.md` §3.3 e, §3.8).
 */
export function writeGap(database: Database.Database, { from, until, action, reason, detail }: Gap): void {
  const remember = database.prepare(writes.remember.sql);
  const last = database.prepare<[], ChainMark>(LAST_AUDIT).get();
  const missing = { missing_from: new Date(from).toISOString(), missing_until: new Date(until).toISOString() };
  const line = { at: until, who: 'puente', action, subject: 'puente', reason, detail: { ...detail, ...missing } };
  database.transaction(() => {
    remember.run('restored_from', String(from));
    remember.run('restored_at', String(until));
    remember.run(RUN.name, RUN.closed);
    database.exec(`UPDATE links SET client_answer = 'maybe' WHERE client_answer <> 'maybe' AND ${LIVE}`);
    database.prepare(writes.insert_audit.sql).run(...valuesOfAudit(last, line));
  })();
}

/** Call it before the file is opened, because opening makes a new log. */
export function logState(path: string): 'absent' | 'sound' | 'unreadable' {
  const log = `${path}-wal`;
  const facts = statSync(log, { throwIfNoEntry: false });
  if (facts === undefined) return 'absent';
  if (facts.size === 0) return 'sound';
  const handle = openSync(log, 'r');
  try {
    const head = Buffer.alloc(4);
    readSync(handle, head);
    return LOG_MAGIC.includes(head.readUInt32BE()) ? 'sound' : 'unreadable';
  } finally {
    closeSync(handle);
  }
}

/** Opening has read the log: the end of this process writes it into the file and removes it, a refused start's too. */
export function noteLogRead(database: Database.Database, log: ReturnType<typeof logState>): void {
  if (log !== 'sound') return;
  const note = database.prepare('UPDATE meta SET value = ? WHERE name = ? AND value = ?');
  note.run(RUN.closed, RUN.name, RUN.open);
}

/**
 * A killed process leaves a log with commits that are not in the file yet. When that log is lost, sales may be lost:
 * the file is served, because it is consistent, and the loss is stored.
 * @param log as `logState` returned before the file was opened.
 * @param now epoch ms.
 */
export function recordLostLog(database: Database.Database, log: ReturnType<typeof logState>, now: number): void {
  const run = database.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck();
  if (run.get(RUN.name) !== RUN.open) return;
  const newest = database.prepare<[], number | null>('SELECT max(updated_at) FROM links').pluck().get();
  const from = Math.min(newest ?? Number(run.get('opened_at') ?? now), now);
  const reason = encoded(say(log === 'absent' ? 'log_lost.absent' : 'log_lost.broken', {}));
  writeGap(database, { from, until: now, action: 'log lost', reason, detail: { log } });
}
