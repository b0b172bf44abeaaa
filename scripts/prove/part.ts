/** One part of the proof, and its report. */

export type Say = (line: string) => void;

/** One line of the summary: a promise or invariant, and its violations. */
export interface Line {
  promise: string;
  what: string;
  /** The number of things checked, in words. */
  count: string;
  violations: number;
}

export interface Result {
  part: string;
  lines: Line[];
  /** One sentence per failure, with the command that repeats it. */
  failures: string[];
  /** Facts about the run worth printing; may be empty. */
  remarks: string[];
  took_ms: number;
  /** All failing seeds, where there are seeds. */
  failing_seeds?: number[];
}

export interface Options {
  from: number;
  seeds: number;
  processes: number;
  /** Save the smallest plan that shows each seeded bug. */
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
