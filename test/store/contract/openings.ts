/** Step 1 of the create protocol: which create gets the unit, and the facts for the decision. */
import { expect, it } from 'vitest';
import type { Link } from '../../../src/proxy/sales/link.ts';
import type { Met, Opening } from '../../../src/proxy/store.ts';
import {
  auditOf,
  busyUnlessFree,
  DAY_MS,
  finished,
  type Harness,
  NOON,
  newLink,
  newMerchant,
  OTHER_MERCHANT,
  opened,
  TERMINAL,
} from './harness.ts';

export function openingTests(harness: Harness): void {
  const { store } = harness;
  itShowsTheHolder(harness);

  it('writes the row as it was given', async () => {
    const link = newLink();
    const result = await store.links.openLink(link, () => ({ kind: 'open' }));
    expect(result).toEqual({ opening: { kind: 'open' }, link, elsewhere: null });
    expect(await store.links.link(link.legacy_id)).toEqual(link);
  });

  it('asks again with what holds the unit before it believes that a sale is unwanted', async () => {
    const joinOrStay = ({ holder }: Met): Opening =>
      holder === null ? { kind: 'unwanted', why: 'left' } : { kind: 'join', link: holder };
    const unwanted = newLink();
    expect(await store.links.openLink(unwanted, joinOrStay)).toEqual({
      opening: { kind: 'unwanted', why: 'left' },
      link: unwanted,
      elsewhere: null,
    });
    expect(await store.links.link(unwanted.legacy_id)).toBeNull();
    const holder = await opened(store);
    expect(await store.links.openLink(newLink(), joinOrStay)).toEqual({
      opening: { kind: 'join', link: holder },
      link: holder,
      elsewhere: null,
    });
  });

  it('writes nothing when the decision is to join or to be busy, and gives the named row', async () => {
    const holder = await opened(store);
    for (const kind of ['join', 'busy'] as const) {
      const late = newLink();
      const opening: Opening = { kind, link: holder };
      expect(await store.links.openLink(late, () => opening)).toEqual({
        opening,
        link: holder,
        elsewhere: null,
      });
      expect(await store.links.link(late.legacy_id)).toBeNull();
    }
  });

  it.each(['with', 'without'] as const)(
    'writes nothing of a sale %s a unit when its merchant was set since its lane was chosen [P11]',
    async (which) => {
      const open: Opening = { kind: 'open' };
      const late = newLink(which === 'with' ? {} : { slot: null, family: 'qr' });
      const merchant = newMerchant({ id: late.merchant_id });
      const before = await store.merchants.saveMerchant(merchant, 0, auditOf('first'));
      const moving = store.merchants.saveMerchant(merchant, before.revision, auditOf('moved'));
      // Requested before the commit of the move, and committed after it.
      expect(await store.links.openLink(late, () => open, before.revision)).toMatchObject({
        opening: { kind: 'moved' },
      });
      const { revision } = await moving;
      expect(await store.links.link(late.legacy_id)).toBeNull();
      expect((await store.links.openLink(late, () => open, revision)).opening).toEqual(open);
    },
  );

  it.each(['with', 'without'] as const)('writes nothing of a sale %s a unit whose reference is used', async (which) => {
    const open: Opening = { kind: 'open' };
    const { reference_sent } = await finished(store, { reference_sent: 'table7' });
    const change: Partial<Link> = which === 'with' ? {} : { slot: null, family: 'qr' };
    const late = newLink({ ...change, reference_sent });
    expect(await store.links.openLink(late, () => open)).toEqual({
      opening: { kind: 'used' },
      link: late,
      elsewhere: null,
    });
    expect(await store.links.link(late.legacy_id)).toBeNull();
    expect((await store.links.openLink(newLink({ ...change, reference_sent: 'table8' }), () => open)).opening).toEqual(
      open,
    );
    const others = newLink({ ...change, reference_sent, merchant_id: OTHER_MERCHANT });
    expect((await store.links.openLink(others, () => open)).opening).toEqual(open);
  });

  it('tells first of what holds the unit, and only then that the reference is used', async () => {
    const holder = await opened(store, { reference_sent: 'table7' });
    const joining = ({ holder }: Met): Opening => (holder === null ? { kind: 'open' } : { kind: 'join', link: holder });
    const retry = newLink({ reference_sent: 'table7' });
    expect(await store.links.openLink(retry, joining)).toMatchObject({ opening: { kind: 'join' }, link: holder });
    await store.links.saveLink(holder, { state: 'DONE' });
    expect(await store.links.openLink(retry, joining)).toMatchObject({ opening: { kind: 'used' } });
  });

  it('refuses a second live link of a unit even if the decision is wrong', async () => {
    const holder = await opened(store);
    const second = store.links.openLink(newLink(), () => ({ kind: 'open' }));
    await expect(second).rejects.toMatchObject({ code: 'conflict' });
    const elsewhere = await opened(store, { merchant_id: OTHER_MERCHANT });
    expect(elsewhere.unit).toBe(holder.unit);
  });

  it('refuses a legacy id that exists', async () => {
    const done = await finished(store);
    const again = store.links.openLink(newLink({ legacy_id: done.legacy_id }), () => ({ kind: 'open' }));
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.links.link(done.legacy_id)).toEqual(done);
  });

  it('gives the unit to one of ten that race for it, and shows the winner to the others', async () => {
    const results = await Promise.all(
      Array.from({ length: 10 }, () => store.links.openLink(newLink(), busyUnlessFree)),
    );
    const winners = results.filter((result) => result.opening.kind === 'open');
    expect(winners).toHaveLength(1);
    expect(new Set(results.map((result) => result.link.legacy_id))).toEqual(new Set([winners[0]?.link.legacy_id]));
    expect(await store.upkeep.counts()).toMatchObject({ links: { SENDING: 1 } });
  });

  it('opens ten units at once', async () => {
    const units = Array.from({ length: 10 }, (_, index) => `PAX_A910__${index}`);
    const links = await Promise.all(units.map((unit) => opened(store, { unit })));
    for (const link of links) expect(await store.links.link(link.legacy_id)).toEqual(link);
  });

  it('frees the unit when its link is over', async () => {
    const first = await opened(store);
    await store.links.saveLink(first, { state: 'REJECTED' });
    const second = await opened(store);
    expect(second.unit).toBe(first.unit);
  });
}

function itShowsTheHolder(harness: Harness): void {
  const { store } = harness;
  const shown = async (link: Link): Promise<Link | null> => {
    let seen: Link | null = null;
    await store.links.openLink(link, (met) => {
      seen = met.holder;
      return busyUnlessFree(met);
    });
    return seen;
  };

  it('shows the live link of the unit, whatever its age', async () => {
    const old = await opened(store, { created_at: NOON - 3 * DAY_MS });
    expect(await shown(newLink())).toEqual(old);
  });

  it('shows nothing when the links of the unit are over, or live elsewhere', async () => {
    await finished(store, { unit: TERMINAL, fingerprint: 'same', client_key: 'key-1' });
    await opened(store, { unit: TERMINAL, fingerprint: 'same', merchant_id: OTHER_MERCHANT });
    await opened(store, { unit: 'PAX_A910__OTHER', fingerprint: 'same' });
    expect(await shown(newLink({ unit: TERMINAL, fingerprint: 'same', client_key: 'key-1' }))).toBeNull();
  });
}
