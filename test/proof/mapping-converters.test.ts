/** Every converter alone: the values that it accepts, loses and refuses. */
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { converters } from '../../src/mapping/converters.ts';
import { detailConverters } from '../../src/mapping/errors.ts';
import {
  type Converted,
  dateTime,
  exponentOf,
  instant,
  isNumberText,
  offsetTime,
  text,
  wholeNumber,
} from '../../src/mapping/values.ts';
import { anyText } from '../any-text.ts';

const exact = (number: string) => new LosslessNumber(number);
const PESOS = { exponent: 2, currency: 'ARS' };
const AT = '2026-01-05T14:00:03Z';
const THERE = '2026-01-05T10:00:03.000-04:00';

function convert(name: string, value: unknown, reads: unknown[] = [], context: Record<string, unknown> = PESOS) {
  const converter = converters[name];
  if (!converter) throw new Error(`no converter ${name}`);
  return converter.convert(value, { reads, context });
}

const value = (of: unknown): Converted => ({ value: of });
const refused = (detail: string): Converted => ({ refusal: { error: 'invalid_property', detail } });

type Case = [name: string, value: unknown, reads: unknown[], expected: Converted, context?: Record<string, unknown>];

describe('payments', () => {
  it.each<Case>([
    ['sale_number', 1500, ['16.00'], value(16)],
    ['sale_number', 1500, ['much'], value(15)],
    ['sale_number', 1500, ['120.50'], value(120.5)],
    ['sale_number', 'x', [undefined], {}],
    ['sale_number', 'x', ['1'], {}, {}],
    ['payment_status', 'processed', [], value('approved')],
    ['payment_status', 'created', [], value('pending')],
    ['payment_status', 'refunded', [], value('refunded')],
    ['payment_status', 'canceled', [], value('cancelled')],
    ['payment_status', 'expired', [], value('cancelled')],
    ['payment_status', 'failed', [], value('rejected')],
    ['payment_status', 'teleported', [], value('in_process')],
    ['payment_status', 'processed', ['in_review'], value('in_process')],
    ['payment_status', 'failed', ['in_review'], value('rejected')],
    ['payment_status', 'processed', [undefined, 'created'], value('pending')],
    ['payment_status', 'processed', ['in_review', 'failed'], value('rejected')],
    ['payment_status_detail', 'processed', ['accredited'], value('accredited')],
    ['payment_status_detail', 'canceled', ['canceled_by_api'], value('by_collector')],
    ['payment_status_detail', 'partially_refunded', ['accredited'], value('partially_refunded')],
    ['payment_status_detail', 'processed', [], value('accredited')],
    ['payment_status_detail', 'refunded', [], value('refunded')],
    ['minor_number', 1550, [], value(15.5)],
    ['minor_number', 'x', [], {}],
    ['refund_number', 9, ['17'], value(17)],
    ['refund_number', 9, ['REF1'], value(9)],
    ['refund_status', 'processed', [], value('approved')],
    ['refund_status', 'processing', [], value('approved')],
    ['refund_status', 'failed', [], value('rejected')],
    ['refund_status', 'lost', [], value('in_process')],
    ['only_refunded', 'refunded', [], value('refunded')],
    ['only_refunded', 'canceled', [], { refusal: { error: 'state_refuses', detail: '' } }],
    ['exact_number', '4711', [], value(4711)],
    ['exact_number', '2326513804447055222', [], value('2326513804447055222')],
    ['coupon_fee', [{ type: 'coupon_fee', amount: 1.5 }], [], value(1.5)],
    ['finance_fee', [null, { type: 'finance_fee', amount: 2 }], [], value(2)],
    ['discount_fee', [], [], value(0)],
    ['application_fee', 'none', [], {}],
    ['number_text', 7, [], value('7')],
    ['or_null', undefined, [], value(null)],
    ['or_null', 0, [], value(0)],
    ['offset_time', 0, [AT], value(THERE)],
    ['offset_time', AT, ['never'], value(THERE)],
    ['offset_time', Date.parse(AT), [], value(THERE)],
    ['approved_time', AT, ['processed'], value(THERE)],
    ['approved_time', AT, ['refunded'], value(THERE)],
    ['approved_time', AT, ['created'], value(null)],
    ['is_paid', 'processed', [], value(true)],
    ['is_paid', 'refunded', [], value(true)],
    ['is_paid', 'failed', [], value(false)],
  ])('%s of %s with %j', (name, given, reads, expected, context = PESOS) => {
    expect(convert(name, given, reads, context)).toEqual(expected);
  });
});

describe('merchant orders', () => {
  it.each<Case>([
    ['merchant_order_status', 'paid', [], value('closed')],
    ['merchant_order_status', 'partially_reverted', [], value('closed')],
    ['merchant_order_status', 'reverted', [], value('closed')],
    ['merchant_order_status', 'expired', [], value('expired')],
    ['merchant_order_status', 'payment_required', [], value('opened')],
    ['is_canceled', 'canceled', [], value(true)],
    ['is_canceled', 'expired', [], value(false)],
    ['asked_notice_url', { notification_url: 'https://a.example' }, [], value('https://a.example')],
    ['asked_notice_url', { notification_url: '' }, [], value(null)],
    ['asked_notice_url', { notification_url: 5 }, [], value(null)],
    ['asked_sponsor', { sponsor_id: 7 }, [], value('7')],
    ['asked_sponsor', { sponsor_id: null, sponsor: { id: '8' } }, [], value('8')],
    ['asked_sponsor', { sponsor: null }, [], value(null)],
    ['approved_sum', 1, ['processed', '', '20.00'], value(20)],
    ['approved_sum', 1, ['refunded', '', 'x', [{ amount: '21.00' }]], value(21)],
    ['approved_sum', 1, ['processed', '', 'x', []], value(7), { ...PESOS, amount_minor: 700 }],
    ['approved_sum', 1, ['processed', '', 'x', undefined], value(0)],
    ['approved_sum', 1, ['created', '', '20.00'], value(0)],
    ['paid_sum', 1, ['processed', '', '20.00', [{ amount: '15.00', paid_amount: '18.00' }]], value(23)],
    ['paid_sum', 1, ['failed', '', '20.00', [{ amount: '20.00' }]], value(0)],
    ['refunded_sum', 1, ['processed', '', '20.00', [{ amount: '20.00', refunded_amount: '5.00' }]], value(5)],
    ['refunded_sum', 1, ['processed', '', '20.00', [{ amount: '20.00' }]], value(0)],
    ['refunded_sum', 1, ['refunded', '', '20.00', [{ amount: '20.00', paid_amount: '18.00' }]], value(18)],
    ['refunded_sum', 1, ['refunded', '', '20.00', [{ amount: '15.00', paid_amount: '18.00' }]], value(23)],
    ['refunded_sum', 1, ['refunded', '', '20.00', []], value(20)],
    ['refunded_sum', 1, ['expired', '', '20.00'], value(0)],
  ])('%s of %j with %j', (name, given, reads, expected, context = PESOS) => {
    expect(convert(name, given, reads, context)).toEqual(expected);
  });

  const paidAs = (reads: unknown[], context: Record<string, unknown> = PESOS) =>
    convert('merchant_order_payments', '131', reads, context).value;

  it('have the payment of a paid order', () => {
    const payments = [{ amount: '20.00', paid_amount: '18.00', refunded_amount: '5.00' }];
    const all = {
      id: 131,
      transaction_amount: 20,
      total_paid_amount: 18,
      shipping_cost: 0,
      currency_id: 'ARS',
      status: 'approved',
      status_detail: 'accredited',
      operation_type: 'regular_payment',
      date_approved: THERE,
      date_created: THERE,
      last_modified: THERE,
      amount_refunded: 5,
    };
    expect(paidAs(['processed', 'x', '20.00', payments, AT])).toEqual([all]);
    expect(paidAs(['processed', 'partially_refunded', '20.00', payments, AT])).toEqual([
      { ...all, status_detail: 'partially_refunded' },
    ]);
    const refunded = { ...all, status: 'refunded', status_detail: 'refunded', amount_refunded: 18 };
    expect(paidAs(['refunded', 'x', '20.00', payments, AT])).toEqual([refunded]);
    expect(paidAs(['processed', 'x', '20.00', payments], { ...PESOS, created_at: Date.parse(AT) })).toEqual([all]);
  });

  it('have none before it is paid, nor one without a number', () => {
    expect(paidAs(['created', 'x', '20.00', []])).toEqual([]);
    expect(convert('merchant_order_payments', 'PAY1', ['processed', 'x', '20.00', []]).value).toEqual([]);
  });

  it('have the items of v2 and of v1 as they were sent', () => {
    const item = { title: 'Tea', unit_price: exact('20.50'), quantity: 2 };
    const made = (asked: object) => convert('asked_items', asked).value;
    const common = {
      title: 'Tea',
      description: '',
      category_id: '',
      picture_url: null,
      currency_id: 'ARS',
      quantity: 2,
      unit_price: 20.5,
    };
    const more = {
      sku_number: 7,
      id: 'a',
      category: 'drinks',
      description: 'hot',
      picture_url: 'u',
      currency_id: 'BRL',
    };
    const written = {
      title: 'Tea',
      description: 'hot',
      picture_url: 'u',
      currency_id: 'BRL',
      quantity: 2,
      unit_price: 20.5,
    };
    expect(made({ total_amount: 41, items: [item, { ...item, ...more }] })).toEqual([
      { id: '', ...common },
      { id: '7', category_id: 'drinks', ...written },
    ]);
    expect(made({ items: [item, { ...item, ...more }] })).toEqual([
      { id: '', ...common },
      { id: 'a', category_id: '', ...written },
    ]);
    expect(made({ items: [{ ...item, title: 5, unit_price: 'free', quantity: 0 }] })).toEqual([
      { ...common, id: '', title: '', unit_price: 0, quantity: null },
    ]);
    expect([made({ items: null }), made({})]).toEqual([[], []]);
    expect(convert('asked_items', { items: [item] }, [], {}).value).toEqual([{ id: '', ...common, currency_id: '' }]);
  });
});

describe('points', () => {
  it.each<Case>([
    ['amount_text', 1500, [], value('15.00')],
    ['amount_of_order', 1500, ['16.00'], value(1600)],
    ['amount_of_order', 1500, ['x'], value(1500)],
    ['amount_of_order', 1500, ['16'], value(1600)],
    ['amount_of_order', 1500, ['15.005'], value(1500)],
    ['amount_of_order', 1500, [undefined], value(1500), {}],
    ['whole_number', '12a', [], {}],
    ['whole_number', '0042', [], value(42)],
    ['second_instant', Number.NaN, [], value(undefined)],
    ['date_time', 'yesterday', [], value(undefined)],
    [
      'short_description',
      `${'x'.repeat(149)}😀 more`,
      [],
      { value: `${'x'.repeat(149)}😀`, loss: expect.stringContaining('150') },
    ],
    ['short_description', 'x'.repeat(150), [], value('x'.repeat(150))],
    ['ticket_choice', true, [], value('seller_ticket')],
    ['ticket_choice', false, [], value('no_ticket')],
    ['payment_type', 'credit_card', [], value('credit_card')],
    ['payment_type', 'debit_card', [], value('debit_card')],
    ['payment_type', 'cash', [], refused('payment.type')],
    ['voucher', 'alelo', [], refused('payment.voucher_type')],
    ['with_credit_card', 3, ['credit_card'], value(3)],
    ['with_credit_card', 3, ['debit_card'], { loss: expect.stringContaining('credit_card only') }],
    ['filled', '', [], {}],
    ['filled', 'x', [], value('x')],
    ['page_size', '0', [], value('1')],
    ['page_size', '30', [], value('30')],
    ['page_size', '500', [], value('50')],
    ['digits_or_null', '', [], value(null)],
    ['digits_or_null', 7, [], value('7')],
    ['operating_mode', 'PDV', [], value('PDV')],
    ['operating_mode', 'STANDALONE', [], value('STANDALONE')],
    [
      'operating_mode',
      'OTHER',
      [],
      { value: 'STANDALONE', loss: expect.stringContaining('OTHER shows as STANDALONE') },
    ],
    ['paid_type', 'credit_card', ['131', 'visa'], value('visa')],
    ['paid_type', 'credit_card', ['131', 5], value('credit_card')],
    ['paid_type', 'credit_card', ['', 'visa'], value('credit_card')],
    ['paid_type', 7, [undefined], value(undefined)],
    ['paid_installments', 3, ['131', '6'], value(6)],
    ['paid_installments', 3, ['131', 'x'], value(3)],
    ['paid_installments', 3, ['', '6'], value(3)],
    ['application_number', undefined, ['4004001'], value(4004001)],
    ['application_number', 7, ['4004001'], value(7)],
    ['announced_payment_id', '131', [], value(131), { state: 'FINISHED' }],
    ['announced_payment_id', '131', [], value(131), { state: 'CONFIRMATION_REQUIRED' }],
    ['announced_payment_id', '131', [], {}, { state: 'CANCELED' }],
    ['announced_payment_state', 'FINISHED', [], value('approved'), { payment_state: 'approved' }],
    ['announced_payment_state', 'CONFIRMATION_REQUIRED', [], value('')],
    ['announced_payment_state', 'ERROR', [], {}],
    ['announced_payment_type', 'FINISHED', ['visa'], value('visa')],
    ['announced_payment_type', 'FINISHED', [5], value('')],
    ['second_instant', Date.parse(AT), [], value(AT)],
    ['date_time', Date.parse(AT), [], value('2026-01-05 14:00:03')],
    [
      'history',
      [{ payment_intent_id: 'i', status: 'OPEN', created_on: Date.parse(AT), more: 1 }],
      [],
      value([{ payment_intent_id: 'i', status: 'OPEN', created_on: AT }]),
    ],
    ['lifetime', '30', [], value('PT30S')],
    ['lifetime', '29', [], { value: 'PT30S', loss: 'a Point order can be paid for 30 to 10800 seconds; taken as 30' }],
    [
      'lifetime',
      '10801',
      [],
      { value: 'PT10800S', loss: 'a Point order can be paid for 30 to 10800 seconds; taken as 10800' },
    ],
    ['lifetime', '1234567890', [], { loss: expect.stringContaining('not a number of seconds') }],
    ['lifetime', 'x9', [], { loss: expect.stringContaining('not a number of seconds') }],
    ['lifetime', '9x', [], { loss: expect.stringContaining('not a number of seconds') }],
    ['lifetime', '-1', [], { loss: expect.stringContaining('not a number of seconds') }],
    ['lifetime', '1.5', [], { loss: expect.stringContaining('not a number of seconds') }],
    ['lifetime', '', [], { loss: expect.stringContaining('not a number of seconds') }],
    ['lifetime', '1e3', [], { loss: expect.stringContaining('not a number of seconds') }],
    ['lifetime', '0', [], { value: 'PT30S', loss: expect.any(String) }],
    ['lifetime', '10800', [], value('PT10800S')],
    ['lifetime', '0600', [], value('PT600S')],
  ])('%s of %s with %j', (name, given, reads, expected, context = PESOS) => {
    expect(convert(name, given, reads, context)).toEqual(expected);
  });

  it('refuse a voucher as the merchant wants it, and say which limitation it meets', () => {
    expect(convert('payment_type', 'voucher_card')).toEqual({
      refusal: { error: 'invalid_property', detail: 'payment.type', limitation: 'LIM-07' },
    });
    expect(convert('payment_type', 'voucher_card', [], { voucher: 'drop' })).toEqual({
      loss: 'orders have no counterpart of voucher_card; the preference is dropped',
    });
  });
});

describe('QR sales', () => {
  const sum = (...items: [price: unknown, quantity: unknown][]) =>
    items.map(([unit_price, quantity]) => ({ title: 'x', unit_price, quantity }));
  const whole = (...totals: unknown[]) => totals.map((total_amount) => ({ title: 'x', total_amount }));

  it.each<Case>([
    ['items_total', sum([150.5, 2], ['10', 1]), [], value('311.00')],
    ['items_total', sum([20, 2]), [], value('40'), { exponent: 0 }],
    ['items_total', sum([0.05, 1]), [], value('0.05')],
    ['items_total', sum(['much', 2]), [], refused('items.unit_price')],
    ['items_total', sum([5, 'many']), [], refused('items.amount')],
    ['items_total', [], [], refused('items.amount')],
    ['agreed_total', 30, [whole(10, 20)], value('30.00')],
    ['agreed_total', 35, [whole(10, 20), 5], value('35.00')],
    ['agreed_total', 5, [undefined, 5], value('5.00')],
    ['agreed_total', 30, [whole(30), null], value('30.00')],
    ['agreed_total', 31, [whole(10, 20)], refused('total_amount')],
    ['agreed_total', 30, [whole(10, 'x')], refused('items.total_amount')],
    ['agreed_total', 30, [whole(30), 'x'], refused('cash_out.amount')],
    ['agreed_total', 0, [whole(0)], refused('total_amount')],
    ['agreed_total', 'x', [whole(0)], refused('total_amount')],
    ['agreed_total', 30, [[]], { refusal: { error: 'cash_out_required', detail: '' } }],
    ['agreed_total', 30, [undefined, 0], { refusal: { error: 'cash_out_required', detail: '' } }],
    ['sale_part', 35, [5], value('30.00')],
    ['sale_part', 35, [undefined], value('35.00')],
    ['sale_part', 5, [5], {}],
    ['sale_part', 'x', [undefined], {}],
    ['price_text', 1.5, [], value('1.50')],
    ['price_text', exact('1.500'), [], value('1.50')],
    ['price_text', exact('1.505'), [], refused('items.unit_price')],
    ['fee_text', 0, [], {}],
    ['fee_text', '0.00', [], {}],
    ['fee_text', '10', [], value('10.00')],
    ['fee_text', 'x', [], refused('marketplace_fee')],
    ['cash_text', '00', [], {}],
    ['cash_text', 5, [], value('5.00')],
    ['cash_text', '5.001', [], refused('cash_out.amount')],
    ['notice_url', 'ftp://x', [], refused('notification_url'), { mode: 'dynamic' }],
    ['notice_url', 'https://x', [], {}, { mode: 'dynamic' }],
    ['notice_url', 'http://x', [], {}, { mode: 'dynamic' }],
    ['notice_url', 'https://', [], refused('notification_url'), { mode: 'dynamic' }],
    ['notice_url', 'x https://x', [], refused('notification_url'), { mode: 'dynamic' }],
    ['notice_url', '', [], {}, { mode: 'dynamic' }],
    ['notice_url', 'ftp://x', [], refused('notification_url'), { mode: 'static' }],
    ['notice_url', 'x', [], {}, { mode: 'static' }],
    ['line_total', 301, [150.5, 2], {}],
    ['line_total', 300, [150.5, 2], refused('items.total_amount')],
    ['line_total', 301, ['x', 2], refused('items.total_amount')],
    ['line_total', 0, [150.5, 'x'], {}],
    ['line_total', 'x', ['x', 2], {}],
    ['own_currency', 'ARS', [], {}],
    ['own_currency', 'BRL', [], refused('items.currency_id')],
    ['own_currency', 'BRL', [], {}, { currency: 'XXX' }],
    ['quantity_number', '2.0', [], value(2)],
    ['short_title', 'x'.repeat(150), [], value('x'.repeat(150))],
    [
      'short_title',
      'x'.repeat(151),
      [],
      { value: 'x'.repeat(150), loss: 'orders take 150 characters here; the rest is cut' },
    ],
    ['short_title', '💳'.repeat(150), [], value('💳'.repeat(150))],
    ['short_title', '💳'.repeat(151), [], { value: '💳'.repeat(150), loss: expect.any(String) }],
    ['short_measure', 'kilogramos', [], value('kilogramos')],
    ['short_measure', 'kilogramosx', [], { value: 'kilogramos', loss: expect.stringContaining('10') }],
    ['short_code', '', [], {}],
    ['short_code', 7, [], value('7')],
    ['short_code', 'x'.repeat(30), [], value('x'.repeat(30))],
    ['short_code', 'x'.repeat(31), [], { loss: expect.stringContaining('30 characters') }],
    ['sponsor_text', '', [], {}],
    ['sponsor_text', 0, [], {}],
    ['sponsor_text', '0', [], {}],
    ['sponsor_text', 7, [], value('7')],
    ['dev_id', '', [], {}],
    ['dev_id', 'dev_1', [], value('dev_1')],
    ['dev_id', 'dev_', [], { loss: expect.stringContaining('dev_') }],
    ['dev_id', 'x', [], { loss: expect.stringContaining('dev_') }],
    ['qr_lifetime', '300', [], value('PT300S')],
    ['qr_lifetime', '29', [], { value: 'PT30S', loss: 'an order can be paid for 30 to 12960000 seconds; taken as 30' }],
    ['qr_lifetime', '99999999', [], { value: 'PT12960000S', loss: expect.stringContaining('taken as 12960000') }],
    ['qr_lifetime', '0', [], { value: 'PT600S', loss: expect.stringContaining('taken as 600') }],
    ['qr_lifetime', 'x1', [], { value: 'PT600S', loss: expect.stringContaining('taken as 600') }],
    ['qr_lifetime', '1x', [], { value: 'PT600S', loss: expect.stringContaining('taken as 600') }],
    ['life_until', undefined, [undefined], {}],
    ['life_until', 'PT9S', [undefined], value('PT9S')],
    ['application_or_seller', 9, [{ application_id: '4004001' }], value(4004001)],
    ['application_or_seller', 9, [undefined], value(9)],
    ['sponsor_number', { sponsor_id: '5' }, [], value(5)],
    ['sponsor_number', { sponsor_id: 0 }, [], value(null)],
    ['minor_number', 1550, [], value(15.5)],
    ['fee_number', '1.50', [], value(1.5)],
    ['fee_number', undefined, [], value(0)],
    ['or_empty', undefined, [], value('')],
    ['or_empty', 0, [], value(0)],
    ['sent_items', { items: null }, [], value([])],
  ])('%s of %j with %j', (name, given, reads, expected, context = PESOS) => {
    expect(convert(name, given, reads, context)).toEqual(expected);
  });

  it('live until the moment that they name', () => {
    const received_at = Date.parse(AT);
    const until = (date: unknown) => convert('life_until', 'PT9S', [date], { received_at });
    expect(until('2026-01-05T14:10:03Z')).toEqual(value('PT600S'));
    expect(until('2026-01-05T10:10:03.500-0400')).toEqual(value('PT600S'));
    expect(until('2026-01-05T14:10-00:00')).toEqual(value('PT597S'));
    expect(until('2026-01-05T14:00:04Z')).toMatchObject({ value: 'PT30S', loss: expect.any(String) });
    for (const none of [
      AT,
      '2026-01-05T13:00:00Z',
      'soon',
      '2026-02-31T14:00:00Z',
      '2026-13-05T14:00:00Z',
      `x${AT}`,
      `${AT}x`,
    ]) {
      expect(until(none), none).toEqual(refused('expiration_date'));
    }
  });

  it('send their items back as v1 wrote them', () => {
    const first = {
      id: 7,
      title: 'Tea',
      unit_price: '20.50',
      quantity: '2',
      currency_id: 'BRL',
      description: 'hot',
      picture_url: 'u',
    };
    const second = { sku_number: 'sku', title: 'Tea', unit_price: 'x', quantity: 0 };
    expect(convert('sent_items', { items: [first, second, { title: 'x' }] }).value).toEqual([
      { ...first, id: '7', unit_price: 20.5, quantity: 2 },
      { id: 'sku', title: 'Tea', currency_id: 'ARS', unit_price: 0, quantity: null, description: '', picture_url: '' },
      { id: '', title: 'x', currency_id: 'ARS', unit_price: 0, quantity: null, description: '', picture_url: '' },
    ]);
  });

  it('of more than ten items become ten, of the same sum', () => {
    const item = (number: number) => ({ title: `Item ${number}`, unit_price: '1.10', quantity: number });
    const items = (count: number) => Array.from({ length: count }, (_, index) => item(index + 1));
    expect(convert('ten_items', [])).toEqual({});
    expect(convert('ten_items', items(10))).toEqual(value(items(10)));
    const { value: folded, loss } = convert('ten_items', items(12));
    expect(loss).toBe('orders take 10 items; the last 3 of 12 became one');
    const last = { title: 'Item 10 +2', unit_price: '36.30', quantity: 1, unit_measure: 'unit' };
    expect(folded).toEqual([...items(9), last]);
    const long = [...items(9), { ...item(10), title: 'x'.repeat(150) }, { ...item(11), unit_price: 'x' }];
    expect((convert('ten_items', long).value as unknown[]).at(-1)).toEqual({
      ...last,
      title: `${'x'.repeat(142)} +1`,
      unit_price: '11.00',
    });
  });
});

it('a description becomes a beginning of at most 150 units', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 400 }), (whole) => {
      const { value, loss } = convert('short_description', whole);
      expect(whole.startsWith(String(value))).toBe(true);
      expect(String(value).length).toBeLessThanOrEqual(150);
      expect(loss === undefined).toBe(value === whole);
    }),
  );
});

describe('what converters share', () => {
  it('reads numbers, texts and decimals', () => {
    expect([exponentOf({ exponent: 0 }), exponentOf({})]).toEqual([0, Number.NaN]);
    expect([
      wholeNumber(7),
      wholeNumber(1.5),
      wholeNumber('7'),
      wholeNumber('7x'),
      wholeNumber('x7'),
      wholeNumber({}),
    ]).toEqual([value(7), {}, value(7), {}, {}, {}]);
    expect(wholeNumber('9007199254740993')).toEqual({ loss: 'the number is too large to be written exactly' });
    expect([isNumberText(7), isNumberText('7'), isNumberText(''), isNumberText(null)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([text('x'), text(7)]).toEqual(['x', undefined]);
  });

  it('writes moments', () => {
    const at = Date.parse(AT);
    expect([instant(at), instant(Number.POSITIVE_INFINITY), instant('x')]).toEqual([AT, undefined, undefined]);
    expect([dateTime(at), dateTime(undefined)]).toEqual(['2026-01-05 14:00:03', undefined]);
    expect([offsetTime(at), offsetTime(AT), offsetTime('never'), offsetTime(null)]).toEqual([
      THERE,
      THERE,
      undefined,
      undefined,
    ]);
  });
});

describe('the detail of an error', () => {
  const RENAMED: Record<string, string> = { 'transactions.payments[0].amount': 'amount', terminal_id: 'device_id' };
  const detail = (name: string, lines: string[], context: Record<string, unknown> = PESOS) =>
    detailConverters[name]?.convert({ code: 'c', lines }, { rename: (property) => RENAMED[property] ?? null, context });

  it.each<[string, string | null]>([
    ['transactions.payments[0].amount: Must be greater', 'amount'],
    ["'terminal_id': is wrong", 'device_id'],
    ['terminal_id', 'device_id'],
    ['unknown_one: is wrong', 'unknown_one'],
    ["The property 'terminal_id' is required", 'device_id'],
    ['The property "shop[0].name" is required', 'shop[0].name'],
    ['The terminal_id is wrong', 'device_id'],
    ['It is wrong', null],
    ['123 !', null],
  ])('%s names %s', (line, expected) => {
    expect(detail('property_name', [line])).toBe(expected);
    expect(detail('property_name', ['', line]), 'a later line').toBe(expected);
  });

  it.each<[string, string | null, string | null]>([
    ['Must be greater than or equal to 15.00', '15', '1500'],
    ['Must be less than or equal to  15.50', '15.5', '1550'],
    ['equal to 15.505', '15.505', null],
    ['Must be more', null, null],
    ['equal to much', null, null],
  ])('%s has the limit %s', (line, limit, minor) => {
    expect(detail('limit', ['first', line])).toBe(limit);
    expect(detail('limit_minor', ['first', line])).toBe(minor);
    expect(detail('limit_minor', [line], {})).toBeNull();
  });
});
