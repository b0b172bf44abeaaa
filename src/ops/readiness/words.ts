/** Counts, and what a side said, in the sentences of findings. */

import { sideOf, sideText } from '../../locales/sentences/facts.ts';
import type { Traffic } from '../../proxy/records/evidence.ts';

export function sumOf(rows: readonly Pick<Traffic, 'calls'>[]): number {
  return rows.reduce((sum, { calls }) => sum + calls, 0);
}

/** What a side said of a create, as a clause. */
export function saidOf(side: string): string {
  return sideText(sideOf(side));
}
