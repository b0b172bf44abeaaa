/** A server that survives database failures: sales throughout, one failure after the other, a quiet end, a verdict. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Keeping } from '../engines/keeping.ts';
import { closing } from '../open.ts';
import { finishChain, type Outcome, started } from './chain.ts';
import { type Random, seeded } from './random.ts';
import { startStand } from './stand.ts';
import { startTill, type Till } from './till.ts';

/** Short, so that a database that does not answer times out within the test. */
const SETTINGS = { PUENTE_POSTGRES_STATEMENT_TIMEOUT_MS: '1000', PUENTE_POSTGRES_CONNECT_TIMEOUT_MS: '1000' };
const ROUND_MS = 60;
/** Pause after a round without a sale: a database that is down for long must not use up the terminals by refusals. */
const REFUSED_MS = 400;
const SOME_SALES = 6;
/** A trouble lasts some seconds, with two sales a round; this suffices even if no call waits for its answer. */
const SALES_OF_A_TROUBLE = 300;
const CALM_MS = { least: 200, most: 600 };

/** Runs during sales; resolves when the trouble has ended. */
export type Trouble = (random: Random, till: Till) => Promise<void>;

export interface TroubledOutcome extends Outcome {
  /** Answers to tills by status, during the troubles; null for no answer. */
  answers: Map<number | null, number>;
}

export async function runTroubles(
  name: string,
  seed: number,
  keeping: Keeping,
  troubles: readonly Trouble[],
): Promise<TroubledOutcome> {
  const random = seeded(seed);
  await using stand = closing(await startStand(SETTINGS, keeping, SALES_OF_A_TROUBLE * (troubles.length + 1)));
  const till = startTill(stand, random);
  const child = await started(stand);
  const day = { is_over: false };
  const selling = sellAllDay(till, day);
  for (const trouble of troubles) {
    await pause(random.between(CALM_MS.least, CALM_MS.most));
    await trouble(random, till);
  }
  await pause(CALM_MS.most);
  day.is_over = true;
  await selling;
  const answers = countsOf(till); // before the quiet end adds its own
  const outcome = await finishChain(name, seed, stand, till);
  if (!child.alive()) outcome.violations.push({ invariant: 'I4', text: `the server ended:\n${child.output()}` });
  return { ...outcome, kills: troubles.length, answers };
}

/** No trouble: waits until some sales succeeded, however busy the machine is. */
export async function someSales(_random: Random, { creates }: Till): Promise<void> {
  for (const before = soldOf(creates); soldOf(creates) < before + SOME_SALES; ) await pause(ROUND_MS);
}

async function sellAllDay(till: Till, day: { is_over: boolean }): Promise<void> {
  while (!day.is_over) {
    const before = soldOf(till.creates);
    await Promise.all([till.sell(), till.sell(), till.retryLost()]);
    await Promise.all(till.sales.map((sale) => till.end(sale)));
    till.payUnanswered();
    await pause(soldOf(till.creates) > before ? ROUND_MS : REFUSED_MS);
  }
}

function soldOf(creates: Till['creates']): number {
  return creates.filter(({ status }) => status === 201).length;
}

function countsOf({ creates }: Till): Map<number | null, number> {
  const counts = new Map<number | null, number>();
  for (const { status } of creates) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}
