/** One measurement: the plan for the load generator's process, and its result. */
import { type Running, startProcess } from '../processes.ts';
import { percentile } from '../statistics.ts';

export interface LoadPlan {
  url: string;
  case_name: string;
  /** Targets that the requests name in turn; empty where they name none. */
  targets: readonly string[];
  /** Whether Puente answers, whose answers may differ from upstream's. */
  translated: boolean;
  first: number;
  /** Connections, each with one request at a time. */
  in_flight: number;
  duration_ms: number;
  /** Requests a second, independent of the answers; null: each connection sends again after its answer. */
  rate: number | null;
}

/** All except `sent` and `succeeded` count only requests that ended in time. */
export interface LoadResult extends Latencies {
  /** Includes requests that ended after the time. */
  sent: number;
  /** Answered 2xx, including requests that ended after the time. */
  succeeded: number;
  per_second: number;
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
      resolve(result as LoadResult); // sent by the generator
    });
    load.child.send(plan);
  });
}
