/** The whole simulated world: the product's process and everything around it, made once and used for every run. */
import type { Log, LogFields } from '../../src/proxy/log.ts';
import { withBreaker } from '../../src/proxy/upstream/breaker.ts';
import type { Upstream } from '../../src/proxy/upstream/upstream.ts';
import { type Random, seeded } from '../crash/random.ts';
import { type Clients, createClients } from './clients.ts';
import { createSimulatedClock, type Outside, type SimulatedClock } from './clock.ts';
import type { History } from './history.ts';
import { type Life, startLife } from './life.ts';
import { createMail, type Mail } from './mail.ts';
import { createNetwork, type Network } from './network.ts';
import { createPassthrough, type Passthrough } from './passthrough.ts';
import { createReceivers, type Receivers } from './receivers.ts';
import { type Rows, readRows } from './rows.ts';
import { createService, type Service } from './service.ts';
import { config, tables } from './settings.ts';
import type { Plan } from './steps.ts';
import { type MemoryStore, openMemoryStore } from './store.ts';

/** What every invented token begins with: it must be in no log line and no answer. */
const TOKEN_MARK = 'APP_USR-4004001';

/** The state of one run, beside what the parts keep themselves. */
export interface Run {
  plan: Plan;
  life: Life | null;
  lives: number;
  /** The product's clock minus the true one. */
  skew_ms: number;
  /** Until then (true epoch ms) polls are not passed over, so that the product can see what was done to its clock. */
  watch_until: number;
  deadly: { point: string; nth: number } | null;
  /** Called when a deadly point has killed the process. */
  onDeath: () => void;
  leaks: string[];
  failures: string[];
  trace: ((text: string) => void) | null;
}

export interface SimulatedWorld {
  clock: SimulatedClock;
  memory: MemoryStore;
  service: Service;
  network: Network;
  mail: Mail;
  receivers: Receivers;
  clients: Clients;
  passthrough: Passthrough;
  rows: Rows;
  outside: Outside;
  run: Run;
  /** Empties everything and takes up a plan; `chance` gives each part its own luck. */
  begin(plan: Plan, trace: Run['trace']): void;
  startProcess(): Promise<void>;
  /** Calls, webhooks and notices that are under way. */
  underWay(): number;
  stages: History['stages'];
  clocks: History['clocks'];
  starts: History['starts'];
}

export function createSimulatedWorld(): SimulatedWorld {
  const clock = createSimulatedClock();
  const memory = openMemoryStore(clock);
  let luck: Random = seeded(0);
  const run: Run = {
    plan: { seed: 0, variant: 'V1', world: {}, product: PRODUCT, stages: [], steps: [] },
    life: null,
    lives: 0,
    skew_ms: 0,
    watch_until: 0,
    deadly: null,
    onDeath: () => undefined,
    leaks: [],
    failures: [],
    trace: null,
  };
  const draw = (): number => luck.between(0, 999_999) / 1_000_000;
  const ask: Life['ask'] = (asked, over) => {
    if (run.life !== null) return run.life.ask(asked, over);
    over(null);
    return () => undefined;
  };
  const wall = (): number => Math.floor(clock.now() + run.skew_ms);
  const rows = readRows(memory, clock.now);
  const seen = (text: string): void => {
    if (text.includes(TOKEN_MARK)) run.leaks.push(`a token is shown: ${text.slice(0, 120)}`);
  };
  const service: Service = createService(clock.now, draw, (letter) => mail.post(letter));
  const mail: Mail = createMail(clock, { ask, wall, isKept: rows.hasEvent });
  const receivers = createReceivers(clock, (delivery) => {
    seen(`${delivery.url} ${delivery.subject}`);
    world.clients.told(delivery);
  });
  const world: SimulatedWorld = {
    clock,
    memory,
    service,
    network: createNetwork(clock, service),
    mail,
    receivers,
    clients: createClients(clock, {
      ask,
      rowOf: rows.rowOf,
      thingsOf: rows.thingsOf,
      seen,
    }),
    passthrough: createPassthrough(clock, service),
    rows,
    run,
    stages: [],
    clocks: [],
    starts: [],
    outside: {
      workDue: () => (clock.now() < run.watch_until ? clock.now() : rows.workDue((wall) => wall - run.skew_ms)),
      upstreamDue: () => service.world.clock.nextDueAt(),
      upstreamPasses: () => passTo(service, clock.now()),
    },
    underWay: () => world.network.pending() + mail.pending() + receivers.pending() + world.clients.pending(),
    begin(plan, trace) {
      luck = seeded(plan.seed ^ LUCK);
      Object.assign(run, {
        plan,
        life: null,
        lives: 0,
        skew_ms: 0,
        watch_until: 0,
        deadly: null,
        leaks: [],
        failures: [],
        trace,
      });
      clock.reset();
      memory.wipe();
      service.reset(plan.world);
      world.network.reset({
        variant: plan.variant,
        random: seeded(plan.seed ^ (LUCK + 1)),
        dates_ahead_ms: plan.dates_ahead_ms ?? 0,
      });
      mail.reset(seeded(plan.seed ^ (LUCK + 2)));
      receivers.reset(seeded(plan.seed ^ (LUCK + 3)));
      world.clients.reset(seeded(plan.seed ^ (LUCK + 4)), plan.receivers_read ?? true);
      world.passthrough.reset(seeded(plan.seed ^ (LUCK + 5)));
      world.stages = [];
      world.clocks = [];
      world.starts = [];
    },
    startProcess: () => startProcess(world, luck, seen),
  };
  return world;
}

const PRODUCT: Plan['product'] = {
  declined: 'error',
  unclaimed: 'cancel-unclaimed',
  sweep: false,
  stop: 'off',
  looks: 'rarely',
};
/** How often open orders are looked at when no event comes: mostly rarer than it is set, so that runs are about events. */
const LOOKS = {
  often: { point_interval_ms: 20_000, qr_interval_ms: 40_000, max_interval_ms: 240_000 },
  rarely: { point_interval_ms: 300_000, qr_interval_ms: 300_000, max_interval_ms: 900_000 },
} as const;
/** Keeps the luck of the parts apart from the luck that made the plan. */
const LUCK = 0x5eed_0000;

/** A process that starts looks at its clock. */
const STARTING_MS = 2_000;

function passTo({ world }: Service, now: number): void {
  if (now > world.clock.now()) world.clock.advance(now - world.clock.now());
}

async function startProcess(world: SimulatedWorld, luck: Random, seen: (text: string) => void): Promise<void> {
  const { run, clock, memory } = world;
  const { declined, unclaimed, sweep, stop, looks } = run.plan.product;
  run.lives++;
  world.starts.push(world.clock.now());
  run.watch_until = clock.now() + STARTING_MS;
  run.life = await startLife(run.lives, {
    clock,
    memory,
    rows: world.rows,
    tables,
    config: {
      ...config,
      create: { ...config.create, unclaimed },
      merchants: { ...config.merchants, declined, safety_stop: stop },
      reconcile: {
        ...config.reconcile,
        ...LOOKS[looks],
        sweep_per_second: sweep ? config.reconcile.sweep_per_second : 0,
      },
    },
    skew_ms: () => run.skew_ms,
    upstream: (life) => guarded(world.network.connect(life)),
    sender: (life) => world.receivers.connect(life),
    proxy: world.passthrough.handler,
    log: watchedLog(run, seen),
    random: luck,
    isDeadly: (point) => isDeadly(run, point),
    recordsCalls: run.plan.ramps === true,
    onFailure: (error) => run.failures.push(error instanceof Error ? (error.stack ?? error.message) : String(error)),
  });
}

/** The breaker that stands before every upstream (`docs/protocol.md` P12). */
function guarded(upstream: Upstream): Upstream {
  const { breaker_failures: failures, breaker_probe_ms: probe_ms, breaker_steady_ms: steady_ms } = config.upstream_pool;
  return withBreaker({ ...upstream, close: async () => undefined }, { failures, probe_ms, steady_ms }, () => undefined);
}

function isDeadly(run: Run, point: string): boolean {
  const { deadly } = run;
  run.trace?.(`point ${point}`);
  if (deadly === null || deadly.point !== point || --deadly.nth > 0) return false;
  run.deadly = null;
  run.life = null;
  run.onDeath();
  return true;
}

/** Reads every line for secrets, and keeps those that tell of a thing that should not happen. */
function watchedLog(run: Run, seen: (text: string) => void): Log {
  const line =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      run.trace?.(`log ${level} ${message} ${JSON.stringify(fields)}`);
      for (const value of Object.values(fields)) if (typeof value === 'string') seen(value);
      const { cause = '' } = fields;
      if (/TypeError|ReferenceError|RangeError|ZodError/.test(cause)) run.failures.push(`${message}: ${cause}`);
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}
