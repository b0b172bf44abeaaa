/** One seed in detail: every step and failpoint, the violations, and the smallest plan that shows them. */
import { readFileSync } from 'node:fs';
import { START_MS } from './clock.ts';
import type { History } from './history.ts';
import { judge } from './judge.ts';
import { planOf } from './plan.ts';
import { shrink, snippet } from './shrink.ts';
import type { Plan } from './steps.ts';
import { createSimulatedWorld } from './world.ts';

/** @returns true without a violation. @param say prints one line. */
export async function showSeed(seed: number, say: (line: string) => void): Promise<boolean> {
  return showPlan(planOf(seed), say);
}

export async function showPlan(plan: Plan, say: (line: string) => void): Promise<boolean> {
  const world = createSimulatedWorld();
  const { history, violations } = await judge(world, plan, (text) => say(`${world.clock.now() - START_MS} ms ${text}`));
  if (history !== null) for (const line of linesOf(history)) say(line);
  for (const { invariant, text } of violations) say(`VIOLATION ${invariant}: ${text}`);
  if (violations.length === 0) return true;
  const small = await shrink(world, plan, violations);
  say(`The smallest plan that breaks it, for test/simulation/regressions/:\n${snippet(small)}`);
  return false;
}

export function readPlan(path: string): Plan {
  return (JSON.parse(readFileSync(path, 'utf8')) as { plan: Plan }).plan; // only `shrink` writes such files
}

/** Without bodies, which are long; times are relative to the start. */
function linesOf(history: History): string[] {
  const { links, refunds, calls, upstream, webhooks, deliveries, orders, events } = history;
  const shown = (name: string, value: unknown): unknown => {
    if (name === 'body' || name === 'ask') return undefined;
    return typeof value === 'number' && value > START_MS ? value - START_MS : value;
  };
  const parts = { links, refunds, calls, upstream, webhooks, deliveries, orders, events };
  return Object.entries(parts).flatMap(([name, lines]) =>
    lines.map((line) => `${name} ${JSON.stringify(line, shown)}`),
  );
}
