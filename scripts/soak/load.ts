/** The load: terminals and points of sale of five shops sell in parallel, at a rate, until stopped. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Chance, seeded } from '../make-capture/chance.ts';
import type { Connection } from '../make-capture/counter.ts';
import { sellAtTerminal } from '../make-capture/point-till.ts';
import { sellByCode } from '../make-capture/qr-till.ts';
import { COUNTERS, codesOf, SHOPS, terminal } from '../make-capture/shops.ts';
import { rareCalls } from './rare-calls.ts';
import { type Doors, loggedConnection } from './till-connection.ts';
import { isOk, type Shop, type TillLog } from './till-log.ts';

/** The stage of each shop, and that of its QR work: orders have no QR in Mexico. */
const STAGES = {
  MLA: { stage: 'orders', qr: 'orders' },
  MLB: { stage: 'orders', qr: 'orders' },
  MLM: { stage: 'orders', qr: 'legacy' },
  MLC: { stage: 'canary', qr: 'canary' },
  MLU: { stage: 'shadow', qr: 'shadow' },
} as const;
export const ROUTED_SHOPS = SHOPS.map((shop) => ({ ...shop, ...STAGES[shop.site] }));

/** Units of the first shop for rare calls. */
const RARE = { device: terminal(3), pos: 'SUC002POS001', pos_number: 1_000_003, currency: 'ARS' } as const;
/** More than any shop uses. */
export const EXTRA_TERMINALS = 5;

export interface Load {
  /** Starts no new sale; resolves when the sales under way have ended. */
  stop(): Promise<void>;
  sales(): number;
  /** A merchant's till connection, e.g. for its receiver. @throws Error for a merchant without a shop. */
  connectionOf(merchant: string): Connection;
  /** A final sale on every unit, removed again; `status` of each create. */
  probe(): Promise<{ unit: string; status: number }[]>;
}

/** @param rate sales a second of all tills together. */
export function startLoad(
  log: TillLog,
  doors: Doors,
  urls: ReadonlyMap<string, string>,
  { rate, seed }: { rate: number; seed: number },
): Load {
  let isOver = false;
  let number = 0;
  const connections = new Map<string, Connection>();
  const connect = (shop: Omit<Shop, 'notice_url'>, chance: Chance): Connection =>
    loggedConnection(log, doors, { ...shop, notice_url: urls.get(shop.merchant) ?? '' }, chance);
  const sellers = SHOPS.flatMap((shop, index) => {
    const own = (till: number): Chance => seeded(seed + index * 100 + till);
    connections.set(shop.merchant, connect(shop, own(99)));
    const points = Array.from({ length: shop.terminals }, (_, nth) => {
      const chance = own(nth);
      const connection = connect(shop, chance);
      return async (sale: number) => {
        await sellAtTerminal(connection, chance, terminal(nth), sale);
        // A sale with a lost answer or a declined card blocks the terminal until a person ends it there.
        const way = chance.pick(['pay', 'cancel'] as const);
        await connection.act(`/terminals/${shop.merchant}/${terminal(nth)}/${way}`);
      };
    });
    const codes = codesOf(shop).map((till, nth) => {
      const chance = own(50 + nth);
      const connection = connect(shop, chance);
      return (sale: number) => sellByCode(connection, chance, till, sale);
    });
    return [...points, ...codes];
  });
  const rare = seeded(seed + 999);
  const rareConnection = connect(SHOPS[0], rare);
  sellers.push((sale) => rareCalls(rareConnection, rare, RARE, sale));
  const period_ms = (sellers.length * 1000) / rate;
  const stopped = new AbortController();
  const work = async (sell: (number: number) => Promise<void>, index: number): Promise<void> => {
    let next_ms = performance.now() + (period_ms * index) / sellers.length;
    while (!isOver) {
      await pause(Math.max(0, next_ms - performance.now()), null, { signal: stopped.signal }).catch(() => undefined);
      if (isOver) return;
      await sell(++number);
      // A late seller sells at once and does not make up for missed sales.
      next_ms = Math.max(next_ms + period_ms, performance.now());
    }
  };
  const working = Promise.all(sellers.map(work));
  const connectionOf = (merchant: string): Connection => {
    const found = connections.get(merchant);
    if (found === undefined) throw new Error(`no shop belongs to ${merchant}`);
    return found;
  };
  return {
    async stop() {
      isOver = true;
      stopped.abort();
      await working;
    },
    sales: () => number,
    connectionOf,
    probe: () => probe(connectionOf, () => ++number),
  };
}

async function probe(
  connectionOf: (merchant: string) => Connection,
  next: () => number,
): Promise<{ unit: string; status: number }[]> {
  const found: { unit: string; status: number }[] = [];
  for (const { merchant, terminals, exponent } of SHOPS) {
    const connection = connectionOf(merchant);
    for (let nth = 0; nth < terminals; nth++) {
      const target = `/point/integration-api/devices/${terminal(nth)}/payment-intents`;
      const body = { amount: 9_900, additional_info: { external_reference: `Z-${next()}` } };
      const answer = await connection.call('point.create_intent', 'POST', target, { body });
      found.push({ unit: `${merchant} ${terminal(nth)}`, status: answer.status });
      const { id } = Object(answer.body) as { id?: string }; // refusals have none
      if (isOk(answer.status)) await connection.call('point.cancel_intent', 'DELETE', `${target}/${id}`);
    }
    for (const counter of COUNTERS) {
      const target = `/instore/qr/seller/collectors/${merchant}/pos/${counter}/orders`;
      const price = exponent === 0 ? 1_000 : 99.5;
      const item = { title: 'Last', unit_price: price, quantity: 1, unit_measure: 'unit', total_amount: price };
      const rest = { title: 'Shop', description: 'Last', total_amount: price, items: [item] };
      const body = { external_reference: `Z-${next()}`, ...rest };
      const answer = await connection.call('qr.put_order', 'PUT', target, { body });
      found.push({ unit: `${merchant} ${counter}`, status: answer.status });
      await connection.call('qr.cancel_order', 'DELETE', target);
    }
  }
  return found;
}
