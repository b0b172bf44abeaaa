/** Simultaneous QR sales: the last of several stays open. Equal ones one after the other: `test/journeys/sdk-lost-answer.test.ts`. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Answer, ARGENTINA, startBench } from '../../kit.ts';
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

it.each<[string, string, string, (reference: string) => object]>([
  ['v1', 'POST', V1, preference],
  ['v2', 'PUT', V2, storeOrder],
  ['hybrid', 'PUT', QRS, storeOrder],
])('%s: equal sales at once, and one after them, are one sale', async (family, method, path, bodyOf) => {
  const send = () => bench.till(path, { method, body: bodyOf(`Equal ${family}`) });
  const [one, same] = await Promise.all([send(), send()]);
  const again = await send();
  expect(one?.status).toBeLessThan(300);
  expect([same?.status, same?.text, again.status, again.text]).toEqual([
    one?.status,
    one?.text,
    one?.status,
    one?.text,
  ]);
  expect(orders().map(({ status }) => status)).toEqual(['created']);
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
