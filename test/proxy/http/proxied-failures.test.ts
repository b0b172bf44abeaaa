/** Failures of legacy during a proxied call: errors in the family's form, never called harmless when in doubt. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Outside, startOutside, startUnruly, type Unruly } from './unruly.ts';

const REFUND = '/v1/payments/131313131313/refunds';
const STAGE = { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' };

let upstream: Unruly;
let puente: Outside;

describe('an upstream that takes the call and hangs up', () => {
  beforeAll(async () => {
    upstream = await startUnruly((_seen, response) => void response.socket?.destroy());
    puente = await startOutside(upstream.url, STAGE);
  });
  afterAll(async () => {
    await puente.close();
    await upstream.close();
  });

  it.each([
    ['a refund', 'POST', REFUND, { status: 504, cause: [{ code: 504 }] }],
    ['a collection', 'PUT', '/collections/131313131313', { status: 504, cause: [{ code: 504 }] }],
    ['a v1 sale', 'POST', '/mpmobile/instore/qr/700100200/SUC001POS001', { status: 504, causes: [] }],
    ['a v2 sale', 'PUT', '/instore/qr/seller/collectors/700100200/pos/A/orders', { status: 504, causes: [] }],
    ['an intent', 'POST', '/point/integration-api/devices/PAX_A910__1/payment-intents', { status: 504, error: '504' }],
    ['a store', 'POST', '/users/700100200/stores', { status: 504, cause: [{ code: 504 }] }],
  ])('%s may have happened', async (_what, method, path, told) => {
    const before = upstream.seen.length;
    const answer = await puente.till(path, { method, body: { amount: 1500 } });
    expect(upstream.seen.slice(before).map((seen) => seen.path)).toContain(path);
    expect(answer.status).toBe(504);
    expect(answer.body).toMatchObject(told);
    expect(answer.text).not.toContain('nothing was charged');
    // Legacy makes it twice: only on orders is a repeat recognised.
    expect(answer.text).toContain('before trying again');
    expect(answer.text).not.toContain('safely');
  });

  it.each([
    [REFUND, { status: 502, cause: [{ code: 502 }] }],
    ['/merchant_orders/40123456789', { status: 502, error: 'bad_gateway', cause: [] }],
    ['/instore/qr/seller/collectors/700100200/pos/A/orders', { status: 502, causes: [] }],
  ])('a read of %s has changed nothing', async (path, told) => {
    const answer = await puente.till(path);
    expect([answer.status, answer.body]).toEqual([502, expect.objectContaining({ status: 502 })]);
    expect(answer.body).toMatchObject(told);
  });
});

describe('an upstream that nobody answers at', () => {
  beforeAll(async () => {
    upstream = await startUnruly(() => undefined);
    const { url } = upstream;
    await upstream.close();
    puente = await startOutside(url, STAGE);
  });
  afterAll(() => puente.close());

  it('has not got the call', async () => {
    const answer = await puente.till(REFUND, { method: 'POST', body: { amount: 10 } });
    expect(answer.status).toBe(502);
    expect(answer.body).toMatchObject({ error: 'bad_gateway', cause: [{ code: 502 }] });
    expect(answer.text).toContain('nothing was charged');
  });
});
