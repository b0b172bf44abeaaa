/** The inbox of differences: grouped by signature, judged by operators, and reopened when necessary. */
import { expect, it } from 'vitest';
import type { DifferenceSeen } from '../../../src/proxy/records/evidence.ts';
import { newDifference, newExchange } from './evidence-kit.ts';
import { auditOf, DAY_MS, type Harness, MERCHANT, MINUTE_MS, NOON, OTHER_MERCHANT } from './harness.ts';

const LATER = NOON + MINUTE_MS;
const { signature } = newDifference();

export function differenceTests(harness: Harness): void {
  const { store } = harness;
  itIsJudged(harness);
  itIsKnownByItsOlderForm(harness);

  it('groups by merchant and signature: count, first, last, the latest sample and its tables', async () => {
    const first = newExchange({ differences: [newDifference(), newDifference()] });
    const last = newExchange({
      at: LATER,
      tables_revision: 'revision-2',
      differences: [newDifference({ legacy: '"A"', orders: '"B"' })],
    });
    await store.exchanges.recordExchanges([
      first,
      newExchange({ merchant_id: OTHER_MERCHANT, differences: [newDifference()] }),
    ]);
    await store.exchanges.recordExchanges([last]);
    expect(await store.evidence.differences({ merchant_id: MERCHANT }, NOON)).toEqual([
      {
        ...newDifference({ legacy: '"A"', orders: '"B"' }),
        merchant_id: MERCHANT,
        state: 'new',
        accepted_until: null,
        note: '',
        who: null,
        count: 2,
        first_at: NOON,
        last_at: LATER,
        sample: last.id,
        tables_revision: 'revision-2',
        revision: 1,
      },
    ]);
    expect((await store.evidence.differences({}, NOON)).map((group) => group.merchant_id)).toEqual([
      MERCHANT,
      OTHER_MERCHANT,
    ]);
  });
}

function itIsJudged(harness: Harness): void {
  const { store } = harness;
  const seen = () => store.exchanges.recordExchanges([newExchange({ differences: [newDifference()] })]);
  const judged = (state: 'new' | 'explained' | 'accepted' | 'fixed', revision: number, until: number | null = null) => {
    const change = { state, accepted_until: until, note: 'asked the maker', who: 'ana' };
    return store.evidence.saveDifference(MERCHANT, signature, change, revision, auditOf(`difference.${state}`));
  };
  const group = async (now = NOON) => (await store.evidence.differences({}, now))[0];

  it('is judged from the revision that was read, with an audit line', async () => {
    await seen();
    const saved = await judged('explained', 1);
    expect(saved).toMatchObject({ state: 'explained', note: 'asked the maker', who: 'ana', revision: 2, count: 1 });
    expect(await group()).toEqual(saved);
    await expect(judged('fixed', 1)).rejects.toMatchObject({ code: 'conflict' });
    expect(await group()).toEqual(saved);
    expect((await store.audit.audits(9)).map(({ action }) => action)).toEqual(['difference.explained']);
    const nobody = store.evidence.saveDifference(OTHER_MERCHANT, signature, saved, 1, auditOf('none'));
    await expect(nobody).rejects.toMatchObject({ code: 'not_found' });
  });

  it('stays explained when it is seen again', async () => {
    await seen();
    await judged('explained', 1);
    await seen();
    expect(await group()).toMatchObject({ state: 'explained', count: 2, revision: 2 });
  });

  it('is new again when it was fixed and is seen again, and an old judgement no longer holds', async () => {
    await seen();
    await judged('fixed', 1);
    expect(await group()).toMatchObject({ state: 'fixed', revision: 2 });
    await seen();
    expect(await group()).toMatchObject({ state: 'new', count: 2, revision: 3, note: 'asked the maker' });
    await seen();
    expect(await group()).toMatchObject({ state: 'new', count: 3, revision: 3 });
    await expect(judged('explained', 2)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is accepted until its date, and is listed as new from then on', async () => {
    await seen();
    const until = NOON + DAY_MS;
    await judged('accepted', 1, until);
    expect(await group(until - 1)).toMatchObject({ state: 'accepted', accepted_until: until });
    expect(await group(until)).toMatchObject({ state: 'new', accepted_until: until });
    const listed = async (states: ('new' | 'accepted')[], now: number) =>
      (await store.evidence.differences({ merchant_id: MERCHANT, states }, now)).length;
    expect([await listed(['new'], until - 1), await listed(['accepted'], until - 1)]).toEqual([0, 1]);
    expect([await listed(['new'], until), await listed(['accepted'], until)]).toEqual([1, 0]);
    expect([await listed(['new', 'accepted'], until), await listed([], until)]).toEqual([1, 0]);
  });
}

function itIsKnownByItsOlderForm(harness: Harness): void {
  const { store } = harness;
  const refused = (signature: string, why: string, row = 'point.create.request#5') =>
    newDifference({
      signature,
      operation: 'point.create',
      what: 'verdict',
      path: '',
      legacy: '201',
      orders: `refused_here 400 description is not allowed: ${why} (${row})`,
      // As an older build stored it.
      current_signature: null,
    });
  const older = { start: 'refused_here 400 description is not allowed: ', row: 'point.create.request#5' };
  // A store remembers signatures, so each test has one of its own.
  const anew = (signature: string) => ({ ...refused(signature, 'New words.'), older });
  const seen = (difference: DifferenceSeen, at = NOON) =>
    store.exchanges.recordExchanges([newExchange({ at, differences: [difference] })]);
  const groups = async () =>
    (await store.evidence.differences({ merchant_id: MERCHANT }, NOON)).map(
      ({ signature, state, count, orders }) => `${signature.slice(-2)} ${state} ${count} ${orders.slice(45, 54)}`,
    );
  const explained = (signature: string) =>
    store.evidence.saveDifference(
      MERCHANT,
      signature,
      { state: 'explained', accepted_until: null, note: 'as agreed', who: 'ana' },
      1,
      auditOf('difference.explained'),
    );

  it('stays judged when its signature was made of another wording, and keeps that signature', async () => {
    await seen(refused('00000000000000b1', 'Old words.'));
    await explained('00000000000000b1');
    const now = anew('00000000000000b6');
    await seen(now, LATER);
    await seen(now, LATER);
    expect(await groups()).toEqual(['b1 explained 3 New words']);
    const exchanges = await store.exchanges.exchanges({ merchant_id: MERCHANT }, 0, 9);
    expect(exchanges.map(({ signatures }) => signatures)).toEqual(Array(3).fill(['00000000000000b1']));
  });

  it('is the judged one of those that a wording divided, and another row or answer is another one', async () => {
    await seen(refused('00000000000000b1', 'Old words.'));
    await explained('00000000000000b1');
    await seen(refused('00000000000000b3', 'Some words.'), LATER);
    await seen(refused('00000000000000b4', 'Row words.', 'point.create.request#6'), LATER);
    await seen({ ...refused('00000000000000b5', 'Old words.'), legacy: '200' }, LATER);
    await seen(anew('00000000000000b7'));
    expect((await groups()).toSorted()).toEqual([
      'b1 explained 2 New words',
      'b3 new 1 Some word',
      'b4 new 1 Row words',
      'b5 new 1 Old words',
    ]);
  });

  it('is recognised once: another difference of that form has a group of its own, at once and later', async () => {
    await seen(refused('00000000000000b1', 'Old words.'));
    await explained('00000000000000b1');
    await seen(refused('00000000000000b3', 'Old words.', 'point.create.request#6'));
    const other = {
      ...refused('00000000000000ba', 'Other row.', 'point.create.request#6'),
      older: { ...older, row: 'point.create.request#6' },
    };
    const second = { ...other, signature: '00000000000000bb' };
    await store.exchanges.recordExchanges([
      newExchange({ at: LATER, differences: [anew('00000000000000b8')] }),
      newExchange({ at: LATER, differences: [other] }),
      newExchange({ at: LATER, differences: [second] }),
    ]);
    await seen(anew('00000000000000b9'), LATER);
    await seen(anew('00000000000000b8'), LATER);
    expect((await groups()).toSorted()).toEqual([
      'b1 explained 3 New words',
      'b3 new 2 Other row',
      'b9 new 1 New words',
      'bb new 1 Other row',
    ]);
  });

  it('is recognised by what is committed alone: the group goes to the difference that is stored first', async () => {
    await seen(refused('00000000000000b1', 'Old words.'));
    await explained('00000000000000b1');
    const unstorable = newExchange({ at: LATER, lane: 'nowhere' as 'legacy', differences: [anew('00000000000000bc')] });
    await expect(store.exchanges.recordExchanges([unstorable])).rejects.toMatchObject({ code: 'store_failed' });
    await seen(anew('00000000000000bd'), LATER);
    await seen(anew('00000000000000bc'), LATER);
    expect((await groups()).toSorted()).toEqual(['b1 explained 2 New words', 'bc new 1 New words']);
  });

  it('has its own group where none is stored, which stays its own', async () => {
    const now = anew('00000000000000b2');
    await seen(now);
    await seen(refused('00000000000000b1', 'Old words.'), LATER);
    await seen(now, LATER);
    expect((await groups()).toSorted()).toEqual(['b1 new 1 Old words', 'b2 new 2 New words']);
  });
}
