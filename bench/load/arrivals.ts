/** Requests that arrive at a fixed rate, whatever becomes of the others: the latency that clients see who do not know of each other. */
import { caseOf } from '../cases/cases.ts';
import { type Connection, openConnection, type WireAnswer } from './connection.ts';
import { examiner } from './examine.ts';
import { type LoadPlan, type LoadResult, latenciesOf } from './plan.ts';

interface Line {
  connection: Connection;
  n: number;
  due_at: number;
}

/** Requests that are due are sent this often; timers know nothing finer. */
const TICK_MS = 1;

/**
 * Nothing waits for an answer to be sent, so no slow answer hides the wait of those behind it: a request that finds every
 * connection taken counts from when it was due. Of the others the timer's own lateness is no fault of the contestant, so
 * they count from when they were sent.
 */
export async function arrivals(plan: LoadPlan & { rate: number }): Promise<LoadResult> {
  const bench = caseOf(plan.case_name);
  const examined = examiner(bench, plan);
  const latencies: number[] = [];
  const free: Line[] = [];
  const waiting: number[] = [];
  const all_ended = Promise.withResolvers<void>();
  const total = Math.round((plan.rate * plan.duration_ms) / 1000);
  let [sent, ended] = [0, 0];

  const send = (line: Line, due_at: number): void => {
    line.n = plan.first + sent++;
    line.due_at = due_at;
    line.connection.send(bench.request(line.n, examined.targetOf(line.n)));
  };
  const finish = (): void => {
    if (++ended === total) all_ended.resolve();
  };
  const open = async (): Promise<void> => {
    const answered = (answer: WireAnswer): void => {
      latencies.push(performance.now() - line.due_at);
      examined.take(answer, line.n);
      const next = waiting.shift();
      if (next === undefined) free.push(line);
      else send(line, next);
      finish();
    };
    const broken = (error: Error): void => {
      examined.fault(error.message);
      all_ended.resolve();
    };
    const line: Line = { connection: await openConnection(new URL(plan.url), answered, broken), n: 0, due_at: 0 };
    free.push(line);
  };
  await Promise.all(Array.from({ length: plan.in_flight }, open));
  const lines = [...free];

  const started_at = performance.now();
  let arrived = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    const due = Math.min(total, Math.floor(((now - started_at) * plan.rate) / 1000));
    for (; arrived < due; arrived++) {
      const line = free.pop();
      if (line === undefined) waiting.push(now);
      else send(line, performance.now());
    }
    if (arrived === total) clearInterval(timer);
  }, TICK_MS);
  await all_ended.promise;
  clearInterval(timer);
  for (const { connection } of lines) connection.close();
  const per_second = latencies.length / ((performance.now() - started_at) / 1000);
  return { sent, per_second, ...examined.told(), ...latenciesOf(latencies) };
}
