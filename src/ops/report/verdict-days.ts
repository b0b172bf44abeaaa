/** Readiness of days of which no verdict was kept, from the audit chain: what each decision on a stage rested on. */

import { type Verdict, verdicts } from '../../proxy/records/evidence.ts';
import type { VerdictCounts } from '../charts/figures.ts';
import type { DecisionLine, Report } from './report.ts';

/** A line for each day on which a stage was decided, with the last verdict of each merchant on that day. */
export function verdictDays(decisions: Report['decisions']): VerdictCounts[] {
  const days = new Map<string, Map<string, Verdict>>();
  for (const decision of decisions.toSorted((a, b) => a.sequence - b.sequence)) {
    const verdict = verdictOf(decision);
    if (verdict === null) continue;
    const day = decision.at.slice(0, 10);
    days.set(day, (days.get(day) ?? new Map<string, Verdict>()).set(decision.subject, verdict));
  }
  return [...days].map(([day, found]) => ({ day, ...countsOf([...found.values()]) }));
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
