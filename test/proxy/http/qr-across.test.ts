/** A till reads the order of another family: each family answers in its own form. */
import { expect, it } from 'vitest';
import { openForAll } from '../../open.ts';
import { codePath, openQrShop, orderPath, preference, preferencePath, storeOrder } from './qr-till.ts';

const shop = openForAll(() => openQrShop());

it.each([
  ['v2', orderPath, 204],
  ['a hybrid code', codePath, 201],
])('v1 reads what %s put, though its items name no currency', async (_family, path, status) => {
  const { external_id } = shop.freshTill();
  const body = {
    ...storeOrder(),
    total_amount: 30,
    sponsor: { id: 445566 },
    items: [{ sku_number: 'A1', title: 'Té', unit_price: 15, quantity: 2, unit_measure: 'unit', total_amount: 30 }],
  };
  expect((await shop.till(path(external_id), { method: 'PUT', body })).status).toBe(status);
  const read = await shop.till(preferencePath(external_id), { method: 'GET' });
  expect(read.status, read.text).toBe(200);
  const item = {
    id: 'A1',
    title: 'Té',
    currency_id: 'ARS',
    unit_price: 15,
    quantity: 2,
    description: '',
    picture_url: '',
  };
  expect(read.body).toMatchObject({ total_amount: 30, sponsor_id: 445566, items: [item] });
});

it('v2 reads what v1 put, as v1 sent it', async () => {
  const { external_id } = shop.freshTill();
  const body = preference();
  expect((await shop.till(preferencePath(external_id), { body })).status).toBe(200);
  const read = await shop.till(orderPath(external_id), { method: 'GET' });
  expect([read.status, read.text]).toEqual([200, JSON.stringify(body)]);
});
