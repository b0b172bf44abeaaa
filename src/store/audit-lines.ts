/** Reads of the audit; the writer chains and writes each line in the unit that it belongs to. */

import { PuenteError } from '../error.ts';
import type { AuditLine } from '../proxy/audit.ts';
import { type Condition, filteredReads, type Reader, type StoreMethods, type Writer } from './engine.ts';
import { readsOf } from './rows.ts';

export function auditMethods(reader: Reader, writer: Writer) {
  const run = filteredReads(reader);
  const { list } = readsOf(reader);
  return {
    async appendAudit(audit) {
      const result = await writer.commit({ steps: [], audit });
      if (result.kind === 'done') return;
      throw new PuenteError('store_failed', `The audit line ${audit.action} was not written: try again.`);
    },
    audits: list('SELECT * FROM audit ORDER BY sequence DESC LIMIT ?', lineOf),
    auditsAfter: list('SELECT * FROM audit WHERE sequence > (SELECT ?) ORDER BY sequence LIMIT ?', lineOf),
    async auditsOf(filter, limit) {
      const conditions: Condition[] = [
        ['subject = ?', filter.subject],
        ['action = ?', filter.action],
        ['at >= ?', filter.since],
        ['at < ?', filter.until],
      ];
      const sql = (where: string) => `SELECT * FROM audit WHERE ${where} ORDER BY sequence DESC LIMIT ?`;
      return (await run<LineRow>(conditions, sql, limit)).map(lineOf);
    },
  } satisfies Partial<StoreMethods>;
}

interface LineRow extends Omit<AuditLine, 'detail'> {
  detail: string;
}

function lineOf(row: LineRow): AuditLine {
  return { ...row, detail: JSON.parse(row.detail) };
}
