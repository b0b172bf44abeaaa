/** A merchant that moves back to legacy: its open orders stay on orders until terminal; new sales are proxied. */
import { beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, eventually, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';

const COLLECTOR = `/instore/qr/seller/collectors/${ARGENTINA}/pos`;
const QRS = `/instore/orders/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/qrs`;
const NUMBERED = '/mpmobile/instore/qr';
const store_order = (reference: string) => ({
  external_reference: reference,
  title: 'Shop',
  total_amount: 20,
  items: [{ title: 'Coffee', unit_price: 20, quantity: 1, unit_measure: 'unit', total_amount: 20 }],
});
const preference = (reference: string) => ({
  external_reference: reference,
  items: [{ title: 'Coffee', currency_id: 'ARS', unit_price: 20, quantity: 1 }],
});

let numbers: Record<string, number>;

const bench = openForAll(() => startBench());
beforeAll(async () => {
  const found = (await bench.till('/pos')).body as { results: { id: number; external_id: string }[] }; // legacy's list
  numbers = Object.fromEntries(found.results.map(({ id, external_id }) => [external_id, id]));
});

async function stage(to: 'legacy' | 'orders'): Promise<void> {
  const { revision } = (await bench.ops(`/api/merchants/${ARGENTINA}`)).body as { revision: number }; // a view has one
  const body = { stage: to, reason: 'moved by a test', revision, new: true };
  expect((await bench.ops(`/api/merchants/${ARGENTINA}/stage`, { method: 'PUT', body })).status).toBe(200);
}

function orders(): Record<string, string[]> {
  const all = [...bench.sandbox.world.orders.values()];
  const by = Map.groupBy(all, (order) => ('mode' in order.place ? String(order.place.mode) : 'terminal'));
  return Object.fromEntries([...by].map(([mode, some]) => [mode, some.map(({ status }) => status)]));
}

describe('back on legacy, with a sale of orders still on the point of sale', () => {
  beforeAll(async () => {
    await stage('orders');
    expect(
      (await bench.till(`${COLLECTOR}/SUC001POS001/orders`, { method: 'PUT', body: store_order('ours') })).status,
    ).toBe(204);
    await stage('legacy');
  });

  it("a dynamic code is legacy's, because it takes nobody's place", async () => {
    const before = orders();
    expect((await bench.till(QRS, { method: 'POST', body: store_order('a code') })).status).toBe(201);
    expect(orders()).toEqual(before);
  });

  it('a point of sale without anything of ours is proxied, by number as by external id', async () => {
    const before = orders();
    const path = `${NUMBERED}/${numbers.SUC002POS001}`;
    expect((await bench.till(path, { method: 'POST', body: preference("legacy's") })).status).toBe(200);
    expect((await bench.till(path)).body).toMatchObject({ external_reference: "legacy's" });
    expect((await bench.till(path, { method: 'DELETE' })).status).toBe(204);
    expect(orders()).toEqual(before);
  });

  it('what is ours is still read and taken away by its number', async () => {
    const path = `${NUMBERED}/${numbers.SUC001POS001}`;
    expect((await bench.till(path)).body).toMatchObject({ external_reference: 'ours' });
    expect((await bench.till(path, { method: 'DELETE' })).status).toBe(204);
    expect(orders()).toEqual({ static: ['canceled'] });
  });

  it('afterwards everything is proxied, even a body that orders would refuse', async () => {
    const path = `${NUMBERED}/${numbers.SUC001POS001}`;
    const headers = { 'content-type': 'text/plain' };
    expect((await bench.till(path, { method: 'POST', body: preference('again'), headers })).status).toBe(200);
    expect(orders()).toEqual({ static: ['canceled'] });
  });

  it('a sale that is replaced on legacy is first canceled on orders', async () => {
    await stage('orders');
    const path = `${COLLECTOR}/SUC001POS002/orders`;
    expect((await bench.till(path, { method: 'PUT', body: store_order('first') })).status).toBe(204);
    await stage('legacy');
    expect((await bench.till(path, { method: 'PUT', body: store_order('second') })).status).toBe(204);
    expect(orders()).toEqual({ static: ['canceled', 'canceled'] });
    expect((await bench.till(path)).body).toMatchObject({ external_reference: 'second' });
  });
});

it('rolled back, a point of sale shows its sale of orders until that is paid, and then legacy’s', async () => {
  const path = `${COLLECTOR}/SUC002POS001/orders`;
  await stage('orders');
  expect((await bench.till(path, { method: 'PUT', body: store_order('ours') })).status).toBe(204);
  const body = { reason: 'a shop called' };
  expect((await bench.ops(`/api/merchants/${ARGENTINA}/rollback`, { method: 'POST', body })).status).toBe(200);
  const before = orders();
  expect((await bench.till(path)).body).toMatchObject({ external_reference: 'ours' });
  expect((await bench.control(`/pos/${ARGENTINA}/SUC002POS001/pay`, { body: {} })).status).toBe(200);
  const shown = await eventually(
    () => bench.till(path),
    ({ status }) => status !== 200,
  );
  expect(shown).toMatchObject({ status: 404, body: { error: 'point_of_sale_in_store_order_not_found' } });
  expect((await bench.till(path, { method: 'PUT', body: store_order("legacy's") })).status).toBe(204);
  expect((await bench.till(path)).body).toMatchObject({ external_reference: "legacy's" });
  expect(orders().static).toHaveLength(before.static?.length ?? 0);
});
