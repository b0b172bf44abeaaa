/** Readiness over time, from what the audit chain keeps: the verdict that each decision on a stage rested on. */
import { type Verdict, verdicts } from '../evidence/verdict.ts';
import type { DecisionLine, Report } from './report.ts';

/** Merchants by their verdict. */
export interface VerdictDay {
  /** UTC day, ISO 8601; `this report` when it was made. */
  day: string;
  counts: Record<Verdict, number>;
}

/**
 * A line for each day on which a stage was decided, with the last verdict of each merchant on that day, and one for the
 * day on which the report was made, with all its merchants. Other days have none: nobody keeps a verdict that nothing rested on.
 */
export function verdictDays({ decisions, verdicts: now }: Pick<Report, 'decisions' | 'verdicts'>): VerdictDay[] {
  const days = new Map<string, Map<string, Verdict>>();
  for (const decision of decisions.toSorted((a, b) => a.sequence - b.sequence)) {
    const verdict = verdictOf(decision);
    if (verdict === null) continue;
    const day = decision.at.slice(0, 10);
    days.set(day, (days.get(day) ?? new Map<string, Verdict>()).set(decision.subject, verdict));
  }
  const decided = [...days]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, found]) => ({ day, counts: countsOf([...found.values()]) }));
  const is_judged = Object.values(now).some((count) => count > 0);
  return is_judged ? [...decided, { day: 'this report', counts: now }] : decided;
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
