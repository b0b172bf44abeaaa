/** Tests of the checker: the history of a real run breaks no invariant, and each falsified history breaks its own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, DEVICE, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { collect, MERCHANT } from './books.ts';
import { started, untilOver } from './chain.ts';
import { type CreateCall, check, type History, type Invariant, type LinkFacts, type UpstreamOrder } from './checker.ts';
import { killChildren } from './child.ts';
import { seeded } from './random.ts';
import { startStand } from './stand.ts';
import { startTill, type Till } from './till.ts';

const LIMIT_MS = 60_000;

let till: Till;
let truth: History;

const stand = openForAll(() => startStand());
beforeAll(async () => {
  till = startTill(stand, seeded(1));
  const child = await started(stand);
  for (const ending of ['pay', 'decline', 'cancel at terminal', 'cancel by till', 'leave'] as const) {
    await till.end(await till.sell({ ending }));
  }
  const merchant = `${child.ops_url}/api/merchants/${MERCHANT}`;
  const token = 'ops-token-of-the-tests';
  const { revision } = (await call(merchant, { token })).body as { revision: number }; // a view always has one
  await call(`${merchant}/stage`, { method: 'PUT', token, body: { stage: 'legacy', revision, reason: 'audit line' } });
  truth = await collect(stand, till, await untilOver(stand, till));
}, LIMIT_MS);

afterAll(async () => {
  await killChildren();
});

/** By the invariant that each breaks. */
const lies: Record<Invariant, Record<string, (history: History) => unknown>> = {
  I1: {
    'the row of a sale whose answer was delivered is gone': (history) =>
      void history.links.splice(paidLink(history), 1),
    'a sale whose answer was delivered leads to no order': (history) => changeLink(history, { order_id: null }),
    'the order of a sale whose answer was delivered does not exist': (history) =>
      void history.orders.splice(paidOrder(history), 1),
    'a sale whose answer was delivered was canceled by nobody': (history) =>
      changeOrder(history, { status: 'canceled', detail: 'canceled_by_api' }),
    'the id is unknown after the restart': (history) => setRead(history, { status: 404 }),
    'the id leads to the order of another sale': (history) => changeOrder(history, { reference: 'another' }),
  },
  I2: {
    'a second order carries the reference': (history) => history.orders.push({ ...theOrder(history), id: 'ORD2' }),
    'a retry of a paid sale was paid again': (history) => {
      const copy = {
        ...theLink(history),
        legacy_id: 'second',
        order_id: 'ORD2',
        reference_sent: 'second',
        idempotency_key: 'second',
      };
      history.links.push(copy);
      history.orders.push({ ...theOrder(history), id: 'ORD2', reference: 'second', created_at: 0, updated_at: 1 });
      const first = history.creates.find(({ legacy_id }) => legacy_id === theLink(history).legacy_id);
      if (first !== undefined) history.creates.push({ ...first, legacy_id: 'second' });
    },
    'a key was sent that no row has': (history) => history.keys_seen.push('a second key'),
    'two rows share a key': (history) =>
      changeLink(history, { idempotency_key: history.links[paidLink(history) === 0 ? 1 : 0]?.idempotency_key ?? '' }),
  },
  P2: {
    'a sale was paid once more after its till was told nothing': (history) => {
      const copy = { ...theLink(history), legacy_id: 'second', order_id: 'ORD2', reference_sent: 'second' };
      history.links.push({ ...copy, idempotency_key: 'second', client_answer: 'error' });
      history.orders.push({ ...theOrder(history), id: 'ORD2', reference: 'second', created_at: 0, updated_at: 1 });
    },
    'the second coffee was answered with the first': (history) => {
      const first = history.creates.find(({ legacy_id }) => legacy_id === theLink(history).legacy_id);
      if (first !== undefined) history.creates.push({ ...first, sale: 9_999 });
    },
  },
  I3: {
    'an order has no row': (history) => history.orders.push({ ...theOrder(history), id: 'ORD2', reference: 'pnt0' }),
    'a row never learned of its order': (history) => changeLink(history, { order_id: null }),
    'a paid order was told to nobody and is not reported': (history) => changeLink(history, { client_answer: 'none' }),
    'an order nobody was told of was canceled without a report': (history) => {
      changeLink(history, { client_answer: 'none' });
      changeOrder(history, { status: 'canceled', detail: 'canceled_by_api' });
    },
  },
  I4: {
    'a row is still being sent': (history) => changeLink(history, { state: 'SENDING' }),
    'a row is still in doubt': (history) => changeLink(history, { state: 'IN_DOUBT' }),
    'a row was given up silently': (history) => changeLink(history, { state: 'LOST' }),
    'recovery took too long': (history) => history.unsettled.push('1 in_doubt'),
  },
  I5: {
    'a webhook was taken and is not in the inbox': (history) => void history.events.splice(0, 1),
    'an event was never read': (history) =>
      void history.events.push({ order_id: null, action: 'order.processed', state: 'pending' }),
  },
  I6: {
    'a payment was announced to nobody': (history) => {
      history.notices = history.notices.filter(({ legacy_id }) => legacy_id !== theLink(history).legacy_id);
    },
    'a state was announced that never was': (history) =>
      history.notices.push({ legacy_id: theLink(history).legacy_id, state: 'CANCELED' }),
    'a notice came for an unknown id': (history) => history.notices.push({ legacy_id: 'nobody', state: 'FINISHED' }),
    'a notice still waits': (history) =>
      history.notice_rows.push({ legacy_id: theLink(history).legacy_id, state: 'pending' }),
  },
  I8: {
    'the row says something else than the order': (history) => changeLink(history, { legacy_state: 'OPEN' }),
    'the read says something else than the order': (history) => setRead(history, { state: 'ON_TERMINAL' }),
  },
  I11: {
    'legacy has taken a sale that nothing was noted of': (history) => proxiedCreate(history),
    'what was noted of it says that legacy has refused it': (history) => {
      const { merchant_id, device } = proxiedCreate(history);
      history.legacy_sales.push({ merchant_id, unit: device, state: 'REFUSED', legacy_id: null });
    },
  },
  I12: {
    'the order has another amount': (history) =>
      changeOrder(history, { amount_minor: theOrder(history).amount_minor + 1 }),
    'the read has another amount': (history) => setRead(history, { amount: 1 }),
    'the till asked for another amount': (history) => {
      for (const create of history.creates) create.amount_minor += 1;
    },
  },
  I13: {
    'two orders were live together on one device': (history) => {
      const { device, created_at } = theOrder(history);
      history.orders.push({ ...theOrder(history), id: 'ORD2', reference: 'second', device, created_at });
    },
    'two live rows hold one device': (history) => {
      changeLink(history, { state: 'LIVE' });
      history.links.push({ ...theLink(history), legacy_id: 'second', idempotency_key: 'second' });
    },
    'a device takes no new sale': (history) => history.probes.push({ device: 'any', status: 409 }),
  },
  P16: {
    'an audit line was changed': (history) => {
      for (const line of history.audits) line.reason = 'another reason';
    },
    'a stage moved without an audit line': (history) => {
      for (const merchant of history.merchants) merchant.stage = 'orders';
    },
  },
  file: {
    'the file is damaged': (history) => {
      history.integrity = 'row 1 missing from index';
    },
  },
};

describe('the checker', { timeout: LIMIT_MS }, () => {
  it('finds nothing in a true history, which has every kind of ending', () => {
    expect(check(truth)).toEqual([]);
    expect(new Set(truth.orders.map(({ status }) => status))).toEqual(new Set(['processed', 'failed', 'canceled']));
    // Canceled by the till, and expired.
    const canceled = truth.orders
      .filter(({ status }) => status === 'canceled')
      .map(({ detail }) => detail === 'canceled');
    expect(new Set(canceled)).toEqual(new Set([true, false]));
    expect(truth.notices.length).toBeGreaterThan(0);
    expect(truth.audits.length).toBe(1);
  });

  const each = Object.entries(lies).flatMap(([rule, those]) =>
    Object.entries(those).map(([text, lie]) => [rule, text, lie] as const),
  );
  it.each(each)('%s: %s', (invariant, _text, lie) => {
    const history = structuredClone(truth);
    lie(history);
    expect(check(history).map((violation) => violation.invariant)).toContain(invariant);
  });

  it('sees an order that was made behind Puente’s back', async () => {
    const body = {
      type: 'point',
      external_reference: 'pnt0123456789abcdef0123456789abcdef',
      transactions: { payments: [{ amount: '20.00' }] },
      config: { point: { terminal_id: DEVICE } },
    };
    const headers = { 'x-idempotency-key': 'made-behind-the-back' };
    const answer = await call(`${stand.sandbox.url}/v1/orders`, { body, headers, token: tokenOf(MERCHANT) });
    expect(answer.status).toBe(201);
    const found = check(await collect(stand, till)).map((violation) => violation.invariant);
    expect(new Set(found)).toEqual(new Set(['I2', 'I3']));
  });
});

function paidOrder(history: History): number {
  return history.orders.findIndex(({ status }) => status === 'processed');
}

function theOrder(history: History): UpstreamOrder {
  const order = history.orders[paidOrder(history)];
  if (order === undefined) throw new Error('the history has no paid order');
  return order;
}

function paidLink(history: History): number {
  const paid = truth.orders.find(({ status }) => status === 'processed');
  return history.links.findIndex(({ order_id }) => order_id === paid?.id);
}

function theLink(history: History): LinkFacts {
  const link = history.links[paidLink(history)];
  if (link === undefined) throw new Error('the history has no paid sale');
  return link;
}

function proxiedCreate(history: History): CreateCall {
  const [first] = history.creates;
  if (first === undefined) throw new Error('the history has no sale');
  const proxied = { ...first, sale: 1_000, status: 201, legacy_id: 'proxied' };
  history.creates.push(proxied);
  history.legacy_intents.set('proxied', { amount_minor: proxied.amount_minor, status: 'OPEN' });
  return proxied;
}

function changeLink(history: History, change: Partial<LinkFacts>): void {
  Object.assign(theLink(history), change);
}

function changeOrder(history: History, change: Partial<UpstreamOrder>): void {
  Object.assign(theOrder(history), change);
}

function setRead(history: History, change: { status?: number; state?: unknown; amount?: unknown }): void {
  const { legacy_id } = theLink(history);
  const read = history.reads.get(legacy_id);
  if (read !== undefined) history.reads.set(legacy_id, { ...read, ...change });
}
