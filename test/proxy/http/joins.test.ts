/** Retries and second sales through the door; more in `test/proof/protocol-open.test.ts` (`docs/protocol.md` §3.9). */
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { FAST, idOf, openShop } from './till.ts';

const shop = openForAll(() => openShop({ PUENTE_CREATE_JOIN_WINDOW_MS: '600' }));
afterEach(async () => {
  await shop.clearFaults();
});

const CREATE = { method: 'POST', path: '/v1/orders' };
const KEY = { headers: { 'x-idempotency-key': '7e1c9e0e-3c51-4be0-9e0b-5f9ad7a30a11' } };

async function pay(device: string): Promise<void> {
  const answer = await shop.atTerminal('pay', { device });
  expect(answer.status).toBe(200);
}

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

describe('the same sale', () => {
  it('ten identical creates against silence are all told inside one deadline, and make one order', async () => {
    const device = shop.freshDevice();
    await shop.fault({ ...CREATE, kind: 'no_answer', when: 'after', times: 'always' });
    const started = performance.now();
    const answers = await Promise.all(Array.from({ length: 10 }, () => shop.create(device)));
    const deadlines = (performance.now() - started) / Number(FAST.PUENTE_CREATE_DEADLINE_MS);
    expect(deadlines, 'in line, they would take ten').toBeLessThan(5);
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([504]));
    expect(await shop.orders(device)).toHaveLength(1);
  });

  it('without a key inside the window; key order and spaces of the body do not matter', async () => {
    const device = shop.freshDevice();
    const path = `/point/integration-api/devices/${device}/payment-intents`;
    const first = await shop.till(path, { body: '{"amount":1500,"additional_info":{"ticket_number":"T1"}}' });
    const second = await shop.till(path, { body: '{ "additional_info": {"ticket_number":"T1"}, "amount": 1500 }' });
    expect(idOf(second)).toBe(idOf(first));
    expect(await shop.orders(device)).toHaveLength(1);
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
});
