/** A list of brown-outs counts the calls and units that each refused, on a real store; what age has deleted is not counted as none. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { scheduleBrownout, viewBrownouts, viewRefused } from '../../../src/ops/moves/brownouts.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import { DAY_MS, type Harness, MERCHANT, MINUTE_MS, NOON, OTHER_MERCHANT } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

const FIRST = NOON - 3 * DAY_MS;
const SECOND = NOON - DAY_MS;
const signal = new AbortController().signal;
let harness: Harness;
let ports: Ports;

const windowAt = (id: string, from: number, aborted_at: number | null = null) => {
  return { id, from, until: from + 10 * MINUTE_MS, reason: 'drill', aborted_at };
};
const refused = (at: number, change = {}) =>
  newExchange({ at, operation: 'point.create_intent', status: 503, outcome: 'business', ...change });
const counts = async (): Promise<unknown[]> =>
  (await viewBrownouts(ports, undefined, signal)).map((one) => [one.id, one.calls_refused, one.units_refused]);

beforeEach(async () => {
  harness = await openHarness();
  ports = portsAt(harness.store, () => NOON);
  const aborted = windowAt('second', SECOND, SECOND + 5 * MINUTE_MS);
  const brownouts = [windowAt('first', FIRST), aborted];
  await setMerchant(harness.store, MERCHANT, { brownouts });
  await setMerchant(harness.store, OTHER_MERCHANT, { brownouts: [aborted, windowAt('to come', NOON + DAY_MS)] });
  await harness.store.exchanges.recordExchanges([
    refused(FIRST),
    refused(FIRST + 1, { unit: null, operation: 'point.list_devices' }),
    newExchange({ at: FIRST + 2 }),
    refused(SECOND - 1),
    refused(SECOND),
    refused(SECOND + 1, { operation: 'point.change_mode' }),
    refused(SECOND + 2, { merchant_id: OTHER_MERCHANT }),
    refused(SECOND + 3, { merchant_id: OTHER_MERCHANT, unit: 'qr:SUC001POS001', operation: 'qr.put_order' }),
    refused(SECOND + 4, { outcome: 'fault' }),
    refused(SECOND + 5, { status: 409 }),
    refused(SECOND + 6, { lane: 'orders' }),
    refused(SECOND + 7, { merchant_id: '700100999' }),
    refused(SECOND + 5 * MINUTE_MS),
  ]);
});
afterEach(() => harness.dispose());

it('each line has the calls and units that it refused until it ended, of all its merchants; its page has the same', async () => {
  expect(await counts()).toEqual([
    ['to come', 0, 0],
    ['second', 4, 3],
    ['first', 2, 1],
  ]);
  const { refused: rows, ...window } = await viewRefused(ports, 'second', signal);
  expect(window).toMatchObject({ calls_refused: 4, units_refused: 3 });
  expect(rows.reduce((sum, { calls }) => sum + calls, 0)).toBe(4);
});

it('is refused beside a hundred that have not ended, none of which makes room; the one that ended first does', async () => {
  const nights = (count: number, from: number) =>
    Array.from({ length: count }, (_, nth) => windowAt(`night ${nth}`, from + nth * DAY_MS));
  const ask = { merchants: [MERCHANT], from: NOON + 200 * DAY_MS, until: NOON + 200 * DAY_MS + 1, reason: 'one more' };
  const schedule = () => scheduleBrownout(ports, { ...ask, new: false }, 'eva');
  const ids = async () => (await harness.store.merchants.merchant(MERCHANT))?.settings.brownouts.map(({ id }) => id);
  const all = nights(100, NOON + DAY_MS);
  await setMerchant(harness.store, MERCHANT, { brownouts: all });
  await expect(schedule()).rejects.toMatchObject({ code: 'refused', said: [{ code: 'refusal.brownouts_many' }] });
  expect(await ids()).toEqual(all.map(({ id }) => id));
  // Aborted before its time: it has ended, too.
  const last = { ...windowAt('aborted', NOON + 150 * DAY_MS), aborted_at: NOON - DAY_MS };
  await setMerchant(harness.store, MERCHANT, { brownouts: [...all.slice(1), last] });
  const { id } = await schedule();
  expect((await ids())?.toSorted()).toEqual([...all.slice(1).map((one) => one.id), id].toSorted());
});

it('is refused before any of its merchants is written where a later one has a hundred', async () => {
  const hundred = Array.from({ length: 100 }, (_, nth) => windowAt(`night ${nth}`, NOON + (nth + 1) * DAY_MS));
  await setMerchant(harness.store, OTHER_MERCHANT, { brownouts: hundred });
  const before = await harness.store.merchants.merchants();
  const from = NOON + 200 * DAY_MS;
  const ask = { merchants: [MERCHANT, OTHER_MERCHANT], from, until: from + 1, reason: 'one more', new: false };
  await expect(scheduleBrownout(ports, ask, 'eva')).rejects.toMatchObject({
    message: expect.stringMatching(
      /^Merchant 700100300 has 100 brown-outs .* `puente brownout abort <id> --reason …` \(`puente brownout list` shows them\)/,
    ),
  });
  expect(await harness.store.merchants.merchants()).toEqual(before);
});

it('after age has deleted every call, an old window has no count', async () => {
  await harness.store.exchanges.tidyExchanges(NOON, 0, 100);
  ports = { ...ports, settings: { ...ports.settings, evidence: { kept_ms: NOON - SECOND } } };
  expect(await counts()).toEqual([
    ['to come', 0, 0],
    ['second', 0, 0],
    ['first', null, null],
  ]);
});

it('more units than are listed are counted, each call of them', async () => {
  const calls = Array.from({ length: 5_002 }, (_, nth) => refused(FIRST + 3 + nth, { unit: `point:T${nth}` }));
  await harness.store.exchanges.recordExchanges(calls);
  const { refused: rows, ...window } = await viewRefused(ports, 'first', signal);
  expect(window).toMatchObject({ calls_refused: 5_004, units_refused: 5_003, left_out: 4 });
  expect(rows).toHaveLength(5_000);
});

it('a till that names a new unit in each call takes no more memory than 50,000 rows; each call is counted', async () => {
  const calls = Array.from({ length: 50_010 }, (_, nth) => refused(FIRST + 3 + nth, { unit: `point:T${nth}` }));
  await harness.store.exchanges.recordExchanges(calls);
  const window = await viewRefused(ports, 'first', signal);
  // Two rows were there before; one of them has no unit.
  expect(window).toMatchObject({
    calls_refused: 50_012,
    units_refused: 49_999,
    has_more_units: true,
    left_out: 45_012,
  });
  const [, , line] = await viewBrownouts(ports, undefined, signal);
  expect(line).toMatchObject({ id: 'first', units_refused: 49_999, has_more_units: true });
});

it('such a till leaves the other merchants of its window their rows, in memory and in the list', async () => {
  const calls = Array.from({ length: 50_010 }, (_, nth) => refused(SECOND + 10 + nth, { unit: `point:T${nth}` }));
  const others = Array.from({ length: 1_000 }, (_, nth) =>
    refused(SECOND + 100_000 + nth, { merchant_id: OTHER_MERCHANT, unit: `point:O${nth}` }),
  );
  await harness.store.exchanges.recordExchanges([...calls, ...others]);
  const { refused: rows, ...window } = await viewRefused(ports, 'second', signal);
  expect(window).toMatchObject({ calls_refused: 51_014, units_refused: 26_001, has_more_units: true });
  expect(rows).toHaveLength(5_000);
  // Two of its units were refused before.
  expect(rows.filter(({ merchant }) => merchant === OTHER_MERCHANT)).toHaveLength(1_002);
});

it('a window of many merchants is counted in one pass, without the calls of others', async () => {
  const ids = Array.from({ length: 30 }, (_, nth) => String(700_300_000 + nth));
  const from = NOON - 2 * DAY_MS;
  for (const id of ids) await setMerchant(harness.store, id, { brownouts: [windowAt('many', from)] });
  await harness.store.exchanges.recordExchanges(
    [...ids, MERCHANT].map((merchant_id, nth) => refused(from + nth, { merchant_id })),
  );
  const { store } = ports;
  const exchanges = vi.spyOn(store.exchanges, 'exchanges');
  expect(await viewRefused(ports, 'many', signal)).toMatchObject({ calls_refused: 30, units_refused: 30 });
  // One page of calls, and the oldest call.
  expect(exchanges).toHaveBeenCalledTimes(2);
});

it('a window of which calls have been deleted has no count, and no line says none', async () => {
  await harness.store.exchanges.tidyExchanges(FIRST + 1, 0, 100);
  expect(await counts()).toEqual([
    ['to come', 0, 0],
    ['second', 4, 3],
    ['first', null, null],
  ]);
});
