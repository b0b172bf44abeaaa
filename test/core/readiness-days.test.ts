/** Readiness day by day on a real store: each merchant judged once a day, and the days that are told. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepReadiness, readinessDays, readinessSince } from '../../src/core/evidence/readiness-days.ts';
import type { Runtime } from '../../src/core/runtime.ts';
import type { Store } from '../../src/core/store.ts';
import { startJudging } from '../../src/outbound/judging.ts';
import { eventually } from '../kit.ts';
import { DAY_MS, type Harness, MERCHANT, NOON, OTHER_MERCHANT } from '../store/contract/harness.ts';
import { openHarness } from '../store/sqlite/kit.ts';
import { laneRuntime, setMerchant } from './lane-runtime.ts';

const silent = { send: async () => ({ kind: 'not_sent' as const, cause: 'nobody is there' }) };
const DAY = Math.floor(NOON / DAY_MS);
const nobody = { ready: 0, blocked: 0, inconclusive: 0 };

describe('the verdict of a day', () => {
  let harness: Harness;
  let now: number;
  const runtimeOn = (store: Store): Runtime => {
    const clock = { now: () => now, sleep: async () => undefined };
    return laneRuntime({ store, upstream: silent, legacy_upstream: silent, clock });
  };
  beforeEach(async () => {
    now = NOON;
    harness = await openHarness();
    for (const merchant of [MERCHANT, OTHER_MERCHANT])
      await setMerchant(harness.store, merchant, { declined: 'finished' });
  });
  afterEach(() => harness.dispose());

  it('is made once for each merchant, anew on the next day, and not when it is told to end', async () => {
    const runtime = runtimeOn(harness.store);
    expect(await readinessSince(runtime)).toBeNull();
    let turns = 0;
    expect(await keepReadiness(runtime, () => turns++ < 1)).toBe(1);
    expect(await keepReadiness(runtime, () => true)).toBe(1);
    expect(await keepReadiness(runtime, () => true)).toBe(0);
    now += DAY_MS;
    expect(await keepReadiness(runtime, () => true)).toBe(2);
    expect(await readinessSince(runtime)).toBe(new Date(NOON).toISOString().slice(0, 10));
  });

  it('of a merchant that can’t be judged is left for the next time, and keeps no other from its own', async () => {
    const { store } = harness;
    const broken: Store = {
      ...store,
      coverage: (id) => (id === MERCHANT ? Promise.reject(new Error('a page is broken')) : store.coverage(id)),
    };
    expect(await keepReadiness(runtimeOn(broken), () => true)).toBe(1);
    expect(await store.judgedOn(DAY)).toEqual([OTHER_MERCHANT]);
    expect(await keepReadiness(runtimeOn(store), () => true)).toBe(1);
  });

  it('is told for the days of a period: as it was kept, else as decided, and today as it is', async () => {
    const { store } = harness;
    const runtime = runtimeOn(store);
    await store.keepReadiness([
      { merchant_id: MERCHANT, day: DAY - 1, verdict: 'blocked' },
      { merchant_id: OTHER_MERCHANT, day: DAY - 1, verdict: 'ready' },
      { merchant_id: MERCHANT, day: DAY, verdict: 'blocked' },
    ]);
    const on = (days_ago: number) => new Date(NOON - days_ago * DAY_MS).toISOString().slice(0, 10);
    const decided = [2, 1].map((days_ago) => ({ day: on(days_ago), ready: 0, inconclusive: 1, blocked: 0 }));
    const period = { merchant_id: null, since: NOON - 3 * DAY_MS, until: NOON + 1 };
    expect(await readinessDays(runtime, period, decided, { ...nobody, ready: 2 })).toEqual([
      { day: on(2), ready: 0, inconclusive: 1, blocked: 0 },
      { day: on(1), ready: 1, inconclusive: 0, blocked: 1 },
      { day: on(0), ready: 2, inconclusive: 0, blocked: 0 },
    ]);
    const own = { ...period, merchant_id: OTHER_MERCHANT };
    expect(await readinessDays(runtime, own, [], nobody)).toEqual([{ day: on(1), ...nobody, ready: 1 }]);
    for (const [since, until] of [
      [NOON - 2 * DAY_MS, NOON - DAY_MS],
      [NOON + DAY_MS, NOON + 2 * DAY_MS],
    ] as const) {
      const told = await readinessDays(runtime, { merchant_id: null, since, until }, [], { ...nobody, ready: 2 });
      expect(told.map(({ day }) => day)).not.toContain(on(0));
    }
  });

  it('is looked for by itself, and a look that fails comes again', async () => {
    const { store } = harness;
    let failures = 1;
    const flaky: Store = {
      ...store,
      judgedOn: (day) => (failures-- > 0 ? Promise.reject(new Error('the server is away')) : store.judgedOn(day)),
    };
    const judging = startJudging(runtimeOn(flaky), 5);
    await eventually(
      () => store.judgedOn(DAY),
      (judged) => judged.length === 2,
    );
    await judging.stop();
    expect(failures).toBeLessThan(0);
  });
});
