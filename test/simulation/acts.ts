/** Applies each step of a plan to the world, without waiting for its effects. */
import { PuenteError } from '../../src/error.ts';
import { SOLE_OWNER } from '../../src/ops/api/person.ts';
import { moveStage } from '../../src/ops/moves/move.ts';
import { changeRamp, startRamp, viewRamps } from '../../src/ops/moves/ramp.ts';
import { stepRamp } from '../../src/ops/moves/ramp-steps.ts';
import type { Ports } from '../../src/ops/ports.ts';
import { resetStop } from '../../src/ops/safety.ts';
import { createCache, createKeyedMutex } from '../../src/proxy/concurrency.ts';
import { addToken } from '../../src/sandbox/cast.ts';
import { actAsBuyer as buy, operate } from '../../src/sandbox/control.ts';
import { hashOf } from '../../src/sandbox/world.ts';
import { tokenOf } from './asks.ts';
import { Killed } from './clock.ts';
import { RAMP } from './invariants/ramps.ts';
import { merchants, type Step, tills } from './steps.ts';
import type { SimulatedWorld } from './world.ts';

/** Longest wait of a stop for calls in flight. */
const STOP_MS = 30_000;
/** Longer than the five seconds between two checks of the clock by the product. */
const SEEN_WITHIN_MS = 6_000;
const NOBODYS_ORDER = 'ORD00123456789ABCDEFGHJKMNPQR';

type Acts = { readonly [What in Step['do']]: (world: SimulatedWorld, step: Extract<Step, { do: What }>) => void };

const acts: Acts = {
  sell: ({ clients }, step) => clients.sell(step),
  again: ({ clients }, { sale, patience_ms }) => clients.again(sale, patience_ms),
  read: ({ clients }, { sale }) => clients.read(sale),
  cancel: ({ clients }, { sale }) => clients.cancel(sale),
  refund: ({ clients }, step) => clients.refund(step),
  'refund again': ({ clients }, { sale, patience_ms }) => clients.refundAgain(sale, patience_ms),
  spy: ({ clients }, { sale }) => clients.spy(sale),
  terminal: actAtTerminal,
  buyer: actAsBuyer,
  wait: () => undefined,
  move,
  ramp,
  look: (world) => attempt(world, 'a look', lookAtRamps),
  trip,
  kill,
  stop,
  clock: (world, { by_ms }) => setClock(world, world.run.skew_ms + by_ms),
  fault: ({ network }, { call, what, times }) => void network.armed.push({ call, what, times }),
  mail: (world, { what, times }) => void world.mail.armed.push({ what, times }),
  forge,
  resend: (world, { nth }) => world.mail.resend(nth),
  receiver: ({ receivers, clock }, { merchant, mood, for_ms }) =>
    void receivers.moods.set(merchantAt(merchant), { mood, until: clock.now() + for_ms }),
  outage: ({ network, clock }, { for_ms }) => {
    network.down_until = clock.now() + for_ms;
  },
  token: (world, { merchant, good }) => setToken(world, merchantAt(merchant), good),
};

export function act<What extends Step['do']>(world: SimulatedWorld, step: Extract<Step, { do: What }>): void {
  const does = acts[step.do as What]; // the table has one for each
  does(world, step);
}

function merchantAt(index: number): string {
  return merchants[index % merchants.length] ?? merchants[0];
}

export function setToken({ service }: SimulatedWorld, id: string, good: boolean): void {
  if (good) addToken(service.world, tokenOf(id), id, false);
  else service.world.tokens.delete(hashOf(tokenOf(id)));
}

/** Sets the machine's wall clock, possibly between two of the product's checks. */
export function setClock(world: SimulatedWorld, skew_ms: number): void {
  const { run, clock } = world;
  if (skew_ms !== run.skew_ms) world.clocks.push({ at: clock.now(), by_ms: skew_ms - run.skew_ms });
  run.skew_ms = skew_ms;
  run.watch_until = clock.now() + SEEN_WITHIN_MS;
}

/** A person's action at a terminal; an impossible one is ignored. */
function actAtTerminal({ service }: SimulatedWorld, step: Extract<Step, { do: 'terminal' }>): void {
  const till = tills[step.till % tills.length] ?? tills[0];
  const terminal = service.world.terminal(merchants[till.merchant], till.unit);
  if (terminal !== undefined) permitted(() => operate(service.world, terminal, step.act, {}));
}

/** The longest that a buyer decides whether to pay; then a locked order ends, if it has expired. */
const DECIDES_WITHIN_MS = 4 * 60_000;

function actAsBuyer({ service, clients, clock }: SimulatedWorld, step: Extract<Step, { do: 'buyer' }>): void {
  const sale = clients.sales.get(step.sale);
  if (sale === undefined || sale.kind === 'point') return;
  const order = [...service.world.orders.values()].findLast(
    ({ merchant_id, transaction }) =>
      merchant_id === sale.merchant_id && transaction.amount_minor === sale.amount_minor,
  );
  const does = (what: typeof step.act): void => permitted(() => buy(service.world, order?.id ?? '', what, {}));
  does(step.act);
  if (step.act === 'lock') clock.after(DECIDES_WITHIN_MS, () => does('unlock'));
}

export function permitted(deed: () => void): void {
  try {
    deed();
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
  }
}

/** Work of an operator or a loop in the process that runs; a refusal is an answer. */
function attempt(world: SimulatedWorld, what: string, work: (ports: Ports) => Promise<void>): void {
  if (world.run.life === null) return;
  work(world.run.life.ports).catch((error: unknown) => {
    if (error instanceof PuenteError || error instanceof Killed) return;
    world.run.failures.push(`${what} failed: ${String(error)}`);
  });
}

const REASON = 'the simulation says so';

function ramp(world: SimulatedWorld, step: Extract<Step, { do: 'ramp' }>): void {
  const id = merchantAt(step.merchant);
  attempt(world, 'a ramp', async (ports) => {
    const [open] = await viewRamps(ports, { merchant: [id], open: 'true', limit: 1 });
    const whom = step.of_all === true ? [...merchants] : [id];
    if (open === undefined) await startRamp(ports, { merchants: whom, ...RAMP, reason: REASON }, SOLE_OWNER);
    else if (step.pauses) await changeRamp(ports, open.id, 'pause', REASON, SOLE_OWNER);
    else if (open.state === 'paused') {
      for (const { merchant_id } of open.merchants) await reset(ports, merchant_id);
      await changeRamp(ports, open.id, 'resume', REASON, SOLE_OWNER);
    }
  });
}

async function reset(ports: Ports, id: string): Promise<void> {
  const { revision = 0, trips = {} } = (await ports.store.merchants.merchant(id)) ?? {};
  const ask = { kind: 'intents', reason: REASON, revision } as const;
  if (trips.intents !== undefined) await resetStop(ports, id, ask, SOLE_OWNER.name);
}

/** Twice at once, as two processes on one store do: they share no mutex, and each counts for itself. */
async function lookAtRamps(ports: Ports): Promise<void> {
  const other: Ports = { ...ports, memory: { ...ports.memory, mutex: createKeyedMutex(), cache: createCache() } };
  for (const { id, state } of await viewRamps(ports, { open: 'true', limit: 100 }))
    if (state === 'running') await Promise.all([stepRamp(ports, id), stepRamp(other, id)]);
}

function trip(world: SimulatedWorld, step: Extract<Step, { do: 'trip' }>): void {
  const id = merchantAt(step.merchant);
  attempt(world, 'a stop', async (ports) => {
    const merchant = await ports.store.merchants.merchant(id);
    if (merchant === null) return;
    const { revision } = merchant;
    const at = ports.clock.now();
    const evidence = { calls: 9, faults: 9, slow: 0, window_ms: 60_000, sample: null };
    const line = {
      at,
      who: 'puente',
      action: 'safety stop',
      subject: id,
      reason: REASON,
      detail: { kind: 'intents' },
    } as const;
    await ports.store.merchants.saveTrips(id, { intents: { at, why: REASON, evidence } }, revision, line);
  });
}

function move(world: SimulatedWorld, step: Extract<Step, { do: 'move' }>): void {
  const id = merchantAt(step.merchant);
  attempt(world, 'a move', async (ports) => {
    const revision = (await ports.store.merchants.merchant(id))?.revision ?? 0;
    const share = step.stage === 'canary' ? { share: 50 } : {};
    const target = { stage: step.stage, ...share, override: true, new: true, reason: REASON, revision };
    world.stages.push({ at: world.clock.now(), merchant_id: id, stage: step.stage });
    await moveStage(ports, id, target, SOLE_OWNER);
  });
}

/** Kills the process now or at the n-th pass of a failpoint, and restarts it later. */
function kill(world: SimulatedWorld, { point, nth, down_ms }: Extract<Step, { do: 'kill' }>): void {
  const { run } = world;
  const again = (): void => void world.clock.after(down_ms, () => void restart(world));
  if (point === null) {
    if (run.life === null) return;
    run.life.kill();
    run.life = null;
    again();
  } else if (run.deadly === null) {
    run.deadly = { point, nth };
    run.onDeath = again;
  }
}

/** As on SIGTERM: calls in flight may end before the process does. */
function stop(world: SimulatedWorld, { down_ms }: Extract<Step, { do: 'stop' }>): void {
  const { life } = world.run;
  if (life === null) return;
  world.run.life = null;
  let over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    life.kill();
    world.clock.after(down_ms, () => void restart(world));
  };
  void life.stop().then(end);
  world.clock.after(STOP_MS, end);
}

async function restart(world: SimulatedWorld): Promise<void> {
  if (world.run.life === null) await world.startProcess();
}

/** A forged webhook about a sale's order, or about an order that does not exist. */
function forge({ clients, mail, rows }: SimulatedWorld, step: Extract<Step, { do: 'forge' }>): void {
  const sale = clients.sales.get(step.sale);
  const id = sale?.legacy_id ?? null;
  const order_id = (id === null ? null : rows.orderOf(id)) ?? NOBODYS_ORDER;
  mail.forge(order_id, sale?.merchant_id ?? merchants[0], 'sale-1', step.action, step.signed);
}
