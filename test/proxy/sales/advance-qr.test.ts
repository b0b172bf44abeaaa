/** From a QR order to its merchant order and due IPN: paid, partly refunded, never an older state. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/contract/orders.ts';
import { hasEnded, isPaid, type Link } from '../../../src/proxy/sales/link.ts';
import { advance, endOfMerchantOrder } from '../../../src/proxy/sales/order-transition.ts';
import { newLink } from '../../store/contract/harness.ts';
import { BORN, MINUTE_MS, rules, tables } from './rules.ts';

const MERCHANT_ORDER = 8_005_097_600_000_000;
const PAYMENT = '131772540987';

function sale(changes: Partial<Link> = {}): Link {
  return newLink({
    family: 'qr',
    unit: 'SUC001POS001',
    state: 'LIVE',
    legacy_state: 'payment_required',
    merchant_order_id: MERCHANT_ORDER,
    client_reference: 'Factura 1',
    created_at: BORN,
    legacy_state_at: BORN,
    ...changes,
  });
}

function order(status: string, second: number, changes: Partial<Order> = {}): Order {
  return {
    id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD',
    type: 'qr',
    status,
    created_date: '2026-03-01T12:00:00Z',
    expiration_time: 'PT10M',
    last_updated_date: new Date(BORN + second * 1000).toISOString(),
    transactions: { payments: [{ amount: '100.00' }] },
    ...changes,
  };
}

function paid(second: number, refunded_amount?: string): Order {
  const back = refunded_amount === undefined ? {} : { refunded_amount };
  const partly = Number(refunded_amount ?? 0) > 0;
  return order('processed', second, {
    status_detail: partly ? 'partially_refunded' : 'accredited',
    transactions: { payments: [{ amount: '100.00', reference_id: PAYMENT, ...back }] },
  });
}

const unnumbered = (second: number): Order =>
  order('processed', second, {
    status_detail: 'accredited',
    transactions: { payments: [{ id: 'PAY01', amount: '100.00' }] },
  });

/** The link after each read in turn, and the topics announced by each. */
function read(readings: Order[], start: Link = sale()): { link: Link; told: string[][] } {
  let link = start;
  const told: string[][] = [];
  for (const reading of readings) {
    const step = advance(link, reading, tables, rules);
    told.push(step.notices.map((notice) => `${notice.topic} ${notice.subject}`));
    link = { ...link, ...step.change };
  }
  return { link, told };
}

const OWN = `merchant_order ${MERCHANT_ORDER}`;
const PAID = [`payment ${PAYMENT}`, OWN];

describe('the merchant order of a QR sale', () => {
  it.each([
    ['created', undefined, 'payment_required', 'LIVE'],
    ['at_terminal', undefined, 'payment_in_process', 'LIVE'],
    ['action_required', undefined, 'payment_in_process', 'LIVE'],
    ['processed', 'accredited', 'paid', 'DONE'],
    ['processed', 'partially_refunded', 'partially_reverted', 'DONE'],
    ['processed', 'something_new', 'paid', 'DONE'],
    ['refunded', 'refunded', 'reverted', 'DONE'],
    ['canceled', 'canceled', 'expired', 'DONE'],
    ['expired', 'expired', 'expired', 'DONE'],
    ['failed', 'failed', 'expired', 'DONE'],
  ])('%s, %s: %s', (status, status_detail, legacy_state, state) => {
    const step = advance(sale(), order(status, 1, { status_detail }), tables, rules);
    expect(step.change).toMatchObject({ legacy_state, state });
    expect(step.remarks).toEqual([]);
  });

  it('is never final for a status that nobody knows, and says so', () => {
    const { link } = read([order('created', 1)]);
    const step = advance(link, order('teleported', 5), tables, rules);
    expect(step).toMatchObject({ change: { legacy_state: 'undefined', state: 'LIVE' }, notices: [] });
    expect(step.remarks).toEqual(['unknown_states']);
    expect(read([order('teleported', 5), paid(9)]).link.legacy_state).toBe('paid');
  });

  it('is not held back as an intent is: what was waiting shows as it is when its time is over', () => {
    const late = { ...rules, now: BORN + 60 * MINUTE_MS };
    const { link } = read([order('action_required', 5)]);
    expect(advance(link, order('action_required', 5), tables, late)).toMatchObject({ change: {}, notices: [] });
  });

  it.each([
    ['created after processed, older', [paid(9), order('created', 5)], 'paid'],
    ['created after processed, newer', [paid(5), order('created', 9)], 'paid'],
    ['canceled after processed, newer', [paid(5), order('canceled', 9)], 'paid'],
    ['created after expired, newer', [order('expired', 5), order('created', 9)], 'expired'],
    ['paid in full after a refund, older', [paid(9, '10.00'), paid(5)], 'partially_reverted'],
    ['a partial refund after the whole one, older', [order('refunded', 9), paid(5, '10.00')], 'reverted'],
    ['a refund at the same instant: the higher rank', [paid(5), paid(5, '10.00')], 'partially_reverted'],
    ['without a refund at the same instant', [paid(5, '10.00'), paid(5)], 'partially_reverted'],
  ])('%s', (_name, readings, expected) => {
    expect(read(readings).link.legacy_state).toBe(expected);
  });

  it('property: shuffled and doubled readings end like the newest, and a payment is never taken back', () => {
    const history = [
      order('created', 1),
      order('at_terminal', 2),
      paid(3),
      paid(4, '10.00'),
      paid(5, '60.00'),
      order('refunded', 6),
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...history), { minLength: 1, maxLength: 12 }), (some) => {
        let link = sale();
        for (const one of some) {
          const next = { ...link, ...advance(link, one, tables, rules).change };
          if (isPaid(link)) expect(isPaid(next)).toBe(true);
          if (hasEnded(link)) expect(hasEnded(next)).toBe(true);
          link = next;
        }
        const newest = some.reduce((best, one) =>
          (one.last_updated_date ?? '') > (best.last_updated_date ?? '') ? one : best,
        );
        expect(link.order).toEqual(newest);
      }),
    );
  });
});

describe('notices of a QR sale', () => {
  it('its end when nobody can find its order any more, and nothing when there never was one', () => {
    const { link } = read([order('created', 1)]);
    const told = (of: Link): string[] =>
      endOfMerchantOrder(of, { ...of, legacy_state: 'expired' }, BORN).map(
        ({ topic, subject, body }) => `${topic} ${subject} ${body}`,
      );
    expect(told(link)).toEqual([`${OWN} {"first":false,"order_status":"expired"}`]);
    expect(told(sale())).toEqual([]);
  });

  it('its birth, the payment before its merchant order, and every refund', () => {
    const { told } = read([order('created', 1), paid(5), paid(6, '10.00'), paid(7, '10.50'), order('refunded', 8)]);
    const refunded = [`payment ${PAYMENT}`];
    expect(told).toEqual([[OWN], PAID, refunded, refunded, refunded]);
  });

  it.each([
    ['a further refund at the same instant is news [F48]', [paid(5, '10.00'), paid(5, '15.00')], 2],
    ['an older reading of the same instant is none', [paid(5, '15.00'), paid(5, '10.00')], 1],
  ])('%s', (_name, readings, news) => {
    const { link, told } = read(readings);
    expect(link.order?.transactions?.payments?.[0]?.refunded_amount).toBe('15.00');
    expect(told.filter((one) => one.length > 0)).toHaveLength(news);
  });

  it('a second partial refund, although the state stays the same', () => {
    const { link } = read([paid(5, '10.00')]);
    const step = advance(link, paid(6, '20.00'), tables, rules);
    expect(step.change.legacy_state).toBe('partially_reverted');
    expect(step.notices.map((notice) => notice.topic)).toEqual(['payment']);
  });

  it.each([
    ['the same reading', paid(5, '10.00'), paid(5, '10.00')],
    ['a newer one with the same refund', paid(5, '10.00'), paid(6, '10.00')],
    ['a newer one that writes the refund with other digits', paid(5, '10.00'), paid(6, '10.0')],
    ['a newer one that says that nothing was refunded', paid(5), paid(6, '0.00')],
    ['an older one', paid(6, '10.00'), paid(5)],
  ])('nothing by %s', (_name, first, second) => {
    expect(read([first, second]).told[1]).toEqual([]);
  });

  it('its end without a payment, once', () => {
    expect(read([order('created', 1), order('canceled', 5), order('expired', 9)]).told).toEqual([[OWN], [OWN], []]);
    expect(read([order('created', 1), order('expired', 5)]).told).toEqual([[OWN], [OWN]]);
  });

  it('everything at once when the first reading is already paid', () => {
    expect(read([paid(5)]).told).toEqual([PAID]);
  });

  it.each([
    ['in part', paid(5, '10.00')],
    ['whole', order('refunded', 5, { transactions: { payments: [{ amount: '100.00', reference_id: PAYMENT }] } })],
  ])('the closure too, when it was paid and refunded %s before anybody looked', (_name, reading) => {
    expect(read([order('created', 1), reading]).told).toEqual([[OWN], PAID]);
  });

  it('nothing while a payment is under way', () => {
    expect(read([order('created', 1), order('at_terminal', 5)]).told).toEqual([[OWN], []]);
  });

  it('a late approval after a cancel, which is remarked', () => {
    const { link } = read([order('created', 1), order('canceled', 5)]);
    const step = advance(link, paid(9), tables, rules);
    expect(step.change).toMatchObject({ legacy_state: 'paid', payment_id: PAYMENT });
    expect(step.notices.map((notice) => notice.topic)).toEqual(['payment', 'merchant_order']);
    expect(step.remarks).toEqual(['late_approvals']);
  });

  it('which of the news are the first of their kind, for the webhook form', () => {
    const firsts = (link: Link, one: Order): unknown[] =>
      advance(link, one, tables, rules).notices.map((notice) => JSON.parse(notice.body));
    const born = sale();
    expect(firsts(born, order('created', 1))).toEqual([{ first: true, order_status: 'payment_required' }]);
    const { link } = read([order('created', 1)]);
    const application = { integration_data: { application_id: '4445556667778889' } };
    expect(firsts(link, { ...paid(5), ...application })).toEqual([
      { first: true, application_id: '4445556667778889' },
      { first: false, order_status: 'paid', application_id: '4445556667778889' },
    ]);
    expect(firsts(read([paid(5)], link).link, paid(6, '1.00'))).toEqual([{ first: false }]);
  });

  it('is due at once, in the name of its own merchant', () => {
    const [notice] = advance(sale(), order('created', 1), tables, rules).notices;
    expect(notice).toMatchObject({ merchant_id: '700100200', created_at: rules.now, next_attempt_at: rules.now });
  });
});

describe('the number of the payment', () => {
  it("is the service's, where that gives one", () => {
    expect(read([paid(5)]).link.payment_id).toBe(PAYMENT);
  });

  it('is synthetic where it gives none, and only for a payment', () => {
    const { link, told } = read([order('created', 1), unnumbered(5)]);
    expect(link.payment_id).toBe(String(MERCHANT_ORDER - 1_000_000_000_000_000));
    expect(told[1]).toEqual([`payment ${link.payment_id}`, OWN]);
    expect(read([order('created', 1), order('canceled', 5)]).link.payment_id).toBeNull();
  });

  it('stays what the till was told, when a later reading lacks it', () => {
    expect(read([paid(5), order('refunded', 9)]).link.payment_id).toBe(PAYMENT);
  });
});
