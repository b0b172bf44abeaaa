/** The load generator, a process of its own, on a core of its own where there are two. */
import { arrivals } from './arrivals.ts';
import { closedLoop } from './closed-loop.ts';
import type { LoadPlan } from './plan.ts';

process.on('message', (plan: LoadPlan) => {
  const { rate } = plan;
  (rate === null ? closedLoop(plan) : arrivals({ ...plan, rate })).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`The load generator failed: ${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
process.stdout.write('load generator ready\n');
