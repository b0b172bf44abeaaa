/** Runs a plan and judges what it left behind. */
import type { History } from './history.ts';
import { check, type Violation } from './invariants.ts';
import { runPlan } from './run.ts';
import type { Plan } from './steps.ts';
import type { SimulatedWorld } from './world.ts';

/** A plan that breaks the simulation itself is a violation too: it may be the product's doing. */
export async function judge(
  world: SimulatedWorld,
  plan: Plan,
  trace: ((text: string) => void) | null = null,
): Promise<{ history: History | null; violations: Violation[] }> {
  try {
    const history = await runPlan(world, plan, trace);
    return { history, violations: check(history) };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { history: null, violations: [{ invariant: 'run', text }] };
  }
}
