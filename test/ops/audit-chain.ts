/** Verifies the audit chain of a whole store, line by line. */
import { type BrokenLink, brokenLink } from '../../src/ops/audit.ts';
import { type AuditLine, chainStart } from '../../src/proxy/audit.ts';

/** @param lines in any order. The oldest line is trusted unless it is line 1, so a part of a chain can be verified. */
export function verifyAudit(
  lines: readonly AuditLine[],
): { intact: true; lines: number } | ({ intact: false } & BrokenLink) {
  const ordered = lines.toSorted((first, second) => first.sequence - second.sequence);
  let [previous] = ordered[0]?.sequence === 1 ? [chainStart()] : ordered;
  for (const line of ordered) {
    const broken = previous === undefined || previous === line ? null : brokenLink(previous, line);
    if (broken !== null) return { intact: false, ...broken };
    previous = line;
  }
  return { intact: true, lines: ordered.length };
}
