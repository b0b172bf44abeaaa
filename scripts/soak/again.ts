/** Judges the samples of a saved run again, after a change of the judge. */
import { readFileSync } from 'node:fs';
import { type Sample, type Trend, trendOf } from './flat.ts';
import { MEASURES } from './samples.ts';

/** @param file the history that a failed run keeps. @throws Error when it holds no samples. */
export function judgeAgain(file: string): Trend[] {
  const { samples = [] } = JSON.parse(readFileSync(file, 'utf8')) as { samples?: Sample[] }; // written by `run.ts`
  if (samples.length === 0) throw new Error(`${file} has no looks at a server`);
  // JSON has no NaN: null stands for it.
  const whole = samples.map((sample) => ({
    ...sample,
    values: Object.fromEntries(Object.entries(sample.values).map(([name, value]) => [name, value ?? Number.NaN])),
  }));
  return MEASURES.map((measure) => trendOf(measure, whole));
}
