/** The order of a story: by time, and within one moment causes before what came of them. */

import type { Said, Spoken } from '../../error.ts';

/** What happened, in the order in which it did. */
export interface TraceStep {
  /** ISO 8601. */
  at: string;
  kind: 'till' | 'upstream' | 'shadow' | 'state' | 'event' | 'notice' | 'refund' | 'loss' | 'decision';
  /** One sentence. */
  what: string;
  /** By its codes, in the order of its parts. */
  said: Said[];
  /** An id to look further with: of an exchange, a notice, a refund, an event or an audit line. */
  id: string | null;
}

/**
 * Causes before effects: a call is taken in and translated, the row is written, the service is asked, it tells of a change,
 * the state moves, and the notice of it goes out.
 */
const RANKS = {
  call: 0,
  translated: 1,
  written: 2,
  asked: 3,
  told: 4,
  moved: 5,
  settled: 6,
  noticed: 7,
  delivered: 8,
  decided: 9,
} as const;

export interface Step extends Omit<TraceStep, 'at'> {
  /** Epoch ms. */
  at: number;
  rank: keyof typeof RANKS;
}

export function inOrder(steps: readonly Step[]): TraceStep[] {
  return steps
    .toSorted((first, second) => first.at - second.at || RANKS[first.rank] - RANKS[second.rank])
    .map(({ rank: _rank, at, ...step }) => ({ at: new Date(at).toISOString(), ...step }));
}

/** The words of a step. */
export function told(...sentences: readonly Spoken[]): Pick<Step, 'what' | 'said'> {
  return { what: sentences.map(({ text }) => text).join('; '), said: sentences.map(({ said }) => said) };
}

/** A duration as people read it, to a tenth of a millisecond. */
export function tenths(duration_ms: number): number {
  return Math.round(duration_ms * 10) / 10;
}
