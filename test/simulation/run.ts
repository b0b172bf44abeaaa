/** Runs one plan from its first step to the quiet at its end, and returns the history. */
import { merchantSettings } from '../../src/proxy/routing/merchant.ts';
import { actAsBuyer, operate } from '../../src/sandbox/control.ts';
import { act, permitted, setClock, setToken } from './acts.ts';
import { bookOf, isOpen } from './books.ts';
import type { History } from './history.ts';
import { merchants, type Plan } from './steps.ts';
import type { SimulatedWorld } from './world.ts';

/** After the steps all faults end; this is the longest wait until all work is finished. */
const QUIET_WITHIN_MS = 12 * 3_600_000;
const LOOK_MS = 10 * 60_000;
/** No till calls for this long, longer than an order's lifetime, so that orders expire on their own. */
const ALONE_MS = 3 * LOOK_MS;
const SHORT_MS = 60_000;
const MOMENT_MS = 1_000;
/** The configured window in which a refund in doubt may be sent again (`docs/protocol.md` §3.5). */
const REPEAT_WINDOW_MS = 15 * 60_000;

export async function runPlan(
  world: SimulatedWorld,
  plan: Plan,
  trace: ((text: string) => void) | null = null,
): Promise<History> {
  const restore = world.clock.install();
  try {
    world.begin(plan, trace);
    await start(world);
    await introduce(world, plan);
    for (const step of plan.steps) {
      await world.clock.run(world.clock.now() + step.after_ms, world.outside);
      trace?.(`step ${JSON.stringify(step)}`);
      act(world, step);
    }
    await settle(world);
    return bookOf(world);
  } finally {
    world.run.life?.kill();
    restore();
  }
}

/** Starts the process; opening its store takes some virtual time. */
async function start(world: SimulatedWorld): Promise<void> {
  const starting = world.startProcess();
  await world.clock.run(world.clock.now() + 20, world.outside);
  await starting;
}

/** A unit of both merchants. */
const PILOT = 'point:PAX_A910__SMARTPOS0000000001';

async function introduce(world: SimulatedWorld, plan: Plan): Promise<void> {
  const { life } = world.run;
  if (life === null) throw new Error('the process did not start');
  const { ports } = life;
  const saving = merchants.map((id, index) => {
    const stage = plan.stages[index] ?? 'orders';
    world.stages.push({ at: world.clock.now(), merchant_id: id, stage });
    const merchant = {
      id,
      site: null,
      settings: merchantSettings.parse({
        stage,
        share: stage === 'canary' ? 50 : 0,
        // A share of so few units may be none, and a ramp measures what was created on orders.
        units_in: plan.ramps === true ? [PILOT] : [],
        // Webhooks contain the state of a merchant order, IPN does not.
        qr_notices: index === 0 ? 'both' : null,
      }),
      sealed_notice_url: ports.vault.seal(`https://receiver.example/notices/${id}`, 'notice-url'),
      sealed_notice_secret: null,
      sealed_credential: null,
    };
    const line = {
      at: world.clock.now(),
      who: 'simulation',
      action: 'merchant settings' as const,
      subject: id,
      reason: 'set up',
      detail: {},
    };
    return ports.store.merchants.saveMerchant(merchant, 0, line);
  });
  await world.clock.run(world.clock.now() + 50, world.outside);
  await Promise.all(saving);
}

/** Ends all faults, finishes all work, reads everything once more, and makes a last sale on every unit. */
async function settle(world: SimulatedWorld): Promise<void> {
  const { clock, network, mail, receivers, run, clients } = world;
  network.armed = [];
  network.down_until = 0;
  mail.armed = [];
  receivers.moods.clear();
  run.deadly = null;
  setClock(world, 0);
  for (const id of merchants) setToken(world, id, true);
  await clock.run(clock.now() + SHORT_MS, world.outside);
  if (run.life === null) await start(world);
  finishSome(world);
  await untilQuiet(world);
  // After that, a read of its order decides a refund in doubt.
  if (world.rows.openRefunds() > 0) await clock.run(clock.now() + REPEAT_WINDOW_MS, world.outside);
  for (const sale of [...clients.sales.keys()]) clients.lastRead(sale);
  await clock.run(clock.now() + SHORT_MS, world.outside);
  clients.probe();
  await clock.run(clock.now() + SHORT_MS, world.outside);
  await untilTold(world);
  // Where a token was missing until then, the last read was the first one.
  if (world.rows.openRefunds() > 0) await clock.run(clock.now() + REPEAT_WINDOW_MS + SHORT_MS, world.outside);
  await untilOver(world);
}

/** Every other customer pays; the other orders expire. */
function finishSome({ service }: SimulatedWorld): void {
  const open = [...service.world.orders.values()].filter((order) => isOpen(service.world.settings, order));
  for (const [index, { place, merchant_id, id }] of open.entries()) {
    if (index % 2 === 1) continue;
    const terminal = place.type === 'qr' ? undefined : service.world.terminal(merchant_id, place.terminal_id);
    if (terminal === undefined) permitted(() => actAsBuyer(service.world, id, 'pay', {}));
    else permitted(() => operate(service.world, terminal, 'pay', {}));
  }
}

async function untilQuiet(world: SimulatedWorld): Promise<void> {
  const { clock, clients } = world;
  const began = clock.now();
  while (clock.now() < began + QUIET_WITHIN_MS) {
    // A revoked token is deleted, and only a till's next call stores it again; without one, hours would pass.
    if (clock.now() === began + ALONE_MS) for (const sale of clients.sales.keys()) clients.read(sale);
    await clock.run(clock.now() + LOOK_MS, world.outside);
    const { links, notices, events } = world.rows.open();
    if (links + notices + events + world.underWay() + openUpstream(world) === 0) return;
  }
}

/** A probe that stores a revoked token again resumes waiting events, and the notices of these. */
async function untilTold({ clock, rows, outside }: SimulatedWorld): Promise<void> {
  const began = clock.now();
  const waits = (): boolean => rows.open().events + rows.open().notices > 0;
  while (waits() && clock.now() < began + LOOK_MS) await clock.run(clock.now() + SHORT_MS, outside);
}

/** Puente reads open orders as long as it runs: this waits only for calls in flight, if these are answered. */
async function untilOver({ clock, underWay, outside }: SimulatedWorld): Promise<void> {
  const began = clock.now();
  while (underWay() > 0 && clock.now() < began + SHORT_MS) await clock.run(clock.now() + MOMENT_MS, outside);
}

function openUpstream({ service }: SimulatedWorld): number {
  const orders = [...service.world.orders.values()].filter((order) => isOpen(service.world.settings, order));
  const terminals = merchants
    .flatMap((id) => service.world.terminalsOf(id))
    .filter(({ occupation }) => occupation?.kind === 'intent');
  return orders.length + terminals.length;
}
