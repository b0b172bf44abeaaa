/** Caches of the fleet board between two requests, on a real store: incidents, verdicts, and the pulse of calls. */
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createIncidents, createJudgements, type Judgements } from '../../../src/ops/fleet/fleet.ts';
import type { Store } from '../../../src/ops/ports.ts';
import { eventually } from '../../kit.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { auditOf, MERCHANT, NOON, newMerchant } from '../../store/contract/harness.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';

let store: Store;
beforeEach(async () => {
  store = await openOwnStore();
});
afterEach(() => store.close());

describe('verdicts', () => {
  const STEP_MS = 5_000;
  const ids = Array.from({ length: 20 }, (_, nth) => String(700_000 + nth));

  it('are made no more when nobody looks at the board, and again at the next look', async () => {
    let now = NOON;
    const sleep = async (): Promise<void> => {
      now += STEP_MS;
      await setImmediate();
    };
    const ports = portsAt(store, () => now, { clock: { now: () => now, sleep } });
    const [watched, left] = [createJudgements(ports), createJudgements(ports)];
    const judgedBy = (one: Judgements): number => ids.filter((id) => one.of(id) !== null).length;
    left.keepFresh([], ids);
    await eventually(
      async () => watched.keepFresh([], ids),
      () => judgedBy(watched) === ids.length,
    );
    expect(judgedBy(left)).toBeGreaterThan(0);
    expect(judgedBy(left)).toBeLessThan(ids.length - 5);
    await eventually(
      async () => left.keepFresh([], ids),
      () => judgedBy(left) === ids.length,
    );
  });
});

describe('the mismatches of all', () => {
  const ids = Array.from({ length: 20 }, (_, nth) => String(700_000 + nth));

  /** Polls until all merchants are judged. @param refuse number of mismatch reads that the store refuses first. */
  async function look(sleep_ms: number, refuse = 0): Promise<{ reads: number; judgements: Judgements }> {
    let now = NOON;
    let reads = 0;
    const counting: Store = withMethods(store, {
      auditsAfter: async (sequence, limit) => {
        // One line by itself shows whether the last one is still there.
        if (limit > 1 && ++reads <= refuse) throw new Error('refused by a test');
        return store.audit.auditsAfter(sequence, limit);
      },
    });
    const sleep = async (): Promise<void> => {
      now += sleep_ms;
      await setImmediate();
    };
    const ports = portsAt(counting, () => now, { clock: { now: () => now, sleep } });
    const judgements = createJudgements(ports);
    judgements.keepFresh([], ids);
    await eventually(
      async () => reads,
      () => judgements.of(ids[19] ?? '') !== null,
    );
    return { reads, judgements };
  }

  it('are read once for many who are judged, and again after five seconds', async () => {
    expect((await look(10)).reads).toBe(1);
    expect((await look(1_000)).reads).toBe(4);
  });

  it('are read again by the next one where they could not be read', async () => {
    const { reads, judgements } = await look(10, 2);
    expect(reads).toBe(3);
    expect(ids.map((id) => judgements.of(id) !== null)).toEqual(ids.map((_, nth) => nth > 1));
  });
});

describe('the last incident', () => {
  const stop = { ...auditOf('safety stop'), who: 'puente' };

  it('of a merchant that is erased is remembered no more, nor shown when somebody comes back under its id', async () => {
    const incidents = createIncidents(store);
    await store.merchants.saveMerchant(newMerchant(), 0, stop);
    await incidents.update(NOON);
    expect(incidents.of(MERCHANT)).toMatchObject({ what: 'safety stop' });
    await store.upkeep.eraseMerchant(MERCHANT, () => auditOf('erase'));
    await incidents.update(NOON);
    expect(incidents.of(MERCHANT)).toBeNull();
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('merchant settings'));
    const afterwards = createIncidents(store);
    for (const one of [incidents, afterwards]) {
      await one.update(NOON);
      expect(one.of(MERCHANT)).toBeNull();
    }
  });
});
