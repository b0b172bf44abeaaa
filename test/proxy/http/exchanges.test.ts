/** Every answered call becomes an exchange; unmapped input is counted, and refused if the merchant is set so. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  ARGENTINA,
  type Bench,
  BRAZIL,
  type Call,
  CHILE,
  DEVICE,
  eventually,
  MEXICO,
  POINT,
  SECOND_DEVICE,
  startBench,
  tokenOf,
  URUGUAY,
} from '../../kit.ts';
import { type Kept, keptExchanges, seed } from '../../ops/seed.ts';
import { legacyErrorOf } from './till.ts';

const NOW = Date.now();
const HOUR_MS = 3_600_000;
const drill = { id: 'd1', from: NOW - HOUR_MS, until: NOW + HOUR_MS, reason: 'a drill', aborted_at: null };

const deprecation = { deprecated_at: 1_700_000_000_000, sunset_at: 1_800_000_000_000, link: null };

let bench: Bench;
let data_dir: string;
beforeAll(async () => {
  const settings = await seed({
    [ARGENTINA]: { stage: 'orders', deprecation },
    [BRAZIL]: { stage: 'orders', unknown_endpoint: 'refuse', unknown_field: 'refuse', unknown_header: 'refuse' },
    [MEXICO]: { stage: 'legacy', brownouts: [drill] },
    [CHILE]: { stage: 'legacy', brownouts: [{ ...drill, aborted_at: NOW - 1 }] },
    [URUGUAY]: { stage: 'shadow' },
  });
  data_dir = settings.PUENTE_DATA_DIR ?? '';
  bench = await startBench({ ...settings, PUENTE_MERCHANTS_UNKNOWN_ENDPOINT: 'refuse' });
});
afterAll(async () => {
  await bench.close();
  expect(JSON.stringify(keptExchanges(data_dir)), 'no token is ever kept').not.toContain('APP_USR-');
  rmSync(data_dir, { recursive: true, force: true });
});

function intents(device: string): string {
  return `${POINT}/devices/${device}/payment-intents`;
}

async function kept(path: string, options: Call & { merchant?: string } = {}): Promise<{ answer: Answer; kept: Kept }> {
  const known = new Set(keptExchanges(data_dir).map(({ id }) => id));
  const answer = await bench.till(path, options);
  const found = await eventually(
    async () => keptExchanges(data_dir).filter(({ id }) => !known.has(id)),
    (fresh) => fresh.length === 1,
  );
  return { answer, kept: found[0] as Kept }; // waited for
}

describe('an exchange', () => {
  it('of a create on orders has its id, rows, losses, and the calls that were made for it', async () => {
    const body = { amount: 1500, tip: 3, additional_info: { external_reference: 'a ticket' } };
    const { answer, kept: one } = await kept(intents(DEVICE), { body });
    expect(answer.status).toBe(201);
    expect(one).toMatchObject({
      merchant_id: ARGENTINA,
      operation: 'point.create_intent',
      lane: 'orders',
      stage: 'orders',
      unit: `point:${DEVICE}`,
      legacy_id: (answer.body as { id: string }).id, // a 201 has one
      status: 201,
      error: null,
      outcome: 'ok',
      shadow: null,
      messages: null,
    });
    expect(one.upstream?.map(({ name, status }) => [name, status])).toEqual([
      ['users_me', 200],
      ['create', 201],
    ]);
    expect(one.fired).toEqual(expect.arrayContaining([expect.stringMatching(/^point\.create\.request#/)]));
    expect(one.fired).toEqual(expect.arrayContaining([expect.stringMatching(/^point\.create\.answer#/)]));
    expect(one.losses?.filter(({ path }) => path === 'body.tip')).toHaveLength(1);
    expect(one.unknown).toEqual([{ what: 'field', name: 'body.tip' }]);
  });

  it('of a busy terminal is the shop’s business', async () => {
    const { kept: one } = await kept(intents(DEVICE), { body: { amount: 1700 } });
    expect(one).toMatchObject({ status: 409, error: '2205', outcome: 'business', lane: 'orders' });
  });

  it.each<[string, string, Call & { merchant?: string }, object]>([
    ['a body that is no JSON', intents(SECOND_DEVICE), { body: '{"amount":' }, { error: '400', outcome: 'business' }],
    [
      'an amount that is none',
      intents(SECOND_DEVICE),
      { body: { amount: '1' } },
      { error: '400', outcome: 'business' },
    ],
    [
      'a token that nobody accepts',
      intents(SECOND_DEVICE),
      { body: { amount: 1500 }, token: `${tokenOf(ARGENTINA).slice(0, -10)}1-${ARGENTINA}` },
      { error: '401', outcome: 'auth', lane: 'orders', merchant_id: null },
    ],
    ['the control door of the sandbox', '/_sandbox/state', {}, { operation: null, error: '111' }],
    ['a path that can not be read', `${POINT}/devices/%zz/payment-intents`, { body: {} }, { error: '400' }],
    [
      'an id that only legacy knows',
      `${POINT}/payment-intents/019539a0-0000-7000-8000-00000000dead`,
      {},
      {
        lane: 'legacy',
        operation: 'point.get_intent',
        legacy_id: '019539a0-0000-7000-8000-00000000dead',
        status: 404,
        upstream: [{ name: 'legacy', status: 404, code: null, duration_ms: expect.any(Number) }],
      },
    ],
  ])('is also made of %s', async (_name, path, options, expected) => {
    expect((await kept(path, options)).kept).toMatchObject(expected);
  });

  it('has no card and no token that legacy repeats in its error, whole or cut', async () => {
    const code = `no such card 5031755734530604 of ${'x'.repeat(28)} ${tokenOf(MEXICO)}`;
    const rule = { path: `${POINT}/payment-intents/*`, kind: 'error', status: 400, code };
    await bench.control('/faults', { body: rule });
    const { answer, kept: one } = await kept(`${POINT}/payment-intents/0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10`, {
      merchant: MEXICO,
    });
    expect(answer.text).toContain(code);
    expect(one).toMatchObject({ lane: 'legacy', status: 400 });
    expect(one.error).toMatch(/^no such card 503175X{6}0604 of x+ \[masked\]$/);
  });

  it('of a legacy create in shadow has the verdict', async () => {
    const path = `/instore/qr/seller/collectors/${URUGUAY}/pos/SUC001POS001/orders`;
    const body = { external_reference: 'a', title: 'A', description: 'A', total_amount: 10, items: [] };
    const { kept: one } = await kept(path, { method: 'PUT', merchant: URUGUAY, body });
    expect(one).toMatchObject({ lane: 'legacy', stage: 'shadow', operation: 'qr.put_order' });
    expect(one.shadow?.verdict).toMatch(/accepted|refused_/);
  });
});

it('a merchant that asks for it tells the makers of its tills what is going away, and nothing else', async () => {
  const devices = await kept(`${POINT}/devices`);
  expect(devices.answer.headers).toMatchObject({ deprecation: '@1700000000', sunset: 'Fri, 15 Jan 2027 08:00:00 GMT' });
  const payment = await kept('/v1/payments/16500000001');
  expect([payment.answer.headers.deprecation, payment.answer.headers.sunset]).toEqual([undefined, undefined]);
  const other = await kept(`${POINT}/devices`, { merchant: BRAZIL });
  expect(other.answer.headers.deprecation).toBeUndefined();
});

describe('what no table knows', () => {
  it('an endpoint is refused in its family’s envelope where the merchant says so, and nobody is asked', async () => {
    const { answer, kept: one } = await kept('/users/700100300/stores/search?limit=5', { merchant: BRAZIL });
    expect([answer.status, answer.body]).toEqual([404, expect.objectContaining({ message: 'Action not supported' })]);
    expect(answer.body).toMatchObject({ error: 'not_found', cause: [{ code: 404 }] });
    expect(one).toMatchObject({ lane: 'legacy', upstream: null, outcome: 'business', merchant_id: BRAZIL });
    expect(one.unknown).toEqual([{ what: 'endpoint', name: 'GET /users/:id/stores/search' }]);
    const point = await kept(`${POINT}/integrator`, { merchant: BRAZIL });
    expect(point.answer.body).toMatchObject({ error: '111', status: 404 });
  });

  it('of nobody is proxied, whatever the default: a till must get its new token', async () => {
    const { kept: one } = await kept('/oauth/token', { token: null, body: { grant_type: 'x' } });
    expect(one).toMatchObject({ merchant_id: null, unknown: [{ what: 'endpoint', name: 'POST /oauth/token' }] });
    expect(one.upstream).toMatchObject([{ name: 'legacy' }]);
  });

  it('a field is refused by its name, and nothing is stored or sent', async () => {
    const { answer, kept: one } = await kept(intents(DEVICE), { merchant: BRAZIL, body: { amount: 1500, tip: 1 } });
    legacyErrorOf(answer);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('tip')]);
    expect(one.unknown).toEqual([{ what: 'field', name: 'body.tip' }]);
    expect(one.upstream).toBeNull();
  });

  it('a header is refused by its name; those of any client and those of the tables are not', async () => {
    const headers = {
      'x-platform-id': 'dev_1',
      'x-request-id': '1',
      'x-forwarded-for': '127.0.0.1',
      'user-agent': 'till',
    };
    const refused = await kept(intents(DEVICE), {
      merchant: BRAZIL,
      body: { amount: 1500 },
      headers: { ...headers, 'x-shop': '7' },
    });
    expect([refused.answer.status, refused.answer.text]).toEqual([400, expect.stringContaining('x-shop')]);
    expect(refused.kept.unknown).toEqual([{ what: 'header', name: 'x-shop' }]);
    const taken = await kept(intents(DEVICE), { merchant: BRAZIL, body: { amount: 1500 }, headers });
    expect([taken.answer.status, taken.kept.unknown]).toEqual([201, null]);
  });

  it('is counted by kind, without names', async () => {
    const { text } = await bench.ops('/metrics');
    for (const what of ['endpoint', 'field', 'header'])
      expect(text).toMatch(new RegExp(`puente_unknown_names_total\\{what="${what}"\\} [1-9]`));
  });
});

describe('a brown-out', () => {
  it('refuses new work and listings of legacy with the time to wait, and says so in no outcome', async () => {
    for (const [path, options] of [
      [intents(DEVICE), { body: { amount: 1500 } }],
      [`${POINT}/devices`, {}],
    ] as const) {
      const { answer, kept: one } = await kept(path, { merchant: MEXICO, ...options });
      legacyErrorOf(answer);
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '60']);
      expect(one).toMatchObject({ lane: 'legacy', outcome: 'business', merchant_id: MEXICO });
      expect(one.upstream?.map(({ name }) => name) ?? []).not.toContain('legacy');
    }
    expect((await bench.ops('/metrics')).text).toMatch(
      /puente_brownout_refusals_total\{operation="point\.create_intent"\} 1/,
    );
  });

  it('tells operators who was refused: merchant, unit, operation, when and how often', async () => {
    const { body } = await bench.ops(`/api/brownouts/${drill.id}`);
    const told = body as { refused: { first_at: string; last_at: string }[] }; // the API's shape
    expect(told).toMatchObject({
      id: drill.id,
      refused: expect.arrayContaining([
        expect.objectContaining({
          merchant: MEXICO,
          unit: `point:${DEVICE}`,
          operation: 'point.create_intent',
          calls: 1,
        }),
        expect.objectContaining({ merchant: MEXICO, unit: null, operation: 'point.list_devices', calls: 1 }),
      ]),
    });
    expect(told.refused).toHaveLength(2);
    for (const { first_at, last_at } of told.refused) expect(first_at <= last_at).toBe(true);
    expect((await bench.ops('/api/brownouts/nothing')).status).toBe(404);
  });

  it('that is aborted refuses nothing from that moment on', async () => {
    const create = () => kept(intents(SECOND_DEVICE), { merchant: MEXICO, body: { amount: 1500 } });
    expect((await create()).answer.status).toBe(503);
    const aborted = await bench.ops(`/api/brownouts/${drill.id}/abort`, { body: { reason: 'tills are angry' } });
    expect([aborted.status, (await create()).answer.status]).toEqual([200, 201]);
  });
});

describe('evidence that can not be kept', () => {
  it('neither delays nor breaks a call, on either lane', async () => {
    const settings = await seed({ [ARGENTINA]: { stage: 'orders' }, [BRAZIL]: { stage: 'shadow', capture: true } });
    const renameTable = (from: string, to: string): void => {
      const beside = new Database(join(settings.PUENTE_DATA_DIR ?? '', 'puente.db'));
      beside.exec(`ALTER TABLE ${from} RENAME TO ${to}`);
      beside.close();
    };
    const broken = await startBench({ ...settings, PUENTE_EVIDENCE_QUEUE: '1', PUENTE_SHADOW_QUEUE: '0' });
    try {
      renameTable('exchanges', 'out_of_reach');
      for (const merchant of [ARGENTINA, BRAZIL, ARGENTINA, BRAZIL]) {
        const created = await broken.till(intents(DEVICE), { merchant, body: { amount: 1500 } });
        const { id } = created.body as { id: string }; // checked in the next line
        expect([created.status, typeof id]).toEqual([expect.toBeOneOf([200, 201]), 'string']);
        expect((await broken.till(`${POINT}/payment-intents/${id}`, { merchant })).status).toBe(200);
        const canceled = await broken.till(`${intents(DEVICE)}/${id}`, { merchant, method: 'DELETE' });
        expect(canceled.status).toBe(200);
      }
      expect((await broken.ops('/healthz')).status).toBe(200);
      expect((await broken.ops('/metrics')).text).toMatch(/puente_shed_total\{class="shadow",reason="queue"\} [1-9]/);
      renameTable('out_of_reach', 'exchanges'); // so that the stop does not wait for it
    } finally {
      await broken.close();
      rmSync(settings.PUENTE_DATA_DIR ?? '', { recursive: true, force: true });
    }
  });
});
