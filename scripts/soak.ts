/** `npm run soak`: a mixed load with faults for a given time; at its end invariants hold and memory has not grown. */
import { parseArgs } from 'node:util';
import { judgeAgain } from './soak/again.ts';
import { isBroken } from './soak/flat.ts';
import { soak } from './soak/run.ts';
import { printResult, trendTable } from './soak/table.ts';

const USAGE = `Usage: npm run soak -- --minutes N [--rate R] [--seed S] [--json]
  --minutes  how long the load runs; the quiet end comes on top. Memory has a slope when caches are full: an hour at 10
  --rate     sales a second of all tills together (default 10)
  --seed     of the load and its faults; printed, and repeats them (default: drawn)
  --json     print the result as JSON; progress goes to standard error
  --judge    a history.json that a run has left: judges its memory, counts and event loop again, and runs nothing
Exit code 0 when everything held, else 1.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    rate: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    json: { type: 'boolean', default: false },
    judge: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.judge !== undefined) {
  const trends = judgeAgain(values.judge);
  process.stdout.write(`${trendTable(trends)}\n`);
  process.exit(trends.some((trend) => isBroken(trend, 0)) ? 1 : 0);
}
const [minutes, rate, seed] = [Number(values.minutes), Number(values.rate), Number(values.seed)];
const isWrong = !(minutes > 0) || !(rate > 0) || !Number.isSafeInteger(seed);
if (values.help || isWrong) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(values.help ? 0 : 2);
}

const progress = values.json ? process.stderr : process.stdout;
progress.write(`seed ${seed}\n`);
// After a signal no process stays behind: the child processes end with this one.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const result = await soak({ minutes, rate, seed, onProgress: (line) => void progress.write(`${line}\n`) });
process.stdout.write(values.json ? `${JSON.stringify(result, null, 2)}\n` : `${printResult(result)}\n`);
process.exit(result.passed ? 0 : 1);
