/** The costs of a large database: time until ready, a lookup, a create and the memory, at each number of links. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { databaseOf } from '../contestants/puente.ts';
import { askLoad, startLoad } from '../load/load.ts';
import { canPin, cpuSeconds, untilQuiet } from '../machine.ts';
import type { Running } from '../processes.ts';
import { type Spread, spreadOf } from '../statistics.ts';
import { startUpstream } from '../upstream/start.ts';
import type { Check } from './checks.ts';
import { countIn } from './databases.ts';
import { type LargePuente, type StartFigures, startLarge } from './large-database.ts';

export interface SizeResult extends StartFigures {
  create: Cost;
  get_final: Cost;
  check: Check;
}

interface Cost {
  per_second: Spread;
  /** Processor time of one call; steadier than the rate on a shared machine. */
  cpu_us: Spread;
}

export interface SizesPlan {
  sizes: readonly number[];
  directory: string;
  repetitions: number;
  duration_ms: number;
  progress(text: string): void;
}

const IN_FLIGHT = 64;
const WARM_UP_MS = 3000;

interface Entry extends LargePuente {
  directory: string;
  created: number;
  costs: Record<'create' | 'get-final', { per_second: number[]; cpu_us: number[] }>;
}

/**
 * All sizes run side by side and are measured in turn, so that a slow minute affects all alike.
 * @throws Error with the first wrong answer.
 */
export async function measureSizes(plan: SizesPlan): Promise<SizeResult[]> {
  const [own, shared] = canPin() ? [1, 0] : [null, null];
  const { directory, progress } = plan;
  const upstream = await startUpstream(directory, shared);
  const load = await startLoad(directory, shared);
  const field: Entry[] = [];
  for (const links of plan.sizes) {
    const place = join(directory, `links-${links}`);
    mkdirSync(place);
    const ground = { upstream: upstream.said, core: own, directory: place };
    const large = await startLarge(ground, links, (text) => progress(`sizes: ${text}`));
    progress(`sizes: ready after ${Math.round(large.figures.ready_ms)} ms with ${links} links`);
    const costs = { create: { per_second: [], cpu_us: [] }, 'get-final': { per_second: [], cpu_us: [] } };
    field.push({ ...large, directory: place, created: 0, costs });
  }
  await measureAll(plan, load, field);
  for (const { running } of field) await running.stop();
  load.child.disconnect();
  await upstream.stop();
  return field.map(({ figures, costs, created, directory: place }) => ({
    ...figures,
    create: costOf(costs.create),
    get_final: costOf(costs['get-final']),
    check: {
      what: `links in the database of ${figures.links}`,
      expected: figures.links + created,
      found: countIn(databaseOf(place), 'SELECT count(*) FROM links'),
    },
  }));
}

async function measureAll(plan: SizesPlan, load: Running, field: readonly Entry[]): Promise<void> {
  let first = 1;
  const one = async (
    entry: Entry,
    case_name: 'create' | 'get-final',
    duration_ms: number,
  ): Promise<[number, number]> => {
    const { running, ids } = entry;
    const before = cpuSeconds(running.pid) ?? Number.NaN;
    const common = { url: running.said, case_name, targets: ids, translated: true, rate: null };
    const result = await askLoad(load, { ...common, first, in_flight: IN_FLIGHT, duration_ms });
    await untilQuiet(running.pid);
    if (result.faults.length > 0) throw new Error(`sizes, ${case_name}: ${result.faults.join('; ')}`);
    first += result.sent;
    if (case_name === 'create') entry.created += result.succeeded;
    return [result.per_second, (((cpuSeconds(running.pid) ?? Number.NaN) - before) / result.sent) * 1e6];
  };
  for (const case_name of ['create', 'get-final'] as const) {
    for (const entry of field) await one(entry, case_name, WARM_UP_MS);
    for (let repetition = 0; repetition < plan.repetitions; repetition++) {
      for (const entry of field) {
        const [per_second, cpu_us] = await one(entry, case_name, plan.duration_ms);
        entry.costs[case_name].per_second.push(per_second);
        entry.costs[case_name].cpu_us.push(cpu_us);
        const { links } = entry.figures;
        plan.progress(`sizes, ${case_name}, ${links} links: ${Math.round(per_second)}/s, ${Math.round(cpu_us)} µs`);
      }
    }
  }
}

function costOf({ per_second, cpu_us }: { per_second: number[]; cpu_us: number[] }): Cost {
  return { per_second: spreadOf(per_second), cpu_us: spreadOf(cpu_us) };
}
