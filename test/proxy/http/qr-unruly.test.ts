/** QR creates with an upstream whose orders lack the code. */
import { afterEach, describe, expect, it } from 'vitest';
import { ARGENTINA } from '../../kit.ts';
import { FAST } from './till.ts';
import { answerJson, answerWho, type Outside, startOutside, startUnruly, type Unruly } from './unruly.ts';

const { PUENTE_SANDBOX_SETTINGS: _unused, ...QUICK } = FAST;
const QRS = `/instore/orders/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/qrs`;
const SALE = {
  external_reference: 'sale 77',
  title: 'Shop',
  total_amount: 20,
  items: [{ title: 'Coffee', unit_price: 20, quantity: 1, unit_measure: 'unit', total_amount: 20 }],
};

let upstream: Unruly;
let puente: Outside;
afterEach(async () => {
  await puente.close();
  await upstream.close();
});

async function open(): Promise<void> {
  upstream = await startUnruly((seen, response) => {
    if (seen.path === '/users/me') return answerWho(response);
    if (seen.method !== 'POST') return answerJson(response, 404, { errors: [{ code: 'order_not_found' }] });
    const body = JSON.parse(seen.body.toString('utf8')) as Record<string, unknown>;
    const made = { ...body, id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD', user_id: ARGENTINA, status: 'created' };
    answerJson(response, 201, made);
  });
  puente = await startOutside(upstream.url, QUICK, { random: () => 0.1 });
}

describe('an order without the code it was asked for', () => {
  it('is no success for a dynamic sale, which nobody could pay', async () => {
    await open();
    const answer = await puente.till(QRS, { method: 'POST', body: SALE });
    expect(answer.status).toBe(504);
    expect(answer.body).toMatchObject({ error: 'gateway_timeout', status: 504, causes: [] });
  });

  it('is one for a hybrid sale, which the till shows on its own code', async () => {
    await open();
    const answer = await puente.till(QRS, { method: 'PUT', body: SALE });
    expect([answer.status, answer.body]).toEqual([
      201,
      { in_store_order_id: expect.stringMatching(/^[0-9a-f-]{36}$/), qr_data: '' },
    ]);
  });
});
