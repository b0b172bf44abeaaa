/** The next step of a bulk move: the budget by UTC day, the first safety stop, the end. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { encoded, say } from '../../../src/locales/message.ts';
import { loadTables } from '../../../src/mapping/load.ts';
import { startBulkMoves, viewBulk } from '../../../src/ops/moves/bulk.ts';
import { nextStep, spentToday, summary, withItemState } from '../../../src/ops/moves/bulk-decision.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import type { Loop } from '../../../src/proxy/loop.ts';
import { createProcessMemory } from '../../../src/proxy/process-memory.ts';
import type { BulkItem, BulkMove } from '../../../src/proxy/records/routing.ts';
import { merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { eventually } from '../../kit.ts';
import { HOUSE } from '../../run-cli.ts';
import { auditOf, newMerchant } from '../../store/contract/harness.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';
import { NOW } from './situations.ts';

const item = (merchant_id: string, state: BulkItem['state'] = 'waiting', at: number | null = null): BulkItem => ({
  merchant_id,
  state,
  detail: '',
  at,
});

function bulkWith(items: BulkItem[], per_day = 2): BulkMove {
  return {
    id: 'a-bulk-move',
    move: { stage: 'shadow' },
    reason: 'wave 3',
    who: 'ben',
    per_day,
    items,
    ramp: null,
    state: 'running',
    detail: '',
    created_at: NOW - 3_600_000,
    updated_at: NOW,
    revision: 1,
  };
}

const tripAt = (at: number) => ({
  at,
  why: 'too many faults',
  evidence: { calls: 20, faults: 9, slow: 0, window_ms: 1, sample: null },
});

describe('the next step', () => {
  it('is the first merchant that waits, while the day has room', () => {
    const bulk = bulkWith([item('1', 'moved', NOW - 1000), item('2', 'refused', NOW), item('3'), item('4')]);
    expect(nextStep(bulk, [], NOW)).toEqual({ kind: 'move', item: item('3') });
  });

  it('is to wait for the next UTC day when the budget is spent, and to go on then', () => {
    const bulk = bulkWith([item('1', 'moved', NOW), item('2', 'proposed', NOW), item('3')]);
    const midnight = Date.UTC(2026, 10, 19);
    expect(nextStep(bulk, [], NOW)).toMatchObject({ kind: 'wait', until: midnight });
    expect(nextStep(bulk, [], midnight - 1)).toMatchObject({ kind: 'wait' });
    expect(nextStep(bulk, [], midnight)).toMatchObject({ kind: 'move', item: { merchant_id: '3' } });
  });

  it('what was refused, or there already, costs nothing of the day', () => {
    expect(spentToday(bulkWith([item('1', 'refused', NOW), item('2', 'skipped', NOW)]), NOW)).toBe(0);
  });

  it('is to stop at the first safety stop since the start', () => {
    const bulk = bulkWith([item('700100300', 'moved', NOW), item('700100400')]);
    const step = nextStep(bulk, [{ merchant_id: '700100300', trip: tripAt(NOW) }], NOW);
    expect(step).toMatchObject({ kind: 'stop', why: expect.stringContaining('700100300') });
  });

  it('takes those that go back to legacy there first, whatever stop there is: it may be why', () => {
    const own = { stage: 'legacy' };
    const bulk = bulkWith([item('700100300', 'moved', NOW), item('700100400'), { ...item('700100500'), own }]);
    const stops = [{ merchant_id: '700100300', trip: tripAt(NOW) }];
    expect(nextStep(bulk, stops, NOW)).toMatchObject({ kind: 'move', item: { merchant_id: '700100500' } });
    const back = { ...bulk, move: { stage: 'legacy' }, items: bulk.items.slice(0, 2) };
    expect(nextStep(back, stops, NOW)).toMatchObject({ kind: 'move', item: { merchant_id: '700100400' } });
    expect(nextStep({ ...back, items: back.items.slice(0, 1) }, stops, NOW)).toMatchObject({ kind: 'done' });
  });

  it('is one that has not failed, and under a stop nobody but those that go back', () => {
    const own = { stage: 'legacy' };
    const bulk = bulkWith([{ ...item('1'), own }, item('2'), { ...item('3'), own }]);
    const stops = [{ merchant_id: '1', trip: tripAt(NOW) }];
    const next = (failed: string[], since: typeof stops) => nextStep(bulk, since, NOW, new Set(failed));
    expect(next(['1'], stops)).toMatchObject({ item: { merchant_id: '3' } });
    expect(next(['1', '3'], [])).toMatchObject({ item: { merchant_id: '2' } });
    expect(next(['1', '3'], stops)).toMatchObject({ item: { merchant_id: '1' } });
    expect(next(['1', '2', '3'], [])).toMatchObject({ item: { merchant_id: '1' } });
  });

  it('is by the budget of those that do not go back, where a list has both', () => {
    const own = { stage: 'legacy' };
    const moved = [item('1', 'moved', NOW), item('2', 'moved', NOW), { ...item('3', 'moved', NOW), own }];
    const back = nextStep(bulkWith([...moved, item('4'), { ...item('5'), own }]), [], NOW);
    expect(back).toMatchObject({ kind: 'move', item: { merchant_id: '5' } });
    expect(nextStep(bulkWith([...moved, item('4')]), [], NOW)).toMatchObject({ kind: 'wait' });
    expect(nextStep(bulkWith([...moved.slice(1), item('4')]), [], NOW)).toMatchObject({ kind: 'move' });
    const all = { ...bulkWith([...moved, item('4')]), move: { stage: 'legacy' } };
    expect(nextStep(all, [], NOW)).toMatchObject({ kind: 'wait' });
  });

  it('is the end when nobody waits', () => {
    expect(nextStep(bulkWith([item('1', 'skipped', NOW)]), [], NOW)).toEqual({
      kind: 'done',
      why: encoded(say('bulk.summary', { moved: 0, proposed: 0, refused: 0, skipped: 1, waiting: 0 })),
    });
  });
});

it('is shown in pages of its merchants', async () => {
  const store = await openOwnStore();
  await store.moves.saveBulkMove(bulkWith([item('1', 'refused'), item('2'), item('3')]), null, null);
  const pages: unknown[] = [];
  for (let skip: number | null = 0; skip !== null; ) {
    const page = await viewBulk({ store } as Ports, 'a-bulk-move', { skip, limit: 2 }); // it needs no more
    pages.push(page.items.map(({ merchant_id }) => merchant_id));
    expect(page.summary).toBe('0 moved, 0 proposed, 1 refused, 0 skipped, 2 waiting');
    skip = page.next;
  }
  expect(pages).toEqual([['1', '2'], ['3']]);
  await store.close();
});

it('settles one merchant, and sums up', () => {
  const after = withItemState(bulkWith([item('1'), item('2')]), item('1'), 'moved', 'legacy to shadow', NOW);
  expect(after.items).toEqual([{ merchant_id: '1', state: 'moved', detail: 'legacy to shadow', at: NOW }, item('2')]);
  expect(summary(after).text).toBe('1 moved, 0 proposed, 0 refused, 0 skipped, 1 waiting');
});

it('does not keep others from their step when one fails', async () => {
  const store = await openOwnStore();
  for (const id of ['fails', 'waits'])
    await store.moves.saveBulkMove(
      { ...bulkWith([]), id, ramp: { steps: [100], soak_ms: 1, min_sales: 0, approved_by: null } },
      null,
      null,
    );
  const log = createLog('error', { write: () => undefined });
  const ports = { store, log, clock: { now: () => NOW } } as unknown as Ports; // the loop itself needs no more
  const looked = new Set<string>();
  const loop = startBulkMoves(ports, async (_ports, id) => {
    looked.add(id);
    if (id === 'fails') throw new Error('the store does not answer');
    return 1000;
  });
  await eventually(
    async () => looked,
    (all) => all.has('waits'),
  );
  await loop.stop();
  await store.close();
});

describe('after the clock was set back [F47]', () => {
  const HOUR_MS = 3_600_000;
  const [first, second] = ['700100300', '700100400'];
  const tables = loadTables(join(HOUSE, 'mappings'));
  const settings = loadConfig({ env: { PUENTE_UPSTREAM: 'sandbox' }, cwd: HOUSE });
  let store: Store;
  /** Wall clock, epoch ms. */
  let now: number;

  beforeEach(async () => {
    now = NOW;
    store = await openOwnStore({ now: () => now });
    const legacy = { sealed_notice_url: null, settings: merchantSettings.parse({ stage: 'legacy' }) };
    for (const id of [first, second])
      await store.merchants.saveMerchant(newMerchant({ id, ...legacy }), 0, auditOf('made'));
  });
  afterEach(() => store.close());

  const begin = (bulk: BulkMove) =>
    store.moves.saveBulkMove(bulk, null, { ...auditOf('bulk move started'), subject: bulk.id });
  const trip = (at: number) => {
    const line = { ...auditOf('safety stop', { kind: 'intents' }), at, subject: first };
    return store.merchants.saveTrips(first, { intents: tripAt(at) }, 1, line);
  };
  function startLoop(stepRamp = async (): Promise<number | null> => null): Loop {
    const clock = { now: () => now, monotonic: () => performance.now(), sleep: async () => undefined };
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const memory = createProcessMemory({ now: clock.now });
    const ports = { store, log, clock, memory, settings, tables } as unknown as Ports; // a step reads no more
    return startBulkMoves(ports, stepRamp);
  }
  async function untilIt(holds: (bulk: BulkMove) => boolean): Promise<BulkMove | null> {
    const loop = startLoop();
    const found = await eventually(
      () => store.moves.bulkMove('a-bulk-move'),
      (bulk) => bulk !== null && holds(bulk),
    );
    await loop.stop();
    return found;
  }

  it('a stop since the start ends the bulk move, however that is dated', async () => {
    await begin(bulkWith([item(first, 'moved', NOW), item(second)]));
    await trip(NOW - 24 * HOUR_MS);
    expect((await untilIt(({ state }) => state !== 'running'))?.state).toBe('stopped');
  });

  it('the next step comes after its rest', async () => {
    const ramp = { steps: [100], soak_ms: 1, min_sales: 0, approved_by: null };
    await begin({ ...bulkWith([]), ramp });
    let looks = 0;
    const loop = startLoop(async () => {
      looks++;
      return 1;
    });
    await eventually(
      async () => {
        if (looks === 1) now = NOW - 24 * HOUR_MS;
        loop.wake();
        return looks;
      },
      (seen) => seen > 1,
    );
    await loop.stop();
  });

  it('an older stop is its own merchant\u2019s affair, however that is dated', async () => {
    await trip(NOW + HOUR_MS);
    await begin(bulkWith([item(first), item(second)], 0));
    expect(await untilIt(({ detail }) => detail !== '')).toMatchObject({
      state: 'running',
      detail: expect.stringContaining('bulk.waits'),
    });
  });

  it('a merchant that was rolled back since the start stays, however that is dated', async () => {
    await begin(bulkWith([item(first)]));
    const merchant = await store.merchants.merchant(first);
    if (merchant === null) throw new Error('there is no merchant');
    const line = { ...auditOf('rollback'), at: NOW - 24 * HOUR_MS, subject: first };
    await store.merchants.saveMerchant(merchant, 1, line);
    expect((await untilIt(({ state }) => state === 'done'))?.items[0]).toMatchObject({
      state: 'skipped',
      detail: expect.stringContaining('bulk.rolled_back'),
    });
  });
});
