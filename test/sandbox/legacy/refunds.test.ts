/** Refund intents: refusals first, then the way over the terminal. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BASE, MINUTE_MS, MLA, MLB, NEWLAND, PAX, startTill, type Till, UNKNOWN_ID } from './kit.ts';

let till: Till;
beforeEach(async () => {
  till = await startTill();
});
afterEach(() => till.close());

const post = (body: unknown, device = PAX, merchant = MLA) =>
  till.call('POST', `${BASE}/devices/${device}/refund`, { merchant, body });
const get = (id: string, merchant = MLA) => till.call('GET', `${BASE}/refund/${id}`, { merchant });
const cancel = (id: string, device = PAX) => till.call('DELETE', `${BASE}/devices/${device}/refund/${id}`);

async function pay(): Promise<number> {
  const id = await till.create();
  till.operate('pay');
  return (await till.call('GET', `${BASE}/payment-intents/${id}`)).body.payment.id;
}

async function refund(): Promise<string> {
  const payment_id = await pay();
  return (await post({ payment_id: String(payment_id) })).body.id;
}

describe('refusals', () => {
  it('401 without a token', async () => {
    expect((await till.call('POST', `${BASE}/devices/${PAX}/refund`, { token: null, body: {} })).status).toBe(401);
  });

  it('400 for a body that names no payment', async () => {
    expect(await post('{')).toMatchObject({ status: 400, body: { message: 'Invalid JSON body' } });
    expect(await post({})).toMatchObject({ status: 400, body: { message: 'payment_id is required' } });
    for (const payment_id of ['PAY01', true, '1.5']) {
      expect(await post({ payment_id })).toMatchObject({ status: 400, body: { message: 'payment_id is not valid' } });
    }
    const flat = { payment_id: '1', additional_info: { print_on_terminal: true } };
    expect(await post(flat)).toMatchObject({
      status: 400,
      body: { message: 'additional_info.print_on_terminal is not valid' },
    });
  });

  it('404 for a device or a payment that is not found', async () => {
    const payment_id = await pay();
    expect(await post({ payment_id }, 'PAX_A910__NOBODYS')).toMatchObject({
      status: 404,
      body: { message: 'Device not found' },
    });
    const missing = { status: 404, body: { error: '404', message: 'Payment not found', status: 404 } };
    expect(await post({ payment_id: '1' })).toMatchObject(missing);
    expect(await post({ payment_id }, NEWLAND)).toMatchObject(missing); // another device than the one that took it
    expect(await post({ payment_id }, PAX, MLB)).toMatchObject(missing);
  });

  it('404 for a payment that was declined, or refunded already', async () => {
    await till.create();
    till.operate('decline');
    const [declined] = [...till.world.payments.keys()];
    expect((await post({ payment_id: declined })).status).toBe(404);
    const payment_id = await pay();
    await post({ payment_id });
    till.operate('pay');
    expect((await post({ payment_id })).status).toBe(404);
  });

  it('409 when something is queued on the device', async () => {
    const payment_id = await pay();
    await till.create();
    expect(await post({ payment_id })).toMatchObject({ status: 409, body: { error: '2205' } });
  });

  it('404 for a refund that is unknown, malformed, of another merchant, or a payment intent', async () => {
    const id = await refund();
    till.operate('pay');
    const intent = await till.create();
    for (const [wrong, merchant] of [
      [UNKNOWN_ID, MLA],
      ['x', MLA],
      [id, MLB],
      [intent, MLA],
    ] as const) {
      expect(await get(wrong, merchant)).toMatchObject({
        status: 404,
        body: { error: '404', message: "Refund intent doesn't exist" },
      });
    }
    expect((await till.call('GET', `${BASE}/payment-intents/${id}`)).status).toBe(404);
  });

  it('cancel: 404 "101" when unknown, elsewhere or canceled, 409 once it is on the terminal', async () => {
    const id = await refund();
    expect(await cancel(UNKNOWN_ID)).toMatchObject({ status: 404, body: { error: '101' } });
    expect(await cancel(id, NEWLAND)).toMatchObject({ status: 404, body: { error: '101' } });
    expect(await cancel(id)).toMatchObject({ status: 200, text: `{"id":"${id}"}` });
    expect(await cancel(id)).toMatchObject({ status: 404, body: { error: '101' } });
    const next = await refund();
    till.operate('pick_up');
    expect(await cancel(next)).toMatchObject({ status: 409, body: { error: '409' } });
  });

  it('knows no confirmation', async () => {
    await refund();
    expect(() => till.operate('confirm_needed')).toThrow(/not possible/);
  });
});

describe('the way of a refund', () => {
  it('answers create and get with the documented keys in order', async () => {
    const payment_id = String(await pay());
    const additional_info = { print_on_terminal: ['SELLER_TICKET', 'BUYER_TICKET'] };
    const created = await post({ payment_id, additional_info });
    const { id } = created.body;
    expect(created).toMatchObject({
      status: 200,
      text: JSON.stringify({ id, device_id: PAX, payment_id, additional_info }),
    });
    const read = await get(id);
    expect(read.text).toBe(JSON.stringify({ id, state: 'OPEN', device_id: PAX, payment_id, additional_info }));
  });

  it('refunds the payment when it is FINISHED, tip included', async () => {
    await till.create();
    till.operate('pay', { tip_minor: 100 });
    const [payment] = [...till.world.payments.values()];
    const { body } = await post({ payment_id: payment?.id });
    till.operate('pick_up');
    expect((await get(body.id)).body.state).toBe('ON_TERMINAL');
    till.operate('process');
    expect((await get(body.id)).body.state).toBe('PROCESSING');
    till.operate('pay');
    expect((await get(body.id)).body.state).toBe('FINISHED');
    expect(payment).toMatchObject({ status: 'refunded', refunded_minor: 1600 });
    expect(till.world.terminal(MLA, PAX)?.occupation).toBeNull();
  });

  it.each([
    ['decline', 'ERROR'],
    ['error', 'ERROR'],
    ['cancel', 'CANCELED'],
  ] as const)('leaves the payment alone after %s', async (action, state) => {
    const id = await refund();
    till.operate(action);
    expect((await get(id)).body.state).toBe(state);
    expect([...till.world.payments.values()]).toMatchObject([{ status: 'approved', refunded_minor: 0 }]);
  });

  it('is ABANDONED when nobody takes it up', async () => {
    const id = await refund();
    till.world.clock.advance(15 * MINUTE_MS);
    expect((await get(id)).body.state).toBe('ABANDONED');
  });

  it('leaves the refunded intent FINISHED', async () => {
    const intent = await till.create();
    till.operate('pay');
    const { payment } = (await till.call('GET', `${BASE}/payment-intents/${intent}`)).body;
    await post({ payment_id: payment.id });
    till.operate('pay');
    expect((await till.call('GET', `${BASE}/payment-intents/${intent}`)).body).toMatchObject({
      state: 'FINISHED',
      payment,
    });
  });
});
