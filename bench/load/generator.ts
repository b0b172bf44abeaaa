/** The load generator, a process of its own (on its own core where there are two): a closed loop, or fixed arrivals. */
import { type BenchCase, caseOf } from '../cases/cases.ts';
import { type Connection, openConnection, type WireAnswer } from './connection.ts';
import { type LoadPlan, type LoadResult, latenciesOf } from './load.ts';

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

/**
 * Each connection sends its next request after its answer, which shows the contestant's capacity. It ends after the
 * last answer, and never before the first. The first answers of the connections are not measured: a turn of Node's event
 * loop accepts one connection (libuv pull request 3696) and serves all that it has, so the last of 64 that open at once waits for
 * as many turns, each longer than the one before. In a second of measurement these were all of the slowest hundredth.
 */
async function closedLoop(plan: LoadPlan): Promise<LoadResult> {
  const bench = caseOf(plan.case_name);
  const examined = examiner(bench, plan);
  const latencies: number[] = [];
  let sent = 0;
  let ends_at = 0;
  let last_at = 0;

  const one = async (): Promise<{ start(): void; accepted: Promise<void>; ended: Promise<void> }> => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const first = Promise.withResolvers<void>();
    let is_accepted = false;
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
      examined.take(answer, n);
      if (!is_accepted) {
        is_accepted = true;
        first.resolve();
        return;
      }
      if (now < ends_at || latencies.length === 0) {
        latencies.push(now - sent_at);
        last_at = now;
      }
      next();
    };
    const broken = (error: Error): void => {
      examined.fault(error.message);
      first.resolve();
      resolve();
    };
    const connection = await openConnection(new URL(plan.url), answered, broken);
    return { start: next, accepted: first.promise, ended };
  };
  const loops = await Promise.all(Array.from({ length: plan.in_flight }, one));
  for (const loop of loops) loop.start();
  await Promise.all(loops.map(({ accepted }) => accepted));
  ends_at = performance.now() + plan.duration_ms;
  for (const loop of loops) loop.start();
  await Promise.all(loops.map(({ ended }) => ended));
  const measured_ms = plan.duration_ms + Math.max(0, last_at - ends_at);
  const per_second = latencies.length / (measured_ms / 1000);
  return { sent, per_second, ...examined.told(), ...latenciesOf(latencies) };
}

interface Line {
  connection: Connection;
  n: number;
  due_at: number;
}

/** Interval at which due requests are sent; timers are no finer. */
const TICK_MS = 1;

/**
 * Requests at a fixed rate: the latency of independent clients. No request waits for an answer to be sent, so a slow
 * answer does not hide the wait of those behind it. A request that finds every connection taken counts from when it was
 * due. The others count from when they were sent, because a late timer is no fault of the contestant.
 */
async function arrivals(plan: LoadPlan & { rate: number }): Promise<LoadResult> {
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

interface Examiner {
  targetOf(n: number): string;
  take(answer: WireAnswer, n: number): void;
  fault(text: string): void;
  told(): Pick<LoadResult, 'succeeded' | 'faults'>;
}

/** One of this many answers is checked in full; checking all would make the load generator the bottleneck. */
const READ_EVERY = 64;
const MAX_FAULTS = 5;

function examiner(bench: BenchCase, { targets, translated, first }: LoadPlan): Examiner {
  const faults: string[] = [];
  let succeeded = 0;
  const targetOf = (n: number): string => targets[n % targets.length] ?? '';
  const fault = (text: string): void => void (faults.length < MAX_FAULTS && faults.push(text));
  return {
    targetOf,
    fault,
    take(answer, n) {
      const { status, body, length } = answer;
      if (status >= 200 && status < 300) succeeded++;
      else return fault(`request ${n} was answered ${status}: ${body?.toString('utf8').slice(0, 200)}`);
      if ((n - first) % READ_EVERY !== 0) return;
      const text = body?.toString('utf8') ?? '';
      const said = body === null ? length : JSON.parse(text);
      if (!bench.holds(said, { n, target: targetOf(n), translated }))
        fault(`request ${n} was answered with something else: ${text.slice(0, 300)}`);
    },
    told: () => ({ succeeded, faults }),
  };
}
