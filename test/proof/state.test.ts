/** Gaps in the tests of states: synthetic numbers, notices without a subject, and texts that are no numbers. */
import { describe, expect, it } from 'vitest';
import type { Order } from '../../src/contract/orders.ts';
import { loadTables } from '../../src/mapping/load.ts';
import {
  createSyntheticNumbers,
  isSyntheticMerchantOrder,
  isSyntheticPayment,
  merchantOrderOfPayment,
  syntheticPaymentId,
} from '../../src/proxy/ids.ts';
import { type Link, slotOf, terminalOf, unitOf, wasCanceledByUs } from '../../src/proxy/sales/link.ts';
import {
  type AdvanceRules,
  advance,
  approvalFault,
  approvalsOf,
  cashOf,
  hasEndedRefund,
  sumsOf,
} from '../../src/proxy/sales/order-transition.ts';
import { MINUTE_MS, NOON, newLink } from '../store/contract/harness.ts';
import { orderOf, PAID } from './stand.ts';

const tables = loadTables('mappings');
const rules: AdvanceRules = {
  now: NOON + MINUTE_MS,
  declined: 'error',
  action_required_grace_ms: MINUTE_MS,
  released: false,
  default_lifetime_ms: 15 * MINUTE_MS,
  exponent: 2,
};
const order = (change: Record<string, unknown> = {}, second = 0): Order => orderOf(change, second) as unknown as Order; // as parsed
const live = (change: Partial<Link> = {}): Link => newLink({ state: 'LIVE', ...change });
const SALE = { family: 'qr', legacy_state: 'payment_required', unit: 'TILL1' } as const;

function told(change: Record<string, unknown>): Record<string, unknown> {
  const { notices } = advance(live(), order(change, 5), tables, rules);
  expect(notices.map(({ topic }) => topic)).toEqual(['point', 'payment']);
  return JSON.parse(notices[0]?.body ?? '') as Record<string, unknown>;
}

describe('the notice of an intent', () => {
  it.each([
    ['4004001', 4004001],
    ['123456789012345', 123456789012345],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', undefined],
    ['app-1', undefined],
    ['1a', undefined],
    ['a1', undefined],
    [undefined, undefined],
  ])('names the application %s as %s', (application_id, expected) => {
    const said = application_id === undefined ? {} : { integration_data: { application_id } };
    expect(told({ ...PAID, ...said }).client_id).toBe(expected);
  });

  it('says how the payment ended', () => {
    const finished = { ...rules, declined: 'finished' as const };
    const said = (status: string) => {
      const { notices } = advance(live(), order({ ...PAID, status }, 5), tables, finished);
      return JSON.parse(notices[0]?.body ?? '').payment.state as string;
    };
    expect([said('processed'), said('failed')]).toEqual(['approved', 'rejected']);
  });
});

describe('the notices of a QR sale', () => {
  it('are none about what has no number', () => {
    const born = advance(live({ ...SALE, merchant_order_id: null }), order(), tables, rules);
    expect(born.notices).toEqual([]);
    const numbered = advance(live({ ...SALE, merchant_order_id: 8_000_000_000_000_001 }), order(), tables, rules);
    expect(numbered.notices).toMatchObject([{ topic: 'merchant_order', subject: '8000000000000001' }]);
  });

  it('tell the application as it is', () => {
    const sale = live({ ...SALE, merchant_order_id: 8_000_000_000_000_001 });
    const said = { integration_data: { application_id: 'app-1' } };
    const facts = advance(sale, order(said), tables, rules).notices.map(({ body }) => JSON.parse(body));
    expect(facts).toEqual([{ first: true, order_status: 'payment_required', application_id: 'app-1' }]);
    const plain = advance(sale, order(), tables, rules).notices.map(({ body }) => JSON.parse(body));
    expect(plain).toEqual([{ first: true, order_status: 'payment_required' }]);
  });

  it('are made at the moment of the change, and due at once', () => {
    const [notice] = advance(live({ ...SALE, merchant_order_id: 1 }), order(), tables, rules).notices;
    expect(notice).toMatchObject({ created_at: rules.now, next_attempt_at: rules.now, merchant_id: '700100200' });
  });
});

describe('synthetic numbers', () => {
  const FIRST = 8_000_000_000_000_000;
  const PAYMENT = 7_000_000_000_000_000;
  const EPOCH = Date.UTC(2026, 0, 1);

  it('rise from the first one, a thousand for each millisecond', () => {
    const mint = createSyntheticNumbers();
    expect([mint(0), mint(EPOCH), mint(EPOCH + 1), mint(EPOCH + 1), mint(EPOCH)]).toEqual([
      FIRST,
      FIRST + 1,
      FIRST + 1_000,
      FIRST + 1_001,
      FIRST + 1_002,
    ]);
  });

  it('are told from real ones', () => {
    expect([isSyntheticMerchantOrder(FIRST - 1), isSyntheticMerchantOrder(FIRST)]).toEqual([false, true]);
    expect([isSyntheticPayment(String(PAYMENT - 1)), isSyntheticPayment(String(PAYMENT))]).toEqual([false, true]);
    expect(merchantOrderOfPayment('16500000001')).toBeNull();
    expect(merchantOrderOfPayment(String(PAYMENT + 5))).toBe(FIRST + 5);
  });

  it.each([
    ['processed', String(PAYMENT + 5)],
    ['refunded', String(PAYMENT + 5)],
    ['created', null],
    ['canceled', null],
  ])('of the payment of a sale that is %s: %s', (status, expected) => {
    expect(syntheticPaymentId(live({ ...SALE, merchant_order_id: FIRST + 5 }), order({ status }))).toBe(expected);
    expect(syntheticPaymentId(live(), order({ status }))).toBeNull();
  });
});

describe('which reading is newer', () => {
  const known = (status: string, order_version: string | null, change: Partial<Link> = {}): Link =>
    live({ order: order({ status }), order_version, legacy_state: 'ON_TERMINAL', ...change });
  const VERSION = '2026-01-05T12:00:05.000000000Z';

  it('says stale of an older one with another status alone', () => {
    const remarks = (said: Order) => advance(known('at_terminal', VERSION), said, tables, rules).remarks;
    expect(remarks(order({ status: 'created' }, 1))).toEqual(['stale_versions']);
    expect(remarks(order({ status: 'at_terminal' }, 1))).toEqual([]);
    expect(remarks(order({ status: 'teleported' }, 1))).toEqual(['unknown_states', 'stale_versions']);
  });

  const AFTER_ALL = { ...rules, now: NOON + 17 * MINUTE_MS };

  it('lets go of what waits now, and of nothing that has moved on', () => {
    const waiting = known('action_required', VERSION);
    const lagging = order({ status: 'action_required' }, 1);
    expect(advance(waiting, lagging, tables, AFTER_ALL).change.legacy_state).toBe('CONFIRMATION_REQUIRED');
    expect(advance(waiting, lagging, tables, rules).change).toEqual({});
    const wanted = { ...rules, released: true };
    expect(advance(known('at_terminal', VERSION), lagging, tables, wanted).change).toEqual({});
    expect(advance(known('at_terminal', VERSION), lagging, tables, rules).change).toEqual({});
    // An earlier read with a future date does not block changes permanently.
    const after_all = advance(known('at_terminal', VERSION), lagging, tables, AFTER_ALL);
    expect(after_all.change.legacy_state).toBe('CONFIRMATION_REQUIRED');
    expect(advance(known('at_terminal', VERSION), order({}, 1), tables, AFTER_ALL).change).toEqual({});
    const over = known('action_required', VERSION, { legacy_state: 'CANCELED', state: 'DONE' });
    expect(advance(over, lagging, tables, AFTER_ALL).change).toEqual({});
    const lost = live({ state: 'LOST', legacy_state: 'ABANDONED' });
    expect(advance(lost, lagging, tables, AFTER_ALL)).toMatchObject({ change: {}, remarks: ['stale_versions'] });
  });

  it.each([
    [{}, MINUTE_MS - 1, 'ON_TERMINAL'],
    [{}, MINUTE_MS, 'CONFIRMATION_REQUIRED'],
    // Upstream's clock is ahead, or its time is unreadable: the end of the order is the bound.
    [{ last_updated_date: '2031-01-01T00:00:00Z' }, 16 * MINUTE_MS - 1, 'ON_TERMINAL'],
    [{ last_updated_date: '2031-01-01T00:00:00Z' }, 16 * MINUTE_MS, 'CONFIRMATION_REQUIRED'],
    [{ last_updated_date: undefined }, 16 * MINUTE_MS - 1, 'ON_TERMINAL'],
    [{ last_updated_date: undefined }, 16 * MINUTE_MS, 'CONFIRMATION_REQUIRED'],
  ])('waits for a grace from when it began to wait for a person: %o, %d ms', (change, after_ms, expected) => {
    const waiting = order({ status: 'action_required', ...change });
    const step = advance(live(), waiting, tables, { ...rules, now: NOON + after_ms });
    expect(step.change.legacy_state).toBe(expected);
  });
});

describe('what a reading says', () => {
  const read = (change: Record<string, unknown>, second = 0, link = live()) =>
    advance(link, order(change, second), tables, rules).change;

  it('of the end of its life: from its own beginning, or that of the row', () => {
    const created_date = '2026-01-05T12:00:07Z';
    expect(read({ created_date }).expires_at).toBe(NOON + 7_000 + 15 * MINUTE_MS);
    expect(read({ created_date: undefined }).expires_at).toBe(NOON + 15 * MINUTE_MS);
    expect(read({ created_date: 'soon', expiration_time: 'PT1M' }).expires_at).toBe(NOON + MINUTE_MS);
  });

  it('of the moment of its state: its version, but never the future', () => {
    expect(read({ status: 'at_terminal' }, 5).legacy_state_at).toBe(NOON + 5_000);
    expect(read({ status: 'at_terminal' }, 500).legacy_state_at).toBe(rules.now);
    expect(read({ status: 'at_terminal', last_updated_date: undefined }).legacy_state_at).toBe(rules.now);
    expect(read({}, 5, live({ legacy_state_at: 7 })).legacy_state_at, 'the state is the same').toBe(7);
  });

  it.each([
    [undefined, null],
    [{}, null],
    [{ payments: [] }, null],
    [{ payments: [{}] }, null],
    [{ payments: [{ reference_id: 'x12' }] }, null],
    [{ payments: [{ reference_id: '12x' }] }, null],
    [{ payments: [{ reference_id: '16500000001' }] }, '16500000001'],
  ])('of its payment: %j is %s', (transactions, expected) => {
    expect(read({ status: 'processed', transactions })).toMatchObject({
      payment_id: expected,
      legacy_state: 'FINISHED',
      sealed_body: null,
    });
    const known = live({ payment_id: '7' });
    expect(read({ status: 'processed', transactions }, 0, known).payment_id).toBe(expected ?? '7');
  });

  it('keeps the version it had when it says none', () => {
    const link = live({ order: order(), order_version: '2026-01-05T11:00:00.000000000Z' });
    const step = advance(link, order({ ...PAID, last_updated_date: 'never' }), tables, rules);
    expect(step.change.order_version).toBe('2026-01-05T11:00:00.000000000Z');
  });

  it('has topics and places of its own', () => {
    const [notice] = advance(live(), order(PAID, 5), tables, rules).notices;
    expect(notice).toMatchObject({ topic: 'point', merchant_id: '700100200', created_at: rules.now });
    expect(slotOf('qr', 'TILL1')).toBe('qr:TILL1');
  });
});

describe('what went back of a QR sale', () => {
  const sold = (transactions: unknown, second: number): Order =>
    order({ status: 'processed', status_detail: 'partially_refunded', transactions }, second);
  const back = (refunded_amount?: string) => ({ payments: [{ amount: '100.00', reference_id: '1', refunded_amount }] });

  it.each<[string, unknown, unknown, number]>([
    ['the same sum', back('10.00'), back('10'), 0],
    ['nothing in other words', back('0'), back(), 0],
    ['no transactions', undefined, back(), 0],
    ['no payments', {}, back(), 0],
    ['an empty list', { payments: [] }, back(), 0],
    ['more', back('10.00'), back('20.00'), 1],
    ['the first of it', undefined, back('20.00'), 1],
  ])('%s', (_what, before, after, notices) => {
    const first = advance(live({ ...SALE, merchant_order_id: 9, payment_id: '1' }), sold(before, 1), tables, rules);
    const link = { ...live({ ...SALE, merchant_order_id: 9 }), ...first.change };
    expect(advance(link, sold(after, 2), tables, rules).notices).toHaveLength(notices);
  });
});

describe('the sums of a sale of 15.00', () => {
  const payment = { id: 'PAY1', amount: '15.00', status: 'processed' };
  const node = (change: object) => ({
    id: 'REF1',
    transaction_id: 'PAY1',
    amount: '5.00',
    status: 'processed',
    ...change,
  });
  const sums = (payments: object[] | undefined, refunds: object[] = []) => {
    const { paid_minor, refunded_minor, ever_refunded_minor, sale_minor } = sumsOf(
      order({ transactions: { payments, refunds } }),
      1500,
      2,
    );
    return [paid_minor, refunded_minor, ever_refunded_minor, sale_minor];
  };

  it.each<[string, object[] | undefined, object[], number[]]>([
    ['without a payment', undefined, [], [1500, 0, 0, 1500]],
    ['with a payment that names no amounts', [{ id: 'PAY1' }], [], [1500, 0, 0, 1500]],
    ['that was paid', [payment], [], [1500, 0, 0, 1500]],
    ['with a tip', [{ ...payment, paid_amount: '17.00' }], [], [1700, 0, 0, 1500]],
    ['with cash', [{ ...payment, amount: '10.00' }], [], [1500, 0, 0, 1500]],
    ['with cash and a tip', [{ ...payment, amount: '10.00', paid_amount: '11.00' }], [], [1600, 0, 0, 1500]],
    ['of which a part was refunded', [payment], [node({})], [1500, 500, 500, 1500]],
    ['of which upstream says more', [{ ...payment, refunded_amount: '7.00' }], [node({})], [1500, 700, 700, 1500]],
    ['with a refund of no named payment', [payment], [node({ transaction_id: undefined })], [1500, 500, 500, 1500]],
    ['with a refund of another payment', [payment], [node({ transaction_id: 'PAY2' })], [1500, 0, 0, 1500]],
    ['without a payment, with a refund', undefined, [node({})], [1500, 500, 500, 1500]],
    ['with a refund that failed', [payment], [node({ status: 'failed' })], [1500, 0, 500, 1500]],
    [
      'with goods and cash refunded',
      [{ ...payment, amount: '10.00' }],
      [node({ amount: '10.00' }), node({ id: 'REF2', transaction_id: 'CASH1' })],
      [1500, 1500, 1500, 1500],
    ],
    [
      'with a refund of cash that failed',
      [{ ...payment, amount: '10.00' }],
      [node({ id: 'REF2', transaction_id: 'CASH1', status: 'failed' })],
      [1500, 0, 500, 1500],
    ],
  ])('%s', (_what, payments, refunds, expected) => {
    expect(sums(payments, refunds)).toEqual(expected);
  });

  it('without an order, or without anything in it, are those of the create', () => {
    const none = { paid_minor: 1500, refunded_minor: 0, ever_refunded_minor: 0, sale_minor: 1500 };
    expect(sumsOf(null, 1500, 2)).toEqual(none);
    expect(sumsOf(order({ transactions: undefined }), 1500, 2)).toEqual(none);
  });

  it.each([
    [null, 0],
    [order({ transactions: undefined }), 0],
    [order({ transactions: { payments: [] } }), 0],
    [order({ transactions: { payments: [{ amount: '10.00' }] } }), 500],
    [order({ transactions: { payments: [{ amount: '17.00' }] } }), 0],
  ])('cash %#', (read, expected) => {
    expect(cashOf(read, 1500, 2)).toBe(expected);
  });
});

describe('approvals', () => {
  const of = (statuses: string[], change: Record<string, unknown> = {}): Order =>
    order({ status: 'processed', transactions: { payments: statuses.map((status) => ({ status })) }, ...change });

  it.each<[Order | null, Link['family'], number | null]>([
    [null, 'point', null],
    [of([]), 'point', 0],
    [of([]), 'qr', null],
    [order({ transactions: undefined }), 'qr', null],
    [order({ transactions: undefined }), 'point', 0],
    [of(['processed']), 'qr', 1],
    [of(['processed', 'failed', 'refunded']), 'point', 2],
  ])('counted %#', (read, family, expected) => {
    expect(approvalsOf({ order: read, family })).toBe(expected);
  });

  it.each<[string, boolean, Order | null, Link['state']]>([
    ['no order', false, null, 'DONE'],
    ['paid once', false, of(['processed']), 'DONE'],
    ['refunded once', false, of(['refunded'], { status: 'refunded' }), 'DONE'],
    ['paid twice', true, of(['processed', 'processed']), 'DONE'],
    ['paid without an approval', true, of(['failed']), 'DONE'],
    ['refunded without an approval', true, of([], { status: 'refunded' }), 'DONE'],
    ['not over, and paid twice already', true, of(['processed', 'processed']), 'LIVE'],
    ['not over, with its approval before its end', false, of(['processed'], { status: 'at_terminal' }), 'LIVE'],
    ['not over, and not paid yet', false, of(['created']), 'LIVE'],
    ['canceled', false, of(['canceled'], { status: 'canceled' }), 'DONE'],
    ['canceled, with an approval', true, of(['processed'], { status: 'canceled' }), 'DONE'],
    ['lost', false, of(['failed']), 'LOST'],
    ['lost, with an approval', true, of(['processed']), 'LOST'],
  ])('%s', (_what, is_fault, read, state) => {
    const fault = approvalFault({ order: read, family: 'point', state });
    expect(fault !== null).toBe(is_fault);
  });

  it('all cash of a QR has none to count', () => {
    expect(approvalFault({ order: of([]), family: 'qr', state: 'DONE' })).toBeNull();
  });
});

describe('a refund that was processing', () => {
  const of = (...refunds: [id: string | undefined, status: string][]): Order =>
    order({ transactions: { refunds: refunds.map(([id, status]) => ({ id, status })) } });

  it.each<[string, boolean, Order, Order]>([
    ['has ended', true, of(['R1', 'processing']), of(['R1', 'processed'])],
    ['has failed, beside one that goes on', true, of(['R1', 'processing'], ['R2', 'processing']), of(['R2', 'failed'])],
    ['goes on', false, of(['R1', 'processing']), of(['R1', 'processing'])],
    ['beside another that ended', false, of(['R1', 'processing']), of(['R2', 'processed'])],
    ['that had ended before', false, of(['R1', 'processed']), of(['R1', 'processed'])],
    ['without an id', false, of([undefined, 'processing']), of([undefined, 'processed'])],
    ['of which nothing is listed any more', false, of(['R1', 'processing']), of()],
  ])('%s', (_what, expected, earlier, later) => {
    expect(hasEndedRefund(earlier, later)).toBe(expected);
  });
});

it('names of a unit', () => {
  expect(unitOf('point:PAX:1')).toBe('PAX:1');
  expect(terminalOf(newLink({ merchant_id: '700100200', unit: 'PAX1' }))).toBe('700100200 PAX1');
});

it.each([
  [true, { cancel: 'sent', order: order({ status: 'canceled' }) }],
  [false, { cancel: null, order: order({ status: 'canceled' }) }],
  [false, { cancel: 'sent', order: order({ status: 'processed' }) }],
  [false, { cancel: 'sent', order: null }],
] as const)('was canceled at the wish of its till: %s', (expected, change) => {
  expect(wasCanceledByUs(newLink(change))).toBe(expected);
});
