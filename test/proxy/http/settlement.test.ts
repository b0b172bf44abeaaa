/** Unanswered orders and repeated keys through the door; each step: `test/proof/protocol-recovery.test.ts`. */
import { afterEach, describe, expect, it } from 'vitest';
import { encoded, say } from '../../../src/locales/message.ts';
import { eventually } from '../../kit.ts';
import { verifyAudit } from '../../ops/audit-chain.ts';
import { auditsOf, openShop, type Row, type Shop } from './till.ts';

let shop: Shop;
afterEach(() => shop.close());

const CREATE = { method: 'POST', path: '/v1/orders' };
const LOST = { ...CREATE, kind: 'no_answer', when: 'after', times: 'always' };
const QUICK = {
  PUENTE_CREATE_DEADLINE_MS: '600',
  PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '250',
  PUENTE_CREATE_SETTLE_AFTER_MS: '1500',
  PUENTE_RECONCILE_POINT_INTERVAL_MS: '200',
};

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

  it('that was paid without any event is found, announced and audited once', async () => {
    shop = await openShop(QUICK);
    await shop.upstreamSettings({ webhook_mode: 'drop' });
    const device = shop.freshDevice();
    await shop.fault(LOST);
    expect((await shop.create(device)).status).toBe(504);
    await shop.atTerminal('pay', { device });
    await shop.clearFaults();
    await untilRow(device, (found) => found.legacy_state === 'FINISHED');
    expect((await auditsOf(shop.data_dir)).map((line) => line.reason)).toEqual([encoded(say('settled.paid', {}))]);
  });
});

describe('the variants of a repeated key: one order in each', () => {
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

  it('V5 a key forgotten early: after the repeat window nothing is sent any more [F15]', async () => {
    shop = await openShop({ ...QUICK, PUENTE_CREATE_REPLAY_WINDOW_MS: '700' });
    await shop.upstreamSettings({ replay: 'forgets', reference_unique: 'not_checked' });
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'no_answer', when: 'after', times: 1 });
    await shop.fault({ ...CREATE, kind: 'no_answer', when: 'before', times: 'always' });
    expect((await shop.create(device)).status).toBe(504);
    await shop.upstreamSettings({ webhook_mode: 'drop' });
    await shop.atTerminal('pay', { device });
    await shop.control('/clock', { body: { advance_ms: 6 * 60_000 } });
    await shop.clearFaults();
    const sent = (await shop.requests('/v1/orders')).length;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect((await shop.create(device)).status, 'an identical retry is busy, not a second order').toBe(409);
    expect((await shop.requests('/v1/orders')).length).toBe(sent);
    expect(await shop.orders(device)).toHaveLength(1);
  });
});
