/** Random moves of merchants to and fro: no unit is on both lanes, no id changes lane, no sale is made twice. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openForAll } from '../../open.ts';
import { playSequence } from '../../proxy/two-worlds/sequence.ts';
import { steps } from '../../proxy/two-worlds/steps.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';

/** `npm run nightly:moves` plays 100,000 with other seeds. */
const SEQUENCES = 300;
const SEED = 20_261_121;

const clock = { now: Date.UTC(2026, 0, 5, 12) };
const store = openForAll(() => openOwnStore({ now: () => clock.now }));

it(`${SEQUENCES} sequences of moves, creates, lost answers, retries, cancels and events keep every rule`, async () => {
  let merchant = 900_000_000;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      expect(await playSequence({ store, clock }, String(++merchant), sequence)).toEqual([]);
    }),
    { numRuns: SEQUENCES, seed: SEED },
  );
}, 120_000);
