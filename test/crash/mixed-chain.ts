/** Point and QR at once on one server: repeated kills at any moment, a quiet end and the verdict of both checkers. */

import { closing } from '../open.ts';
import { collect } from './books.ts';
import { LATER_MS, started, untilQuiet } from './chain.ts';
import { check } from './checker.ts';
import { startUnderThreat } from './points.ts';
import { collectQr } from './qr-books.ts';
import {
  judge,
  openOrders,
  QR_SETTINGS,
  type QrOutcome,
  type QrTrial,
  refundSales,
  sellEverywhere,
  workUntilGone,
} from './qr-chain.ts';
import { startQrTill } from './qr-till.ts';
import { seeded } from './random.ts';
import { type Stand, startStand } from './stand.ts';
import { startTill, type Till } from './till.ts';

export interface MixedOutcome extends Omit<QrOutcome, 'violations'> {
  violations: { text: string }[];
}

export async function runMixedChain(name: string, seed: number, kills: number): Promise<MixedOutcome> {
  const random = seeded(seed);
  await using stand = closing(await startStand(QR_SETTINGS));
  const trial = { stand, till: startQrTill(stand, random), random };
  const point = startTill(stand, random);
  for (let kill = 0; kill < kills; kill++) {
    const child = await startUnderThreat(stand, random);
    if (child === null) continue;
    point.payUnanswered();
    const retries = point.retryLost();
    await workUntilGone(child, trial, (now) => sellBoth(now, point));
    await retries;
  }
  await started(stand);
  return await finish(name, kills, trial, point);
}

async function sellBoth(trial: QrTrial, point: Till): Promise<void> {
  const qr = trial.random.chance(0.3) ? refundSales(trial) : sellEverywhere(trial);
  const sales = await Promise.all([point.sell(), point.sell()]);
  await Promise.all(sales.map((sale) => point.end(sale)));
  await qr;
}

/** Both ends at once: tills retry, everything is recovered, all orders expire, and every unit makes one more sale. */
async function finish(name: string, kills: number, trial: QrTrial, point: Till): Promise<MixedOutcome> {
  const { stand, till } = trial;
  await point.repeated();
  for (let round = 0; round < 2; round++) {
    await Promise.all([till.recover(), point.retryLost()]);
    await Promise.all(point.sales.map((sale) => point.end(sale)));
  }
  await till.probe();
  const recovered = await untilQuiet(stand, ['in_doubt', 'unclaimed', 'events', 'notices']);
  const open_after_recovery = await openOrders(stand);
  const over = await untilNothingIsOpen(stand);
  await point.probe();
  const unsettled = [...recovered, ...over, ...(await untilQuiet(stand, ['in_doubt', 'live', 'events', 'notices']))];
  const qr = judge(name, kills, stand, till, await collectQr(stand, till, { open_after_recovery, unsettled }));
  const violations = check(await collect(stand, point, unsettled));
  return { ...qr, sales: qr.sales + point.sales.length, violations: [...qr.violations, ...violations] };
}

async function untilNothingIsOpen(stand: Stand): Promise<string[]> {
  await stand.advance(LATER_MS);
  return untilQuiet(stand, ['in_doubt', 'live', 'events', 'notices']);
}
