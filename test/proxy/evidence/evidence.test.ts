/** The recorder on a real store: what it keeps, what it sheds first, and that it never delays a call. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import type { Exchange, ShadowTask } from '../../../src/proxy/evidence/exchange.ts';
import {
  type EvidenceParts,
  type EvidenceSettings,
  type RunningEvidence,
  startEvidence,
} from '../../../src/proxy/evidence/recorder.ts';
import type { LogFields } from '../../../src/proxy/log.ts';
import { createUpstream, type UpstreamClient } from '../../../src/proxy/upstream/client.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { storeFailed } from '../../../src/store/engine.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';
import { withMethods } from '../../store/with-methods.ts';
import { type Create, RECEIVED_AT, tables, taskOf } from '../shadow/kit.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const settings: EvidenceSettings = {
  queue: 1_000,
  batch_ms: 5,
  kept_ms: 30 * DAY_MS,
  messages_kept_ms: DAY_MS,
  shadow_queue: 100,
  shadow_queue_bytes: 1_000_000,
  double_reads: true,
};

const intent: Create = {
  operation: 'point.create_intent',
  site: 'MLA',
  path: { device_id: 'PAX_A910__SMARTPOS0000000001' },
  body: { amount: 1500, tip: 100 },
};

let store: Store;
let upstream: UpstreamClient;
let running: RunningEvidence[];
let counted: Map<string, number>;
let warnings: string[];
let slept = 0;
/** Each test has its own merchant and day in the shared store. */
let merchant_id = '';
let now = RECEIVED_AT;
let tests = 0;
let made = 0;

beforeAll(async () => {
  store = await openOwnStore();
  // Port 9 is closed: a recorder that called upstream would get an error.
  const options = { baseUrl: 'http://127.0.0.1:9', connections: 1, connectTimeout_ms: 100, userAgent: 'test' };
  upstream = createUpstream(options);
});

afterAll(async () => {
  await upstream.close();
  await store.close();
});

beforeEach(() => {
  running = [];
  counted = new Map();
  warnings = [];
  slept = 0;
  tests++;
  merchant_id = String(700_100_200 + tests);
  now = RECEIVED_AT + tests * DAY_MS;
});

afterEach(async () => {
  vi.useRealTimers();
  for (const one of running) await one.stop();
});

type Writing = Pick<Store, 'exchanges' | 'legacy_sales' | 'upkeep'>;

function start(
  changes: Partial<EvidenceSettings> = {},
  into: Writing = store,
  more: Pick<EvidenceParts, 'onRecorded' | 'identify'> = {},
) {
  const evidence = startEvidence({ ...partsOf(changes, into), ...more });
  running.push(evidence);
  return evidence;
}

function partsOf(changes: Partial<EvidenceSettings>, into: Writing): EvidenceParts {
  const note = (message: string, fields?: LogFields): void => void warnings.push(`${message}: ${fields?.cause ?? ''}`);
  return {
    store: into,
    tables,
    clock: { now: () => now, sleep: async () => void slept++ },
    log: { debug: note, info: note, warn: note, error: note },
    count: (...count) => counted.set(count.join(' '), (counted.get(count.join(' ')) ?? 0) + 1),
    upstream,
    legacy_upstream: upstream,
    fingerprint: (token) => token.reveal(),
    settings: { ...settings, ...changes },
  };
}

function newTask(create: Create = intent, changes: Partial<Exchange> = {}): ShadowTask {
  made++;
  return taskOf(create, {
    id: `01978a5c-0000-7000-8000-${String(made).padStart(12, '0')}`,
    at: now + made,
    merchant_id,
    ...changes,
  });
}

const newExchange = (changes: Partial<Exchange> = {}): Exchange => newTask(intent, changes).exchange;
const shedToday = () => store.exchanges.shed(Math.floor(now / DAY_MS), Math.floor(now / DAY_MS) + 1);
const kept = () => store.exchanges.exchanges({ merchant_id }, 0, 5_000);
/** Blocks writes to the store until it is opened. */
function gated(): Store & { open(): void } {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const own = withMethods(store, {
    recordExchanges: async (batch) => {
      await gate;
      await store.exchanges.recordExchanges(batch);
    },
  });
  return { ...own, open: () => open() };
}

/** Records the size of each batch instead of writing it; the first batch waits until it is released. */
function countingBatches() {
  const sizes: number[] = [];
  const first = Promise.withResolvers<void>();
  const into: Writing = withMethods(store, {
    recordExchanges: async (batch) => {
      sizes.push(batch.length);
      if (sizes.length === 1) await first.promise;
    },
  });
  return { into, sizes, letGo: first.resolve };
}

type Batch = Parameters<Store['exchanges']['recordExchanges']>[0];

function refusing(refusalOf: (batch: Batch) => Error | null): Store {
  return withMethods(store, {
    recordExchanges: async (batch) => {
      const refusal = refusalOf(batch);
      if (refusal !== null) throw refusal;
      await store.exchanges.recordExchanges(batch);
    },
    tidyLegacySales: async () => 0,
  });
}

function failing(times: number): { store: Store; tried: () => number } {
  let tried = 0;
  return { store: refusing(() => (++tried <= times ? new Error('disk full') : null)), tried: () => tried };
}

function finish(evidence: RunningEvidence, count: number): void {
  for (let index = 0; index < count; index++) evidence.finished(newExchange());
}

describe('under load', () => {
  it('sheds the shadow first: every exchange is recorded, and what was left out is counted and told', async () => {
    const evidence = start({ shadow_queue: 3 });
    for (let index = 0; index < 10; index++) evidence.shadowed(newTask());
    await evidence.settled();
    const all = await kept();
    expect(all).toHaveLength(10);
    expect(all.filter(({ shadow }) => shadow !== null)).toHaveLength(3);
    expect(counted.get('shed shadow queue')).toBe(7);
    expect(counted.get('shed evidence queue')).toBeUndefined();
    expect(await shedToday()).toEqual({ shadow: 7, evidence: 0 });
  });

  it('writes at once what is waited for, and full batches; the rest waits for its time', async () => {
    const { into, sizes, letGo } = countingBatches();
    const evidence = start({ batch_ms: HOUR_MS }, into);
    finish(evidence, 5);
    const settled = evidence.settled();
    await expect.poll(() => sizes).toEqual([5]);
    finish(evidence, 205);
    letGo();
    await settled;
    evidence.finished(newExchange());
    await expect.poll(() => sizes).toEqual([5, 205]);
    await evidence.stop();
    expect(sizes).toEqual([5, 205, 1]);
  });

  it('writes more in one batch while many wait, and fewer where each is large', async () => {
    const { into, sizes, letGo } = countingBatches();
    const evidence = start({ queue: 5_000, batch_ms: HOUR_MS }, into);
    const add = (count: number, megabytes = 0): void => {
      const part = { headers: {}, body: 'x'.repeat(megabytes * 500_000) };
      const request = { method: 'POST', target: '/', ...part };
      const messages =
        megabytes === 0 ? null : { request, answer: { status: 200, headers: {}, body: '' }, upstream: [] };
      for (let index = 0; index < count; index++) evidence.finished(newExchange({ messages }));
    };
    add(200);
    add(1_100);
    add(9, 1);
    add(1, 6);
    letGo();
    await evidence.stop();
    expect(sizes).toEqual([200, 1_000, 100 + 4, 4, 1, 1]);
  });

  it('writes before a small queue is half full, from where on shadows are left out', async () => {
    const hanging = gated();
    const evidence = start({ queue: 40, batch_ms: HOUR_MS }, hanging);
    // The first ten are a batch; half of the queue is twenty.
    finish(evidence, 10 + 19);
    evidence.shadowed(newTask());
    expect(counted.get('shed shadow queue')).toBeUndefined();
    evidence.finished(newExchange());
    evidence.shadowed(newTask());
    expect(counted.get('shed shadow queue')).toBe(1);
    hanging.open();
  });

  it('bounds what waits for a shadow in bytes, too', async () => {
    const evidence = start({ shadow_queue_bytes: 20_000 });
    evidence.shadowed(newTask({ ...intent, body: { amount: 1500, description: 'x'.repeat(20_000) } }));
    evidence.shadowed(newTask());
    await evidence.settled();
    expect((await kept()).map(({ shadow }) => shadow === null)).toEqual([true, false]);
  });

  it('never waits for a store that hangs: takes what may wait, leaves out shadows, then sheds and counts', async () => {
    const hanging = gated();
    const evidence = start({ queue: 1_000, shadow_queue: 10_000 }, hanging);
    // The first batch waits in the store; then half of the queue fills up.
    finish(evidence, 200 + 500);
    evidence.shadowed(newTask());
    expect(counted.get('shed shadow queue')).toBe(1);
    finish(evidence, 5_000);
    expect(counted.get('shed evidence queue')).toBe(4_501);
    hanging.open();
    await evidence.settled();
    expect(await kept()).toHaveLength(1_200);
    expect(await shedToday()).toEqual({ shadow: 1, evidence: 4_501 });
  });

  it('gives the process its turn between shadows, however many wait', async () => {
    const evidence = start();
    let turns = 0;
    let over = false;
    const turn = (): void => {
      turns++;
      if (!over) setImmediate(turn);
    };
    for (let index = 0; index < 100; index++) evidence.shadowed(newTask());
    setImmediate(turn);
    await evidence.settled();
    over = true;
    expect(turns).toBeGreaterThanOrEqual(100);
    expect((await kept()).every(({ shadow }) => shadow !== null)).toBe(true);
  });
});

describe('a store that fails', () => {
  it('is tried again, and nothing is written twice', async () => {
    const broken = failing(2);
    const evidence = start({}, broken.store);
    evidence.finished(newExchange());
    await evidence.settled();
    expect(broken.tried()).toBe(3);
    expect(await kept()).toHaveLength(1);
    expect(warnings).toEqual(['evidence not written: Error: disk full', 'evidence not written: Error: disk full']);
  });

  it('is given up in the end, and counted; the next batch goes on', async () => {
    const evidence = start({}, failing(5).store);
    evidence.finished(newExchange());
    await evidence.settled();
    expect(counted.get('shed evidence queue')).toBe(1);
    evidence.finished(newExchange());
    await evidence.settled();
    expect(await kept()).toHaveLength(1);
    expect(await shedToday()).toEqual({ shadow: 0, evidence: 1 });
  });

  it('loses no other for one exchange that it refuses', async () => {
    const bad = newExchange();
    const others = refusing((batch) => (batch.some(({ id }) => id === bad.id) ? new Error('not this one') : null));
    const heard: string[] = [];
    const onRecorded = (batch: readonly Exchange[]): unknown => heard.push(...batch.map(({ id }) => id));
    const evidence = start({ batch_ms: HOUR_MS }, others, { onRecorded });
    evidence.finished(bad);
    finish(evidence, 199);
    await evidence.settled();
    const ids = (await kept()).map(({ id }) => id);
    expect(ids).toHaveLength(199);
    expect(heard.toSorted()).toEqual(ids.toSorted());
    expect(counted.get('shed evidence queue')).toBe(1);
    expect(await shedToday()).toEqual({ shadow: 0, evidence: 1 });
    expect(slept, 'a store that takes the others is not waited for').toBe(0);
  });

  it('loses no other for many that it refuses, side by side and far apart', async () => {
    const bad = new Set<string>();
    const others = refusing((batch) => (batch.some(({ id }) => bad.has(id)) ? new Error('not this one') : null));
    const evidence = start({ batch_ms: HOUR_MS }, others);
    const isBad = (index: number): boolean => index < 3 || index % 20 === 0 || index > 197;
    for (let index = 0; index < 200; index++) {
      const exchange = newExchange();
      if (isBad(index)) bad.add(exchange.id);
      evidence.finished(exchange);
    }
    await evidence.settled();
    expect(await kept()).toHaveLength(200 - bad.size);
    expect(await shedToday()).toEqual({ shadow: 0, evidence: bad.size });
    expect(slept).toBe(0);
  });

  it('is waited for while it is away, and nothing is taken apart', async () => {
    const sizes: number[] = [];
    const away = refusing((batch) => (sizes.push(batch.length) <= 3 ? storeFailed('gone', 'no answer') : null));
    const evidence = start({ batch_ms: HOUR_MS }, away);
    finish(evidence, 200);
    await evidence.settled();
    expect([sizes, slept]).toEqual([[200, 200, 200, 200], 3]);
    expect(await kept()).toHaveLength(200);
  });

  it('is told at the end what it never took', async () => {
    const evidence = start({}, failing(5).store);
    evidence.finished(newExchange());
    await evidence.stop();
    expect(await kept()).toEqual([]);
    expect(await shedToday()).toEqual({ shadow: 0, evidence: 1 });
  });

  it('is told once when a batch and the end tell it together', async () => {
    const told: number[] = [];
    const slow: Writing = withMethods(store, {
      noteShed: (_reason, count) => {
        told.push(count);
        return new Promise(() => undefined);
      },
    });
    const evidence = start({ queue: 1 }, slow);
    // One is written, one is queued, three are shed.
    finish(evidence, 5);
    await expect.poll(() => told).toEqual([3]);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const stopped = evidence.stop();
    await vi.advanceTimersByTimeAsync(5_500);
    await stopped;
    expect(told).toEqual([3, 2]);
  });

  it('does not hold up a stop', async () => {
    const evidence = start({}, gated());
    evidence.finished(newExchange());
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const stopped = evidence.stop();
    await vi.advanceTimersByTimeAsync(5_000);
    await stopped;
    expect(counted.get('shed evidence queue')).toBe(1);
    expect(warnings).toEqual(['evidence lost at the end: ']);
  });
});

describe('the recorder', () => {
  it('keeps a shadowed create with its verdict, its losses, its unknown fields, and how the sides differ', async () => {
    const evidence = start();
    const task = newTask(intent, { status: 400, error: 'bad_request', outcome: 'business' });
    evidence.shadowed(task);
    await evidence.settled();
    const one = await store.exchanges.exchange(task.exchange.id);
    expect(one?.shadow?.verdict).toBe('accepted');
    expect(one?.unknown).toEqual([{ what: 'field', name: 'body.tip' }]);
    expect(one?.lost).toMatchObject([{ path: 'body.tip', weight: 'money', would_be: true }]);
    expect(await store.evidence.differences({ merchant_id }, now)).toMatchObject([
      { what: 'verdict', orders: 'accepted', count: 1 },
    ]);
    expect(await store.evidence.verdicts(merchant_id)).toMatchObject([{ verdict: 'accepted', count: 1 }]);
    expect(await store.evidence.ledger(merchant_id)).toMatchObject([{ path: 'body.tip', count: 1, would_be_count: 1 }]);
    const cells = (await store.evidence.coverage(merchant_id)).map(
      ({ field, equal, different }) => `${field} ${equal}/${different}`,
    );
    expect(cells.toSorted()).toEqual(['body.amount 1/0', 'body.tip 0/1', 'path.device_id 1/0']);
    expect([...counted].toSorted()).toEqual([
      ['differences verdict', 1],
      ['shadows accepted', 1],
      ['unknown_names field', 1],
    ]);
  });

  it('waits for calls that were answered and are still being worked up', async () => {
    const evidence = start();
    const answered = new Promise<void>((resolve) => setTimeout(resolve, 20)).then(() =>
      evidence.finished(newExchange()),
    );
    evidence.coming(answered);
    await evidence.settled();
    expect(await kept()).toHaveLength(1);
  });

  it('adds the would-be order to captured messages', async () => {
    const evidence = start();
    const request = { method: 'POST', target: '/x', headers: {}, body: { amount: 1500 } };
    const messages = { request, answer: { status: 200, headers: {}, body: { id: '1' } }, upstream: [] };
    const task = { ...newTask(), messages };
    evidence.shadowed(task);
    await evidence.settled();
    const one = await store.exchanges.exchange(task.exchange.id);
    expect(one?.messages?.upstream).toMatchObject([{ method: 'POST', path: '/v1/orders', status: null, answer: null }]);
    expect(one?.messages?.upstream[0]?.body).toMatchObject({ type: 'point' });
  });

  it('keeps a call whose shadow fails, and says so in the log', async () => {
    const evidence = start({}, store, { identify: () => Promise.reject(new Error('no seller')) });
    evidence.shadowed(newTask());
    await evidence.settled();
    expect(await kept()).toMatchObject([{ shadow: null }]);
    expect(warnings).toEqual(['shadow failed: Error: no seller']);
  });

  it('judges by the rules of the seller behind the token, whatever the token looks like', async () => {
    const seller = { merchant_id, site: 'MLM' };
    const evidence = start({}, store, { identify: async () => seller });
    for (let index = 0; index < 40; index++)
      evidence.shadowed(
        newTask({ ...intent, site: null, body: { amount: 1500, description: 'x' } }, { merchant_id: null }),
      );
    await evidence.settled();
    const all = await kept();
    expect(all).toHaveLength(40);
    // Mexico refuses a description; other sites would lose it.
    expect(new Set(all.map(({ shadow }) => shadow?.verdict))).toEqual(new Set(['refused_here']));
  });

  it('asks nobody again for a while who did not say whose token it is', async () => {
    let asked = 0;
    const evidence = start({}, store, {
      identify: async () => {
        asked++;
        return null;
      },
    });
    for (const wait_ms of [0, 59_999, 1]) {
      now += wait_ms;
      evidence.shadowed(newTask());
      await evidence.settled();
    }
    expect(asked).toBe(2);
    expect((await kept()).map(({ shadow }) => shadow?.verdict)).toEqual(['accepted', 'accepted', 'accepted']);
  });

  it('pauses for the token that nobody knew, and for no other of the same merchant', async () => {
    const asked: string[] = [];
    const evidence = start({}, store, {
      identify: async (token) => {
        asked.push(token.reveal().slice(0, 8));
        return token.reveal().startsWith('invented') ? null : { merchant_id, site: 'MLM' };
      },
    });
    for (const look of ['invented', 'the real', 'invented']) {
      evidence.shadowed({ ...newTask(intent, { merchant_id: null }), token: new Secret(`${look}-${merchant_id}`) });
      await evidence.settled();
    }
    expect(asked).toEqual(['invented', 'the real']);
  });

  it('keeps a call under nobody whose token nobody proved: no shadow, no sum, no message', async () => {
    const evidence = start({}, store, { identify: async () => null });
    const task = newTask(intent, { merchant_id: null, status: 499, outcome: 'fault', unit: 'point:ATTACK' });
    const parts = { headers: {}, body: null };
    const messages = {
      request: { method: 'POST', target: '/', ...parts },
      answer: { status: 499, ...parts },
      upstream: [],
    };
    evidence.shadowed({ ...task, messages });
    await evidence.settled();
    expect(await store.exchanges.exchange(task.exchange.id)).toMatchObject({
      merchant_id: null,
      shadow: null,
      messages: null,
    });
    expect([await kept(), await store.evidence.verdicts(merchant_id), await store.evidence.units(merchant_id)]).toEqual(
      [[], [], []],
    );
  });

  it('learns nothing from a token that legacy refused: it may be anybody’s', async () => {
    const evidence = start();
    evidence.shadowed(newTask(intent, { status: 401, error: 'unauthorized', outcome: 'auth' }));
    await evidence.settled();
    expect(await kept()).toMatchObject([{ shadow: null, lost: [] }]);
    expect([await store.evidence.verdicts(merchant_id), await store.evidence.coverage(merchant_id)]).toEqual([[], []]);
  });

  it('keeps a read whose other side can’t be reached: no evidence, no difference', async () => {
    const evidence = start();
    evidence.shadowed(newTask({ operation: 'point.list_devices', site: 'MLA', path: {} }));
    await evidence.settled();
    expect(await kept()).toMatchObject([{ signatures: [], shadow: null }]);
  });

  it('writes what is left when it stops, leaves out waiting shadows, and takes nothing more', async () => {
    const evidence = start({ batch_ms: 60_000 });
    finish(evidence, 3);
    for (let index = 0; index < 3; index++) evidence.shadowed(newTask());
    await evidence.stop();
    evidence.finished(newExchange());
    expect(await kept()).toHaveLength(6);
    expect(counted.get('shed shadow queue')).toBe(3);
    expect(counted.get('shed evidence queue')).toBe(1);
  });

  it('tells who listens what was written, and survives one that fails', async () => {
    const heard: string[] = [];
    const onRecorded = (batch: readonly Exchange[]): void => {
      heard.push(...batch.map(({ id }) => id));
      throw new Error('listener');
    };
    const evidence = start({}, store, { onRecorded });
    const exchange = newExchange();
    evidence.finished(exchange);
    await evidence.settled();
    expect(heard).toEqual([exchange.id]);
    expect(warnings).toEqual(['a listener of evidence failed: Error: listener']);
  });

  it('deletes what is old once an hour, with a batch', async () => {
    // The latest row defines the current time.
    await recorded(newExchange());
    const evidence = start();
    const old = newExchange({ at: now - settings.kept_ms - 1 });
    evidence.finished(old);
    await evidence.settled();
    expect(await store.exchanges.exchange(old.id)).toBeNull();
    const almost = newExchange({ at: now - settings.kept_ms + HOUR_MS / 2 });
    evidence.finished(almost);
    await evidence.settled();
    now += HOUR_MS - 1;
    evidence.finished(newExchange());
    await evidence.settled();
    expect(await store.exchanges.exchange(almost.id)).not.toBeNull();
    now += 1;
    evidence.finished(newExchange());
    await evidence.settled();
    expect(await store.exchanges.exchange(almost.id)).toBeNull();
    expect(await kept()).toHaveLength(3);
  });

  it('deletes more steps with a larger batch, so that it is not outrun', async () => {
    let steps = 0;
    const old: Writing = withMethods(store, {
      tidyExchanges: async (_exchanges, _messages, limit) => {
        steps++;
        return limit;
      },
    });
    const evidence = start({ batch_ms: HOUR_MS }, old);
    evidence.finished(newExchange());
    await evidence.settled();
    expect(steps).toBe(1);
    finish(evidence, 900);
    await evidence.settled();
    // One batch of 200, and then one of 700.
    expect(steps).toBe(1 + 1 + 2);
  });

  it('deletes nothing when the clock is wrong by years [F47]', async () => {
    const exchange = await recorded(newExchange());
    now += 10 * settings.kept_ms;
    await recorded(newExchange());
    expect(await store.exchanges.exchange(exchange.id)).not.toBeNull();
  });

  async function recorded(exchange: Exchange): Promise<Exchange> {
    const evidence = start();
    evidence.finished(exchange);
    await evidence.settled();
    return exchange;
  }
});
