/** An unexpected error inside the server: the till gets an error in the legacy shape, and the next sale works. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bench, DEVICE, POINT, SECOND_DEVICE, startBench } from '../kit.ts';

const PATH = `${POINT}/devices/${DEVICE}/payment-intents`;

let bench: Bench;
let broken: string | null = null;

beforeAll(async () => {
  const failpoint = (name: string): void => {
    if (name === broken) throw new Error('a defect at /root/secret/place');
  };
  bench = await startBench({ PUENTE_ROUTING_DEFAULT_STAGE: 'orders' }, { failpoint });
});

afterAll(() => bench.close());

it('a handler that throws answers 500 in the legacy shape without internals, and the process continues [F52]', async () => {
  broken = 'create.before_row';
  const failed = await bench.till(PATH, { body: { amount: 1500 } });
  expect(failed.status).toBe(500);
  expect(failed.body).toMatchObject({ status: 500, error: expect.any(String), message: expect.any(String) });
  expect(failed.text).not.toContain('secret/place');
  broken = null;
  expect((await bench.till(PATH, { body: { amount: 1500 } })).status).toBe(201);
});

it('an error after the order was created is no success for the till, and its retry gets the same sale [F52]', async () => {
  const path = `${POINT}/devices/${SECOND_DEVICE}/payment-intents`;
  const sale = { body: { amount: 1600 }, headers: { 'x-idempotency-key': 'key-of-the-till' } };
  broken = 'create.answer_read';
  expect((await bench.till(path, sale)).status).toBeGreaterThanOrEqual(500);
  broken = null;
  const again = await bench.till(path, sale);
  expect(again.status).toBe(201);
  expect(
    [...bench.sandbox.world.orders.values()].filter(({ transaction }) => transaction.amount_minor === 1600),
  ).toHaveLength(1);
});
