/** Sales created on legacy, as tills see them; which of them hold a unit: `test/proxy/routing/legacy-sale.test.ts`. */
import { expect, it } from 'vitest';
import { type Answer, ARGENTINA, DEVICE, despiteLearning, eventually, POINT, startBench, tokenOf } from '../../kit.ts';
import { openForEach } from '../../open.ts';

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

async function ordersAsked(): Promise<number> {
  const { requests } = (await bench.control('/state')).body as { requests: { method: string; path: string }[] }; // the control door's form
  return requests.filter(({ method, path }) => method === 'POST' && path === '/v1/orders').length;
}

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

it('without an answer keeps its terminal on legacy while a page forbids to ask whose token it has', async () => {
  const fault = (rule: object) => bench.control('/faults', { body: rule });
  await fault({ method: 'POST', path: INTENTS, kind: 'reset', when: 'after' });
  await fault({ path: '/users/me', kind: 'html', status: 403, times: 'always' });
  const create = () => bench.till(INTENTS, { body: { amount: 1500 } });
  expect((await create()).status).toBe(504);
  await settled('in_doubt');
  await eventually(
    () => bench.control('/state'),
    ({ text }) => text.includes('/users/me'),
  );
  await bench.control('/faults', { method: 'DELETE' });
  await bench.atTerminal('pay');
  await moveTo('orders');
  expect((await create()).status).toBe(201);
  expect(await ordersAsked()).toBe(0);
});
