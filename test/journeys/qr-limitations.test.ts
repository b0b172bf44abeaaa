/** Each numbered limitation of QR, merchant orders and payments, shown as exactly what a till sees differently. */
import { describe, expect, it, test } from 'vitest';
import type { Profile } from '../../src/sandbox/assumptions.ts';
import { approveAtTerminal } from '../../src/sandbox/order-at-unit.ts';
import { ARGENTINA, BRAZIL, call, DEVICE, tokenOf, topicOf } from '../kit.ts';
import { rawRequest, sendRaw, startRawUpstream } from '../proxy/http/raw.ts';
import { startOutside } from '../proxy/http/unruly.ts';
import { hitsIn, reportsOf } from './limitation-hits.ts';
import {
  ask,
  compare,
  compareWithOrder,
  each,
  limitation,
  limitations,
  loseAnswers,
  MERCHANT_ORDER,
  NOTHING_SHOWN,
  OPENED,
  PAID,
  pay,
  REFUND,
  sale,
  searchOf,
  shown,
} from './qr-limitation-kit.ts';
import { argentina, buyer, dynamic, read, remove, v1, v1Number, v2, v2Item } from './qr-sales.ts';
import type { QrStep } from './qr-till-script.ts';
import type { OpenQrWorld } from './qr-worlds.ts';
import { narrowDifferences } from './transcript.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const BATCH = 20;

describe('sales', () => {
  limitation('LIM-21', async () => {
    const found = await compare(async (till, world) => {
      const first = await till.run([sale(v2), OPENED]);
      const rule = { method: 'POST', path: '/v1/orders', kind: 'error', status: 400, code: 'bad_request' };
      await call(`${world.control_url}/_sandbox/faults`, { body: rule });
      // Legacy has no such fault, so there the second sale has a wrong total.
      const body = v2.body(argentina, { external_reference: 'SECOND' });
      const bad = world.door_url === world.control_url ? { ...body, total_amount: 1 } : body;
      await ask(world, `/instore/qr/seller/collectors/${world.merchant}/pos/SUC001POS001/orders`, {
        method: 'PUT',
        body: JSON.stringify(bad).replace('{receiver}', world.receiver_url),
      });
      return [...first, ...(await till.run(read(v2)))];
    });
    expect(found[0]).toMatch(/^- < 200 application\/json \{"external_reference":"INV-0001",/);
    expect(found[1]).toBe(`+ ${NOTHING_SHOWN.slice(0, -1)}…`);
    expect(found).toHaveLength(2);
  });

  limitation('LIM-22', async () => {
    const found = await compare(
      async (till, world) => {
        await loseAnswers(world, 'POST', '/v1/orders');
        await loseAnswers(world, 'GET', '/v1/orders*');
        return till.run([sale(v2), sale(v2, { external_reference: 'SECOND' }), ...remove(v2)]);
      },
      { environment: { PUENTE_CREATE_DEADLINE_MS: '600', PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '200' } },
    );
    const pending =
      '+ < 409 application/json {"error":"in_store_order_pending","message":"The order before this one is not known yet; try again","status":409,"causes":[]}';
    expect(found).toEqual([
      '- < 204 no type',
      '+ < 504 application/json {"error":"gateway_timeout","message":"The payments service did not answer in time; the same request can safely be sent again and is not carried out twice","status":504,"causes":[]}',
      '- < 204 no type',
      pending,
      '- < 204 no type',
      pending,
    ]);
  });

  limitation('LIM-23', async () => {
    const items = Array.from({ length: 12 }, (_none, index) => ({ ...v2Item(argentina), title: `Item ${index + 1}` }));
    const body = { items, total_amount: 12 * argentina.total };
    // Only the payer is missing, which is LIM-38.
    const script = [sale(v2, body), OPENED, ...read(v2), ...pay(v2), MERCHANT_ORDER];
    const { found, order } = await compareWithOrder((till) => till.run(script));
    expect(found).toEqual(['- …"payer":{"id":700900001,"email":""}…', '+ …"payer":null…']);
    const sent = order.items as { title: string; unit_price: string; quantity: number }[]; // as the orders API shows them
    expect(sent).toHaveLength(10);
    expect(sent.at(8)).toMatchObject({ title: 'Item 9', unit_price: '120.50', quantity: 2 });
    expect(sent.at(9)).toMatchObject({ unit_price: '723.00', quantity: 1 });
    expect(order.total_amount).toBe('2892.00');
  });

  limitation('LIM-24', async () => {
    const found = await compare(async (till, world) => {
      const accepted = { legacy_qr_nameless_till: 'accepted' };
      await call(`${world.control_url}/_sandbox/settings`, { method: 'PUT', body: accepted });
      const made = await ask(world, '/pos', { body: { name: 'Till without a name', store_id: 10001 } });
      const path = v1Number.create.replace('{till_number}', String(made.id));
      const lines = await till.run([{ call: path, body: v1.body(argentina) }]);
      return lines.map((line) => line.replaceAll(String(made.id), '<till>'));
    });
    expect(found[0]).toMatch(/^- < 200 application\/json \{"id":"700100200-<id 1>",/);
    expect(found[1]).toMatch(
      /^\+ < 404 application\/json \{"error":"pos_obtainment_error","message":"Point of sale has no external id; /,
    );
    expect(found).toHaveLength(2);
  });

  limitation('LIM-25', async () => {
    const taxes = [{ value: 19, type: 'IVA' }];
    const body = { taxes, items: [{ ...v2Item(argentina), picture_url: 'https://shop.example/coffee.png' }] };
    const { found, order } = await compareWithOrder((till) => till.run([sale(v2, body), OPENED, ...read(v2)]));
    expect(found).toEqual([]);
    expect(order).toMatchObject({ description: 'Two coffees' });
    expect(JSON.stringify(order)).not.toMatch(/At the bar|Black|food|coffee\.png|taxes/);
  });

  limitation('LIM-26', async () => {
    const script: QrStep[] = [
      sale(v1, {}, { 'x-ttl-store-preference': '10' }),
      { advance_ms: 11_000 },
      ...read(v1),
      { advance_ms: 20_000 },
      ...read(v1),
    ];
    const found = await compare(script);
    expect(found[0]).toBe(`- ${NOTHING_SHOWN.slice(0, -1)}…`);
    expect(found[1]).toMatch(/^\+ < 200 application\/json \{"id":"700100200-<id 1>",/);
    expect(found).toHaveLength(2);
  });

  limitation('LIM-27', async () => {
    const later = (minutes: number): QrStep => ({ advance_ms: minutes * MINUTE_MS });
    const found = await compare([
      sale(v2),
      later(11),
      ...read(v2),
      later(5),
      ...read(v2),
      sale(v1),
      later(11),
      ...read(v1),
    ]);
    expect(found[0]).toBe(`- ${NOTHING_SHOWN.slice(0, -1)}…`);
    expect(found[1]).toMatch(/^\+ < 200 application\/json \{"external_reference":"INV-0001",/);
    // v1 keeps its ten minutes.
    expect(found).toHaveLength(2);
  });

  limitation('LIM-28', async () => {
    const confirmation = (status: string): QrStep => ({
      call: 'POST /instore/orders/{merchant_order}/confirmation',
      body: { status },
    });
    const withdrawal = { cash_out: { amount: 100 }, total_amount: argentina.total + 100 };
    const paid = (reference: string, changes: object, status: string): QrStep[] => [
      sale(v2, { external_reference: reference, ...changes }),
      OPENED,
      buyer(v2, 'pay'),
      PAID,
      confirmation(status),
    ];
    const found = await compare(async (till, world) => {
      const body = { may_hand_out_cash: true };
      await call(`${world.control_url}/_sandbox/merchants/${world.merchant}`, { method: 'PUT', body });
      return till.run([
        ...paid('CASH', withdrawal, 'confirm'),
        ...paid('WITHOUT', {}, 'confirm'),
        ...paid('CANCELED', withdrawal, 'canceled'),
      ]);
    });
    expect(found).toEqual([
      expect.stringMatching(/^- < 400 /),
      '+ < 204 no type',
      '- < 204 no type',
      '+ < 409 application/json {"error":"confirmation_not_supported","message":"The withdrawal belongs to an order, which ends when it is paid; refund the payment instead","status":409,"causes":[]}',
    ]);
  });

  limitation('LIM-29', async () => {
    const script: QrStep[] = [sale(dynamic), sale(dynamic)];
    const onTheTill = sale(v2, { external_reference: 'SECOND' });
    const found = await compare(async (till) => [
      ...(await till.run(script)),
      ...(await till.run([onTheTill, onTheTill, ...read(v2)])),
    ]);
    expect(found).toEqual(['- …"in_store_order_id":"<id 2>"…', '+ …"in_store_order_id":"<id 1>"…']);
    expect(await compare(script, { environment: { PUENTE_CREATE_JOIN_WINDOW_MS: '0' } })).toEqual([]);
  });

  limitation('LIM-30', async () => {
    const path = '/instore/qr/seller/collectors/{merchant}/stores/NOTHERE/pos/{till}/orders';
    const missing =
      '- < 404 application/json {"error":"pos_obtainment_error","message":"Point of sale not found","status":404,"causes":[]}';
    expect(await compare([{ call: `PUT ${path}`, body: v2.body(argentina) }, { call: `DELETE ${path}` }])).toEqual([
      missing,
      '+ < 204 no type',
      missing,
      '+ < 204 no type',
    ]);
  });
});

describe('merchant orders', () => {
  limitation('LIM-35', async () => {
    const { direct, orders } = await each(async (till, world) => {
      await till.run([sale(v1), OPENED, buyer(v1, 'decline')]);
      const lines = await till.run([MERCHANT_ORDER]);
      await world.bench.sandbox.world.settled();
      await till.run([buyer(v1, 'pay')]);
      const told = await world.notices(world.door_url === world.control_url ? 4 : 3);
      return { lines, topics: told.map(({ query }) => query.get('topic')).sort() };
    });
    const [legacy, ours, ...more] = narrowDifferences(direct.lines, orders.lines);
    expect(legacy).toMatch(/^- …\{"id":<payment 1>,.*"status":"rejected","status_detail":"cc_rejected_/);
    expect(ours).toBe('+ …]…');
    expect(more).toEqual([]);
    expect(direct.topics).toEqual(['merchant_order', 'merchant_order', 'payment', 'payment']);
    expect(orders.topics).toEqual(['merchant_order', 'merchant_order', 'payment']);
  });

  limitation('LIM-36', async () => {
    expect(await compare([sale(v1), OPENED, buyer(v1, 'lock'), MERCHANT_ORDER])).toEqual([
      '- …"order_status":"payment_in_process"…',
      '+ …"order_status":"payment_required"…',
    ]);
  });

  limitation('LIM-37', async () => {
    const { direct, orders } = await each(async (till, world) => {
      const birth = { merchant_order_birth: 'payment' };
      await call(`${world.control_url}/_sandbox/settings`, { method: 'PUT', body: birth });
      await till.run([sale(v1)]);
      const { elements } = await ask(world, '/merchant_orders/search?external_reference=INV-0001');
      return elements as { id: number }[] | null; // a search's elements
    });
    expect(direct).toBeNull();
    expect(orders).toHaveLength(1);
    expect(orders?.[0]?.id).toBeGreaterThan(1e15);
    expect(Number.isSafeInteger(orders?.[0]?.id)).toBe(true);
  });

  limitation('LIM-38', async () => {
    const of_payer: unknown[] = [];
    const found = await compare(async (till, world) => {
      const lines = await till.run([sale(v1), OPENED, ...pay(v1), MERCHANT_ORDER]);
      of_payer.push((await ask(world, '/merchant_orders/search?payer_id=700900001')).total);
      return lines;
    });
    expect(found).toEqual(['- …"payer":{"id":700900001,"email":""}…', '+ …"payer":null…']);
    expect(of_payer, 'directly, on orders').toEqual([1, 0]);
  });

  limitation('LIM-39', async () => {
    const moved = await each(async (till, world) => {
      await till.run([sale(v1), OPENED, ...pay(v1)]);
      const timesOf = async (): Promise<unknown> => {
        const found = await ask(world, '/merchant_orders/search?external_reference=INV-0001');
        const [{ payments }] = found.elements as [{ payments: [{ date_created: string; date_approved: string }] }]; // one is paid
        return [payments[0].date_created, payments[0].date_approved];
      };
      const before = await timesOf();
      await world.advance(MINUTE_MS);
      await till.run([REFUND, { notices: 1 }]);
      return JSON.stringify(before) !== JSON.stringify(await timesOf());
    });
    expect(moved).toEqual({ direct: false, orders: true });
  });

  limitation('LIM-40', async () => {
    const again = sale(v1, { external_reference: 'SECOND' });
    const search = { call: 'GET /merchant_orders/search?external_reference=INV-0001' };
    expect(await compare([sale(v1), OPENED, again, { notices: 2 }, search])).toEqual([
      '- …"cancelled":false…',
      '+ …"cancelled":true…',
    ]);
  });

  limitation('LIM-54', async () => {
    const written = await each(async (till, world) => {
      await till.run([sale(v1), OPENED]);
      const { elements } = await ask(world, '/merchant_orders/search?external_reference=INV-0001');
      const [{ id }] = elements as [{ id: number }]; // the order is open
      const paths = [
        ['PUT', `/merchant_orders/${id}`],
        ['POST', '/merchant_orders'],
      ] as const;
      const lines = world.bench.sandbox.world.request_log;
      const before = lines.list().length;
      for (const [method, path] of paths) await ask(world, path, { method, body: { external_reference: 'SECOND' } });
      const reached = lines.list().slice(before);
      const same = await ask(world, `/merchant_orders/${id}`);
      return {
        minted: id > 1e15,
        proxied: paths.every(([method, path]) => reached.some((one) => one.method === method && one.path === path)),
        refused: reached.every(({ status }) => status !== null && status >= 400),
        reference: same.external_reference,
      };
    });
    const alike = { proxied: true, refused: true, reference: 'INV-0001' };
    expect(written).toEqual({ direct: { minted: false, ...alike }, orders: { minted: true, ...alike } });
  });
});

describe('a long list', () => {
  limitation('LIM-41', async () => {
    const totals = await each(async (_till, world) => {
      const path = dynamic.create
        .replace('POST ', '')
        .replace('{merchant}', world.merchant)
        .replace('{till}', 'SUC001POS001');
      for (let made = 0; made < 1001; made += BATCH) {
        const batch = Array.from({ length: Math.min(BATCH, 1001 - made) }, (_none, index) =>
          ask(world, path, {
            body: dynamic.body(argentina, { external_reference: `INV-${made + index}`, notification_url: undefined }),
          }),
        );
        await Promise.all(batch);
      }
      return (await ask(world, '/merchant_orders/search?limit=1')).total;
    });
    expect(totals).toEqual({ direct: 1001, orders: 1000 });
  });
});

describe('payments', () => {
  limitation('LIM-42', async () => {
    const { found, order } = await compareWithOrder(async (till, world) => {
      const slow = { simulated_step_ms: 600_000 };
      await call(`${world.control_url}/_sandbox/settings`, { method: 'PUT', body: slow });
      return till.run([sale(v2), OPENED, ...pay(v2), REFUND]);
    });
    expect(found).toEqual([]);
    expect(order).toMatchObject({ transactions: { refunds: [{ status: 'processing' }] } });
  });

  limitation('LIM-43', async () => {
    const { direct, orders } = await each(async (till, world) => {
      const hidden = { order_payments: 'hidden' };
      await call(`${world.control_url}/_sandbox/settings`, { method: 'PUT', body: hidden });
      await till.run([sale(v2), OPENED, ...pay(v2)]);
      const { received } = world.receiver;
      const id = received.find(({ query }) => query.get('topic') === 'payment')?.query.get('id');
      return ask(world, `/v1/payments/${id}`);
    });
    const told = ['id', 'status', 'status_detail', 'external_reference', 'transaction_amount', 'currency_id'];
    for (const name of told) if (name !== 'id') expect(orders[name]).toEqual(direct[name]);
    const missing = Object.keys(direct).filter((name) => !(name in orders));
    expect(missing).toEqual(expect.arrayContaining(['fee_details', 'payer', 'card', 'authorization_code']));
    expect(Object.keys(orders).filter((name) => !(name in direct))).toEqual([]);
  });

  limitation('LIM-98', async () => {
    const { direct, orders } = await each(async (till, world) => {
      await till.run([sale(v2), OPENED, ...pay(v2)]);
      const { received } = world.receiver;
      const id = received.find(({ query }) => query.get('topic') === 'payment')?.query.get('id');
      // The Node SDK 0.5.0 reads it this way.
      const { collection } = await ask(world, `/collections/notifications/${id}`);
      const { results } = await ask(world, '/collections/search?external_reference=INV-0001');
      expect(results).toEqual([{ collection }]);
      return collection as Record<string, object>; // the vendor's shape
    });
    expect(Object.keys(direct).filter((name) => !(name in orders))).toEqual(['marketplace']);
    expect(Object.keys(orders).filter((name) => !(name in direct))).toEqual([]);
    const lost = (name: string) => Object.keys(direct[name] ?? {}).filter((key) => !(key in (orders[name] ?? {})));
    expect([lost('payer'), lost('collector')]).toEqual([['nickname'], ['nickname']]);
    const same = [
      'status',
      'external_reference',
      'transaction_amount',
      'reason',
      'payment_type',
      'net_received_amount',
    ];
    for (const name of same) expect(orders[name]).toEqual(direct[name]);
    for (const one of [direct, orders]) expect(String(one.merchant_order_id)).toBe(one.order_id);
  });

  limitation('LIM-93', async () => {
    const part = (amount: number): QrStep => ({ call: 'POST /v1/payments/{payment}/refunds', body: { amount } });
    const price = argentina.total;
    const changes = { cash_out: { amount: 100 }, total_amount: price + 100 };
    const found = await each(async (till, world) => {
      const body = { may_hand_out_cash: true };
      await call(`${world.control_url}/_sandbox/merchants/${world.merchant}`, { method: 'PUT', body });
      await till.run([sale(v2, changes), OPENED, ...pay(v2)]);
      // The goods, more than they cost, the goods in two parts, and then all that is left: the cash.
      const lines = await till.run([part(price), part(price + 1), part(price - 1), part(1), part(100)]);
      const shown = /^< (\d+) .*?(?:"code":(\d+)|"amount":(\d+))/;
      return lines.flatMap((line) => shown.exec(line)?.slice(1).filter(Boolean).join(' ') ?? []);
    });
    expect(found.orders).toEqual(['400 2085', '400 4017', '201 240', '201 1', '201 100']);
    expect(found.direct[0]).toBe('201 241');
  });

  limitation('LIM-44', async () => {
    const search = searchOf('INV-0001');
    const found = await compare(
      async (till, world) => {
        await call(`${world.control_url}/_sandbox/settings`, { method: 'PUT', body: { webhook_mode: 'drop' } });
        await till.run([sale(v2), search, buyer(v2, 'pay')]);
        const lines = await till.run([search]);
        await world.advance(2 * MINUTE_MS);
        return [
          ...lines.map((line) => line.slice(0, 80)),
          ...(await till.run([search])).map((line) => line.slice(0, 80)),
        ];
      },
      { environment: { PUENTE_READS_SEARCH_FRESH_MS: '60000', PUENTE_RECONCILE_QR_INTERVAL_MS: '3600000' } },
    );
    expect(found.map((line) => line.slice(0, 60))).toEqual([
      expect.stringMatching(/^- .*"total":1/),
      expect.stringMatching(/^\+ .*"total":0/),
    ]);
  });

  limitation('LIM-45', async () => {
    const totals = await each(async (till, world) => {
      for (let index = 1; index <= 51; index++) {
        const body = { external_reference: 'Venta de caja', title: `Sale ${index}` };
        await till.run([sale(dynamic, body), OPENED, ...pay(dynamic)]);
      }
      const found = await ask(world, '/v1/payments/search?external_reference=Venta%20de%20caja&limit=100');
      return [(found.paging as { total: number }).total, (found.results as unknown[]).length]; // the shape of every search
    });
    expect(totals).toEqual({ direct: [51, 51], orders: [50, 50] });
  });

  limitation('LIM-46', async () => {
    const part: QrStep = { call: 'POST /v1/payments/{payment}/refunds', body: { amount: argentina.part } };
    const found = await compare(
      async (till, world) => {
        await till.run([sale(v2), OPENED, ...pay(v2)]);
        await loseAnswers(world, 'POST', '/v1/orders/*');
        await loseAnswers(world, 'GET', '/v1/orders/*');
        const lines = await till.run([part, { ...part, body: { amount: 1 } }]);
        await call(`${world.control_url}/_sandbox/faults`, { method: 'DELETE' });
        const refunds = { call: 'GET /v1/payments/{payment}/refunds' };
        return [...lines, ...(await till.run([part, refunds]))];
      },
      { environment: { PUENTE_CREATE_DEADLINE_MS: '600', PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '200' } },
    );
    const statuses = found.slice(0, 4).map((line) => line.slice(0, '- < 201'.length));
    expect(statuses).toEqual(['- < 201', '+ < 504', '- < 201', '+ < 409']);
    expect(found.at(1)).toContain('"error":"gateway_timeout"');
    expect(found.at(3)).toContain('"message":"A refund of the payment is in progress"');
    // The third request makes the refund, once; at legacy it was a third refund.
    expect(found).toHaveLength(6);
    expect(found.at(4)).toContain('<refund 3>');
    expect(found.at(5)).not.toContain('<refund 2>');
  });

  limitation('LIM-47', async () => {
    const script: QrStep[] = [sale(v2), OPENED, ...pay(v2), { advance_ms: 200 * DAY_MS }, REFUND];
    const found = await compare(script);
    expect(found[0]).toMatch(/^- < 404 .*"code":2024/);
    expect(found[1]).toMatch(/^\+ < 201 .*"status":"approved"/);
  });

  limitation('LIM-48', async () => {
    const refund: QrStep = {
      call: 'POST /v1/payments/{payment}/refunds',
      body: {},
      headers: { 'x-idempotency-key': 'one-for-all' },
    };
    const script: QrStep[] = [sale(v2), OPENED, ...pay(v2), refund, { notices: 1 }];
    const found = await compare([...script, sale(v2, { external_reference: 'SECOND' }), OPENED, ...pay(v2), refund]);
    expect(found[0]).toMatch(/^- < 400 .*"X-Idempotency-Key was already used with another request"/);
    expect(found[1]).toMatch(/^\+ < 201 .*"id":<refund 2>,"payment_id":<payment 2>,/);
    expect(found).toHaveLength(2);
  });

  limitation('LIM-59', async () => {
    // An acknowledged notice would make the refund known to the till, so here no receiver listens.
    const unheard = sale(v2, { notification_url: 'http://127.0.0.1:9/nobody' });
    const payment: QrStep = {
      poll: 'GET /v1/payments/search?external_reference=INV-0001',
      until: '"status":"approved"',
    };
    const part: QrStep = { call: 'POST /v1/payments/{payment}/refunds', body: { amount: argentina.part } };
    const read: QrStep = { call: 'GET /v1/payments/{payment}/refunds' };
    const twice = (between: QrStep[]) =>
      each(async (till) => {
        await till.run([unheard, buyer(v2, 'pay')]);
        await till.run([payment, searchOf('INV-0001')]);
        return (await till.run([part, ...between, part])).map((line) =>
          /^< (\d+) .*"id":(<refund \d>)/.exec(line)?.slice(1),
        );
      });
    const { direct, orders } = await twice([]);
    expect([direct.at(-1), orders.at(-1)]).toEqual([
      ['201', '<refund 2>'],
      ['201', '<refund 1>'],
    ]);
    for (const [what, between] of [
      ['a till that has read it means another one', [read]],
      // The clock is put forward once Puente has noted that it has answered, which it has when it answers the next call.
      ['a minute later it is another one', [searchOf('NOBODY'), { advance_ms: MINUTE_MS + 1 }]],
    ] as const) {
      const after = await twice([...between]);
      expect(after.orders.at(-1), what).toEqual(after.direct.at(-1));
    }
    // Its receiver has acknowledged the notice of the first one.
    const known = await each((till) => till.run([sale(v2), OPENED, ...pay(v2), part, { notices: 1 }, part]));
    expect(known.orders.at(-1)).toContain('"id":<refund 2>');
  });

  limitation('LIM-90', async () => {
    const statuses = await each(
      async (_till, world) => {
        const device = `${world.door_url}/point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents`;
        const token = tokenOf(world.merchant);
        const { id } = (await call(device, { token, body: { amount: 1500 } })).body as { id: string };
        const cancel = async () => (await call(`${device}/${id}`, { method: 'DELETE', token })).status;
        const before = [await cancel(), await cancel()];
        await call(`${world.door_url}/point/integration-api/payment-intents/${id}`, { token });
        return [...before, await cancel()];
      },
      { settings: { notice_url: null } }, // a receiver would make the end known to the till
    );
    expect(statuses).toEqual({ direct: [200, 404, 404], orders: [200, 200, 404] });
  });

  limitation('LIM-91', async () => {
    const shown = await each(
      async (_till, world) => {
        const { control_url, door_url, merchant, receiver } = world;
        const control = (path: string, body: object, method = 'POST') =>
          call(`${control_url}/_sandbox/${path}`, { method, body });
        const person = (action: string) => control(`terminals/${merchant}/${DEVICE}/${action}`, {});
        await control('settings', { action_required: 'moves_on' }, 'PUT');
        const intents = `${door_url}/point/integration-api/devices/${DEVICE}/payment-intents`;
        const { id } = (await call(intents, { token: tokenOf(merchant), body: { amount: 1500 } })).body as {
          id: string;
        };
        const state = async (): Promise<unknown> =>
          (await ask(world, `/point/integration-api/payment-intents/${id}`)).state;
        await person('confirm_needed');
        const states = [await state()];
        // At legacy the intent has left the terminal.
        const { status } = await person('pay');
        const told = status === 200 ? await receiver.waitFor(2) : [];
        states.push(await state());
        return { status, states, notices: told.map(({ text }) => JSON.parse(text).state as unknown) };
      },
      {
        environment: { PUENTE_RECONCILE_ACTION_REQUIRED_GRACE_MS: '0' },
        settings: { point_payment_notices: 'off' }, // those of intents alone
      },
    );
    const final = 'CONFIRMATION_REQUIRED';
    expect(shown).toEqual({
      direct: { status: 409, states: [final, final], notices: [] },
      orders: { status: 200, states: [final, 'FINISHED'], notices: [final, 'FINISHED'] },
    });
    const ends: Record<string, (world: OpenQrWorld, intent: string) => Promise<unknown>> = {
      CANCELED: ({ door_url, merchant }, intent) =>
        call(`${door_url}/point/integration-api/devices/${DEVICE}/payment-intents/${intent}`, {
          method: 'DELETE',
          token: tokenOf(merchant),
        }),
      ABANDONED: ({ advance }) => advance(15 * MINUTE_MS + 1),
      ERROR: ({ control_url, merchant }) =>
        call(`${control_url}/_sandbox/terminals/${merchant}/${DEVICE}/error`, { body: {} }),
    };
    for (const [end, cause] of Object.entries(ends)) {
      const states = await each(
        async (_till, world) => {
          const { door_url, merchant, bench, receiver } = world;
          const intents = `${door_url}/point/integration-api/devices/${DEVICE}/payment-intents`;
          const { body } = await call(intents, { token: tokenOf(merchant), body: { amount: 1500 } });
          const { id } = body as { id: string }; // of a created intent
          await cause(world, id);
          const state = async (): Promise<unknown> =>
            (await ask(world, `/point/integration-api/payment-intents/${id}`)).state;
          const before = await state();
          const order = [...bench.sandbox.world.orders.values()].at(-1);
          // Upstream approves a payment of the order that it has ended; legacy has no order.
          if (order === undefined) return [before, await state()];
          // An intent that was abandoned has no notice.
          const notices = end === 'ABANDONED' ? 0 : 1;
          await receiver.waitFor(notices);
          order.status = 'at_terminal';
          approveAtTerminal(bench.sandbox.world, order, {});
          const told = await receiver.waitFor(notices + 1);
          return [before, await state(), JSON.parse(told.at(-1)?.text ?? '').state as unknown];
        },
        { settings: { point_payment_notices: 'off' } },
      );
      expect(states).toEqual({ direct: [end, end], orders: [end, 'FINISHED', 'FINISHED'] });
    }
  });

  limitation('LIM-92', async () => {
    const shown = await each(async (till, world) => {
      const { bench, control_url, receiver } = world;
      await till.run([sale(v2), OPENED, ...pay(v2)]);
      // On orders the vendor's own notices of the account come to the same receiver, so those of Puente are counted there.
      const told = async (): Promise<unknown[]> =>
        bench.ops === undefined
          ? receiver.received.map(topicOf).sort()
          : ((await bench.ops('/api/notices')).body as { notices: { topic: string }[] }).notices.map(
              ({ topic }) => topic,
            );
      const before = (await told()).length;
      const number = [...bench.sandbox.world.payments.keys()].at(-1);
      const dispute = await call(`${control_url}/_sandbox/payments/${number}/chargeback`, { body: {} });
      expect(dispute.status).toBe(200);
      if (bench.ops === undefined) await receiver.waitFor(before + 2);
      const { elements } = await ask(world, '/merchant_orders/search?external_reference=INV-0001');
      const [{ payments }] = elements as [{ payments: { status: string }[] }]; // the one that was paid
      const { id } = dispute.body as { id: number };
      return {
        notices: (await told()).length - before,
        merchant_order: payments[0]?.status,
        payment: (await ask(world, `/v1/payments/${number}`)).status,
        chargeback: String((await ask(world, `/v1/chargebacks/${id}`)).id) === String(id),
      };
    });
    const read = { payment: 'charged_back', chargeback: true };
    expect(shown).toEqual({
      direct: { notices: 2, merchant_order: 'charged_back', ...read },
      orders: { notices: 0, merchant_order: 'approved', ...read },
    });
  });

  limitation('LIM-49', async () => {
    const script: QrStep[] = [sale(v2), buyer(v2, 'decline'), searchOf('INV-0001')];
    const found = await compare(script);
    expect(found[0]).toMatch(/^- …"total":1,.*"status":"rejected"/);
    expect(found[1]).toBe('+ …"total":0,"limit":30,"offset":0},"results":[]…');
  });
});

describe('notices and refusals', () => {
  limitation('LIM-60', async () => {
    const dialect = 'point_integration_wh';
    const told = (settings: Record<string, unknown>) =>
      each(
        async (_till, world) => {
          const { control_url, merchant, receiver, receiver_url, door_url } = world;
          const secret = 'notice-secret-of-the-till';
          // The panel is set to webhooks of intents and of payments.
          const panel = { url: receiver_url, topic: dialect, ipn_url: `${receiver_url}?source_news=webhooks`, secret };
          const path = `${control_url}/_sandbox/legacy/merchants/${merchant}/notifications`;
          expect((await call(path, { method: 'PUT', body: panel })).status).toBe(200);
          const create = `${door_url}/point/integration-api/devices/${DEVICE}/payment-intents`;
          await call(create, { token: tokenOf(merchant), body: { amount: 1500 } });
          await call(`${control_url}/_sandbox/terminals/${merchant}/${DEVICE}/pay`, { body: {} });
          await receiver.waitFor(1, dialect);
          if (world.bench.ops !== undefined) {
            const { notices } = (await world.bench.ops('/api/notices')).body as { notices: { topic: string }[] }; // the API's shape
            if (notices.length === 1) return receiver.received.map(topicOf);
          }
          await receiver.waitFor(1, 'payment');
          return receiver.received.map(topicOf).sort();
        },
        { dialect, settings },
      );
    expect(await told({})).toEqual({ direct: ['payment', dialect], orders: [dialect] });
    expect((await told({ point_payment_notices: 'all' })).orders).toEqual(['payment', dialect]);
  });

  limitation('LIM-51', async () => {
    const refused =
      '- < 400 application/json {"error":"invalid_sponsor.id","message":"sponsor.id is not valid","status":400,"causes":[]}';
    const sponsored = [argentina.merchant, BRAZIL].map((id) => sale(v2, { sponsor: { id: Number(id) } }));
    expect(await compare(sponsored)).toEqual([refused, '+ < 204 no type', refused, '+ < 204 no type']);
  });

  limitation('LIM-52', async () => {
    const refused = [
      sale(v1, { external_reference: null }),
      sale(v2, { sponsor: 5 }),
      sale(v2, { items: [{ ...v2Item(argentina), total_amount: 1 }] }),
    ];
    expect(await compare(refused)).toEqual([
      '- …"message":"external_reference needed"…',
      '+ …"message":"external_reference invalid"…',
      '- …"error":"invalid_sponsor.id","message":"sponsor.id is not valid"…',
      '+ …"error":"invalid_sponsor","message":"sponsor is not valid"…',
      '- …"error":"invalid_items.total_amount","message":"items.total_amount is not valid"…',
      '+ …"error":"invalid_total_amount","message":"total_amount is not valid"…',
    ]);
  });

  limitation('LIM-81', async () => {
    const body = { amount: 3000, payment: { type: 'credit_card', installments: 3, installments_cost: 'seller' } };
    const on = (profile: Profile, ...devices: string[]) =>
      each(
        async (_till, world) => {
          const { control_url, door_url, merchant } = world;
          const told: unknown[] = [];
          for (const device of devices) {
            const terminal = `${control_url}/_sandbox/terminals/${merchant}/${device}`;
            await call(terminal, { method: 'PUT', body: { operating_mode: 'PDV' } });
            const path = `${door_url}/point/integration-api/devices/${device}/payment-intents`;
            const { status, body: answer } = await call(path, { token: tokenOf(merchant), body });
            told.push(status === 201 ? status : answer);
          }
          return told;
        },
        { merchant: BRAZIL, profile },
      );
    const refused = { error: '400', message: 'payment.installments_cost is not valid', status: 400 };
    const both = await on('specification', DEVICE, 'PAX_Q92__Q92-1734000001');
    expect(both).toEqual({ direct: [201, 201], orders: [refused, 201] });
    expect(await on('field', DEVICE)).toEqual({ direct: [201], orders: [201] });
  });

  limitation('LIM-83', async () => {
    const sales = [v1, v2].map((family) => sale(family, { notification_url: 'https://shop with a space/ipn' }));
    const refused = expect.stringMatching(/^\+ < 400 application\/json .*notification_url.*/);
    expect(await compare(sales)).toEqual([
      expect.stringMatching(/^- < 200 /),
      refused,
      expect.stringMatching(/^- < 204 /),
      refused,
    ]);
  });
});

describe('what is said', () => {
  limitation('LIM-55', async () => {
    const found = await compare([sale(v1, { marketplace_fee: 0 }), sale(v1, { marketplace_fee: 2.5 })]);
    expect(found[0]).toMatch(/^- < 200 /);
    expect(found[1]).toMatch(/^\+ < 400 .*"error":"invalid_marketplace_fee"/);
    expect(found).toHaveLength(2);
  });

  limitation('LIM-56', async () => {
    const twice: QrStep = {
      call: 'GET /merchant_orders/search?external_reference=INV-0001&external_reference=INV-0002',
    };
    const found = await compare([sale(v1), OPENED, twice]);
    expect(found[0]).toMatch(/^- < 200 .*"total":1/);
    expect(found[1]).toMatch(/^\+ < 400 .*"error":"ds_search_query"/);
    expect(found).toHaveLength(2);
  });

  limitation('LIM-57', async () => {
    const body = JSON.stringify(v2.body(argentina, { external_reference: 'BIG' })).replace(
      '"BIG"',
      '12345678901234567890',
    );
    const half: unknown[] = [];
    const found = await compare(async (till, world) => {
      await till.run([sale(v1, { external_reference: 'half \ud83d' }), OPENED]);
      const { elements } = await ask(world, '/merchant_orders/search?limit=1');
      half.push((elements as { external_reference: string }[])[0]?.external_reference); // the shape of every search
      return till.run([{ ...sale(v2), body }]);
    });
    expect(found[0]).toMatch(/^- < 400 .*"error":"invalid_external_reference"/);
    expect(found[1]).toBe('+ < 204 no type');
    expect(half, 'directly, on orders').toEqual(['half \ud83d', 'half \ufffd']);
  });
});

describe('heads', () => {
  /** Statuses of requests that no table knows, after a sale. */
  const answersTo = (lines: string[]) =>
    each(async (till, world) => {
      await till.run([sale(v1), OPENED]);
      const statuses: number[] = [];
      for (const line of lines) {
        const bytes = rawRequest(
          line,
          [`Authorization: Bearer ${tokenOf(world.merchant)}`],
          '{"event_channel_devices":[]}',
        );
        statuses.push((await sendRaw(world.door_url, bytes)).status);
      }
      return statuses;
    });

  limitation('LIM-58', async () => {
    const told = await each(async (till, world) => {
      await till.run([sale(v1), OPENED]);
      const bearer = `Authorization: Bearer ${tokenOf(world.merchant)}`;
      const type = 'Content-Type: application/json';
      const heads = [[type], ['Host: other.example'], [bearer], [type, type], ['X-HTTP-Method-Override: DELETE']];
      const statuses: number[] = [];
      for (const more of heads) {
        const bytes = rawRequest('GET /merchant_orders/search', [bearer, ...more]);
        statuses.push((await sendRaw(world.door_url, bytes)).status);
      }
      return statuses;
    });
    expect(told).toEqual({ direct: [200, 200, 200, 200, 200], orders: [200, 400, 400, 400, 400] });
  });

  limitation('LIM-65', async () => {
    const told = await answersTo([
      'PATCH /point/integration-api/integrator',
      'POST /point/integration-api/payment-intents',
      'POST /instore/sales',
      'GET /instore/sales',
    ]);
    expect(told).toEqual({ direct: [204, 404, 404, 404], orders: [204, 404, 404, 404] });
  });

  limitation('LIM-66', async () => {
    const path = '/instore/orders/qr/seller/collectors/700100200/pos/SUC001POS001/qrs';
    const told = await answersTo([`POST ${path}/`, `POST ${path};x=1`, `POST ${path.replace('qrs', 'QRS')}`]);
    expect(told).toEqual({ direct: [400, 404, 404], orders: [400, 400, 400] });
  });
});

describe('HTTP that is proxied', () => {
  const BEARER = `Authorization: Bearer ${tokenOf(ARGENTINA)}`;
  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
  interface ProxiedCall {
    direct: string[];
    puente: string[];
  }

  /** The till's answer and legacy's request, directly and through Puente, for each request with legacy's answer. */
  async function proxied(exchanges: [request: string, answer: string][]): Promise<ProxiedCall[]> {
    await each((till) => till.run([sale(v1), OPENED])); // its report names the limitations that cannot be counted
    let answer = '';
    const upstream = await startRawUpstream((_request, socket) => void socket.end(answer, 'latin1'));
    const puente = await startOutside(upstream.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
    try {
      const seen: ProxiedCall[] = [];
      for (const [request, answered] of exchanges) {
        answer = answered;
        const ask = async (url: string): Promise<string[]> => {
          const { text } = await sendRaw(url, Buffer.from(request, 'latin1'));
          return [text, upstream.requests.at(-1) ?? ''];
        };
        seen.push({ direct: await ask(upstream.url), puente: await ask(puente.app.public_url) });
      }
      return seen;
    } finally {
      await puente.close();
      await upstream.close();
    }
  }
  const asking = (method: string, ...more: string[]): string =>
    [`${method} /v1/documents HTTP/1.1`, 'Host: a', BEARER, 'Connection: close', ...more, '', ''].join('\r\n');
  const statuses = (text = ''): string[] => text.match(/HTTP\/1\.1 \d+/g) ?? [];

  limitation('LIM-75', async () => {
    const hints = 'HTTP/1.1 104 Upload\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n';
    const [seen] = await proxied([[asking('GET'), hints + OK]]);
    expect(statuses(seen?.direct[0])).toEqual(['HTTP/1.1 104', 'HTTP/1.1 103', 'HTTP/1.1 200']);
    expect(statuses(seen?.puente[0])).toEqual(['HTTP/1.1 103', 'HTTP/1.1 200']);
  });

  limitation('LIM-76', async () => {
    const [seen, more] = await proxied([
      [asking('GET', 'X-A: 1', 'X-B: 2', 'x-a: 3'), OK],
      [asking('GET', 'Cookie: a=1', 'Cookie: puente_session=x; b=2', 'Content_Type: y'), OK],
    ]);
    const lines = (seen = ''): string[] => seen.match(/^x-[ab]: \d/gim) ?? [];
    expect(lines(seen?.direct[1])).toEqual(['X-A: 1', 'X-B: 2', 'x-a: 3']);
    expect(lines(seen?.puente[1])).toEqual(['X-A: 1', 'X-A: 3', 'X-B: 2']);
    const odd = (seen = ''): string[] => seen.match(/^(?:cookie|content_type): .*$/gim) ?? [];
    expect(odd(more?.direct[1])).toEqual(['Cookie: a=1', 'Cookie: puente_session=x; b=2', 'Content_Type: y']);
    expect(odd(more?.puente[1])).toEqual(['Cookie: a=1; b=2']);
  });

  limitation('LIM-77', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `X-${index}: 1`);
    const refused: [string, number][] = [
      [asking('FROB'), 400],
      [asking('TRACE'), 400],
      [asking('GET').replace('documents', 'caf\xe9'), 400],
      [asking('GET').replace('documents', 'documents#a'), 400],
      [asking('GET').replace('documents', 'documents\\a'), 400],
      [asking('GET', ...many), 400],
      [asking('POST', 'Transfer-Encoding: gzip, chunked').concat('0\r\n\r\n'), 400],
      [asking('GET', `X-Long: ${'x'.repeat(8192)}`), 431],
      [asking('GET', 'Expect: x'), 417],
    ];
    const odd_answer = 'HTTP/1.1 099 Odd\r\nSet-Cookie: odd=1\r\nContent-Length: 0\r\n\r\n';
    const seen = await proxied([
      ...refused.map(([request]): [string, string] => [request, OK]),
      [asking('GET'), odd_answer],
    ]);
    const odd = seen.pop();
    expect(seen.map(({ direct, puente }) => [statuses(direct[0]), statuses(puente[0])])).toEqual(
      refused.map(([, status]) => [['HTTP/1.1 200'], [`HTTP/1.1 ${status}`]]),
    );
    expect(statuses(odd?.direct[0])).toEqual(['HTTP/1.1 099']);
    expect(statuses(odd?.puente[0])).toEqual(['HTTP/1.1 502']);
    expect(odd?.puente[0]).not.toMatch(/odd/i);
  });
});

describe('tills', () => {
  limitation('LIM-53', async () => {
    const v1Till = '/mpmobile/instore/qr/{merchant}/NOTHERE';
    const v2Till = '/instore/qr/seller/collectors/{merchant}/pos/NOTHERE/orders';
    const missing =
      '- < 404 application/json {"error":"pos_obtainment_error","message":"Point of sale not found","status":404,"causes":[]}';
    const calls = [v1Till, v2Till].flatMap((path) => [{ call: `GET ${path}` }, { call: `DELETE ${path}` }]);
    const of_each = [
      '- …"error":"pos_obtainment_error","message":"Point of sale not found"…',
      '+ …"error":"point_of_sale_in_store_order_not_found","message":"Point of sale has no in store order"…',
      missing,
      '+ < 204 no type',
    ];
    expect(await compare(calls)).toEqual([...of_each, ...of_each]);
  });
});

describe('an ordinary sale meets only what every sale meets', () => {
  const v1Body = { items: [{ id: 'A1', title: 'Coffee', currency_id: 'ARS', unit_price: 120.5, quantity: 2 }] };
  const { description: _none, category: _no, picture_url: _nor, ...item } = { picture_url: '', ...v2Item(argentina) };
  const v2Body = { items: [item], description: undefined };
  it.each([
    ['v1', v1, v1Body, []],
    ['v2', v2, v2Body, ['LIM-27']],
    ['a dynamic code', dynamic, v2Body, ['LIM-27']],
  ] as const)('%s', async (_name, family, body, of_family) => {
    const reads = family.get === null ? [] : read(family);
    const script: QrStep[] = [sale(family, body), OPENED, ...reads, ...pay(family), MERCHANT_ORDER];
    const [report] = await reportsOf(() => compare(script));
    const each_merchant_order = ['LIM-37', 'LIM-38'].map((id) => [id, 1]);
    expect(report && hitsIn(report)).toEqual([...of_family.map((id) => [id, 1]), ...each_merchant_order]);
  });
});

test('every limitation has its test, and every test its entry', () => {
  const tested = [...shown].sort();
  expect(limitations.map(({ test: name }) => name)).toEqual(tested);
  expect(limitations.map(({ id }) => id)).toEqual(tested);
});
