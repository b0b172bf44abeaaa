/** Whether a link agrees with its order: every kind of mismatch, and agreement. */
import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/contract/orders.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import { judgeLink, judgeUnknown } from '../../../src/proxy/sales/orphans.ts';
import { BORN, liveLink, MINUTE_MS, rules, tables } from './rules.ts';

function order(status: string, second: number, amount = '15.00'): Order {
  return {
    id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD',
    status,
    created_date: '2026-03-01T12:00:00Z',
    last_updated_date: `2026-03-01T12:00:${String(second).padStart(2, '0')}Z`,
    external_reference: 'sale-1',
    transactions: { payments: [{ id: 'PAY01', amount, reference_id: '131000000001' }] },
  };
}

function link(changes: Partial<Link> = {}): Link {
  const known = order('created', 1);
  return liveLink({
    order_id: known.id,
    order: known,
    order_version: '2026-03-01T12:00:01.000000000Z',
    ...changes,
  });
}

describe('one link and its order', () => {
  it('agree while both are where they were', () => {
    expect(judgeLink(link(), order('created', 1), tables, rules)).toBeNull();
  });

  it('stale: the order moved on, and a read mends it', () => {
    expect(judgeLink(link(), order('processed', 9), tables, rules)).toMatchObject({ kind: 'stale', repair: 'read' });
  });

  it('missing while it may still be paid: told, and left alone', () => {
    expect(judgeLink(link(), 'missing', tables, rules)).toMatchObject({ kind: 'missing', repair: 'none' });
  });

  it('gone: given up, because it holds its unit', () => {
    expect(judgeLink(link(), 'given_up', tables, rules)).toMatchObject({ kind: 'missing', repair: 'give_up' });
    expect(judgeLink(link({ state: 'DONE', legacy_state: 'FINISHED' }), 'given_up', tables, rules)?.repair).toBe(
      'none',
    );
    expect(judgeLink(link({ state: 'LOST' }), 'given_up', tables, rules)).toBeNull();
  });

  it('amount: never mended by itself, whatever else differs', () => {
    const found = judgeLink(link(), order('processed', 9, '15.01'), tables, rules);
    expect(found).toMatchObject({ kind: 'amount', repair: 'none' });
    expect(found?.what.text).toContain('1500');
    expect(found?.what.text).toContain('1501');
  });

  it('state: both final, and they disagree', () => {
    const approved = (count: number) => {
      return {
        ...order('processed', 9),
        transactions: { payments: Array(count).fill({ id: 'PAY1', status: 'processed' }) },
      };
    };
    const known = approved(1);
    const paid = link({
      state: 'DONE',
      legacy_state: 'FINISHED',
      order: known,
      order_version: '2026-03-01T12:00:09.000000000Z',
    });
    expect(judgeLink(paid, order('canceled', 12), tables, rules)).toMatchObject({ kind: 'state', repair: 'none' });
    expect(judgeLink(paid, known, tables, rules)).toBeNull();
    for (const count of [0, 2])
      expect(judgeLink(paid, approved(count), tables, rules)).toMatchObject({ kind: 'approvals', repair: 'none' });
  });
});

describe('a paid sale whose order shows a refund', () => {
  const refunded = (second: number, status: string, refunded_amount?: string, end?: string): Order => ({
    ...order(status, second),
    ...(refunded_amount === undefined ? {} : { status_detail: 'partially_refunded' }),
    transactions: {
      payments: [
        {
          id: 'PAY1',
          status: 'processed',
          amount: '15.00',
          ...(refunded_amount === undefined ? {} : { refunded_amount }),
        },
      ],
      ...(end === undefined ? {} : { refunds: [{ id: 'REF1', status: end }] }),
    },
  });
  const paidAs = (known: Order) =>
    link({
      state: 'DONE',
      legacy_state: 'FINISHED',
      order: known,
      order_version: '2026-03-01T12:00:09.000000000Z',
    });

  it.each<[string, string | null, Order, Order]>([
    ['all of it', 'refunded', refunded(9, 'processed'), refunded(12, 'refunded')],
    ['a part', 'partially_refunded', refunded(9, 'processed'), refunded(12, 'processed', '5.00')],
    ['a further part', 'partially_refunded', refunded(9, 'processed', '5.00'), refunded(12, 'processed', '7.00')],
    ['that is known', null, refunded(9, 'processed', '5.00'), refunded(9, 'processed', '5.00')],
    ['that an older reading lacks', null, refunded(9, 'refunded'), refunded(7, 'processed')],
    [
      'that has ended',
      null,
      refunded(9, 'refunded', '15.00', 'processing'),
      refunded(12, 'refunded', '15.00', 'processed'),
    ],
    [
      'that has failed',
      null,
      refunded(9, 'refunded', '15.00', 'processing'),
      refunded(12, 'processed', undefined, 'failed'),
    ],
    [
      'a further part, read with the end of another',
      'partially_refunded',
      refunded(9, 'processed', '5.00', 'processing'),
      refunded(12, 'processed', '7.00', 'processed'),
    ],
  ])('%s: stale where the link does not show it', (_what, order_status, known, read) => {
    const found = judgeLink(paidAs(known), read, tables, rules);
    if (order_status === null) expect(found).toBeNull();
    else expect(found).toMatchObject({ kind: 'stale', repair: 'read', what: { said: { facts: { order_status } } } });
  });
});

describe('a create nobody knows the outcome of', () => {
  const doubt = link({ state: 'IN_DOUBT', order_id: null, order: null, order_version: null });

  it('is the completer’s while it may be repeated, and missing afterwards', () => {
    expect(judgeUnknown(doubt, BORN + MINUTE_MS, 15 * MINUTE_MS)).toBeNull();
    expect(judgeUnknown(doubt, BORN + 15 * MINUTE_MS, 15 * MINUTE_MS)).toMatchObject({
      kind: 'missing',
      repair: 'none',
    });
  });

  it('is no mismatch once its order is known', () => {
    expect(judgeUnknown(link(), BORN + 60 * MINUTE_MS, 15 * MINUTE_MS)).toBeNull();
  });
});
