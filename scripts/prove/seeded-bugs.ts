/** The part of the proof that checks the checker: it must find each seeded bug of `docs/protocol.md` §5.4. */
import { type Caught, catchBySeeds, catchOne, hasPlan } from '../../test/simulation/bugs/catch.ts';
import { type Bug, bugs } from '../../test/simulation/bugs/list.ts';
import type { Options, Part } from './part.ts';

/** Seeds tried per bug; the rarest bug needed about a tenth of them. */
const SEEDS_FOR_A_BUG = 20_000;

export const seededBugs: Part = {
  name: 'bugs',
  about:
    'the seeded bugs: by seeds that know nothing of them, by their small plans, by their tests; --remember keeps new plans',
  async run(options, say) {
    const lines = [];
    for (const bug of bugs) {
      const { by, instead, seeds } = await look(bug, options);
      const what = `${bug.name}: ${by ?? `NOT CAUGHT (${instead})`}`;
      say(`seeded bug: ${what}`);
      const count = bug.test === null ? `${seeds} seeds` : '1 test';
      lines.push({
        promise: '§5.4',
        what,
        count,
        violations: by === null ? 1 : 0,
      });
    }
    const missed = lines.filter(({ violations }) => violations > 0);
    return {
      lines,
      failures: missed.map(({ what }) => `a seeded bug was not caught: ${what}`),
      remarks: [`seeded bugs caught: ${bugs.length - missed.length}/${bugs.length}`],
    };
  },
};

/** The bug's plan must show it too, because every change is checked with the plans. */
async function look(bug: Bug, { processes, remember }: Options): Promise<Caught> {
  const caught = await catchBySeeds(bug, SEEDS_FOR_A_BUG, processes, remember);
  if (bug.test !== null || caught.by === null) return caught;
  const planned = hasPlan(bug) ? await catchOne(bug) : { by: null, instead: 'it has no plan' };
  return planned.by === null ? { ...caught, ...planned } : caught;
}
