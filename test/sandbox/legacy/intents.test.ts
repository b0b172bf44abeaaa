/** Get and cancel of an intent in every state, and what the person at the terminal and the clock make of it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { getIntentAnswer, type IntentState } from '../../../src/contract/legacy-point.ts';
import { operateWork } from '../../../src/sandbox/legacy/lifecycle.ts';
import type { TerminalAction } from '../../../src/sandbox/records.ts';
import { BASE, MINUTE_MS, MLA, MLB, NEWLAND, PAX, STANDALONE, startTill, type Till, UNKNOWN_ID } from './kit.ts';

let till: Till;
beforeEach(async () => {
  till = await startTill();
});
afterEach(() => till.close());

const get = (id: string, merchant = MLA) => till.call('GET', `${BASE}/payment-intents/${id}`, { merchant });
const cancel = (id: string, device = PAX, merchant = MLA) =>
  till.call('DELETE', `${BASE}/devices/${device}/payment-intents/${id}`, { merchant });
const refused = (status: number, error: string, message: string) => ({ status, body: { error, message, status } });

const ways: readonly (readonly [IntentState, readonly TerminalAction[]])[] = [
  ['OPEN', []],
  ['ON_TERMINAL', ['pick_up']],
  ['PROCESSING', ['pick_up', 'process']],
  ['FINISHED', ['pick_up', 'process', 'pay']],
  ['FINISHED', ['decline']],
  ['CONFIRMATION_REQUIRED', ['confirm_needed']],
  ['CANCELED', ['pick_up', 'cancel']],
  ['ERROR', ['error']],
];

describe('get', () => {
  it.each([
    ['unknown', UNKNOWN_ID],
    ['malformed', 'sale-77'],
  ])('404 for an id that is %s', async (_name, id) => {
    expect(await get(id)).toMatchObject(refused(404, '404', "Payment intent doesn't exist"));
  });

  it("404 for another merchant's", async () => {
    const id = await till.create();
    expect(await get(id, MLB)).toMatchObject(refused(404, '404', "Payment intent doesn't exist"));
  });

  it('401 without a token', async () => {
    const id = await till.create();
    expect((await till.call('GET', `${BASE}/payment-intents/${id}`, { token: null })).status).toBe(401);
  });

  it.each(ways)('shows %s after %j', async (state, actions) => {
    const id = await till.create();
    for (const action of actions) till.operate(action);
    const answer = await get(id);
    expect(answer).toMatchObject({ status: 200, body: { id, state, amount: 1500, device_id: PAX } });
    expect(getIntentAnswer.parse({ body: answer.body })).toEqual({ body: answer.body });
  });

  it('shows the keys in order, and the number of the payment as a JSON number', async () => {
    const id = await till.create({ amount: 1500, additional_info: { external_reference: 'sale 77' } });
    till.operate('pay', { payment_method_type: 'debit_card' });
    const { text } = await get(id);
    expect(text).toBe(
      `{"id":"${id}","state":"FINISHED","amount":1500,"device_id":"${PAX}",` +
        '"payment":{"id":131000000001,"type":"debit_card","installments":1},"additional_info":{"external_reference":"sale 77"}}',
    );
  });

  it('shows the preference before the payment, and its method afterwards', async () => {
    const payment = { type: 'credit_card', installments: 3, installments_cost: 'buyer' };
    const id = await till.create({ amount: 3000, description: 'Mesa 4', payment }, { merchant: MLB });
    const before = await get(id, MLB);
    expect(Object.keys(before.body)).toEqual(['id', 'state', 'amount', 'device_id', 'description', 'payment']);
    expect(before.body.payment).toEqual(payment);
    till.operate('pay', {}, { merchant: MLB });
    const after = await get(id, MLB);
    expect(JSON.stringify(after.body.payment)).toBe(
      '{"id":131000000001,"type":"credit_card","installments":3,"installments_cost":"buyer"}',
    );
  });

  it('reads an id in upper case, and ignores a JSON body on GET', async () => {
    const id = await till.create();
    const answer = await till.call('GET', `${BASE}/payment-intents/${id.toUpperCase()}`, { body: {} });
    expect(answer).toMatchObject({ status: 200, body: { id } });
  });
});

describe('cancel', () => {
  it('404 "101" for an unknown id, a wrong device, an unknown device, and another merchant', async () => {
    const id = await till.create();
    const gone = refused(404, '101', "Payment intent doesn't exist");
    expect(await cancel(UNKNOWN_ID)).toMatchObject(gone);
    expect(await cancel('sale-77')).toMatchObject(gone);
    expect(await cancel(id, NEWLAND)).toMatchObject(gone);
    expect(await cancel(id, 'PAX_A910__NOBODYS')).toMatchObject(gone);
    expect(await cancel(id, PAX, MLB)).toMatchObject(gone);
    expect((await get(id)).body.state).toBe('OPEN');
  });

  it.each(ways.filter(([state]) => state !== 'OPEN' && state !== 'CANCELED'))(
    '409 in %s after %j',
    async (state, actions) => {
      const id = await till.create();
      for (const action of actions) till.operate(action);
      expect(await cancel(id)).toMatchObject(refused(409, '409', 'Verify if the intent is already being processed'));
      expect((await get(id)).body.state).toBe(state);
    },
  );

  it('409 when it is ABANDONED', async () => {
    const id = await till.create();
    till.world.clock.advance(15 * MINUTE_MS);
    expect((await cancel(id)).status).toBe(409);
  });

  it('200 with the id while OPEN, and 404 "101" the second time', async () => {
    const id = await till.create();
    const answer = await till.call('DELETE', `${BASE}/devices/${PAX}/payment-intents/${id}`, { body: {} });
    expect(answer).toMatchObject({ status: 200, text: `{"id":"${id}"}` });
    expect((await get(id)).body).toMatchObject({ state: 'CANCELED' });
    expect(till.world.terminal(MLA, PAX)?.occupation).toBeNull();
    expect(await cancel(id)).toMatchObject(refused(404, '101', "Payment intent doesn't exist"));
  });
});

describe('at the terminal', () => {
  it('refuses an action that its state does not allow', async () => {
    await till.create();
    till.operate('pick_up');
    expect(() => till.operate('pick_up')).toThrow(/ON_TERMINAL/);
    till.operate('process');
    expect(() => till.operate('cancel')).toThrow(/PROCESSING/);
  });

  it('sees nothing while the terminal is in STANDALONE', async () => {
    await till.create({ amount: 1500 }, { device: STANDALONE });
    expect(() => till.operate('pay', {}, { device: STANDALONE })).toThrow(/PDV/);
  });

  it.each(ways.filter(([state]) => !['OPEN', 'ON_TERMINAL', 'PROCESSING'].includes(state)))(
    'frees the terminal in %s after %j, and acts no more on the intent',
    async (_state, actions) => {
      const intent = till.world.intents.get(await till.create());
      for (const action of actions) till.operate(action);
      expect(till.world.terminal(MLA, PAX)?.occupation).toBeNull();
      expect(() => intent && operateWork(till.world, intent, 'pay', {})).toThrow(/not possible/);
      expect(await till.create()).toMatch(/-/);
    },
  );

  it('passes through every state on the way to FINISHED', async () => {
    const intent = till.world.intents.get(await till.create());
    till.operate('pay');
    const states = intent?.history.map(({ state }) => state);
    expect(states).toEqual(['OPEN', 'ON_TERMINAL', 'PROCESSING', 'PROCESSED', 'FINISHED']);
  });

  it('keeps an approved and a rejected payment where /v1/payments finds them', async () => {
    const paid_id = await till.create({ amount: 1500, additional_info: { external_reference: 'sale 77' } });
    till.operate('pay', { tip_minor: 200 });
    const declined_id = await till.create({ amount: 1600 });
    till.operate('decline', { status_detail: 'insufficient_amount' });
    expect([...till.world.payments.values()]).toMatchObject([
      {
        status: 'approved',
        status_detail: 'accredited',
        amount_minor: 1500,
        tip_minor: 200,
        external_reference: 'sale 77',
        payment_method_id: 'master',
        origin: { kind: 'intent', id: paid_id },
      },
      {
        status: 'rejected',
        status_detail: 'cc_rejected_insufficient_amount',
        origin: { kind: 'intent', id: declined_id },
      },
    ]);
  });

  it('tells only the number of a payment whose outcome must be read on the terminal', async () => {
    const id = await till.create();
    till.operate('confirm_needed');
    expect((await get(id)).body.payment).toEqual({ id: 131_000_000_001 });
    expect(till.world.payments.size).toBe(0);
  });

  it('makes no payment of a canceled or failed intent', async () => {
    const id = await till.create();
    till.operate('error');
    expect((await get(id)).body).not.toHaveProperty('payment');
    expect(till.world.payments.size).toBe(0);
  });
});

describe('expiry', () => {
  it.each([[[]], [['pick_up']]] as const)('ABANDONED after 15 minutes, after %j', async (actions) => {
    const id = await till.create();
    for (const action of actions) till.operate(action);
    till.world.clock.advance(15 * MINUTE_MS - 1);
    expect((await get(id)).body.state).not.toBe('ABANDONED');
    till.world.clock.advance(1);
    expect((await get(id)).body.state).toBe('ABANDONED');
    expect(till.world.terminal(MLA, PAX)?.occupation).toBeNull();
  });

  it('lets a payment that is being processed come to its end', async () => {
    const id = await till.create();
    till.operate('process');
    till.world.clock.advance(60 * MINUTE_MS);
    expect((await get(id)).body.state).toBe('PROCESSING');
    till.operate('pay');
    expect((await get(id)).body.state).toBe('FINISHED');
  });

  it('does not touch a final state', async () => {
    const id = await till.create();
    till.operate('pay');
    till.world.clock.advance(60 * MINUTE_MS);
    expect((await get(id)).body.state).toBe('FINISHED');
  });

  it("follows the till's own lifetime in seconds", async () => {
    const headers = { 'X-Ttl-Store-Preference': '60' };
    const path = `${BASE}/devices/${PAX}/payment-intents`;
    const { body } = await till.call('POST', path, { headers, body: { amount: 1500 } });
    till.world.clock.advance(MINUTE_MS);
    expect((await get(body.id)).body.state).toBe('ABANDONED');
  });

  it('follows the setting', async () => {
    till.world.configure({ legacy_expiry_ms: 2 * MINUTE_MS });
    const id = await till.create();
    till.world.clock.advance(2 * MINUTE_MS);
    expect((await get(id)).body.state).toBe('ABANDONED');
  });

  it('forgets everything at a reset', async () => {
    const id = await till.create();
    await till.world.reset();
    expect((await get(id)).status).toBe(404);
    expect(await till.create()).not.toBe(id);
  });
});
