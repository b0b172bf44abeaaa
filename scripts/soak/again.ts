/** Judges the looks of a kept run again: for who changes the judge, or doubts it. */
import { readFileSync } from 'node:fs';
import { type Sample, type Trend, trendOf } from './flat.ts';
import { MEASURES } from './samples.ts';

/** @param file the history that a run leaves when something did not hold. @throws Error when it holds no looks. */
export function judgeAgain(file: string): Trend[] {
  const { samples = [] } = JSON.parse(readFileSync(file, 'utf8')) as { samples?: Sample[] }; // what `run.ts` writes
  if (samples.length === 0) throw new Error(`${file} has no looks at a server`);
  // JSON has no NaN.
  const whole = samples.map((sample) => ({
    ...sample,
    values: Object.fromEntries(Object.entries(sample.values).map(([name, value]) => [name, value ?? Number.NaN])),
  }));
  return MEASURES.map((measure) => trendOf(measure, whole));
}
