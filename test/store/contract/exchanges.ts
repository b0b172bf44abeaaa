/** Exchanges: each is stored once with all its findings, and deleted when it is old. */
import { expect, it } from 'vitest';
import { accepted, messages, newDifference, newExchange, newLoss } from './evidence-kit.ts';
import { DAY_MS, type Harness, MERCHANT, NOON } from './harness.ts';

export function exchangeTests(harness: Harness): void {
  const { store } = harness;
  itTidies(harness);

  it('keeps an exchange as it was, through a restart', async () => {
    const full = newExchange({
      legacy_id: 'intent-1',
      status: 409,
      error: 'conflict',
      outcome: 'business',
      upstream: [{ name: 'legacy', status: null, code: null, duration_ms: 10.5 }],
      fired: ['a#1', 'a#2'],
      losses: [{ table: 'a', path: 'body.tip', why: 'No such field.' }],
      unknown: [{ what: 'header', name: 'x-shop' }],
      limitations: ['LIM-08', 'LIM-27'],
      shadow: {
        ...accepted,
        losses: [{ table: 'a', path: 'body.tip', why: 'ñ "quoted" \ud83d\ude42' }],
        fired: ['a#1'],
      },
      messages,
      cells: [{ operation: 'point.create', field: 'body.amount', outcome: 'equal' }],
      lost: [newLoss()],
      differences: [newDifference(), newDifference(), newDifference({ signature: '00000000000000a2' })],
    });
    const bare = newExchange({ merchant_id: null, operation: null, kind: null, unit: null });
    await store.exchanges.recordExchanges([full, bare]);
    await harness.reopen();
    const { cells, differences, compared, ...rest } = full;
    const signatures = ['00000000000000a1', '00000000000000a2'];
    expect(await store.exchanges.exchange(full.id)).toEqual({ ...rest, sequence: 1, signatures });
    expect(await store.exchanges.exchange(bare.id)).toMatchObject({
      merchant_id: null,
      operation: null,
      kind: null,
      lost: [],
    });
    expect((await store.exchanges.exchange(bare.id))?.limitations).toEqual([]);
    expect(await store.exchanges.exchange('nobody')).toBeNull();
  });

  it('numbers them in the order of the batch, and says the newest', async () => {
    expect(await store.exchanges.lastExchange()).toBe(0);
    const batch = [1, 2, 3].map(() => newExchange());
    await store.exchanges.recordExchanges(batch);
    expect(await store.exchanges.lastExchange()).toBe(3);
    const found = await store.exchanges.exchanges({}, 0, 10);
    expect(found.map(({ id, sequence }) => [id, sequence])).toEqual(batch.map(({ id }, index) => [id, index + 1]));
  });

  it('keeps all of a large batch, whatever hours it tells of', async () => {
    const HOUR_MS = 3_600_000;
    const batch = Array.from({ length: 450 }, (_, index) => newExchange({ at: NOON + (index % 3) * HOUR_MS + index }));
    await store.exchanges.recordExchanges(batch);
    expect((await store.exchanges.exchanges({}, 0, 500)).map(({ id }) => id)).toEqual(batch.map(({ id }) => id));
    const since = NOON + HOUR_MS;
    const later = await store.exchanges.exchanges({ since, until: since + HOUR_MS }, 0, 500);
    expect(later.map(({ id }) => id)).toEqual(batch.filter((_, index) => index % 3 === 1).map(({ id }) => id));
  });

  it('leaves out what it knows already, in every sum too', async () => {
    const parts = { lost: [newLoss()], differences: [newDifference()], shadow: { ...accepted, fired: [], losses: [] } };
    const hits = { unknown: [{ what: 'field', name: 'body.tip' } as const] };
    const cells = [{ operation: 'point.create', field: 'body.amount', outcome: 'equal' } as const];
    const [first, second] = [newExchange({ ...parts, ...hits, cells }), newExchange({ ...parts, ...hits, cells })];
    await store.exchanges.recordExchanges([first, first]);
    await store.exchanges.recordExchanges([first, second]);
    await Promise.all([
      store.exchanges.recordExchanges([second, first]),
      store.exchanges.recordExchanges([first]),
      store.exchanges.recordExchanges([]),
    ]);
    expect(await store.exchanges.exchanges({}, 0, 9)).toMatchObject([{ id: first.id }, { id: second.id }]);
    expect(await store.evidence.traffic({})).toMatchObject([{ calls: 2 }]);
    expect(await store.evidence.units(MERCHANT)).toMatchObject([{ calls: 2 }]);
    expect(await store.evidence.ledger()).toMatchObject([{ count: 2 }]);
    expect(await store.evidence.coverage()).toMatchObject([{ equal: 2, different: 0 }]);
    expect(await store.evidence.differences({}, NOON)).toMatchObject([{ count: 2 }]);
    expect(await store.evidence.unknowns()).toMatchObject([{ count: 2 }]);
    expect(await store.evidence.verdicts()).toMatchObject([{ count: 2 }]);
  });

  it('counts once what many tell at the same time', async () => {
    const batch = Array.from({ length: 30 }, () => newExchange());
    await Promise.all(Array.from({ length: 8 }, (_, index) => store.exchanges.recordExchanges(batch.slice(index))));
    expect(await store.evidence.traffic({})).toMatchObject([{ calls: 30 }]);
    expect(await store.exchanges.exchanges({}, 0, 99)).toHaveLength(30);
  });

  it('keeps nothing of a batch that can not be kept, and goes on', async () => {
    const broken = newExchange({ at: Number.NaN });
    await expect(store.exchanges.recordExchanges([newExchange(), broken])).rejects.toMatchObject({
      code: 'store_failed',
    });
    expect(await store.exchanges.lastExchange()).toBe(0);
    expect(await store.evidence.traffic({})).toEqual([]);
    await store.exchanges.recordExchanges([newExchange()]);
    expect(await store.evidence.traffic({})).toMatchObject([{ calls: 1 }]);
  });

  it('counts what could not be kept, by day and reason', async () => {
    const day = Math.floor(NOON / DAY_MS);
    await store.exchanges.noteShed('shadow', 5, NOON);
    await store.exchanges.noteShed('shadow', 2, NOON + 1);
    await store.exchanges.noteShed('evidence', 3, NOON + DAY_MS);
    expect(await store.exchanges.shed(day, day + 2)).toEqual({ shadow: 7, evidence: 3 });
    expect(await store.exchanges.shed(day, day + 1)).toEqual({ shadow: 7, evidence: 0 });
    expect(await store.exchanges.shed(day + 2, day + 9)).toEqual({ shadow: 0, evidence: 0 });
  });
}

function itTidies(harness: Harness): void {
  const { store } = harness;
  it('deletes what is old, erases old messages, never more than asked, and keeps the sums', async () => {
    const batch = [0, 1, 2, 3, 4, 5].map((day) => newExchange({ at: NOON + day * DAY_MS, messages }));
    await store.exchanges.recordExchanges(batch);
    const tidy = (limit: number) => store.exchanges.tidyExchanges(NOON + 2 * DAY_MS, NOON + 4 * DAY_MS, limit);
    expect(await tidy(1)).toBe(1);
    expect(await store.exchanges.exchange(batch[0]?.id ?? '')).toBeNull();
    expect(await tidy(2)).toBe(2);
    expect(await tidy(9)).toBe(1);
    expect(await tidy(9)).toBe(0);
    const left = await store.exchanges.exchanges({}, 0, 10);
    expect(left.map(({ at, messages: kept }) => [(at - NOON) / DAY_MS, kept !== null])).toEqual([
      [2, false],
      [3, false],
      [4, true],
      [5, true],
    ]);
    expect((await store.evidence.traffic({})).map(({ calls }) => calls)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('never gives a number twice, even when the newest are gone', async () => {
    await store.exchanges.recordExchanges([newExchange(), newExchange()]);
    await store.exchanges.tidyExchanges(NOON + 1, 0, 10);
    const next = newExchange();
    await (await harness.reopen()).exchanges.recordExchanges([next]);
    expect(await store.exchanges.exchange(next.id)).toMatchObject({ sequence: 3 });
  });
}
