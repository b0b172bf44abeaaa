/** Counts and days in the sentences of findings. */
import type { Traffic } from '../records/evidence.ts';
import { sideOf, sideText } from '../sentences/facts.ts';

/** `once`, `3 times`. */
export function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** `1 call`, `3 calls`. */
export function callsOf(count: number): string {
  return count === 1 ? '1 call' : `${count} calls`;
}

export function sumOf(rows: readonly Pick<Traffic, 'calls'>[]): number {
  return rows.reduce((sum, { calls }) => sum + calls, 0);
}

/** What a side said of a create, as a clause. */
export function saidOf(side: string): string {
  return sideText(sideOf(side));
}
