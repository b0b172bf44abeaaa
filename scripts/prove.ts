/** `npm run prove`: the nightly column of `docs/protocol.md` §5.1 in parts, with progress, seeds, and one table. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { readPlan, showPlan, showSeed } from '../test/simulation/one.ts';
import { forgiveTheDead } from '../test/simulation/seeds.ts';
import type { Options, Part, Result } from './prove/part.ts';
import { programParts } from './prove/programs.ts';
import { faultRows } from './prove/rows.ts';
import { seededBugs } from './prove/seeded-bugs.ts';
import { simulation } from './prove/simulation.ts';
import { suiteParts } from './prove/suites.ts';
import { jsonOf, summaryOf } from './prove/summary.ts';

const parts: readonly Part[] = [simulation, seededBugs, ...suiteParts, faultRows, ...programParts];
const ALL_SEEDS = 1_000_000;

const HELP = `npm run prove -- [--only PART]… [--seeds N] [--from N] [--processes N] [--remember] [--json] | --seed N | --plan FILE
  --only       one part alone; may be said more than once:
${parts.map(({ name, about }) => `                 ${name.padEnd(11)}${about}`).join('\n')}
  --seeds      how many seeds are simulated; 1,000,000 by default
  --from       the first of them; 1 by default
  --processes  how many processes at once; one for each core by default
  --remember   keeps the smallest plan that shows each seeded bug, in test/simulation/bugs/plans/
  --json       the result as JSON on standard output; progress goes to standard error
  --seed       runs one seed and tells all of it; a failing one is made smaller and printed as a regression
  --plan       the same for a plan of test/simulation/regressions/
The capital names are environment variables, and stand for the night's counts.`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    seeds: { type: 'string', default: String(ALL_SEEDS) },
    from: { type: 'string', default: '1' },
    processes: { type: 'string', default: String(availableParallelism()) },
    remember: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    seed: { type: 'string' },
    plan: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const tell = (text: string): void => void (values.json ? process.stderr : process.stdout).write(`${text}\n`);

if (values.help) print(HELP);
else if (values.seed !== undefined || values.plan !== undefined) {
  forgiveTheDead();
  const kept =
    values.plan === undefined ? showSeed(Number(values.seed), print) : showPlan(readPlan(values.plan), print);
  process.exitCode = (await kept) ? 0 : 1;
} else await proveAll();

async function proveAll(): Promise<void> {
  const chosen = parts.filter(({ name }) => values.only?.includes(name) ?? true);
  const { seeds, from, processes } = values;
  const numbers = [seeds, from, processes].map(Number);
  const unknown = values.only?.some((name) => !parts.some((part) => part.name === name)) ?? false;
  if (unknown || numbers.some((one) => !Number.isSafeInteger(one) || one < 1)) {
    print(HELP);
    process.exitCode = 2;
    return;
  }
  const options = { seeds: Number(seeds), from: Number(from), processes: Number(processes), remember: values.remember };
  const results: Result[] = [];
  for (const part of chosen) results.push(await proveOne(part, options));
  print(values.json ? jsonOf(results) : summaryOf(results));
  if (results.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
}

/** A part that throws is reported as failed, and the others run on. */
async function proveOne(part: Part, options: Options): Promise<Result> {
  const started = performance.now();
  const ended = (): { part: string; took_ms: number } => ({
    part: part.name,
    took_ms: Math.round(performance.now() - started),
  });
  tell(`== ${part.name}: ${part.about}`);
  try {
    return { ...(await part.run(options, (line) => tell(`${part.name} · ${line}`))), ...ended() };
  } catch (error) {
    const failures = [`${part.name} broke off: ${error instanceof Error ? error.message : String(error)}`];
    return { lines: [], remarks: [], failures, ...ended() };
  }
}
