/** Plays one sequence on the real stories and a real store, and judges it (`docs/architecture.md` Decision 6). */
import { PuenteError } from '../../../src/error.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { type MerchantSettings, merchantSettings, type RoutedKind } from '../../../src/proxy/routing/merchant.ts';
import { isOnOrders, kindOfSlot } from '../../../src/proxy/routing/stage.ts';
import { handleEvent } from '../../../src/proxy/sales/events.ts';
import { lookAfter } from '../../../src/proxy/sales/recover.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { auditOf } from '../../store/contract/harness.ts';
import { lanePorts, setMerchant } from '../routing/lane-ports.ts';
import { createLegacySide, type LegacySide } from './legacy.ts';
import { createOrdersSide } from './orders.ts';
import { type QrWay, type Step, slots, tills } from './steps.ts';
import { callOf, type Told } from './till.ts';
import { createWorlds, type Sold, type Worlds } from './worlds.ts';

/** Shared by consecutive sequences; each has its own merchant. */
export interface Stand {
  store: Store;
  /** Epoch ms; never decreases. */
  clock: { now: number };
}

const TRIP = {
  at: 1,
  why: 'half of the calls failed',
  evidence: { calls: 40, faults: 20, slow: 0, window_ms: 300_000, sample: null },
};
/** A little longer than anything may hold a unit: legacy's hour, and the end of an unseen order. */
const LONG_MS = 65 * 60_000;
/** A sale that ended unseen holds its unit this long after Puente reads again, about twice a minute. */
const UNSEEN_HOLD_MS = 20 * 60_000;
const LOOK_MS = 60_000;

interface Last {
  name: string;
  path: Record<string, string>;
  text: string;
  /** Unique in the sequence. */
  amount_minor: number;
  /** Point: the id in the till's answer. */
  intent_id: string | null;
}

interface Play {
  stand: Stand;
  worlds: Worlds;
  legacy: LegacySide;
  ports: Ports;
  merchant_id: string;
  token: Secret;
  last: Map<string, Last>;
  waiting: Set<Promise<void>>;
  restart(): void;
}

/** @returns the broken rules, in words. */
export async function playSequence(stand: Stand, merchant_id: string, sequence: readonly Step[]): Promise<string[]> {
  const play = begin(stand, merchant_id);
  for (const step of sequence) {
    await take(play, step);
    if (play.worlds.broken.length > 0) return play.worlds.broken;
  }
  await comeToRest(play);
  return play.worlds.broken;
}

function begin(stand: Stand, merchant_id: string): Play {
  const worlds = createWorlds(stand.clock);
  const legacy = createLegacySide(worlds, merchant_id, tills);
  const orders = createOrdersSide(worlds, merchant_id, tills);
  const start = (): Ports =>
    lanePorts({
      ...{ store: stand.store, upstreams: { orders, legacy }, random: () => 0.5 },
      clock: { now: worlds.now, sleep: worlds.sleep },
    });
  const token = new Secret(`APP_USR-1-112026-${'a'.repeat(32)}-${merchant_id}`);
  const play: Play = {
    ...{ stand, worlds, legacy, merchant_id, token, last: new Map(), waiting: new Set(), ports: start() },
    restart() {
      play.ports = start();
    },
  };
  return play;
}

async function take(play: Play, step: Step): Promise<void> {
  const { worlds } = play;
  await knowStages(play);
  switch (step.do) {
    case 'move':
      return move(play, step.settings);
    case 'trip':
      return trip(play, step.kind, step.stands);
    case 'sell': {
      worlds.fates.push(...step.fates);
      const sale = step.again ? (play.last.get(slotAt(step.unit)) ?? newSale(play, step)) : newSale(play, step);
      const other = step.twice ? [sell(play, step.unit, newSale(play, step))] : [];
      await Promise.all([sell(play, step.unit, sale), ...other]);
      worlds.fates.length = 0;
      return;
    }
    case 'sell_during_move': {
      worlds.fates.push(...step.fates);
      worlds.mayBegin = () => null;
      const moved = move(play, step.settings);
      await Promise.all([sell(play, step.unit, newSale(play, step)), moved]);
      worlds.fates.length = 0;
      return;
    }
    case 'retry_after_move': {
      const sale = newSale(play, step);
      worlds.fates.push(...step.fates);
      await sell(play, step.unit, sale);
      worlds.fates.length = 0;
      await move(play, step.settings);
      await knowStages(play);
      return sell(play, step.unit, sale);
    }
    case 'act':
      return act(play, slotAt(step.unit), step.act, step.event);
    case 'read':
      return read(play, slotAt(step.unit), 'GET');
    case 'cancel':
      worlds.fates.push(...step.fates);
      await read(play, slotAt(step.unit), 'DELETE');
      worlds.fates.length = 0;
      return;
    case 'wait':
      worlds.pass(step.duration_ms);
      return work(play);
    case 'reads':
      worlds.reading = step.work;
      return;
    case 'restart':
      if (play.waiting.size === 0) play.restart();
  }
}

/** Applies the stage from now on; while calls are waiting, these may still follow the old stage. */
async function knowStages({ worlds, stand, ports, merchant_id, waiting }: Play): Promise<void> {
  const merchant = await stand.store.merchants.merchant(merchant_id);
  const isSettled = waiting.size === 0;
  worlds.mayBegin = (slot) =>
    isSettled ? isOnOrders(ports.settings, merchant, merchant_id, kindOfSlot(slot), slot) : null;
}

function slotAt(unit: number): string {
  return String(slots[unit]);
}

/** A sale in the till's form; its unique amount identifies it on both upstreams. */
function newSale({ worlds }: Play, { unit, way }: { unit: number; way: QrWay }): Last {
  const slot = slotAt(unit);
  const amount = 16 + worlds.next();
  const sale = { amount_minor: amount * 100, intent_id: null };
  const name = slot.slice(slot.indexOf(':') + 1);
  if (slot.startsWith('point:')) {
    const text = JSON.stringify({
      amount: sale.amount_minor,
      additional_info: { external_reference: `sale ${amount}` },
    });
    return { ...sale, name: 'point.create_intent', path: { device_id: name }, text };
  }
  const external_reference = `Factura ${amount}`;
  const number = [...tills].find(([, external_id]) => external_id === name)?.[0] ?? '';
  const path: Record<string, string> =
    way === 'qr_v1.create_by_number' ? { pos_id: number } : { user_id: '', external_pos_id: name };
  const item = { title: 'Coffee', unit_price: amount, quantity: 1 };
  const body = way.startsWith('qr_v1')
    ? { external_reference, items: [{ ...item, currency_id: 'ARS' }] }
    : {
        ...{ external_reference, title: 'Shop', total_amount: amount },
        items: [{ ...item, unit_measure: 'unit', total_amount: amount }],
      };
  return { ...sale, name: way, path, text: JSON.stringify(body) };
}

/** One call of a till; with a slow upstream it waits while the sequence goes on. */
async function sell(play: Play, unit: number, sale: Last): Promise<void> {
  const slot = slotAt(unit);
  const last = { ...sale };
  play.last.set(slot, last);
  const parked = play.worlds.parked();
  const done = play.worlds
    .duringCall(() => call(play, sale.name, sale.path, sale.text))
    .then((told) => {
      const { id } = (told.body ?? {}) as { id?: unknown }; // any answer
      if (told.status >= 200 && told.status < 300) play.worlds.told.add(sale.amount_minor);
      if (told.status === 201 && slot.startsWith('point:')) last.intent_id = String(id);
    });
  const kept = done.finally(() => play.waiting.delete(kept));
  play.waiting.add(kept);
  await Promise.race([kept, parked.then(() => settled())]);
}

/** Waits for pending store calls: a call that was about to end has ended. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function call(play: Play, name: string, path: Record<string, string>, text = ''): Promise<Told> {
  const whole = 'user_id' in path ? { ...path, user_id: play.merchant_id } : path;
  return callOf(play.ports, play.legacy, play.token, name, whole, text);
}

/** Reads or cancels the last sale of a unit; an id always goes to the lane of its create. */
async function read(play: Play, slot: string, method: 'GET' | 'DELETE'): Promise<void> {
  const unit = slot.slice(slot.indexOf(':') + 1);
  if (slot.startsWith('qr:')) {
    const name = method === 'GET' ? 'qr.get_order' : 'qr.cancel_order';
    await call(play, name, { user_id: '', external_pos_id: unit });
    return;
  }
  const intent_id = play.last.get(slot)?.intent_id ?? null;
  if (intent_id === null) return;
  const name = method === 'GET' ? 'point.get_intent' : 'point.cancel_intent';
  const told = await call(play, name, method === 'GET' ? { intent_id } : { intent_id, device_id: unit });
  const born = play.worlds.sold.get(intent_id)?.side ?? 'orders';
  if (told.side !== born) play.worlds.broken.push(`an intent born on ${born} was answered by ${told.side}`);
  if (method === 'GET' && told.status !== 200)
    play.worlds.broken.push(`an intent that its till was told of is ${told.status}`);
}

/** Acts on the live sale of the unit, on either side. */
async function act(
  { worlds, stand, merchant_id, ports }: Play,
  slot: string,
  act: string,
  event: boolean,
): Promise<void> {
  const sold = worlds.liveOn('orders', slot) ?? worlds.liveOn('legacy', slot);
  if (sold === undefined) return;
  if (act === 'fetch') worlds.change(sold, slot.startsWith('point:') ? 'at_terminal' : 'open');
  else {
    sold.payment_id = `13${String(worlds.next()).padStart(10, '0')}`;
    worlds.change(sold, 'paid');
  }
  if (!event || sold.side !== 'orders') return;
  const announced = { received_at: worlds.now(), order_id: sold.id, reference: null, user_id: merchant_id };
  await stand.store.events.receiveEvent({ ...announced, verified: true, action: `order.${sold.state}` });
  for (const one of await stand.store.events.dueEvents(worlds.now(), 100)) {
    if (one.user_id === merchant_id) await handleEvent(ports, one);
  }
}

/** Concurrent calls that write the merchant's row between read and save. */
const MAX_RACES = 5;

async function move({ stand, merchant_id }: Play, settings: Partial<MerchantSettings>): Promise<void> {
  for (let race = 1; ; race++) {
    try {
      return await setMerchant(stand.store, merchant_id, settings);
    } catch (error) {
      if (race === MAX_RACES || !(error instanceof PuenteError) || error.code !== 'conflict') throw error;
    }
  }
}

async function trip({ stand, merchant_id }: Play, kind: RoutedKind, stands: boolean): Promise<void> {
  const merchant = await stand.store.merchants.merchant(merchant_id);
  if (merchant === null) return;
  await stand.store.merchants.saveTrips(
    merchant_id,
    { [kind]: stands ? TRIP : null },
    merchant.revision,
    auditOf('safety stop'),
  );
}

/** Puente's background work: finishes creates in doubt, and checks links that are due. */
async function work({ ports, stand, merchant_id, worlds }: Play): Promise<void> {
  const links = await stand.store.history.linksOf(merchant_id, 0, Number.MAX_SAFE_INTEGER, 1_000);
  for (const link of links) {
    if (link.next_check_at !== null && link.next_check_at <= worlds.now()) await lookAfter(ports, link);
  }
}

/** After all faults, with enough time, every unit sells on the lane of its stage: none stays blocked. */
async function comeToRest(play: Play): Promise<void> {
  const { worlds, ports, stand, merchant_id } = play;
  worlds.reading = true;
  for (let round = 0; round < 4; round++) {
    worlds.pass(LONG_MS / 2);
    await Promise.all(play.waiting);
    await work(play);
  }
  for (let passed_ms = 0; passed_ms <= UNSEEN_HOLD_MS; passed_ms += LOOK_MS) {
    worlds.pass(LOOK_MS);
    await work(play);
  }
  await knowStages(play);
  const merchant = await stand.store.merchants.merchant(merchant_id);
  for (const slot of slots) {
    const expected = isOnOrders(ports.settings, merchant, merchant_id, kindOfSlot(slot), slot) ? 'orders' : 'legacy';
    const sale = newSale(play, { unit: slots.indexOf(slot), way: 'qr.put_order' });
    const told = await worlds.duringCall(() => call(play, sale.name, sale.path, sale.text));
    const state = `${merchantSettings.parse(merchant?.settings ?? {}).stage ?? 'default'}`;
    if (told.side !== expected || told.status < 200 || told.status > 299) {
      worlds.broken.push(`at rest on stage ${state} ${slot} sold on ${told.side} (${told.status}), not on ${expected}`);
    }
    const sold: Sold | undefined = worlds.liveOn(expected, slot);
    if (sold === undefined) worlds.broken.push(`at rest nothing of ${slot} came to ${expected}`);
  }
}
