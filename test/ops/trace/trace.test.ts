/** The steps of a trace: causes come first, even where timestamps are equal or were read too early; and all calls are there. */
import { expect, it, onTestFinished } from 'vitest';
import { inOrder, stepOfState, stepsOfExchange, stepsOfNotice, storyOfSale } from '../../../src/ops/trace/steps.ts';
import type { StoredExchange } from '../../../src/proxy/records/evidence.ts';
import { portsAt } from '../../proxy/routing/lane-ports.ts';
import { newExchange, newLoss } from '../../store/contract/evidence-kit.ts';
import { NOON, newSale } from '../../store/contract/harness.ts';
import { newFolder, openStore } from '../../store/sqlite/kit.ts';

const exchange = (change: Partial<StoredExchange> = {}): StoredExchange => ({
  ...newExchange({ lane: 'orders', at: NOON, duration_ms: 0 }),
  sequence: 1,
  signatures: [],
  upstream: [
    { name: 'users_me', status: 200, code: null, duration_ms: 91.307470000001 },
    { name: 'create', status: 201, code: null, duration_ms: 66.68957 },
  ],
  lost: [newLoss({ would_be: false })],
  ...change,
});

const notice = {
  id: 'n1',
  legacy_id: 'l1',
  merchant_id: '1',
  topic: 'point',
  form: 'point',
  subject: 'l1',
  body: '{}',
  created_at: NOON,
  next_attempt_at: NOON,
  sequence: 1,
  state: 'delivered',
  attempts: 1,
  replayed: false,
  tries: 1,
  last_attempt: null,
} as const;
const attempt = { at: NOON, duration_ms: 1, outcome: 'delivered', status: 200, detail: 'It did.', url: null } as const;
const state = (at: number, name: string) =>
  stepOfState({ at, state: name, legacy_state: 'OPEN', order_status: name === 'LIVE' ? 'created' : null });

it('a whole sale at one instant', () => {
  const steps = inOrder([
    ...stepsOfNotice({ notice, attempts: [attempt] }, [NOON]),
    state(NOON, 'LIVE'),
    state(NOON, 'SENDING'),
    ...stepsOfExchange(exchange(), { create: [NOON] }),
  ]);
  const nameOf = ({ kind, what, said }: (typeof steps)[number]): unknown =>
    kind === 'state' ? said[0]?.facts.state : what.split(/[ ;,:]/)[0];
  expect(steps.map((one) => `${one.kind} ${nameOf(one)}`)).toEqual([
    'till The',
    'loss body.payment.installments',
    'state SENDING',
    'upstream Called',
    'upstream Called',
    'state LIVE',
    'notice A',
    'notice Delivered',
  ]);
  expect(steps[3]?.what).toContain('after 91.3 ms');
});

it('a call to the service stands between the row that was written for it and the answer', () => {
  const at = (change: Partial<StoredExchange>, row_at: number) =>
    stepsOfExchange(exchange(change), { create: [row_at] })
      .filter(({ kind }) => kind === 'upstream')
      .map((step) => Math.round(step.at - NOON));
  expect(at({ duration_ms: 200 }, NOON + 100)).toEqual([0, 100]);
  expect(at({ duration_ms: 200 }, NOON - 5_000), 'the row of an earlier call says nothing of this one').toEqual([
    0, 91,
  ]);
  expect(at({ duration_ms: 50 }, NOON + 10)).toEqual([0, 50]);
});

it('a notice is committed with its state, and never after its first attempt', () => {
  const made = (state_times: number[], tried_at: number) =>
    (stepsOfNotice({ notice, attempts: [{ ...attempt, at: tried_at }] }, state_times)[0]?.at ?? 0) - NOON;
  expect(made([NOON - 9, NOON + 34], NOON + 50)).toBe(34);
  expect(made([NOON - 9, NOON + 34], NOON + 20)).toBe(20);
  expect(made([NOON - 9, NOON + 60_000], NOON + 50)).toBe(0);
});

it('a refund on legacy that was answered only when it was sent again has both calls', async () => {
  const folder = newFolder();
  onTestFinished(() => folder.remove());
  const store = await openStore(folder.file('trace.db'));
  onTestFinished(() => store.close());
  const refund = newSale({ family: 'payments', work: 'refund', slot: null, state: 'ENDED', legacy_id: '77' });
  const of = { operation: 'payments.create_refund', merchant_id: refund.merchant_id };
  await store.exchanges.recordExchanges([
    newExchange({ ...of, at: NOON, legacy_id: refund.id, status: 504 }),
    newExchange({ ...of, at: NOON + 9_000, legacy_id: '77', status: 201 }),
    newExchange({ ...of, at: NOON + 9_500, legacy_id: '78', status: 201 }),
  ]);
  const { steps } = await storyOfSale(
    portsAt(store, () => NOON),
    { ...refund, updated_at: NOON + 9_100 },
  );
  expect(steps.map(({ kind, at }) => [kind, Date.parse(at) - NOON])).toEqual([
    ['till', 0],
    ['till', 9_000],
    ['state', 9_100],
  ]);
});
