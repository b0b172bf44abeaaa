/** Two processes on one store, whose operators decide the same in one moment: each is told what became of it, and nothing is made twice or by halves. */
import { createSecretKey } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestOf } from '../../../src/ops/audit.ts';
import { HOUR_MS } from '../../../src/ops/fields.ts';
import { abortBrownout, scheduleBrownout, viewBrownouts } from '../../../src/ops/moves/brownouts.ts';
import { abortBulk, bulkAsk, startBulk, startBulkMoves, viewBulk } from '../../../src/ops/moves/bulk.ts';
import { moveStage, rollBack } from '../../../src/ops/moves/move.ts';
import { approveMove, declineMove, propose, viewProposals } from '../../../src/ops/moves/proposals.ts';
import { changeRamp, rampAsk, startRamp, viewRamps } from '../../../src/ops/moves/ramp.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { merchantSettings, type Stage } from '../../../src/proxy/routing/merchant.ts';
import type { StoreMethods } from '../../../src/store/engine.ts';
import { usualKeeping } from '../../engines/keeping.ts';
import { BEN, EVA, eventually } from '../../kit.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { auditOf, NOON, newMerchant } from '../../store/contract/harness.ts';
import { newBulk } from '../../store/contract/moves.ts';
import { newFolder } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';

const MERCHANTS = ['700100200', '700100300', '700100400'] as const;
const [first] = MERCHANTS;
const TO_SHADOW = { stage: 'shadow', override: false } as const;
const page = { skip: 0, limit: 500 };
const signal = new AbortController().signal;
const because = { reason: 'tills stand still', new: false };

const keeping = usualKeeping();
const key = createSecretKey(Buffer.alloc(32, 7));
/** That of the other process; a file has one process, and so one store. */
let store: Store;
let of_first: Store;
let folder: ReturnType<typeof newFolder>;
/** What the other process does before one write or read of the first one; once. */
let meanwhile: Partial<Record<keyof StoreMethods, () => Promise<unknown>>>;

beforeEach(async () => {
  meanwhile = {};
  folder = newFolder();
  const data_dir = folder.file('');
  const on_server = Object.keys(await keeping.settings(data_dir)).length > 0;
  await keeping.make(data_dir, NOON);
  store = await keeping.open(data_dir, key);
  of_first = on_server ? await keeping.open(data_dir, key) : store;
  for (const id of MERCHANTS) await put(id, 'legacy');
});
afterEach(async () => {
  await Promise.all([...new Set([store, of_first])].map((one) => one.close()));
  await keeping.drop(folder.file(''));
  folder.remove();
});

async function put(id: string, stage: Stage): Promise<void> {
  const settings = merchantSettings.parse({ stage });
  const revision = (await store.merchants.merchant(id))?.revision ?? 0;
  const merchant = newMerchant({ id, settings, sealed_notice_url: null, sealed_notice_secret: null });
  await store.merchants.saveMerchant(merchant, revision, { ...auditOf('made'), subject: id });
}

/** A process; `meanwhile` happens in the middle of its work alone. */
function first_process(settings: Partial<Ports['settings']['moves']> = {}): Ports {
  const { merchants, moves } = of_first;
  const before = async (name: keyof typeof meanwhile): Promise<void> => {
    const act = meanwhile[name];
    delete meanwhile[name];
    await act?.();
  };
  const interrupted = withMethods(of_first, {
    merchant: async (id) => before('merchant').then(() => merchants.merchant(id)),
    saveMerchant: async (...of) => before('saveMerchant').then(() => merchants.saveMerchant(...of)),
    saveProposal: async (...of) => before('saveProposal').then(() => moves.saveProposal(...of)),
    saveBulkMove: async (...of) => before('saveBulkMove').then(() => moves.saveBulkMove(...of)),
  });
  return other_process(settings, interrupted);
}

function other_process(settings: Partial<Ports['settings']['moves']> = {}, of = store): Ports {
  const ports = portsAt(of, () => NOON);
  return { ...ports, settings: { ...ports.settings, moves: { ...ports.settings.moves, ...settings } } };
}

const stageOf = async (id: string = first) => (await store.merchants.merchant(id))?.settings.stage;
const newest = () => newestOf({ store }, first);
const decisions = async (subject: string = first) =>
  (await store.audit.auditsOf({ subject }, 9)).map(({ action }) => action).filter((action) => action !== 'made');

describe('an approval', () => {
  const approved = (ports: Ports, id: string) => approveMove(ports, id, 'agreed', EVA);
  const TO_CANARY: Parameters<typeof propose>[2] = { stage: 'canary', share: 5, override: true };
  const proposed = async (target: typeof TO_CANARY = TO_SHADOW) =>
    propose(other_process(), first, target, 'first look', BEN, await newest());

  it('of a move that is declined meanwhile moves nothing, and says so', async () => {
    const { id } = await proposed();
    meanwhile.saveMerchant = () => declineMove(other_process(), id, 'not before the holidays', EVA);
    await expect(approved(first_process(), id)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('declined'),
    });
    expect([await stageOf(), await decisions()]).toEqual(['legacy', ['move declined', 'move proposed']]);
    expect(await viewProposals(other_process(), {})).toMatchObject([{ id, state: 'declined' }]);
  });

  it.each(['merchant', 'saveMerchant'] as const)('is undone by no later one of a rollback (before %s)', async (at) => {
    await put(first, 'shadow');
    const { id } = await proposed(TO_CANARY);
    meanwhile[at] = () => rollBack(other_process(), first, because, BEN);
    await expect(approved(first_process(), id)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('withdrawn'),
    });
    expect([await stageOf(), await decisions()]).toEqual(['legacy', ['move withdrawn', 'rollback', 'move proposed']]);
  });

  it('that comes with a rollback withdraws the move in its process, and the rollback is answered as made', async () => {
    await put(first, 'shadow');
    const { id } = await proposed(TO_CANARY);
    meanwhile.saveProposal = () => approved(other_process(), id).catch(() => undefined);
    expect(await rollBack(first_process(), first, because, BEN)).toMatchObject({ result: 'rolled_back' });
    expect(await viewProposals(other_process(), {})).toMatchObject([{ state: 'withdrawn' }]);
  });
});

describe('a move that needs a second person', () => {
  const SECOND = { second_approver: true };
  const canary = { stage: 'canary', share: 5, override: true, reason: 'week 1', new: false } as const;
  const moved = (ports: Ports, revision: number) => moveStage(ports, first, { ...canary, revision }, EVA);

  it('is not proposed when its merchant is rolled back in the moment in which it is written', async () => {
    await put(first, 'shadow');
    meanwhile.saveProposal = () => rollBack(other_process(), first, because, BEN);
    await expect(moved(first_process(SECOND), 2)).rejects.toMatchObject({ code: 'conflict' });
    expect([await viewProposals(other_process(), {}), await decisions()]).toEqual([[], ['rollback']]);
  });

  it('is judged again, and proposed, when something else is noted of its merchant in that moment', async () => {
    await put(first, 'shadow');
    meanwhile.saveProposal = () =>
      store.audit.appendAudit({ ...auditOf('notice tested'), subject: first }).then(() => undefined);
    expect(await moved(first_process(SECOND), 2)).toMatchObject({ result: 'proposed' });
    expect(await viewProposals(other_process(), {})).toHaveLength(1);
  });

  it('waits once, whichever of two processes proposes it first', async () => {
    await put(first, 'shadow');
    meanwhile.saveProposal = () => moved(other_process(SECOND), 2);
    await expect(moved(first_process(SECOND), 2)).rejects.toMatchObject({
      code: 'refused',
      said: [{ code: 'refusal.proposed', facts: { name: EVA.name } }],
    });
    const both = await Promise.allSettled(MERCHANTS.slice(1).flatMap((id) => twice(id)));
    const outcomes = (of: typeof both) => of.map(({ status }) => status).toSorted();
    expect([outcomes(both.slice(0, 2)), outcomes(both.slice(2))]).toEqual([
      ['fulfilled', 'rejected'],
      ['fulfilled', 'rejected'],
    ]);
    expect(await viewProposals(other_process(), {})).toHaveLength(3);
  });

  function twice(id: string): Promise<unknown>[] {
    const proposed = (ports: Ports) => moveStage(ports, id, { ...canary, revision: 1 }, EVA);
    return [proposed(first_process(SECOND)), proposed(other_process(SECOND))];
  }
});

describe('a ramp', () => {
  const ask = (merchants: readonly string[]) =>
    rampAsk.parse({ merchants, steps: [5, 100], soak_ms: HOUR_MS, min_sales: 0, reason: 'week 1' });

  it('is started once for a merchant, whichever of two processes is first', async () => {
    for (const id of MERCHANTS) await put(id, 'shadow');
    const [one, two, three] = MERCHANTS.map((id) => ask([id]));
    if (one === undefined || two === undefined || three === undefined) throw new Error('three merchants are needed');
    const ids: string[] = [];
    const started = async (ports: Ports, of: typeof one) => void ids.push((await startRamp(ports, of, EVA)).id);
    meanwhile.saveBulkMove = () => started(other_process(), one);
    await started(first_process(), two);
    meanwhile.saveBulkMove = () => started(other_process(), three);
    const refused = await started(first_process(), three).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'refused',
      said: [{ code: 'refusal.ramp_twice', facts: { merchant: MERCHANTS[2], id: ids[2] } }],
    });
    const open = await viewRamps(other_process(), { open: 'true', limit: 9 });
    expect(open.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });

  it('that others come before again and again is told so, and not of an id that is nowhere', async () => {
    const [before] = [newBulk('before', { ramp: { steps: [5], soak_ms: 1, min_sales: 1, approved_by: null } })];
    await store.moves.saveBulkMove(before, null, null, '');
    await expect(store.moves.saveBulkMove({ ...before, id: 'after' }, null, null, '')).rejects.toMatchObject({
      said: [{ code: 'refusal.ramps_meanwhile' }],
    });
  });
});

describe('a bulk move', () => {
  const started = (ports: Ports) =>
    startBulk(ports, { target: TO_SHADOW, merchants: [...MERCHANTS], reason: 'wave 1', new: false }, BEN);
  const states = async (id: string) => (await viewBulk(other_process(), id, page)).items.map(({ state }) => state);

  /** Runs the loop of a process until the bulk move has ended. */
  async function run(ports: Ports, id: string): Promise<void> {
    const loop = startBulkMoves(ports, async () => null);
    await eventually(
      () => viewBulk(other_process(), id, page),
      ({ state }) => state !== 'running',
    );
    await loop.stop();
  }

  it('that is aborted at the commit of a step has moved no merchant that it says it skipped', async () => {
    const { id } = await started(other_process());
    meanwhile.saveMerchant = () => abortBulk(other_process(), id, 'a till was updated', BEN);
    await run(first_process(), id);
    expect(await states(id)).toEqual(['skipped', 'skipped', 'skipped']);
    expect(await Promise.all(MERCHANTS.map(stageOf))).toEqual(['legacy', 'legacy', 'legacy']);
  });

  it('of which two processes make each step is as if one had', async () => {
    const { id } = await started(other_process());
    meanwhile.saveMerchant = () => run(other_process(), id);
    await run(first_process(), id);
    const { items } = await viewBulk(other_process(), id, page);
    expect(items.map(({ state, detail }) => [state, detail])).toEqual(
      MERCHANTS.map(() => ['moved', 'devices: legacy to shadow, intents: legacy to shadow, QR: legacy to shadow']),
    );
    expect(await Promise.all(MERCHANTS.map(decisions))).toEqual(MERCHANTS.map(() => ['stage']));
  });

  it('is read once a step, and once when it is first seen', async () => {
    let reads = 0;
    const { bulkMove, bulkMoves } = store.moves;
    const read = <Found>(found: Promise<Found>): Promise<Found> => {
      reads++;
      return found;
    };
    const counted = withMethods(store, {
      bulkMove: (id) => read(bulkMove(id)),
      bulkMoves: (...of) => read(bulkMoves(...of)),
    });
    const { id } = await started(other_process());
    await run(other_process({}, counted), id);
    expect([reads, await states(id)]).toEqual([5, ['moved', 'moved', 'moved']]);
    const back = { stage: 'legacy', override: false } as const;
    const returned = await startBulk(
      other_process(),
      { target: back, merchants: [...MERCHANTS], reason: 'odd', new: false },
      BEN,
    );
    reads = 0;
    await run(other_process({}, counted), returned.id);
    expect([reads, await states(returned.id)]).toEqual([5, ['moved', 'moved', 'moved']]);
  });

  it('of which another process makes every step logs no fault of it', async () => {
    const { id } = await started(other_process());
    let lost = 0;
    const loses = withMethods(of_first, {
      async saveMerchant(...of) {
        const bulk = await store.moves.bulkMove(id);
        if (bulk !== null) await store.moves.saveBulkMove({ ...bulk, detail: `step ${++lost}` }, bulk, null);
        return of_first.merchants.saveMerchant(...of);
      },
    });
    const ports = other_process({}, loses);
    const faults: string[] = [];
    const log = {
      ...ports.log,
      warn: (message: string) => faults.push(message),
      error: (message: string) => faults.push(message),
    };
    const loop = startBulkMoves({ ...ports, log }, async () => null);
    await eventually(
      async () => lost,
      (times) => times === 10,
    );
    await loop.stop();
    expect([faults, lost, await states(id)]).toEqual([[], 10, ['waiting', 'waiting', 'waiting']]);
  });

  it('that only proposes refuses no merchant that another process has just proposed', async () => {
    const second = { second_approver: true };
    const { id } = await started(other_process(second));
    meanwhile.saveProposal = () => run(other_process(second), id);
    await run(first_process(second), id);
    expect(await states(id)).toEqual(['proposed', 'proposed', 'proposed']);
    expect(await viewProposals(other_process(), { state: 'waiting' })).toHaveLength(3);
  });

  it('proposes no move of a merchant that is rolled back in that moment', async () => {
    const second = { second_approver: true };
    await put(first, 'shadow');
    const target = { stage: 'canary', share: 5, override: true } as const;
    const ask = { target, merchants: [...MERCHANTS], reason: 'wave 2', new: false };
    const { id } = await startBulk(other_process(second), ask, EVA);
    meanwhile.saveProposal = () => rollBack(other_process(), first, because, BEN);
    await run(first_process(second), id);
    expect(await states(id)).toEqual(['skipped', 'proposed', 'proposed']);
    const waits = await viewProposals(other_process(), { state: 'waiting' });
    expect(waits.map(({ merchant_id }) => merchant_id).toSorted()).toEqual(MERCHANTS.slice(1));
  });

  it('to legacy takes all of a fleet there today, whatever the usual budget is, unless it was given one', async () => {
    for (const id of MERCHANTS) await put(id, 'orders');
    const ports = other_process({ bulk_per_day: 1 });
    const target = { stage: 'legacy', override: false } as const;
    const back = { target, merchants: [...MERCHANTS], reason: 'orders fails', new: false };
    expect((await startBulk(ports, { ...back, per_day: 2 }, BEN)).per_day).toBe(2);
    const { id, per_day } = await startBulk(ports, back, BEN);
    await run(ports, id);
    expect([per_day, await Promise.all(MERCHANTS.map(stageOf))]).toEqual([3, ['legacy', 'legacy', 'legacy']]);
    const items = MERCHANTS.map((merchant_id, nth) => ({
      merchant_id,
      ...(nth === 0 ? { stage: 'shadow' as const } : {}),
    }));
    const mixed = await startBulk(ports, { target, items, reason: 'wave 2', new: false }, BEN);
    expect(mixed.per_day).toBe(1);
  });

  const TO_LEGACY = { stage: 'legacy', override: false } as const;
  const fails = async () => Promise.reject(new Error('the disk has a bad sector'));

  it('to legacy is a rollback of each: it needs no evidence, and nothing moves a merchant on afterwards', async () => {
    const older = await started(other_process());
    for (const id of MERCHANTS.slice(0, 2)) {
      const kinds = { devices: { stage: 'orders', share: 0 } };
      const settings = merchantSettings.parse({ stage: 'canary', share: 5, units_in: ['qr:A'], kinds });
      const merchant = newMerchant({ id, settings, sealed_notice_url: null, sealed_notice_secret: null });
      await store.merchants.saveMerchant(merchant, 1, { ...auditOf('made'), subject: id });
    }
    await propose(other_process(), first, { stage: 'orders', override: true }, 'week 2', BEN, await newest());
    const back = { target: TO_LEGACY, merchants: [...MERCHANTS], reason: 'orders fails', new: false };
    const { id } = await startBulk(other_process(), back, BEN);
    await run(other_process({}, withMethods(store, { traffic: fails, merchants: fails })), id);
    expect(await viewBulk(other_process(), id, page)).toMatchObject({ state: 'done' });
    expect(await states(id)).toEqual(['moved', 'moved', 'skipped']);
    const settings = { stage: 'legacy', share: 0, units_in: [], kinds: {} };
    for (const one of MERCHANTS) {
      expect((await store.merchants.merchant(one))?.settings).toMatchObject(settings);
      const [line] = await store.audit.auditsOf({ subject: one, action: 'rollback' }, 1);
      expect(line).toMatchObject({ who: BEN.name, reason: 'orders fails', detail: { bulk: id, left: [older.id] } });
    }
    expect(await viewProposals(other_process(), {})).toMatchObject([{ state: 'withdrawn' }]);
    await run(other_process(), older.id);
    expect(await states(older.id)).toEqual(['skipped', 'skipped', 'skipped']);
    expect(await Promise.all(MERCHANTS.map(stageOf))).toEqual(['legacy', 'legacy', 'legacy']);
  });

  it('to legacy writes nothing of a merchant that is there and waits for no other move', async () => {
    const back = { target: TO_LEGACY, merchants: [first], reason: 'orders fails', new: false };
    const { id } = await startBulk(other_process(), back, BEN);
    await run(other_process(), id);
    expect([await states(id), await decisions()]).toEqual([['skipped'], []]);
  });

  it('to legacy goes before an older one that takes merchants forward', async () => {
    await put(first, 'orders');
    const forward = { target: TO_SHADOW, merchants: MERCHANTS.slice(1), reason: 'wave 1', new: false };
    const { id } = await startBulk(other_process(), forward, BEN);
    await startBulk(other_process(), { ...forward, target: TO_LEGACY, merchants: [first] }, BEN);
    await run(other_process(), id);
    const lines = (await store.audit.auditsOf({}, 20)).filter(({ action }) => ['rollback', 'stage'].includes(action));
    expect(lines.map(({ action }) => action)).toEqual(['stage', 'stage', 'rollback']);
  });

  it('moves the others when one cannot be judged, which waits', async () => {
    const { id } = await started(other_process());
    const traffic: Store['evidence']['traffic'] = async (of) =>
      of.merchant_id === first ? fails() : store.evidence.traffic(of);
    const loop = startBulkMoves(other_process({}, withMethods(store, { traffic })), async () => null);
    await eventually(
      () => states(id),
      (all) => all.filter((state) => state === 'moved').length === 2,
    );
    await loop.stop();
    expect(await states(id)).toEqual(['waiting', 'moved', 'moved']);
  });

  it('tries one again that failed on its way back, while the others wait for their day', async () => {
    await put(first, 'orders');
    const items = MERCHANTS.map((merchant_id) => ({ merchant_id, stage: merchant_id === first ? 'legacy' : 'shadow' }));
    const ask = bulkAsk.parse({ target: {}, items, per_day: 1, reason: 'wave 1' });
    const { id } = await startBulk(other_process(), ask, BEN);
    let tries = 0;
    const saveMerchant: Store['merchants']['saveMerchant'] = async (merchant, ...of) =>
      merchant.id === first && ++tries === 1 ? fails() : store.merchants.saveMerchant(merchant, ...of);
    const ports = other_process({}, withMethods(store, { saveMerchant }));
    const clock = { ...ports.clock, monotonic: () => performance.now() };
    const loop = startBulkMoves({ ...ports, clock }, async () => null);
    await eventually(
      async () => {
        loop.wake();
        return states(id);
      },
      ([back]) => back === 'moved',
    );
    await loop.stop();
    expect((await states(id)).toSorted()).toEqual(['moved', 'moved', 'waiting']);
  });

  it('is aborted, and a ramp paused, whatever step another process makes in that moment', async () => {
    const { id } = await started(other_process());
    const touch = async (one: string): Promise<void> => {
      const bulk = await store.moves.bulkMove(one);
      if (bulk !== null) await store.moves.saveBulkMove({ ...bulk, detail: 'a step' }, bulk, null);
    };
    meanwhile.saveBulkMove = () => touch(id);
    expect(await abortBulk(first_process(), id, 'a till was updated', BEN)).toMatchObject({ state: 'aborted' });
    const ramp = { steps: [5, 100], soak_ms: HOUR_MS, min_sales: 3, approved_by: null };
    await store.moves.saveBulkMove(newBulk('a-ramp', { items: [], ramp }), null, null);
    meanwhile.saveBulkMove = () => touch('a-ramp');
    expect(await changeRamp(first_process(), 'a-ramp', 'pause', 'a holiday', BEN)).toMatchObject({ state: 'paused' });
  });
});

it('a brown-out whose abort was cut off is in force until it is aborted for the others, too', async () => {
  const window = { merchants: [...MERCHANTS], from: NOON, until: NOON + HOUR_MS, reason: 'drill 1', new: false };
  const { id } = await scheduleBrownout(other_process(), window, EVA.name);
  const listed = async () => (await viewBrownouts(other_process(), undefined, signal)).map(({ state }) => state);
  let saved = 0;
  const ends = withMethods(store, {
    saveMerchant: async (...of) => {
      if (++saved > 1) throw new Error('the process ended');
      return store.merchants.saveMerchant(...of);
    },
  });
  const abort = (of: Store) => abortBrownout(other_process({}, of), id, 'a shop called', BEN.name);
  await expect(abort(ends)).rejects.toThrow('the process ended');
  expect(await listed()).toEqual(['running']);
  expect(await abort(store)).toMatchObject({ state: 'aborted' });
  expect(await listed()).toEqual(['aborted']);
  expect(await Promise.all(MERCHANTS.map(decisions))).toEqual(
    MERCHANTS.map(() => ['brown-out aborted', 'brown-out scheduled']),
  );
  await expect(abort(store)).rejects.toMatchObject({ code: 'refused' });
});
