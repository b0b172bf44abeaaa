/** A look at a ramp of many merchants: a person's pause comes between two of them, and a conflict of one ends no other's look. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { changeRamp } from '../../../src/ops/moves/ramp.ts';
import { stepRamp } from '../../../src/ops/moves/ramp-steps.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { createProcessMemory } from '../../../src/proxy/process-memory.ts';
import type { BulkMove } from '../../../src/proxy/records/routing.ts';
import { merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { BEN } from '../../kit.ts';
import { auditOf, NOON, newMerchant } from '../../store/contract/harness.ts';
import { newBulk } from '../../store/contract/moves.ts';
import { type Folder, newFolder, openStore } from '../../store/sqlite/kit.ts';

const MERCHANTS = ['700100200', '700100300', '700100400'];
const HOUR_MS = 3_600_000;
const ID = 'a-ramp';

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
  for (const id of MERCHANTS) await store.merchants.saveMerchant(newMerchant({ id, settings }), 0, auditOf('made'));
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
  const rules = {
    merchants: { stage: 'legacy' },
    safety: { fault_share: 10, slow_ms: 6000 },
    moves: { min_sample: 3 },
  };
  const memory = createProcessMemory({ now: clock.now });
  return { store: { ...store, merchants }, log, clock, memory, settings: rules } as unknown as Ports; // a step that soaks reads no more
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

it('makes no step of a ramp that another process has paused', async () => {
  const row = await stored();
  const items = row.items.map((item) => ({ ...item, ...(item.ramp && { ramp: { ...item.ramp, step: 1 } }) }));
  await store.moves.saveBulkMove({ ...row, items, state: 'paused' }, 1, null);
  await stepRamp(portsOf(), ID);
  expect(read).toEqual([]);
});
