/** Searches for merchant orders: Puente's by every filter, and together with legacy's (`docs/field-notes.md` QR §2). */
import { beforeAll, describe, expect, it } from 'vitest';
import type { MerchantOrder } from '../../../src/proxy/qr/merchant-orders.ts';
import { BRAZIL, eventually } from '../../kit.ts';
import {
  ABOVE_REAL_ONES,
  code,
  freshReference,
  made,
  NEVER,
  NOTHING,
  OTHER_TILL,
  openShop,
  PREFERENCE,
  SALE,
  TILL,
  v1,
  v2,
} from './merchant-order-shop.ts';

describe('a reference with letters beyond ASCII', () => {
  const shop = openShop();

  it.each(['Caf%C3%A9+%E2%82%AC', 'Caf%E9+%80', 'Caf%e9%20%80'])('is found under %s [F72]', async (written) => {
    const { elements } = await shop.search({ external_reference: 'Café €' });
    if (elements === null) {
      await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: 'Café €' } }));
    }
    const found = await shop.bench.till(`/merchant_orders/search?external_reference=${written}`);
    expect(found.body).toMatchObject({ elements: [{ external_reference: 'Café €' }], total: 1 });
  });
});

describe('nothing is found', () => {
  const shop = openShop();

  it('by another merchant, to whom it is as one that nobody knows', async () => {
    const reference = freshReference();
    await made(shop.bench.till(v1(TILL), { body: { ...PREFERENCE, external_reference: reference } }));
    const { id } = await shop.only(reference);
    expect((await shop.bench.till(`/merchant_orders/${id}`, { merchant: BRAZIL })).status).toBe(400);
    expect(await shop.search({ external_reference: reference }, '/merchant_orders', BRAZIL)).toEqual(NOTHING);
  });

  it('of a sale whose create was refused', async () => {
    const reference = freshReference();
    const fault = { method: 'POST', path: '/v1/orders', kind: 'error', status: 400, code: 'bad_request' };
    await shop.bench.control('/faults', { body: fault });
    const answer = await shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } });
    expect(answer.status).toBe(400);
    expect(await shop.search({ external_reference: reference })).toEqual(NOTHING);
  });
});

describe('searching', () => {
  const shop = openShop();
  let one: MerchantOrder;
  let other: MerchantOrder;

  beforeAll(async () => {
    const references = [freshReference(), freshReference()];
    await made(
      shop.bench.till(v1(TILL), { body: { ...PREFERENCE, external_reference: references[0], sponsor_id: 700100201 } }),
    );
    await shop.buyer('pay');
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: references[1] } }));
    one = await shop.only(references[0] ?? '');
    other = await shop.only(references[1] ?? '');
  });

  it.each(['/merchant_orders/search', '/merchant_orders/search/', '/merchant_orders', '/merchant_orders/'])(
    '%s finds by reference',
    async (path) => {
      expect(await shop.search({ external_reference: one.external_reference }, path)).toEqual({
        elements: [one],
        next_offset: 1,
        total: 1,
      });
      expect(await shop.search({ external_reference: 'nobody has this' }, path)).toEqual(NOTHING);
    },
  );

  it('newest first, and page by page', async () => {
    expect(await shop.search({})).toEqual({ elements: [other, one], next_offset: 2, total: 2 });
    expect(await shop.search({ limit: '1' })).toEqual({ elements: [other], next_offset: 1, total: 2 });
    expect(await shop.search({ limit: '1', offset: '1' })).toEqual({ elements: [one], next_offset: 2, total: 2 });
    expect(await shop.search({ offset: '2' })).toEqual(NOTHING);
    expect(await shop.search({ limit: '0' })).toEqual(NOTHING);
  });

  it('each filter finds the one it means', async () => {
    const means: [Record<string, string>, MerchantOrder[]][] = [
      [{ status: 'closed' }, [one]],
      [{ status: 'opened' }, [other]],
      [{ order_status: 'paid' }, [one]],
      [{ preference_id: other.preference_id }, [other]],
      [{ sponsor_id: '700100201' }, [one]],
      [{ site_id: 'MLA' }, [other, one]],
      [{ site_id: 'MLB' }, []],
      [{ marketplace: 'NONE' }, [other, one]],
      [{ marketplace: 'SOME' }, []],
      [{ application_id: '4004001' }, [other, one]],
      [{ application_id: '1' }, []],
      [{ payer_id: '700900001' }, []],
      [{ items: 'A1' }, [other, one]],
      [{ items: 'B2' }, []],
      [{ date_created_from: 'NOW-1HOUR', date_created_to: 'NOW' }, [other, one]],
      [{ date_created_from: 'NOW+1HOUR' }, []],
      [{ date_created_to: 'NOW-1DAY' }, []],
      [{ last_updated_from: one.last_updated, last_updated_to: one.last_updated, status: 'closed' }, [one]],
      [{ last_updated_to: '2026-01-01' }, []],
      [{ status: '', sort: 'anything' }, [other, one]],
    ];
    for (const [query, found] of means) {
      const { elements } = await shop.search(query);
      expect([query, elements ?? []]).toEqual([query, found]);
    }
  });
});

describe('beside what legacy still has', () => {
  const shop = openShop();

  it('one of before the move and one of after are one list', async () => {
    const reference = freshReference();
    await shop.legacySale(reference);
    const before = await shop.only(reference);
    expect(before.id).toBeLessThan(ABOVE_REAL_ONES);
    expect(await shop.read(before.id)).toEqual(before);
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } }));
    const both = await shop.search({ external_reference: reference });
    expect(both).toMatchObject({ next_offset: 2, total: 2 });
    const [after] = both.elements ?? [];
    expect(both.elements).toEqual([expect.objectContaining({ external_reference: reference }), before]);
    expect(after?.id).toBeGreaterThan(ABOVE_REAL_ONES);
    // Fields that both APIs have must be equal.
    const own = ['id', 'preference_id', 'date_created', 'last_updated'] as const;
    for (const name of own) expect(after?.[name]).not.toEqual(before[name]);
    expect({ ...after, ...Object.fromEntries(own.map((name) => [name, before[name]])) }).toEqual(before);
    expect(Object.keys(after ?? {})).toEqual(Object.keys(before));
    expect(Object.keys(after?.items[0] ?? {})).toEqual(Object.keys(before.items[0] ?? {}));
    await shop.legacySale(reference);
    const three = await shop.search({ external_reference: reference });
    expect(three.total).toBe(3);
    expect((three.elements ?? []).map(({ id }) => id > ABOVE_REAL_ONES)).toEqual([false, true, false]);
    const page = await shop.search({ external_reference: reference, offset: '1', limit: '2' });
    expect(page).toEqual({ elements: three.elements?.slice(1), next_offset: 3, total: 3 });
  });

  it('once paid, both are alike', async () => {
    const [reference, legacy_reference] = [freshReference(), freshReference()];
    await shop.legacySale(legacy_reference);
    await shop.buyer('pay', OTHER_TILL);
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } }));
    await shop.buyer('pay');
    const was = await shop.only(legacy_reference);
    const is = await eventually(
      () => shop.only(reference),
      ({ status }) => status === 'closed',
    );
    const own = [
      'id',
      'preference_id',
      'external_reference',
      'date_created',
      'last_updated',
      'payments',
      'payer',
    ] as const;
    expect({ ...is, ...Object.fromEntries(own.map((name) => [name, was[name]])) }).toEqual(was);
    const dates = ['id', 'date_approved', 'date_created', 'last_modified'] as const;
    const [paid, was_paid] = [is.payments[0], was.payments[0]];
    expect({ ...paid, ...Object.fromEntries(dates.map((name) => [name, was_paid?.[name]])) }).toEqual(was_paid);
    expect(Object.keys(paid ?? {})).toEqual(Object.keys(was_paid ?? {}));
  });

  it.each([
    ['is away', { kind: 'reset' }],
    ['answers 500', { kind: 'error', status: 500 }],
    ['limits calls', { kind: 'error', status: 429 }],
    ['answers HTML', { kind: 'html', status: 200 }],
  ])('while legacy %s ours stand alone, and without any its error is told', async (_name, fault) => {
    const reference = freshReference();
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } }));
    await shop.bench.control('/faults', {
      body: { method: 'GET', path: '/merchant_orders/search', times: 'always', ...fault },
    });
    expect(await shop.search({ external_reference: reference })).toMatchObject({ total: 1, next_offset: 1 });
    const nobody = await shop.bench.till('/merchant_orders/search?external_reference=nobody');
    expect(nobody.status).toBeGreaterThanOrEqual(429);
    await shop.bench.control('/faults', { method: 'DELETE' });
    expect(await shop.search({ external_reference: 'nobody' })).toEqual(NOTHING);
  });
});

describe('a till that polls', () => {
  const shop = openShop({ ...NEVER, PUENTE_READS_SEARCH_FRESH_MS: '60000' });

  it('causes one call of each kind, and sees the payment by its event', async () => {
    const reference = freshReference();
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } }));
    for (let poll = 0; poll < 20; poll++) expect((await shop.only(reference)).status).toBe('opened');
    expect([await shop.reads('/merchant_orders'), await shop.reads('/v1/orders/')]).toEqual([1, 1]);
    await shop.buyer('pay');
    const paid = await eventually(
      () => shop.only(reference),
      ({ status }) => status === 'closed',
    );
    expect(paid.payments).toHaveLength(1);
  });

  it('causes one call when each poll asks up to another moment', async () => {
    const reference = freshReference();
    const before = await shop.reads('/merchant_orders');
    // All polls are in one step of the cache, however long the test takes.
    const step_at = Math.ceil(Date.now() / 60_000 + 1) * 60_000;
    for (let poll = 0; poll < 20; poll++) {
      const date_created_to = new Date(step_at + poll * 1000).toISOString();
      expect(await shop.search({ external_reference: reference, date_created_to })).toEqual(NOTHING);
    }
    expect((await shop.reads('/merchant_orders')) - before).toBe(1);
  });

  it('reads no more than the ten newest of many live sales again', async () => {
    const reference = freshReference();
    for (let sale = 0; sale < 12; sale++) {
      const body = { ...SALE, external_reference: reference, description: `sale ${sale}` };
      await made(shop.bench.till(code(OTHER_TILL), { body }));
    }
    const before = await shop.reads('/v1/orders/');
    expect((await shop.search({ external_reference: reference })).total).toBe(12);
    expect((await shop.reads('/v1/orders/')) - before).toBe(10);
  });
});
