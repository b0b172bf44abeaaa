/** Opens without a slot, as of dynamic QR: a till may have many live ones, and the retry of each is recognised. */
import { expect, it } from 'vitest';
import type { Link } from '../../../src/proxy/sales/link.ts';
import type { Met, Opening } from '../../../src/proxy/store.ts';
import { type Harness, joinUnlessNew, NOON, newLink, OTHER_MERCHANT } from './harness.ts';

const TILL = 'SUC001POS001';

/** A dynamic sale; equal ones have the same fingerprint. */
function dynamic(change: Partial<Link> = {}): Link {
  return newLink({
    family: 'qr',
    unit: TILL,
    slot: null,
    legacy_state: 'payment_required',
    fingerprint: 'same',
    ...change,
  });
}

export function unslottedTests(harness: Harness): void {
  const { store } = harness;
  itShowsTheRequest(harness);

  it('opens a second sale on the till of a first', async () => {
    const first = await openingOf(harness, dynamic({ fingerprint: 'coffee' }), joinUnlessNew);
    const second = await openingOf(harness, dynamic({ fingerprint: 'cake' }), joinUnlessNew);
    expect([first.opening.kind, second.opening.kind]).toEqual(['open', 'open']);
    expect(await store.links.link(first.link.legacy_id)).toEqual(first.link);
    expect(await store.links.link(second.link.legacy_id)).toEqual(second.link);
  });

  it('opens a second equal sale when that is the decision', async () => {
    const first = await openingOf(harness, dynamic(), () => ({ kind: 'open' }));
    const second = await openingOf(harness, dynamic({ created_at: NOON + 1 }), () => ({ kind: 'open' }));
    expect(await store.links.link(first.link.legacy_id)).toEqual(first.link);
    expect(await store.links.link(second.link.legacy_id)).toEqual(second.link);
  });

  it('joins a retry, which writes nothing', async () => {
    const first = await openingOf(harness, dynamic(), joinUnlessNew);
    const retry = dynamic();
    expect(await openingOf(harness, retry, joinUnlessNew)).toEqual({
      opening: { kind: 'join', link: first.link },
      link: first.link,
      elsewhere: null,
    });
    expect(await store.links.link(retry.legacy_id)).toBeNull();
  });

  it('lets one of ten equal ones that race open, and shows it to the others', async () => {
    const results = await Promise.all(Array.from({ length: 10 }, () => openingOf(harness, dynamic(), joinUnlessNew)));
    expect(results.filter((result) => result.opening.kind === 'open')).toHaveLength(1);
    expect(new Set(results.map((result) => result.link.legacy_id)).size).toBe(1);
    expect(await store.upkeep.counts()).toMatchObject({ links: { SENDING: 1 } });
  });

  it('decides again when an equal one was committed in between', async () => {
    const shown: (string | null)[] = [];
    const decide = (met: Met): Opening => {
      shown.push(met.retriable?.legacy_id ?? null);
      return joinUnlessNew(met);
    };
    const early = dynamic();
    const [first, second] = await Promise.all([
      store.links.openLink(early, () => ({ kind: 'open' })),
      store.links.openLink(dynamic(), decide),
    ]);
    expect(second).toEqual({ opening: { kind: 'join', link: first.link }, link: first.link, elsewhere: null });
    expect(shown).toEqual([null, early.legacy_id]);
  });

  it('refuses a legacy id that exists', async () => {
    const { link } = await openingOf(harness, dynamic(), joinUnlessNew);
    const again = openingOf(harness, dynamic({ legacy_id: link.legacy_id, fingerprint: 'other' }), joinUnlessNew);
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.links.link(link.legacy_id)).toEqual(link);
  });

  it('keeps no slot from a sale that has one on the same till', async () => {
    await openingOf(harness, dynamic(), joinUnlessNew);
    const fixed = newLink({ family: 'qr', unit: TILL });
    expect((await openingOf(harness, fixed, joinUnlessNew)).opening.kind).toBe('open');
    expect((await store.links.liveLink(fixed.merchant_id, `qr:${TILL}`))?.legacy_id).toBe(fixed.legacy_id);
  });
}

function itShowsTheRequest(harness: Harness): void {
  const { store } = harness;
  const shown = async (link: Link): Promise<Link | null> => {
    let seen: Link | null = null;
    await openingOf(harness, link, (met) => {
      seen = met.retriable;
      return { kind: 'unwanted', why: 'left' };
    });
    return seen;
  };

  it('shows the newest sale of the same request that its till has not shown to know, whatever its state', async () => {
    await openingOf(harness, dynamic({ created_at: NOON }), () => ({ kind: 'open' }));
    const newest = await openingOf(harness, dynamic({ created_at: NOON + 2 }), () => ({ kind: 'open' }));
    expect(await shown(dynamic({ created_at: NOON + 3 }))).toEqual(newest.link);
  });

  it('shows nothing of another request, of another merchant, of one that was refused or lost, or of one that its till knows', async () => {
    await openingOf(harness, dynamic({ fingerprint: 'other' }), () => ({ kind: 'open' }));
    await openingOf(harness, dynamic({ merchant_id: OTHER_MERCHANT }), () => ({ kind: 'open' }));
    for (const state of ['REJECTED', 'NOT_SENT', 'LOST'] as const) {
      const refused = await openingOf(harness, dynamic(), () => ({ kind: 'open' }));
      await store.links.saveLink(refused.link, { state });
    }
    const paid = await openingOf(harness, dynamic({ created_at: NOON + 1 }), () => ({ kind: 'open' }));
    const over = await store.links.saveLink(paid.link, { state: 'DONE', legacy_state: 'paid' });
    expect(await shown(dynamic())).toEqual(over);
    await store.links.saveLink(over, { known_by: 'till' });
    expect(await shown(dynamic())).toBeNull();
  });
}

function openingOf(harness: Harness, link: Link, decide: (met: Met) => Opening) {
  const { store } = harness;
  return store.links.openLink(link, decide);
}
