/** Equal and simultaneous QR sales: a paid sale never passes for its own retry, and the last of several stays open. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Answer, ARGENTINA, DEVICE, POINT, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';

const V2 = `/instore/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/orders`;
const V1 = `/mpmobile/instore/qr/${ARGENTINA}/SUC001POS001`;
const QRS = `/instore/orders/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/qrs`;

function storeOrder(reference: string, total = 20): Record<string, unknown> {
  const item = { title: 'Coffee', unit_price: total, quantity: 1, unit_measure: 'unit', total_amount: total };
  return { external_reference: reference, title: 'Shop', total_amount: total, items: [item] };
}

const preference = (reference: string) => ({
  external_reference: reference,
  items: [{ title: 'Coffee', currency_id: 'ARS', unit_price: 20, quantity: 1 }],
});

const bench = openForAll(() => startBench());
beforeEach(async () => {
  await bench.control('/reset', { method: 'POST' });
});

function orders(): { reference: string; status: string; id: string }[] {
  return [...bench.sandbox.world.orders.values()].map(({ external_reference, status, id }) => ({
    reference: external_reference,
    status,
    id,
  }));
}

function live(): string[] {
  return orders()
    .filter(({ status }) => status === 'created')
    .map(({ reference }) => reference);
}

const silent = () => bench.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });

async function payAll(): Promise<void> {
  for (const id of [...bench.sandbox.world.payables.keys()]) {
    expect((await bench.control(`/payables/${id}/pay`, { method: 'POST', body: {} })).status).toBe(200);
  }
}

describe('an equal sale right after the first one was paid, of which nobody has told the till', () => {
  // Each test has its own reference, because sales that a reset sandbox lost are closed a moment later.
  const sales: [string, string, string, (reference: string) => unknown, number][] = [
    ['v2', 'PUT', V2, storeOrder, 204],
    ['v1', 'POST', V1, preference, 200],
    ['hybrid', 'PUT', QRS, storeOrder, 201],
    ['dynamic', 'POST', QRS, storeOrder, 201],
  ];

  it.each(sales)(
    '%s: is its retry, until the till has asked for its reference',
    async (family, method, path, bodyOf, status) => {
      await silent();
      const reference = `Paid ${family}`;
      const body = bodyOf(reference);
      const first = await bench.till(path, { method, body });
      await payAll();
      const second = await bench.till(path, { method, body });
      expect([first.status, second.status]).toEqual([status, status]);
      expect(second.text).toBe(first.text);
      expect(orders().map((order) => order.status)).toEqual(['processed']);
      await bench.till(`/merchant_orders/search?external_reference=${encodeURIComponent(reference)}`);
      expect((await bench.till(path, { method, body })).status).toBe(status);
      expect(orders().map((order) => order.status)).toEqual(['processed', 'created']);
    },
  );

  it.each(sales)('%s: is its retry while nobody has paid', async (family, method, path, bodyOf, status) => {
    await silent();
    const body = bodyOf(`Retried ${family}`);
    const first = await bench.till(path, { method, body });
    const second = await bench.till(path, { method, body });
    expect([first.status, second.status]).toEqual([status, status]);
    expect(orders().map((order) => order.status)).toEqual(['created']);
    expect(second.text).toBe(first.text);
  });

  it('a Point intent: is its retry, until the till has read it', async () => {
    await silent();
    const create = () => bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    const first = await create();
    await bench.atTerminal('pay');
    const second = await create();
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    const { id } = first.body as { id: string };
    expect((await bench.till(`${POINT}/payment-intents/${id}`)).body).toMatchObject({ id, state: 'FINISHED' });
    expect((await create()).body).not.toMatchObject({ id });
  });
});

describe('many sales at once on one point of sale', () => {
  it.each([2, 5, 20])('%i: each is answered, and exactly one is live, as it was sent', async (count) => {
    const references = Array.from({ length: count }, (_none, index) => `sale-${count}-${index}`);
    const answers = await Promise.all(
      references.map((reference, index) => bench.till(V2, { method: 'PUT', body: storeOrder(reference, 20 + index) })),
    );
    expect(answers.map(({ status }) => status)).toEqual(references.map(() => 204));
    const [standing, ...others] = live();
    expect(others).toEqual([]);
    expect((await bench.till(V2)).body).toMatchObject({ external_reference: standing });
    expect(
      orders()
        .map(({ reference }) => reference)
        .sort(),
    ).toEqual([...references].sort());
  });

  it('with deletions among them: nothing is live twice, and what is shown is what is live', async () => {
    const work = Array.from(
      { length: 12 },
      (_none, index): Promise<Answer> =>
        index % 3 === 2
          ? bench.till(V2, { method: 'DELETE' })
          : bench.till(V2, { method: 'PUT', body: storeOrder(`mixed-${index}`) }),
    );
    expect((await Promise.all(work)).map(({ status }) => status)).toEqual(work.map(() => 204));
    const shown = await bench.till(V2);
    const [standing, ...others] = live();
    expect(others).toEqual([]);
    if (standing === undefined) expect(shown.status).toBe(404);
    else expect(shown.body).toMatchObject({ external_reference: standing });
  });
});

describe('equal dynamic sales at once', () => {
  it.each([2, 10, 40])('%i with keys of their own are as many', async (count) => {
    const work = Array.from({ length: count }, (_none, index) =>
      bench.till(QRS, {
        method: 'POST',
        body: storeOrder(`Caja ${count}`),
        headers: { 'x-idempotency-key': `key-${index}` },
      }),
    );
    const codes = (await Promise.all(work)).map(({ body }) => (body as { qr_data: string }).qr_data);
    expect(new Set(codes).size).toBe(count);
    expect(live()).toHaveLength(count);
  });

  it('with one key are one, also when another key came between', async () => {
    const send = (key: string) =>
      bench.till(QRS, { method: 'POST', body: storeOrder('Caja'), headers: { 'x-idempotency-key': key } });
    const [one, same] = await Promise.all([send('first'), send('first')]);
    await send('second');
    const again = await send('first');
    expect([same?.text, again.text]).toEqual([one?.text, one?.text]);
    expect(live()).toHaveLength(2);
  });
});
