/** The processes of one arrangement (upstream, load generator, contestants), and one measurement of one contestant. */
import { mkdirSync } from 'node:fs';
import { caseOf, type Sale } from '../cases/cases.ts';
import { prepareSales } from '../cases/prepare.ts';
import { contestantOf, PUENTE, PUENTE_BESIDE } from '../contestants/contestants.ts';
import type { LoopDelay, Question } from '../contestants/probe.ts';
import type { LoadPlan, LoadResult } from '../load/load.ts';
import { askLoad, startLoad } from '../load/load.ts';
import { runWrk } from '../load/wrk.ts';
import { cpuSeconds, findProgram, residentMb, untilQuiet } from '../machine.ts';
import type { Running } from '../processes.ts';
import { startUpstream, type Upstream } from '../upstream/start.ts';
import { type Check, checkCounts } from './checks.ts';
import { files, onServer } from './databases.ts';

/** `one core`: the contestant alone on core 1, upstream and load on core 0; `free`: no binding. */
export type Arrangement = 'one core' | 'free';

export interface StandPlan {
  arrangement: Arrangement;
  contestants: readonly string[];
  directory: string;
  /** Extra time of each fsync of the contestants; null leaves the disk unchanged. */
  fsync_delay_us: number | null;
  /** The checkout of `PUENTE_BESIDE`, where that takes part. */
  beside?: string;
  /** Whether each Puente's rows are on a PostgreSQL server. */
  postgres?: boolean;
  /** The program of `GATEWAY`, where that takes part. */
  gateway?: string;
}

export type Asked = Pick<LoadPlan, 'case_name' | 'in_flight' | 'duration_ms' | 'rate'>;

/** The result of a measurement, and its cost for the contestant. */
export interface Measured extends LoadResult {
  generator: 'wrk' | 'own';
  /**
   * Processor time per request, of all threads and the database server, including work deferred until after the
   * answers. Background work of the server counts for the contestant measured at that time. Null: not known.
   */
  cpu_us: number | null;
  /** Time that it went on working after the last answer. */
  settled_ms: number;
  resident_mb: number | null;
  /** Its event loop delay; null where it has none or no probe. */
  loop_p99_ms: number | null;
}

export interface Stand {
  upstream: Upstream;
  contestants: ReadonlyMap<string, Running>;
  measure(contestant: string, asked: Asked): Promise<Measured>;
  /** Lets databases finish their background work, after the warm-up. */
  settle(): Promise<void>;
  /** Profiles the contestant's main thread during `work`; without JavaScript it only runs `work`. */
  profiled<Made>(contestant: string, file: string, work: () => Promise<Made>): Promise<Made>;
  resident(contestant: string): number | null;
  /** Stops everything and checks the counts. */
  close(): Promise<{ checks: Check[]; faults: string[] }>;
}

/** Duration of the check by the own generator before wrk, which reads no answers. */
const LOOK_MS = 100;

export async function openStand(plan: StandPlan): Promise<Stand> {
  mkdirSync(plan.directory, { recursive: true });
  const [own, shared] = plan.arrangement === 'one core' ? [1, 0] : [null, null];
  const upstream = await startUpstream(plan.directory, shared);
  const load = await startLoad(plan.directory, shared);
  const databases = plan.postgres === true ? await onServer(plan.directory, own) : files(plan.directory);
  const field = new Map<string, Running>();
  const { beside, gateway } = plan;
  const common = {
    ...(plan.fsync_delay_us === null ? {} : { fsync_delay_us: plan.fsync_delay_us }),
    ...(beside === undefined ? {} : { beside }),
    ...(gateway === undefined ? {} : { gateway }),
  };
  for (const name of plan.contestants) {
    const address = isPuente(name) ? await databases.addressOf(name) : null;
    const at = address === null ? {} : { postgres_url: address };
    const ground = { upstream: upstream.said, core: own, directory: plan.directory, ...common, ...at };
    field.set(name, await contestantOf(name).start(ground));
  }
  const faults: string[] = [];
  const created = new Map<string, number>();
  const add = (contestant: string, count: number) => created.set(contestant, (created.get(contestant) ?? 0) + count);
  const sales = new Map<string, Sale[]>();
  let first = 1;

  /** Each Puente reads its own sales; all others read those of this checkout's Puente. */
  const targetsOf = async (case_name: string, contestant: string): Promise<string[]> => {
    const { needs } = caseOf(case_name);
    if (needs === null) return [];
    if (needs === 'upstream') return [upstream.said];
    const { kind, count, names } = needs;
    const maker = contestant === PUENTE_BESIDE ? PUENTE_BESIDE : PUENTE;
    const puente = field.get(maker);
    if (puente === undefined)
      throw new Error(`The case ${case_name} reads what Puente made, so Puente must take part.`);
    const key = `${maker} ${kind}`;
    const made = sales.get(key) ?? (await prepareSales(puente.said, kind, first, count));
    if (!sales.has(key)) {
      sales.set(key, made);
      first += count;
      add(maker, count);
    }
    return made.map((sale) => String(sale[names]));
  };

  const measure = async (contestant: string, asked: Asked): Promise<Measured> => {
    const running = field.get(contestant);
    if (running === undefined) throw new Error(`${contestant} was not started.`);
    const case_name = contestantOf(contestant).as_create ?? asked.case_name;
    const load_plan = {
      ...asked,
      case_name,
      targets: await targetsOf(case_name, contestant),
      url: running.said,
      translated: isPuente(contestant),
    };
    const withWrk = caseOf(asked.case_name).is_repeatable && asked.rate === null && findProgram('wrk') !== null;
    if (withWrk) {
      const look = await askLoad(load, { ...load_plan, first, duration_ms: LOOK_MS, in_flight: 1 });
      first += look.sent;
      faults.push(...look.faults.map((fault) => `${contestant}, ${asked.case_name}: ${fault}`));
    }
    await untilQuiet(running.pid);
    await loopDelay(running, contestant);
    const spent = (): number | null => {
      const own_s = cpuSeconds(running.pid);
      const server_s = isPuente(contestant) ? databases.serverSeconds() : 0;
      return own_s === null || server_s === null ? null : own_s + server_s;
    };
    const before = spent();
    const plan_now: LoadPlan = { ...load_plan, first };
    const result = withWrk ? await runWrk(plan_now, shared, plan.directory) : await askLoad(load, plan_now);
    const delay = await loopDelay(running, contestant);
    const settled_ms = await untilQuiet(running.pid);
    const after = spent();
    first += result.sent;
    if (asked.case_name === 'create') add(contestant, result.succeeded);
    faults.push(...result.faults.map((fault) => `${contestant}, ${asked.case_name}: ${fault}`));
    return {
      ...result,
      generator: withWrk ? 'wrk' : 'own',
      cpu_us: before === null || after === null ? null : ((after - before) / Math.max(1, result.sent)) * 1e6,
      settled_ms,
      resident_mb: residentMb(running.pid),
      loop_p99_ms: delay?.p99_ms ?? null,
    };
  };
  return {
    upstream,
    contestants: field,
    measure,
    settle: databases.settle,
    async profiled(contestant, file, work) {
      const running = field.get(contestant);
      if (running === undefined || !isProbed(contestant)) return work();
      await askProbe(running, 'profile');
      const made = await work();
      await askProbe(running, { profile_into: file });
      return made;
    },
    resident: (contestant) => residentMb(field.get(contestant)?.pid ?? 0),
    async close() {
      for (const running of field.values()) await running.stop();
      load.child.disconnect();
      await upstream.stop();
      const checks = field.has(PUENTE) ? await checkCounts([...field.keys()], databases, upstream.seen(), created) : [];
      await databases.stop();
      return { checks, faults };
    },
  };
}

function isPuente(contestant: string): boolean {
  return contestant === PUENTE || contestant === PUENTE_BESIDE;
}

/** Event loop delay since the last request for it. */
async function loopDelay(running: Running, contestant: string): Promise<LoopDelay | null> {
  return isProbed(contestant) ? ((await askProbe(running, 'loop delay')) as LoopDelay) : null; // sent by our probe
}

export function isProbed(contestant: string): boolean {
  return contestantOf(contestant).is_node;
}

function askProbe(running: Running, question: Question): Promise<unknown> {
  return new Promise((resolve) => {
    running.child.once('message', resolve);
    running.child.send(question);
  });
}
