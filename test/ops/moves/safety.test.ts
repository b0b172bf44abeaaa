/** The safety stop on a running Puente: observes, stops, leaves the operator's stage unchanged, is reset by hand. */
import { afterEach, describe, expect, it } from 'vitest';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, call, EVA, eventually, MEXICO, POINT, URUGUAY } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { auditsOf, FAST, idOf } from '../../proxy/http/till.ts';
import { command } from './command.ts';
import { type MovesBench, messageOf, startMoves } from './kit.ts';

const SETTINGS = {
  ...FAST,
  PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
  PUENTE_SAFETY_MIN_SAMPLE: '4',
  PUENTE_SAFETY_FAULT_SHARE: '50',
  PUENTE_MOVES_GATE: 'advise',
};
const FAILING = {
  method: 'POST',
  path: '/v1/orders',
  kind: 'error',
  status: 500,
  code: 'internal_error',
  times: 'always',
};
const DECLINING = { ...FAILING, status: 402, code: 'failed' };

let used = 0;
const bench = openForAll(() => startMoves(SETTINGS));
afterEach(() => bench.control('/faults', { method: 'DELETE' }));

const sell = (merchant = ARGENTINA) =>
  bench.till(`${POINT}/devices/NEWLAND_N950__LOAD${String(++used).padStart(7, '0')}/payment-intents`, {
    body: { amount: 1500 },
    merchant,
  });

async function failing(many: number, rule: object = FAILING, merchant = ARGENTINA): Promise<number[]> {
  await bench.control('/faults', { body: rule });
  const statuses: number[] = [];
  for (let nth = 0; nth < many; nth++) statuses.push((await sell(merchant)).status);
  await bench.control('/faults', { method: 'DELETE' });
  return statuses;
}

async function arm(merchant: string, safety_stop: string): Promise<void> {
  expect((await bench.notify(merchant, { safety_stop })).status).toBe(200);
}

interface Safety {
  mode: string;
  revision: number;
  rules: Record<string, number>;
  trips: { kind: string; why: string; intended: string; evidence: { exchanges: string[] } }[];
  now: { kind: string; calls: number; faults: number; exchanges: string[] }[];
  history: { stopped: boolean; why: string; exchanges: string[] }[];
}

const safetyAt = async (at: MovesBench, merchant: string): Promise<Safety> =>
  (await at.as(ANA, 'GET', `/api/merchants/${merchant}/safety`)).body as Safety; // the API's shape
const safetyOf = (merchant = ARGENTINA) => safetyAt(bench, merchant);
const stageOf = async (merchant: string) => (await bench.stageOf(merchant)).in_force.intents?.stage;
const lines = async (merchant: string, action: string) =>
  (await auditsOf(bench.data_dir)).filter((line) => line.subject === merchant && line.action === action);

describe('armed', () => {
  it('declines never count, however many', async () => {
    await arm(ARGENTINA, 'armed');
    const statuses = await failing(8, DECLINING);
    expect(statuses.every((status) => status >= 400 && status < 500)).toBe(true);
    expect(await safetyOf()).toMatchObject({ mode: 'armed', trips: [], now: [] });
  });

  it('nor do answers that a terminal is busy', async () => {
    const device = 'NEWLAND_N950__SBX0000001';
    const sellThere = (amount: number) =>
      bench.till(`${POINT}/devices/${device}/payment-intents`, { body: { amount }, merchant: ARGENTINA });
    const statuses = [];
    for (let amount = 1501; amount < 1510; amount++) statuses.push((await sellThere(amount)).status);
    expect(statuses).toEqual([201, ...Array(8).fill(409)]);
    expect(await safetyOf()).toMatchObject({ trips: [], now: [{ kind: 'intents', calls: 1, faults: 0 }] });
  });

  it('faults take new work of the kind back to shadow, and nothing else', async () => {
    const open = idOf(await sell());
    expect(await failing(4)).toContain(504);
    await eventually(safetyOf, ({ trips }) => trips.length > 0);
    const { trips, history, now } = await safetyOf();
    expect(trips).toMatchObject([
      { kind: 'intents', intended: 'orders', why: expect.stringMatching(/^\d of \d calls in 5 min were faults/) },
    ]);
    expect([history.map(({ stopped }) => stopped), now]).toEqual([[true], []]);
    const exchanges = trips[0]?.evidence.exchanges ?? [];
    expect(exchanges.length).toBeGreaterThan(1);
    expect(history[0]?.exchanges).toEqual(exchanges);
    for (const id of exchanges)
      expect((await bench.as(ANA, 'GET', `/api/trace?id=${id}`)).body, id).toMatchObject({
        traces: [{ found_as: 'exchange' }],
      });
    const merchant = await bench.stageOf();
    expect(merchant.in_force).toMatchObject({ intents: { stage: 'shadow' }, qr: { stage: 'orders' } });
    expect(merchant.stage).toBe('orders');
    expect(await stageOf(BRAZIL)).toBe('orders');
    const sold = idOf(await sell());
    const { legacy } = (await bench.control('/state')).body as { legacy: { intents: { id: string }[] } }; // the sandbox's shape
    expect(legacy.intents.map(({ id }) => id)).toContain(sold);
    expect((await bench.till(`${POINT}/payment-intents/${open}`)).body).toMatchObject({ id: open, state: 'OPEN' });
    expect(await lines(ARGENTINA, 'safety stop')).toMatchObject([
      { who: 'puente', detail: { kind: 'intents', mode: 'armed' } },
    ]);
    const { text } = await call(`${bench.app.ops_url}/metrics`);
    expect(text).toMatch(/^puente_safety_stops_total\{mode="armed"\} 1$/m);
  });

  it('while it stands nothing moves forward, and going back does', async () => {
    await bench.move({ stage: 'canary', share: 5 });
    const refused = await bench.move({ stage: 'orders', override: true }, EVA);
    expect(messageOf(refused)).toContain(`\`puente safety reset ${ARGENTINA} --kind intents --reason …\``);
    const stops = (await bench.as(ANA, 'GET', '/api/safety')).body;
    expect(stops).toMatchObject({ stops: [{ merchant_id: ARGENTINA, kind: 'intents', intended: 'canary' }] });
  });

  it('a bulk move stops at the first stop among its merchants', async () => {
    await arm(BRAZIL, 'armed');
    const items = [{ merchant_id: BRAZIL, stage: 'canary', share: 99 }, { merchant_id: MEXICO }];
    const ask = { target: { stage: 'shadow' }, items, per_day: 1, reason: 'one a day', new: true };
    const { id } = (await bench.as(BEN, 'POST', '/api/bulk', ask)).body as { id: string };
    const bulk = async () =>
      (await bench.as(ANA, 'GET', `/api/bulk/${id}`)).body as {
        state: string;
        detail: string;
        items: { state: string }[];
      };
    await eventually(bulk, ({ detail }) => detail.startsWith('1 of 1 moves of today'));
    await failing(6, FAILING, BRAZIL);
    const over = await eventually(bulk, ({ state }) => state !== 'running');
    expect(over).toMatchObject({
      state: 'stopped',
      detail: expect.stringContaining(`The safety stop of ${BRAZIL} tripped`),
      items: [{ state: 'moved', own: { stage: 'canary', share: 99 } }, { state: 'waiting' }],
    });
    expect(await stageOf(MEXICO)).toBe('orders');
  });

  it('is reset by hand, with a reason and the revision', async () => {
    const { revision } = await safetyOf();
    const reset = (body: object) => bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/safety/reset`, body);
    const ask = { kind: 'intents', reason: 'upstream works again', revision };
    expect((await reset({ ...ask, reason: undefined })).status).toBe(400);
    expect((await reset({ ...ask, revision: revision - 1 })).status).toBe(409);
    expect(messageOf(await reset({ ...ask, kind: 'qr' }))).toContain('No safety stop of QR is in force');
    expect((await reset(ask)).body).toMatchObject({ in_force: { intents: { stage: 'canary', trip: null } } });
    expect((await reset({ ...ask, revision: revision + 1 })).status).toBe(400);
    expect(await lines(ARGENTINA, 'safety reset')).toMatchObject([
      { who: BEN.name, detail: { kind: 'intents', after: { stage: 'canary' } } },
    ]);
    expect((await safetyOf()).trips).toEqual([]);
  });
});

describe('one create in doubt', () => {
  // Upstream has failed for nobody yet: after many failures creates would be held back, and be in no doubt.
  const bench = openForAll(() => startMoves(SETTINGS));
  const safetyOf = (merchant: string) => safetyAt(bench, merchant);
  it('and eleven refused retries of it are one fault, and the stop says how near it is', async () => {
    expect((await bench.notify(URUGUAY, { safety_stop: 'armed' })).status).toBe(200);
    await bench.control('/faults', { body: FAILING });
    const press = (amount: number) =>
      bench.till(`${POINT}/devices/NEWLAND_N950__DOUBT01/payment-intents`, { body: { amount }, merchant: URUGUAY });
    // At once, before the create in doubt can be settled: then the next one would be a sale of its own.
    const presses = [await press(1500), ...(await Promise.all(Array.from({ length: 11 }, () => press(1500))))];
    const statuses = presses.map(({ status }) => status);
    expect([statuses.length, statuses.filter((status) => status < 400)]).toEqual([12, []]);
    const view = await eventually(
      () => safetyOf(URUGUAY),
      ({ now }) => now.length > 0,
    );
    expect(view).toMatchObject({ mode: 'armed', trips: [], history: [] });
    expect(view.rules).toMatchObject({ min_sample: 4, fault_share: 50, faults_in_a_row: 5, window_ms: 300_000 });
    expect(view.now).toMatchObject([{ calls: 1, faults: 1, in_a_row: 1, faults_left: 3, why: null }]);
    const [first] = view.now[0]?.exchanges ?? [];
    expect((await bench.as(ANA, 'GET', `/api/trace?id=${first}`)).body).toMatchObject({
      traces: [{ sale: { state: 'IN_DOUBT' } }],
    });
    const env = { PUENTE_OPS_TOKEN: ANA.token, PUENTE_OPS_URL: bench.app.ops_url };
    const { out } = await command(['safety', 'show', URUGUAY], env);
    expect(out).toContain(
      'It trips when, of 4 calls or more in 5 min, 50 % are faults or 30 % take 6 s or longer; and at 5 faults in a row.',
    );
    expect(out).toContain('3 more faults or 3 more slow calls');
    expect(out).toContain(first);
    // Another sale that the unit refuses is lost, too, however often it is tried.
    for (const amount of Array(4).fill(2700)) await press(amount);
    await eventually(
      () => safetyOf(URUGUAY),
      ({ now: [found] }) => found?.faults === 2,
    );
  });
});

describe('a sale that is held back while upstream fails', () => {
  const BREAKER = { PUENTE_UPSTREAM_POOL_BREAKER_FAILURES: '2', PUENTE_UPSTREAM_POOL_BREAKER_PROBE_MS: '60000' };
  const own = openForAll(() => startMoves({ ...SETTINGS, ...BREAKER }));
  it('is one fault, however often it is pressed, and another sale is another one', async () => {
    expect((await own.notify(URUGUAY, { safety_stop: 'armed' })).status).toBe(200);
    const press = (amount: number, merchant = URUGUAY, at = 'NEWLAND_N950__DOUBT01') =>
      own.till(`${POINT}/devices/${at}/payment-intents`, { body: { amount }, merchant });
    await own.control('/faults', { body: FAILING });
    // Once both are held back, everybody is: the failures of one merchant alone hold nobody else back.
    const device = () => `NEWLAND_N950__LOAD${String(++used).padStart(7, '0')}`;
    const others = () => Promise.all([ARGENTINA, BRAZIL].map((merchant) => press(1500, merchant, device())));
    await eventually(others, (tried) => tried.every(({ status }) => status === 503));
    const presses = [await press(1500), ...(await Promise.all(Array.from({ length: 11 }, () => press(1500))))];
    expect(presses.map(({ status }) => status)).toEqual(Array(12).fill(503));
    await press(2700);
    const view = await eventually(
      () => safetyAt(own, URUGUAY),
      ({ now: [found] }) => found?.faults === 2,
    );
    expect(view).toMatchObject({ trips: [], history: [], now: [{ calls: 2, faults: 2, in_a_row: 2 }] });
  });
});

describe('a cancel that fails', () => {
  const own = openForAll(() => startMoves({ ...SETTINGS, PUENTE_MERCHANTS_SAFETY_STOP: 'armed' }));
  it('is one fault, however often it is pressed', async () => {
    await own.control('/faults', { body: { ...FAILING, path: '/v1/orders/*/cancel' } });
    const path = `${POINT}/devices/NEWLAND_N950__LOAD0000150/payment-intents`;
    const id = idOf(await own.till(path, { body: { amount: 1500 } }));
    const presses = Array.from({ length: 6 }, () => own.till(`${path}/${id}`, { method: 'DELETE' }));
    for (const { status } of await Promise.all(presses)) expect(status).toBeGreaterThan(499);
    await eventually(
      () => own.as(ANA, 'GET', `/api/trace?id=${id}`),
      ({ text }) => text.split('point.cancel_intent').length > 6,
    );
    expect(await safetyAt(own, ARGENTINA)).toMatchObject({ trips: [], now: [{ calls: 2, faults: 1, in_a_row: 1 }] });
  });
});

describe('not armed', () => {
  it('observing it tells once a window what it would have done, and moves nothing', async () => {
    await arm(CHILE, 'observe');
    await failing(5, FAILING, CHILE);
    const { history, trips, now } = await eventually(
      () => safetyOf(CHILE),
      (view) => view.history.length > 0,
    );
    expect([history.map(({ stopped }) => stopped), trips]).toEqual([[false], []]);
    expect(now).toMatchObject([{ kind: 'intents', why: expect.stringContaining('were faults') }]);
    expect(await stageOf(CHILE)).toBe('orders');
    await failing(2, FAILING, CHILE);
    expect(await lines(CHILE, 'safety stop observed')).toHaveLength(1);
  });

  it('off it does nothing at all', async () => {
    await arm(URUGUAY, 'off');
    await failing(5, FAILING, URUGUAY);
    expect(
      await eventually(
        () => safetyOf(URUGUAY),
        ({ now }) => now.length > 0,
      ),
    ).toMatchObject({ trips: [], history: [] });
    expect(await stageOf(URUGUAY)).toBe('orders');
  });
});
