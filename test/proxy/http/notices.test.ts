/** Old notices for new outcomes: a state is committed before its notice is sent (`docs/field-notes.md` Point §3). */
import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { NoticeView } from '../../../src/ops/notices.ts';
import { ARGENTINA, eventually, INTENT, type Receiver, startReceiver, topicOf } from '../../kit.ts';
import { idOf, openShop, type Shop } from './till.ts';

let shop: Shop;
let receiver: Receiver;
afterEach(async () => {
  await shop.close();
  await receiver.close();
});

const SECRET = 'the secret this till already has';

describe('the receiver', () => {
  it.each([
    ['pay', 'FINISHED'],
    ['decline', 'ERROR'],
    ['cancel', 'CANCELED'],
  ])('reads the announced state inside its handler: %s', async (action, state) => {
    shop = await openShop({ PUENTE_READS_FRESH_MS: '60000' });
    let seen: unknown = null;
    receiver = await startReceiver(async (delivery) => {
      if (topicOf(delivery) === INTENT) seen = (await shop.read(delivery.query.get('id') ?? '')).body;
      return 200;
    });
    await shop.notify(ARGENTINA, { notice_url: receiver.url });
    const device = shop.freshDevice();
    const id = idOf(
      await shop.create(device, { additional_info: { external_reference: '3_1_ab', ticket_number: 'T1' } }),
    );
    await shop.atTerminal(action, { device });
    const [notice] = await receiver.waitFor(1, INTENT);
    expect(notice?.body).toMatchObject({ id, state });
    expect(seen).toMatchObject({ id, state, additional_info: { external_reference: '3_1_ab' } });
  });

  it('is told of nothing for what legacy never announced', async () => {
    shop = await openShop({ PUENTE_READS_FRESH_MS: '0' });
    receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: receiver.url });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('pick_up', { device });
    await eventually(
      async () => (await shop.read(id)).body,
      (body) => (body as { state: string }).state === 'ON_TERMINAL',
    );
    await shop.control('/clock', { body: { advance_ms: 16 * 60_000 } });
    await eventually(
      async () => (await shop.read(id)).body,
      (body) => (body as { state: string }).state === 'ABANDONED',
    );
    expect(receiver.received).toEqual([]);
  });
});

describe('the dialects', () => {
  it('point_integration_ipn: topic and id in the query, the flat intent as body, a signature that no secret made', async () => {
    shop = await openShop();
    receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: `${receiver.url}?tenant=7`, notice_secret: SECRET });
    const device = shop.freshDevice();
    const id = idOf(
      await shop.create(device, { additional_info: { external_reference: 'Pedido 002', ticket_number: 'T1' } }),
    );
    await shop.atTerminal('pay', { device });
    const [notice] = await receiver.waitFor(1, INTENT);
    expect([...(notice?.query ?? [])]).toEqual([
      ['tenant', '7'],
      ['topic', 'point_integration_ipn'],
      ['id', id],
    ]);
    const [, ts, v1] = /^ts=(\d{10}),v1=([0-9a-f]{64})$/.exec(String(notice?.headers['x-signature'])) ?? [];
    const manifest = `id:${id};request-id:${notice?.headers['x-request-id']};ts:${ts};`;
    expect(v1).not.toBe(createHmac('sha256', SECRET).update(manifest).digest('hex'));
    expect(notice?.body).toEqual({
      id,
      state: 'FINISHED',
      amount: 1500,
      caller_id: Number(ARGENTINA),
      client_id: 4004001,
      created_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/),
      payment: { id: expect.any(Number), state: 'approved', type: 'credit_card' },
      additional_info: { external_reference: 'Pedido 002', ticket_number: 'T1' },
    });
  });

  it("point_integration_wh: signed with the merchant's own secret over the id as it is", async () => {
    shop = await openShop();
    receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: receiver.url, dialect: 'point_integration_wh', notice_secret: SECRET });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('pay', { device });
    const [notice] = await receiver.waitFor(1);
    expect([...(notice?.query ?? [])]).toEqual([
      ['type', 'point_integration_wh'],
      ['data.id', id],
    ]);
    const header = /^ts=(\d+),v1=([0-9a-f]{64})$/.exec(String(notice?.headers['x-signature']));
    const manifest = `id:${id};request-id:${notice?.headers['x-request-id']};ts:${header?.[1]};`;
    expect(header?.[2]).toBe(createHmac('sha256', SECRET).update(manifest).digest('hex'));
  });
});

describe('the payment of a sale at a terminal', () => {
  async function paidSale(settings: object): Promise<string> {
    shop = await openShop();
    receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: `${receiver.url}?tenant=7`, notice_secret: SECRET, ...settings });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device, { additional_info: { external_reference: 'Pedido 002' } }));
    await shop.atTerminal('pay', { device });
    return id;
  }

  async function log(): Promise<[string, string][]> {
    const all = await eventually(
      async () => ((await shop.ops('/api/notices')).body as { notices: NoticeView[] }).notices, // the API's own form
      (notices) => notices.length > 0 && notices.every(({ state }) => state === 'delivered'),
    );
    return all.map(({ topic, form }): [string, string] => [topic, form]).sort();
  }

  it('is told by its own topic beside the intent, with the number that answers on /v1/payments', async () => {
    const id = await paidSale({});
    const [[intent], [payment]] = [await receiver.waitFor(1, INTENT), await receiver.waitFor(1, 'payment')];
    const { id: number } = (intent?.body as { payment?: { id: number } } | undefined)?.payment ?? {}; // a flat intent
    expect(payment?.text).toBe(`{"resource":"${number}","topic":"payment"}`);
    expect([...(payment?.query ?? [])]).toEqual([
      ['tenant', '7'],
      ['id', String(number)],
      ['topic', 'payment'],
    ]);
    expect(payment?.headers).toMatchObject({
      'user-agent': 'MercadoPago Feed v2.0 payment',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'x-signature': expect.stringMatching(/^ts=\d{10},v1=[0-9a-f]{64}$/),
    });
    const read = await shop.till(`/v1/payments/${number}`);
    expect([read.status, read.body]).toMatchObject([
      200,
      { id: number, status: 'approved', external_reference: 'Pedido 002' },
    ]);
    expect((await shop.read(id)).body).toMatchObject({ payment: { id: number } });
  });

  it('is told again at every refund, and the intent is not', async () => {
    await paidSale({});
    const [payment] = await receiver.waitFor(1, 'payment');
    const number = payment?.query.get('id');
    for (const [index, body] of [{ amount: 5 }, {}].entries()) {
      expect((await shop.till(`/v1/payments/${number}/refunds`, { body })).status).toBe(201);
      const told = await receiver.waitFor(2 + index, 'payment');
      expect(told.at(-1)?.query.get('id')).toBe(number);
    }
    expect((await shop.till(`/v1/payments/${number}`)).body).toMatchObject({ status: 'refunded' });
    expect(await log()).toEqual([
      ['payment', 'ipn'],
      ['payment', 'ipn'],
      ['payment', 'ipn'],
      ['point', 'point'],
    ]);
  });

  it.each([
    [{ point_payment_notices: 'off' }, []],
    [{ point_payment_notices: 'off', dialect: 'point_integration_wh' }, []],
    [{ dialect: 'point_integration_wh' }, []],
    [{ point_payment_notices: 'all', dialect: 'point_integration_wh' }, [['payment', 'webhook']]],
    [{ point_payment_notices: 'all' }, [['payment', 'ipn']]],
  ])('%j: told beside the intent is %j', async (settings, told) => {
    await paidSale(settings);
    expect(await log()).toEqual([...told, ['point', 'point']]);
  });

  it('of a decline that shows ERROR is not told: the sale has no payment', async () => {
    shop = await openShop();
    receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: receiver.url });
    const device = shop.freshDevice();
    await shop.create(device);
    await shop.atTerminal('decline', { device });
    expect((await receiver.waitFor(1))[0]?.body).toMatchObject({ state: 'ERROR' });
    expect(await log()).toEqual([['point', 'point']]);
  });

  it('is told at once to a receiver that refuses the intent, and the intent to one that refuses every payment', async () => {
    for (const refused of [INTENT, 'payment']) {
      shop = await openShop();
      receiver = await startReceiver((delivery) => (topicOf(delivery) === refused ? 404 : 200));
      await shop.notify(ARGENTINA, { notice_url: receiver.url });
      const device = shop.freshDevice();
      await shop.create(device);
      await shop.atTerminal('pay', { device });
      await receiver.waitFor(2);
      const all = await eventually(
        async () => ((await shop.ops('/api/notices')).body as { notices: NoticeView[] }).notices, // the API's own form
        (notices) => notices.every(({ last_attempt }) => last_attempt !== null),
      );
      expect(all.map(({ state }) => state).sort()).toEqual(['delivered', 'pending']);
      if (refused === INTENT) await Promise.all([shop.close(), receiver.close()]);
    }
  });
});

describe('a declined payment', () => {
  it('is FINISHED with a rejected payment where the merchant wants it as legacy had it', async () => {
    shop = await openShop();
    receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: receiver.url, declined: 'finished' });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('decline', { device });
    const [notice] = await receiver.waitFor(1, INTENT);
    expect(notice?.body).toMatchObject({ id, state: 'FINISHED', payment: { state: 'rejected' } });
    const read = (await shop.read(id)).body as { payment: { id: number } };
    const payment = await shop.till(`/v1/payments/${read.payment.id}`);
    expect(payment.body).toMatchObject({ id: read.payment.id, status: 'rejected' });
  });
});

describe('held back', () => {
  it('without a URL, and sent as soon as there is one', async () => {
    shop = await openShop();
    receiver = await startReceiver();
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('pay', { device });
    await eventually(
      async () => shop.rows(device)[0],
      (row) => row?.state === 'DONE',
    );
    expect((await shop.ops('/metrics')).text).toMatch(/puente_waiting\{kind="notices"\} 2/);
    await shop.notify(ARGENTINA, { notice_url: receiver.url });
    const [notice] = await receiver.waitFor(1, INTENT);
    expect(notice?.body).toMatchObject({ id, state: 'FINISHED' });
    await eventually(
      async () => (await shop.ops('/metrics')).text,
      (text) => /puente_waiting\{kind="notices"\} 0/.test(text),
    );
  });

  it('without the secret its dialect needs, and sent as soon as there is one', async () => {
    shop = await openShop();
    receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: receiver.url, dialect: 'point_integration_wh' });
    const device = shop.freshDevice();
    await shop.create(device);
    await shop.atTerminal('pay', { device });
    await eventually(
      async () => (await shop.ops('/metrics')).text,
      (text) => /puente_notice_attempts_total\{outcome="ours"\} [1-9]/.test(text),
    );
    expect(receiver.received).toEqual([]);
    await shop.notify(ARGENTINA, { notice_secret: SECRET });
    const [notice] = await receiver.waitFor(1);
    expect(notice?.headers['x-signature']).toMatch(/^ts=/);
  });

  it('a notification URL that the guard refuses can not even be set [F113]', async () => {
    shop = await openShop({ PUENTE_OUTBOUND_ALLOW_PRIVATE: 'false' });
    receiver = await startReceiver();
    const refused = await shop.notify(ARGENTINA, { notice_url: receiver.url });
    expect([refused.status, (refused.body as { error: string }).error]).toEqual([400, 'blocked_address']);
  });
});
