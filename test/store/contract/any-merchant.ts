/** Lookups without a merchant: open work, refunds, and notices by their state. */
import { expect, it } from 'vitest';
import {
  finished,
  firstDue,
  type Harness,
  MERCHANT,
  NOON,
  newNotice,
  newRefund,
  newSale,
  OTHER_MERCHANT,
  opened,
} from './harness.ts';

export function anyMerchantTests(harness: Harness): void {
  const { store } = harness;
  it('counts what is open on both sides and what waits to be told, by merchant', async () => {
    const link = await opened(store);
    await store.links.saveLink(
      link,
      { state: 'IN_DOUBT' },
      { notices: [newNotice(link, '1'), newNotice(link, '2', { subject: '2' })] },
    );
    await opened(store, { unit: 'PAX_A910__2' });
    await finished(store);
    const sale = newSale({ merchant_id: OTHER_MERCHANT });
    await store.legacy_sales.openLegacySale(sale);
    await store.legacy_sales.saveLegacySale(sale.id, { state: 'IN_DOUBT' });
    await store.legacy_sales.openLegacySale(newSale({ merchant_id: '1', ends_at: NOON - 1 }));
    expect(await store.history.openCounts(NOON)).toEqual([
      { merchant_id: MERCHANT, orders: 2, legacy: 0, in_doubt: 1, notices_pending: 2 },
      { merchant_id: OTHER_MERCHANT, orders: 0, legacy: 1, in_doubt: 1, notices_pending: 0 },
    ]);
  });

  it('finds a refund by each of its names', async () => {
    const link = await finished(store);
    const { refund } = await store.refunds.openRefund(newRefund(link), () => 'open');
    const saved = await store.refunds.saveRefund(refund, {
      state: 'DONE',
      upstream_id: 'REF1',
      reference_id: '1900000001',
    });
    for (const id of [refund.id, String(refund.number), 'REF1', '1900000001']) {
      expect(await store.refunds.refund(id), id).toEqual(saved);
    }
    for (const id of ['', '0', 'REF', '19', 'f']) expect(await store.refunds.refund(id), id).toBeNull();
  });

  it('counts notices by topic, state and attempts, of a period and of a merchant', async () => {
    const failed = { at: NOON, duration_ms: 3, outcome: 'theirs', status: 500, detail: 'no', url: null } as const;
    for (const merchant_id of [MERCHANT, OTHER_MERCHANT]) {
      const link = await finished(store, { merchant_id });
      await store.links.saveLink(
        link,
        {},
        { notices: ['a', 'b'].map((body) => newNotice(link, body, { subject: body })) },
      );
    }
    await finished(store).then((link) =>
      store.links.saveLink(link, {}, { notices: [newNotice(link, 'c', { created_at: NOON + 9 })] }),
    );
    for (let tries = 0; tries < 3; tries++) {
      const first = await firstDue(store);
      await store.notices.recordAttempt(first, failed, { state: 'pending', next_attempt_at: NOON });
    }
    const sums = await store.notices.sumNotices({ since: NOON, until: NOON + 9 });
    expect(sums).toEqual(
      expect.arrayContaining([
        { topic: 'point', form: 'point', state: 'pending', attempts: 0, count: 3 },
        { topic: 'point', form: 'point', state: 'pending', attempts: 2, count: 1 },
      ]),
    );
    expect(sums).toHaveLength(2);
    expect(await store.notices.sumNotices({ merchant_id: OTHER_MERCHANT, since: NOON, until: NOON + 10 })).toHaveLength(
      1,
    );
    expect(await store.notices.sumNotices({ since: NOON - 5, until: NOON })).toEqual([]);
  });
}
