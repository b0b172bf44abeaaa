/** A sale on a till's code, in each family: exact status and body of the answer, and the calls to the orders API. */
import { describe, expect, it } from 'vitest';
import { BRAZIL } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { codePath, openQrShop, orderPath, preference, preferencePath, storeOrder, TILL } from './qr-till.ts';

const shop = openForAll(() => openQrShop());

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}';

describe('refused', () => {
  it('a call without a token', async () => {
    const answer = await shop.till(orderPath(TILL), { method: 'PUT', body: storeOrder(), token: null });
    expect([answer.status, answer.body]).toEqual([
      401,
      { error: 'unauthorized', message: 'user not found', status: 401, causes: [] },
    ]);
  });

  const FOREIGN = { error: 'bad_request', message: 'Collector ID and Caller ID must be the same', status: 400 };
  it.each<[string, string, string, object?]>([
    ['POST', 'v1', preferencePath(TILL, BRAZIL), preference()],
    ['GET', 'v1', preferencePath(TILL, BRAZIL)],
    ['DELETE', 'v1', preferencePath(TILL, BRAZIL)],
    ['PUT', 'v2', orderPath(TILL, BRAZIL), storeOrder()],
    ['GET', 'v2', orderPath(TILL, BRAZIL)],
    ['DELETE', 'v2', orderPath(TILL, BRAZIL)],
    ['POST', 'a dynamic code', codePath(TILL, BRAZIL), storeOrder()],
    ['PUT', 'a hybrid code', codePath(TILL, BRAZIL), storeOrder()],
  ])('%s of %s by the path of another seller', async (method, _family, path, body) => {
    const answer = await shop.till(path, { method, ...(body === undefined ? {} : { body }) });
    expect([answer.status, answer.body]).toEqual([400, expect.objectContaining(FOREIGN)]);
    expect([await shop.ordersAt(TILL), await shop.ordersAt(TILL, BRAZIL)]).toEqual([[], []]);
  });
});

describe('v1', () => {
  it('finds the till by its internal number, and asks for it once', async () => {
    const { external_id, number } = shop.freshTill();
    const path = `/mpmobile/instore/qr/${number}`;
    expect((await shop.till(path, { body: preference() })).status).toBe(200);
    expect((await shop.till(path)).status).toBe(200);
    expect((await shop.till(path, { method: 'DELETE' })).status).toBe(204);
    expect((await shop.till(path, { method: 'PUT', body: preference() })).status).toBe(200);
    expect((await shop.ordersAt(external_id)).map(({ status }) => status)).toEqual(['canceled', 'created']);
    expect(await shop.asked(`/pos/${number}`)).toHaveLength(1);
  });

  it.each([401, 403, 404])(
    'does not take a page with %i for the word that there is no such till [F138]',
    async (status) => {
      const { number } = shop.freshTill();
      const path = `/mpmobile/instore/qr/${number}`;
      await shop.fault({ path: `/pos/${number}`, kind: 'html', status });
      expect((await shop.till(path, { body: preference() })).status).toBe(503);
      expect((await shop.till(path, { body: preference() })).status).toBe(200);
    },
  );

  it('asks once for tills that come together', async () => {
    const { number } = shop.freshTill();
    const path = `/mpmobile/instore/qr/${number}`;
    const answers = await Promise.all([1, 2, 3, 4].map(() => shop.till(path)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(await shop.asked(`/pos/${number}`)).toHaveLength(1);
  });
});

describe('v2', () => {
  it('has a path with the store', async () => {
    const { external_id } = shop.freshTill();
    const path = orderPath(external_id).replace('/pos/', '/stores/SUC002/pos/');
    expect((await shop.till(path, { method: 'PUT', body: storeOrder() })).status).toBe(204);
    expect(await shop.till(path)).toMatchObject({ status: 200, body: storeOrder() });
    expect((await shop.till(path, { method: 'DELETE' })).status).toBe(204);
    expect(await shop.ordersAt(external_id)).toMatchObject([{ status: 'canceled' }]);
  });
});

describe('codes', () => {
  it.each([
    ['POST', 'dynamic', 'collectors'],
    ['PUT', 'hybrid', 'collectors'],
    ['POST', 'dynamic', 'collector'],
    ['PUT', 'hybrid', 'collector'],
  ])('%s answers 201 with a text to render, in %s mode, by the path %s', async (method, mode, word) => {
    const { external_id } = shop.freshTill();
    const path = codePath(external_id).replace('collectors', word);
    const answer = await shop.till(path, { method, body: storeOrder() });
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        in_store_order_id: expect.stringMatching(new RegExp(`^${UUID}$`)),
        qr_data: expect.stringMatching(/^000201.{20,}/),
      },
    ]);
    expect(await shop.ordersAt(external_id)).toMatchObject([{ status: 'created', config: { qr: { mode } } }]);
  });

  it('a dynamic one holds nothing: another sale gets a code of its own, and the till none of both', async () => {
    const { external_id } = shop.freshTill();
    const first = await shop.till(codePath(external_id), { body: storeOrder() });
    const second = await shop.till(codePath(external_id), { body: storeOrder({ external_reference: 'Factura 0003' }) });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.body).not.toEqual(second.body);
    expect((await shop.ordersAt(external_id)).map(({ status }) => status)).toEqual(['created', 'created']);
    expect((await shop.till(orderPath(external_id))).status).toBe(404);
    expect((await shop.till(orderPath(external_id), { method: 'DELETE' })).status).toBe(204);
    expect((await shop.ordersAt(external_id)).map(({ status }) => status)).toEqual(['created', 'created']);
  });

  it('a hybrid one shows on the till, where v2 reads and deletes it', async () => {
    const { external_id } = shop.freshTill();
    expect((await shop.till(codePath(external_id), { method: 'PUT', body: storeOrder() })).status).toBe(201);
    expect(await shop.till(orderPath(external_id))).toMatchObject({ status: 200, body: storeOrder() });
    expect((await shop.till(orderPath(external_id), { method: 'DELETE' })).status).toBe(204);
    expect(await shop.ordersAt(external_id)).toMatchObject([{ status: 'canceled' }]);
  });
});
