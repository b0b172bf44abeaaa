/** Calls on legacy over a kept connection that legacy closes as they go out, as servers close idle ones. */
import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { POINT } from '../../kit.ts';
import { answerJson, type Outside, startOutside, startUnruly, type Unruly } from './unruly.ts';

const INTENT = `${POINT}/payment-intents/3f0e6a52-9f0b-4c3e-8a51-0d5f1f0c9a77`;

/** Connections that have served a call. */
const used = new Set<Socket>();
let is_closing = false;
let upstream: Unruly;
let puente: Outside;
beforeAll(async () => {
  upstream = await startUnruly((_seen, response) => {
    const { socket } = response;
    if (socket === null || (is_closing && used.has(socket))) return void socket?.destroy();
    used.add(socket);
    answerJson(response, 200, { state: 'OPEN' });
  });
  puente = await startOutside(upstream.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
});
afterAll(async () => {
  await puente.close();
  await upstream.close();
});
beforeEach(async () => {
  is_closing = false;
  await puente.till(INTENT);
  is_closing = true;
  upstream.seen.length = 0;
});

const asked = (): string[] => upstream.seen.map(({ method }) => method);

it('none is sent again by Puente: it may have arrived', async () => {
  expect((await puente.till(INTENT)).status).toBe(502);
  expect(asked()).toEqual(['GET']);
});

it('nor is a sale, whose till is told to look first', async () => {
  const path = `${POINT}/devices/PAX_A910__1/payment-intents`;
  expect((await puente.till(path, { body: { amount: 1500 } })).status).toBe(504);
  expect(asked()).toEqual(['POST']);
});
