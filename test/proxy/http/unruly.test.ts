/** Creates with a false or hanging upstream: no 2xx in doubt (F9, F19). See `test/faults/upstream-broken.test.ts`. */
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { DEVICE, POINT } from '../../kit.ts';
import { FAST, legacyErrorOf, rowsOf } from './till.ts';
import {
  answerJson,
  answerWho,
  type Outside,
  orderFor,
  type Seen,
  startOutside,
  startUnruly,
  type Unruly,
} from './unruly.ts';

const { PUENTE_SANDBOX_SETTINGS: _unused, ...QUICK } = FAST;
let upstream: Unruly;
let puente: Outside;
afterEach(async () => {
  await puente.close();
  await upstream.close();
});

/** Puente with an upstream that accepts the merchant and handles creates by `onCreate`. */
async function open(
  onCreate: (seen: Seen, response: ServerResponse, nth: number) => void,
  settings = {},
): Promise<void> {
  let creates = 0;
  upstream = await startUnruly((seen, response) => {
    if (seen.path === '/users/me') answerWho(response);
    else if (seen.method === 'POST' && seen.path === '/v1/orders') onCreate(seen, response, ++creates);
    else answerJson(response, 404, { errors: [{ code: 'order_not_found', message: 'Order not found.' }] });
  });
  puente = await startOutside(upstream.url, { ...QUICK, ...settings }, { random: () => 0.1 });
}

function create() {
  return puente.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
}

function creates(): Seen[] {
  return upstream.seen.filter((seen) => seen.path === '/v1/orders');
}

describe('a 201 that is not provably our order [F9]', () => {
  it.each<[string, (seen: Seen, response: ServerResponse) => void]>([
    [
      'another reference',
      (seen, response) => answerJson(response, 201, orderFor(seen, { external_reference: 'somebody-elses' })),
    ],
    ['no reference', (seen, response) => answerJson(response, 201, orderFor(seen, { external_reference: undefined }))],
    [
      "another merchant's user_id",
      (seen, response) => answerJson(response, 201, orderFor(seen, { user_id: '700100300' })),
    ],
    ['an id of the wrong form', (seen, response) => answerJson(response, 201, orderFor(seen, { id: 'ORD-1' }))],
    ['an id that climbs paths', (seen, response) => answerJson(response, 201, orderFor(seen, { id: '../users/me' }))],
    ['null', (_seen, response) => answerJson(response, 201, null)],
    ['202 with our order', (seen, response) => answerJson(response, 202, orderFor(seen))],
  ])('%s', async (_name, answer) => {
    await open(answer);
    const told = await create();
    expect(told.status).toBe(504);
    legacyErrorOf(told);
    expect(rowsOf(puente.data_dir, DEVICE)).toMatchObject([{ state: 'IN_DOUBT', client_answer: 'error' }]);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    const [first, ...others] = creates();
    for (const other of others) {
      expect(other.body.equals(first?.body ?? Buffer.alloc(0)), 'a repeat has the same bytes').toBe(true);
      expect(other.headers['x-idempotency-key']).toBe(first?.headers['x-idempotency-key']);
    }
    expect(creates().length).toBeGreaterThan(1);
    expect(creates().length).toBeLessThanOrEqual(3);
  });
});

describe('answers without an outcome', () => {
  it.each([
    ['429 with Retry-After 0 is repeated at once [F19]', '0', 201, 2],
    ['429 with Retry-After 60 is not waited for [F19]', '60', 429, 1],
    ['429 with a date long ago is repeated [F19]', 'Wed, 21 Oct 2015 07:28:00 GMT', 201, 2],
    ['429 with an absurd number is not waited for [F19]', '1e9', 429, 1],
    ['429 without Retry-After is repeated [F19]', null, 201, 2],
  ])('%s', async (_name, retry_after, status, calls) => {
    await open((seen, response, nth) => {
      if (nth > 1) return answerJson(response, 201, orderFor(seen));
      const headers: Record<string, string> = retry_after === null ? {} : { 'retry-after': retry_after };
      answerJson(response, 429, { errors: [{ code: 'too_many_requests' }] }, headers);
    });
    const told = await create();
    expect(told.status).toBe(status);
    expect(creates()).toHaveLength(calls);
    if (status === 429) {
      expect(rowsOf(puente.data_dir, DEVICE)).toMatchObject([{ state: 'NOT_SENT' }]);
      expect(Number(told.headers['retry-after'])).toBeGreaterThan(0);
    }
  });

  it('a slow answer to whose token it is counts against the same deadline', async () => {
    upstream = await startUnruly((seen, response) => {
      if (seen.path === '/users/me') setTimeout(() => answerWho(response), 700);
      else if (seen.path !== '/v1/orders') answerJson(response, 404, {});
    });
    puente = await startOutside(upstream.url, {
      ...QUICK,
      PUENTE_CREATE_DEADLINE_MS: '500',
      PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '400',
    });
    const told = await create();
    expect(told.status).toBe(503);
    legacyErrorOf(told);
    expect(creates(), 'nothing is written or sent that could not be answered').toEqual([]);
    expect(rowsOf(puente.data_dir, DEVICE)).toEqual([]);
  });

  it('the read after a repeat ends with the deadline, and its silence does not take the success away', async () => {
    upstream = await startUnruly((seen, response) => {
      if (seen.path === '/users/me') answerWho(response);
      else if (seen.path !== '/v1/orders')
        return; // reads are never answered
      else if (creates().length === 1) response.destroy();
      else answerJson(response, 201, orderFor(seen));
    });
    puente = await startOutside(upstream.url, { ...QUICK, PUENTE_READS_TIMEOUT_MS: '9000' });
    const started = performance.now();
    expect((await create()).status).toBe(201);
    expect(performance.now() - started, "far below the till's own 10 s").toBeLessThan(5_000);
  });
});
