/** kill -9 during QR sales, replacements, refunds: none lost, doubled or left open (`docs/protocol.md` §3.3, §3.9). */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killChildren } from './child.ts';
import { chainsOf, PLAN, REPEATS } from './plan.ts';
import { type QrOutcome, qrSummary, refundSales, runQrChain, sellEverywhere } from './qr-chain.ts';
import { bundleSources } from './stand.ts';

const LIMIT_MS = 240_000 + REPEATS * 60_000;
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));

type Chain = Parameters<typeof runQrChain>;
const crashes: [name: string, points: string[], work: Chain[3]][] = [
  [
    'kill -9 during a QR create, and between the cancel and the create of a replaced sale [F33]',
    PLAN.qr_create,
    sellEverywhere,
  ],
  ['kill -9 during a refund [F33]', PLAN.qr_refund, refundSales],
];

const outcomes: QrOutcome[] = [];

describe('QR', { concurrent: true, timeout: LIMIT_MS }, () => {
  for (const [index, [name, points, work]] of crashes.entries()) {
    it(name, async () => {
      for (const part of chainsOf(points)) {
        const outcome = await runQrChain(name, SEED + index, part, work);
        outcomes.push(outcome);
        expect(outcome.violations, `CRASH_SEED=${SEED}`).toEqual([]);
      }
    });
  }
});

beforeAll(() => bundleSources(), LIMIT_MS);

afterAll(async () => {
  await killChildren();
  const sum = (count: (outcome: QrOutcome) => number): number => outcomes.reduce((all, one) => all + count(one), 0);
  const total = `kill -9 at named points of QR: ${sum((one) => one.kills)} kills, ${sum((one) => one.sales)} sales, ${sum((one) => one.violations.length)} violations`;
  process.stdout.write(`${[`CRASH_SEED=${SEED}`, ...outcomes.map(qrSummary), total].join('\n')}\n`);
});
