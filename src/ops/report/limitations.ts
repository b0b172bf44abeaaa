/** Which numbered limitations tills met in the period: those that are counted, by hits, and those that nobody can count. */
import type { Limitation } from '../../mapping/tables.ts';
import type { NoticeTotals } from './notices.ts';
import type { LimitationLine } from './report.ts';
import type { Tally } from './tally.ts';

/** What hits of notices are counted by. */
interface NoticesSent {
  /** Made in the period, and delivered. */
  totals: NoticeTotals;
  /** `notices.user_agent` as it is set now. */
  notice_agent: string;
}

/** Those with hits, the most frequent first; then those that can't be counted and whose operations were called on orders. */
export function limitationLines(limitations: readonly Limitation[], tally: Tally, sent: NoticesSent): LimitationLine[] {
  const lines = limitations.map((one): LimitationLine => {
    const { id, title, effect, workaround, operations, counted } = one;
    const unseen = 'unseen' in counted ? counted.unseen : null;
    const hits = unseen === null ? hitsOf(one, tally, sent) : null;
    return { id, title, effect, workaround, hits, calls: callsOf(tally, operations), unseen };
  });
  return [
    ...lines.filter(({ hits }) => hits !== null && hits > 0).toSorted((a, b) => (b.hits ?? 0) - (a.hits ?? 0)),
    ...lines.filter(({ hits, calls }) => hits === null && calls > 0).toSorted((a, b) => b.calls - a.calls),
  ];
}

function hitsOf({ id, counted }: Limitation, tally: Tally, { totals, notice_agent }: NoticesSent): number {
  if (!('notices' in counted)) return tally.limitations.get(id) ?? 0;
  return counted.agent === undefined || counted.agent === notice_agent ? totals[counted.notices] : 0;
}

function callsOf(tally: Tally, operations: readonly string[]): number {
  return operations.reduce((calls, name) => calls + (tally.traffic.get(`${name} orders`)?.calls ?? 0), 0);
}
