/** What one part of the proof is, and what it reports at its end. */

export type Say = (line: string) => void;

/** One line of the summary: a promise or invariant, and how often it was broken. */
export interface Line {
  promise: string;
  /** What was checked, in words. */
  what: string;
  /** On how much. */
  count: string;
  violations: number;
}

export interface Result {
  part: string;
  lines: Line[];
  /** One sentence for each thing that went wrong, with the command that repeats it. */
  failures: string[];
  /** How much happened meanwhile; empty for nothing worth telling. */
  remarks: string[];
  took_ms: number;
  /** All seeds that broke something, where there are seeds. */
  failing_seeds?: number[];
}

export interface Options {
  from: number;
  seeds: number;
  processes: number;
  /** Keep the smallest plan that shows each seeded bug. */
  remember: boolean;
}

export interface Part {
  name: string;
  about: string;
  run(options: Options, say: Say): Promise<Omit<Result, 'part' | 'took_ms'>>;
}

const english = new Intl.NumberFormat('en');

export function grouped(count: number): string {
  return english.format(count);
}
