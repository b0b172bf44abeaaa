/** The three routes of a QR till's calls, with IPN receivers and one clock for the sandbox and Puente. */
import { setTimeout as sleep } from 'node:timers/promises';
import { call, clockOf } from '../kit.ts';
import { type QrWorld, TILL } from './qr-till-script.ts';
import { inEachWay, type OpenWorld, openWorld, type Way, type WorldOptions } from './worlds.ts';

export interface OpenQrWorld extends QrWorld {
  bench: OpenWorld['bench'];
  receiver: OpenWorld['receiver'];
  close(): Promise<void>;
}

/** `proxy/sales/events.ts` reads each order at most once a second. */
const READ_INTERVAL_MS = 1_000;
/** Nearly all notices without a delay arrive within this time. */
const SOON_MS = 50;

async function openQrWorld(way: Way, options: WorldOptions): Promise<OpenQrWorld> {
  let offset_ms = 0;
  const clock = clockOf(() => Date.now() + offset_ms);
  const environment = {
    // Scripts poll faster than people; LIM-11 and similar limitations have their own tests.
    PUENTE_READS_SEARCH_FRESH_MS: '0',
    ...options.environment,
  };
  const world = await openWorld(way, { ...options, environment, clock });
  const { bench, control_url, merchant, receiver } = world;
  const panel = `${control_url}/_sandbox/legacy/merchants/${merchant}/notifications`;
  await call(panel, { method: 'PUT', body: { ipn_url: `${receiver.url}?tenant=7` } });
  const till = [...bench.sandbox.world.points_of_sale.values()].find(
    ({ merchant_id, external_id }) => merchant_id === merchant && external_id === TILL,
  );
  if (till === undefined) throw new Error(`Merchant ${merchant} has no till ${TILL}`);
  const advance = async (duration_ms: number): Promise<void> => {
    const passed = await call(`${control_url}/_sandbox/clock`, { body: { advance_ms: duration_ms } });
    if (passed.status !== 200) throw new Error(`The clock did not move: ${passed.text}`);
    offset_ms += duration_ms;
  };
  return {
    ...world,
    receiver_url: receiver.url,
    till_number: till.id,
    now: clock.now,
    advance,
    async notices(count) {
      const come = world.notices(count);
      // Events of QR sales are not signed, and an order that was just read is read again a second later.
      if (way === 'orders' && !(await isSoon(come))) await advance(READ_INTERVAL_MS);
      return come;
    },
    payableOf: (qr_data) => payableOf(bench, qr_data),
  };
}

async function isSoon(come: Promise<unknown>): Promise<boolean> {
  const soon = new AbortController();
  const late = sleep(SOON_MS, false, { signal: soon.signal }).catch(() => false);
  const is_soon = await Promise.race([come.then(() => true), late]);
  soon.abort();
  return is_soon;
}

/** A wallet finds the payment by the reference in the code; orders store the code, legacy orders the reference. */
function payableOf(bench: OpenWorld['bench'], qr_data: string): string {
  const { world } = bench.sandbox;
  for (const order of world.orders.values()) {
    if (order.place.type === 'qr' && order.place.qr_data === qr_data) return order.id;
  }
  const found = [...world.payables.keys()].find(
    (id) => qr_data.includes(id) || qr_data.includes(id.replaceAll('-', '')),
  );
  if (found === undefined) throw new Error('Nobody waits for a payment of this code');
  return found;
}

/** Runs `run` in each world, one after the other, and closes the worlds. */
export function inEachQrWay<T>(
  options: WorldOptions,
  ways: readonly Way[],
  run: (world: OpenQrWorld) => Promise<T>,
): Promise<Record<Way, T>> {
  return inEachWay(options, ways, run, openQrWorld);
}
