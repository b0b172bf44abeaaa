/** A chain for one crash point of QR sales or refunds: kills on one data directory, a quiet end, the verdict. */
import { setTimeout as pause } from 'node:timers/promises';
import { LATER_MS, started, tellAll, untilQuiet } from './chain.ts';
import type { Child } from './child.ts';
import { OUTSIDE } from './plan.ts';
import { startUnderThreat } from './points.ts';
import { collectQr, upstreamBooks } from './qr-books.ts';
import { checkQr, type QrViolation } from './qr-checker.ts';
import type { QrHistory, QrKind } from './qr-history.ts';
import { type QrTill, startQrTill } from './qr-till.ts';
import { type Random, seeded } from './random.ts';
import { type Stand, startStand } from './stand.ts';

/** An armed point must be passed within so many rounds. */
const ROUNDS = 40;
/** Polls as often as for Point; never caches searches; sends both notice forms, since only webhooks contain states. */
export const QR_SETTINGS = {
  PUENTE_RECONCILE_QR_INTERVAL_MS: '300',
  PUENTE_READS_SEARCH_FRESH_MS: '0',
  PUENTE_MERCHANTS_QR_NOTICES: 'both',
};
type Counter = readonly [QrKind, string];
/** One counter per family: the families sell side by side, and each replaces its own order. */
const COUNTERS: readonly [Counter, ...Counter[]] = [
  ['v2', 'LOAD0000001'],
  ['v1', 'LOAD0000002'],
  ['dynamic', 'LOAD0000003'],
];

export interface QrTrial {
  stand: Stand;
  till: QrTill;
  random: Random;
}

export interface QrOutcome {
  name: string;
  kills: number;
  sales: number;
  orders: number;
  refunds: number;
  settled: number;
  violations: QrViolation[];
}

export async function startQrStand(random: Random): Promise<{ stand: Stand; till: QrTill }> {
  const stand = await startStand(QR_SETTINGS);
  return { stand, till: startQrTill(stand, random) };
}

/**
 * @param points one for each kill.
 * @param work of the tills after their retries, repeated until the server has passed the armed point.
 */
export async function runQrChain(
  name: string,
  seed: number,
  points: string[],
  work: (trial: QrTrial) => Promise<void>,
): Promise<QrOutcome> {
  const random = seeded(seed);
  const { stand, till } = await startQrStand(random);
  try {
    for (const point of points) {
      const child =
        point === OUTSIDE
          ? await startUnderThreat(stand, random)
          : await stand.start(`${point}:${random.between(1, 3)}`);
      if (child !== null) await workUntilGone(child, { stand, till, random }, work);
    }
    await started(stand);
    return judge(name, points.length, stand, till, await finishQr(stand, till));
  } finally {
    await stand.close();
  }
}

export async function workUntilGone(
  child: Child,
  trial: QrTrial,
  work: (trial: QrTrial) => Promise<void>,
): Promise<void> {
  await trial.till.recover();
  for (let round = 0; child.alive() && round < ROUNDS; round++) {
    await work(trial);
    // A killed process exits a moment after its sockets close.
    await Promise.race([child.gone, pause(5)]);
  }
  if (child.alive()) throw new Error(`the armed point was not passed in ${ROUNDS} rounds:\n${child.output()}`);
  await child.gone;
}

/** All families sell at once, mostly on a counter that has an order already; some buyers pay. */
export async function sellEverywhere({ till, random }: QrTrial): Promise<void> {
  const plans = COUNTERS.map(([kind, pos]) => ({ kind, pos, pays: random.chance(0.3) }));
  await Promise.all(
    plans.map(async ({ kind, pos, pays }) => {
      const sale = await till.sell(kind, pos);
      if (pays && sale.isTold) await till.pay(sale);
    }),
  );
}

/**
 * A paid sale and refunds of it: a part, two equal parts, the whole, or a part and the rest; some with an upstream that
 * fails or loses its answer. Unanswered refunds are requested again.
 */
export async function refundSales({ stand, till, random }: QrTrial): Promise<void> {
  const [kind, pos] = random.pick(COUNTERS);
  const sale = await till.sell(kind, pos);
  if (!sale.isTold || !(await till.pay(sale))) return;
  const payment_id = await till.findPayment(sale);
  if (payment_id === null) return;
  const part_minor = random.between(100, Math.floor(sale.amount_minor / 3));
  for (const amount_minor of random.pick([[part_minor], [part_minor, part_minor], [null], [part_minor, null]])) {
    const fault = random.pick([null, null, { kind: 'reset', when: 'after' }, { kind: 'error', status: 500 }]);
    if (fault !== null) stand.fault({ method: 'POST', path: '/v1/orders/*/refund', code: 'internal_error', ...fault });
    const key = random.chance(0.5) ? `refund-key-${till.asks.length + 1}` : null;
    const knows_earlier = random.chance(0.5) && (await till.findPayment(sale)) !== null;
    await till.refund(sale, payment_id, { amount_minor, key, knows_earlier });
    stand.sandbox.world.faults.length = 0;
    if (till.asks.at(-1)?.isOver !== true) return till.recover();
  }
}

/** Tills retry, everything is recovered, every counter makes one more sale, and then all orders expire. */
export async function finishQr(stand: Stand, till: QrTill): Promise<QrHistory> {
  for (let round = 0; round < 2; round++) await till.recover();
  await till.probe();
  const recovered = await untilQuiet(stand, ['in_doubt', 'unclaimed', 'events', 'notices']);
  const open_after_recovery = await openOrders(stand);
  await stand.advance(LATER_MS);
  const over = await untilQuiet(stand, ['in_doubt', 'live', 'events', 'notices']);
  return collectQr(stand, till, { open_after_recovery, unsettled: [...recovered, ...over] });
}

export async function openOrders(stand: Stand): Promise<string[]> {
  const { orders } = await upstreamBooks(stand);
  return orders.filter(({ ended_at }) => ended_at === null).map(({ id }) => id);
}

export function judge(name: string, kills: number, stand: Stand, till: QrTill, history: QrHistory): QrOutcome {
  const violations = checkQr(history);
  if (violations.length > 0) tellAll(name, stand);
  const { orders, reported } = history;
  const refunds = orders.reduce((sum, order) => sum + order.refunds.length, 0);
  return {
    name,
    kills,
    sales: till.sales.length,
    orders: orders.length,
    refunds,
    settled: reported.length,
    violations,
  };
}

export function qrSummary({ name, kills, sales, orders, refunds, settled, violations }: QrOutcome): string {
  return `${name}: ${kills} kills, ${sales} sales, ${orders} orders, ${settled} settled, ${refunds} refunds, ${violations.length} violations`;
}
