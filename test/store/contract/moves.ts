/** Moves: safety stops, proposals that wait for an approver, bulk moves, and searches of the audit chain. */
import { expect, it } from 'vitest';
import type { BulkItem, BulkMove, Proposal } from '../../../src/proxy/records/routing.ts';
import { type Merchant, merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { partSteps } from '../../../src/store/routing.ts';
import { auditOf, DAY_MS, type Harness, MERCHANT, NOON, newMerchant, OTHER_MERCHANT } from './harness.ts';

export function moveTests(harness: Harness): void {
  itStops(harness);
  itKeepsProposals(harness);
  itKeepsBulkMoves(harness);
  itSearchesTheAudit(harness);
}

function trip(why: string): NonNullable<Merchant['trips']['qr']> {
  return { at: NOON, why, evidence: { calls: 50, faults: 9, slow: 0, window_ms: 60_000, sample: null } };
}

function itStops(harness: Harness): void {
  const { store } = harness;
  it('sets and clears safety stops of a kind, apart from the others and from the settings', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    const [qr, intents] = [trip('Nine of fifty.'), trip('Slow.')];
    const first = await store.merchants.saveTrips(MERCHANT, { qr }, 1, auditOf('trip'));
    expect(first).toMatchObject({ trips: { qr }, revision: 2, settings: { stage: 'orders' } });
    await store.merchants.saveTrips(MERCHANT, { intents }, 2, auditOf('trip'));
    expect((await store.merchants.merchant(MERCHANT))?.trips).toEqual({ qr, intents });
    const cleared = await store.merchants.saveTrips(MERCHANT, { qr: null }, 3, auditOf('reset'));
    expect(cleared.trips).toEqual({ intents });
    expect(await (await harness.reopen()).merchants.merchant(MERCHANT)).toEqual(cleared);
    expect((await store.audit.audits(9)).map(({ action }) => action)).toEqual(['reset', 'trip', 'trip', 'made']);
  });

  it('replaces a stop wholly', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    const sampled = { ...trip('First.'), evidence: { ...trip('').evidence, sample: 'exchange-1' } };
    await store.merchants.saveTrips(MERCHANT, { qr: sampled }, 1, auditOf('trip'));
    await store.merchants.saveTrips(MERCHANT, { qr: trip('Second.') }, 2, auditOf('trip'));
    expect((await store.merchants.merchant(MERCHANT))?.trips).toEqual({ qr: trip('Second.') });
  });

  it('refuses a stop on an old revision, or of a merchant it does not know', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    const races = [1, 2, 3].map((n) =>
      store.merchants.saveTrips(MERCHANT, { qr: trip(`race ${n}`) }, 1, auditOf('trip')),
    );
    const settled = await Promise.allSettled(races);
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
    for (const [id, revision] of [
      [MERCHANT, 1],
      [MERCHANT, 9],
      ['nobody', 1],
    ] as const) {
      const late = store.merchants.saveTrips(id, { qr: null }, revision, auditOf('late'));
      await expect(late).rejects.toMatchObject({ code: 'conflict' });
    }
    expect((await store.audit.audits(9)).map(({ action }) => action)).toEqual(['trip', 'made']);
  });

  it('leaves the stops as they are when the settings are saved', async () => {
    const made = await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    expect(made.trips).toEqual({});
    const stopped = await store.merchants.saveTrips(MERCHANT, { qr: trip('Nine of fifty.') }, 1, auditOf('trip'));
    const settings = merchantSettings.parse({ stage: 'canary', share: 5 });
    const saved = await store.merchants.saveMerchant({ ...made, settings }, 2, auditOf('moved'));
    expect(saved).toMatchObject({ trips: stopped.trips, settings, revision: 3 });
    expect(await store.merchants.merchant(MERCHANT)).toEqual(saved);
  });
}

function newProposal(id: string, change: Partial<Proposal> = {}): Proposal {
  return {
    id,
    merchant_id: MERCHANT,
    move: { stage: 'orders', kinds: { qr: { stage: 'shadow' } } },
    reason: 'agreed with the shop',
    proposed_by: 'ana',
    proposed_at: NOON,
    expires_at: NOON + DAY_MS,
    state: 'waiting',
    decided_by: null,
    decided_at: null,
    ...change,
  };
}

function itKeepsProposals(harness: Harness): void {
  const { store } = harness;
  it('keeps a proposal and lists them, newest first', async () => {
    const [one, two, three] = [
      newProposal('one'),
      newProposal('two', { merchant_id: OTHER_MERCHANT }),
      newProposal('three', { state: 'withdrawn' }),
    ];
    for (const proposal of [one, two, three]) await store.moves.saveProposal(proposal, auditOf('proposed'));
    expect(await (await harness.reopen()).moves.proposal('one')).toEqual(one);
    expect(await store.moves.proposal('four')).toBeNull();
    const listed = (filter: Parameters<typeof store.moves.proposals>[0], limit = 9) =>
      store.moves.proposals(filter, limit);
    expect(await listed({})).toEqual([three, two, one]);
    expect(await listed({}, 1)).toEqual([three]);
    expect(await listed({ merchant_id: MERCHANT })).toEqual([three, one]);
    expect(await listed({ state: 'waiting' })).toEqual([two, one]);
    expect(await listed({ state: 'waiting', merchant_id: MERCHANT })).toEqual([one]);
  });

  it('holds a merchant back from being erased while a proposal waits, and no longer once it has expired', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    const waits = newProposal('waits', { expires_at: Date.now() + DAY_MS });
    for (const one of [newProposal('past', { expires_at: 1 }), waits])
      await store.moves.saveProposal(one, auditOf('proposed'));
    expect(await store.upkeep.openWork(MERCHANT)).toMatchObject({ proposals: 1 });
    const erase = () => store.upkeep.eraseMerchant(MERCHANT, (gone) => auditOf('erase', { ...gone }));
    await expect(erase()).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.upkeep.holdings(MERCHANT)).toMatchObject({ proposals: 2 });
    await store.moves.saveProposal({ ...waits, state: 'declined', decided_by: 'bea' }, auditOf('declined'));
    expect(await store.upkeep.openWork(MERCHANT)).toMatchObject({ proposals: 0 });
    expect([(await erase()).proposals, (await store.upkeep.holdings(MERCHANT)).proposals]).toEqual([2, 0]);
  });

  it('takes no proposal of a merchant about which a line was written since it was judged', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, { ...auditOf('made'), subject: MERCHANT });
    const line = { ...auditOf('move proposed'), subject: MERCHANT };
    await expect(store.moves.saveProposal(newProposal('one'), line, 0)).rejects.toMatchObject({
      code: 'conflict',
      said: [{ code: 'refusal.decided_meanwhile', facts: { merchant: MERCHANT } }],
    });
    expect(await store.moves.proposal('one')).toBeNull();
    await store.moves.saveProposal(newProposal('one'), line, 1);
    expect(await store.moves.proposal('one')).toMatchObject({ state: 'waiting' });
  });

  it('lets a proposal be decided once', async () => {
    await store.moves.saveProposal(newProposal('one'), auditOf('proposed'));
    const decided = (state: 'approved' | 'declined', who: string) =>
      store.moves.saveProposal(newProposal('one', { state, decided_by: who, decided_at: NOON + 1 }), auditOf(state));
    const settled = await Promise.allSettled([decided('approved', 'bea'), decided('declined', 'carla')]);
    expect(settled).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'conflict' } }]);
    expect(await store.moves.proposal('one')).toMatchObject({
      state: 'approved',
      decided_by: 'bea',
      decided_at: NOON + 1,
    });
    await expect(store.moves.saveProposal(newProposal('one'), null)).rejects.toMatchObject({ code: 'conflict' });
    expect((await store.audit.audits(9)).map(({ action }) => action)).toEqual(['approved', 'proposed']);
  });
}

export function newBulk(id: string, change: Partial<BulkMove> = {}): BulkMove {
  return {
    id,
    move: { stage: 'shadow' },
    reason: 'second wave',
    who: 'ana',
    per_day: 50,
    items: [MERCHANT, OTHER_MERCHANT].map((merchant_id) => ({ merchant_id, state: 'waiting', detail: '', at: null })),
    ramp: null,
    state: 'running',
    detail: '',
    created_at: NOON,
    updated_at: NOON,
    revision: 0,
    ...change,
  };
}

function itKeepsBulkMoves(harness: Harness): void {
  const { store } = harness;
  it('keeps a bulk move and its items, and changes it from the revision that was read', async () => {
    const ramp = { steps: [5, 100], soak_ms: 60_000, min_sales: 3, approved_by: null };
    const made = await store.moves.saveBulkMove(newBulk('one', { ramp }), null, auditOf('bulk.started'));
    expect(made).toEqual({ ...newBulk('one', { ramp }), revision: 1, updated_at: made.updated_at });
    const items = made.items.map((item) => ({ ...item, state: 'moved' as const, detail: 'to shadow', at: NOON }));
    const change = { ramp: { ...ramp, approved_by: 'eva' }, state: 'paused', detail: 'all moved' } as const;
    const moved = await store.moves.saveBulkMove({ ...made, ...change, items }, made, null);
    expect(moved).toMatchObject({ ...change, items, revision: 2 });
    expect(await (await harness.reopen()).moves.bulkMove('one')).toEqual(moved);
    for (const revision of [0, 1, 3]) {
      const late = store.moves.saveBulkMove(
        { ...made, detail: 'late' },
        revision === 0 ? null : { ...made, revision },
        auditOf('late'),
      );
      await expect(late).rejects.toMatchObject({ code: 'conflict' });
    }
    expect(await store.moves.bulkMove('one')).toEqual(moved);
    expect(await store.moves.bulkMove('two')).toBeNull();
    expect((await store.audit.audits(9)).map(({ action }) => action)).toEqual(['bulk.started']);
  });

  it('writes a merchant and the bulk move that moved it, or neither', async () => {
    const bulk = await store.moves.saveBulkMove(newBulk('one'), null, null);
    const made = await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    const settings = merchantSettings.parse({ stage: 'shadow' });
    const move = (revision: number, of: BulkMove) =>
      store.merchants.saveMerchant({ ...made, settings }, revision, auditOf('moved'), {
        bulk: { before: of, after: { ...of, detail: 'moved one' } },
      });
    for (const [revision, of] of [
      [1, { ...bulk, revision: 7 }],
      [7, bulk],
    ] as const)
      await expect(move(revision, of)).rejects.toMatchObject({ code: 'conflict' });
    expect([await store.merchants.merchant(MERCHANT), await store.moves.bulkMove('one')]).toEqual([made, bulk]);
    await move(1, bulk);
    expect(await store.merchants.merchant(MERCHANT)).toMatchObject({ settings, revision: 2 });
    expect(await store.moves.bulkMove('one')).toMatchObject({ detail: 'moved one', revision: 2 });
    expect((await store.audit.audits(9)).map(({ action }) => action)).toEqual(['moved', 'made']);
  });

  it('writes a proposal with the move that it was about, or with the bulk move that proposes it, or neither', async () => {
    const bulk = await store.moves.saveBulkMove(newBulk('one'), null, null);
    const propose = (revision: number) =>
      store.moves.saveProposal(newProposal('one'), auditOf('proposed'), 0, {
        before: { ...bulk, revision },
        after: { ...bulk, detail: 'proposed one' },
      });
    await expect(propose(7)).rejects.toMatchObject({ code: 'conflict' });
    expect([await store.moves.proposal('one'), await store.moves.bulkMove('one')]).toEqual([null, bulk]);
    await propose(1);
    expect(await store.moves.bulkMove('one')).toMatchObject({ detail: 'proposed one', revision: 2 });
    const made = await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    const approve = (revision: number, proposal = newProposal('one', { state: 'approved' })) =>
      store.merchants.saveMerchant({ ...made, site: 'MLB' }, revision, auditOf('moved'), { proposal });
    await expect(approve(7)).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.moves.proposal('one')).toMatchObject({ state: 'waiting' });
    await approve(1);
    expect(await store.moves.proposal('one')).toMatchObject({ state: 'approved' });
    // It is decided: the merchant stays as it is.
    await expect(approve(2, newProposal('one', { state: 'declined' }))).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.merchants.merchant(MERCHANT)).toMatchObject({ site: 'MLB', revision: 2 });
    expect((await store.audit.audits(9)).map(({ action }) => action)).toEqual(['moved', 'made', 'proposed']);
  });

  it('writes of a bulk move of ten thousand only the merchant whose step it is, in a thousand bytes', async () => {
    const items = Array.from({ length: 10_000 }, (_, place) => ({
      ...{ merchant_id: String(700_000_000 + place), state: 'waiting' as const, detail: '', at: null },
    }));
    const bulk = await store.moves.saveBulkMove(newBulk('one', { items }), null, null);
    // What a step would write again is another than it was read.
    await harness.sql(`UPDATE bulk_items SET item = '{"merchant_id":"kept"}' WHERE place <> 7`);
    const moved = {
      ...newBulk('').items[0],
      merchant_id: '700000007',
      state: 'moved',
      detail: 'to shadow',
    } as BulkItem;
    const after = { ...bulk, detail: '1 moved', items: bulk.items.with(7, moved) };
    const { steps } = partSteps({ bulk: { before: bulk, after } }, NOON);
    expect([steps.length, JSON.stringify(steps).length < 1_000]).toEqual([2, true]);
    await store.moves.saveBulkMove(after, bulk, null);
    const stored = await store.moves.bulkMove('one');
    expect([stored?.items.length, stored?.items[7], stored?.detail]).toEqual([10_000, moved, '1 moved']);
    expect(new Set(stored?.items.toSpliced(7, 1).map(({ merchant_id }) => merchant_id))).toEqual(new Set(['kept']));
  });

  it('leaves nothing of an erased merchant in its bulk moves and ramps but its place', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    const from = { stage: 'canary', share: 5, units_in: ['point:OF_THE_ERASED'] } as const;
    const ramp = { step: 0, start: -1, since: NOON, from, legacy_p95_ms: null };
    const own = { units_in: ['point:OF_THE_ERASED'] };
    const items = [MERCHANT, OTHER_MERCHANT].map((merchant_id) => ({
      ...({ merchant_id, state: 'moved', detail: `moved ${merchant_id}`, at: NOON } as const),
      ...{ own, ramp },
    }));
    await store.moves.saveBulkMove(newBulk('one', { items }), null, null);
    await store.upkeep.eraseMerchant(MERCHANT, () => auditOf('erase'));
    const erased = { merchant_id: 'erased', state: 'moved', detail: '', at: NOON };
    expect((await store.moves.bulkMove('one'))?.items).toEqual([erased, items[1]]);
  });

  it('lists bulk moves of some states, newest first', async () => {
    for (const [id, state] of [
      ['one', 'running'],
      ['two', 'stopped'],
      ['three', 'done'],
      ['four', 'running'],
    ] as const) {
      await store.moves.saveBulkMove(newBulk(id, { state }), null, null);
    }
    const listed = async (states: BulkMove['state'][], limit = 9) =>
      (await store.moves.bulkMoves({ states }, limit)).map(({ id }) => id);
    expect(await listed(['running'])).toEqual(['four', 'one']);
    expect(await listed(['running', 'stopped'], 2)).toEqual(['four', 'two']);
    expect(await listed([])).toEqual([]);
  });

  it('filters ramps, bulk moves and merchants before it counts to the limit, and goes on before an id', async () => {
    const ramp = { steps: [5, 100], soak_ms: 60_000, min_sales: 3, approved_by: null };
    const items = [{ merchant_id: MERCHANT, state: 'waiting' as const, detail: '', at: null }];
    for (const [id, change] of [
      ['bulk', {}],
      ['old', { ramp, items }],
      ['ramp', { ramp }],
      ['new', { items }],
      ['moved', { state: 'paused', items: items.map((one) => ({ ...one, state: 'moved' as const })) }],
      ['over', { state: 'stopped', items }],
    ] as const)
      await store.moves.saveBulkMove(newBulk(id, change), null, null);
    const listed = async (filter: object, limit = 1) =>
      (await store.moves.bulkMoves({ states: ['running'], ...filter }, limit)).map(({ id }) => id);
    expect(await listed({ is_ramp: true })).toEqual(['ramp']);
    const states = ['running', 'paused', 'stopped'] as const;
    const awaiting = await store.moves.bulkLines({ states, awaited_by: MERCHANT }, 9);
    expect(awaiting).toEqual(['new', 'ramp', 'old', 'bulk'].map((id) => ({ id, created_at: newBulk(id).created_at })));
    expect(await listed({ is_ramp: true, before: 'ramp' })).toEqual(['old']);
    expect(await listed({ is_ramp: false, before: 'new' })).toEqual(['bulk']);
    expect(await listed({ merchant_id: OTHER_MERCHANT }, 9)).toEqual(['ramp', 'bulk']);
    expect(await listed({ is_ramp: true, merchant_id: MERCHANT, before: 'ramp' })).toEqual(['old']);
    expect(await listed({ before: 'nobody' })).toEqual([]);
  });
}

function itSearchesTheAudit(harness: Harness): void {
  const { store } = harness;
  it('reads lines onwards from one, and finds those of a subject, an action and a time, newest first', async () => {
    const line = (action: string, subject: string, day: number) =>
      store.audit.appendAudit({ ...auditOf(action, { day }), subject, at: NOON + day * DAY_MS });
    await line('stage', MERCHANT, 0);
    await line('stage', OTHER_MERCHANT, 1);
    await line('trip', MERCHANT, 2);
    await line('stage', MERCHANT, 3);
    const after = async (sequence: number, limit: number) =>
      (await store.audit.auditsAfter(sequence, limit)).map((found) => found.sequence);
    expect([await after(0, 9), await after(1, 2), await after(4, 9)]).toEqual([[1, 2, 3, 4], [2, 3], []]);
    expect((await store.audit.auditsAfter(0, 9)).toReversed()).toEqual(await store.audit.audits(9));
    const of = async (filter: Parameters<typeof store.audit.auditsOf>[0], limit = 9) =>
      (await store.audit.auditsOf(filter, limit)).map((found) => found.sequence);
    expect(await of({})).toEqual([4, 3, 2, 1]);
    expect(await of({ subject: MERCHANT })).toEqual([4, 3, 1]);
    expect(await of({ subject: MERCHANT, action: 'stage' })).toEqual([4, 1]);
    expect(await of({ action: 'stage' }, 2)).toEqual([4, 2]);
    expect(await of({ action: 'stage', before: 4 })).toEqual([2, 1]);
    expect(await of({ action: 'stage', after: 1 })).toEqual([4, 2]);
    expect(await of({ since: NOON + DAY_MS, until: NOON + 3 * DAY_MS })).toEqual([3, 2]);
    expect(await of({ subject: 'nobody' })).toEqual([]);
  });
}
