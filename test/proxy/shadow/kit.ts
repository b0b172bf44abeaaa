/** Shared by shadow tests: tasks in the form of the door, and creates of tills of every kind, from a seed. */
import { loadTables } from '../../../src/mapping/load.ts';
import type { Exchange, ShadowTask } from '../../../src/proxy/evidence/exchange.ts';
import type { ShadowTools } from '../../../src/proxy/shadow/shadow.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { operationOf, tablesDirectory } from '../../mapping/kit.ts';

export const tables = loadTables(tablesDirectory);
export const tools: ShadowTools = { tables, redact: (value) => value, clock: performance };

export const RECEIVED_AT = Date.parse('2026-11-21T12:00:00.000Z');
export const merchantOf: Readonly<Record<string, string>> = {
  MLA: '700100200',
  MLB: '700100300',
  MLM: '700100400',
  MLC: '700100500',
  MLU: '700100600',
};

export interface Create {
  operation: string;
  site: string | null;
  path: Record<string, string>;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  voucher?: 'refuse' | 'drop';
}

/** @param answered legacy's answer; by default an accepted create. */
export function taskOf(create: Create, answered: Partial<Exchange> & { body?: unknown } = {}): ShadowTask {
  const { body: legacy_body = {}, ...rest } = answered;
  const operation = operationOf(tables, create.operation);
  return {
    exchange: {
      id: '01978a5c-0000-7000-8000-00000000000a',
      at: RECEIVED_AT,
      merchant_id: merchantOf[create.site ?? ''] ?? '700100200',
      operation: operation.name,
      kind: operation.kind,
      lane: 'legacy',
      stage: 'shadow',
      unit: null,
      status: 200,
      error: null,
      outcome: 'ok',
      duration_ms: 12,
      tables_revision: tables.revision,
      shadow: null,
      messages: null,
      legacy_id: null,
      upstream: [],
      fired: [],
      losses: [],
      unknown: [],
      limitations: [],
      ...rest,
    },
    request: { path: create.path, query: create.query ?? {}, headers: create.headers ?? {}, body: create.body },
    legacy_body,
    token: new Secret('APP_USR-4004001-112026-00000000000000000000000000000a01-700100200'),
    site: create.site,
    voucher: create.voucher ?? 'refuse',
    messages: null,
  };
}

/** A seeded sequence of numbers in [0, 1). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SITES = ['MLA', 'MLA', 'MLB', 'MLB', 'MLM', 'MLC', 'MLU', 'MPE', null];
const CURRENCIES: Readonly<Record<string, string>> = { MLA: 'ARS', MLB: 'BRL', MLM: 'MXN', MLC: 'CLP', MLU: 'UYU' };
const DEVICES = ['PAX_A910__SMARTPOS0000000001', 'NEWLAND_N950__SBX0000001', 'GERTEC-1', 'A'.repeat(64)];
const TEXTS = ['Mesa 4', '', 'x'.repeat(40), 'ñandú '.repeat(40), 'pedido/7', 'sale-0042', '🧾'];
const OPERATIONS = [
  'point.create_intent',
  'point.create_intent',
  'qr_v1.create',
  'qr_v1.create_by_number',
  'qr.put_order',
  'qr.put_order_of_store',
  'qr.create_code',
  'qr.put_code',
];

/** Any create of a till, valid or wrong in one of many ways. */
export function createOf(random: () => number): Create {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T; // never out of range
  const some = <T>(value: T): T | undefined => (random() < 0.5 ? value : undefined);
  const rarely = <T>(value: T): T | undefined => (random() < 0.04 ? value : undefined);
  const mostly = <T>(right: readonly T[], wrong: readonly T[]): T => pick(random() < 0.93 ? right : wrong);
  const operation = pick(OPERATIONS);
  const site = pick(SITES);
  const headers = {
    'x-platform-id': pick(['dev_1', '', 'mp-platform']),
    'x-integrator-id': pick(['dev_77', 'other']),
    ...(random() < 0.3 ? { 'x-ttl-store-preference': pick(['60', '5', '99999999', 'soon']) } : {}),
    ...(random() < 0.1 ? { 'x-corporation-id': '9' } : {}),
  };
  const voucher = pick(['refuse', 'drop'] as const);
  if (operation === 'point.create_intent') {
    const path = { device_id: pick(DEVICES) };
    const body = clean({
      amount: mostly<unknown>([1500, 100, 12_345, 499, 1, 250_000], [0, -5, 12.5, '1500', 10 ** 12, 10 ** 15]),
      description: some(pick(TEXTS)),
      external_reference: rarely('outer'),
      notification_url: some('https://till.example/n'),
      additional_info: some(
        clean({
          external_reference: some(pick(TEXTS)),
          print_on_terminal: some(mostly<unknown>([true, false], ['yes'])),
          ticket_number: some(pick(TEXTS)),
        }),
      ),
      payment: some(
        clean({
          type: some(pick(['credit_card', 'debit_card', 'voucher_card'])),
          installments: some(pick([1, 6, 0, -3, 100])),
          installments_cost: some(pick(['seller', 'buyer', 'bank'])),
          voucher_type: some('alelo'),
        }),
      ),
      tip: random() < 0.05 ? 100 : undefined,
    });
    return { operation, site, path, headers, body, voucher };
  }
  const user_id = random() < 0.05 ? pick(['700100999', 'me']) : (merchantOf[site ?? ''] ?? '700100200');
  const external_pos_id = mostly(['SUC001POS001', 'SUC001POS002', 'x'.repeat(64)], ['a b', '']);
  const path: Record<string, string> =
    operation === 'qr_v1.create_by_number' ? { pos_id: '1000001' } : { user_id, external_pos_id };
  if (operation === 'qr.put_order_of_store') path.external_store_id = 'SUC001';
  const items = Array.from({ length: Math.floor(random() ** 4 * 16) + (random() < 0.9 ? 1 : 0) }, () => {
    const quantity = pick([1, 2, 3]);
    const unit_price = pick([10, 100, 250, 15, 7]);
    return clean({
      title: pick(TEXTS.slice(2)),
      unit_price,
      quantity,
      unit_measure: pick(['unit', 'kilogramos-netos']),
      total_amount: random() < 0.01 ? unit_price : unit_price * quantity,
      currency_id: rarely('XAU') ?? CURRENCIES[site ?? ''] ?? 'PEN',
      sku_number: some(pick(['A1', 'A'.repeat(40)])),
      id: some('sku'),
      category: some('food'),
      description: some('soft'),
      picture_url: some('https://till.example/p.png'),
    });
  });
  const cash = some(pick([0, 500]));
  const total = items.reduce((sum, item) => sum + Number(item.unit_price) * Number(item.quantity), cash ?? 0);
  const body = clean({
    external_reference: pick([...TEXTS.slice(2), 4711]),
    title: pick(TEXTS.slice(2)),
    description: some('two texts'),
    total_amount: random() < 0.05 ? total + 1 : total,
    expiration_date: some(
      mostly(['2026-11-21T12:10:00.000Z', '2027-11-21T12:10:00.000Z'], ['2026-11-20T12:10:00.000Z', 'tomorrow']),
    ),
    notification_url: some(mostly(['https://till.example/n'], ['www.till.example'])),
    items,
    sponsor: some({ id: mostly<unknown>([123, '77', 0], ['abc']) }),
    sponsor_id: some(mostly<unknown>([123], ['abc'])),
    cash_out: cash === undefined ? undefined : { amount: cash },
    marketplace_fee: some(pick([0, 1])),
    payment_methods: some({ installments: 3 }),
    taxes: some([{ value: 21, type: 'IVA' }]),
    discount_code: random() < 0.05 ? 'x' : undefined,
  });
  return { operation, site, path, headers, body, voucher };
}

function clean(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
