/** One process and two on a PostgreSQL server: creates per second and processor time, useful on few cores too. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../test/listen.ts';
import { type ServerProcess, startServerProcess } from '../../test/store/postgres/server-process.ts';
import { startPuente } from '../contestants/puente.ts';
import { askLoad, startLoad } from '../load/load.ts';
import { canPin, childrenOf, cpuSeconds, TASKSET, untilQuiet } from '../machine.ts';
import type { Running } from '../processes.ts';
import { type Spread, spreadOf } from '../statistics.ts';
import { startUpstream } from '../upstream/start.ts';
import { type Check, WITH_ORDER } from './checks.ts';
import { askServer, LOOK_AT_ALL } from './databases.ts';

export interface WorkersResult {
  /** One process first, then two. */
  lines: WorkersLine[];
  /** Creates per second of two processes over those of one, as measured here. */
  measured_ratio: Spread;
  /**
   * The same ratio if each process had a core of its own: 2 × Puente's processor time per create with one process over
   * that with two. It falls when the second process waits for the first or repeats its work.
   */
  own_cores_ratio: Spread;
  /** Whether each Puente was bound to its own core; all other processes run anywhere. */
  is_pinned: boolean;
  cores: number;
  checks: Check[];
  faults: string[];
}

export interface WorkersLine {
  processes: number;
  per_second: Spread;
  puente_us: Spread;
  postgres_us: Spread;
  others_us: Spread;
}

type Measured = { [Key in Exclude<keyof WorkersLine, 'processes'>]: number };

const COUNTS = [1, 2] as const;
/** Requests in flight per process: with half as many, each of two processes would work in smaller groups. */
const IN_FLIGHT_EACH = 64;

export interface WorkersPlan {
  directory: string;
  repetitions: number;
  duration_ms: number;
  /** Approximate number of creates before each measurement. */
  warm_up: number;
  progress(text: string): void;
}

/** Null where it can be measured; otherwise the reason. */
export function workersMissing(): string | null {
  if (cpuSeconds(process.pid) === null) return 'this system does not tell the processor time of other processes';
  return availableParallelism() < 2 ? 'there is one core only' : null;
}

/** Each repetition starts both arrangements anew, one after the other, each on its own database. */
export async function measureWorkers(plan: WorkersPlan): Promise<WorkersResult> {
  const server = await startServerProcess();
  const upstream = await startUpstream(plan.directory, null);
  const load = await startLoad(plan.directory, null);
  const rest = { upstream, load, server };
  const found: [Measured[], Measured[]] = [[], []];
  const faults: string[] = [];
  const tally = { first: 1, created: 0, rows: 0 };
  for (let turn = 1; turn <= plan.repetitions; turn++) {
    for (const [place, processes] of COUNTS.entries()) {
      const measured = await measureOnce(plan, rest, processes, tally, faults);
      found[place]?.push(measured);
      plan.progress(`workers: ${processes} × Puente, ${measured.per_second.toFixed(0)} creates/s (${turn})`);
    }
  }
  load.child.disconnect();
  await upstream.stop();
  await server.stop();
  const seen = upstream.seen();
  const pairs = found[0].map((one, turn) => ({ one, two: found[1][turn] ?? one }));
  return {
    lines: COUNTS.map((processes, place) => lineOf(processes, found[place] ?? [])),
    measured_ratio: spreadOf(pairs.map(({ one, two }) => two.per_second / one.per_second)),
    own_cores_ratio: spreadOf(pairs.map(({ one, two }) => (2 * one.puente_us) / two.puente_us)),
    is_pinned: canPin(),
    cores: availableParallelism(),
    checks: [
      { what: 'rows with their order in the databases', expected: tally.created, found: tally.rows },
      { what: 'orders made upstream', expected: tally.created, found: seen.orders.length },
      { what: 'different idempotency keys upstream', expected: tally.created, found: seen.keys },
      { what: 'different sales upstream', expected: tally.created, found: new Set(seen.orders).size },
    ],
    faults,
  };
}

interface Rest {
  upstream: Running;
  load: Running;
  server: ServerProcess;
}

async function measureOnce(
  { directory, duration_ms, warm_up }: WorkersPlan,
  { upstream, load, server }: Rest,
  processes: number,
  tally: { first: number; created: number; rows: number },
  faults: string[],
): Promise<Measured> {
  const url = Object.assign(new URL(server.url), { pathname: `/puente_${tally.first}` }).href;
  await askServer(server.url, `CREATE DATABASE puente_${tally.first}`);
  const own = join(directory, `puente-${tally.first}`);
  mkdirSync(own, { recursive: true });
  const [port = '', ops_port = ''] = await freePorts(2);
  const settings = {
    PUENTE_WORKERS: String(processes),
    PUENTE_POSTGRES_URL: url,
    PUENTE_PUBLIC_PORT: port,
    PUENTE_OPS_PORT: ops_port,
  };
  const ground = { upstream: upstream.said, core: null, directory: own };
  const puente = await startPuente(ground, settings);
  const workers = processes === 1 ? [puente.pid] : childrenOf(puente.pid);
  if (canPin()) for (const [core, pid] of workers.entries()) spawnSync(TASKSET, ['-acp', String(core), String(pid)]);
  const create = async (length_ms: number) => {
    const common = { url: puente.said, case_name: 'create', targets: [], translated: true, rate: null };
    const result = await askLoad(load, {
      ...common,
      first: tally.first,
      in_flight: IN_FLIGHT_EACH * processes,
      duration_ms: length_ms,
    });
    tally.first += result.sent;
    tally.created += result.succeeded;
    faults.push(...result.faults.map((fault) => `${processes} processes: ${fault}`));
    return result;
  };
  for (const enough = tally.first + warm_up; tally.first < enough; ) await create(duration_ms);
  await askServer(url, LOOK_AT_ALL);
  const isQuiet = () => Promise.all(workers.map((pid) => untilQuiet(pid)));
  const spent = () => ({
    puente: treeSeconds(puente.pid),
    postgres: treeSeconds(server.pid),
    others: treeSeconds(upstream.pid) + treeSeconds(load.pid),
  });
  await isQuiet();
  const before = spent();
  const { sent, per_second } = await create(duration_ms);
  await isQuiet();
  const after = spent();
  const each_us = (who: keyof typeof before): number => ((after[who] - before[who]) / Math.max(1, sent)) * 1e6;
  tally.rows += Number(await askServer(url, WITH_ORDER));
  await puente.stop();
  return {
    per_second,
    puente_us: each_us('puente'),
    postgres_us: each_us('postgres'),
    others_us: each_us('others'),
  };
}

function lineOf(processes: number, measured: readonly Measured[]): WorkersLine {
  const of = (name: keyof Measured): Spread => spreadOf(measured.map((one) => one[name]));
  return {
    processes,
    per_second: of('per_second'),
    puente_us: of('puente_us'),
    postgres_us: of('postgres_us'),
    others_us: of('others_us'),
  };
}

/** Of a process and its children. */
function treeSeconds(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + (cpuSeconds(one) ?? 0), 0);
}
