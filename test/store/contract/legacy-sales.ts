/** Sales created on legacy: their stored fields, how long they hold a unit, and their lookups. */
import { expect, it } from 'vitest';
import { type Harness, MERCHANT, MINUTE_MS, NOON, newSale, OTHER_MERCHANT, TERMINAL } from './harness.ts';

const SLOT = `point:${TERMINAL}`;

export function legacySaleTests(harness: Harness): void {
  const { store } = harness;
  itFindsSales(harness);

  it('writes the row as it was given, and keeps it through a restart', async () => {
    const change = { state: 'OPEN', work: 'refund', unproven_token: 'of somebody', amount: '15.00' } as const;
    const sale = newSale({ ...change, legacy_id: 'intent-1', client_reference: 'mesa 4' });
    expect(await store.legacy_sales.openLegacySale(sale)).toBeNull();
    await harness.reopen();
    expect(await store.legacy_sales.legacySale('intent-1')).toEqual(sale);
    expect(await store.legacy_sales.heldByLegacy(MERCHANT, SLOT, NOON)).toEqual(sale);
  });

  it('finds in doubt what was being sent when it was closed, as of the new start', async () => {
    const sale = newSale({ legacy_id: 'intent-1' });
    await store.legacy_sales.openLegacySale(sale);
    await harness.reopen();
    const doubt = await store.legacy_sales.legacySale('intent-1');
    expect(doubt).toEqual({ ...sale, state: 'IN_DOUBT', updated_at: doubt?.updated_at });
    expect(doubt?.updated_at).toBeGreaterThan(NOON);
  });

  it('refuses an id that exists', async () => {
    const sale = newSale();
    await store.legacy_sales.openLegacySale(sale);
    const again = store.legacy_sales.openLegacySale(newSale({ id: sale.id, unit: 'PAX_A910__OTHER' }));
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
  });

  it('refuses to change a sale that it does not know', async () => {
    const change = store.legacy_sales.saveLegacySale('nobody', { state: 'OPEN' });
    await expect(change).rejects.toMatchObject({ code: 'not_found' });
  });

  it('refuses a change of a sale in another state than the change is for', async () => {
    const sale = newSale({ state: 'OPEN', legacy_id: 'intent-0' });
    await store.legacy_sales.openLegacySale(sale);
    await store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED', end_state: 'CANCELED', only_while: 'OPEN' });
    const late = store.legacy_sales.saveLegacySale(sale.id, { end_state: 'FINISHED', only_while: 'OPEN' });
    await expect(late).rejects.toMatchObject({ code: 'not_found' });
    expect(await store.legacy_sales.legacySale('intent-0')).toMatchObject({ state: 'ENDED', end_state: 'CANCELED' });
  });

  it('refuses a change that is only for a sale whose token is not proven, once it is', async () => {
    const sale = newSale({ state: 'IN_DOUBT', legacy_id: 'intent-0', unproven_token: 'of somebody' });
    await store.legacy_sales.openLegacySale(sale);
    const refuse = () => store.legacy_sales.saveLegacySale(sale.id, { state: 'REFUSED', only_unproven: true });
    await refuse();
    expect(await store.legacy_sales.legacySale('intent-0')).toMatchObject({ state: 'REFUSED' });
    await store.legacy_sales.saveLegacySale(sale.id, { state: 'IN_DOUBT', unproven_token: null });
    await expect(refuse()).rejects.toMatchObject({ code: 'not_found' });
    expect(await store.legacy_sales.legacySale('intent-0')).toMatchObject({ state: 'IN_DOUBT' });
  });

  it('changes what is named and keeps the rest', async () => {
    const sale = newSale({ client_reference: 'mesa 4' });
    await store.legacy_sales.openLegacySale(sale);
    await store.legacy_sales.saveLegacySale(sale.id, { state: 'OPEN', legacy_id: 'intent-1' });
    const open = await store.legacy_sales.legacySale('intent-1');
    expect(open).toEqual({ ...sale, state: 'OPEN', legacy_id: 'intent-1', updated_at: open?.updated_at });
    expect(open?.updated_at).toBeGreaterThan(NOON);
    await store.legacy_sales.saveLegacySale(sale.id, { ends_at: NOON + MINUTE_MS });
    expect(await store.legacy_sales.legacySale('intent-1')).toMatchObject({ state: 'OPEN', ends_at: NOON + MINUTE_MS });
    expect((await store.legacy_sales.legacySale('intent-1'))?.updated_at).toBe(open?.updated_at); // its state is unchanged
    await store.legacy_sales.saveLegacySale(sale.id, { state: 'OPEN', at: NOON + 7, unit: 'PAX_A910__2', slot: null });
    expect(await store.legacy_sales.legacySale('intent-1')).toMatchObject({
      updated_at: NOON + 7,
      unit: 'PAX_A910__2',
      slot: null,
    });
    await store.legacy_sales.saveLegacySale(sale.id, { end_state: 'CANCELED' });
    await store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED' });
    expect(await store.legacy_sales.legacySale('intent-1')).toMatchObject({ state: 'ENDED', end_state: 'CANCELED' });
    await store.legacy_sales.saveLegacySale(sale.id, { legacy_id: null });
    expect(await store.legacy_sales.legacySale('intent-1')).toBeNull();
  });

  it('holds its unit while it is being sent, in doubt or open, until its end', async () => {
    const sale = newSale();
    await store.legacy_sales.openLegacySale(sale);
    const held = async (at: number) => (await store.legacy_sales.heldByLegacy(MERCHANT, SLOT, at))?.id ?? null;
    for (const state of ['SENDING', 'IN_DOUBT', 'OPEN'] as const) {
      await store.legacy_sales.saveLegacySale(sale.id, { state });
      expect(await held(sale.ends_at - 1)).toBe(sale.id);
      expect(await held(sale.ends_at)).toBeNull();
    }
    for (const state of ['ENDED', 'REFUSED'] as const) {
      await store.legacy_sales.saveLegacySale(sale.id, { state });
      expect(await held(NOON)).toBeNull();
    }
  });

  it('holds its own unit alone, and again by a clock that is set back', async () => {
    const [first, last] = [NOON + 5 * MINUTE_MS, NOON + 15 * MINUTE_MS];
    const sale = newSale({ state: 'OPEN', ends_at: last });
    const other = newSale({ state: 'OPEN', ends_at: first, unit: 'PAX_A910__2' });
    for (const one of [sale, other]) await store.legacy_sales.openLegacySale(one);
    const held = async (at: number) =>
      await Promise.all(
        [SLOT, other.slot ?? ''].map(async (slot) => (await store.legacy_sales.heldByLegacy(MERCHANT, slot, at))?.id),
      );
    expect(await held(last)).toEqual([undefined, undefined]);
    expect(await held(first)).toEqual([sale.id, undefined]);
    expect(await held(first - 1)).toEqual([sale.id, other.id]);
    await store.legacy_sales.saveLegacySale(sale.id, { slot: null });
    expect(await held(first)).toEqual([undefined, undefined]);
  });

  it('tells what somebody has proved from what nobody has', async () => {
    const sale = newSale({ unproven_token: 'of somebody' });
    await store.legacy_sales.openLegacySale(sale);
    const proven = async () => (await store.legacy_sales.heldByLegacy(MERCHANT, SLOT, NOON, 'proven'))?.id ?? null;
    expect(await proven()).toBeNull();
    const token = { fingerprint: 'of somebody', sealed_token: Buffer.from('sealed'), accepted_until: 0, seen_at: NOON };
    await store.merchants.acceptToken({ ...token, merchant_id: OTHER_MERCHANT }, 'MLB');
    expect(await proven()).toBeNull();
    await store.merchants.acceptToken({ ...token, merchant_id: MERCHANT }, 'MLA');
    expect(await proven()).toBe(sale.id);
    await store.merchants.forgetToken('of somebody');
    await store.legacy_sales.saveLegacySale(sale.id, { unproven_token: null });
    expect(await proven()).toBe(sale.id);
  });

  it('of any point of sale holds them all, until it turns out to be one', async () => {
    const any = newSale({ family: 'qr', unit: '1001', slot: 'qr:*', state: 'OPEN' });
    const other = newSale({ family: 'qr', unit: '1002', slot: 'qr:*' });
    const held = async (slot: string) => (await store.legacy_sales.heldByLegacy(MERCHANT, slot, NOON))?.id ?? null;
    for (const sale of [any, other]) expect(await store.legacy_sales.openLegacySale(sale)).toBeNull();
    await store.legacy_sales.saveLegacySale(other.id, { state: 'OPEN' }); // another number, so it takes no place of the first
    expect([await held('qr:TILL1'), await held('qr:*'), await held(SLOT)]).toEqual([other.id, other.id, null]);
    await store.legacy_sales.saveLegacySale(other.id, { slot: null });
    expect(await held('qr:TILL1')).toBe(any.id);
    const earlier = newSale({ family: 'qr', unit: 'TILL1', state: 'OPEN' });
    await store.legacy_sales.openLegacySale(earlier);
    await store.legacy_sales.saveLegacySale(any.id, { unit: 'TILL1', slot: 'qr:TILL1' });
    expect([await held('qr:TILL1'), await held('qr:TILL2')]).toEqual([earlier.id, null]); // it was written later
  });

  it('is deleted when it is old and holds nothing', async () => {
    const old = { created_at: NOON - 2 } as const;
    await store.legacy_sales.openLegacySale(newSale({ ...old, state: 'ENDED', legacy_id: 'ended' }));
    await store.legacy_sales.openLegacySale(newSale({ ...old, state: 'REFUSED', legacy_id: 'refused' }));
    await store.legacy_sales.openLegacySale(newSale({ ...old, state: 'OPEN', ends_at: NOON, legacy_id: 'past' }));
    await store.legacy_sales.openLegacySale(newSale({ ...old, state: 'OPEN', legacy_id: 'open' }));
    await store.legacy_sales.openLegacySale(newSale({ state: 'ENDED', legacy_id: 'young' }));
    expect(await store.legacy_sales.tidyLegacySales(NOON - 1, NOON, 2)).toBe(2);
    expect(await store.legacy_sales.tidyLegacySales(NOON - 1, NOON, 2)).toBe(1);
    expect(await store.legacy_sales.tidyLegacySales(NOON - 1, NOON, 2)).toBe(0);
    const left = ['ended', 'refused', 'past', 'open', 'young'].map(
      async (id) => (await store.legacy_sales.legacySale(id))?.legacy_id,
    );
    expect((await Promise.all(left)).filter((id) => id !== undefined)).toEqual(['open', 'young']);
  });

  it('ends the earlier ones of its unit when legacy takes it, and nothing else', async () => {
    const names = ['first', 'second', 'third'];
    const [first, second, third] = names.map((legacy_id) => newSale({ legacy_id }));
    const others = [
      newSale({ legacy_id: 'other unit', unit: 'PAX_A910__OTHER' }),
      newSale({ legacy_id: 'other merchant', merchant_id: OTHER_MERCHANT }),
      newSale({ legacy_id: 'dynamic', slot: null, family: 'qr' }),
    ];
    for (const sale of [first, ...others, second, third])
      if (sale !== undefined) await store.legacy_sales.openLegacySale(sale);
    await store.legacy_sales.saveLegacySale(second?.id ?? '', { state: 'OPEN' });
    const states = async () =>
      Promise.all(names.map(async (name) => (await store.legacy_sales.legacySale(name))?.state));
    expect(await states()).toEqual(['ENDED', 'OPEN', 'SENDING']);
    for (const { legacy_id } of others) {
      expect(await store.legacy_sales.legacySale(legacy_id ?? '')).toMatchObject({
        state: 'SENDING',
        updated_at: NOON,
      });
    }
    expect(await store.legacy_sales.heldByLegacy(MERCHANT, SLOT, NOON)).toEqual(third);
  });

  it('leaves an earlier one without an answer while its request may still be on its way', async () => {
    const [late, old, open] = ['late', 'old', 'open'].map((legacy_id) => newSale({ legacy_id }));
    for (const sale of [late, old, open]) if (sale !== undefined) await store.legacy_sales.openLegacySale(sale);
    await store.legacy_sales.saveLegacySale(late?.id ?? '', { state: 'IN_DOUBT' }); // its row is dated now
    await store.legacy_sales.saveLegacySale(open?.id ?? '', { state: 'OPEN' });
    expect((await store.legacy_sales.legacySale('late'))?.state).toBe('IN_DOUBT');
    expect((await store.legacy_sales.legacySale('old'))?.state).toBe('ENDED');
  });
}

function itFindsSales(harness: Harness): void {
  const { store } = harness;
  it('lists those that hold a unit, oldest first, and no dynamic QR', async () => {
    const units = ['PAX_A910__1', 'PAX_A910__2', 'PAX_A910__3'];
    const sales = units.map((unit) => newSale({ unit }));
    for (const sale of sales) await store.legacy_sales.openLegacySale(sale);
    await store.legacy_sales.openLegacySale(newSale({ unit: 'PAX_A910__4', ends_at: NOON }));
    await store.legacy_sales.openLegacySale(newSale({ unit: 'PAX_A910__5', state: 'REFUSED' }));
    await store.legacy_sales.openLegacySale(newSale({ slot: null, family: 'qr' }));
    await store.legacy_sales.openLegacySale(newSale({ merchant_id: OTHER_MERCHANT }));
    expect(await store.legacy_sales.openLegacySales(MERCHANT, NOON, 10)).toEqual(sales);
    expect(await store.legacy_sales.openLegacySales(MERCHANT, NOON, 2)).toEqual(sales.slice(0, 2));
  });

  it('finds the newest with an id of legacy, and those with a reference, newest first', async () => {
    const change = { legacy_id: 'order-7', client_reference: 'mesa 4' };
    const sales = [newSale(change), newSale({ ...change, state: 'ENDED' }), newSale(change)];
    for (const sale of sales) await store.legacy_sales.openLegacySale(sale);
    await store.legacy_sales.openLegacySale(newSale({ ...change, legacy_id: null, merchant_id: OTHER_MERCHANT }));
    expect(await store.legacy_sales.legacySale('order-7')).toEqual(sales[2]);
    expect(await store.legacy_sales.legacySale('order-8')).toBeNull();
    expect(await store.legacy_sales.legacySalesByReference(MERCHANT, 'mesa 4', 9)).toEqual(sales.toReversed());
    expect(await store.legacy_sales.legacySalesByReference(MERCHANT, 'mesa 4', 1)).toEqual([sales[2]]);
    expect(await store.legacy_sales.legacySalesByReference(MERCHANT, 'mesa 5', 9)).toEqual([]);
  });
}
