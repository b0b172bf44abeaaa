/** The load generator, a process of its own: a closed loop in which each connection sends the next request when its answer has come. */
import { type BenchCase, caseOf } from './cases.ts';
import { type Connection, openConnection, type WireAnswer } from './connection.ts';
import { percentile } from './statistics.ts';

/** One measurement, as the parent asks for it. */
export interface LoadPlan {
  url: string;
  case_name: string;
  /** Number of the first request. */
  first: number;
  in_flight: number;
  duration_ms: number;
}

/** What came of it. Latencies are milliseconds; everything but `sent` and `succeeded` counts only what ended in time. */
export interface LoadResult {
  /** Requests sent, those that ended after the time included. */
  sent: number;
  /** Answered 2xx, those that ended after the time included. */
  succeeded: number;
  per_second: number;
  p50_ms: number;
  p99_ms: number;
  /** What went wrong, in words; the first few. */
  faults: string[];
}

/** Every so many answers one is read whole and checked; reading all of them would make this process the bottleneck. */
const CHECKED_EVERY = 64;
const MAX_FAULTS = 5;

/** Runs one measurement to its end: the last request sent has been answered. */
async function run(plan: LoadPlan): Promise<LoadResult> {
  const bench = caseOf(plan.case_name);
  const latencies: number[] = [];
  const faults: string[] = [];
  const fault = (text: string): void => void (faults.length < MAX_FAULTS && faults.push(text));
  let [sent, succeeded] = [0, 0];
  let ends_at = 0;

  const one = async (): Promise<{ start(): void; ended: Promise<void> }> => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    let [n, sent_at] = [0, 0];
    const next = (): void => {
      sent_at = performance.now();
      if (sent_at >= ends_at) {
        connection.close();
        resolve();
        return;
      }
      n = plan.first + sent++;
      connection.send(bench.request(n));
    };
    const answered = (answer: WireAnswer): void => {
      const now = performance.now();
      if (now < ends_at) latencies.push(now - sent_at);
      if (answer.status >= 200 && answer.status < 300) succeeded++;
      const wrong = check(bench, answer, n);
      if (wrong !== null) fault(wrong);
      next();
    };
    const broken = (error: Error): void => {
      fault(error.message);
      resolve();
    };
    const connection: Connection = await openConnection(new URL(plan.url), answered, broken);
    return { start: next, ended };
  };

  const loops = await Promise.all(Array.from({ length: plan.in_flight }, one));
  ends_at = performance.now() + plan.duration_ms;
  for (const loop of loops) loop.start();
  await Promise.all(loops.map(({ ended }) => ended));
  latencies.sort((first, second) => first - second);
  return {
    sent,
    succeeded,
    per_second: latencies.length / (plan.duration_ms / 1000),
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
    faults,
  };
}

/** What is wrong with the answer to request `n`; null when nothing is. */
function check(bench: BenchCase, { status, body }: WireAnswer, n: number): string | null {
  if (status < 200 || status >= 300)
    return `request ${n} was answered ${status}: ${body.toString('utf8').slice(0, 200)}`;
  if (n % CHECKED_EVERY !== 0) return null;
  const text = body.toString('utf8');
  return bench.holds(JSON.parse(text), n)
    ? null
    : `request ${n} was answered with something else: ${text.slice(0, 200)}`;
}

process.on('message', (plan: LoadPlan) => {
  run(plan).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`The load generator failed: ${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
process.stdout.write('load generator ready\n');
