/** Reaches each crash point of `docs/protocol.md` §3.4: by a failpoint, or by a kill from the parent. */
import { setTimeout as pause } from 'node:timers/promises';
import { call, OPS_TOKEN } from '../kit.ts';
import { MERCHANT, readBacklog } from './books.ts';
import { sellUntilGone, started, type Trial } from './chain.ts';
import type { Build, Child } from './child.ts';
import type { Random } from './random.ts';
import type { Stand } from './stand.ts';

/** Recovery of a row starts only after its own call must have ended, and a loaded machine is slow. */
const RECOVERY_LIMIT_MS = 20_000;

export type Killer = (trial: Trial) => Promise<void>;

export const atPoint: Killer = async (trial) => {
  const child = await trial.stand.start(armed(trial));
  if (child !== null) await sellUntilGone(trial, child);
};

/** As `atPoint`; every sale ends at its terminal, and rounds are far enough apart for its webhook. */
export const atEvent: Killer = async (trial) => {
  const child = await trial.stand.start(armed(trial));
  const endings = ['pay', 'decline', 'cancel at terminal'] as const;
  if (child !== null) await sellUntilGone(trial, child, { endings, between_ms: 400 });
};

export const duringCall: Killer = (trial) =>
  trial.kill % 2 === 0 ? beforeUpstreamActs(trial) : beforeAnswerRead(trial);

/** C3: the POST has reached the upstream, which acts on it later or never. */
const beforeUpstreamActs: Killer = async (trial) => {
  const { stand, random } = trial;
  const kind = random.pick(['delay', 'delay', 'no_answer']);
  const child = await started(stand);
  stand.fault({ method: 'POST', path: '/v1/orders', kind, when: 'before', delay_ms: 120, times: 'always' });
  const posted = () => stand.sandbox.world.request_log.list().filter((line) => line.path === '/v1/orders').length;
  await killWhen(trial, child, posted, random.between(0, 100));
};

/** C4: the upstream has acted, and its answer is delayed or cut off. */
const beforeAnswerRead: Killer = async (trial) => {
  const { stand, random } = trial;
  const kind = random.pick(['delay', 'delay', 'reset', 'truncate']);
  const child = await started(stand);
  stand.fault({ method: 'POST', path: '/v1/orders', kind, when: 'after', delay_ms: 500, times: 'always' });
  const orders = () => stand.sandbox.world.orders.size;
  await killWhen(trial, child, orders, kind === 'delay' ? random.between(0, 100) : random.between(0, 600));
};

export const anywhere: Killer = (trial) => killAnywhere(trial);

export function killedAnywhere(build: Build): Killer {
  return (trial) => killAnywhere(trial, build);
}

async function killAnywhere(trial: Trial, build?: Build): Promise<void> {
  const { stand, random } = trial;
  const child = await startUnderThreat(stand, random, build);
  if (child === null) return;
  const kind = random.pick(['reset', 'truncate', 'delay', 'error', 'html', null]);
  const when = random.pick(['before', 'after']);
  const rule = { method: 'POST', path: '/v1/orders*', when, delay_ms: 200, status: 500, code: 'internal_error' };
  if (kind !== null) stand.fault({ ...rule, kind, nth: random.between(1, 4), times: random.between(1, 3) });
  await sellUntilGone(trial, child);
  stand.sandbox.world.faults.length = 0;
}

/** Duration of a start here, so that some kills within this time hit the start. */
const START_MS = 400;
/** Longest work before the kill, as a multiple of the start before it: a slow machine works slowly too. */
const SOON = 1;
const LATER = 2.5;
/** Less than all rounds of the tills take. */
const MOST_MS = 900;

/** Starts a server and kills it at a random moment: null when that was before its doors were open. */
export async function startUnderThreat(stand: Stand, random: Random, build?: Build): Promise<Child | null> {
  const within = random.chance(0.15) ? random.between(20, START_MS) : null;
  const begun = performance.now();
  const starting = stand.start(undefined, build);
  if (within !== null) setTimeout(stand.killStarting, within);
  const child = await starting;
  const most_ms = Math.min(MOST_MS, (performance.now() - begun) * (random.chance(0.6) ? SOON : LATER));
  if (child !== null) setTimeout(() => void child.kill(), random.between(0, Math.round(most_ms)));
  return child;
}

const IN_DOUBT_SALES = 6;
/** Each with new rows in doubt; two suffice, unless the machine stalls. */
const RECOVERY_ROUNDS = 4;

/** C8: rows in doubt from an earlier kill, and repeated kills while the server recovers them; no sales meanwhile. */
export const duringRecovery: Killer = async (trial) => {
  const { stand, kill, point } = trial;
  if (kill === 0) await leaveInDoubt(trial);
  for (let round = 0; round < RECOVERY_ROUNDS; round++) {
    const child = await stand.start(point);
    if (child === null) return;
    await Promise.race([child.gone, untilRecovered(stand, child)]);
    if (!child.alive()) return;
    // Everything left by the kills before was recovered before the point was passed.
    await child.kill();
    await leaveInDoubt(trial);
  }
  throw new Error(`recovery did not pass ${point} in ${RECOVERY_ROUNDS} rounds`);
};

async function untilRecovered(stand: Stand, child: Child): Promise<void> {
  const limit = Date.now() + RECOVERY_LIMIT_MS;
  while (child.alive() && Date.now() < limit) {
    const { in_doubt, unclaimed } = await readBacklog(stand);
    if (in_doubt + unclaimed === 0) return;
    await pause(50);
  }
}

/** C13: an operator moves the merchant from and to orders during sales. */
export const duringToggle: Killer = async (trial) => {
  const child = await trial.stand.start(armed(trial));
  if (child === null) return;
  const toggles = (async () => {
    while (child.alive()) {
      const { stage, revision } = (await viewStage(child)) ?? {};
      if (stage !== undefined) await moveStage(child, stage === 'orders' ? 'legacy' : 'orders', revision ?? 0);
      await pause(20);
    }
  })();
  await sellUntilGone(trial, child);
  await toggles;
};

export async function backToOrders({ stand }: Trial): Promise<void> {
  const { child } = stand;
  const view = child === null ? null : await viewStage(child);
  if (child === null || view === null) throw new Error('the merchant can not be read after the kills');
  if (view.stage !== 'orders') await moveStage(child, 'orders', view.revision);
}

/** `name:n`. The start itself commits, so the store's point must be passed more often. */
function armed({ random, point }: Trial): string {
  return `${point}:${point === 'store.group_posted' ? random.between(2, 8) : random.between(1, 3)}`;
}

/** Starts three sales; kills when `count` has grown by one to three. */
async function killWhen(trial: Trial, child: Child, count: () => number, delay_ms: number): Promise<void> {
  const { till, stand, random } = trial;
  till.payUnanswered();
  const target = count() + random.between(1, 3);
  const work = Promise.all([till.retryLost(), till.sell(), till.sell(), till.sell()]);
  const limit = Date.now() + RECOVERY_LIMIT_MS;
  while (count() < target) {
    if (Date.now() > limit) throw new Error(`the sales did not reach the upstream:\n${child.output()}`);
    await pause(2);
  }
  await pause(delay_ms);
  await child.kill();
  await work;
  stand.sandbox.world.faults.length = 0;
}

/** Delays the answers of some sales and kills: rows SENDING, each with an order whose id Puente does not have. */
async function leaveInDoubt(trial: Trial): Promise<void> {
  const { stand, till } = trial;
  const child = await started(stand);
  const { world } = stand.sandbox;
  stand.fault({ method: 'POST', path: '/v1/orders', kind: 'delay', when: 'after', delay_ms: 600, times: 'always' });
  const before = world.orders.size;
  const sales = Promise.all(
    Array.from({ length: IN_DOUBT_SALES }, () => till.sell({ lost: 'give up', ending: 'leave' })),
  );
  const limit = Date.now() + RECOVERY_LIMIT_MS;
  while (world.orders.size < before + IN_DOUBT_SALES && Date.now() < limit) await pause(2);
  await child.kill();
  await sales;
  world.faults.length = 0;
}

async function viewStage(child: Child): Promise<{ stage: string; revision: number } | null> {
  try {
    const { body } = await call(`${child.ops_url}/api/merchants/${MERCHANT}`, { token: OPS_TOKEN });
    const view = body as { revision: number; settings: { stage: { value: string } } }; // as the ops API answers
    return { stage: view.settings.stage.value, revision: view.revision };
  } catch {
    return null; // the server was killed during the call
  }
}

async function moveStage(child: Child, stage: string, revision: number): Promise<void> {
  const body = { stage, revision, new: true, reason: 'moved by the crash test' };
  const url = `${child.ops_url}/api/merchants/${MERCHANT}/stage`;
  await call(url, { method: 'PUT', token: OPS_TOKEN, body }).catch(() => undefined);
}
