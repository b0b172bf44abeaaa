/** A look at a ramp of many merchants: a person's pause comes between two of them, and a conflict of one ends no other's look. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { loadTables } from '../../../src/mapping/load.ts';
import { changeRamp } from '../../../src/ops/moves/ramp.ts';
import { stepRamp } from '../../../src/ops/moves/ramp-steps.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { createProcessMemory } from '../../../src/proxy/process-memory.ts';
import type { BulkMove } from '../../../src/proxy/records/routing.ts';
import { merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { BEN } from '../../kit.ts';
import { HOUSE } from '../../run-cli.ts';
import { auditOf, NOON, newMerchant } from '../../store/contract/harness.ts';
import { newBulk } from '../../store/contract/moves.ts';
import { type Folder, newFolder, openStore } from '../../store/sqlite/kit.ts';

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

let folder: Folder;
let store: Store;
let read: string[];
/** Called when a look reads a merchant. */
let onRead: (id: string) => Promise<void>;

beforeEach(async () => {
  folder = newFolder();
  store = await openStore(folder.file('puente.db'), { now: () => NOON });
  [read, onRead] = [[], async () => undefined];
  const settings = merchantSettings.parse({ stage: 'canary', share: 5 });
  for (const id of MERCHANTS)
    await store.merchants.saveMerchant(newMerchant({ id, settings, sealed_notice_url: null }), 0, auditOf('made'));
  const from = { stage: 'shadow', share: 0, units_in: [] } as const;
  const items = MERCHANTS.map((merchant_id) => ({
    ...{ merchant_id, state: 'waiting' as const, detail: '', at: null },
    ramp: { step: 0, start: -1, since: NOON, from, legacy_p95_ms: 700 },
  }));
  const ramp = { steps: [5, 100], soak_ms: HOUR_MS, min_sales: 3, approved_by: null };
  await store.moves.saveBulkMove(newBulk(ID, { items, ramp }), 0, null);
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

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
    if (id === MERCHANTS[0] && read.length === 1) await store.moves.saveBulkMove(await stored(), 1, null);
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

it('makes no step of a ramp that another process has paused', async () => {
  const row = await stored();
  const items = row.items.map((item) => ({ ...item, ...(item.ramp && { ramp: { ...item.ramp, step: 1 } }) }));
  await store.moves.saveBulkMove({ ...row, items, state: 'paused' }, 1, null);
  await stepRamp(portsOf(), ID);
  expect(read).toEqual([]);
});
