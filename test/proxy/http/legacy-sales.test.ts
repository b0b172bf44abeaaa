/** Sales created on legacy, as tills see them; which of them hold a unit: `test/proxy/routing/legacy-sale.test.ts`. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Answer, ARGENTINA, DEVICE, despiteLearning, eventually, POINT, startBench, tokenOf } from '../../kit.ts';
import { openForEach } from '../../open.ts';
import { preference } from './qr-till.ts';

const TILL = 'SUC001POS001';
const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;
const ORDERS = `/instore/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/orders`;
const HOUR_MS = 3_600_000;

const item = { title: 'Coffee', unit_price: 120.5, quantity: 2, unit_measure: 'unit', total_amount: 241 };
const sale = { external_reference: 'F1', title: 'Shop', description: 'T', total_amount: 241, items: [item] };
const bench = openForEach(() => startBench({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }));

async function moveTo(stage: string): Promise<void> {
  const path = `/api/merchants/${ARGENTINA}`;
  const { status } = await despiteLearning(async () => {
    const { revision } = (await bench.ops(path)).body as { revision: number }; // every view has a revision
    const body = { stage, reason: 'a test', revision, new: true };
    return bench.ops(`${path}/stage`, { method: 'PUT', body });
  });
  expect(status).toBe(200);
}

const putSale = (path = ORDERS): Promise<{ status: number }> => bench.till(path, { method: 'PUT', body: sale });

async function asked(method: string, path: string): Promise<number> {
  const { requests } = (await bench.control('/state')).body as { requests: { method: string; path: string }[] }; // the control door's form
  return requests.filter((request) => request.method === method && request.path === path).length;
}

const ordersAsked = (): Promise<number> => asked('POST', '/v1/orders');
const fault = (rule: object): Promise<Answer> => bench.control('/faults', { body: rule });

/** Waits until the metrics show an outcome of proxied sales, which is counted when its row is written. */
const settled = (outcome: string, count = 1): Promise<unknown> =>
  eventually(
    () => bench.ops('/metrics'),
    ({ text }) => text.includes(`puente_legacy_sales_total{state="${outcome}"} ${count}\n`),
  );

it.each(['legacy', 'shadow'])('on stage %s, a read that shows how a sale ended is in the sums', async (stage) => {
  const { status } = await bench.notify(ARGENTINA, { credential: tokenOf(ARGENTINA) }); // names the currency
  expect(status).toBe(200);
  if (stage !== 'legacy') await moveTo(stage);
  const { id } = (await bench.till(INTENTS, { body: { amount: 1500 } })).body as { id: string }; // a 201 has one
  await settled('open');
  const read = (): Promise<Answer> => bench.till(`${POINT}/payment-intents/${id}`);
  await read();
  const line = { what: 'sale', lane: 'legacy', family: 'point', currency: 'ARS', count: 1, amount: '15.00' };
  const sums = async (): Promise<unknown> =>
    ((await bench.ops(`/api/report?format=json&merchant=${ARGENTINA}`)).body as { sums: unknown }).sums; // the API's form
  expect(await sums()).toMatchObject([{ ...line, outcome: 'open' }]);
  await bench.control('/clock', { body: { advance_ms: HOUR_MS } });
  expect((await read()).body).toMatchObject({ state: 'ABANDONED' });
  await settled('ended');
  expect(await sums()).toMatchObject([{ ...line, outcome: 'expired' }]);
});

it('a slash at the end of a sale changes nothing', async () => {
  await moveTo('orders');
  expect((await putSale(`${ORDERS}/`)).status).toBe(204);
  expect((await bench.till(INTENTS, { body: { amount: 1500 } })).status).toBe(201);
  expect((await bench.till(`${INTENTS}/`, { body: { amount: 1600 } })).status).toBe(409);
  expect(await ordersAsked()).toBe(2);
});

it('without an answer keeps its terminal on legacy while a page forbids to ask whose token it has [F138]', async () => {
  await fault({ method: 'POST', path: INTENTS, kind: 'reset', when: 'after' });
  await fault({ path: '/users/me', kind: 'html', status: 403, times: 'always' });
  const create = () => bench.till(INTENTS, { body: { amount: 1500 } });
  expect((await create()).status).toBe(504);
  await settled('in_doubt');
  await eventually(
    () => asked('GET', '/users/me'),
    (count) => count > 0,
  );
  await bench.control('/faults', { method: 'DELETE' });
  await bench.atTerminal('pay');
  await moveTo('orders');
  expect((await create()).status).toBe(201);
  expect(await ordersAsked()).toBe(0);
});

describe('a v1 sale by the number of a point of sale, in place of whose record there is a page [F138]', () => {
  let by_number: string;
  let lookup: string;
  beforeEach(async () => {
    const { results } = (await bench.till(`/pos?external_id=${TILL}`)).body as { results: { id: number }[] }; // upstream's form
    lookup = `/pos/${results[0]?.id}`;
    by_number = `/mpmobile/instore/qr/${results[0]?.id}`;
  });

  it('goes on holding every point of sale on legacy', async () => {
    await fault({ path: lookup, kind: 'html', status: 404, times: 'always' });
    expect((await bench.till(by_number, { body: preference() })).status).toBe(200);
    await settled('open');
    await eventually(
      () => asked('GET', lookup),
      (count) => count > 0,
    );
    await moveTo('orders');
    expect((await putSale()).status).toBe(204);
    expect(await ordersAsked()).toBe(0);
  });

  it('does not go to legacy while its code may have work on orders', async () => {
    await moveTo('orders');
    expect((await putSale()).status).toBe(204);
    await moveTo('legacy');
    await fault({ path: lookup, kind: 'html', status: 404, times: 'always' });
    expect((await bench.till(by_number, { body: preference() })).status).toBe(503);
    expect(await asked('POST', by_number)).toBe(0);
  });
});
