/** One measurement: what is asked of the load generator, and what it tells. */
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
  /** Requests a second that arrive whatever becomes of the others; null: each connection asks again when it is answered. */
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
