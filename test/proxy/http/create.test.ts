/**
 * Creates through the door: unanswered orders, repeated keys, terminals held by others. Each step and outcome alone:
 * `test/proof/protocol-*.test.ts`; the till's answers: `test/exchanges/point.create_intent/`.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { encoded, say } from '../../../src/locales/message.ts';
import { ARGENTINA, eventually } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { verifyAudit } from '../../ops/audit-chain.ts';
import { auditsOf, legacyErrorOf, openShop, type Row, type Shop } from './till.ts';

const CREATE = { method: 'POST', path: '/v1/orders' };
const LOST = { ...CREATE, kind: 'no_answer', when: 'after', times: 'always' };
const QUICK = {
  PUENTE_CREATE_DEADLINE_MS: '600',
  PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '250',
  PUENTE_CREATE_SETTLE_AFTER_MS: '1500',
  PUENTE_RECONCILE_POINT_INTERVAL_MS: '200',
};

let shop: Shop;

/** A create whose till got an error although the order exists. */
async function lostCreate(device: string): Promise<string> {
  await shop.fault(LOST);
  const answer = await shop.create(device);
  expect(answer.status).toBe(504);
  await shop.clearFaults();
  return String(answer.headers['x-puente-intent']);
}

function untilRow(device: string, holds: (row: Row) => boolean): Promise<Row | undefined> {
  return eventually(
    async () => shop.rows(device)[0],
    (row) => row !== undefined && holds(row),
  );
}

describe('an order whose till was told an error', () => {
  afterEach(() => shop.close());

  it('is canceled after its time, with an audit line', async () => {
    shop = await openShop(QUICK);
    const device = shop.freshDevice();
    const id = await lostCreate(device);
    const row = await untilRow(device, (found) => found.state === 'DONE');
    expect(row).toMatchObject({ legacy_state: 'CANCELED', client_answer: 'error' });
    expect((await shop.orders(device)).map((order) => order.status)).toEqual(['canceled']);
    const lines = await eventually(
      () => auditsOf(shop.data_dir),
      (found) => found.length > 0,
    );
    expect(lines).toMatchObject([
      { who: 'puente', action: 'settle', subject: id, reason: encoded(say('settled.canceled', {})) },
    ]);
    expect(verifyAudit(lines)).toEqual({ intact: true, lines: 1 });
  });
});

describe('the variants of a repeated key: one order in each', () => {
  afterEach(() => shop.close());

  it.each([
    ['V1 the saved answer', { replay: 'saved' }],
    ['V1 as 200', { replay: 'saved', replay_status: 200 }],
    ['V2 the current order', { replay: 'current' }],
  ])('%s', async (_name, settings) => {
    shop = await openShop();
    await shop.upstreamSettings(settings);
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'reset', when: 'after' });
    expect((await shop.create(device)).status).toBe(201);
    expect(await shop.orders(device)).toHaveLength(1);
    expect(shop.rows(device)).toMatchObject([{ state: 'LIVE', client_answer: 'maybe' }]);
  });

  it('V1 with an order that was picked up meanwhile: the read after the repeat is what counts', async () => {
    shop = await openShop({ PUENTE_CREATE_DEADLINE_MS: '3000' });
    await shop.upstreamSettings({ replay: 'saved', webhook_mode: 'drop' });
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'no_answer', when: 'after' });
    const create = shop.create(device);
    await eventually(
      () => shop.orders(device),
      (orders) => orders.length === 1,
    );
    await shop.atTerminal('pick_up', { device });
    expect((await create).status).toBe(201);
    expect(shop.rows(device)[0]?.legacy_state).toBe('ON_TERMINAL');
  });

  it('V3 a 409 although the order exists: never a new key, and the event settles it [F14]', async () => {
    shop = await openShop();
    await shop.upstreamSettings({ replay: 'conflict' });
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'reset', when: 'after' });
    const answer = await shop.create(device);
    expect(answer.status).toBe(504);
    expect(shop.rows(device)).toMatchObject([{ state: 'IN_DOUBT' }]);
    const keys = (await shop.requests('/v1/orders')).map((line) => line.idempotency_key);
    expect(new Set(keys).size, 'one key for ever').toBe(1);
    await shop.atTerminal('pay', { device });
    await untilRow(device, (row) => row.legacy_state === 'FINISHED');
    expect(await shop.orders(device)).toHaveLength(1);
  });
});

describe('a terminal that is held by what is no open sale of ours', () => {
  const shop = openForAll(() => openShop());

  const HELD = { ...CREATE, kind: 'error', status: 409, code: 'already_queued_order_on_terminal' };

  async function incidents(device: string): Promise<string[]> {
    const { body } = await shop.ops('/api/incidents');
    const found = (body as { incidents: { kind: string; subject: string; reason: string }[] }).incidents; // the API's shape
    return found.filter(({ subject }) => subject === device).map(({ kind, reason }) => `${kind}: ${reason}`);
  }

  it('is told at once, and operators read what it may be, once until a sale goes well there', async () => {
    const device = shop.freshDevice();
    await shop.fault({ ...HELD, nth: 1, times: 2 });
    const before = (await shop.requests('/v1/orders')).length;
    for (let nth = 0; nth < 2; nth++)
      expect(legacyErrorOf(await shop.create(device))).toMatchObject({ error: '2205', status: 409 });
    expect((await shop.requests('/v1/orders')).length).toBe(before + 2);
    expect(await incidents(device)).toEqual([expect.stringMatching(/^terminal_held: .*made without Puente/)]);
    expect((await shop.ops('/metrics')).text).toMatch(/puente_held_terminals_total\{by="foreign"\} 2/);
    expect((await shop.create(device)).status).toBe(201);
  });

  it('may be held by an order whose end nobody has seen', async () => {
    const device = shop.freshDevice();
    expect((await shop.create(device)).status).toBe(201);
    await shop.control(`/terminals/${ARGENTINA}/${device}/confirm_needed`, { body: {} });
    await shop.fault({ ...HELD, nth: 1 });
    expect(legacyErrorOf(await shop.create(device, { amount: 1700 })).error).toBe('2205');
    const [row] = shop.rows(device);
    expect(await incidents(device)).toEqual([expect.stringContaining(`by the order of sale ${row?.legacy_id}`)]);
  });
});
