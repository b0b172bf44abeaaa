/** From an order to the state that tills see: never an older one, in any order of reads (`docs/protocol.md` §3.12). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/contract/json.ts';
import type { Order } from '../../../src/contract/orders.ts';
import { hasEnded, type Link } from '../../../src/proxy/sales/link.ts';
import { type AdvanceRules, advance } from '../../../src/proxy/sales/order-transition.ts';
import { BORN, liveLink as link, MINUTE_MS, rules, tables } from './rules.ts';

const AFTER_ALL = { ...rules, now: BORN + 17 * MINUTE_MS };

function order(status: string, second = 1, changes: Partial<Order> = {}): Order {
  const paid = status === 'processed' || status === 'failed' || status === 'refunded';
  return {
    id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD',
    status,
    created_date: '2026-03-01T12:00:00Z',
    external_reference: 'sale-1',
    last_updated_date: new Date(BORN + second * 1000).toISOString(),
    transactions: { payments: [paid ? { reference_id: '16500000001', payment_method: { type: 'credit_card' } } : {}] },
    ...changes,
  };
}

function readIn(readings: Order[], start: Link = link(), how: AdvanceRules = rules): Link {
  let current = start;
  for (const reading of readings) current = { ...current, ...advance(current, reading, tables, how).change };
  return current;
}

describe('older reads change nothing [F27]', () => {
  it.each([
    ['created after at_terminal', [order('at_terminal', 5), order('created', 1)], 'ON_TERMINAL'],
    ['at_terminal after processed', [order('processed', 9), order('at_terminal', 5)], 'FINISHED'],
    ['a newer at_terminal after processed', [order('processed', 5), order('at_terminal', 9)], 'FINISHED'],
    ['a newer created after canceled', [order('canceled', 5), order('created', 9)], 'CANCELED'],
    ['canceled after failed, newer', [order('failed', 5), order('canceled', 9)], 'ERROR'],
    [
      'processed at the same instant as canceled: the higher rank [F48]',
      [order('canceled', 5), order('processed', 5)],
      'FINISHED',
    ],
    ['canceled at the same instant as processed', [order('processed', 5), order('canceled', 5)], 'FINISHED'],
    ['at_terminal at the same instant as created', [order('created', 5), order('at_terminal', 5)], 'ON_TERMINAL'],
    [
      'no date: the rank decides',
      [order('at_terminal', 5, { last_updated_date: undefined }), order('created', 9)],
      'ON_TERMINAL',
    ],
    [
      'an unreadable date: the rank decides',
      [order('processed', 9, { last_updated_date: 'yesterday' }), order('at_terminal', 10)],
      'FINISHED',
    ],
    [
      'the same instant in another zone',
      [order('at_terminal', 0, { last_updated_date: '2026-03-01T09:00:05-03:00' }), order('created', 5)],
      'ON_TERMINAL',
    ],
  ])('%s', (_name, readings, expected) => {
    expect(readIn(readings).legacy_state).toBe(expected);
  });

  it('says so, and an unchanged reading is no news', () => {
    const seen = readIn([order('at_terminal', 5)]);
    expect(advance(seen, order('created', 1), tables, rules)).toEqual({
      change: {},
      notices: [],
      remarks: ['stale_versions'],
    });
    expect(advance(seen, order('at_terminal', 5), tables, rules)).toEqual({ change: {}, notices: [], remarks: [] });
  });

  it('a link that was given up is only left for a payment', () => {
    const lost = link({ state: 'LOST', legacy_state: 'ABANDONED' });
    expect(readIn([order('at_terminal', 5)], lost)).toMatchObject({ state: 'LOST', legacy_state: 'ABANDONED' });
    expect(readIn([order('processed', 5)], lost)).toMatchObject({ state: 'DONE', legacy_state: 'FINISHED' });
  });

  it('property: shuffled and doubled readings end like the newest, and what tills see never leaves an end but for paid', () => {
    const history = [
      order('created', 1),
      order('at_terminal', 2),
      order('action_required', 3),
      order('at_terminal', 4),
      order('processed', 5),
      order('refunded', 6),
    ];
    const readings = fc.array(fc.constantFrom(...history), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(readings, (some) => {
        let current = link();
        for (const one of some) {
          const next = { ...current, ...advance(current, one, tables, rules).change };
          if (hasEnded(current)) expect(next.legacy_state).toBe(current.legacy_state);
          expect((next.order_version ?? '') >= (current.order_version ?? '')).toBe(true);
          current = next;
        }
        const newest = some.reduce((best, one) =>
          (one.last_updated_date ?? '') > (best.last_updated_date ?? '') ? one : best,
        );
        expect(current.order?.status).toBe(newest.status);
      }),
    );
  });
});

describe('machines of upstream whose clocks disagree [F27]', () => {
  const refunded = (second: number, refunded_amount: string): Order => {
    const one = order('processed', second);
    return { ...one, transactions: { payments: [{ ...one.transactions?.payments?.[0], refunded_amount }] } };
  };

  it.each([
    ['processed, dated before at_terminal', [order('at_terminal', 7), order('processed', 5)], 'processed'],
    ['canceled, dated before at_terminal', [order('at_terminal', 7), order('canceled', 5)], 'canceled'],
    ['expired, dated before action_required', [order('action_required', 7), order('expired', 5)], 'expired'],
    ['failed, dated before a status nobody knows', [order('teleported', 7), order('failed', 5)], 'failed'],
    ['processed, dated before canceled', [order('canceled', 7), order('processed', 5)], 'processed'],
    ['refunded, dated before processed', [order('processed', 7), order('refunded', 5)], 'refunded'],
    ['processed again, dated after refunded', [order('refunded', 5), order('processed', 7)], 'refunded'],
  ])('%s', (_name, readings, expected) => {
    expect(readIn(readings).order?.status).toBe(expected);
  });

  it('a further refund, dated before the first one, and the first one again', () => {
    const readings = [refunded(9, '5.00'), refunded(5, '7.00'), refunded(9, '5.00')];
    expect(readIn(readings).order?.transactions?.payments?.[0]?.refunded_amount).toBe('7.00');
  });

  it.each([
    ['processed', 'refunded'],
    ['failed', 'processed'],
  ])(
    'property: whatever the dates and the order of the readings, a refund that %s is what is left (LIM-42)',
    (end, status) => {
      const refund = (state: string, of: Order): Order => {
        const nodes = [
          { amount: '1.00', status: 'processing' },
          { id: 'REF1', amount: '15.00', status: state },
        ];
        return { ...of, transactions: { ...of.transactions, refunds: nodes } };
      };
      const reading = fc.record({ ended: fc.boolean(), second: fc.integer({ min: 1, max: 60 }) });
      fc.assert(
        fc.property(fc.array(reading, { minLength: 1, maxLength: 6 }), (some) => {
          const { order: left } = readIn(
            some.map(({ ended, second }) =>
              ended ? refund(end, order(status, second)) : refund('processing', order('refunded', second)),
            ),
          );
          if (some.some(({ ended }) => ended)) expect(left).toMatchObject(refund(end, { status } as Order));
        }),
      );
    },
  );

  it('property: whatever the dates and the order of the readings, the furthest of them is what is left', () => {
    const history = ['created', 'at_terminal', 'canceled', 'processed', 'refunded'];
    const reading = fc.record({ step: fc.nat(history.length - 1), second: fc.integer({ min: 1, max: 60 }) });
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 12 }), (some) => {
        const furthest = history[Math.max(...some.map(({ step }) => step))] ?? '';
        const end = readIn(some.map(({ step, second }) => order(history[step] ?? '', second)));
        if (furthest !== 'created' && furthest !== 'at_terminal') expect(end.order?.status).toBe(furthest);
      }),
    );
  });
});

describe('a state that may still move', () => {
  const waiting = readIn([order('at_terminal', 5), order('action_required', 9)]);

  it('is held as not final while the order may move, without a notice', () => {
    const step = advance(link(), order('action_required', 9), tables, rules);
    expect(step).toMatchObject({ change: { legacy_state: 'ON_TERMINAL', state: 'LIVE' }, notices: [] });
  });

  it('shows as CONFIRMATION_REQUIRED when lifetime and grace are over, although nothing new was read', () => {
    const step = advance(waiting, order('action_required', 9), tables, AFTER_ALL);
    expect(step.change).toMatchObject({ legacy_state: 'CONFIRMATION_REQUIRED', state: 'DONE' });
    expect(JSON.parse(step.notices[0]?.body ?? '')).toMatchObject({
      state: 'CONFIRMATION_REQUIRED',
      payment: { state: '', type: '' },
    });
  });

  it.each(['at_terminal', 'canceled', 'failed', 'expired'])(
    'then never becomes what a newer %s says: legacy calls it final',
    (status) => {
      const settled = readIn([order('action_required', 9)], waiting, AFTER_ALL);
      expect(readIn([order(status, 20)], settled, AFTER_ALL)).toMatchObject({
        legacy_state: 'CONFIRMATION_REQUIRED',
        state: 'DONE',
      });
    },
  );

  it('then still becomes FINISHED by a late approval', () => {
    const settled = readIn([order('action_required', 9)], waiting, AFTER_ALL);
    expect(readIn([order('processed', 20)], settled, AFTER_ALL).legacy_state).toBe('FINISHED');
  });

  it('is not brought back by a lagging read of a paid order', () => {
    const paid = readIn([order('processed', 20)], waiting);
    expect(advance(paid, order('action_required', 9), tables, AFTER_ALL)).toMatchObject({ change: {}, notices: [] });
  });

  it('is shown as final at once when its terminal is wanted for a new sale', () => {
    const released = { ...rules, released: true };
    const step = advance(waiting, order('action_required', 9), tables, released);
    expect(step.change).toMatchObject({ legacy_state: 'CONFIRMATION_REQUIRED', state: 'DONE' });
    expect(step.notices).toHaveLength(1);
    expect(advance(link(), order('at_terminal', 9), tables, released).change).toMatchObject({ state: 'LIVE' });
  });

  it('follows the clock between at_terminal and action_required', () => {
    expect(readIn([order('action_required', 5), order('at_terminal', 9)]).order?.status).toBe('at_terminal');
  });
});

describe('a Point order that is canceled when its time is over', () => {
  const LIFETIME_S = 15 * 60;
  const by = (status_detail: string) => ({ transactions: { payments: [{ status_detail }] } });

  it.each([
    ['at its end', order('canceled', LIFETIME_S), 'ABANDONED', 0],
    ['a little before, by another clock of upstream', order('canceled', LIFETIME_S - 5), 'ABANDONED', 0],
    ['long after', order('canceled', 4 * LIFETIME_S), 'ABANDONED', 0],
    ['before its end', order('canceled', LIFETIME_S - 6), 'CANCELED', 1],
    ['at its end by a call', order('canceled', LIFETIME_S, by('canceled_by_api')), 'CANCELED', 1],
    ['at its end by the person', order('canceled', LIFETIME_S, by('canceled_on_terminal')), 'CANCELED', 1],
    ['at the end of its own lifetime', order('canceled', 60, { expiration_time: 'PT1M' }), 'ABANDONED', 0],
    ['before that', order('canceled', LIFETIME_S, { expiration_time: 'P0DT1H' }), 'CANCELED', 1],
    ['with a date that nobody can read', order('canceled', 1, { last_updated_date: 'yesterday' }), 'CANCELED', 1],
  ])('%s', (_when, reading, legacy_state, notices) => {
    const step = advance(link(), reading, tables, rules);
    expect([step.change.legacy_state, step.change.state, step.notices.length]).toEqual([legacy_state, 'DONE', notices]);
  });

  it('is paid after all by a late approval', () => {
    const over = readIn([order('canceled', LIFETIME_S)]);
    expect(readIn([order('processed', LIFETIME_S + 1)], over).legacy_state).toBe('FINISHED');
  });
});

describe('answers and notices', () => {
  it.each([
    ['created', 'OPEN', 'LIVE', []],
    ['at_terminal', 'ON_TERMINAL', 'LIVE', []],
    ['processed', 'FINISHED', 'DONE', ['point', 'payment']],
    ['failed', 'ERROR', 'DONE', ['point']],
    ['canceled', 'CANCELED', 'DONE', ['point']],
    ['expired', 'ABANDONED', 'DONE', []],
    ['refunded', 'FINISHED', 'DONE', ['point', 'payment']],
    ['teleported', 'ON_TERMINAL', 'LIVE', []],
  ])('%s is %s', (status, legacy_state, state, topics) => {
    const step = advance(link(), order(status), tables, rules);
    expect(step.change).toMatchObject({ legacy_state, state });
    expect(step.notices.map(({ topic }) => topic)).toEqual(topics);
    expect(step.remarks).toEqual(status === 'teleported' ? ['unknown_states'] : []);
  });

  it('a declined payment follows the policy, and needs a payment to be FINISHED', () => {
    const faithful = { ...rules, declined: 'finished' as const };
    const step = advance(link(), order('failed'), tables, faithful);
    expect(step.change).toMatchObject({ legacy_state: 'FINISHED', payment_id: '16500000001' });
    expect(JSON.parse(step.notices[0]?.body ?? '')).toMatchObject({ payment: { id: 16500000001, state: 'rejected' } });
    const bare = order('failed', 1, { transactions: { payments: [{}] } });
    expect(advance(link(), bare, tables, faithful).change.legacy_state).toBe('ERROR');
  });

  it('a number that a double can not hold, in what the till sent, is announced with its own text', () => {
    const said = '{"external_reference":"Pedido 1","weight":1.50,"code":12345678901234567890}';
    const held = { additional_info: parseJson(said) };
    const step = advance(link({ held }), order('processed'), tables, rules);
    expect(step.notices[0]?.body).toContain(`"additional_info":${said}`);
  });

  it('refunded after processed tells of the payment alone', () => {
    const paid = readIn([order('processed', 5)]);
    expect(advance(paid, order('refunded', 9), tables, rules)).toMatchObject({
      change: { legacy_state: 'FINISHED' },
      notices: [{ topic: 'payment', body: '{"first":false}' }],
    });
  });

  it('an approval after a cancel wins, is notified, and is logged [F30]', () => {
    const step = advance(readIn([order('canceled', 5)]), order('processed', 9), tables, rules);
    expect(step.change.legacy_state).toBe('FINISHED');
    expect(step.notices.map(({ topic }) => topic)).toEqual(['point', 'payment']);
    expect(step.remarks).toContain('late_approvals');
  });

  it('takes the end of life from the order', () => {
    const short = order('created', 1, { expiration_time: 'PT30S' });
    expect(readIn([short]).expires_at).toBe(BORN + 30_000);
    expect(readIn([order('created', 1, { expiration_time: 'soon' })]).expires_at).toBe(BORN + 15 * MINUTE_MS);
  });
});
