/** Seeds of a shop's day with failures, and every regression that a seed has found. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { check } from './invariants.ts';
import { judge } from './judge.ts';
import { showSeed } from './one.ts';
import { planOf } from './plan.ts';
import { rerunInProcess, runInProcesses } from './workers.ts';
import { createSimulatedWorld } from './world.ts';

/** Seeds for every change (`docs/protocol.md` §5.1); `npm run prove` runs the night's million. */
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 250);
/** Long enough for any run; ends a hanging one. */
const PATIENCE_MS = 1_800_000;
const REGRESSIONS = join(import.meta.dirname, 'regressions');

describe('the simulation', () => {
  it(
    'finds no broken promise, whatever the clock does [F47]',
    async () => {
      const { tally, found } = await runInProcesses({ from: 1, count: SEEDS, stride: 1, first: false }, 1);
      expect(found).toEqual([]);
      expect(tally.seeds).toBe(SEEDS);
    },
    PATIENCE_MS,
  );

  it('keeps them in every plan that once broke one', async () => {
    const files = readdirSync(REGRESSIONS).map((name) => join(REGRESSIONS, name));
    const { tally, found } = await rerunInProcess(files);
    expect(found).toEqual([]);
    expect(tally.seeds).toBe(files.length);
  });

  it('runs a seed the same way each time, however long that takes', async () => {
    // Seed 197 waits for notices alone, whose loop once slept by the machine's clock.
    for (const seed of [1, 2, 3, 197]) {
      const runs = [await runOf(seed), await runOf(seed)];
      expect(runs[0]?.length).toBeGreaterThan(20);
      expect(runs[1]).toEqual(runs[0]);
    }
  });

  it('excuses a busy answer behind the first notice of the sale before only while another of its merchant is under way', async () => {
    // In seed 1000 a receiver hangs, and four creates that find the end of the sale before are answered 409.
    const { history, violations } = await judge(createSimulatedWorld(), planOf(1000));
    expect(violations).toEqual([]);
    if (history === null) throw new Error('the seed has no history');
    const deliveries = history.deliveries.filter(({ status }) => status !== null);
    const busy = check({ ...history, deliveries }).filter(({ text }) => text.startsWith('sale 51 was told that'));
    expect(busy).toHaveLength(4);
  });

  it('tells which seed ended its process, and goes on behind it', async () => {
    const bug = {
      name: 'a promise that nobody waits for',
      test: null,
      edits: [
        {
          file: 'proxy/sales/create.ts',
          from: "ports.memory.failpoint('create.before_row');",
          to: "void Promise.reject(new Error('nobody waits for this'));",
        },
      ],
    };
    const { tally, found } = await runInProcesses({ from: 1, count: 2, stride: 1, first: false }, 1, { bug });
    expect(found).toEqual(
      [1, 2].map((seed) => ({
        seed,
        violations: [{ invariant: 'run', text: expect.stringMatching(`at seed ${seed}: [^]*nobody waits for this`) }],
        small: null,
      })),
    );
    expect(tally.seeds).toBe(2);
  });
});

/** Every line of a run. */
async function runOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await showSeed(seed, (line) => lines.push(line));
  return lines;
}
