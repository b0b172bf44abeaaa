/** Readiness over time, from what the audit chain keeps: the verdict that each decision on a stage rested on. */

import type { VerdictCounts } from '../../chart/figures.ts';
import { type Verdict, verdicts } from '../evidence/verdict.ts';
import type { DecisionLine, Report } from './report.ts';

/**
 * A line for each day on which a stage was decided, with the last verdict of each merchant on that day, and one for `today`
 * with all merchants. Other days have none: nobody keeps a verdict that nothing rested on.
 */
export function verdictDays(
  decisions: Report['decisions'],
  today: { day: string; counts: Record<Verdict, number> },
): VerdictCounts[] {
  const days = new Map<string, Map<string, Verdict>>();
  for (const decision of decisions.toSorted((a, b) => a.sequence - b.sequence)) {
    const verdict = verdictOf(decision);
    if (verdict === null) continue;
    const day = decision.at.slice(0, 10);
    days.set(day, (days.get(day) ?? new Map<string, Verdict>()).set(decision.subject, verdict));
  }
  const decided = [...days]
    .filter(([day]) => day !== today.day)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, found]) => ({ day, ...countsOf([...found.values()]) }));
  const is_judged = Object.values(today.counts).some((count) => count > 0);
  return is_judged ? [...decided, { day: today.day, ...today.counts }] : decided;
}

/** Null for lines that are no decision on a stage. */
function verdictOf({ evidence: { evidence } }: DecisionLine): Verdict | null {
  if (typeof evidence !== 'object' || evidence === null || !('verdict' in evidence)) return null;
  return verdicts.find((verdict) => verdict === evidence.verdict) ?? null;
}

function countsOf(found: readonly Verdict[]): Record<Verdict, number> {
  const of = (verdict: Verdict): number => found.filter((one) => one === verdict).length;
  return { ready: of('ready'), blocked: of('blocked'), inconclusive: of('inconclusive') };
}
