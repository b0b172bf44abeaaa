/** Step 1 of the create protocol: who gets the unit, and what the decision is shown. */
import { expect, it } from 'vitest';
import type { Link } from '../../../src/core/link.ts';
import type { Opening } from '../../../src/core/store.ts';
import {
  DAY_MS,
  finished,
  type Harness,
  MERCHANT,
  NOON,
  newLink,
  OTHER_MERCHANT,
  opened,
  TERMINAL,
} from './harness.ts';

export function openingTests(current: () => Harness): void {
  itShowsRivals(current);

  it('writes the row as it was given', async () => {
    const link = newLink();
    const result = await current().store.openLink(link, () => ({ kind: 'open' }));
    expect(result).toEqual({ opening: { kind: 'open' }, link });
    expect(await current().store.link(link.legacy_id)).toEqual(link);
  });

  it('writes nothing when the decision is to join or to be busy, and gives the named row', async () => {
    const holder = await opened(current().store);
    for (const kind of ['join', 'busy'] as const) {
      const late = newLink();
      const opening: Opening = { kind, legacy_id: holder.legacy_id };
      expect(await current().store.openLink(late, () => opening)).toEqual({ opening, link: holder });
      expect(await current().store.link(late.legacy_id)).toBeNull();
    }
  });

  it('refuses a second live link of a unit even if the decision is wrong', async () => {
    const holder = await opened(current().store);
    const second = current().store.openLink(newLink(), () => ({ kind: 'open' }));
    await expect(second).rejects.toMatchObject({ code: 'conflict' });
    const elsewhere = await opened(current().store, { merchant_id: OTHER_MERCHANT });
    expect(elsewhere.unit).toBe(holder.unit);
  });

  it('refuses a legacy id that exists', async () => {
    const done = await finished(current().store);
    const again = current().store.openLink(newLink({ legacy_id: done.legacy_id }), () => ({ kind: 'open' }));
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
    expect(await current().store.link(done.legacy_id)).toEqual(done);
  });

  it('gives the unit to one of ten that race for it, and shows the winner to the others', async () => {
    const results = await Promise.all(
      Array.from({ length: 10 }, () => current().store.openLink(newLink(), busyUnlessFree)),
    );
    const winners = results.filter((result) => result.opening.kind === 'open');
    expect(winners).toHaveLength(1);
    expect(new Set(results.map((result) => result.link.legacy_id))).toEqual(new Set([winners[0]?.link.legacy_id]));
    expect(await current().store.counts()).toMatchObject({ links: { SENDING: 1 } });
  });

  it('opens ten units at once', async () => {
    const units = Array.from({ length: 10 }, (_, index) => `PAX_A910__${index}`);
    const links = await Promise.all(units.map((unit) => opened(current().store, { unit })));
    for (const link of links) expect(await current().store.link(link.legacy_id)).toEqual(link);
  });

  it('frees the unit when its link is over', async () => {
    const first = await opened(current().store);
    await current().store.saveLink(first, { state: 'REJECTED' });
    const second = await opened(current().store);
    expect(second.unit).toBe(first.unit);
  });
}

function itShowsRivals(current: () => Harness): void {
  const rivalsOf = async (link: Link): Promise<string[]> => {
    let seen: string[] = [];
    await current().store.openLink(link, (rivals) => {
      seen = rivals.map((rival) => rival.legacy_id);
      return { kind: 'open' };
    });
    return seen;
  };

  it('shows the live link of the unit, whatever its age', async () => {
    const old = await opened(current().store, { created_at: NOON - 3 * DAY_MS });
    let seen: Link[] = [];
    await current().store.openLink(newLink(), (rivals) => {
      seen = rivals;
      return busyUnlessFree(rivals);
    });
    expect(seen).toEqual([old]);
  });

  it('shows links of the last day with the same client key or fingerprint, newest first', async () => {
    const shared = { unit: TERMINAL, client_key: 'key-1' };
    const early = await finished(current().store, { ...shared, created_at: NOON - 3_000 });
    const late = await finished(current().store, { unit: TERMINAL, fingerprint: 'same', created_at: NOON - 2_000 });
    const both = await finished(current().store, { ...shared, fingerprint: 'same', created_at: NOON - 1_000 });
    await finished(current().store, { ...shared, created_at: NOON - DAY_MS - 1 });
    await finished(current().store, { unit: TERMINAL });
    const seen = await rivalsOf(newLink({ client_key: 'key-1', fingerprint: 'same' }));
    expect(seen).toEqual([both.legacy_id, late.legacy_id, early.legacy_id]);
  });

  it('does not show the links of another unit or merchant, nor take a missing client key for an equal one', async () => {
    await finished(current().store, { fingerprint: 'same', client_key: 'key-1' });
    await finished(current().store, { unit: TERMINAL, fingerprint: 'same', merchant_id: OTHER_MERCHANT });
    await finished(current().store, { unit: TERMINAL, client_key: null });
    expect(await rivalsOf(newLink({ fingerprint: 'same', merchant_id: MERCHANT }))).toEqual([]);
  });
}

function busyUnlessFree(rivals: Link[]): Opening {
  const holder = rivals.find((rival) => rival.state === 'SENDING');
  return holder === undefined ? { kind: 'open' } : { kind: 'busy', legacy_id: holder.legacy_id };
}
