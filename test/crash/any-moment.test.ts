/** kill -9 at random moments, at work and during the start, under Point, QR and both at once (`docs/protocol.md` §5.1). */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runChain, summary } from './chain.ts';
import { killChildren, SOURCES } from './child.ts';
import { runMixedChain } from './mixed-chain.ts';
import { anyMoment, chainsOf, IS_ON_SERVER, KILLS, REPEATS } from './plan.ts';
import { anywhere, killedAnywhere } from './points.ts';
import { qrSummary, refundSales, runQrChain, sellEverywhere } from './qr-chain.ts';
import { createSlots } from './slots.ts';
import { bundleSources } from './stand.ts';

const LIMIT_MS = 240_000 + KILLS * 6_000;
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));

/** Unbundled sources take four times as long to start; this many kills suffice to show that nothing differs. */
const OF_SOURCES = Math.ceil(REPEATS / 2);
/** The kills at C3 and C4 are timed at random too; three kinds of work share the rest. */
const EACH = Math.ceil((KILLS - OF_SOURCES - 2 * REPEATS) / 3);

const lines: string[] = [];
const tally = { kills: 0, violations: 0 };

interface Work {
  name: string;
  kills: number;
  run(points: string[], seed: number): Promise<[string, { text: string }[]]>;
}

const ALL_AT_ONCE = 'Point and QR together at any moment';
const works: Work[] = [
  { name: 'Point at any moment', kills: EACH, run: (points, seed) => runPoint('Point', seed, points, anywhere) },
  {
    name: 'the sources as they are, at any moment',
    kills: OF_SOURCES,
    run: (points, seed) => runPoint('the sources', seed, points, killedAnywhere(SOURCES)),
  },
  {
    name: 'QR and refunds at any moment',
    kills: EACH,
    async run(points, seed) {
      const outcome = await runQrChain('QR', seed, points, (trial) =>
        trial.random.chance(0.4) ? refundSales(trial) : sellEverywhere(trial),
      );
      return [qrSummary(outcome), outcome.violations];
    },
  },
  {
    name: ALL_AT_ONCE,
    kills: IS_ON_SERVER ? KILLS : EACH,
    async run(points, seed) {
      const outcome = await runMixedChain('both', seed, points.length);
      return [
        `${outcome.name}: ${outcome.kills} kills, ${outcome.sales} sales, ${outcome.violations.length} violations`,
        outcome.violations,
      ];
    },
  },
];

describe('kill -9 at any moment', { concurrent: true, timeout: LIMIT_MS }, () => {
  const slots = createSlots();
  for (const [place, { name, kills, run }] of works.entries()) {
    if (IS_ON_SERVER && name !== ALL_AT_ONCE) continue;
    for (const [index, points] of chainsOf(anyMoment(kills)).entries()) {
      it(`${name}: no sale is lost or doubled, ${points.length} kills (${index + 1}) [F33]`, () =>
        slots(async () => {
          const seed = SEED + 1_000 * place + index;
          const [line, violations] = await run(points, seed);
          lines.push(line);
          tally.kills += points.length;
          tally.violations += violations.length;
          expect(violations, `CRASH_SEED=${SEED}`).toEqual([]);
        }));
    }
  }
});

async function runPoint(
  name: string,
  seed: number,
  points: string[],
  killOnce: typeof anywhere,
): Promise<[string, { text: string }[]]> {
  const outcome = await runChain(name, seed, points, killOnce);
  return [summary(outcome), outcome.violations];
}

beforeAll(() => bundleSources(), LIMIT_MS);

afterAll(async () => {
  await killChildren();
  const total = `kill -9 at any moment: ${tally.kills} kills, ${tally.violations} violations`;
  process.stdout.write(`${[`CRASH_SEED=${SEED}`, ...lines, total].join('\n')}\n`);
});
