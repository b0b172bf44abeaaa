/** Lookups of QR sales: by merchant order, the till's own reference, payment, and time. */
import { LosslessNumber } from 'lossless-json';
import { expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import { finished, type Harness, MERCHANT, MINUTE_MS, NOON, OTHER_MERCHANT, opened } from './harness.ts';

/** Above every real number, and still exact in a double (`proxy/ids.ts`). */
const MINTED = 8_030_388_800_000_001;
const sale = { family: 'qr', legacy_state: 'payment_required' } as const;

export function qrLinkTests(harness: Harness): void {
  const { store } = harness;
  const open = (change: Partial<Link>) => opened(store, { ...sale, ...change });
  itFindsSales(harness, open);

  it('keeps everything of a sale through a restart', async () => {
    const link = await open({
      unit: 'SUC001POS001',
      client_reference: 'Factura 0001 · ñandú',
      merchant_order_id: MINTED,
      sealed_notice_url: new Uint8Array([0, 255, 1, 128]),
      held: { body: 'c2VhbGVk', additional_info: { total_amount: new LosslessNumber('100.10') } },
    });
    const saved = await store.links.saveLink(link, {
      legacy_state: 'partially_reverted',
      payment_id: '131772540987',
    });
    expect(saved.slot).toBe('qr:SUC001POS001');
    expect(await (await harness.reopen()).links.link(link.legacy_id)).toEqual(saved);
  });

  it('gives a terminal and a point of sale of the same name a slot each', async () => {
    const terminal = await opened(store, { unit: 'SAME' });
    const till = await open({ unit: 'SAME' });
    expect(await store.links.liveLink(MERCHANT, 'point:SAME')).toEqual(terminal);
    expect(await store.links.liveLink(MERCHANT, 'qr:SAME')).toEqual(till);
    expect(await store.links.liveLink(OTHER_MERCHANT, 'qr:SAME')).toBeNull();
    await store.links.saveLink(till, { state: 'DONE', legacy_state: 'expired' });
    expect(await store.links.liveLink(MERCHANT, 'qr:SAME')).toBeNull();
  });

  it('finds work on any point of sale: what is live, and what its till may repeat', async () => {
    const work = (merchant = MERCHANT, since = NOON, answered_since = NOON) =>
      store.links.hasQrWork(merchant, since, answered_since);
    await opened(store, { unit: 'T' });
    await open({ unit: 'A', slot: null });
    expect(await work()).toBe(false);
    let sale = await open({ unit: 'A' });
    expect(await work(MERCHANT, NOON + 1)).toBe(true);
    expect(await work(OTHER_MERCHANT)).toBe(false);
    sale = await store.links.saveLink(sale, { state: 'DONE', legacy_state: 'paid' });
    expect([await work(), await work(MERCHANT, NOON + 1)]).toEqual([true, false]);
    sale = await store.links.saveLink(sale, { client_answer: 'maybe', acknowledged_at: NOON });
    expect([await work(), await work(MERCHANT, NOON, NOON + 1)]).toEqual([true, false]);
    await store.links.saveLink(sale, { known_by: 'till' });
    expect(await work()).toBe(false);
  });

  it('lists no sale among the finished intents', async () => {
    const link = await open({ unit: 'A' });
    await store.links.saveLink(link, { state: 'DONE', legacy_state: 'paid', legacy_state_at: NOON });
    const intent = await finished(store);
    expect(await store.history.finishedLinks(MERCHANT, NOON, NOON + 1, 10)).toEqual([intent]);
  });
}

function itFindsSales(harness: Harness, open: (change: Partial<Link>) => Promise<Link>): void {
  const { store } = harness;
  it('finds a sale by its merchant order, and gives a second one of the same number the next free one', async () => {
    const first = await open({ unit: 'A', merchant_order_id: MINTED });
    await open({ unit: 'B', merchant_order_id: MINTED + 1 });
    expect(await store.links.linkByMerchantOrder(MINTED)).toEqual(first);
    expect(await store.links.linkByMerchantOrder(MINTED + 2)).toBeNull();
    const third = await open({ unit: 'C', merchant_order_id: MINTED });
    expect(third.merchant_order_id).toBe(MINTED + 2);
    expect(await store.links.linkByMerchantOrder(MINTED + 2)).toEqual(third);
  });

  it('finds the newest link with a payment, whoever asks', async () => {
    const early = await finished(store, { created_at: NOON });
    const late = await open({ unit: 'A', merchant_id: OTHER_MERCHANT, created_at: NOON + 1 });
    await store.links.saveLink(early, { payment_id: '131772540987' });
    const newest = await store.links.saveLink(late, { payment_id: '131772540987' });
    expect(await store.links.linkByPayment('131772540987')).toEqual(newest);
    expect(await store.links.linkByPayment('13177254098')).toBeNull();
  });

  it("lists a merchant's links with a reference, newest first, within the limit", async () => {
    const reference = 'mesa 4 / á';
    const middle = await open({ unit: 'A', client_reference: reference, created_at: NOON + 1 });
    const oldest = await finished(store, { client_reference: reference, created_at: NOON });
    const newest = await open({ unit: 'B', client_reference: reference, created_at: NOON + 2 });
    await open({ unit: 'C', client_reference: 'mesa 4', created_at: NOON + 3 });
    await open({ unit: 'D', client_reference: null, created_at: NOON + 3 });
    await open({ unit: 'A', client_reference: reference, merchant_id: OTHER_MERCHANT, created_at: NOON + 3 });
    expect(await store.history.linksByClientReference(MERCHANT, reference, 10)).toEqual([newest, middle, oldest]);
    expect(await store.history.linksByClientReference(MERCHANT, reference, 2)).toEqual([newest, middle]);
    expect(await store.history.linksByClientReference(MERCHANT, 'MESA 4', 10)).toEqual([]);
    const changed = await store.links.saveLink(newest, { payment_id: '131772540987' });
    expect(await store.history.linksByClientReference(MERCHANT, reference, 10)).toEqual([changed, middle, oldest]);
  });

  it("lists a merchant's links by the time they were made, newest first, within the limit", async () => {
    const second = await open({ unit: 'B', created_at: NOON + MINUTE_MS - 1 });
    const first = await opened(store, { unit: 'A', created_at: NOON });
    await open({ unit: 'C', created_at: NOON + MINUTE_MS });
    await open({ unit: 'D', created_at: NOON - 1 });
    await open({ unit: 'A', created_at: NOON, merchant_id: OTHER_MERCHANT });
    await listed(store, [second, first], 10);
    await listed(store, [second], 1);
  });
}

async function listed(store: Store, wanted: Link[], limit: number): Promise<void> {
  expect(await store.history.linksOf(MERCHANT, NOON, NOON + MINUTE_MS, limit)).toEqual(wanted);
}
