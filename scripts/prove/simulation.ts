/** The part of the proof that is simulated: any number of shops against every invariant. */
import { invariants } from '../../test/simulation/invariants.ts';
import type { Tally } from '../../test/simulation/seeds.ts';
import { type Outcome, runInProcesses } from '../../test/simulation/workers.ts';
import { grouped, type Line, type Options, type Part, type Say } from './part.ts';

/** Violations that are shown; the others are counted. */
const SHOWN = 20;
const PROGRESS_MS = 2_000;
const DAY_MS = 86_400_000;

export const simulation: Part = {
  name: 'seeds',
  about: 'simulated shops against every promise; --seeds, --from',
  async run(options, say) {
    const outcome = await runAll(options, say);
    const failures = outcome.found
      .slice(0, SHOWN)
      .flatMap(({ seed, violations }) =>
        violations.map(({ invariant, text }) => `${invariant}: ${text} (npm run prove -- --seed ${seed})`),
      );
    return { lines: linesOf(outcome), failures, remarks: [countsOf(outcome.tally)] };
  },
};

function runAll({ from, seeds, processes }: Options, say: Say): Promise<Outcome> {
  const started = performance.now();
  let told_at = 0;
  return runInProcesses({ from, count: seeds, stride: 1, first: false }, processes, {
    onProgress({ seeds: done }) {
      const now = performance.now();
      if (now - told_at < PROGRESS_MS) return;
      told_at = now;
      const pace = done / ((now - started) / 1_000);
      const left_min = Math.ceil((seeds - done) / Math.max(pace, 1) / 60);
      say(`${grouped(done)} of ${grouped(seeds)} seeds · ${Math.round(pace)}/s · about ${left_min} min left`);
    },
  });
}

function linesOf({ tally, found }: Outcome): Line[] {
  const count = `${grouped(tally.seeds)} runs`;
  const broken = (name: string): number =>
    found.filter(({ violations }) => violations.some(({ invariant }) => invariant === name)).length;
  const lines = invariants.map(([promise, , what]) => ({ promise, what, count, violations: broken(promise) }));
  const own = { promise: 'run', what: 'the simulation itself ends', count, violations: broken('run') };
  return own.violations === 0 ? lines : [...lines, own];
}

function countsOf({ lived_ms, seeds, ...tally }: Tally): string {
  const told = Object.entries(tally).map(([name, count]) => `${grouped(count)} ${name.replaceAll('_', ' ')}`);
  return `${grouped(seeds)} seeds · ${told.join(' · ')} · ${grouped(Math.round(lived_ms / DAY_MS))} virtual days`;
}
