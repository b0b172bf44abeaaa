/** Legacy notifications at a real receiver: which states, which body, which query, which signature, and how often. */
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noticeBody } from '../../../src/contract/legacy-point.ts';
import { BASE, MINUTE_MS, MLA, MLB, PAX, type Receiver, startReceiver, startTill, type Till } from './kit.ts';

let till: Till;
let receiver: Receiver;
beforeEach(async () => {
  till = await startTill();
  receiver = await startReceiver();
});
afterEach(async () => {
  await till.close();
  await receiver.close();
});

const door = (merchant = MLA): string => `/_sandbox/legacy/merchants/${merchant}/notifications`;
const setTarget = (target: object, merchant = MLA) => till.call('PUT', door(merchant), { token: null, body: target });

async function listen(target: object = {}): Promise<void> {
  const answer = await setTarget({ url: receiver.url, ...target });
  expect(answer.status).toBe(200);
}

describe('the control door', () => {
  it('refuses what is no target', async () => {
    expect((await setTarget({ url: receiver.url }, '1')).status).toBe(404);
    for (const target of [
      {},
      { url: 'ftp://x' },
      { url: receiver.url, topic: 'payment' },
      { url: receiver.url, more: 1 },
    ]) {
      expect(await setTarget(target)).toMatchObject({ status: 400, body: { error: 'bad_request' } });
    }
    expect((await till.call('PUT', door(), { body: '{' })).status).toBe(400);
    expect((await till.call('GET', door())).body).toEqual({ url: null, topic: null });
  });

  it('keeps, shows without the secret, and forgets', async () => {
    await listen({ topic: 'point_integration_wh', secret: 's3cret' });
    const shown = await till.call('GET', door());
    expect(shown.body).toEqual({ url: receiver.url, topic: 'point_integration_wh' });
    expect((await till.call('GET', `${BASE}/integrator`)).body.notification_url_enabled).toBe(true);
    expect((await till.call('DELETE', door())).status).toBe(204);
    expect((await till.call('GET', door())).body.url).toBeNull();
  });
});

describe('bodies', () => {
  const additional_info = { external_reference: 'sale 77', print_on_terminal: true, ticket_number: 'T1' };
  const flat = (id: string, state: string, payment?: object) => ({
    id,
    state,
    amount: 1500,
    caller_id: 700100200,
    client_id: 4004001,
    created_at: '2026-11-02 13:05:11',
    ...(payment === undefined ? {} : { payment }),
    additional_info,
  });

  it.each([
    ['pay', 'FINISHED', { id: 131000000001, state: 'approved', type: 'credit_card' }],
    ['decline', 'FINISHED', { id: 131000000001, state: 'rejected', type: 'credit_card' }],
    ['confirm_needed', 'CONFIRMATION_REQUIRED', { id: 131000000001, state: '', type: '' }],
    ['cancel', 'CANCELED', undefined],
    ['error', 'ERROR', undefined],
  ] as const)('after %s: %s', async (action, state, payment) => {
    await listen();
    const id = await till.create({ amount: 1500, additional_info });
    till.world.clock.advance(MINUTE_MS);
    till.operate(action);
    await till.world.settled();
    expect(receiver.heard).toHaveLength(1);
    expect(receiver.heard[0]?.text).toBe(JSON.stringify(flat(id, state, payment)));
    expect(noticeBody.safeParse({ body: receiver.heard[0]?.body }).success).toBe(true);
  });

  it('after a cancel of the till: CANCELED', async () => {
    await listen();
    const id = await till.create({ amount: 1500, additional_info });
    await till.call('DELETE', `${BASE}/devices/${PAX}/payment-intents/${id}`);
    await till.world.settled();
    expect(receiver.heard.map(({ text }) => text)).toEqual([JSON.stringify(flat(id, 'CANCELED'))]);
  });

  it('none on the way, none for ABANDONED, none to another merchant or after the target is gone', async () => {
    await listen();
    await till.create();
    till.operate('pick_up');
    till.operate('process');
    till.operate('pay');
    await till.world.settled();
    expect(receiver.heard.map(({ body }) => body.state)).toEqual(['FINISHED']);
    await till.create();
    till.world.clock.advance(15 * MINUTE_MS);
    await till.create({ amount: 1500 }, { merchant: MLB });
    till.operate('pay', {}, { merchant: MLB });
    await till.call('DELETE', door());
    await till.create();
    till.operate('pay');
    await till.world.settled();
    expect(receiver.heard).toHaveLength(1);
  });
});

it.each(['127.0.0.1', 'localhost'])('%s is not called where the setting does not allow it', async (host) => {
  till.world.configure({ local_notification_urls: 'not_called' });
  await listen({ url: receiver.url.replace('127.0.0.1', host) });
  await till.create();
  till.operate('pay');
  await till.world.settled();
  expect([receiver.heard, till.world.sent_log.list()]).toEqual([[], []]);
});

describe('dialects', () => {
  it('ipn: topic and id in the query, behind what the URL has, and a signature that no secret made', async () => {
    await listen({ url: `${receiver.url}?client=a%20b` });
    const id = await till.create();
    till.operate('pay');
    await till.world.settled();
    const [notice] = receiver.heard;
    expect(notice).toMatchObject({ method: 'POST', url: `/notices?client=a%20b&topic=point_integration_ipn&id=${id}` });
    expect(notice?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/./),
    });
    expect(notice?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(notice?.headers['x-signature']).toMatch(/^ts=\d{10},v1=[0-9a-f]{64}$/);
  });

  it("wh: type and data.id in the query, signed over the intent's id with the merchant's secret", async () => {
    await listen({ topic: 'point_integration_wh', secret: 's3cret' });
    const id = await till.create();
    till.operate('pay');
    await till.world.settled();
    const [notice] = receiver.heard;
    expect(notice?.url).toBe(`/notices?type=point_integration_wh&data.id=${id}`);
    const request_id = String(notice?.headers['x-request-id']);
    expect(request_id).toMatch(/^[0-9a-f-]{36}$/);
    const [, ts, v1] = /^ts=(\d{13}),v1=([0-9a-f]{64})$/.exec(String(notice?.headers['x-signature'])) ?? [];
    const manifest = `id:${notice?.body.id};request-id:${request_id};ts:${ts};`;
    expect(v1).toBe(createHmac('sha256', 's3cret').update(manifest).digest('hex'));
  });
});

describe('delivery', () => {
  it('commits the state before it tells, so that a read inside the handler sees it', async () => {
    await listen();
    const seen: unknown[] = [];
    receiver.inside = async ({ body }) => {
      seen.push((await till.call('GET', `${BASE}/payment-intents/${body.id}`)).body);
      seen.push(till.world.payments.get(body.payment.id)?.status);
      seen.push(till.world.terminal(MLA, PAX)?.occupation);
    };
    await till.create();
    till.operate('pay');
    await till.world.settled();
    expect(seen).toMatchObject([{ state: 'FINISHED', payment: { id: 131000000001 } }, 'approved', null]);
  });

  it('takes 201 for an answer, and comes back after any other, three times after 15 minutes, then later', async () => {
    receiver.statuses = [500, 302, 404, 204, 201];
    await listen();
    const id = await till.create();
    till.operate('decline');
    await till.world.settled();
    for (const heard of [2, 3, 4]) {
      till.world.clock.advance(15 * MINUTE_MS - 1);
      await till.world.settled();
      expect(receiver.heard).toHaveLength(heard - 1);
      till.world.clock.advance(1);
      await till.world.settled();
      expect(receiver.heard).toHaveLength(heard);
    }
    till.world.clock.advance(15 * MINUTE_MS);
    await till.world.settled();
    expect(receiver.heard).toHaveLength(4);
    till.world.clock.advance(24 * 60 * MINUTE_MS);
    await till.world.settled();
    expect(receiver.heard).toHaveLength(5);
    till.world.clock.advance(48 * 60 * MINUTE_MS);
    await till.world.settled();
    expect(receiver.heard).toHaveLength(5);
    expect(new Set(receiver.heard.map(({ text }) => text)).size).toBe(1);
    expect(till.world.sent_log.list().map(({ status }) => status)).toEqual([500, 302, 404, 204, 201]);
    expect(till.world.sent_log.list()[0]).toMatchObject({
      topic: 'point_integration_ipn',
      subject: id,
      action: 'FINISHED',
    });
  });

  it('comes back after a receiver that does not answer in time', async () => {
    till.world.configure({ webhook_timeout_ms: 50 });
    await listen();
    receiver.inside = () => new Promise(() => {});
    await till.create();
    till.operate('pay');
    await till.world.settled();
    expect(till.world.sent_log.list()).toMatchObject([{ status: null }]);
    receiver.inside = async () => {};
    till.world.configure({ webhook_timeout_ms: 10_000 });
    till.world.clock.advance(15 * MINUTE_MS);
    await till.world.settled();
    expect(till.world.sent_log.list()).toMatchObject([{ status: null }, { status: 200 }]);
  });
});
