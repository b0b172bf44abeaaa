/** The book of a capture file keeps the same sums as the store. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBook } from '../../../src/ops/capture/book.ts';
import type { RecordedExchange } from '../../../src/proxy/records/evidence.ts';
import { openForAll } from '../../open.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';

const store = openForAll(() => openOwnStore({ now: Date.now }));
let runs = 0;

const START = 1_795_000_000_000;
const operation = fc.constantFrom('point.create_intent', 'qr.put_order');
const path = fc.constantFrom('body.a', 'body.b[]');

const recorded = fc.record({
  merchant_id: fc.constantFrom('1', '2', null),
  operation: fc.option(operation, { freq: 6 }),
  lane: fc.constantFrom('legacy', 'orders'),
  outcome: fc.constantFrom('ok', 'business', 'auth', 'fault'),
  unit: fc.constantFrom('point:A', 'qr:B', null),
  pause_ms: fc.integer({ min: 1, max: 40_000_000 }),
  unknown: fc.uniqueArray(fc.constantFrom('body.tip', 'x-shop')),
  lost: fc.array(fc.record({ operation, path, would_be: fc.boolean(), weight: fc.constantFrom('money', 'other') })),
  cells: fc.array(fc.record({ operation, field: path, outcome: fc.constantFrom('equal', 'different') })),
  signatures: fc.array(fc.constantFrom('aaaa', 'bbbb')),
  shadow: fc.option(
    fc.record({ verdict: fc.constantFrom('accepted', 'refused_there'), code: fc.constantFrom('property_value', null) }),
  ),
});
type Drawn = typeof recorded extends fc.Arbitrary<infer Value> ? Value : never;

/** Times rise, as in a file. */
function exchangesOf(drawn: readonly Drawn[]): RecordedExchange[] {
  runs++;
  let at = START;
  return drawn.map(({ pause_ms, unknown, lost, signatures, shadow, ...one }, index) => {
    at += pause_ms;
    return {
      ...one,
      id: `${runs}-${index}`,
      at,
      // A path always has the same weight.
      lost: lost.map((loss) => ({
        ...loss,
        weight: loss.path === 'body.a' ? 'money' : 'other',
        table: 't',
        why: 'because',
      })),
      unknown: unknown.map((name) => ({ what: 'field', name })),
      differences: signatures.map((signature) => ({
        signature,
        operation: 'qr.put_order',
        what: 'value',
        path: 'a',
        legacy: String(index),
        orders: '2',
      })),
      shadow:
        shadow === null
          ? null
          : { ...shadow, status: null, error: null, detail: null, order: null, fired: [], losses: [], took_ms: 1 },
      kind: one.operation === null ? null : 'qr',
      stage: 'shadow',
      legacy_id: null,
      status: 200,
      error: null,
      duration_ms: 1,
      tables_revision: 'r',
      upstream: [],
      fired: [],
      losses: [],
      limitations: [],
      messages: null,
      compared: false,
    };
  });
}

/** All runs share the store, so every run has its own merchants. */
function ownMerchants(exchanges: RecordedExchange[]): RecordedExchange[] {
  return exchanges.map((one) => ({ ...one, merchant_id: `${runs}${one.merchant_id ?? 0}` }));
}

test('whatever is recorded, both answer the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(recorded, { minLength: 1, maxLength: 30 }), async (drawn) => {
      const exchanges = ownMerchants(exchangesOf(drawn));
      const book = createBook();
      for (const one of exchanges) book.record(one);
      // In batches, as the recorder writes them.
      for (let from = 0; from < exchanges.length; from += 7)
        await store.exchanges.recordExchanges(exchanges.slice(from, from + 7));
      const merchants = [...new Set(exchanges.map(({ merchant_id }) => String(merchant_id)))].sort();
      expect(book.merchantIds()).toEqual(merchants);
      for (const id of merchants) {
        const of = { merchant_id: id };
        expect(await book.evidence.traffic(of)).toEqual(await store.evidence.traffic(of));
        // Verdicts on completion, for which the last legacy call is kept, are not made of a file.
        const units = (await store.evidence.units(id)).map((one) => ({
          ...one,
          legacy_at: null,
          legacy_operation: null,
        }));
        expect(await book.evidence.units(id)).toEqual(units);
        expect(await book.evidence.ledger(id)).toEqual(await store.evidence.ledger(id));
        expect(await book.evidence.coverage(id)).toEqual(await store.evidence.coverage(id));
        expect(await book.evidence.differences(of, START)).toEqual(await store.evidence.differences(of, START));
        expect(await book.evidence.unknowns(id)).toEqual(await store.evidence.unknowns(id));
        expect(await book.evidence.verdicts(id)).toEqual(await store.evidence.verdicts(id));
        const last_at = Math.max(...exchanges.filter(({ merchant_id }) => merchant_id === id).map(({ at }) => at));
        const [newest] = await book.exchanges.exchanges({ ...of, since: last_at }, 0, 1);
        const [stored] = await store.exchanges.exchanges({ ...of, since: last_at }, 0, 1);
        expect({ ...newest, sequence: 0 }).toEqual({ ...stored, sequence: 0 });
      }
    }),
    { numRuns: 40 },
  );
});

test('a period of days is half open, and exchanges are paged by the cursor', async () => {
  const book = createBook();
  const days = [0, 1, 2].map(
    (day) => ({ ...exchangesOf([drawnOnce()])[0], id: `day-${day}`, at: day * 86_400_000 }) as RecordedExchange,
  );
  for (const one of days) book.record(one);
  expect((await book.evidence.traffic({ since_day: 1, until_day: 2 })).map(({ day }) => day)).toEqual([1]);
  expect((await book.exchanges.exchanges({}, 0, 2)).map(({ id }) => id)).toEqual(['day-0', 'day-1']);
  expect((await book.exchanges.exchanges({}, 2, 2)).map(({ id }) => id)).toEqual(['day-2']);
  expect(await book.evidence.differences({ states: ['accepted'] }, 0)).toEqual([]);
});

function drawnOnce(): Drawn {
  return {
    merchant_id: '1',
    operation: 'qr.put_order',
    lane: 'legacy',
    outcome: 'ok',
    unit: null,
    pause_ms: 1,
    unknown: [],
    lost: [],
    cells: [],
    signatures: [],
    shadow: null,
  };
}
