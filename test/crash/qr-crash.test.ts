/** kill -9 under QR sales, replaced sales and refunds: nothing lost, doubled, left open or refunded twice (`reliability.md` §3.3, §3.9). */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KILLS } from './chain.ts';
import { killChildren } from './child.ts';
import { type QrOutcome, refundSales, runQrChain, sellEverywhere } from './qr-chain.ts';
import { warmUp } from './stand.ts';

const LIMIT_MS = 120_000 + KILLS * 30_000;
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));

const CREATES = [
  'create.before_row',
  'create.row_written',
  'create.before_send',
  'create.answer_read',
  'create.settled',
  'answer.sent',
] as const;
const REFUNDS = ['refund.row_written', 'refund.answer_read', 'refund.settled'] as const;

/** Kills for each point: the replace has two places only, and each start costs a second of one core. */
const FEWER = Math.ceil(KILLS * 0.6);

type Chain = Parameters<typeof runQrChain>;
const points: [name: string, kills: number, armed: Chain[3], work: Chain[4]][] = [
  ['during a create', KILLS, CREATES, sellEverywhere],
  ['between the cancel and the create of a replace', FEWER, ['cancel.marked', 'cancel.sent'], sellEverywhere],
  ['during a refund', KILLS, REFUNDS, refundSales],
];

const outcomes: QrOutcome[] = [];

describe('kill -9', { concurrent: true, timeout: LIMIT_MS }, () => {
  for (const [index, [name, kills, armed, work]] of points.entries()) {
    it(name, async () => {
      const outcome = await runQrChain(name, SEED + index, kills, armed, work);
      outcomes.push(outcome);
      expect(outcome.violations, `CRASH_SEED=${SEED}`).toEqual([]);
    });
  }
});

beforeAll(() => warmUp(), LIMIT_MS);

afterAll(async () => {
  await killChildren();
  process.stdout.write(`${[`CRASH_SEED=${SEED}`, ...outcomes.map(summary)].join('\n')}\n`);
});

function summary({ point, kills, sales, orders, refunds, settled, violations }: QrOutcome): string {
  return `QR ${point}: ${kills} kills, ${sales} sales, ${orders} orders, ${settled} settled, ${refunds} refunds, ${violations.length} violations`;
}
