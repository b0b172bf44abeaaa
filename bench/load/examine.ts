/** Looks whether answers are the right ones, and counts them. */
import type { BenchCase } from '../cases/cases.ts';
import type { WireAnswer } from './connection.ts';
import type { LoadPlan, LoadResult } from './plan.ts';

export interface Examiner {
  /** What request `n` names. */
  targetOf(n: number): string;
  /** Counts the answer to request `n`. */
  take(answer: WireAnswer, n: number): void;
  fault(text: string): void;
  told(): Pick<LoadResult, 'succeeded' | 'faults'>;
}

/** Every so many answers one is read whole; reading all of them would make the load generator the bottleneck. */
const READ_EVERY = 64;
const MAX_FAULTS = 5;

export function examiner(bench: BenchCase, { targets, translated, first }: LoadPlan): Examiner {
  const faults: string[] = [];
  let succeeded = 0;
  const targetOf = (n: number): string => targets[n % targets.length] ?? '';
  const fault = (text: string): void => void (faults.length < MAX_FAULTS && faults.push(text));
  return {
    targetOf,
    fault,
    take(answer, n) {
      const { status, body, length } = answer;
      if (status >= 200 && status < 300) succeeded++;
      else return fault(`request ${n} was answered ${status}: ${body?.toString('utf8').slice(0, 200)}`);
      if ((n - first) % READ_EVERY !== 0) return;
      const text = body?.toString('utf8') ?? '';
      const said = body === null ? length : JSON.parse(text);
      if (!bench.holds(said, { n, target: targetOf(n), translated }))
        fault(`request ${n} was answered with something else: ${text.slice(0, 300)}`);
    },
    told: () => ({ succeeded, faults }),
  };
}
