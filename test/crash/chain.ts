/** A chain for one crash point: repeated kills on one data directory, then a quiet end and the checker's verdict. */
import { setTimeout as pause } from 'node:timers/promises';
import { closing } from '../open.ts';
import { type Backlog, collect, describeBacklog, readBacklog } from './books.ts';
import { check, type Violation } from './checker.ts';
import type { Child } from './child.ts';
import { type Random, seeded } from './random.ts';
import { type Stand, startStand } from './stand.ts';
import { startTill, type Till } from './till.ts';

/** An armed point must be passed within so many rounds of three sales. */
const ROUNDS = 40;
/**
 * Recovery, settlement and delivery take about three seconds, but on a machine that stalls, an event whose order could
 * not be read waits for up to a minute by design.
 */
const QUIET_LIMIT_MS = 75_000;
/** Beyond the first resending of webhooks and the lifetime of orders, both 15 minutes of sandbox time. */
export const LATER_MS = 16 * 60_000;

export interface Trial {
  stand: Stand;
  till: Till;
  random: Random;
  kill: number;
  /** The failpoint of this kill, or `outside`. */
  point: string;
}

export interface Outcome {
  name: string;
  seed: number;
  kills: number;
  creates: number;
  orders: number;
  /** Orders without a delivered answer: canceled, or reported as paid. */
  settled: number;
  violations: Violation[];
}

/**
 * @param points one for each kill.
 * @param killOnce starts the server, lets it work, and returns when it was killed.
 * @param settle restores what the end relies on, e.g. the stage of a merchant.
 */
export async function runChain(
  name: string,
  seed: number,
  points: string[],
  killOnce: (trial: Trial) => Promise<void>,
  options: { settings?: Record<string, string>; settle?: (trial: Trial) => Promise<void> } = {},
): Promise<Outcome> {
  const random = seeded(seed);
  await using stand = closing(await startStand(options.settings));
  const till = startTill(stand, random);
  for (const [kill, point] of points.entries()) {
    await killOnce({ stand, till, random, kill, point });
    if (random.chance(0.5)) till.payUnanswered();
  }
  if (random.chance(0.3)) await (await started(stand)).kill();
  await started(stand);
  await options.settle?.({ stand, till, random, kill: points.length, point: '' });
  return { ...(await finishChain(name, seed, stand, till)), kills: points.length };
}

export async function finishChain(name: string, seed: number, stand: Stand, till: Till): Promise<Outcome> {
  const unsettled = await untilOver(stand, till);
  const history = await collect(stand, till, unsettled);
  const violations = check(history);
  if (violations.length > 0) tellAll(name, stand);
  const { orders, audits } = history;
  const settled = audits.filter((line) => line.action === 'settle').length;
  return { name, seed, kills: 0, creates: till.creates.length, orders: orders.length, settled, violations };
}

/** Printed last, where the reader of a long log finds it. */
export function tellAll(name: string, stand: Stand): void {
  process.stdout.write(`what the servers of ${name} said:\n${stand.said()}\n`);
}

/**
 * Tills retry, everything is recovered, all orders expire, and every device makes one more sale.
 * @returns the backlog that was not finished in time: recovery must not depend on webhooks or on the end of orders.
 */
export async function untilOver(stand: Stand, till: Till): Promise<string[]> {
  await till.repeated();
  for (let round = 0; round < 2; round++) {
    await till.retryLost();
    await Promise.all(till.sales.map((sale) => till.end(sale)));
  }
  const recovered = await untilQuiet(stand, ['in_doubt', 'unclaimed', 'events', 'notices']);
  await stand.advance(LATER_MS);
  const over = await untilQuiet(stand, ['in_doubt', 'live', 'events', 'notices']);
  await till.probe();
  const probed = await untilQuiet(stand, ['in_doubt', 'live', 'events', 'notices']);
  return [...recovered, ...over, ...probed];
}

export async function untilQuiet(stand: Stand, names: (keyof Backlog)[]): Promise<string[]> {
  const limit = Date.now() + QUIET_LIMIT_MS;
  for (;;) {
    const backlog = await readBacklog(stand);
    const left = names.filter((name) => backlog[name] > 0);
    if (left.length === 0) return [];
    if (Date.now() > limit) return [...left.map((name) => `${backlog[name]} ${name}`), await describeBacklog(stand)];
    await pause(100);
  }
}

export async function started(stand: Stand): Promise<Child> {
  const child = await stand.start();
  if (child === null) throw new Error('the server was killed at a start that was not armed');
  return child;
}

/** Makes sales in threes until the server is killed; tills first retry the sales whose answers were lost. */
export async function sellUntilGone(
  trial: Trial,
  child: Child,
  {
    endings,
    between_ms = 60,
  }: { endings?: readonly ['pay', ...('decline' | 'cancel at terminal')[]]; between_ms?: number } = {},
): Promise<void> {
  const { till, random } = trial;
  till.payUnanswered();
  const retries = till.retryLost();
  for (let round = 0; child.alive() && round < ROUNDS; round++) {
    const plan = () => (endings === undefined ? {} : { ending: random.pick(endings) });
    await Promise.all([till.sell(plan()), till.sell(plan()), till.sell(plan())]);
    // A killed process exits a moment after its sockets close.
    await Promise.race([child.gone, pause(5)]);
    if (!child.alive()) break;
    await Promise.all(till.sales.map((sale) => till.end(sale)));
    await Promise.race([child.gone, pause(between_ms)]);
  }
  await retries;
  if (child.alive()) throw new Error(`the armed point was not passed in ${ROUNDS} rounds:\n${child.output()}`);
  await child.gone;
}

export function summary(outcome: Outcome): string {
  const count = (...invariants: string[]) =>
    outcome.violations.filter(({ invariant }) => invariants.includes(invariant)).length;
  const { name, kills, creates, orders, settled } = outcome;
  return `${name}: ${kills} kills, ${creates} creates, ${orders} orders, ${settled} settled, ${count('I1')} lost, ${count('I3', 'I4')} orphaned, ${count('I2', 'I13', 'P2')} doubled`;
}
