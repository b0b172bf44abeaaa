/** `npm run nightly:moves`: many random sequences of moves (`test/ops/moves/moves-model.test.ts` runs a few). */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { playSequence } from '../test/proxy/two-worlds/sequence.ts';
import { type Step, steps } from '../test/proxy/two-worlds/steps.ts';
import { newFolder, openStore } from '../test/store/sqlite/kit.ts';

/** Sequences that share a store and a seed: quick to run, few enough to repeat. */
const ROUND = 500;
/** Rounds in parallel: while one waits for the disk another runs. */
const AT_ONCE = 4;

const USAGE = `Usage: npm run nightly:moves -- [--sequences 100000] [--seed 1]
Each round of ${ROUND} sequences has a seed of its own, which is printed when a rule is broken; to play it again:
  npm run nightly:moves -- --sequences ${ROUND} --seed <seed of the round>`;

const { values } = parseArgs({
  options: {
    sequences: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    help: { type: 'boolean', default: false },
  },
});
const sequences = Number(values.sequences);
const first_seed = Number(values.seed);
const isWrong = !Number.isSafeInteger(sequences) || sequences < 1 || !Number.isSafeInteger(first_seed);
if (values.help || isWrong) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(isWrong ? 2 : 0);
}

const rounds = Math.ceil(sequences / ROUND);
const started_ms = performance.now();
let next = 0;
let played = 0;
const failures: string[] = [];
await Promise.all(Array.from({ length: Math.min(AT_ONCE, rounds) }, work));
for (const failure of failures) process.stdout.write(`${failure}\n`);
process.stdout.write(`${played} sequences, ${failures.length} rounds with a broken rule\n`);
process.exitCode = failures.length === 0 ? 0 : 1;

async function work(): Promise<void> {
  while (next < rounds && failures.length === 0) {
    const round = next++;
    const runs = Math.min(ROUND, sequences - round * ROUND);
    await playRound(first_seed + round, runs);
    played += runs;
    const per_second = Math.round(played / ((performance.now() - started_ms) / 1_000));
    process.stdout.write(
      `${played} of ${sequences} sequences, ${per_second} a second, last seed ${first_seed + round}\n`,
    );
  }
}

/** Each round has its own store, so it does not depend on earlier rounds. */
async function playRound(seed: number, runs: number): Promise<void> {
  const folder = newFolder();
  const clock = { now: Date.UTC(2026, 0, 5, 12) };
  const store = await openStore(folder.file('moves.db'), { now: () => clock.now });
  let merchant = 900_000_000;
  let broken: string[] = [];
  const life = fc.asyncProperty(steps, async (sequence: Step[]) => {
    const seen = await playSequence({ store, clock }, String(++merchant), sequence);
    if (seen.length > 0) broken = seen; // a shorter sequence may break no rule
    return seen.length === 0;
  });
  try {
    const result = await fc.check(life, { numRuns: runs, seed });
    if (!result.failed) return;
    const why = broken.length > 0 ? broken.join('; ') : String(result.errorInstance);
    failures.push(`seed ${seed}: ${why}\n${fc.stringify(result.counterexample)}`);
  } finally {
    await store.close();
    folder.remove();
  }
}
