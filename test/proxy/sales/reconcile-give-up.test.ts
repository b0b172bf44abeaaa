/** Giving up a sale is the only repair that can lose data: it is decided on the currently stored row, or not at all. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Ports } from '../../../src/ops/ports.ts';
import { compare } from '../../../src/ops/reconcile/reconcile.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import type { Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import {
  auditOf,
  type Harness,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newLink,
  opened,
  orderId,
} from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';
import { lanePorts } from '../routing/lane-ports.ts';

const forgetful: Upstream = {
  send: async () => ({ kind: 'answered', status: 404, retry_after_ms: null, body: { error: 'order_not_found' } }),
};
let harness: Harness;
let ports: Ports;
let link: Link;
let tick_ms = 0;
beforeEach(async () => {
  harness = await openHarness();
  tick_ms = 0;
  const clock = { now: () => NOON + 60 * MINUTE_MS, monotonic: () => tick_ms, sleep: async () => undefined };
  ports = lanePorts({ store: harness.store, upstreams: { orders: forgetful, legacy: forgetful }, clock });
  await meetMerchant();
  link = await opened(harness.store, newLink({ merchant_id: MERCHANT }));
  link = await harness.store.links.saveLink(link, { state: 'LIVE', order_id: orderId(1) });
});
afterEach(() => harness.dispose());

async function meetMerchant(): Promise<void> {
  const token = new Secret('APP_USR-1-010101-invented-700100200');
  const fingerprint = ports.vault.fingerprint(token);
  const sealed_token = ports.vault.seal(token.reveal(), 'token');
  const facts = { merchant_id: MERCHANT, sealed_token, accepted_until: NOON + 120 * MINUTE_MS, seen_at: NOON };
  await harness.store.merchants.acceptToken({ fingerprint, ...facts }, 'MLA');
}

const isPaid = () =>
  harness.store.links.saveLink(
    link,
    { state: 'DONE', legacy_state: 'FINISHED', next_check_at: null },
    { audit: auditOf('paid') },
  );

/** Twenty minutes after the first read that did not find the order. */
async function gone(): Promise<void> {
  expect(await compare(ports, link, true)).toMatchObject({ mismatch: { kind: 'missing' }, repaired: false });
  expect(await harness.store.links.link(link.legacy_id)).toMatchObject({ state: 'LIVE' });
  tick_ms += 10 * MINUTE_MS;
  expect(await compare(ports, link, true)).toMatchObject({ repaired: false });
  tick_ms += 10 * MINUTE_MS;
}

it('gives up what no read has found for as long as it could be paid, and nothing before', async () => {
  await gone();
  expect(await compare(ports, link, false)).toMatchObject({ mismatch: { repair: 'give_up' }, repaired: false });
  expect(await compare(ports, link, true)).toMatchObject({ mismatch: { kind: 'missing' }, repaired: true });
  expect(await harness.store.links.link(link.legacy_id)).toMatchObject({ state: 'LOST', legacy_state: 'ABANDONED' });
});

it('leaves a create in doubt to the completer', async () => {
  link = await harness.store.links.saveLink(link, { state: 'IN_DOUBT', order_id: null });
  expect(await compare(ports, link, true)).toMatchObject({ mismatch: { kind: 'missing' }, repaired: false });
  expect(await harness.store.links.link(link.legacy_id)).toMatchObject({ state: 'IN_DOUBT' });
});

it('leaves a sale alone that is paid by now', async () => {
  await gone();
  await isPaid();
  expect(await compare(ports, link, true)).toMatchObject({ mismatch: { kind: 'missing' }, repaired: false });
  expect(await harness.store.links.link(link.legacy_id)).toMatchObject({ state: 'DONE' });
});

it('leaves a sale alone that is paid while the repair waits for the till’s own call', async () => {
  await gone();
  let finish: () => void = () => undefined;
  const call = ports.memory.mutex.run(link.legacy_id, () => new Promise<void>((resolve) => (finish = resolve)));
  const comparing = compare(ports, link, true);
  await isPaid();
  finish();
  await call;
  expect(await comparing).toMatchObject({ mismatch: { kind: 'missing' }, repaired: false });
  expect(await harness.store.links.link(link.legacy_id)).toMatchObject({ state: 'DONE', legacy_state: 'FINISHED' });
});
