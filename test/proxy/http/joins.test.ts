/** Retries and second sales: the same one is joined, another one is a new order or busy, never both (`docs/protocol.md` §3.9). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../kit.ts';
import { idOf, legacyErrorOf, openShop, type Shop } from './till.ts';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({ PUENTE_CREATE_JOIN_WINDOW_MS: '600' });
});
afterEach(async () => {
  await shop.clearFaults();
});
afterAll(() => shop.close());

const CREATE = { method: 'POST', path: '/v1/orders' };
const KEY = { headers: { 'x-idempotency-key': '7e1c9e0e-3c51-4be0-9e0b-5f9ad7a30a11' } };

async function pay(device: string): Promise<void> {
  const answer = await shop.atTerminal('pay', { device });
  expect(answer.status).toBe(200);
}

/** Waits until the till's own view of an intent is this. */
function untilSeen(id: string, state: string): Promise<unknown> {
  return eventually(
    async () => (await shop.read(id)).body as { state?: string },
    (body) => body.state === state,
  );
}

describe('a key', () => {
  it.each(['toString', 'constructor', '__proto__', 'hasOwnProperty', '0'])(
    'that is called %s is one like others: its retries, also two at once, are one sale',
    async (key) => {
      const device = shop.freshDevice();
      const keyed = { headers: { 'x-idempotency-key': key } };
      const first = await Promise.all([
        shop.create(device, { amount: 1500 }, keyed),
        shop.create(device, { amount: 1500 }, keyed),
      ]);
      const again = await shop.create(device, { amount: 1500 }, keyed);
      expect([...first, again].map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(new Set([...first, again].map(idOf)).size).toBe(1);
      expect(await shop.orders(device)).toHaveLength(1);
      await pay(device);
      await untilSeen(idOf(again), 'FINISHED');
      const other = await shop.create(device, { amount: 1500 }, { headers: { 'x-idempotency-key': `${key}-2` } });
      expect([other.status, idOf(other) === idOf(again)]).toEqual([201, false]);
    },
  );
});

describe('in the way', () => {
  it('another body on a held terminal is busy, also under the same client key', async () => {
    const device = shop.freshDevice();
    await shop.create(device, { amount: 1500 }, KEY);
    const answer = await shop.create(device, { amount: 1600 }, KEY);
    expect(answer.status).toBe(409);
    expect(legacyErrorOf(answer)).toEqual({
      error: '2205',
      message: 'There is already a queued intent for the device',
      status: 409,
    });
    expect(await shop.orders(device)).toHaveLength(1);
  });

  it('another body while the first is in doubt is busy, and nothing is sent for it', async () => {
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'error', status: 409, code: 'idempotency_key_already_used' });
    expect((await shop.create(device, { amount: 1500 })).status).toBe(504);
    expect((await shop.create(device, { amount: 1600 })).status).toBe(409);
    expect(shop.rows(device)).toHaveLength(1);
    expect(await shop.orders(device)).toEqual([]);
  });

  it('an identical create without a key after the window is busy: the first one still holds the terminal', async () => {
    const device = shop.freshDevice();
    await shop.create(device);
    await new Promise((resolve) => setTimeout(resolve, 650));
    expect((await shop.create(device)).status).toBe(409);
  });

  it('a holder that ended without an event is looked at once, and the sale goes on', async () => {
    const device = shop.freshDevice();
    await shop.upstreamSettings({ webhook_mode: 'drop' });
    const first = idOf(await shop.create(device, { amount: 1500 }));
    await pay(device);
    const second = await shop.create(device, { amount: 1600 });
    await shop.upstreamSettings({ webhook_mode: 'normal' });
    expect(second.status).toBe(201);
    expect(idOf(second)).not.toBe(first);
    expect(shop.rows(device).map((row) => row.legacy_state)).toEqual(['FINISHED', 'OPEN']);
  });
});

describe('the same sale', () => {
  it('ten identical creates at once are one order and one id [F90]', async () => {
    const device = shop.freshDevice();
    const answers = await Promise.all(Array.from({ length: 10 }, () => shop.create(device)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(201));
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(await shop.orders(device)).toHaveLength(1);
    expect(shop.rows(device)).toHaveLength(1);
  });

  it('ten identical creates against silence are all told inside one deadline, and make one order', async () => {
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'no_answer', when: 'after', times: 'always' });
    const started = performance.now();
    const answers = await Promise.all(Array.from({ length: 10 }, () => shop.create(device)));
    expect(performance.now() - started, 'they do not line up for a deadline each').toBeLessThan(3_500);
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([504]));
    expect(await shop.orders(device)).toHaveLength(1);
  });

  it('retries while the first is unanswered and its order is paid meanwhile: nobody pays twice', async () => {
    const patient = await openShop({ PUENTE_CREATE_DEADLINE_MS: '5000', PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '5000' });
    const device = patient.freshDevice();
    // Longer than a busy machine takes to pay and to see it: a create after the first was answered is a new sale.
    await patient.fault({ ...CREATE, kind: 'delay', when: 'after', delay_ms: 3_000 });
    const first = patient.create(device);
    await eventually(
      () => patient.orders(device),
      (orders) => orders.length === 1,
    );
    await patient.atTerminal('pay', { device });
    await eventually(
      async () => (await patient.ops('/metrics')).text,
      (text) => text.includes('what="events",label="verified"'),
    );
    // Its event now waits for the create; the retries wait behind both, and find a payment.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const retries = Array.from({ length: 5 }, () => patient.create(device));
    const answers = await Promise.all([first, ...retries]);
    expect(answers.map((answer) => answer.status)).toEqual(Array(6).fill(201));
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(await patient.orders(device)).toHaveLength(1);
    expect(patient.rows(device)).toMatchObject([{ legacy_state: 'FINISHED' }]);
    await patient.close();
  });

  it('a retry after an answer that never came finds the order of the first', async () => {
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'no_answer', when: 'after', times: 'always' });
    const lost = await shop.create(device);
    expect(lost.status).toBe(504);
    await shop.clearFaults();
    const retry = await shop.create(device);
    expect(retry.status).toBe(201);
    expect(idOf(retry)).toBe(lost.headers['x-puente-intent']);
    expect(await shop.orders(device)).toHaveLength(1);
    expect(shop.rows(device)).toMatchObject([{ state: 'LIVE', client_answer: 'maybe' }]);
  });

  it('without a key inside the window; key order and spaces of the body do not matter', async () => {
    const device = shop.freshDevice();
    const path = `/point/integration-api/devices/${device}/payment-intents`;
    const first = await shop.till(path, { body: '{"amount":1500,"additional_info":{"ticket_number":"T1"}}' });
    const second = await shop.till(path, { body: '{ "additional_info": {"ticket_number":"T1"}, "amount": 1500 }' });
    expect(idOf(second)).toBe(idOf(first));
    expect(await shop.orders(device)).toHaveLength(1);
  });

  it('with a client key for as long as it is open', async () => {
    const device = shop.freshDevice();
    const first = await shop.create(device, {}, KEY);
    await new Promise((resolve) => setTimeout(resolve, 650));
    const second = await shop.create(device, {}, KEY);
    expect(idOf(second)).toBe(idOf(first));
    const [row] = shop.rows(device);
    expect(row?.idempotency_key, "the client's key never goes upstream").not.toBe(KEY.headers['x-idempotency-key']);
  });
});

describe('a second sale', () => {
  it.each([
    ['without a key', {}],
    ['under the same client key, as the Node SDK sends it', KEY],
  ])('equal to a paid one, %s, is a new order [F91]', async (_name, options) => {
    const device = shop.freshDevice();
    const first = idOf(await shop.create(device, {}, options));
    await pay(device);
    await untilSeen(first, 'FINISHED');
    const second = idOf(await shop.create(device, {}, options));
    expect(second).not.toBe(first);
    expect(await shop.orders(device)).toHaveLength(2);
  });

  it('equal to a refused one is sent again', async () => {
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'error', status: 400, code: 'bad_request' });
    expect((await shop.create(device)).status).toBe(400);
    expect((await shop.create(device)).status).toBe(201);
    expect(shop.rows(device).map((row) => row.state)).toEqual(['REJECTED', 'LIVE']);
  });

  it('on another terminal is another sale', async () => {
    const [one, other] = [shop.freshDevice(), shop.freshDevice()];
    const ids = await Promise.all([shop.create(one), shop.create(other)]);
    expect(idOf(ids[0])).not.toBe(idOf(ids[1]));
  });

  it('ten different creates on one terminal: one wins, nine are busy', async () => {
    const device = shop.freshDevice();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, nth) => shop.create(device, { amount: 1500 + nth })),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([201, ...Array(9).fill(409)]);
    expect(await shop.orders(device)).toHaveLength(1);
  });
});
