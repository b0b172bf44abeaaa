/** One measurement: what is asked of the load generator's process, and what it answers. */
import { type Running, startProcess } from '../processes.ts';
import { percentile } from '../statistics.ts';

export interface LoadPlan {
  url: string;
  case_name: string;
  /** What the requests name in turn; empty where they name nothing. */
  targets: readonly string[];
  /** Whether Puente answers, whose words may differ from those of what it stands before. */
  translated: boolean;
  /** Number of the first request. */
  first: number;
  /** Connections, each with one request at a time. */
  in_flight: number;
  duration_ms: number;
  /** Requests a second that arrive independently of the answers; null: each connection asks again when it is answered. */
  rate: number | null;
}

/** Everything but `sent` and `succeeded` counts only what ended in time. */
export interface LoadResult extends Latencies {
  /** Requests sent, those that ended after the time included. */
  sent: number;
  /** Answered 2xx, those that ended after the time included. */
  succeeded: number;
  per_second: number;
  /** What went wrong, in words; the first few. */
  faults: string[];
}

export interface Latencies {
  p50_ms: number;
  p99_ms: number;
  p999_ms: number;
}

/** @param latencies_ms in any order; sorted in place. */
export function latenciesOf(latencies_ms: number[]): Latencies {
  latencies_ms.sort((first, second) => first - second);
  return {
    p50_ms: percentile(latencies_ms, 0.5),
    p99_ms: percentile(latencies_ms, 0.99),
    p999_ms: percentile(latencies_ms, 0.999),
  };
}

/** @param core null leaves it to the system. */
export function startLoad(directory: string, core: number | null): Promise<Running> {
  return startProcess({ name: 'load', script: 'bench/load/generator.ts', core, directory, ready: /(ready)/ });
}

/** @throws Error when the load generator ends instead of answering. */
export function askLoad(load: Running, plan: LoadPlan): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('The load generator ended.'));
    load.child.once('exit', ended);
    load.child.once('message', (result) => {
      load.child.off('exit', ended);
      resolve(result as LoadResult); // what our own process sends
    });
    load.child.send(plan);
  });
}
