/** Readiness by day on a real store: each merchant is judged once a day, and reports list the days. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { keepReadiness, readinessDays, readinessSince, startJudging } from '../../../src/ops/readiness/days.ts';
import { eventually } from '../../kit.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { auditOf, DAY_MS, type Harness, MERCHANT, NOON, OTHER_MERCHANT } from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';

const DAY = Math.floor(NOON / DAY_MS);
const nobody = { ready: 0, blocked: 0, inconclusive: 0 };

describe('the verdict of a day', () => {
  let harness: Harness;
  let now: number;
  const runtimeOn = (store: Store): Ports => {
    return portsAt(store, () => now);
  };
  const processOn = (store: Store, boot: string): Ports => {
    const ports = runtimeOn(store);
    ports.memory.ids.boot = boot;
    return ports;
  };
  beforeEach(async () => {
    now = NOON;
    harness = await openHarness();
    for (const merchant of [MERCHANT, OTHER_MERCHANT])
      await setMerchant(harness.store, merchant, { declined: 'finished' });
  });
  afterEach(() => harness.dispose());

  it('is made once for each merchant, anew on the next day, and not when it is told to end', async () => {
    const ports = runtimeOn(harness.store);
    expect(await readinessSince(ports)).toBeNull();
    let turns = 0;
    expect(await keepReadiness(ports, () => turns++ < 1)).toBe(1);
    expect(await keepReadiness(ports, () => true)).toBe(1);
    expect(await keepReadiness(ports, () => true)).toBe(0);
    now += DAY_MS;
    expect(await keepReadiness(ports, () => true)).toBe(2);
    expect(await readinessSince(ports)).toBe(new Date(NOON).toISOString().slice(0, 10));
  });

  it('of a merchant that can’t be judged is left for the next time, and keeps no other from its own', async () => {
    const { store } = harness;
    const broken: Store = withMethods(store, {
      coverage: (id) => (id === MERCHANT ? Promise.reject(new Error('a page is broken')) : store.evidence.coverage(id)),
    });
    expect(await keepReadiness(runtimeOn(broken), () => true)).toBe(1);
    expect(await store.evidence.judgedOn(DAY)).toEqual([OTHER_MERCHANT]);
    expect(await keepReadiness(runtimeOn(store), () => true)).toBe(1);
  });

  it('is told for the days of a period: of all as it was kept, else as decided', async () => {
    const { store } = harness;
    const ports = runtimeOn(store);
    await store.evidence.keepReadiness([
      { merchant_id: MERCHANT, day: DAY - 1, verdict: 'blocked' },
      { merchant_id: OTHER_MERCHANT, day: DAY - 1, verdict: 'ready' },
    ]);
    const on = (days_ago: number) => new Date(NOON - days_ago * DAY_MS).toISOString().slice(0, 10);
    const decided = [2, 1].map((days_ago) => ({ day: on(days_ago), ready: 0, inconclusive: 1, blocked: 0 }));
    const period = { merchant_id: null, since: NOON - 3 * DAY_MS, until: NOON + 1 };
    expect(await readinessDays(ports, period, decided, null)).toEqual([
      { day: on(2), ready: 0, inconclusive: 1, blocked: 0 },
      { day: on(1), ready: 1, inconclusive: 0, blocked: 1 },
    ]);
    await store.evidence.keepReadiness([{ merchant_id: MERCHANT, day: DAY, verdict: 'blocked' }]);
    expect((await readinessDays(ports, period, decided, null)).at(-1)).toEqual({ day: on(0), ...nobody, blocked: 1 });
    const own = { ...period, merchant_id: OTHER_MERCHANT };
    expect(await readinessDays(ports, own, [], null)).toEqual([{ day: on(1), ...nobody, ready: 1 }]);
    for (const [since, until] of [
      [NOON - 2 * DAY_MS, NOON - DAY_MS],
      [NOON + DAY_MS, NOON + 2 * DAY_MS],
    ] as const) {
      const told = await readinessDays(ports, { merchant_id: MERCHANT, since, until }, [], { ...nobody, ready: 1 });
      expect(told.map(({ day }) => day)).not.toContain(on(0));
    }
  });

  it('of one merchant is the newest that is known: of now, else of its last decision, else as the day began', async () => {
    const { store } = harness;
    for (const day of [DAY - 2, DAY - 1, DAY])
      await store.evidence.keepReadiness([{ merchant_id: MERCHANT, day, verdict: 'inconclusive' }]);
    const on = (days_ago: number) => new Date(NOON - days_ago * DAY_MS).toISOString().slice(0, 10);
    const period = { merchant_id: MERCHANT, since: NOON - 3 * DAY_MS, until: NOON + 1 };
    const decided = [{ day: on(1), ...nobody, ready: 1 }];
    expect(await readinessDays(runtimeOn(store), period, decided, { ...nobody, blocked: 1 })).toEqual([
      { day: on(2), ...nobody, inconclusive: 1 },
      { day: on(1), ...nobody, ready: 1 },
      { day: on(0), ...nobody, blocked: 1 },
    ]);
  });

  it('is not kept of a merchant that is erased while the others are judged', async () => {
    const { store } = harness;
    const ports = runtimeOn(store);
    const erasing = {
      ...ports,
      clock: {
        ...ports.clock,
        // Erases the merchants while the others are still to be judged.
        sleep: async () => {
          for (const id of [MERCHANT, OTHER_MERCHANT])
            if (!(await store.evidence.judgedOn(DAY)).includes(id))
              await store.upkeep.eraseMerchant(id, () => auditOf('erase'));
        },
      },
    };
    await keepReadiness(erasing, () => true);
    expect(await store.evidence.judgedOn(DAY)).toHaveLength(1);
  });

  it('is made by one of several processes', async () => {
    const { store } = harness;
    for (let nth = 0; nth < 60; nth++) await setMerchant(store, String(9000 + nth), { declined: 'finished' });
    const processes = ['first', 'second'].map((boot_id) => processOn(store, boot_id));
    const counts = await Promise.all(processes.map((ports) => keepReadiness(ports, () => true)));
    expect(await store.evidence.judgedOn(DAY)).toHaveLength(62);
    // Where the two processes meet, each may judge a few merchants that the other has just judged.
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThan(2 * 62);
    expect(await keepReadiness(processOn(store, 'third'), () => true)).toBe(0);
  });

  it('is looked for by no second look while one is under way, and by none once it is told to end', async () => {
    const { store } = harness;
    const waiting = Promise.withResolvers<void>();
    let looks = 0;
    const slow: Store = withMethods(store, {
      judgedOn: async (day) => {
        looks++;
        await waiting.promise;
        return store.evidence.judgedOn(day);
      },
    });
    const judging = startJudging(runtimeOn(slow), 5);
    await eventually(
      async () => looks,
      (count) => count === 1,
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    const stopped = judging.stop();
    waiting.resolve();
    await stopped;
    expect(looks).toBe(1);
    expect(await store.evidence.judgedOn(DAY)).toEqual([]);
  });

  it('is looked for by itself, and a look that fails comes again', async () => {
    const { store } = harness;
    let failures = 1;
    const flaky: Store = withMethods(store, {
      judgedOn: (day) =>
        failures-- > 0 ? Promise.reject(new Error('the server is away')) : store.evidence.judgedOn(day),
    });
    const judging = startJudging(runtimeOn(flaky), 5);
    await eventually(
      () => store.evidence.judgedOn(DAY),
      (judged) => judged.length === 2,
    );
    await judging.stop();
    expect(failures).toBeLessThan(0);
  });
});
