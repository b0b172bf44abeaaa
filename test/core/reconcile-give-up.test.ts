/** Giving up a sale is the one repair that could destroy something: it is done on what is stored at that moment, or not at all. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Link } from '../../src/core/link.ts';
import { compare } from '../../src/core/reconcile/compare.ts';
import type { Runtime } from '../../src/core/runtime.ts';
import type { Upstream } from '../../src/core/upstream.ts';
import { auditOf, type Harness, MINUTE_MS, NOON, newLink, opened, orderId } from '../store/contract/harness.ts';
import { openHarness } from '../store/sqlite/kit.ts';
import { laneRuntime } from './lane-runtime.ts';

const silent: Upstream = { send: async () => ({ kind: 'not_sent', cause: 'nobody is there' }) };
let harness: Harness;
let runtime: Runtime;
let doubt: Link;
beforeEach(async () => {
  harness = await openHarness();
  const clock = { now: () => NOON + 60 * MINUTE_MS, sleep: async () => undefined };
  runtime = laneRuntime({ store: harness.store, upstream: silent, legacy_upstream: silent, clock });
  const link = await opened(harness.store, newLink());
  doubt = await harness.store.saveLink(link, { state: 'IN_DOUBT' });
});
afterEach(() => harness.dispose());

const isPaid = (link: Link) =>
  harness.store.saveLink(
    link,
    { state: 'DONE', legacy_state: 'FINISHED', order_id: orderId(1), next_check_at: null },
    { audit: auditOf('paid') },
  );

it('gives up what nobody has heard of', async () => {
  expect(await compare(runtime, doubt, true)).toMatchObject({ mismatch: { kind: 'missing' }, repaired: true });
  expect(await harness.store.link(doubt.legacy_id)).toMatchObject({ state: 'LOST', legacy_state: 'ABANDONED' });
});

it('leaves a sale alone that was paid since it was read', async () => {
  await isPaid(doubt);
  expect(await compare(runtime, doubt, true), 'its order can’t be read here').toBe('unread');
  expect(await harness.store.link(doubt.legacy_id)).toMatchObject({ state: 'DONE' });
});

it('leaves a sale alone that is paid while the repair waits for the till’s own call', async () => {
  let finish: () => void = () => undefined;
  const call = runtime.serial.run(doubt.legacy_id, () => new Promise<void>((resolve) => (finish = resolve)));
  const comparing = compare(runtime, doubt, true);
  await isPaid(doubt);
  finish();
  await call;
  expect(await comparing).toMatchObject({ mismatch: { kind: 'missing' }, repaired: false });
  expect(await harness.store.link(doubt.legacy_id)).toMatchObject({ state: 'DONE', legacy_state: 'FINISHED' });
});
