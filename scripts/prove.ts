/** `npm run prove`: a million simulated shops against every promise, and every seeded bug against the checker. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { type Caught, catchBug } from '../test/simulation/bugs/catch.ts';
import { bugs } from '../test/simulation/bugs/list.ts';
import { invariants } from '../test/simulation/invariants.ts';
import { readPlan, showPlan, showSeed } from '../test/simulation/one.ts';
import { forgiveTheDead, type Tally } from '../test/simulation/seeds.ts';
import { type Outcome, runInProcesses } from '../test/simulation/workers.ts';

const HELP = `npm run prove -- [--seeds N] [--from N] [--seed N | --plan FILE] [--processes N] [--no-bugs]
  --seeds      how many seeds; 1,000,000 by default
  --from       the first of them; 1 by default
  --seed       runs one seed and tells all of it; a failing one is made smaller and printed as a regression
  --plan       the same for a plan of test/simulation/regressions/
  --processes  how many at once; one for each core by default
  --no-bugs    leaves the seeded bugs out`;
const ALL_SEEDS = 1_000_000;
/** Seeds that are tried for each seeded bug. */
const SEEDS_FOR_A_BUG = 20_000;
/** Violations that are shown; the others are counted. */
const SHOWN = 20;
const PROGRESS_MS = 2_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const number = new Intl.NumberFormat('en');

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: String(ALL_SEEDS) },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    plan: { type: 'string' },
    processes: { type: 'string', default: String(availableParallelism()) },
    'no-bugs': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) say(HELP);
else if (values.seed !== undefined || values.plan !== undefined) {
  forgiveTheDead();
  const kept = values.plan === undefined ? showSeed(Number(values.seed), say) : showPlan(readPlan(values.plan), say);
  process.exitCode = (await kept) ? 0 : 1;
} else process.exitCode = (await proveAll()) ? 0 : 1;

async function proveAll(): Promise<boolean> {
  const processes = Number(values.processes);
  const outcome = await runAll(Number(values.from), Number(values.seeds), processes);
  const caught = values['no-bugs'] ? [] : await catchAll(processes);
  say(summary(outcome, caught));
  const missed = caught.filter(({ by }) => by === null);
  for (const { seed, violations } of outcome.found.slice(0, SHOWN))
    for (const { invariant, text } of violations) say(`seed ${seed}: ${invariant}: ${text}`);
  if (outcome.found.length > 0) say('Repeat one with: npm run prove -- --seed N');
  return outcome.found.length === 0 && missed.length === 0;
}

async function runAll(from: number, count: number, processes: number): Promise<Outcome> {
  const started = performance.now();
  let told_at = 0;
  return runInProcesses({ from, count, stride: 1, first: false }, processes, {
    onProgress({ seeds }) {
      const now = performance.now();
      if (now - told_at < PROGRESS_MS) return;
      told_at = now;
      const pace = seeds / ((now - started) / 1_000);
      const left_min = Math.ceil((count - seeds) / Math.max(pace, 1) / 60);
      say(
        `${number.format(seeds)} of ${number.format(count)} seeds · ${Math.round(pace)}/s · about ${left_min} min left`,
      );
    },
  });
}

async function catchAll(processes: number): Promise<Caught[]> {
  const caught: Caught[] = [];
  for (const bug of bugs) {
    const one = await catchBug(bug, SEEDS_FOR_A_BUG, processes);
    say(`seeded bug: ${one.bug} — ${one.by ?? 'NOT CAUGHT'}`);
    caught.push(one);
  }
  return caught;
}

/** What was run, how much of it, and what was broken: the table of the promises. */
function summary({ tally, found }: Outcome, caught: Caught[]): string {
  const table = new Table({ head: ['promise', 'what', 'checked on', 'violations'], style: { head: [] } });
  for (const [name, , what] of invariants) {
    const broken = found.filter(({ violations }) => violations.some(({ invariant }) => invariant === name)).length;
    table.push([name, what, `${number.format(tally.seeds)} runs`, String(broken)]);
  }
  const failed = found.filter(({ violations }) => violations.some(({ invariant }) => invariant === 'run')).length;
  if (failed > 0) table.push(['run', 'the simulation itself', `${number.format(tally.seeds)} runs`, String(failed)]);
  if (caught.length > 0) {
    const got = caught.filter(({ by }) => by !== null).length;
    table.push(['§5.4', 'seeded bugs caught', `${caught.length} bugs`, `${got}/${caught.length} caught`]);
  }
  return `${table.toString()}\n${countsOf(tally)}`;
}

function countsOf(tally: Tally): string {
  const { creates, orders, paid, upstream_calls, faults, webhooks, notices, restarts, moves, clock_jumps } = tally;
  const days = Math.round(tally.lived_ms / 86_400_000);
  const counts = {
    creates,
    orders,
    paid,
    'upstream calls': upstream_calls,
    faults,
    webhooks,
    notices,
    restarts,
    moves,
    'clock jumps': clock_jumps,
  };
  const told = Object.entries(counts).map(([name, count]) => `${number.format(count)} ${name}`);
  return `${told.join(' · ')} · ${number.format(days)} virtual days`;
}
