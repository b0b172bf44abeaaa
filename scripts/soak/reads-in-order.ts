/** I7: a till's reads of one sale never go back in time, for any overlap of calls. */
import type { Finding } from './cross-books.ts';
import type { ReadFacts } from './history.ts';

/** Progress of each state; two different terminal states exclude each other. */
const STEP: Readonly<Record<string, number>> = {
  OPEN: 1,
  ON_TERMINAL: 2,
  PROCESSING: 2,
  CONFIRMATION_REQUIRED: 3,
  CANCELED: 4,
  ERROR: 4,
  ABANDONED: 4,
  FINISHED: 5,
  payment_required: 1,
  payment_in_process: 2,
  partially_paid: 2,
  expired: 4,
  paid: 5,
  partially_reverted: 6,
  reverted: 7,
};
const FIRST_END = 4;

/** Compares each read only with those that had ended before it began. */
export function readsInOrder(reads: readonly ReadFacts[]): Finding {
  const violations: string[] = [];
  for (const [subject, ofOne] of Map.groupBy(reads, (read) => read.subject)) {
    for (const [index, read] of ofOne.entries()) {
      const earlier = ofOne.filter((other, place) => place !== index && other.ended <= read.began);
      const behind = earlier.find((other) => isBehind(read.state, other.state));
      if (behind !== undefined) violations.push(`${subject} was ${behind.state} and then ${read.state}`);
    }
  }
  return { looked_at: reads.length, violations };
}

function isBehind(later: string, earlier: string): boolean {
  const [now, before] = [STEP[later] ?? 0, STEP[earlier] ?? 0];
  return now < before || (now === before && now >= FIRST_END && later !== earlier);
}
