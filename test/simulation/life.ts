/** One run of the product's process: its ports, loops and doors, until it is stopped or killed. */
import type { RequestHandler } from 'express';
import { createPorts } from '../../src/app/ports.ts';
import { startLoops } from '../../src/app/work.ts';
import type { Config } from '../../src/config/config.ts';
import type { LoadedTables } from '../../src/mapping/tables.ts';
import type { Ports, Store } from '../../src/ops/ports.ts';
import { createAfter } from '../../src/proxy/http/after-answer.ts';
import { createExchanges, type Exchanges } from '../../src/proxy/http/exchange.ts';
import { legacyRouter } from '../../src/proxy/http/legacy.ts';
import { webhookRouter } from '../../src/proxy/http/webhooks.ts';
import type { Log } from '../../src/proxy/log.ts';
import type { Sender } from '../../src/proxy/notices/delivery.ts';
import type { ProcessMemory } from '../../src/proxy/process-memory.ts';
import type { Upstream } from '../../src/proxy/upstream/upstream.ts';
import { createVault, Secret, type Vault } from '../../src/proxy/vault.ts';
import { portsOf } from '../../src/store/engine.ts';
import type { Random } from '../crash/random.ts';
import { methodsOf, withMethods } from '../store/with-methods.ts';
import { Killed, type SimulatedClock } from './clock.ts';
import { type Ask, type Reply, SimulatedResponse, simulatedRequest } from './door.ts';
import type { Rows, WorkKind } from './rows.ts';
import { WEBHOOK_SECRET } from './service.ts';
import type { MemoryStore, Pen } from './store.ts';

export interface Surroundings {
  clock: SimulatedClock;
  memory: MemoryStore;
  rows: Rows;
  config: Config;
  tables: LoadedTables;
  /** Offset of the process's own clock from the true time. */
  skew_ms(): number;
  upstream(life: Life): Upstream;
  sender(life: Life): Sender;
  proxy: RequestHandler;
  log: Log;
  random: Random;
  /** True when the process must be killed at this failpoint now. */
  isDeadly(point: string): boolean;
  /** Calls are recorded as evidence of ramps, which makes a run slower. */
  recordsCalls: boolean;
  onFailure(error: unknown): void;
}

export interface Life {
  number: number;
  isAlive(): boolean;
  ports: Ports;
  /** A call at the public door; `over` gets null when the process is killed first. Returns a function that hangs up. */
  ask(ask: Ask, over: (reply: Reply | null) => void): () => void;
  kill(): void;
  /** Finishes work in flight, and ends. */
  stop(): Promise<void>;
}

interface Doors {
  legacy: RequestHandler;
  webhooks: RequestHandler;
}

/** The legacy door of one world: its routes are made once, each call is served by the process that runs then. */
let shared: { world: Pick<Surroundings, 'tables' | 'proxy'>; ports: Ports; router: RequestHandler } | null = null;

function legacyDoor({ tables, proxy }: Surroundings, ports: Ports): RequestHandler {
  if (shared?.world.tables === tables && shared.world.proxy === proxy) {
    shared.ports = ports;
    return shared.router;
  }
  const current = {
    get ports(): Ports {
      return shared?.ports ?? ports;
    },
  };
  const door = Object.assign(current, { proxy, body_limit_bytes: 65_536 });
  shared = { world: { tables, proxy }, ports, router: legacyRouter(door) };
  return shared.router;
}

/** Findings of a recorded call: the simulation evaluates none. Each call has an equal one on legacy, so that lanes compare. */
const UNREAD = { cells: [], lost: [], differences: [], compared: false };

/** About what a call on orders takes with no fault: one that is repeated is slow beside it. */
const SLOWEST_ON_LEGACY_MS = 200;

const KEY = new Secret('a key of the simulation, long enough for one');
let vault: Vault | null = null;

/** Starts the process; its loops run with the clock. */
export async function startLife(number: number, world: Surroundings): Promise<Life> {
  const { clock, memory, config } = world;
  let alive = true;
  let pen: Pen | null = null;
  const open = new Set<(reply: null) => void>();
  const life = { number, isAlive: () => alive };
  const kill = (): void => {
    if (!alive) return;
    alive = false;
    pen?.drop();
    clock.forgetProcess();
    for (const over of [...open]) over(null);
  };
  const failpoint = (point: string): void => {
    if (!alive || !world.isDeadly(point)) return;
    kill();
    throw new Killed(point);
  };
  const now = (): number => Math.floor(clock.now() + world.skew_ms());
  pen = memory.open({ now, random: world.random, failpoint });
  await pen.ready;
  const ports = runtimeOf(world, number, { now, life: life as Life, failpoint });
  const doors: Doors = {
    legacy: legacyDoor(world, ports),
    webhooks: webhookRouter({
      ports,
      secret: new Secret(WEBHOOK_SECRET),
      unverified: 'read',
      waiting_limit: 10_000,
    }),
  };
  const exchanges = createExchanges(ports, createAfter());
  const sender = world.sender(life as Life);
  const started = startLoops(ports, config, { notice: () => undefined }, sender, 'https://puente.example', null);
  const whole: Life = {
    ...life,
    ports,
    ask: (ask, over) => (alive ? answer(doors, exchanges, world, open, ask, over) : refuse(over)),
    kill,
    async stop() {
      await exchanges.settled();
      await started.stop();
      kill();
    },
  };
  return whole;
}

function refuse(over: (reply: null) => void): () => void {
  over(null);
  return () => undefined;
}

function answer(
  { legacy, webhooks }: Doors,
  exchanges: Exchanges,
  world: Surroundings,
  open: Set<(reply: null) => void>,
  ask: Ask,
  over: (reply: Reply | null) => void,
): () => void {
  const request = simulatedRequest(ask);
  let told = false;
  const response: SimulatedResponse = new SimulatedResponse(request, (reply) => {
    if (told) return;
    end(reply);
    world.clock.after(1, () => response.close());
  });
  const end = (reply: Reply | null): void => {
    told = true;
    open.delete(died);
    over(reply);
  };
  const died = (): void => {
    response.cut();
    if (!told) end(null);
  };
  open.add(died);
  const failed = (error?: unknown): void => {
    if (error instanceof Killed) return;
    world.onFailure(error ?? new Error(`no door for ${ask.method} ${ask.url}`));
    response.status(500).end('');
  };
  const handled = [request, response.asExpress()] as const;
  if (ask.url.startsWith('/webhooks/')) webhooks(...handled, failed);
  else exchanges.open(...handled, () => legacy(...handled, failed));
  return () => {
    if (told) return;
    told = true;
    open.delete(died);
    response.close();
  };
}

interface Given {
  now: () => number;
  life: Life;
  failpoint: (point: string) => void;
}

function runtimeOf(world: Surroundings, number: number, { now, life, failpoint }: Given): Ports {
  const { clock, config, tables, log, random } = world;
  vault ??= createVault(KEY);
  const draw = (): number => random.between(0, 999_999) / 1_000_000;
  const upstream = world.upstream(life);
  const store = mortal(unasked(world), life.isAlive);
  const ports = createPorts(config, {
    store,
    upstreams: { orders: upstream, legacy: upstream },
    tables,
    vault,
    clock: {
      now,
      sleep: (duration_ms) => new Promise((resolve) => clock.after(duration_ms, () => life.isAlive() && resolve())),
      monotonic: clock.now,
    },
    random: draw,
    log,
    count: () => undefined,
    evidence: {
      finished(exchange) {
        if (!world.recordsCalls) return;
        const call = { ...exchange, ...UNREAD };
        const legacy = { lane: 'legacy', duration_ms: Math.min(call.duration_ms, SLOWEST_ON_LEGACY_MS) } as const;
        void store.exchanges.recordExchanges([call, { ...call, id: `legacy of ${exchange.id}`, ...legacy }]);
      },
      shadowed: () => undefined,
      coming: () => undefined,
      settled: async () => undefined,
    },
    failpoint,
  });
  ports.memory.ids = { ...seededIds(random), boot: `boot-${number}`, random: draw };
  return ports;
}

/** Ids in their usual forms, from the run's own randomness, so that a seed always gives the same ones. */
function seededIds(random: Random): Pick<ProcessMemory['ids'], 'legacyId' | 'number' | 'idempotencyKey'> {
  const hex = (digits: number): string => {
    let text = '';
    while (text.length < digits) text += random.between(0, 0xffff).toString(16).padStart(4, '0');
    return text.slice(0, digits);
  };
  let number = 0;
  return {
    legacyId: (now) => {
      const time = now.toString(16).padStart(12, '0');
      return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
    },
    number: (now) => {
      number = Math.max(number + 1, 8_000_000_000_000_000 + (now % 100_000_000_000) * 1_000);
      return number;
    },
    idempotencyKey: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}

/**
 * Answers polls without a query when no work is due: most polls are of this kind, and would cost more than the rest.
 */
function unasked({ memory, rows }: Surroundings): Store {
  const { store } = memory;
  const nothing = Promise.resolve([]);
  const isIdle = (kind: WorkKind, now: number): boolean => (rows.dueOf(kind) ?? Number.POSITIVE_INFINITY) > now;
  return withMethods(store, {
    dueLinks: (...asked) => (isIdle('links', asked[0]) ? nothing : store.links.dueLinks(...asked)),
    dueEvents: (...asked) => (isIdle('events', asked[0]) ? nothing : store.events.dueEvents(...asked)),
    dueNotices: (...asked) => (isIdle('notices', asked[0]) ? nothing : store.notices.dueNotices(...asked)),
    bulkMoves: (...asked) => (asked[0].is_ramp === undefined ? nothing : store.moves.bulkMoves(...asked)), // not for their loop
  });
}

/** The store for one process: after a kill it reads, writes and answers nothing. */
function mortal(store: Store, isAlive: () => boolean): Store {
  const never = new Promise<never>(() => undefined);
  const wrapped = Object.entries(methodsOf(store)).map(([name, method]) => [
    name,
    (...given: unknown[]) => {
      if (!isAlive()) return never;
      const result: unknown = (method as (...given: unknown[]) => unknown)(...given);
      if (!(result instanceof Promise)) return result;
      return result.then(
        (value) => (isAlive() ? value : never),
        (error) => (isAlive() ? Promise.reject(error) : never),
      );
    },
  ]);
  return portsOf(Object.fromEntries(wrapped)); // the same methods, by name
}
