/** What one run of the benchmark found: the content of its JSON file. */
import type { Machine } from '../machine.ts';
import type { Check } from '../measures/checks.ts';
import type { Engine } from '../measures/databases.ts';
import type { GrowthResult } from '../measures/growth.ts';
import type { MemoryResult } from '../measures/memory.ts';
import type { RetentionResult } from '../measures/retention.ts';
import type { SizeResult } from '../measures/sizes.ts';
import type { StartsResult } from '../measures/starts.ts';
import type { WorkersResult } from '../measures/workers.ts';
import type { Cost } from './costs.ts';
import type { Goal } from './goals.ts';
import type { Line } from './lines.ts';

export interface Result {
  started_at: string;
  took_s: number;
  machine: Machine;
  /** Which programs took part, so that two files are compared only when they are alike. */
  upstream: 'nginx' | 'Node';
  load: 'wrk and own' | 'own';
  /** Where Puente's rows lay while the cases were measured. */
  engine: Engine;
  options: Record<string, unknown>;
  lines: Line[];
  /** Empty unless profiles were asked for. */
  costs: Cost[];
  /** Measured ms of one fsync, by the delay that was asked for. */
  slow_fsync_ms: Record<string, number>;
  sizes: SizeResult[] | null;
  starts: StartsResult | null;
  memory: MemoryResult | null;
  workers: WorkersResult | null;
  growth: GrowthResult[] | null;
  retention: RetentionResult[] | null;
  /** Why something that was asked for could not be measured. */
  not_measured: string[];
  checks: (Check & { where: string })[];
  faults: string[];
  goals: Goal[];
}

/** True when every answer was right and every count is as it must be. */
export function isProved({ checks, faults }: Pick<Result, 'checks' | 'faults'>): boolean {
  return faults.length === 0 && checks.every(({ expected, found }) => expected === found);
}
