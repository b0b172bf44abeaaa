/** Tests of the QR checker: the history of a real run breaks no rule, and each falsified history breaks its own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { started } from './chain.ts';
import { killChildren } from './child.ts';
import { finishQr, startQrStand } from './qr-chain.ts';
import { checkQr, type QrRule } from './qr-checker.ts';
import type { BookedOrder, BookedPayment, QrHistory, RefundAsk, SaleFacts, TillCall } from './qr-history.ts';
import type { QrTill } from './qr-till.ts';
import { seeded } from './random.ts';
import type { Stand } from './stand.ts';

const LIMIT_MS = 60_000;
const V2 = 'LOAD0000001';
const V1 = 'LOAD0000002';
const DYNAMIC = 'LOAD0000003';
/** Numbers of the sales below, in the order of their creates. */
const REPLACED = 1;
const PARTED = 2;
const WHOLE = 3;
const PAID = 4;

let stand: Stand;
let till: QrTill;
let truth: QrHistory;

beforeAll(async () => {
  ({ stand, till } = await startQrStand(seeded(1)));
  await started(stand);
  await till.sell('v2', V2);
  const parted = await payAndFind('v2', V2);
  await till.refund(parted.sale, parted.payment_id, { amount_minor: 100, key: null, knows_earlier: false });
  await till.findPayment(parted.sale);
  await till.refund(parted.sale, parted.payment_id, { amount_minor: 100, key: null, knows_earlier: true });
  const whole = await payAndFind('v1', V1);
  await till.refund(whole.sale, whole.payment_id, { amount_minor: null, key: 'whole', knows_earlier: false });
  await payAndFind('dynamic', DYNAMIC);
  await till.sell('dynamic', DYNAMIC);
  truth = await finishQr(stand, till);
}, LIMIT_MS);

afterAll(async () => {
  await stand.close();
  await killChildren();
});

async function payAndFind(...[kind, pos]: Parameters<QrTill['sell']>) {
  const sale = await till.sell(kind, pos);
  await till.pay(sale);
  const payment_id = await till.findPayment(sale);
  if (payment_id === null) throw new Error('the server died');
  return { sale, payment_id };
}

/** By the rule that each breaks. */
const lies: Record<QrRule, Record<string, (history: QrHistory) => unknown>> = {
  'one at a till': {
    'two orders stand open on one counter after recovery': (history) =>
      history.open_after_recovery.push(orderOf(history, REPLACED).id, orderOf(history, PARTED).id),
    'the replaced order could be paid until after its successor was there': (history) =>
      change(orderOf(history, REPLACED), { ended_at: orderOf(history, PARTED).created_at + 1 }),
  },
  'one exact order': {
    'a sale whose answer was delivered has no order': (history) =>
      void history.orders.splice(history.orders.indexOf(orderOf(history, PAID)), 1),
    'a sale whose answer was delivered has two orders': (history) => double(history, PAID),
    'a sale that was reported as paid got a second order from its retry': (history) => {
      history.reported.push(orderOf(history, PAID).id);
      double(history, PAID);
    },
    'the order costs a cent more': (history) =>
      change(orderOf(history, PAID), { total_minor: orderOf(history, PAID).total_minor + 1 }),
    'the payment of the order is less than its total': (history) =>
      change(orderOf(history, WHOLE), { amount_minor: 1 }),
  },
  'paid once': {
    'a sale that its till knows nothing of was paid twice': (history) => {
      forget(history, PAID);
      double(history, PAID);
    },
  },
  'nothing untold': {
    'an order has no till': (history) =>
      history.orders.push({ ...orderOf(history, PAID), id: 'ORD2', title: 'nobody' }),
    'an order stands open, and its till got no answer': (history) => {
      forget(history, REPLACED);
      history.open_after_recovery.push(orderOf(history, REPLACED).id);
    },
    'a payment was made to a till that got no answer, and no notice came': (history) => {
      forget(history, PAID);
      silence(history, PAID);
    },
  },
  'not taken away': {
    'a dynamic order was canceled': (history) =>
      change(orderOf(history, PAID), { status: 'canceled', detail: 'canceled_by_api' }),
    'the last order of a counter was canceled': (history) =>
      change(lastOrder(history, V2), { status: 'canceled', detail: 'canceled_by_api' }),
  },
  'the right code': {
    'the till renders a code of nothing': (history) => change(callOf(history, PAID), { qr_data: 'x' }),
    "the till renders another sale's code": (history) =>
      change(callOf(history, PAID), { qr_data: lastOrder(history, DYNAMIC).qr_data }),
    'the till was told no code': (history) => change(callOf(history, PAID), { qr_data: null }),
  },
  'refunds as told': {
    'the books lack a refund that was told': (history) => void orderOf(history, PARTED).refunds.pop(),
    'the books have another amount than was told': (history) => {
      for (const refund of orderOf(history, WHOLE).refunds) refund.amount_minor -= 1;
    },
    'two wishes were told the same refund': (history) => {
      const [one, other] = history.asks as [RefundAsk, RefundAsk]; // the two equal parts
      other.calls = structuredClone(one.calls);
    },
    'one wish was told two refunds': (history) => {
      const [one, other] = history.asks as [RefundAsk, RefundAsk]; // the two equal parts
      one.calls.push(...other.calls);
      history.asks.splice(1, 1);
    },
    'the till asked for more than it was told': (history) => change(history.asks[0], { amount_minor: 200 }),
  },
  'refunds as asked': {
    'a refund nobody asked for': (history) => refundMore(history, PAID, 'REF2', 100),
    'a repeat after a lost answer refunded again': (history) => {
      history.asks[0]?.calls.unshift({ status: null, refund_id: null, amount_minor: null });
      refundMore(history, PARTED, 'REF2', 100);
    },
    'a refund in doubt took another amount': (history) =>
      change(history.asks[1], {
        calls: [{ status: 504, refund_id: null, amount_minor: null }],
        amount_minor: 99,
      }),
    'a refused refund was made': (history) =>
      change(history.asks[1], { calls: [{ status: 400, refund_id: null, amount_minor: null }] }),
    'the payment gave back more than its order': (history) =>
      change(paymentOf(history, PARTED), { refunded_minor: 300 }),
    'more went back than was paid': (history) => change(paymentOf(history, WHOLE), { amount_minor: 1 }),
  },
  'notices true': {
    'a payment was announced that is none': (history) => void tell(history, 'payment', '1', null),
    'a merchant order was announced that is none': (history) => void tell(history, 'merchant_order', '1', null),
    'an unpaid order was announced as closed': (history) =>
      tell(history, 'merchant_order', merchantOrderOf(history, REPLACED), 'closed'),
    'a paid order was announced as expired': (history) =>
      tell(history, 'merchant_order', merchantOrderOf(history, PAID), 'expired'),
    'a notice leads to another resource': (history) =>
      change(
        history.notices.find(({ resource }) => resource !== null),
        { resource: '/merchant_orders/1' },
      ),
  },
  'changes told': {
    'a payment was announced to nobody': (history) => silence(history, PAID),
    'the end of an order was announced to nobody': (history) => {
      const id = merchantOrderOf(history, REPLACED);
      history.notices = history.notices.filter((notice) => notice.id !== id || notice.status !== 'expired');
    },
    'a sale was never announced as a merchant order': (history) =>
      void history.merchant_orders.delete(merchantOrderOf(history, PAID)),
  },
  'reads true': {
    'a merchant order reads as unpaid': (history) =>
      change(readOf(history, PAID), { order_status: 'payment_required' }),
    'a merchant order reads with another amount': (history) => change(readOf(history, PAID), { total_minor: 1 }),
    'a payment reads as not refunded': (history) =>
      change(history.payment_reads.get(paymentOf(history, WHOLE).id), { refunded_minor: 0 }),
    'a payment is gone after the restart': (history) =>
      change(history.payment_reads.get(paymentOf(history, PAID).id), { http: 404 }),
  },
  'in order': {
    'a counter takes no new sale': (history) => void history.probes.push({ pos: V2, status: 409 }),
    'recovery took too long': (history) => void history.unsettled.push('1 in_doubt'),
    'the file is damaged': (history) => {
      history.integrity = 'row 1 missing from index';
    },
  },
};

describe('the checker of QR sales', { timeout: LIMIT_MS }, () => {
  it('finds nothing in a true history, which has every kind of ending', () => {
    expect(checkQr(truth)).toEqual([]);
    expect(new Set(truth.orders.map(({ status }) => status))).toEqual(
      new Set(['canceled', 'processed', 'refunded', 'expired']),
    );
    expect(truth.orders.flatMap(({ refunds }) => refunds)).toHaveLength(3);
    expect(new Set(truth.notices.map(({ status }) => status))).toEqual(new Set([null, 'opened', 'closed', 'expired']));
    expect(truth.open_after_recovery.length).toBeGreaterThan(2);
  });

  it('takes a refund in doubt for made or not made', () => {
    const history = structuredClone(truth);
    change(history.asks[1], { calls: [{ status: 504, refund_id: null, amount_minor: null }] });
    expect(checkQr(history)).toEqual([]);
    const { refunds } = orderOf(history, PARTED);
    refunds.pop();
    change(paymentOf(history, PARTED), { refunded_minor: 100 });
    change(history.payment_reads.get(paymentOf(history, PARTED).id), { refunded_minor: 100 });
    expect(checkQr(history)).toEqual([]);
  });

  it('takes an equal part for a repetition while its till has not shown that it knows the first', () => {
    const history = structuredClone(truth);
    const [one, other] = history.asks as [RefundAsk, RefundAsk]; // the two equal parts
    other.calls = structuredClone(one.calls);
    orderOf(history, PARTED).refunds.pop();
    change(paymentOf(history, PARTED), { refunded_minor: 100 });
    change(history.payment_reads.get(paymentOf(history, PARTED).id), { refunded_minor: 100 });
    expect(checkQr(history).map(({ rule }) => rule)).toEqual(['refunds as told']);
    other.knows_earlier = false;
    expect(checkQr(history)).toEqual([]);
  });

  it('counts an order that was reported as paid, and then told by the retry of its till', () => {
    const history = structuredClone(truth);
    history.reported.push(orderOf(history, PAID).id);
    history.calls.unshift({ ...callOf(history, PAID), status: null, qr_data: null });
    expect(checkQr(history)).toEqual([]);
  });

  const each = Object.entries(lies).flatMap(([rule, those]) =>
    Object.entries(those).map(([text, lie]) => [rule, text, lie] as const),
  );
  it.each(each)('%s: %s', (rule, _text, lie) => {
    const history = structuredClone(truth);
    lie(history);
    expect(checkQr(history).map((violation) => violation.rule)).toContain(rule);
  });
});

/** Fails when there is nothing to change: a falsified history must differ. */
function change<Thing extends object>(thing: Thing | undefined, wanted: Partial<Thing>): void {
  if (thing === undefined) throw new Error('the history has nothing to lie about');
  Object.assign(thing, wanted);
}

function found<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error('the history has no such thing');
  return thing;
}

function saleOf(history: QrHistory, number: number): SaleFacts {
  return found(history.sales.find((sale) => sale.number === number));
}

function orderOf(history: QrHistory, number: number): BookedOrder {
  return found(history.orders.find(({ title }) => title === `sale-${number}`));
}

function lastOrder(history: QrHistory, pos: string): BookedOrder {
  return found(history.orders.findLast((order) => order.pos === pos));
}

function callOf(history: QrHistory, number: number): TillCall {
  return found(history.calls.find(({ sale }) => sale === number));
}

function paymentOf(history: QrHistory, number: number): BookedPayment {
  const { payment_id } = orderOf(history, number);
  return found(history.payments.find(({ id }) => id === payment_id));
}

function merchantOrderOf(history: QrHistory, number: number): string {
  const { reference } = saleOf(history, number);
  return found([...history.merchant_orders].find(([, read]) => read.reference === reference))[0];
}

function readOf(history: QrHistory, number: number) {
  return history.merchant_orders.get(merchantOrderOf(history, number));
}

function double(history: QrHistory, number: number): void {
  history.orders.push({ ...structuredClone(orderOf(history, number)), id: 'ORD2' });
}

function forget(history: QrHistory, number: number): void {
  for (const call of history.calls) if (call.sale === number) call.status = null;
}

function silence(history: QrHistory, number: number): void {
  const { id } = paymentOf(history, number);
  history.notices = history.notices.filter((notice) => notice.topic !== 'payment' || notice.id !== id);
}

function tell(history: QrHistory, topic: 'payment' | 'merchant_order', id: string, status: string | null): void {
  history.notices.push({ topic, id, status, resource: null });
}

function refundMore(history: QrHistory, number: number, id: string, amount_minor: number): void {
  orderOf(history, number).refunds.push({ id, amount_minor });
  paymentOf(history, number).refunded_minor += amount_minor;
}
