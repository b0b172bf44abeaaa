/** One process that runs seeds and writes its findings to standard output, one JSON line each. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { Killed } from './clock.ts';
import type { History } from './history.ts';
import type { Violation } from './invariants.ts';
import { judge } from './judge.ts';
import { planOf } from './plan.ts';
import { type Small, shrink } from './shrink.ts';
import { createSimulatedWorld, type SimulatedWorld } from './world.ts';

const PROGRESS_EVERY = 100;

export interface Range {
  from: number;
  count: number;
  /** Step between seeds, so that several processes share a range evenly. */
  stride: number;
  /** Ends at the first violation, and shrinks its plan. */
  first: boolean;
}

export type Work = Range | { files: string[] };

export interface Tally {
  seeds: number;
  creates: number;
  orders: number;
  paid: number;
  refunds: number;
  upstream_calls: number;
  faults: number;
  webhooks: number;
  notices: number;
  restarts: number;
  moves: number;
  clock_jumps: number;
  lived_ms: number;
}

export type Line =
  /** The seed that runs now; the last such line of a failed process names its seed. */
  | { kind: 'begun'; seed: number }
  /** `small`: the smallest plan that shows it, if requested. */
  | { kind: 'violation'; seed: number; violations: Violation[]; small: Small | null }
  | { kind: 'progress'; tally: Tally }
  | { kind: 'end'; tally: Tally };

export const NOTHING: Readonly<Tally> = {
  seeds: 0,
  creates: 0,
  orders: 0,
  paid: 0,
  refunds: 0,
  upstream_calls: 0,
  faults: 0,
  webhooks: 0,
  notices: 0,
  restarts: 0,
  moves: 0,
  clock_jumps: 0,
  lived_ms: 0,
};

export function added(one: Tally, other: Tally): Tally {
  const names = Object.keys(NOTHING) as (keyof Tally)[]; // its own keys
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as unknown as Tally; // the same keys
}

/** A killed process of the simulation leaves rejected promises; any other rejection is a defect. */
export function forgiveTheDead(): void {
  process.on('unhandledRejection', (error) => {
    if (!(error instanceof Killed)) throw error;
  });
}

export async function runSeeds(range: Range, tell: (line: Line) => void): Promise<void> {
  const world = createSimulatedWorld();
  let tally: Tally = NOTHING;
  for (let index = 0; index < range.count; index++) {
    const seed = range.from + index * range.stride;
    tell({ kind: 'begun', seed });
    const plan = planOf(seed);
    const { history, violations } = await judge(world, plan);
    tally = added(tally, tallyOf(history, world));
    const small = violations.length > 0 && range.first ? await shrink(world, plan, violations) : null;
    if (violations.length > 0) tell({ kind: 'violation', seed, violations, small });
    if (tally.seeds % PROGRESS_EVERY === 0) tell({ kind: 'progress', tally });
    if (violations.length > 0 && range.first) break;
  }
  tell({ kind: 'end', tally });
}

export async function runPlans(files: string[], tell: (line: Line) => void): Promise<void> {
  const world = createSimulatedWorld();
  let tally: Tally = NOTHING;
  for (const file of files) {
    const { plan } = JSON.parse(readFileSync(file, 'utf8')) as Small; // written by `shrink`
    tell({ kind: 'begun', seed: plan.seed });
    const { history, violations } = await judge(world, plan);
    tally = added(tally, tallyOf(history, world));
    if (violations.length > 0) tell({ kind: 'violation', seed: plan.seed, violations, small: null });
  }
  tell({ kind: 'end', tally });
}

function tallyOf(history: History | null, { clock, run }: SimulatedWorld): Tally {
  if (history === null) return { ...NOTHING, seeds: 1 };
  return {
    seeds: 1,
    creates: history.calls.filter(({ what }) => what === 'sell' || what === 'probe').length,
    orders: history.orders.length,
    paid: history.orders.filter(({ payment_id, status }) => payment_id !== null && status !== 'failed').length,
    refunds: history.orders.reduce((sum, { refunds }) => sum + refunds.length, 0),
    upstream_calls: history.upstream.length,
    faults: history.upstream.filter(({ fault }) => fault !== null).length,
    webhooks: history.webhooks.length,
    notices: history.deliveries.length,
    restarts: run.lives - 1,
    moves: history.steps.filter((step) => step.do === 'move').length,
    clock_jumps: history.steps.filter((step) => step.do === 'clock').length,
    lived_ms: clock.now() - clock.startedAt(),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  forgiveTheDead();
  const work = JSON.parse(process.argv[2] ?? '') as Work; // written by `runProcess`
  const tell = (line: Line): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
  await ('files' in work ? runPlans(work.files, tell) : runSeeds(work, tell));
}
