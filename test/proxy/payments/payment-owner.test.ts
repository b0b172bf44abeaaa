/** The cached part of a payment that was read to find its owner: thousands are cached, for an hour. */
import { expect, it } from 'vitest';
import type { Ports } from '../../../src/ops/ports.ts';
import { createCache } from '../../../src/proxy/concurrency.ts';
import { findUnseenPayment } from '../../../src/proxy/payments/owner.ts';
import { Secret } from '../../../src/proxy/vault.ts';

const [NOW, HOUR_MS] = [Date.parse('2026-03-01T12:00:00Z'), 60 * 60_000];
const [MERCHANT, PAYMENT] = ['700100200', '131313131313'];

it('is its number, its order and its reference, and nothing of its buyer', async () => {
  const cache = createCache();
  const body = {
    id: Number(PAYMENT),
    status: 'approved',
    external_reference: 'REF-1',
    order: { id: 'ORD1', type: 'mercadopago' },
    payer: { email: 'buyer@example.com' },
  };
  const ports = {
    memory: { cache },
    clock: { now: () => NOW },
    settings: { reads: { timeout_ms: 1_000, search_fresh_ms: 1_000 } },
    upstreams: { orders: { send: async () => ({ kind: 'answered', status: 200, body }) } },
    store: {
      links: { linkByPayment: async () => null, linkByOrder: async () => null, linkByReference: async () => null },
    },
  } as unknown as Ports; // all that the lookup uses
  expect(await findUnseenPayment(ports, new Secret('a token'), MERCHANT, PAYMENT)).toBeNull();
  expect(await cache.peek(`payment owner ${MERCHANT} ${PAYMENT}`, NOW, HOUR_MS)).toEqual({
    at: NOW,
    status: 200,
    traits: { id: body.id, external_reference: 'REF-1', order: { id: 'ORD1' } },
  });
});
