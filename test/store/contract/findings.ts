/** Findings: traffic, units, the loss ledger, coverage, unknown names and shadow verdicts, each a sum of exchanges. */
import { expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import type { RecordedExchange, Verdict } from '../../../src/proxy/records/evidence.ts';
import { accepted, newDifference, newExchange, newLoss } from './evidence-kit.ts';
import { auditOf, DAY_MS, type Harness, MERCHANT, MINUTE_MS, NOON, newMerchant, OTHER_MERCHANT } from './harness.ts';

const DAY = Math.floor(NOON / DAY_MS);
const LATER = NOON + MINUTE_MS;

export function findingTests(harness: Harness): void {
  const { store } = harness;
  itCountsCalls(harness);
  itCountsFields(harness);
  itCountsSharedFields(harness);
  itCountsUnknownNames(harness);
  itBoundsWhatTillsName(harness);
  itCountsVerdicts(harness);
  itKeepsReadiness(harness);

  it('counts a call of nobody, or of no operation, in no sum but the unknown names', async () => {
    const shadow = { ...accepted, fired: [], losses: [] };
    const cells = [{ operation: 'point.create', field: 'body.amount', outcome: 'equal' } as const];
    const found = {
      shadow,
      cells,
      lost: [newLoss()],
      unknown: [{ what: 'endpoint', name: 'PUT /stores/:id' } as const],
    };
    await store.exchanges.recordExchanges([
      newExchange({ ...found, merchant_id: null }),
      newExchange({ ...found, operation: null, kind: null }),
      newExchange({ ...found, merchant_id: null, operation: null, kind: null }),
    ]);
    expect([...(await store.evidence.traffic({})), ...(await store.exchanges.calledMerchants())]).toEqual([]);
    expect(await store.evidence.units(MERCHANT)).toEqual([]);
    expect([
      ...(await store.evidence.ledger()),
      ...(await store.evidence.coverage()),
      ...(await store.evidence.verdicts()),
    ]).toEqual([]);
    expect(await store.evidence.unknowns()).toMatchObject([
      { merchant_id: '', what: 'endpoint', name: 'PUT /stores/:id', count: 2 },
      { merchant_id: MERCHANT, count: 1 },
    ]);
    expect(await store.exchanges.lastExchange()).toBe(3);
  });
}

function itCountsCalls(harness: Harness): void {
  const { store } = harness;
  it('counts calls by merchant, UTC day, operation, lane and outcome', async () => {
    const midnight = (DAY + 1) * DAY_MS;
    await store.exchanges.recordExchanges([
      newExchange({ at: midnight - 1 }),
      newExchange({ at: midnight }),
      newExchange({ at: midnight, outcome: 'fault' }),
      newExchange({ at: midnight, lane: 'orders' }),
      newExchange({ at: midnight, operation: 'devices.list', kind: 'devices' }),
      newExchange({ at: midnight, merchant_id: OTHER_MERCHANT }),
    ]);
    await store.exchanges.recordExchanges([newExchange({ at: midnight + 5 })]);
    expect(await store.exchanges.calledMerchants()).toEqual([MERCHANT, OTHER_MERCHANT].toSorted());
    const all = await store.evidence.traffic({});
    expect(all).toHaveLength(6);
    expect(all.map(({ calls }) => calls).toSorted()).toEqual([1, 1, 1, 1, 1, 2]);
    expect(await store.evidence.traffic({ merchant_id: OTHER_MERCHANT })).toEqual([
      {
        merchant_id: OTHER_MERCHANT,
        day: DAY + 1,
        operation: 'point.create',
        kind: 'intents',
        lane: 'legacy',
        outcome: 'ok',
        calls: 1,
      },
    ]);
    expect(await store.evidence.traffic({ until_day: DAY + 1 })).toMatchObject([{ day: DAY, calls: 1 }]);
    expect(await store.evidence.traffic({ merchant_id: MERCHANT, since_day: DAY + 1 })).toHaveLength(4);
    expect(await store.evidence.traffic({ since_day: DAY + 2 })).toEqual([]);
  });

  it('knows the units that were named, since when, until when, on which lane last, and their last call on legacy', async () => {
    const unit = 'point:A';
    await store.exchanges.recordExchanges([
      newExchange({ unit, at: LATER, lane: 'orders' }),
      newExchange({ unit, at: NOON, lane: 'legacy' }),
      newExchange({ unit: 'point:B', lane: 'orders' }),
      newExchange({ unit: null }),
      newExchange({ unit: 'point:C', merchant_id: OTHER_MERCHANT }),
    ]);
    await store.exchanges.recordExchanges([newExchange({ unit, at: NOON - 1, lane: 'legacy', operation: 'earlier' })]);
    const merchant_id = MERCHANT;
    const legacy = { legacy_at: NOON, legacy_operation: 'point.create' };
    expect(await store.evidence.units(MERCHANT)).toEqual([
      { merchant_id, slot: unit, first_at: NOON - 1, last_at: LATER, calls: 3, last_lane: 'orders', ...legacy },
      {
        ...{ merchant_id, slot: 'point:B', first_at: NOON, last_at: NOON, calls: 1, last_lane: 'orders' },
        ...{ legacy_at: null, legacy_operation: null },
      },
    ]);
    await store.exchanges.recordExchanges([newExchange({ unit: 'point:B', at: LATER, lane: 'legacy' })]);
    expect((await store.evidence.units(MERCHANT))[1]).toMatchObject({
      ...legacy,
      legacy_at: LATER,
      last_lane: 'legacy',
    });
  });
}

function itCountsFields(harness: Harness): void {
  const { store } = harness;
  it('sums losses by field: calls, not entries, and those on paper apart', async () => {
    const first = newExchange({ lost: [newLoss(), newLoss()] });
    const real = newExchange({
      at: LATER,
      tables_revision: 'revision-2',
      lost: [newLoss({ would_be: false, why: 'Now another reason.' }), newLoss()],
    });
    const others = newExchange({
      at: LATER,
      lost: [
        newLoss({ path: 'body.description', weight: 'identity' }),
        newLoss({ path: 'body.print', weight: 'other' }),
      ],
    });
    await store.exchanges.recordExchanges([first, others]);
    await store.exchanges.recordExchanges([
      real,
      newExchange({ lost: others.lost.slice(1), merchant_id: OTHER_MERCHANT }),
    ]);
    const { would_be, ...loss } = newLoss();
    const ledger = await store.evidence.ledger(MERCHANT);
    expect(ledger.map(({ weight, count }) => [weight, count])).toEqual([
      ['money', 2],
      ['identity', 1],
      ['other', 1],
    ]);
    expect(ledger[0]).toEqual({
      ...loss,
      merchant_id: MERCHANT,
      why: 'Now another reason.',
      count: 2,
      would_be_count: 1,
      first_at: NOON,
      last_at: LATER,
      sample: real.id,
      tables_revision: 'revision-2',
    });
    expect(await store.evidence.ledger()).toHaveLength(4);
  });

  it('puts money first however often the rest was lost', async () => {
    const other = { lost: [newLoss({ weight: 'other', path: 'body.print' })] };
    await store.exchanges.recordExchanges([newExchange(other), newExchange(other), newExchange({ lost: [newLoss()] })]);
    expect((await store.evidence.ledger()).map(({ weight, count }) => [weight, count])).toEqual([
      ['money', 1],
      ['other', 2],
    ]);
  });

  it('counts a field once a call, as different when a call shows it both ways', async () => {
    const cell = (field: string, outcome: 'equal' | 'different') => ({ operation: 'qr.create', field, outcome });
    await store.exchanges.recordExchanges([
      newExchange({
        cells: [cell('items[].price', 'different'), cell('items[].price', 'equal'), cell('title', 'equal')],
      }),
      newExchange({ cells: [cell('items[].price', 'equal'), cell('items[].price', 'equal')], at: LATER }),
    ]);
    await store.exchanges.recordExchanges([newExchange({ cells: [cell('items[].price', 'equal')] })]);
    const about = { merchant_id: MERCHANT, operation: 'qr.create' };
    expect(await store.evidence.coverage(MERCHANT)).toEqual([
      { ...about, field: 'items[].price', equal: 2, different: 1, last_at: LATER },
      { ...about, field: 'title', equal: 1, different: 0, last_at: NOON },
    ]);
    expect(await store.evidence.coverage(OTHER_MERCHANT)).toEqual([]);
  });
}

function itCountsSharedFields(harness: Harness): void {
  const { store } = harness;
  it('counts a list of fields that calls share once for each of them, and by whose they are', async () => {
    const title = { operation: 'qr.create', field: 'title', outcome: 'equal' } as const;
    const cells = Object.freeze([title]) as RecordedExchange['cells']; // as `proxy/evidence/evaluation.ts` shares it
    await store.exchanges.recordExchanges([
      newExchange({ cells, at: LATER }),
      newExchange({ cells }),
      newExchange({ cells: [title] }),
      newExchange({ cells, merchant_id: OTHER_MERCHANT }),
    ]);
    const about = { operation: 'qr.create', field: 'title', different: 0 };
    expect(await store.evidence.coverage(MERCHANT)).toEqual([
      { merchant_id: MERCHANT, ...about, equal: 3, last_at: LATER },
    ]);
    expect(await store.evidence.coverage(OTHER_MERCHANT)).toEqual([
      { merchant_id: OTHER_MERCHANT, ...about, equal: 1, last_at: NOON },
    ]);
  });
}

function itCountsUnknownNames(harness: Harness): void {
  const { store } = harness;
  it('counts every hit of an unknown name, most frequent first', async () => {
    const tip = { what: 'field', name: 'body.tip' } as const;
    const shop = { what: 'header', name: 'x-shop' } as const;
    await store.exchanges.recordExchanges([
      newExchange({ unknown: [tip, shop] }),
      newExchange({ unknown: [tip], at: LATER }),
    ]);
    await store.exchanges.recordExchanges([newExchange({ unknown: [tip] })]);
    expect(await store.evidence.unknowns(MERCHANT)).toEqual([
      { merchant_id: MERCHANT, ...tip, count: 3, first_at: NOON, last_at: LATER },
      { merchant_id: MERCHANT, ...shop, count: 1, first_at: NOON, last_at: NOON },
    ]);
    expect(await store.evidence.unknowns(OTHER_MERCHANT)).toEqual([]);
  });

  it('keeps 500 names a merchant and kind, counts the rest under one, and goes on counting those it knows', async () => {
    const hits = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => ({ what: 'field', name: `body.f${from + index}` }) as const);
    await store.exchanges.recordExchanges([
      newExchange({ unknown: hits(0, 300) }),
      newExchange({ unknown: hits(200, 400) }),
    ]);
    await store.exchanges.recordExchanges([newExchange({ unknown: hits(390, 520) })]);
    await store.exchanges.recordExchanges([newExchange({ unknown: hits(499, 502) })]);
    await store.exchanges.recordExchanges([newExchange({ unknown: [{ what: 'header', name: 'x-shop' }] })]);
    const rows = await store.evidence.unknowns(MERCHANT);
    const counts = new Map(rows.map(({ name, count }) => [name, count]));
    expect(rows).toHaveLength(502);
    expect(counts.get('(others)')).toBe(22);
    expect(counts.get('body.f499')).toBe(2);
    expect(counts.get('body.f250')).toBe(2);
    expect(counts.has('body.f500')).toBe(false);
    expect(counts.get('x-shop')).toBe(1);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(300 + 200 + 130 + 3 + 1);
  });
}

function itBoundsWhatTillsName(harness: Harness): void {
  const { store } = harness;
  const list = <Item>(from: number, to: number, make: (index: number) => Item): Item[] =>
    Array.from({ length: to - from }, (_, index) => make(from + index));
  const lost = (index: number) => newLoss({ path: `body.f${index}`, weight: 'other', unknown: true });
  const cell = (index: number) => {
    return { operation: 'point.create', field: `body.f${index}`, outcome: 'different', unknown: true } as const;
  };

  it('keeps 1,000 lost fields a merchant that no table knows, and counts the rest as one; what tables know has its own', async () => {
    const calls = (from: number, to: number) => [
      newExchange({ lost: list(from, to, lost), cells: list(from, to, cell) }),
    ];
    await store.exchanges.recordExchanges([...calls(0, 700), ...calls(600, 900)]);
    await store.exchanges.recordExchanges(calls(890, 1_040));
    const known = newLoss({ path: 'body.description' });
    await store.exchanges.recordExchanges([
      newExchange({ lost: [known, lost(5), lost(2_000)], cells: [cell(5), cell(2_000)] }),
      newExchange({ lost: list(3_000, 3_010, lost), merchant_id: OTHER_MERCHANT }),
    ]);
    const ledger = new Map((await store.evidence.ledger(MERCHANT)).map(({ path, count }) => [path, count]));
    expect(ledger.size).toBe(1_002);
    expect(
      ['body.f5', 'body.f650', 'body.f999', 'body.description', '(others)'].map((path) => ledger.get(path)),
    ).toEqual([2, 2, 1, 1, 2]);
    const coverage = new Map(
      (await store.evidence.coverage(MERCHANT)).map(({ field, different }) => [field, different]),
    );
    expect([coverage.size, coverage.get('body.f5'), coverage.get('(others)')]).toEqual([1_001, 2, 2]);
    expect(await store.evidence.ledger(OTHER_MERCHANT)).toHaveLength(10);
  });

  it('keeps 10,000 units a merchant, none of them longer than a unit is', async () => {
    const calls = (from: number, to: number) => list(from, to, (index) => newExchange({ unit: `point:T${index}` }));
    await store.exchanges.recordExchanges(calls(0, 9_000));
    await store.exchanges.recordExchanges(calls(8_990, 10_030));
    await store.exchanges.recordExchanges([
      newExchange({ unit: 'point:T7' }),
      newExchange({ unit: `point:${'T'.repeat(8_000)}` }),
    ]);
    const unitsOf = async (from: Store) =>
      new Map((await from.evidence.units(MERCHANT)).map(({ slot, calls: count }) => [slot, count]));
    const units = await unitsOf(store);
    expect([units.size, units.get('point:T7'), units.get('(others)')]).toEqual([10_001, 2, 31]);
    const restarted = await harness.reopen();
    await restarted.exchanges.recordExchanges([...calls(10_029, 10_031), ...calls(7, 9)]);
    const after = await unitsOf(restarted);
    expect([after.size, after.get('point:T7'), after.get('point:T8'), after.get('(others)')]).toEqual([
      10_001, 3, 2, 33,
    ]);
  });

  it('keeps 500 groups of differences a merchant; an exchange names the group under which its own is counted', async () => {
    const differences = list(0, 510, (index) => newDifference({ signature: index.toString(16).padStart(16, '0') }));
    await store.exchanges.recordExchanges(differences.map((one) => newExchange({ differences: [one] })));
    const groups = await store.evidence.differences({ merchant_id: MERCHANT }, NOON);
    expect(groups).toHaveLength(501);
    const others = groups.filter(({ path }) => path === '(others)');
    expect(others).toMatchObject([{ count: 10, operation: 'devices.list', what: 'value' }]);
    const [last] = await store.exchanges.exchanges({ merchant_id: MERCHANT }, 509, 1);
    expect(last?.signatures).toEqual([others[0]?.signature]);
  });

  it('sums what is stored equal: names of which half a character differs', async () => {
    const halves = ['body.z\ud800', 'body.z\udc00', 'body.z\ufffd'];
    const call = newExchange({
      lost: halves.map((path) => newLoss({ path, unknown: true })),
      cells: halves.map((field) => ({ operation: 'point.create', field, outcome: 'different', unknown: true })),
      unknown: halves.map((name) => ({ what: 'field', name })),
      unit: 'point:z\ud800',
      differences: [newDifference({ path: 'z\ud800', legacy: '"\udc00"' })],
      shadow: { ...accepted, fired: [], losses: [], detail: 'z\ud800' },
    });
    const others = { unit: 'point:z\udc00', shadow: { ...accepted, fired: [], losses: [], detail: 'z\udc00' } };
    await store.exchanges.recordExchanges([call, newExchange(others), newExchange({ merchant_id: OTHER_MERCHANT })]);
    await store.exchanges.recordExchanges([newExchange({ lost: [newLoss({ path: halves[1] ?? '', unknown: true })] })]);
    expect((await store.evidence.ledger(MERCHANT)).map(({ path }) => path)).toEqual(['body.z\ufffd']);
    expect((await store.evidence.coverage(MERCHANT)).map(({ field }) => field)).toEqual(['body.z\ufffd']);
    expect((await store.evidence.unknowns(MERCHANT)).map(({ name, count }) => [name, count])).toEqual([
      ['body.z\ufffd', 3],
    ]);
    expect((await store.evidence.units(MERCHANT)).map(({ slot }) => slot)).toContain('point:z\ufffd');
    expect((await store.evidence.verdicts(MERCHANT)).map(({ detail, count }) => [detail, count])).toEqual([
      ['z\ufffd', 2],
    ]);
    expect(await store.evidence.traffic({ merchant_id: OTHER_MERCHANT })).toHaveLength(1);
  });
}

function itCountsVerdicts(harness: Harness): void {
  const { store } = harness;
  it('sums shadow verdicts by what was said', async () => {
    const shadow = { ...accepted, fired: [], losses: [] };
    const refused = {
      ...shadow,
      verdict: 'refused_there',
      status: 400,
      code: 'invalid_reference',
      error: 'bad_request',
      detail: 'The reference is too long.',
    } as const;
    const last = newExchange({ shadow: refused, at: LATER, outcome: 'business', status: 400 });
    await store.exchanges.recordExchanges([newExchange({ shadow }), newExchange({ shadow: refused }), newExchange()]);
    await store.exchanges.recordExchanges([last, newExchange({ shadow, merchant_id: OTHER_MERCHANT })]);
    const { status, order, fired, losses, took_ms, ...said } = refused;
    expect(await store.evidence.verdicts(MERCHANT)).toEqual([
      {
        merchant_id: MERCHANT,
        operation: 'point.create',
        ...said,
        count: 2,
        refused_on_legacy: 1,
        last_at: LATER,
        sample: last.id,
      },
      expect.objectContaining({
        verdict: 'accepted',
        code: null,
        error: null,
        detail: null,
        count: 1,
        refused_on_legacy: 0,
      }),
    ]);
    expect(await store.evidence.verdicts()).toHaveLength(3);
  });

  it('keeps 200 sentences an operation', async () => {
    const batch = Array.from({ length: 203 }, (_, index) =>
      newExchange({ shadow: { ...accepted, fired: [], losses: [], detail: `Sentence ${index}.` } }),
    );
    await store.exchanges.recordExchanges(batch);
    const rows = await store.evidence.verdicts(MERCHANT);
    expect(rows).toHaveLength(201);
    expect(rows[0]).toMatchObject({ detail: '(others)', count: 3 });
  });
}

async function knowMerchants(store: Store): Promise<void> {
  for (const id of [MERCHANT, OTHER_MERCHANT])
    await store.merchants.saveMerchant(newMerchant({ id }), 0, auditOf('known'));
}

function itKeepsReadiness(harness: Harness): void {
  const { store } = harness;
  it('keeps one verdict for a merchant and day, the last one, and counts merchants by them', async () => {
    expect([await store.evidence.readinessSince(), await store.evidence.judgedOn(DAY)]).toEqual([null, []]);
    const of = (merchant_id: string, day: number, verdict: Verdict) => ({ merchant_id, day, verdict });
    await knowMerchants(store);
    await store.evidence.keepReadiness([of(OTHER_MERCHANT, DAY, 'ready'), of(MERCHANT, DAY, 'inconclusive')]);
    await store.evidence.keepReadiness([of(MERCHANT, DAY, 'ready'), of(MERCHANT, DAY + 1, 'blocked')]);
    const period = { since_day: DAY, until_day: DAY + 2 };
    expect(await store.evidence.readinessDays(period)).toEqual([
      { day: DAY, verdict: 'ready', merchants: 2 },
      { day: DAY + 1, verdict: 'blocked', merchants: 1 },
    ]);
    expect(await store.evidence.readinessDays({ ...period, merchant_id: OTHER_MERCHANT })).toEqual([
      { day: DAY, verdict: 'ready', merchants: 1 },
    ]);
    expect(await store.evidence.readinessDays({ since_day: DAY + 1, until_day: DAY + 1 })).toEqual([]);
    expect(await store.evidence.judgedOn(DAY)).toEqual([MERCHANT, OTHER_MERCHANT].toSorted());
    expect(await store.evidence.readinessSince()).toBe(DAY);
  });

  it('forgets verdicts of days that are too old, and those of a merchant that is erased', async () => {
    const days = [DAY - 2, DAY - 1, DAY];
    await knowMerchants(store);
    for (const merchant_id of [MERCHANT, OTHER_MERCHANT])
      await store.evidence.keepReadiness(days.map((day) => ({ merchant_id, day, verdict: 'ready' })));
    const never = { links_before: 0, notices_before: 0, events_before: 0, tokens_before: 0 };
    expect(await store.upkeep.tidyOld({ ...never, sums_before: DAY * DAY_MS }, 3)).toMatchObject({ sums: 3 });
    expect(await store.upkeep.tidyOld({ ...never, sums_before: DAY * DAY_MS }, 3)).toMatchObject({ sums: 1 });
    expect(await store.evidence.readinessSince()).toBe(DAY);
    expect(await store.upkeep.holdings(MERCHANT)).toMatchObject({ sums: 1 });
    await store.upkeep.eraseMerchant(MERCHANT, () => auditOf('erase'));
    expect(await store.evidence.judgedOn(DAY)).toEqual([OTHER_MERCHANT]);
    // A verdict computed before the erasure is dropped.
    await store.evidence.keepReadiness(
      [MERCHANT, OTHER_MERCHANT].map((merchant_id) => ({ merchant_id, day: DAY, verdict: 'blocked' })),
    );
    expect(await store.evidence.readinessDays({ since_day: DAY, until_day: DAY + 1 })).toEqual([
      { day: DAY, verdict: 'blocked', merchants: 1 },
    ]);
    await store.exchanges.recordExchanges([newExchange({ merchant_id: MERCHANT })]);
    await store.evidence.keepReadiness([{ merchant_id: MERCHANT, day: DAY, verdict: 'ready' }]);
    expect(await store.evidence.judgedOn(DAY)).toEqual([MERCHANT, OTHER_MERCHANT].toSorted());
  });
}
