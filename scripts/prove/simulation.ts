/** The simulated part of the proof: any number of shops against every invariant. */
import { invariants } from '../../test/simulation/invariants.ts';
import type { Tally } from '../../test/simulation/seeds.ts';
import { type Outcome, runInProcesses } from '../../test/simulation/workers.ts';
import { grouped, type Line, type Options, type Part, type Say } from './part.ts';

/** Failing seeds shown; the others are counted, and `--json` lists all. */
const SHOWN = 20;
const PROGRESS_MS = 2_000;
const DAY_MS = 86_400_000;

/** The promise of `docs/protocol.md` §2 that an invariant of §5.3 proves. */
const PROMISES: Record<string, string> = {
  I1: 'P1 I1',
  I2: 'P2 I2',
  I3: 'P3 I3',
  I4: 'P3 I4',
  I5: 'P4 I5',
  I6: 'P4 I6',
  I7: 'P5 I7',
  I8: 'P6 I8',
  'I9 I10': 'P8 P9 I9 I10',
  I11: 'P11 I11',
  I12: 'P7 I12',
  I13: 'P2 I13',
  I14: 'P13 I14',
  I15: 'P12 I15',
  I16: 'P1 I16',
};

export const simulation: Part = {
  name: 'seeds',
  about: 'simulated shops against every promise; --seeds, --from',
  async run(options, say) {
    const outcome = await runAll(options, say);
    const failing_seeds = outcome.found.map(({ seed }) => seed);
    const failures = shownFailures(outcome.found);
    return { lines: linesOf(outcome), failures, remarks: [countsOf(outcome.tally)], failing_seeds };
  },
};

export function shownFailures(found: Outcome['found']): string[] {
  const shown = found
    .slice(0, SHOWN)
    .flatMap(({ seed, violations }) =>
      violations.map(({ invariant, text }) => `${invariant}: ${text} (npm run prove -- --seed ${seed})`),
    );
  const more = found.length - SHOWN;
  return more > 0 ? [...shown, `and ${grouped(more)} more seeds; --json tells all of them`] : shown;
}

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
  const lines = invariants.map(([name, , what]) => ({
    promise: PROMISES[name] ?? name,
    what,
    count,
    violations: broken(name),
  }));
  const own = { promise: 'run', what: 'the simulation itself ends', count, violations: broken('run') };
  return own.violations === 0 ? lines : [...lines, own];
}

function countsOf({ lived_ms, seeds, ...tally }: Tally): string {
  const told = Object.entries(tally).map(([name, count]) => `${grouped(count)} ${name.replaceAll('_', ' ')}`);
  return `${grouped(seeds)} seeds · ${told.join(' · ')} · ${grouped(Math.round(lived_ms / DAY_MS))} virtual days`;
}
