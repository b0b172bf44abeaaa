/** Shrinks a failing plan: removes steps one by one, as long as the same promise stays broken. */
import type { Violation } from './invariants.ts';
import { judge } from './judge.ts';
import type { Plan, Step } from './steps.ts';
import type { SimulatedWorld } from './world.ts';

/** A plan has fewer than twenty steps; each round tries to remove each of them. */
const MOST_ROUNDS = 6;
const SHOWN = 3;

export interface Small {
  why: string[];
  plan: Plan;
}

export async function shrink(world: SimulatedWorld, plan: Plan, violations: Violation[]): Promise<Small> {
  const wanted = new Set(violations.map(({ invariant }) => invariant));
  let best = { plan, violations };
  const attempt = async (steps: Step[]): Promise<boolean> => {
    const smaller = { ...best.plan, steps };
    const { violations: left } = await judge(world, smaller);
    const same = left.filter(({ invariant }) => wanted.has(invariant));
    if (same.length === 0) return false;
    best = { plan: smaller, violations: same };
    return true;
  };
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const before = best.plan.steps.length;
    for (let index = best.plan.steps.length - 1; index >= 0; index--)
      await attempt(best.plan.steps.filter((_, at) => at !== index));
    if (best.plan.steps.length === before) break;
  }
  for (const [index, step] of best.plan.steps.entries())
    for (const simpler of simplerThan(step)) await attempt(best.plan.steps.with(index, simpler));
  return {
    why: best.violations.map(({ invariant, text }) => `${invariant}: ${text}`).slice(0, SHOWN),
    plan: best.plan,
  };
}

function simplerThan(step: Step): Step[] {
  const simpler: Step[] = [];
  if (step.after_ms > 0) simpler.push({ ...step, after_ms: 0 });
  if (step.do === 'sell' && step.copies > 1) simpler.push({ ...step, copies: 1 });
  if (step.do === 'sell' && step.patience_ms !== null) simpler.push({ ...step, patience_ms: null });
  if (step.do === 'fault' && step.times > 1) simpler.push({ ...step, times: 1 });
  if (step.do === 'mail' && step.times > 1) simpler.push({ ...step, times: 1 });
  return simpler;
}

export function snippet(small: Small): string {
  return JSON.stringify(small, null, 2);
}
