/** One crash point: kill after kill on one data directory, then a quiet end, and the checker's verdict. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Backlog, collect, describeBacklog, readBacklog } from './books.ts';
import { check, type Violation } from './checker.ts';
import type { Child } from './child.ts';
import { type Random, seeded } from './random.ts';
import { type Stand, startStand } from './stand.ts';
import { startTill, type Till } from './till.ts';

/** Rounds of three sales in which an armed point must have been passed. */
const ROUNDS = 40;
/**
 * What recovers, settles and delivers must be through by then. It takes about three seconds; but an event whose order
 * could not be read, on a machine that stalls, waits for up to a minute by design.
 */
const QUIET_LIMIT_MS = 75_000;
/** Beyond the first resending of webhooks and the lifetime of orders, both 15 minutes of the sandbox's time. */
export const LATER_MS = 16 * 60_000;

export interface Trial {
  stand: Stand;
  till: Till;
  random: Random;
  /** Counts from 0. */
  kill: number;
  /** The named point of this kill, or `outside`. */
  point: string;
}

export interface Outcome {
  name: string;
  seed: number;
  kills: number;
  creates: number;
  orders: number;
  /** Unacknowledged orders: canceled, or reported as paid. */
  settled: number;
  violations: Violation[];
}

/**
 * Runs a chain.
 * @param points one for each kill.
 * @param killOnce starts the server, lets it work, and returns when it was killed.
 * @param settle what has to be put right before the end, e.g. the stage of a merchant.
 */
export async function runChain(
  name: string,
  seed: number,
  points: string[],
  killOnce: (trial: Trial) => Promise<void>,
  options: { settings?: Record<string, string>; settle?: (trial: Trial) => Promise<void> } = {},
): Promise<Outcome> {
  const random = seeded(seed);
  const stand = await startStand(options.settings);
  try {
    const till = startTill(stand, random);
    for (const [kill, point] of points.entries()) {
      await killOnce({ stand, till, random, kill, point });
      // While the server is down, or else as soon as it is up again.
      if (random.chance(0.5)) till.payUnanswered();
    }
    // Sometimes once more in a row, as soon as its doors are open.
    if (random.chance(0.3)) await (await started(stand)).kill();
    await started(stand);
    await options.settle?.({ stand, till, random, kill: points.length, point: '' });
    return { ...(await finishChain(name, seed, stand, till)), kills: points.length };
  } finally {
    await stand.close();
  }
}

/** The quiet end of a running server, and the verdict. */
export async function finishChain(name: string, seed: number, stand: Stand, till: Till): Promise<Outcome> {
  const unsettled = await untilOver(stand, till);
  const history = await collect(stand, till, unsettled);
  const violations = check(history);
  if (violations.length > 0) tellAll(name, stand);
  const { orders, audits } = history;
  const settled = audits.filter((line) => line.action === 'settle').length;
  return { name, seed, kills: 0, creates: till.creates.length, orders: orders.length, settled, violations };
}

/** Beside the failed test, whose own text is short: what is printed last is what a reader of a long log finds. */
export function tellAll(name: string, stand: Stand): void {
  process.stdout.write(`what the servers of ${name} said:\n${stand.said()}\n`);
}

/**
 * Tills try again, everything is recovered, the time of all orders runs out, and every device takes one more sale.
 * @returns what was left when it should have been quiet: recovery may not wait for webhooks or for the orders' end.
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

/** A start that nothing may stop. */
export async function started(stand: Stand): Promise<Child> {
  const child = await stand.start();
  if (child === null) throw new Error('the server was killed at a start that was not armed');
  return child;
}

/** Sales in threes until the server is gone; every till that lost an answer tries again at the beginning. */
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
    // A killed process is gone a moment after its sockets.
    await Promise.race([child.gone, pause(5)]);
    if (!child.alive()) break;
    await Promise.all(till.sales.map((sale) => till.end(sale)));
    await Promise.race([child.gone, pause(between_ms)]);
  }
  await retries;
  if (child.alive()) throw new Error(`the armed point was not passed in ${ROUNDS} rounds:\n${child.output()}`);
  await child.gone;
}

/** One line of a chain, for people. */
export function summary(outcome: Outcome): string {
  const count = (...invariants: string[]) =>
    outcome.violations.filter(({ invariant }) => invariants.includes(invariant)).length;
  const { name, kills, creates, orders, settled } = outcome;
  return `${name}: ${kills} kills, ${creates} creates, ${orders} orders, ${settled} settled, ${count('I1')} lost, ${count('I3', 'I4')} orphaned, ${count('I2', 'I13', 'P2')} doubled`;
}
