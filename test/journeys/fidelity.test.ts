/** One till script on the legacy API and through Puente looks equal to a till (`docs/architecture.md` Decision 11). */
import { beforeAll, describe, expect, test } from 'vitest';
import { profiles } from '../../src/sandbox/assumptions.ts';
import { ARGENTINA, BRAZIL, MEXICO } from '../kit.ts';
import { cancel, create, get, newTill, type Step, status, TOLD_PAID, type Transcript } from './till-script.ts';
import { inEachWay, type Way } from './worlds.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000001';
const UNKNOWN_TOKEN = 'APP_USR-4004001-112026-0000000000000000000000000000beef';
const SALE = {
  amount: 1500,
  additional_info: { external_reference: 'sale-77', print_on_terminal: true, ticket_number: 'T1' },
};
const FIFTEEN_MINUTES_MS = 900_000;

function day(offset_days: number): string {
  return new Date(Date.now() + offset_days * 86_400_000).toISOString().slice(0, 10);
}
const events = (from: number, to: number): Step => ({
  call: `GET /payment-intents/events?startDate=${day(from)}&endDate=${day(to)}`,
});
const devices = (query: string): Step => ({ call: `GET /devices${query}` });
const mode = (body: unknown, device = '{device}'): Step => ({ call: `PATCH /devices/${device}`, body });

/** Chapters equal on all sites; each leaves the terminal free. */
const chapters: Record<string, (merchant: string) => Step[]> = {
  paid: () => [
    create(SALE),
    get(),
    status(),
    { person: 'pick_up' },
    get(),
    { person: 'pay' },
    TOLD_PAID,
    get(),
    status(),
  ],
  'paid by debit card, without a reference': () => [
    create({ amount: 1600 }),
    { person: 'pay', options: { payment_method_type: 'debit_card' } },
    TOLD_PAID,
    get(),
  ],
  'a reference that orders would refuse': () => [
    create({ amount: 1500, additional_info: { external_reference: 'Pedido nº 002 «é» 🧾' } }),
    get(),
    { person: 'pay' },
    TOLD_PAID,
    get(),
  ],
  'the same reference twice': () => [
    create(SALE),
    cancel(),
    { notices: 1 },
    create(SALE, 'retry'),
    get('retry'),
    cancel('retry'),
    { notices: 1 },
  ],
  'declined, policy finished': () => [create(SALE), { person: 'decline' }, TOLD_PAID, get(), status(), cancel()],
  canceled: () => [create(SALE), cancel(), { notices: 1 }, get(), status()],
  'canceled twice': () => [create(SALE), cancel(), get(), cancel(), cancel(), { notices: 1 }],
  'cancel refused on the terminal, canceled there': () => [
    create(SALE),
    { person: 'pick_up' },
    cancel(),
    get(),
    { person: 'cancel' },
    { notices: 1 },
    get(),
    status(),
    cancel(),
  ],
  'cancel of a finished sale': () => [create(SALE), { person: 'pay' }, TOLD_PAID, cancel(), get()],
  'a busy terminal': () => [
    create(SALE),
    create({ amount: 1600 }, 'other'),
    get(),
    cancel(),
    { notices: 1 },
    create({ amount: 1600 }, 'other'),
    cancel('other'),
    { notices: 1 },
  ],
  'a retry with its key, and a new sale with the same key': () => [
    create(SALE, 'sale', { 'x-idempotency-key': 'kept' }),
    create(SALE, 'sale', { 'x-idempotency-key': 'kept' }),
    create({ ...SALE, amount: 1700 }, 'other', { 'x-idempotency-key': 'kept' }),
    create(SALE, 'other', { 'x-idempotency-key': 'another' }),
    { person: 'pay' },
    TOLD_PAID,
    get(),
    create(SALE, 'second', { 'x-idempotency-key': 'kept' }),
    get('second'),
    cancel('second'),
    { notices: 1 },
  ],
  'unknown ids': () => [
    { call: `GET /payment-intents/${UNKNOWN}` },
    { call: `GET /payment-intents/${UNKNOWN}/events` },
    { call: `DELETE /devices/{device}/payment-intents/${UNKNOWN}` },
    { call: 'GET /payment-intents/nonsense' },
    { call: 'GET /payment-intents/ORD01M7YNQTZK3FBKCVYT5M3W3VYR' },
    create(SALE),
    { call: 'DELETE /devices/PAX_A910__OTHER/payment-intents/{sale}' },
    cancel(),
    { notices: 1 },
  ],
  'unknown routes': () => [
    { call: 'GET /nothing' },
    { call: 'GET /devices/{device}' },
    { call: 'POST /devices', body: {} },
    { call: 'POST /payment-intents', body: SALE },
    { call: 'PUT /devices/{device}', body: { operating_mode: 'PDV' } },
    { call: 'GET /' },
  ],
  tokens: (merchant) => [
    { call: 'GET /devices', token: null },
    { call: `GET /payment-intents/${UNKNOWN}`, token: null },
    { ...create(SALE), token: null },
    { call: 'GET /devices', token: `${UNKNOWN_TOKEN}-${merchant}` },
    { ...create(SALE), token: `${UNKNOWN_TOKEN}-${merchant}` },
    { ...create(SALE), token: 'short' },
  ],
  'a device of somebody else': () => [
    { call: 'POST /devices/PAX_A910__NOBODYS/payment-intents', body: SALE },
    { call: 'POST /devices/a%20b/payment-intents', body: SALE },
    mode({ operating_mode: 'PDV' }, 'PAX_A910__NOBODYS'),
    mode({ operating_mode: 'PDV' }, 'a%20b'),
  ],
  'bad bodies': () =>
    [
      '',
      'not json',
      '[]',
      'null',
      '{}',
      '{"amount":null}',
      '{"amount":"1500"}',
      '{"amount":1500.5}',
      '{"amount":1500,"amount":1600}',
      { amount: 1500, additional_info: 'x' },
      { amount: 1500, additional_info: null },
      { amount: 1500, additional_info: [] },
      { amount: 1500, additional_info: { external_reference: 5 } },
      { amount: 1500, additional_info: { print_on_terminal: 'true' } },
      { amount: 1500, additional_info: { ticket_number: 5 } },
    ].map((body) => create(body)),
  'a body that is taken': () =>
    [
      '{"amount":1500.0}',
      '{"amount":15e2}',
      { amount: 1500, additional_info: {} },
      { amount: 1500, additional_info: { external_reference: '' } },
      { amount: 1500, additional_info: { external_reference: 'x'.repeat(300), print_on_terminal: false } },
      { amount: 1500, notification_url: 'https://till.example/notices' },
    ].flatMap((body) => [create(body), get(), cancel(), { notices: 1 }]),
  'content types': () => [
    create(SALE, 'sale', { 'content-type': '' }),
    cancel(),
    { notices: 1 },
    create(SALE, 'sale', { 'content-type': 'application/json;charset=utf-8' }),
    cancel(),
    { notices: 1 },
  ],
  'paging of devices': () => [
    devices(''),
    devices('?limit=1'),
    devices('?limit=1&offset=1'),
    devices('?limit=1&offset=9'),
    devices('?limit=0'),
    devices('?limit=51'),
    ...['x', '-1', '', '9999999999'].map((limit) => devices(`?limit=${limit}`)),
    devices('?offset=x'),
    devices('?limit=1&limit=2'),
    devices('?store_id=10001'),
    devices('?store_id=x'),
    devices('?store_id='),
    devices('?pos_id=1000001'),
    devices('?pos_id=5'),
    devices('?pos_id=x'),
    devices('?unknown=5'),
    devices('?'),
    { call: 'GET /devices', body: {} },
  ],
  modes: () => [
    mode({ operating_mode: 'STANDALONE' }),
    devices('?limit=1'),
    mode({ operating_mode: 'PDV' }),
    mode({ operating_mode: 'PDV' }),
    mode({ operating_mode: 'PDV', unknown: 1 }),
    devices('?limit=1'),
    ...[{ operating_mode: 'pdv' }, { operating_mode: 'UNDEFINED' }, { operating_mode: 5 }, {}, '', 'x', '[]'].map(
      (body) => mode(body),
    ),
  ],
  'the events list': () => [
    { call: 'GET /payment-intents/events' },
    { call: 'GET /payment-intents/events?' },
    { call: `GET /payment-intents/events?startDate=${day(0)}` },
    { call: 'GET /payment-intents/events?startDate=x&endDate=y' },
    { call: 'GET /payment-intents/events?startDate=2026-02-30&endDate=2026-03-01' },
    events(1, 0),
    events(-31, 0),
    events(-30, 0),
    create(SALE),
    events(-1, 1),
    { person: 'pay' },
    TOLD_PAID,
    events(-1, 1),
  ],
  'refund intents of payments that are not there': () => [
    { call: 'POST /devices/{device}/refund', body: {} },
    { call: 'POST /devices/{device}/refund', body: 'x' },
    { call: 'POST /devices/{device}/refund', body: { payment_id: '1' } },
    { call: `GET /refund/${UNKNOWN}` },
    { call: `DELETE /devices/{device}/refund/${UNKNOWN}` },
  ],
  integrator: () => [
    { call: 'GET /integrator' },
    { call: 'PATCH /integrator', body: { event_channel_devices: ['email'] } },
    { call: 'PATCH /integrator', body: {} },
    { call: 'GET /integrator' },
  ],
  'a token in the query': (merchant) => [
    {
      call: `GET /devices?access_token=APP_USR-4004001-112026-00000000000000000000000000000a01-${merchant}`,
      token: null,
    },
  ],
  'a lifetime of its own': () => [
    create(SALE, 'sale', { 'x-ttl-store-preference': '60' }),
    { advance_ms: 61_000 },
    get(),
    status(),
  ],
  'expired, nobody came': () => [
    create(SALE),
    { advance_ms: FIFTEEN_MINUTES_MS + 1000 },
    get(),
    status(),
    cancel(),
    create(SALE, 'next'),
    cancel('next'),
    { notices: 1 },
  ],
  'expired on the terminal': () => [
    create(SALE),
    { person: 'pick_up' },
    { advance_ms: FIFTEEN_MINUTES_MS + 1000 },
    get(),
    status(),
    cancel(),
  ],
};

const ownChapters: Record<string, Record<string, () => Step[]>> = {
  Argentina: {
    'keys of its own, with numbers that a double can not hold': () => [
      create('{"amount":1500,"additional_info":{"weight":1.50,"code":12345678901234567890}}'),
      get(),
      cancel(),
      { notices: 1 },
    ],
  },
  Brazil: {
    preferences: () => [
      create({
        amount: 3000,
        description: 'Mesa 4',
        payment: { type: 'credit_card', installments: 3 },
      }),
      get(),
      { person: 'pay', options: { installments: 3 } },
      TOLD_PAID,
      get(),
      create({ amount: 3000, payment: { type: 'debit_card' } }),
      get(),
      cancel(),
      { notices: 1 },
      create({ amount: 3000, payment: { unknown: 1 } }),
      cancel(),
      { notices: 1 },
    ],
    'preferences that are refused': () =>
      [
        { amount: 3000, payment: { type: 'cash' } },
        { amount: 3000, payment: 'x' },
        { amount: 3000, payment: { type: 'credit_card', installments: 1.5 } },
        { amount: 3000, payment: { type: 'credit_card', installments: 0 } },
        { amount: 3000, payment: { type: 'credit_card', installments_cost: 'me' } },
        { amount: 3000, payment: { type: 'credit_card', voucher_type: 'alelo' } },
        { amount: 3000, description: 5 },
      ].map((body) => create(body)),
  },
  Mexico: {
    'what Mexico does not know': () =>
      [
        { amount: 1500, description: 'x' },
        { amount: 1500, external_reference: 'x' },
        { amount: 1500, payment: { type: 'credit_card' } },
        { amount: 1500, shift: 3 },
        { amount: 1500, additional_info: { table: 4 } },
      ].map((body) => create(body)),
  },
};

/** Chapters that legacy and the field profile share, but not the specification: LIM-12 and LIM-81. */
const fieldChapters: Record<string, Record<string, () => Step[]>> = {
  Argentina: { 'the minimum': () => [create({ amount: 1499 })] },
  Brazil: {
    'the cost of installments': () => [
      create({ amount: 3000, payment: { type: 'credit_card', installments: 3, installments_cost: 'seller' } }),
      get(),
      { person: 'pay', options: { installments: 3 } },
      { notices: 1 },
      get(),
    ],
  },
  Mexico: { 'the minimum': () => [create({ amount: 499 })] },
};

const sites = [
  { site: 'Argentina', merchant: ARGENTINA, dialect: 'point_integration_ipn' },
  { site: 'Brazil', merchant: BRAZIL, dialect: 'point_integration_wh' },
  { site: 'Mexico', merchant: MEXICO, dialect: 'point_integration_ipn' },
] as const;

const onBoth = sites.flatMap((site) => profiles.map((profile) => ({ ...site, profile })));

describe.each(onBoth)('$site, $profile', ({ site, merchant, dialect, profile }) => {
  const own = { ...ownChapters[site], ...(profile === 'field' ? fieldChapters[site] : {}) };
  const all: Record<string, (merchant: string) => Step[]> = { ...own, ...chapters };
  let told: Record<Way, Record<string, Transcript>>;

  beforeAll(async () => {
    told = await inEachWay({ merchant, dialect, profile }, ['direct', 'proxied', 'orders'], async (world) => {
      const till = newTill(world);
      const transcripts: Record<string, Transcript> = {};
      for (const [name, steps] of Object.entries(all)) transcripts[name] = await till.run(steps(merchant));
      return transcripts;
    });
  }, 120_000);

  test.each(Object.keys(all))('%s', (name) => {
    expect(told.direct[name]?.length).toBeGreaterThan(0);
    expect(told.proxied[name]).toEqual(told.direct[name]);
    expect(told.orders[name]).toEqual(told.direct[name]);
  });

  test('nothing else was announced', () => {
    const announced = (way: Way): number =>
      Object.values(told[way])
        .flat()
        .filter((line) => line.startsWith('!')).length;
    expect(announced('orders')).toBe(announced('direct'));
  });
});

test.each(['error', 'finished'])('an error at the terminal that left no payment, policy %s', async (declined) => {
  const script = [create(SALE), { person: 'error' }, { notices: 1 }, get(), status(), cancel()];
  const told = await inEachWay({ merchant: ARGENTINA, settings: { declined } }, ['direct', 'orders'], async (world) => {
    await world.bench.control('/settings', { method: 'PUT', body: { failed_payment: 'none' } });
    return newTill(world).run(script);
  });
  expect(told.orders).toEqual(told.direct);
});
