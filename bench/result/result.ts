/** The result of one benchmark run: the content of its JSON file. */
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
  /** Programs that took part; only files with the same ones are compared. */
  upstream: 'nginx' | 'Node';
  load: 'wrk and own' | 'own';
  /** Engine of Puente's rows while the cases were measured. */
  engine: Engine;
  options: Record<string, unknown>;
  lines: Line[];
  /** Empty without profiles. */
  costs: Cost[];
  /** Measured ms of one fsync, by the requested delay. */
  slow_fsync_ms: Record<string, number>;
  sizes: SizeResult[] | null;
  starts: StartsResult | null;
  memory: MemoryResult | null;
  workers: WorkersResult | null;
  growth: GrowthResult[] | null;
  retention: RetentionResult[] | null;
  /** Reasons why requested measurements were not made. */
  not_measured: string[];
  checks: (Check & { where: string })[];
  faults: string[];
  goals: Goal[];
}

/** True when every answer was right and every count matches. */
export function isProved({ checks, faults }: Pick<Result, 'checks' | 'faults'>): boolean {
  return faults.length === 0 && checks.every(({ expected, found }) => expected === found);
}
