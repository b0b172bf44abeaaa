/** A closed loop: each connection sends its next request when its answer has come. Shows how much a contestant can do. */
import { caseOf } from '../cases/cases.ts';
import { openConnection, type WireAnswer } from './connection.ts';
import { examiner } from './examine.ts';
import { type LoadPlan, type LoadResult, latenciesOf } from './plan.ts';

/** Runs one measurement to its end: the last request sent has been answered. It lasts at least until one was answered. */
export async function closedLoop(plan: LoadPlan): Promise<LoadResult> {
  const bench = caseOf(plan.case_name);
  const examined = examiner(bench, plan);
  const latencies: number[] = [];
  let sent = 0;
  let ends_at = 0;
  let last_at = 0;

  const one = async (): Promise<{ start(): void; ended: Promise<void> }> => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    let [n, sent_at] = [0, 0];
    const next = (): void => {
      sent_at = performance.now();
      if (sent_at >= ends_at && latencies.length > 0) {
        connection.close();
        resolve();
        return;
      }
      n = plan.first + sent++;
      connection.send(bench.request(n, examined.targetOf(n)));
    };
    const answered = (answer: WireAnswer): void => {
      const now = performance.now();
      if (now < ends_at || latencies.length === 0) {
        latencies.push(now - sent_at);
        last_at = now;
      }
      examined.take(answer, n);
      next();
    };
    const broken = (error: Error): void => {
      examined.fault(error.message);
      resolve();
    };
    const connection = await openConnection(new URL(plan.url), answered, broken);
    return { start: next, ended };
  };

  const loops = await Promise.all(Array.from({ length: plan.in_flight }, one));
  ends_at = performance.now() + plan.duration_ms;
  for (const loop of loops) loop.start();
  await Promise.all(loops.map(({ ended }) => ended));
  const measured_ms = plan.duration_ms + Math.max(0, last_at - ends_at);
  const per_second = latencies.length / (measured_ms / 1000);
  return { sent, per_second, ...examined.told(), ...latenciesOf(latencies) };
}
