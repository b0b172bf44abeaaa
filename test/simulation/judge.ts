/** Runs a plan and checks its history. */
import type { History } from './history.ts';
import { check, type Violation } from './invariants.ts';
import { runPlan } from './run.ts';
import type { Plan } from './steps.ts';
import type { SimulatedWorld } from './world.ts';

/** An error of the simulation itself is a violation too: the product may have caused it. */
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
