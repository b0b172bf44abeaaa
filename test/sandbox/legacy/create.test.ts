/** Create of a payment intent: every refusal first, then what is kept and echoed at each site. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createIntentAnswer } from '../../../src/contract/legacy-point.ts';
import { BASE, type CallOptions, MLA, MLB, MLM, NEWLAND, PAX, STANDALONE, startTill, type Till } from './kit.ts';

let till: Till;
beforeEach(async () => {
  till = await startTill();
});
afterEach(() => till.close());

const path = (device = PAX): string => `${BASE}/devices/${device}/payment-intents`;
const post = (options: CallOptions, device = PAX) => till.call('POST', path(device), options);
const refused = (status: number, error: string, message: string) => ({ status, body: { error, message, status } });

describe('refusals', () => {
  it.each([
    ['no token', null],
    ['an unknown token', 'APP_USR-4004001-112026-00000000000000000000000000000a99-700100200'],
  ])('401 with %s', async (_name, token) => {
    expect(await post({ token, body: { amount: 1500 } })).toMatchObject(refused(401, '401', 'unauthorized'));
  });

  it.each([
    ['no body', undefined],
    ['broken JSON', '{"amount":'],
    ['a list', '[1]'],
    ['null', 'null'],
    ['a key given twice', '{"amount":1500,"amount":1600}'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('400 with %s', async (_name, body) => {
    expect(await post({ body })).toMatchObject(refused(400, '400', 'Invalid JSON body'));
  });

  it('400 without an amount', async () => {
    expect(await post({ body: { additional_info: {} } })).toMatchObject(refused(400, '400', 'amount is required'));
  });

  it.each(['15.5', '12.34', '"1500"', 'null', 'true', '{}'])('400 with the amount %s', async (amount) => {
    expect(await post({ body: `{"amount":${amount}}` })).toMatchObject(refused(400, '400', 'amount is not valid'));
  });

  it.each([
    [MLA, 1499, 1500],
    [MLA, 0, 1500],
    [MLA, -1500, 1500],
    [MLB, 99, 100],
    [MLM, 499, 500],
  ])('400 at merchant %s for %i, with the minimum as the last word', async (merchant, amount, minimum) => {
    const answer = await post({ merchant, body: { amount } });
    expect(answer).toMatchObject(refused(400, '400', `amount: Must be greater than or equal to ${minimum}`));
  });

  it.each([
    [MLA, '400000001', 400_000_000],
    [MLB, '7000001', 7_000_000],
    [MLM, '123456789012345678901234567890', 35_000_000],
  ])('400 at merchant %s for %s, above the maximum', async (merchant, amount, maximum) => {
    const answer = await post({ merchant, body: `{"amount":${amount}}` });
    expect(answer).toMatchObject(refused(400, '400', `amount: Must be less than or equal to ${maximum}`));
  });

  it.each(['description', 'external_reference', 'payment'])('400 in Mexico for a top-level %s', async (name) => {
    const answer = await post({ merchant: MLM, body: { amount: 1500, [name]: 'x' } });
    expect(answer).toMatchObject(refused(400, '400', `Additional property ${name} is not allowed`));
  });

  it('400 in Mexico for what it does not know, inside additional_info as well', async () => {
    const top = await post({ merchant: MLM, body: { amount: 1500, shift: 3 } });
    expect(top).toMatchObject(refused(400, '400', 'Additional property shift is not allowed'));
    const inside = await post({ merchant: MLM, body: { amount: 1500, additional_info: { table: 4 } } });
    expect(inside).toMatchObject(refused(400, '400', 'Additional property table is not allowed'));
  });

  it.each([
    ['additional_info', { additional_info: 'sale-77' }],
    ['additional_info.print_on_terminal', { additional_info: { print_on_terminal: 'yes' } }],
    ['additional_info.external_reference', { additional_info: { external_reference: 77 } }],
    ['description', { description: 5 }],
    ['payment.type', { payment: { type: 'cash' } }],
    ['payment.installments', { payment: { type: 'credit_card', installments: 73 } }],
    ['payment.installments', { payment: { type: 'credit_card', installments: 0 } }],
    ['payment.installments', { payment: { type: 'debit_card', installments: 1 } }],
    ['payment.installments', { payment: { type: 'credit_card', installments: 4 } }], // 3.75 each, below 5.00
    ['payment.installments_cost', { payment: { type: 'debit_card', installments_cost: 'seller' } }],
    ['payment.installments_cost', { payment: { type: 'credit_card', installments_cost: 'bank' } }],
    ['payment.voucher_type', { payment: { type: 'credit_card', voucher_type: 'sodexo' } }],
    ['payment.voucher_type', { payment: { type: 'voucher_card', voucher_type: 'lunch' } }],
  ])('400 in Brazil when %s is not valid', async (property, extra) => {
    const answer = await post({ merchant: MLB, body: { amount: 1500, ...extra } });
    expect(answer).toMatchObject(refused(400, '400', `${property} is not valid`));
  });

  it('403 for a device that is not there', async () => {
    const answer = await post({ body: { amount: 1500 } }, 'PAX_A910__NOBODYS');
    expect(answer).toMatchObject(refused(403, '403', 'Forbidden Error checking device owner'));
  });

  it('400 for what can not be a device id', async () => {
    const answer = await post({ body: { amount: 1500 } }, 'a%20b');
    expect(answer).toMatchObject(refused(400, '400', 'device_id is not valid'));
  });

  it('409 when an intent is queued on the device', async () => {
    await till.create();
    const answer = await post({ body: { amount: 1500 } });
    expect(answer).toMatchObject(refused(409, '2205', 'There is already a queued intent for the device'));
    expect(answer.body).not.toHaveProperty('id');
  });

  it('409 when an order of the new API is queued on the device', async () => {
    const terminal = till.world.terminal(MLA, PAX);
    if (terminal === undefined) throw new Error('the cast has no such terminal');
    till.world.occupy(terminal, { kind: 'order', id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD' });
    expect(await post({ body: { amount: 1500 } })).toMatchObject({ status: 409, body: { error: '2205' } });
  });

  it('413 for a body beyond any real one', async () => {
    const answer = await post({ body: { amount: 1500, additional_info: { external_reference: 'x'.repeat(300_000) } } });
    expect(answer).toMatchObject(refused(413, '413', 'Request body is too large'));
  });

  it('415 for an encoding nobody knows', async () => {
    const answer = await post({ headers: { 'content-encoding': 'zip' }, body: { amount: 1500 } });
    expect(answer).toMatchObject(refused(415, '415', 'Content type is not supported'));
  });
});

describe('acceptance', () => {
  it('answers with the documented keys in order and queues the intent', async () => {
    const body =
      '{"amount":1500,"additional_info":{"external_reference":"Pedido 002","print_on_terminal":true,"ticket_number":"T1","rate":1.10}}';
    const answer = await post({ body });
    expect(answer.status).toBe(201);
    expect(answer.body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    expect(answer.text).toBe(
      `{"id":"${answer.body.id}","device_id":"${PAX}","amount":1500,"additional_info":{"external_reference":"Pedido 002",` +
        '"print_on_terminal":true,"ticket_number":"T1","rate":1.10},"payment_mode":"card"}',
    );
    expect(till.world.terminal(MLA, PAX)?.occupation).toMatchObject({ kind: 'intent', id: answer.body.id });
  });

  it('echoes description and payment in Brazil, voucher cards included', async () => {
    const payment = { type: 'voucher_card', voucher_type: 'alelo', note: 'kept' };
    const answer = await post({ merchant: MLB, body: { payment, description: 'Mesa 4', amount: 100 } });
    expect(Object.keys(answer.body)).toEqual(['id', 'device_id', 'amount', 'description', 'payment', 'payment_mode']);
    expect(answer.body).toMatchObject({ description: 'Mesa 4', payment });
    expect(createIntentAnswer.safeParse({ body: answer.body }).success).toBe(true);
  });

  it('ignores what Argentina does not know', async () => {
    const body = {
      amount: 1500,
      description: 'Mesa 4',
      payment: { type: 'cash' },
      external_reference: 'top',
      notification_url: 'https://till.example/notices',
      unheard_of: 1,
    };
    const answer = await post({ body });
    expect(Object.keys(answer.body)).toEqual(['id', 'device_id', 'amount', 'payment_mode']);
  });

  it('takes a body without content type, a test scope, and a device in STANDALONE', async () => {
    const answer = await post({ headers: { 'X-Test-Scope': 'sandbox' }, body: { amount: 1500 } }, STANDALONE);
    expect(answer.status).toBe(201);
  });

  it('takes the largest amount, and one instalment of any amount', async () => {
    expect((await post({ body: { amount: 400_000_000 } })).status).toBe(201);
    const payment = { type: 'credit_card', installments: 1, installments_cost: 'seller' };
    expect((await post({ merchant: MLB, body: { amount: 100, payment } })).status).toBe(201);
  });
});

describe('idempotency key', () => {
  const keyed = (body: object, device = PAX) => post({ headers: { 'X-Idempotency-Key': 'key-1' }, body }, device);

  it('gives the same intent for the same key and body while it is not over', async () => {
    const first = await keyed({ amount: 1500 });
    till.operate('pick_up');
    const second = await keyed({ amount: 1500 });
    expect(second).toEqual(first);
  });

  it('makes a new sale of the same key and body once the first is over', async () => {
    const first = await keyed({ amount: 1500 });
    till.operate('pay');
    const second = await keyed({ amount: 1500 });
    expect(second.status).toBe(201);
    expect(second.body.id).not.toBe(first.body.id);
  });

  it('refuses another body, and no key at all, while the first is open', async () => {
    await keyed({ amount: 1500 });
    expect((await keyed({ amount: 1600 })).status).toBe(409);
    expect((await post({ body: { amount: 1500 } })).status).toBe(409);
  });

  it('does not join sales on two devices', async () => {
    const first = await keyed({ amount: 1500 });
    const second = await keyed({ amount: 1500 }, NEWLAND);
    expect(second.status).toBe(201);
    expect(second.body.id).not.toBe(first.body.id);
  });
});
