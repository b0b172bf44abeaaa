/** A ramp: what each step waits for, and its life from the preview to the end, with stops, pauses and a restart. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quoted, say } from '../../../src/locales/message.ts';
import type { IncidentView } from '../../../src/ops/incidents/incidents.ts';
import { type RampView, targetOf } from '../../../src/ops/moves/ramp.ts';
import {
  decideRamp,
  type RampCalls,
  type RampEvidence,
  type RampFacts,
  routeAt,
} from '../../../src/ops/moves/ramp-decision.ts';
import type { RampStepView } from '../../../src/ops/moves/ramp-evidence.ts';
import { routeSaid, routeText } from '../../../src/ops/moves/target.ts';
import { stepsIn } from '../../../src/ops/moves/typed-lists.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, clockOf, EVA, eventually, MEXICO, POINT } from '../../kit.ts';
import { auditsOf, FAST } from '../../proxy/http/till.ts';
import { type MovesBench, messageOf, startMoves } from './kit.ts';
import { NOW } from './situations.ts';

const HOUR_MS = 3_600_000;
const calls = { calls: 80, faults: 0, orders_creates: 50, legacy_creates: 40, orders_p95_ms: 900, legacy_p95_ms: 700 };
const good: RampEvidence = { open: [], sales: 50, calls };
const at: RampFacts = {
  plan: { steps: [5, 25, 100], soak_ms: 2 * HOUR_MS, min_sales: 50 },
  step: 0,
  start: -1,
  since: NOW - 2 * HOUR_MS,
  now: NOW,
  stop: null,
  is_tripped: false,
  elsewhere: null,
  evidence: good,
  stop_share: 10,
  slow_ms: 6_000,
  min_sample: 20,
};
const stop = { kind: 'intents', why: quoted('Nine of fifty.') } as const;
const tripped = { stop, is_tripped: true };
const seen = (change: Partial<RampEvidence>): Partial<RampFacts> => ({ evidence: { ...good, ...change } });
const called = (change: Partial<RampCalls>): Partial<RampFacts> => seen({ calls: { ...calls, ...change } });

describe('the decision', () => {
  it.each<[string, Partial<RampFacts>, unknown]>([
    [
      'leaves who was moved by hand',
      { elsewhere: routeSaid({ stage: 'legacy', share: 0 }), stop },
      { do: 'leave', why: 'by hand to legacy' },
    ],
    ['a stop leads one step back', { step: 1, ...tripped }, { do: 'back', to: 0 }],
    ['also when it was reset', { step: 1, is_tripped: true }, { do: 'back', to: 0 }],
    ['once, and then waits for a person', { step: 1, stop }, { do: 'pause', why: 'Nine of fifty' }],
    ['also before the time is over', { step: 1, ...tripped, since: NOW, evidence: {} }, { do: 'back', to: 0 }],
    ['from the first step to where it began', tripped, { do: 'back', to: -1 }],
    ['who has not begun waits for a person', { step: -1, ...tripped }, { do: 'pause', why: 'Nine of fifty' }],
    ['who began on a canary, too', { start: 0, ...tripped }, { do: 'pause', why: 'Nine of fifty' }],
    ['and goes back there', { start: 0, step: 1, ...tripped }, { do: 'back', to: 0 }],
    ['the time is not over', { since: NOW - 1, evidence: {} }, { do: 'hold', why: 'is watched until' }],
    ['findings are read first', { evidence: {} }, { do: 'look', at: 'open' }],
    ['an open finding', { evidence: { open: [say('in_doubt', { count: 1 })] } }, { do: 'hold', why: 'One create' }],
    ['then sales', { evidence: { open: [] } }, { do: 'look', at: 'sales' }],
    [
      'a sale is missing',
      { evidence: { open: [], sales: 49 } },
      { do: 'hold', why: '49 sales were paid on orders since this step began, and the step needs 50' },
    ],
    [
      'a share that is no unit waits for no sale and no call on orders',
      seen({ sales: null, calls: { ...calls, calls: 0, orders_creates: 0, orders_p95_ms: null } }),
      { do: 'advance', to: 1 },
    ],
    ['calls are read last', { evidence: { open: [], sales: 50 } }, { do: 'look', at: 'calls' }],
    ['half of the share of the safety stop', called({ faults: 4 }), { do: 'hold', why: '4 of 80 calls' }],
    ['one fault less', called({ faults: 3 }), { do: 'advance', to: 1 }],
    ['no latency of orders', called({ orders_p95_ms: null }), { do: 'hold', why: '50 creates on orders and 40' }],
    ['too slow', called({ orders_p95_ms: 1_901 }), { do: 'hold', why: '1901 ms on orders' }],
    ['just not too slow', called({ orders_p95_ms: 1_900 }), { do: 'advance', to: 1 }],
    ['nothing on legacy', called({ legacy_p95_ms: null, orders_p95_ms: 6_000 }), { do: 'advance', to: 1 }],
    [
      'and as slow as the safety stop minds',
      called({ legacy_p95_ms: null, orders_p95_ms: 6_001 }),
      { do: 'hold', why: 'safety.slow_ms' },
    ],
    [
      'the first step needs no traffic on orders',
      { step: -1, since: NOW, evidence: { open: [], calls: { ...calls, orders_creates: 0, orders_p95_ms: null } } },
      { do: 'advance', to: 0 },
    ],
    [
      'but a measure of a lane',
      { step: -1, ...called({ legacy_p95_ms: null, orders_p95_ms: null }) },
      { do: 'hold', why: '50 creates on orders and 40' },
    ],
    [
      'of orders, where all units are pilots',
      { step: -1, ...called({ legacy_p95_ms: null }) },
      { do: 'advance', to: 0 },
    ],
    [
      'the last step is watched, too',
      { step: 2, ...seen({ sales: 0 }) },
      { do: 'hold', why: 'No sale was paid on orders since this step began, and the step needs 50' },
    ],
    ['and then it is done', { step: 2 }, { do: 'done' }],
  ])('%s', (_name, change, expected) => {
    const decision = decideRamp({ ...at, ...change });
    const shown = 'why' in decision ? { ...decision, why: decision.why.text } : decision;
    const why = (expected as { why?: string }).why;
    expect(shown).toEqual(
      why === undefined ? expected : { ...(expected as object), why: expect.stringContaining(why) },
    );
  });

  const canary = (share: number) => ({ stage: 'canary', share }) as const;
  it.each([
    ['shadow', { start: -1, from: { stage: 'shadow', share: 0 } }, [5, 100], ['shadow', 'canary 5 %', 'orders']],
    [
      'a share between two steps',
      { start: 0, from: canary(10) },
      [5, 25],
      ['canary 10 %', 'canary 10 %', 'canary 25 %'],
    ],
    ['the share of a step', { start: 0, from: canary(5) }, [5, 25], ['canary 5 %', 'canary 5 %', 'canary 25 %']],
  ] as const)('begins where the merchant is: on %s', (_name, place, steps, expected) =>
    expect([-1, 0, 1].map((step) => routeText(routeAt(steps, step, place)))).toEqual(expected),
  );

  it('takes a pilot back from orders to its list of units, which orders has emptied, and leaves the list else', () => {
    const from = { ...canary(0), units_in: ['point:one'] };
    const place = { step: 0, start: -1, since: NOW, from, legacy_p95_ms: null };
    expect(targetOf([100], -1, place, 'orders')).toEqual({ ...from, override: false });
    expect(targetOf([5], -1, place, 'canary')).toEqual({ ...canary(0), override: false });
  });
});

const data_dir = mkdtempSync(join(tmpdir(), 'puente-ramp-'));
let moved_ms = 0;
const clock = clockOf(() => Date.now() + moved_ms);
const SETTINGS = {
  ...FAST,
  PUENTE_DATA_DIR: data_dir,
  // Paid sales are still known upstream after the restart of a test.
  PUENTE_SANDBOX_KEEPS_WORLD: 'true',
  // The ramp's own conditions are shown here; those of a single move have their tests.
  PUENTE_MOVES_GATE: 'advise',
  PUENTE_MOVES_MIN_SAMPLE: '3',
  PUENTE_MOVES_SECOND_APPROVER: 'true',
  PUENTE_MERCHANTS_SAFETY_STOP: 'armed',
  PUENTE_SAFETY_MIN_SAMPLE: '4',
  PUENTE_SAFETY_FAULT_SHARE: '50',
};

let bench: MovesBench;
beforeAll(async () => {
  bench = await startMoves(SETTINGS, { clock });
});
afterAll(() => bench.close());

/** Ends a test that hangs: several polls of the loop, on a busy machine too. */
const SLOW = { timeout: 240_000 };

const plan = { steps: [99.5, 100], soak_ms: HOUR_MS, min_sales: 3 };
const ask = (body: object = {}) =>
  bench.as(BEN, 'POST', '/api/ramps', { merchants: [ARGENTINA], ...plan, reason: 'week 1', ...body });
const change = (id: string, what: string, by: { token: string } = BEN) =>
  bench.as(by, 'POST', `/api/ramps/${id}/${what}`, { reason: 'a test does it' });
const view = async (id: string) => (await bench.as(ANA, 'GET', `/api/ramps/${id}`)).body as RampView; // the row's answer
/** The loop polls every five seconds, and looks at a ramp half a minute after its last look. */
const until = (id: string, isSo: (ramp: RampView) => boolean) => {
  let due = 0;
  return eventually(async () => {
    if (performance.now() >= due) {
      moved_ms += 31_000;
      due = performance.now() + 6_000;
    }
    return view(id);
  }, isSo);
};
/** What the ramp's step of a merchant waits for, by condition. */
const conditionsOf = async (id: string, merchant = ARGENTINA) => {
  const { conditions } = (await bench.as(ANA, 'GET', `/api/ramps/${id}/merchants/${merchant}`)).body as RampStepView; // the row's answer
  return Object.fromEntries(conditions.map(({ condition, is_met, what }) => [condition, { is_met, what }]));
};
const incidentsOf = async (id: string) => {
  const { incidents } = (await bench.as(ANA, 'GET', '/api/incidents')).body as { incidents: IncidentView[] }; // the row's answer
  return incidents.filter(({ subject }) => subject === id);
};
const why = (ramp: RampView) => ramp.merchants[0]?.why ?? '';
const stepOf = (ramp: RampView) => ramp.merchants[0]?.step;
const linesOf = async (id: string) =>
  (await auditsOf(bench.data_dir)).filter((line) => line.subject === id || JSON.stringify(line.detail).includes(id));

/** Creates that fail upstream, enough for a safety stop. */
async function fail(merchant: string): Promise<void> {
  const fault = { method: 'POST', path: '/v1/orders', kind: 'error', status: 500, code: 'internal_error' };
  await bench.control('/faults', { body: { ...fault, times: 'always' } });
  await sell(5, merchant);
  await bench.control('/faults', { method: 'DELETE' });
}

const device = (nth: number) => `NEWLAND_N950__LOAD${String(nth).padStart(7, '0')}`;
let used = 0;
async function sell(count: number, merchant = ARGENTINA): Promise<number[]> {
  const statuses: number[] = [];
  for (let nth = 0; nth < count; nth++) {
    const body = { amount: 1500 };
    statuses.push((await bench.till(`${POINT}/devices/${device(++used)}/payment-intents`, { body, merchant })).status);
  }
  return statuses;
}

/** The person at each terminal of the last sales pays. */
async function pay(count: number, merchant = ARGENTINA): Promise<void> {
  for (let nth = used - count + 1; nth <= used; nth++)
    expect((await bench.atTerminal('pay', { merchant, device: device(nth) })).status).toBe(200);
}

async function toShadow(merchant: string): Promise<void> {
  await sell(1, merchant);
  await moveTo({ stage: 'shadow' }, merchant);
  await sell(4, merchant);
}

async function moveTo(target: object, merchant: string): Promise<void> {
  const { body } = await bench.move(target, BEN, merchant);
  const { id } = (body as { proposed: { id: string } }).proposed; // moves need a second person here
  expect((await bench.as(EVA, 'POST', `/api/moves/${id}/approve`, { reason: 'agreed' })).status).toBe(200);
}

it.each([
  ['5,25,50,100', [5, 25, 50, 100]],
  ['5, 25, 50', [5, 25, 50]],
  ['2,5, 25', [2.5, 25]],
  ['2.5;25%', [2.5, 25]],
  ['1 50 ', [1, 50]],
])('steps are read as people write them: %s', (text, steps) => expect(stepsIn(text)).toEqual(steps));

it.each(['', 'many', '5,,25', '-5', '5,25,', '5, 25,50'])('steps that are none are refused: %j', (text) =>
  expect(() => stepsIn(text)).toThrow('steps in ascending order'),
);

describe('a ramp is refused', () => {
  beforeAll(async () => void (await sell(1)));
  it.each([
    [{}, 'begins on shadow'],
    [{ merchants: undefined }, 'name merchants, or conditions that they meet'],
    [{ steps: [50, 50] }, 'steps in ascending order'],
    [{ steps: [] }, 'steps'],
    [{ steps: [101] }, 'steps.0'],
    [{ soak_ms: 10 }, 'soak_ms'],
  ])('%j', async (body, says) => {
    const answer = await ask(body);
    expect([answer.status, messageOf(answer)]).toEqual([400, expect.stringContaining(says)]);
  });

  it('for a merchant that was never seen', async () =>
    expect(messageOf(await ask({ merchants: [`${ARGENTINA}0`] }))).toContain(`${ARGENTINA}0`));
});

it(
  'is previewed, approved once, goes up with a line a step, is paused, survives a restart, and ends',
  SLOW,
  async () => {
    await toShadow(ARGENTINA);
    const look = (await bench.as(BEN, 'POST', '/api/ramps/preview', { merchants: [ARGENTINA], ...plan })).body;
    expect(look).toMatchObject({
      merchants: [
        { from: 'shadow', steps: ['canary 99.5 %', 'orders'], judgement: { kind: 'forward', allowed: true } },
      ],
    });
    const { id, ...started } = (await ask()).body as RampView; // the row's answer
    expect(started).toMatchObject({ state: 'proposed', approved_by: null, merchants: [{ step: 0, now: 'shadow' }] });
    expect(messageOf(await ask())).toContain(`is in the ramp ${id} already`);
    expect([(await change(id, 'approve')).status, (await change(id, 'resume')).status]).toEqual([403, 400]);
    expect((await change(id, 'approve', EVA)).body).toMatchObject({ state: 'running', approved_by: 'eva' });
    await until(id, (ramp) => stepOf(ramp) === 1);
    expect((await bench.stageOf()).in_force.intents).toMatchObject({ stage: 'canary', share: 99.5 });
    await until(id, (ramp) => why(ramp).includes('is watched until'));
    moved_ms += HOUR_MS;
    await until(id, (ramp) => why(ramp).includes('No sale was paid on orders'));
    expect(await sell(3)).toEqual([201, 201, 201]);
    // Calls are recorded a moment after their answer.
    const answered = await eventually(
      () => conditionsOf(id),
      ({ latency }) => latency?.is_met === true,
    );
    expect(answered).toMatchObject({
      time: { is_met: true },
      findings: { is_met: true },
      sales: {
        is_met: false,
        what: expect.stringMatching(/^No sale was paid .* needs 3\. The merchant stays at this step until then/),
      }, // answered, and not paid
    });
    await pay(3);
    await eventually(
      () => conditionsOf(id),
      ({ sales }) => sales?.is_met === true,
    );
    expect((await change(id, 'pause')).body).toMatchObject({ state: 'paused', why: expect.stringContaining('ben') });
    await bench.close();
    bench = await startMoves(SETTINGS, { clock });
    expect(await view(id)).toMatchObject({ state: 'paused', merchants: [{ step: 1 }] });
    expect((await change(id, 'resume')).body).toMatchObject({ state: 'running' });
    moved_ms += HOUR_MS;
    await until(id, (ramp) => why(ramp).includes('No sale was paid on orders')); // what was sold before the pause counts no more
    await sell(3);
    await pay(3);
    await until(id, (ramp) => stepOf(ramp) === 2);
    expect((await bench.stageOf()).stage).toBe('orders');
    moved_ms += HOUR_MS;
    await sell(3);
    await pay(3);
    await until(id, ({ state }) => state === 'done');
    expect(await conditionsOf(id)).toEqual({});
    expect((await bench.as(ANA, 'GET', `/api/ramps/${id}/merchants/${BRAZIL}`)).status).toBe(404);
    const lines = await linesOf(id);
    expect(lines.map(({ who, action }) => `${who}: ${action}`)).toEqual([
      'ben: ramp proposed',
      'eva: ramp approved',
      'ben: stage',
      'ben: ramp paused',
      'ben: ramp resumed',
      'ben: stage',
      'puente: ramp done',
    ]);
    expect(lines[5]).toMatchObject({
      subject: ARGENTINA,
      detail: { before: { stage: 'canary', share: 99.5 }, ramp: { id, step: 2, of: 2, sales: 3, approved_by: 'eva' } },
    });
  },
);

it('passes a share that is no unit of a small shop by its time alone', SLOW, async () => {
  await bench.move({ stage: 'shadow' }, BEN);
  await sell(3);
  const { id } = (await ask({ steps: [0.01, 100] })).body as RampView; // the row's answer
  await change(id, 'approve', EVA);
  await until(id, (ramp) => stepOf(ramp) === 1);
  expect(await conditionsOf(id)).toMatchObject({
    time: { is_met: false },
    sales: { is_met: true, what: expect.stringContaining('None of its units that were seen is on orders') },
    latency: { is_met: true },
  });
  moved_ms += HOUR_MS;
  await until(id, (ramp) => stepOf(ramp) === 2);
  moved_ms += HOUR_MS;
  await until(id, (ramp) => why(ramp).includes('No sale was paid on orders'));
  await change(id, 'cancel');
});

it(
  'steps back on a safety stop, says where to, and waits until the stop is reset and somebody resumes it',
  SLOW,
  async () => {
    await toShadow(BRAZIL);
    const { id } = (await ask({ merchants: [BRAZIL] })).body as RampView; // the row's answer
    await change(id, 'approve', EVA);
    await until(id, (ramp) => stepOf(ramp) === 1);
    await fail(BRAZIL);
    const stopped = await until(id, ({ state }) => state === 'paused');
    expect(stopped).toMatchObject({ why: expect.stringContaining(`${BRAZIL} stepped back to shadow`) });
    expect(stopped.merchants).toMatchObject([{ state: 'waiting', step: 0, now: 'shadow' }]);
    expect((await bench.stageOf(BRAZIL)).stage).toBe('shadow');
    expect((await linesOf(id)).slice(-2)).toMatchObject([
      { who: 'puente', action: 'stage', subject: BRAZIL, detail: { ramp: { id, step: 0, is_back: true } } },
      { who: 'puente', action: 'ramp paused' },
    ]);
    expect(messageOf(await change(id, 'resume'))).toContain(`puente safety reset ${BRAZIL}`);
    const { revision } = await bench.stageOf(BRAZIL);
    const reset = { kind: 'intents', reason: 'repaired', revision };
    expect((await bench.as(BEN, 'POST', `/api/merchants/${BRAZIL}/safety/reset`, reset)).status).toBe(200);
    expect((await change(id, 'resume')).status).toBe(200);
    // What is still in doubt holds it; a person who moves the merchant meanwhile takes it out of the ramp.
    await until(id, (ramp) => why(ramp) !== '');
    const back = await bench.as(BEN, 'POST', `/api/merchants/${BRAZIL}/rollback`, { reason: 'a shop called' });
    expect(back.body).toMatchObject({ result: 'rolled_back', withdrawn: [], left: [id] });
    // At once, and not at the next look.
    const { ramps } = (await bench.as(ANA, 'GET', `/api/ramps?merchant=${BRAZIL}`)).body as { ramps: RampView[] };
    const [left] = ramps;
    expect(left).toMatchObject({ id, state: 'done' });
    const open = await bench.as(ANA, 'GET', `/api/ramps?merchant=${BRAZIL}&open=true`);
    expect(open.body).toEqual({ ramps: [] });
    expect(left?.merchants).toMatchObject([{ state: 'skipped', why: expect.stringContaining('by hand to legacy') }]);
  },
);

it('begins on a canary between two steps, and is over for a merchant that was rolled back', SLOW, async () => {
  await sell(1, MEXICO);
  await moveTo({ stage: 'canary', share: 10 }, MEXICO);
  const { id } = (await ask({ merchants: [MEXICO], steps: [5, 25] })).body as RampView; // the row's answer
  await change(id, 'approve', EVA);
  expect(await until(id, (ramp) => why(ramp) !== '')).toMatchObject({
    state: 'running',
    merchants: [{ state: 'waiting', step: 1, now: 'canary 10 %', why: expect.stringContaining('is watched until') }],
  });
  // Rolled back at night, and put there again by hand: no resumed ramp takes it up.
  await change(id, 'pause');
  await bench.as(BEN, 'POST', `/api/merchants/${MEXICO}/rollback`, { reason: 'a shop called' });
  await moveTo({ stage: 'canary', share: 10 }, MEXICO);
  expect((await change(id, 'resume')).status).toBe(200);
  const left = await until(id, ({ state }) => state === 'done');
  expect(left.merchants).toMatchObject([{ state: 'skipped', why: expect.stringContaining('by hand to canary 10 %') }]);
});

it(
  'begins where every unit is a pilot, and a step back that is refused pauses it, shows why, and opens an incident',
  SLOW,
  async () => {
    const units_in = [1, 2, 3, 4].map((nth) => `point:${device(used + nth)}`);
    await moveTo({ stage: 'canary', share: 0, units_in }, MEXICO);
    await sell(4, MEXICO); // of one create on legacy nothing is measured
    const { id } = (await ask({ merchants: [MEXICO] })).body as RampView; // the row's answer
    await change(id, 'approve', EVA);
    await until(id, (ramp) => stepOf(ramp) === 1);
    expect(await conditionsOf(id, MEXICO)).toMatchObject({ time: { is_met: false }, latency: { is_met: false } });
    // Without its pilots, canary 0 % is nowhere to go back to.
    expect((await bench.move({ stage: 'canary', share: 99.5, units_in: [] }, BEN, MEXICO)).body).toMatchObject({
      result: 'moved',
    });
    await fail(MEXICO);
    const paused = await until(id, ({ state }) => state === 'paused');
    expect(paused.why).toContain(`${MEXICO} must go back to canary 0 % after a safety stop, and this is refused`);
    expect(paused.merchants).toMatchObject([{ state: 'waiting', step: 1, why: expect.stringContaining('is refused') }]);
    expect(await conditionsOf(id, MEXICO)).toMatchObject({ stop: { is_met: false } });
    const [incident] = await eventually(
      () => incidentsOf(id),
      ({ length }) => length > 0,
    );
    expect(incident).toMatchObject({ kind: 'bulk_stopped', merchant: MEXICO, sample: id, state: 'open' });
    await change(id, 'cancel');
  },
);

it('is an incident while it waits for approval, and ends when nobody approves it in time', SLOW, async () => {
  await toShadow(CHILE);
  const { id } = (await ask({ merchants: [CHILE] })).body as RampView; // the row's answer
  const waiting = { kind: 'move_waiting', merchant: CHILE, sample: id, state: 'open' };
  const [open] = await eventually(
    () => incidentsOf(id),
    ({ length }) => length > 0,
  );
  expect(open).toMatchObject({ ...waiting, reason: expect.stringContaining(`puente ramps show ${id}`) });
  moved_ms += 3 * 24 * HOUR_MS;
  const ended = await until(id, ({ state }) => state === 'aborted');
  expect(ended).toMatchObject({ why: expect.stringContaining('It was not approved in time'), expires_at: null });
  expect((await linesOf(id)).at(-1)).toMatchObject({ who: 'puente', action: 'ramp expired' });
  await eventually(
    () => incidentsOf(id),
    ([incident]) => incident?.state === 'closed',
  );
  const again = await ask({ merchants: [CHILE] });
  expect(again.body).toMatchObject({ state: 'proposed' });
  const listed = await bench.as(ANA, 'GET', `/api/ramps?merchant=${CHILE}&limit=1`);
  expect(listed.body).toMatchObject({ ramps: [{ id: (again.body as RampView).id }] }); // the row's answer
  const before = await bench.as(
    ANA,
    'GET',
    `/api/ramps?merchant=${CHILE}&before=${(again.body as RampView).id}&limit=1`,
  );
  expect(before.body).toMatchObject({ ramps: [{ id }] });
});
