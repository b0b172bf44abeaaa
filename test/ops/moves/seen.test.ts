/** A merchant without settings: proxied calls alone make it known, and its proxied sales are reported as ended. */
import { expect, it } from 'vitest';
import { ANA, ARGENTINA, BEN, BRAZIL, eventually, MEXICO } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { orderPath, storeOrder, TILL } from '../../proxy/http/qr-till.ts';
import { startMoves } from './kit.ts';

const bench = openForAll(() => startMoves());

const CREATE = '/point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents';
const sell = (merchant: string, more: object = {}) => bench.till(CREATE, { merchant, body: { amount: 1500 }, ...more });

interface Line {
  id: string;
  site: string | null;
  revision: number;
}

const listed = async (): Promise<Line[]> =>
  ((await bench.as(ANA, 'GET', '/api/merchants')).body as { merchants: Line[] }).merchants; // the API's shape

it('is listed, reported and selected once legacy has taken a call of it; who was only named is not', async () => {
  expect((await bench.notify(ARGENTINA, { capture: false })).status).toBe(200);
  expect((await sell(BRAZIL)).status).toBe(201);
  const invented = `APP_USR-4004001-112026-0000000000000000000000000000ffff-${MEXICO}`;
  expect((await sell(MEXICO, { token: invented })).status).toBeGreaterThanOrEqual(400);
  const known = await eventually(listed, (all) => all.some(({ id }) => id === BRAZIL));
  expect(known).toMatchObject([{ id: ARGENTINA }, { id: BRAZIL, site: null, revision: 0 }]);
  const { body } = await bench.as(ANA, 'GET', '/api/report');
  expect(JSON.stringify(body)).toContain(`"merchant_id":"${BRAZIL}"`);
  const ask = { where: { stage: 'legacy' }, target: { stage: 'shadow' }, reason: 'the first wave' };
  const bulk = (await bench.as(BEN, 'POST', '/api/bulk', ask)).body as { items: { merchant_id: string }[] };
  expect(bulk.items.map(({ merchant_id }) => merchant_id)).toEqual([ARGENTINA, BRAZIL]);
  await eventually(
    () => bench.stageOf(BRAZIL),
    ({ stage }) => stage === 'shadow',
  );
});

it('headers that no table knows count in shadow too, and refuse nothing', async () => {
  expect((await bench.notify(MEXICO, { unknown_header: 'refuse' })).status).toBe(200);
  await bench.move({ stage: 'shadow' }, BEN, MEXICO);
  expect((await sell(MEXICO, { headers: { 'x-shop': 'north' } })).status).toBe(201);
  const unknowns = async () =>
    ((await bench.as(ANA, 'GET', `/api/unknowns?merchant=${MEXICO}`)).body as { unknowns: object[] }).unknowns;
  expect(await eventually(unknowns, (all) => all.length > 0)).toMatchObject([
    { what: 'header', name: 'x-shop', count: 1 },
  ]);
});

it('a cancel at once after a create leaves nothing open on legacy', async () => {
  const drained = async () =>
    ((await bench.as(ANA, 'GET', `/api/merchants/${ARGENTINA}/drain`)).body as { legacy: { units: object[] } }).legacy
      .units;
  const at = async (method: string, body?: object): Promise<number> => {
    const options = body === undefined ? { method } : { method, body };
    return (await bench.till(orderPath(TILL), options)).status;
  };
  for (let nth = 1; nth <= 32; nth++) {
    expect([await at('PUT', storeOrder()), await at('DELETE')]).toEqual([204, 204]);
    expect(await eventually(drained, (units) => units.length === 0)).toEqual([]);
  }
});
