/** What an answer makes known to its till: sales and refunds, once it was sent whole (`docs/protocol.md` §3.9). */
import { beforeEach, describe, expect, it } from 'vitest';
import { PuenteError } from '../../src/error.ts';
import type { Answered } from '../../src/proxy/http/answer.ts';
import type { Refund } from '../../src/proxy/records/refunds.ts';
import {
  acknowledging,
  answerSale,
  markKnown,
  noteFound,
  noteRead,
  storedNotes,
  storeNote,
} from '../../src/proxy/sales/known-to-till.ts';
import { type LinkChange, requestOf } from '../../src/proxy/sales/link.ts';
import type { StoreMethods } from '../../src/store/engine.ts';
import { MERCHANT, NOON, newRefund, orderId } from '../store/contract/harness.ts';
import { withMethods } from '../store/with-methods.ts';
import { createStand } from './stand.ts';

const stand = createStand();
beforeEach(() => stand.reset());

const ANSWER: Answered = { kind: 'answer', status: 200, body: { id: 1 } };
const ENDED: LinkChange = { state: 'DONE', legacy_state: 'FINISHED', acknowledged_at: NOON, order_id: orderId(1) };

const ended = async (change: LinkChange = {}) =>
  stand.store.links.saveLink(await stand.link(), { ...ENDED, ...change });
const knownBy = async (link: { legacy_id: string }) => (await stand.stored(link)).known_by;

/** A refund of 7.50 that is done and answered. */
async function refunded(link: Awaited<ReturnType<typeof ended>>, change: Partial<Refund> = {}): Promise<Refund> {
  const { refund } = await stand.store.refunds.openRefund(newRefund(link, change), () => 'open');
  const done = { state: 'DONE', refunded_minor: 750, upstream_status: 'processed', answered_at: NOON } as const;
  return stand.store.refunds.saveRefund(refund, done);
}
const knownAt = async ({ legacy_id }: Refund) =>
  (await stand.store.refunds.refunds(legacy_id)).map(({ known_at }) => known_at);

/** Fails the writes of this name; a change of a link is one of `saveLink`. */
const failing = (name: 'saveLink' | 'markRefundsKnown', error: Error) =>
  stand.restart({ store: withMethods(stand.store, { [name]: () => Promise.reject(error) } as Partial<StoreMethods>) });

describe('a read by a number that only a notice has', () => {
  it('makes an ended sale known as its notice would, once it was sent whole', async () => {
    const link = await ended();
    const answer = noteRead(stand.ports, { link, refunded_minor: 0 }, ANSWER);
    expect(answer).toMatchObject(ANSWER);
    await answer.onClosed?.(false);
    expect(await knownBy(link)).toBeNull();
    await answer.onClosed?.(true);
    expect(await knownBy(link)).toBe('notice');
  });

  it.each<[string, LinkChange]>([
    ['that goes on', { state: 'LIVE', legacy_state: 'OPEN' }],
    ['whose till was not answered', { acknowledged_at: null }],
    ['that is known', { known_by: 'till' }],
  ])('says nothing new of a sale %s', async (_what, change) => {
    const link = await ended(change);
    expect(noteRead(stand.ports, { link, refunded_minor: 0 }, ANSWER)).toBe(ANSWER);
    const answer = noteRead(stand.ports, { link, refunded_minor: 1 }, ANSWER);
    await answer.onClosed?.(true);
    expect((await stand.stored(link)).revision).toBe(link.revision);
  });

  it('leaves a sale that its till came to know meanwhile', async () => {
    const link = await ended();
    const answer = noteRead(stand.ports, { link, refunded_minor: 0 }, ANSWER);
    await stand.store.links.saveLink(link, { known_by: 'till' });
    await answer.onClosed?.(true);
    expect(await knownBy(link)).toBe('till');
  });

  it.each([
    [750, [NOON + 5]],
    [749, [null]],
  ])('that shows %i of 750 cents refunded', async (refunded_minor, expected) => {
    const link = await ended({ known_by: 'till' });
    const refund = await refunded(link);
    const answer = noteRead(stand.ports, { link, refunded_minor }, ANSWER);
    stand.now = NOON + 5;
    await answer.onClosed?.(false);
    expect(await knownAt(refund)).toEqual([null]);
    await answer.onClosed?.(true);
    expect(await knownAt(refund)).toEqual(expected);
  });
});

describe('a search by the till’s own reference', () => {
  it('makes each sale and refund in it known, also of a create that was not answered', async () => {
    const [first, second] = [await ended(), await ended({ acknowledged_at: null, order_id: orderId(2) })];
    const refund = await refunded(second);
    const shown = [
      { link: first, refunded_minor: 0 },
      { link: second, refunded_minor: 750 },
    ];
    const answer = noteFound(stand.ports, shown, ANSWER);
    await answer.onClosed?.(false);
    expect([await knownBy(first), await knownBy(second), ...(await knownAt(refund))]).toEqual([null, null, null]);
    await answer.onClosed?.(true);
    expect([await knownBy(first), await knownBy(second), ...(await knownAt(refund))]).toEqual(['till', 'till', NOON]);
  });

  it('says nothing new without a sale, or of one that is known', async () => {
    const link = await ended({ known_by: 'till' });
    expect(noteFound(stand.ports, [], ANSWER)).toBe(ANSWER);
    expect(noteFound(stand.ports, [{ link, refunded_minor: 0 }], ANSWER)).toBe(ANSWER);
    const refund = await refunded(link);
    await noteFound(stand.ports, [{ link, refunded_minor: 750 }], ANSWER).onClosed?.(true);
    expect(await knownAt(refund)).toEqual([NOON]);
  });
});

describe('while the store can not write', () => {
  const broken = new PuenteError('store_failed', 'the disk is full');

  it('a sale is known in memory, and logged', async () => {
    const link = await ended();
    failing('saveLink', broken);
    expect(await markKnown(stand.ports, link)).toEqual(link);
    expect(stand.ports.memory.sales.known.get(link.legacy_id)).toBe(true);
    expect(stand.log.join()).toContain('warn a sale could not be marked as known to its till');
  });

  it('what a notice tells is not', async () => {
    const link = await ended();
    failing('saveLink', broken);
    await noteRead(stand.ports, { link, refunded_minor: 0 }, ANSWER).onClosed?.(true);
    expect(stand.ports.memory.sales.known.get(link.legacy_id)).toBeUndefined();
  });

  it('a refund is not; the answer stays', async () => {
    const link = await ended({ known_by: 'till' });
    const refund = await refunded(link);
    failing('markRefundsKnown', broken);
    await noteRead(stand.ports, { link, refunded_minor: 750 }, ANSWER).onClosed?.(true);
    expect(await knownAt(refund)).toEqual([null]);
    expect(stand.log.join()).toContain(link.legacy_id);
  });

  it('a defect is not hidden', async () => {
    const link = await ended();
    failing('saveLink', new Error('a defect'));
    await expect(markKnown(stand.ports, link)).rejects.toThrow('a defect');
  });
});

it('a sale that is known is not written again', async () => {
  const link = await ended({ known_by: 'till' });
  expect(await markKnown(stand.ports, link)).toBe(link);
  expect((await stand.stored(link)).revision).toBe(link.revision);
});

it('one that became known meanwhile is left', async () => {
  const link = await ended();
  const known = await stand.store.links.saveLink(link, { known_by: 'till' });
  expect((await markKnown(stand.ports, link)).revision).toBe(known.revision);
});

it('what is being stored is waited for, of this merchant alone', async () => {
  const order: string[] = [];
  const begun = Promise.withResolvers<void>();
  const noted = storeNote(stand.ports, MERCHANT, async () => {
    await begun.promise;
    order.push('stored');
  });
  await storedNotes(stand.ports, 'another');
  order.push('another');
  const waited = storedNotes(stand.ports, MERCHANT).then(() => order.push('waited'));
  begun.resolve();
  await Promise.all([noted, waited]);
  expect(order).toEqual(['another', 'stored', 'waited']);
});

describe('a lost answer, when a repeat was answered', () => {
  it.each([
    ['while that the first was lost is stored', false],
    ['while that could not be stored', true],
  ])('%s: the sale counts as answered', async (_what, fails) => {
    const link = await stand.link();
    acknowledging(stand.ports, link);
    const live = await stand.store.links.saveLink(link, { state: 'LIVE', acknowledged_at: NOON, order_id: orderId(1) });
    stand.now = NOON + 1;
    let repeated: unknown = null;
    const saveLink: StoreMethods['saveLink'] = async (...change) => {
      if (repeated === null) {
        repeated = answerSale(stand.ports, live, ANSWER).onClosed?.(true);
        if (fails) throw new PuenteError('store_failed', 'the disk is full');
      }
      return stand.store.links.saveLink(...change);
    };
    const { memory } = stand.ports;
    stand.restart({ store: withMethods(stand.store, { saveLink }) });
    stand.ports.memory = memory;
    await answerSale(stand.ports, live, ANSWER).onClosed?.(false);
    await repeated;
    expect(await stand.stored(link)).toMatchObject({ acknowledged_at: NOON + 1 });
    expect(memory.sales.unsaved.get(requestOf(link))?.size).toBe(0);
  });
});

it('an answer with a sale that was erased meanwhile is stored nowhere, and not tried again', async () => {
  const link = { ...(await stand.link()), legacy_id: '019b8e07-4600-7000-8000-00000000e5a5', acknowledged_at: NOON };
  acknowledging(stand.ports, link);
  await answerSale(stand.ports, link, ANSWER).onClosed?.(false);
  expect(stand.slept).toEqual([]);
  expect(stand.ports.memory.sales.unsaved.get(requestOf(link))?.size).toBe(0);
});
