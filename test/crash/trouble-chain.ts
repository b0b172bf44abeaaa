/** A server that lives on while its database is in trouble: sales all the time, one trouble after the other, a quiet end, and the checker's verdict. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Keeping } from '../engines/keeping.ts';
import { finishChain, type Outcome, started } from './chain.ts';
import { type Random, seeded } from './random.ts';
import { startStand } from './stand.ts';
import { startTill, type Till } from './till.ts';

/** Short, so that a database that says nothing is given up within the test. */
const SETTINGS = { PUENTE_POSTGRES_STATEMENT_TIMEOUT_MS: '1000', PUENTE_POSTGRES_CONNECT_TIMEOUT_MS: '1000' };
/** Between two rounds of sales. */
const ROUND_MS = 60;
/** After a round in which nothing was sold: a database that is down for long must not use up all terminals by refusals. */
const REFUSED_MS = 400;
const SOME_SALES = 6;
/** A trouble lasts for some seconds, with two sales a round; more than enough even where none waits for an answer. */
const SALES_OF_A_TROUBLE = 300;
/** Sales before a trouble, and after the last. */
const CALM_MS = { least: 200, most: 600 };

/** Happens while tills sell; returns at its end. */
export type Trouble = (random: Random, till: Till) => Promise<void>;

export interface TroubledOutcome extends Outcome {
  /** How often tills were answered with each status while there was trouble; null for no answer at all. */
  answers: Map<number | null, number>;
}

/** @param troubles one after the other. */
export async function runTroubles(
  name: string,
  seed: number,
  keeping: Keeping,
  troubles: readonly Trouble[],
): Promise<TroubledOutcome> {
  const random = seeded(seed);
  const stand = await startStand(SETTINGS, keeping, SALES_OF_A_TROUBLE * (troubles.length + 1));
  try {
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
    const answers = countsOf(till); // without those of the quiet end
    const outcome = await finishChain(name, seed, stand, till);
    if (!child.alive()) outcome.violations.push({ invariant: 'I4', text: `the server ended:\n${child.output()}` });
    return { ...outcome, kills: troubles.length, answers };
  } finally {
    await stand.close();
  }
}

/** No trouble: some sales are taken meanwhile, however busy the machine is. */
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
