/** A look at a ramp of many merchants: a person's pause comes between two of them, and a conflict of one ends no other's look. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { loadTables } from '../../../src/mapping/load.ts';
import { changeRamp, type Ramp, type RampItem, viewRamp } from '../../../src/ops/moves/ramp.ts';
import { readEvidence } from '../../../src/ops/moves/ramp-evidence.ts';
import { stepRamp } from '../../../src/ops/moves/ramp-steps.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { createProcessMemory } from '../../../src/proxy/process-memory.ts';
import type { RecordedExchange } from '../../../src/proxy/records/evidence.ts';
import type { BulkItem, BulkMove } from '../../../src/proxy/records/routing.ts';
import { merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { BEN } from '../../kit.ts';
import { HOUSE } from '../../run-cli.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import { auditOf, NOON, newLink, newMerchant } from '../../store/contract/harness.ts';
import { newBulk } from '../../store/contract/moves.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';

const MERCHANTS = ['700100200', '700100300', '700100400'];
const HOUR_MS = 3_600_000;
const ID = 'a-ramp';

const tables = loadTables(join(HOUSE, 'mappings'));
const env = {
  PUENTE_UPSTREAM: 'sandbox',
  PUENTE_SAFETY_FAULT_SHARE: '10',
  PUENTE_SAFETY_SLOW_MS: '6000',
  PUENTE_MOVES_MIN_SAMPLE: '3',
};
const settings = loadConfig({ env, cwd: HOUSE });

let store: Store;
let read: string[];
/** Called when a look reads a merchant. */
let onRead: (id: string) => Promise<void>;

beforeEach(async () => {
  store = await openOwnStore({ now: () => NOON });
  [read, onRead] = [[], async () => undefined];
  const settings = merchantSettings.parse({ stage: 'canary', share: 5 });
  for (const id of MERCHANTS)
    await store.merchants.saveMerchant(newMerchant({ id, settings, sealed_notice_url: null }), 0, auditOf('made'));
  const from = { stage: 'shadow', share: 0, units_in: [] } as const;
  const line = (await store.audit.auditsOf({}, 1))[0]?.sequence ?? 0;
  const items = MERCHANTS.map((merchant_id) => ({
    ...{ merchant_id, state: 'waiting' as const, detail: '', at: null, line },
    ramp: { step: 0, start: -1, since: NOON, from, legacy_p95_ms: 700 },
  }));
  const ramp = { steps: [5, 100], soak_ms: HOUR_MS, min_sales: 3, approved_by: null };
  await store.moves.saveBulkMove(newBulk(ID, { items, ramp }), null, null);
});
afterEach(() => store.close());

function portsOf(): Ports {
  const merchants: Store['merchants'] = {
    ...store.merchants,
    merchant: async (id) => {
      read.push(id);
      await onRead(id);
      return store.merchants.merchant(id);
    },
  };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const clock = { now: () => NOON, sleep: async () => undefined };
  const memory = createProcessMemory({ now: clock.now });
  return { store: { ...store, merchants }, log, clock, memory, settings, tables } as unknown as Ports; // a step reads no more
}

const stored = async (): Promise<BulkMove> => (await store.moves.bulkMove(ID)) ?? newBulk('none');
const held = async (): Promise<boolean[]> => (await stored()).items.map(({ detail }) => detail.includes('ramp.soaks'));

it('lets a pause through between two merchants', async () => {
  const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  onRead = async (id) => {
    if (id !== MERCHANTS[0]) return;
    asked.resolve();
    await release.promise;
  };
  const ports = portsOf();
  const look = stepRamp(ports, ID);
  await asked.promise;
  const paused = changeRamp(ports, ID, 'pause', 'a holiday', BEN);
  release.resolve();
  expect(await paused).toMatchObject({ state: 'paused' });
  await look;
  expect(read).not.toContain(MERCHANTS[2]);
  expect((await stored()).state).toBe('paused');
});

it('goes on with the others when one was changed meanwhile', async () => {
  onRead = async (id) => {
    // Another process writes the row between this one's read and its write.
    if (id !== MERCHANTS[0] || read.length > 1) return;
    const row = await stored();
    await store.moves.saveBulkMove(row, row, null);
  };
  await stepRamp(portsOf(), ID);
  expect([read, await held()]).toEqual([MERCHANTS, [false, true, true]]);
  await stepRamp(portsOf(), ID);
  expect(await held()).toEqual([true, true, true]);
});

const reset = async (id: string) => {
  const { revision } = (await store.merchants.merchant(id)) ?? { revision: 0 };
  await store.merchants.saveTrips(id, { intents: null }, revision, { ...auditOf('safety reset'), subject: id });
};
const trip = async (id: string, at: number) => {
  const { revision } = (await store.merchants.merchant(id)) ?? { revision: 0 };
  const evidence = { calls: 9, faults: 9, slow: 0, window_ms: 60_000, sample: null };
  const line = { ...auditOf('safety stop', { kind: 'intents' }), at, subject: id, reason: 'Nine of nine.' };
  await store.merchants.saveTrips(id, { intents: { at, why: 'Nine of nine.', evidence } }, revision, line);
};
const places = async (): Promise<unknown[]> => (await stored()).items.map(({ ramp }) => ramp?.step);
const stages = () => Promise.all(MERCHANTS.map(async (id) => (await store.merchants.merchant(id))?.settings.stage));

describe('of two merchants that trip together', () => {
  const [first = '', second = '', third = ''] = MERCHANTS;

  it('both step back before the ramp pauses, and once', async () => {
    for (const id of [first, third]) await trip(id, NOON + 1);
    const ports = portsOf();
    await stepRamp(ports, ID);
    expect([await places(), await stages(), (await stored()).state]).toEqual([
      [-1, 0, -1],
      ['shadow', 'canary', 'shadow'],
      'paused',
    ]);
    const lines = await store.audit.auditsOf({}, 3);
    expect(lines.map(({ action, subject }) => [action, subject])).toEqual([
      ['ramp paused', ID],
      ['stage', third],
      ['stage', first],
    ]);
    expect((await stored()).detail).toContain(first);
  });

  it('one whose stop was reset before the look steps back when the ramp is resumed, and goes on from there', async () => {
    const ports = portsOf();
    await changeRamp(ports, ID, 'pause', 'a holiday', BEN);
    await trip(second, NOON + 1);
    await expect(changeRamp(ports, ID, 'resume', 'back', BEN)).rejects.toMatchObject({ code: 'refused' });
    await reset(second);
    await changeRamp(ports, ID, 'resume', 'back', BEN);
    await stepRamp(ports, ID);
    expect([await places(), await stages(), (await stored()).state]).toEqual([
      [0, -1, 0],
      ['canary', 'shadow', 'canary'],
      'running',
    ]);
  });
});

/** Puts the merchants on the second step of three. @param change of their items. */
async function onSecondStep(change: (item: BulkItem) => BulkItem = (item) => item): Promise<void> {
  const before = await stored();
  const { ramp, items, ...row } = before;
  if (ramp === null) throw new Error('it is no ramp');
  const higher = items.map((item) => change({ ...item, ...(item.ramp && { ramp: { ...item.ramp, step: 1 } }) }));
  await store.moves.saveBulkMove({ ...row, items: higher, ramp: { ...ramp, steps: [1, 5, 100] } }, before, null);
}
const rollBack = async (id: string, at: number) => {
  const merchant = await store.merchants.merchant(id);
  if (merchant === null) throw new Error('there is no merchant');
  const line = { ...auditOf('rollback'), at, subject: id };
  await store.merchants.saveMerchant(merchant, merchant.revision, line);
};
const itemStates = async (): Promise<unknown[]> => (await stored()).items.map(({ state }) => state);

describe('a ramp after the clock was set back [F47]', () => {
  const [first = '', second = '', third = ''] = MERCHANTS;

  it('a merchant steps back once for each stop since its step began, however that is dated', async () => {
    await onSecondStep();
    await trip(first, NOON - HOUR_MS);
    await trip(third, NOON + HOUR_MS);
    for (const id of [first, third]) await reset(id);
    const ports = portsOf();
    for (const _look of [1, 2]) {
      await stepRamp(ports, ID);
      expect([await places(), (await stored()).state]).toEqual([[0, 1, 0], 'running']);
    }
  });

  it('a rollback since its step began takes it out, however that is dated', async () => {
    await rollBack(second, NOON - HOUR_MS);
    const out = ['waiting', 'skipped', 'waiting'];
    expect((await viewRamp(portsOf(), ID)).merchants.map(({ state }) => state)).toEqual(out);
    await stepRamp(portsOf(), ID);
    expect(await itemStates()).toEqual(out);
  });

  it('an earlier stop or rollback changes nothing, however that is dated', async () => {
    await trip(first, NOON + HOUR_MS);
    await reset(first);
    await rollBack(second, NOON + HOUR_MS);
    const line = (await store.audit.auditsOf({}, 1))[0]?.sequence ?? 0;
    await onSecondStep((item) => ({ ...item, line }));
    expect((await viewRamp(portsOf(), ID)).merchants.map(({ state }) => state)).toEqual(Array(3).fill('waiting'));
    await stepRamp(portsOf(), ID);
    expect([await places(), await itemStates()]).toEqual([[1, 1, 1], Array(3).fill('waiting')]);
  });

  it('a step that began later than it says is watched from now on', async () => {
    await onSecondStep((item) => ({ ...item, ...(item.ramp && { ramp: { ...item.ramp, since: NOON + 1 } }) }));
    await stepRamp(portsOf(), ID);
    expect((await stored()).items.map(({ ramp }) => ramp?.since)).toEqual(Array(3).fill(NOON));
    await stepRamp(portsOf(), ID);
    expect(await held()).toEqual([true, true, true]);
  });
});

it('a ramp counts no sale that was made before the clock was set back [F47]', async () => {
  const [merchant_id = ''] = MERCHANTS;
  for (const created_at of [NOON, NOON + HOUR_MS]) {
    const unit = `till ${created_at}`;
    const reference_sent = `sale${created_at}`;
    const one = newLink({ merchant_id, unit, slot: `point:${unit}`, reference_sent, created_at, next_check_at: null });
    const { link } = await store.links.openLink(one, () => ({ kind: 'open' }));
    await store.links.saveLink(link, { state: 'DONE', order: { id: `ORD${created_at}`, status: 'processed' } });
  }
  const ports = { ...portsOf(), clock: { now: () => NOON + 1, sleep: async () => undefined } };
  const [item, merchant] = [(await stored()).items[0], await store.merchants.merchant(merchant_id)];
  if (item?.ramp === undefined || merchant === null) throw new Error('it is no ramp');
  const place: RampItem = { ...item, ramp: item.ramp };
  expect(await readEvidence(ports, (await stored()) as Ramp, place, merchant, 'sales')).toEqual({ sales: 1 });
});

it('goes by the time of stops and rollbacks in a ramp that an older version began', async () => {
  const [first = '', second = ''] = MERCHANTS;
  await trip(first, NOON + 1);
  await reset(first);
  await rollBack(second, NOON - HOUR_MS);
  await onSecondStep(({ line: _line, ...item }) => item);
  await stepRamp(portsOf(), ID);
  expect([await places(), await itemStates()]).toEqual([[0, 1, 1], Array(3).fill('waiting')]);
});

describe('a process that ends between a step back and the pause leaves both to the next one', () => {
  const [first = ''] = MERCHANTS;
  const ends = new Error('the process ended');

  it.each(['the step back', 'the pause'])('%s was its last write, or was to be the next', async (what) => {
    await trip(first, NOON + 1);
    const dying = portsOf();
    const { merchants } = dying.store;
    const store: Store = withMethods(dying.store, {
      saveMerchant: async (...asked) => {
        const saved = await merchants.saveMerchant(...asked);
        if (what === 'the step back') throw ends;
        return saved;
      },
      saveBulkMove: async () => {
        throw ends;
      },
    });
    await expect(stepRamp({ ...dying, store }, ID)).rejects.toBe(ends);
    const stepped = [
      [-1, 0, 0],
      ['shadow', 'canary', 'canary'],
    ];
    expect([await places(), await stages(), (await stored()).state]).toEqual([...stepped, 'running']);
    await stepRamp(portsOf(), ID);
    expect([await places(), await stages(), (await stored()).state]).toEqual([...stepped, 'paused']);
    expect((await store.audit.auditsOf({}, 9)).slice(0, 3)).toMatchObject([
      { action: 'ramp paused', subject: ID },
      { action: 'stage', subject: first },
      { action: 'safety stop', subject: first },
    ]);
  });

  it('makes no step of a ramp that is paused while its merchant is judged', async () => {
    await trip(first, NOON + 1);
    const ports = portsOf();
    const { merchants } = ports.store;
    const store: Store = withMethods(ports.store, {
      saveMerchant: async (...asked) => {
        await changeRamp(portsOf(), ID, 'pause', 'by another process', BEN);
        return merchants.saveMerchant(...asked);
      },
    });
    await stepRamp({ ...ports, store }, ID);
    expect([await stages(), (await stored()).state]).toEqual([['canary', 'canary', 'canary'], 'paused']);
  });
});

describe('the calls of a step', () => {
  const [merchant_id = ''] = MERCHANTS;
  /** Rows that were read. */
  let rows: number;
  const readCalls = async (ports: Ports) => {
    const [item] = (await stored()).items;
    if (item?.ramp === undefined) throw new Error('it is no ramp');
    const place: RampItem = { ...item, ramp: { ...item.ramp, legacy_p95_ms: null } };
    const merchant = await store.merchants.merchant(merchant_id);
    if (merchant === null) throw new Error('there is no merchant');
    return (await readEvidence(ports, (await stored()) as Ramp, place, merchant, 'calls')).calls;
  };
  const called = (change: Partial<RecordedExchange>, times = 1) =>
    store.exchanges.recordExchanges(
      Array.from({ length: times }, () =>
        newExchange({ merchant_id, operation: 'point.create_intent', lane: 'orders', at: NOON + 1, ...change }),
      ),
    );
  const counting = (now: number): Ports => {
    const ports = portsOf();
    const calls: Store['exchanges']['calls'] = async (...asked) => {
      const found = await store.exchanges.calls(...asked);
      if (asked[2] > 1) rows += found.length; // one by itself shows whether the last one is still there
      return found;
    };
    const clock = { ...ports.clock, now: () => now };
    return { ...ports, clock, store: { ...ports.store, exchanges: { ...store.exchanges, calls } } };
  };
  beforeEach(() => {
    rows = 0;
  });

  it('each is read once, however often the step is looked at', async () => {
    await called({}, 2_100);
    await called({ outcome: 'fault', duration_ms: 70.5 }, 3);
    const ports = counting(NOON + HOUR_MS);
    const looked = { calls: 2_103, faults: 3, orders_creates: 2_100, orders_p95_ms: 13 };
    expect(await Promise.all([readCalls(ports), readCalls(ports)])).toMatchObject([looked, looked]);
    expect(rows).toBe(2_103);
    await called({ duration_ms: 400 }, 200);
    expect(await readCalls(ports)).toMatchObject({
      ...looked,
      calls: 2_303,
      orders_creates: 2_300,
      orders_p95_ms: 400,
    });
    expect(rows).toBe(2_303);
  });

  it('those of the last seconds wait: another process may still write earlier ones', async () => {
    await called({});
    expect([await readCalls(counting(NOON + 4_000)), await readCalls(counting(NOON + 6_000))]).toMatchObject([
      { calls: 0 },
      { calls: 1 },
    ]);
  });

  it('that were recorded before the clock was set back are ignored, and hold up no later ones [F47]', async () => {
    await called({ at: NOON + 24 * HOUR_MS, outcome: 'fault' });
    await called({});
    expect(await readCalls(counting(NOON + 6_000))).toMatchObject({ calls: 1, faults: 0 });
  });

  it('legacy is measured once an hour, by the newest days that have enough', async () => {
    const day = 24 * HOUR_MS;
    await called({ lane: 'legacy', at: NOON - 9 * day, duration_ms: 900 }, 50);
    await called({ lane: 'legacy', at: NOON - 2 * day, duration_ms: 300 }, 2);
    await called({ lane: 'legacy', at: NOON - 3 * day, duration_ms: 200 }, 1);
    const ports = counting(NOON + HOUR_MS);
    const measured = { legacy_creates: 3, legacy_p95_ms: 300 };
    for (let nth = 0; nth < 3; nth++) expect(await readCalls(ports)).toMatchObject(measured);
    expect(rows).toBe(3);
  });
});

it('makes no step of a ramp that another process has paused', async () => {
  const row = await stored();
  const items = row.items.map((item) => ({ ...item, ...(item.ramp && { ramp: { ...item.ramp, step: 1 } }) }));
  await store.moves.saveBulkMove({ ...row, items, state: 'paused' }, row, null);
  await stepRamp(portsOf(), ID);
  expect(read).toEqual([]);
});
