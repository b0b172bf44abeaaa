/** A create whose answer was lost is made and paid once, however the till retries (`docs/protocol.md` §3.9). */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  ARGENTINA,
  call,
  DEVICE,
  eventually,
  POINT,
  SECOND_DEVICE,
  startReceiver,
  tokenOf,
} from '../kit.ts';
import { closing, openForAll } from '../open.ts';
import { type Authority, makeAuthority } from './authority.ts';
import { type SdkAnswer, type SdkTill, startSdkTill } from './sdk-process.ts';
import { type LossyShop, openLossyShop } from './sdk-shop.ts';
import type { SdkRetry } from './sdk-till.ts';

const POS = 'SUC001POS001';
const INSTORE = `/instore/qr/seller/collectors/${ARGENTINA}/pos/${POS}/orders`;
const CODES = `/instore/orders/qr/seller/collectors/${ARGENTINA}/pos/${POS}/qrs`;
const PREFERENCES = `/mpmobile/instore/qr/${ARGENTINA}/${POS}`;
/** The deadline of the create, plus time for a loaded machine. */
const PATIENCE_MS = 60_000;

type UpstreamOrder = LossyShop['sandbox']['world']['orders'] extends Map<string, infer Order> ? Order : never;

function ordersOf({ sandbox }: LossyShop, amount_minor: number): UpstreamOrder[] {
  return [...sandbox.world.orders.values()].filter(({ transaction }) => transaction.amount_minor === amount_minor);
}

/** The order with this amount, once upstream has it. */
async function orderOver(shop: LossyShop, amount_minor: number): Promise<UpstreamOrder> {
  const [order] = await eventually(
    async () => ordersOf(shop, amount_minor),
    (orders) => orders.length > 0,
  );
  if (order === undefined) throw new Error('an order was there a moment ago');
  return order;
}

/** The customer pays at the terminal, or the buyer pays the code. */
async function pays(shop: LossyShop, { id, place }: UpstreamOrder): Promise<void> {
  await shop.act(place.type === 'point' ? `terminals/${ARGENTINA}/${place.terminal_id}/pay` : `payables/${id}/pay`);
}

function expectPaidOnce(shop: LossyShop, amount_minor: number): void {
  expect(ordersOf(shop, amount_minor).map(({ status }) => status)).toEqual(['processed']);
  const payments = [...shop.sandbox.world.payments.values()].filter((payment) => payment.amount_minor === amount_minor);
  expect(payments.map(({ status }) => status)).toEqual(['approved']);
}

/** Creates answered 504 so far. */
async function createsInDoubt(shop: LossyShop): Promise<number> {
  const { text } = await shop.ops('/metrics');
  return Number(/^puente_creates_total\{outcome="in_doubt"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

describe('the official SDK', () => {
  let directory: string;
  let authority: Authority;
  let shop: LossyShop;
  let till: SdkTill;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'puente-lost-'));
    authority = await makeAuthority(directory);
    shop = await openLossyShop(authority);
    till = startSdkTill(shop.door_url, authority.ca_file, tokenOf(ARGENTINA));
  });

  afterEach(() => {
    shop.mendUpstream();
    shop.sendEvents(true);
  });

  afterAll(async () => {
    await till?.close();
    await shop?.close();
  });

  const create = (amount: number, client: string): Promise<SdkAnswer> =>
    till.call('createPaymentIntent', { device_id: DEVICE, request: { amount } }, { client });
  const retriesOf = ({ sdk_retries }: SdkAnswer): SdkRetry[] => sdk_retries as SdkRetry[]; // as its process returns them

  async function expectFinished(sale: SdkAnswer, client: string): Promise<void> {
    const shown = await eventually(
      () => till.call('searchPaymentIntent', { payment_intent_id: sale.id }, { client }),
      ({ state }) => state === 'FINISHED',
    );
    expect(shown).toMatchObject({ id: sale.id, state: 'FINISHED', payment: { id: expect.any(Number) } });
  }

  /** The till has read that the first sale was paid, so an equal create is a new sale. */
  async function expectNextIsNew(first: SdkAnswer, amount: number, client: string): Promise<void> {
    const second = await create(amount, client);
    expect(second.id).not.toBe(first.id);
    expect(ordersOf(shop, amount)).toHaveLength(2);
    await till.call('cancelPaymentIntent', { device_id: DEVICE, payment_intent_id: second.id }, { client });
  }

  test.each([
    ['the event of the payment comes', 1_611, true],
    ['no event comes', 1_612, false],
  ])(
    'is told 504, the customer pays meanwhile, and its own retry is answered with the paid sale: %s',
    async (_name, amount, are_sent) => {
      shop.sendEvents(are_sent);
      shop.loseOrders();
      const before = await createsInDoubt(shop);
      const selling = create(amount, 'lost upstream');
      await pays(shop, await orderOver(shop, amount));
      // Without events only a repeat finds the order, so upstream must answer again before the SDK gives up.
      if (!are_sent) {
        await eventually(
          () => createsInDoubt(shop),
          (count) => count > before,
        );
        shop.mendUpstream();
      }
      const sale = await selling;
      const [retry] = retriesOf(sale);
      expect(retry).toMatchObject({ attempt: 1, status: 504 });
      // The answer names the safe next step.
      expect(retry?.message).toMatch(/same (?:sale|request|call).*again|again.*same (?:sale|request|call)/i);
      expectPaidOnce(shop, amount);
      await expectFinished(sale, 'lost upstream');
      expectPaidOnce(shop, amount);
      shop.mendUpstream();
      await expectNextIsNew(sale, amount, 'lost upstream');
    },
    PATIENCE_MS,
  );

  test(
    'does not get the first answer, the customer pays, and its own retry is answered with the paid sale',
    async () => {
      const amount = 1_613;
      const client = 'lost on its way';
      await till.call('getDevices', {}, { client }); // opens the connection, so the next data is the answer
      const lost = shop.loseNextAnswer();
      const selling = create(amount, client);
      await lost;
      await pays(shop, await orderOver(shop, amount));
      const sale = await selling;
      expect(retriesOf(sale)).toMatchObject([{ attempt: 1, status: 0 }]);
      await expectFinished(sale, client);
      expectPaidOnce(shop, amount);
      await expectNextIsNew(sale, amount, client);
    },
    PATIENCE_MS,
  );

  test(
    'asks again after a restart of Puente, and is answered with the paid sale',
    async () => {
      const amount = 1_614;
      shop.loseOrders();
      const selling = create(amount, 'restart');
      const order = await orderOver(shop, amount);
      await pays(shop, order);
      await shop.restart();
      // The event may have been lost during the restart; then only a repeat finds the payment.
      shop.mendUpstream();
      const sale = await selling;
      expect(retriesOf(sale).length).toBeGreaterThan(0);
      await expectFinished(sale, 'restart');
      expectPaidOnce(shop, amount);
    },
    PATIENCE_MS,
  );
});

interface Family {
  name: string;
  method: string;
  path: string;
  /** The field of a 2xx answer that holds the sale's id. */
  id: 'id' | 'in_store_order_id' | null;
  body(amount_minor: number): object;
}

const item = (amount_minor: number) => ({ title: 'Coffee', unit_price: amount_minor / 100, quantity: 1 });
const v1 = (amount_minor: number): object => ({
  external_reference: `sale-${amount_minor}`,
  items: [{ ...item(amount_minor), id: 'A1', currency_id: 'ARS' }],
});
const v2 = (amount_minor: number): object => ({
  external_reference: `sale-${amount_minor}`,
  title: 'Shop',
  description: 'Counter',
  total_amount: amount_minor / 100,
  items: [
    {
      ...item(amount_minor),
      sku_number: 'A1',
      category: 'food',
      unit_measure: 'unit',
      total_amount: amount_minor / 100,
    },
  ],
});
const families: Family[] = [
  {
    name: 'Point',
    method: 'POST',
    path: `${POINT}/devices/${SECOND_DEVICE}/payment-intents`,
    id: 'id',
    body: (amount) => ({ amount, additional_info: { external_reference: `sale-${amount}`, print_on_terminal: true } }),
  },
  { name: 'v1 POST', method: 'POST', path: PREFERENCES, id: 'id', body: v1 },
  { name: 'v1 PUT', method: 'PUT', path: PREFERENCES, id: 'id', body: v1 },
  { name: 'v2 PUT', method: 'PUT', path: INSTORE, id: null, body: v2 },
  { name: 'dynamic', method: 'POST', path: CODES, id: 'in_store_order_id', body: v2 },
  { name: 'hybrid', method: 'PUT', path: CODES, id: 'in_store_order_id', body: v2 },
];
type Loss = 'upstream' | 'upstream, no event' | 'on its way';
const losses: readonly Loss[] = ['upstream', 'upstream, no event', 'on its way'];

/** The sales of one shop; the shops are side by side, because they mostly wait for lost answers. */
const IN_TURN = { concurrent: false };

describe.each(families)('a till of $name', { concurrent: true }, (family) => {
  const { method, path, id, body } = family;
  /** Every sale has its own amount. */
  let amount_minor = 20_000;

  const shop = openForAll(() => openLossyShop(null));

  afterEach(() => {
    shop.mendUpstream();
    shop.sendEvents(true);
  });

  const send = (headers: Record<string, string>): Promise<Answer> =>
    call(shop.door_url + path, { method, body: body(amount_minor), token: tokenOf(ARGENTINA), headers });

  /** The order is made and paid upstream, and the till does not get the answer. */
  async function loseAnswer(loss: Loss, headers: Record<string, string>): Promise<void> {
    if (loss === 'on its way') {
      const lost = shop.loseNextAnswer();
      const broken = expect(send(headers)).rejects.toThrow();
      await lost;
      await broken;
      return pays(shop, await orderOver(shop, amount_minor));
    }
    shop.sendEvents(loss === 'upstream');
    shop.loseOrders();
    const selling = send(headers);
    await pays(shop, await orderOver(shop, amount_minor));
    expect((await selling).status).toBe(504);
    shop.mendUpstream();
  }

  /** Repeats the call as long as the answer requests a retry. */
  async function sendAgain(headers: Record<string, string>): Promise<Answer> {
    return eventually(
      () => send(headers),
      ({ status }) => status !== 409 && status !== 503 && status !== 504,
    );
  }

  describe.each(losses)('whose answer was lost %s', IN_TURN, (loss) => {
    test.each([
      ['with a key, 2 s later', { 'x-idempotency-key': 'key-of-the-till' }, 2_000, false],
      ['with a key, 20 s later', { 'x-idempotency-key': 'key-of-the-till' }, 20_000, false],
      ['without a key, 2 s later', {}, 2_000, false],
      ['without a key, 20 s later', {}, 20_000, false],
      ['after a restart, without a key', {}, 5_000, true],
      ['after a restart, with a key', { 'x-idempotency-key': 'key-of-the-till' }, 5_000, true],
    ] as const)('sends it again %s: one order, one payment', async (_name, headers, after_ms, restarts) => {
      amount_minor += 7;
      await loseAnswer(loss, headers);
      shop.advance(after_ms);
      if (restarts) await shop.restart();
      const again = await sendAgain(headers);
      expect(again.status, again.text).toBeLessThan(300);
      expectPaidOnce(shop, amount_minor);
      // Once more: the till has not shown that it knows the sale, so this answer may have been lost too.
      const last = await sendAgain(headers);
      expect(last.status, last.text).toBe(again.status);
      if (id !== null) expect(idIn(last, id)).toBe(idIn(again, id));
      expectPaidOnce(shop, amount_minor);
    });
  });

  test('that has learned of its sale by a poll sells an equal one after it: two orders', IN_TURN, async () => {
    amount_minor += 7;
    const first = await send({});
    expect(first.status, first.text).toBeLessThan(300);
    await pays(shop, await orderOver(shop, amount_minor));
    await untilSeen(shop, family, first, amount_minor);
    const second = await send({});
    expect(second.status, second.text).toBe(first.status);
    if (id !== null) expect(idIn(second, id)).not.toBe(idIn(first, id));
    const orders = ordersOf(shop, amount_minor);
    expect(orders.map(({ status }) => status)).toEqual(['processed', 'created']);
    await pays(shop, orders[1] as UpstreamOrder); // there are two
  });

  test(
    'whose receiver has acknowledged the notice of its sale sells an equal one after it: two orders',
    IN_TURN,
    async () => {
      amount_minor += 7;
      await using receiver = closing(await startReceiver());
      const { revision } = (await shop.ops(`/api/merchants/${ARGENTINA}`)).body as { revision: number }; // a view has one
      const change = { notice_url: receiver.url, reason: 'set by a test', revision, new: true };
      expect((await shop.ops(`/api/merchants/${ARGENTINA}`, { method: 'PUT', body: change })).status).toBe(200);
      const first = await send({});
      expect(first.status, first.text).toBeLessThan(300);
      await pays(shop, await orderOver(shop, amount_minor));
      await receiver.waitFor(1);
      // That is stored once an equal create makes a new order.
      await eventually(
        () => send({}),
        ({ status }) => status < 300 && ordersOf(shop, amount_minor).length === 2,
      );
      expect(ordersOf(shop, amount_minor).map(({ status }) => status)).toEqual(['processed', 'created']);
      await pays(shop, ordersOf(shop, amount_minor)[1] as UpstreamOrder); // there are two
    },
  );
});

function idIn({ body }: Answer, name: string): unknown {
  return (body as Record<string, unknown>)[name];
}

/** A Point till reads its intent; a QR till searches the payment of its reference. */
async function untilSeen(shop: LossyShop, { name }: Family, sale: Answer, amount_minor: number): Promise<void> {
  const read = (path: string): Promise<Answer> => call(shop.door_url + path, { token: tokenOf(ARGENTINA) });
  if (name === 'Point')
    await eventually(
      () => read(`${POINT}/payment-intents/${idIn(sale, 'id')}`),
      ({ body }) => (body as { state?: string }).state === 'FINISHED',
    );
  else
    await eventually(
      () => read(`/v1/payments/search?external_reference=sale-${amount_minor}`),
      ({ body }) => (body as { results?: unknown[] }).results?.length === 1,
    );
}
