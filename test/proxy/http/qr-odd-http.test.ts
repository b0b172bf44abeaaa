/** Odd HTTP to the QR families (`docs/architecture.md` Decision 12, `docs/field-notes.md` QR finding 13). */
import { describe, expect, it } from 'vitest';
import { ARGENTINA, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openQrShop, orderPath, preference, preferencePath } from './qr-till.ts';

const shop = openForAll(() => openQrShop());

describe('tolerated', () => {
  it('a token in the query, which goes nowhere', async () => {
    const { external_id } = shop.freshTill();
    const path = `${preferencePath(external_id)}?access_token=${tokenOf(ARGENTINA)}`;
    const answer = await shop.till(path, { token: null, body: preference() });
    expect(answer.status).toBe(200);
    const asked = await shop.asked('/v1/orders');
    expect(asked.at(-1)?.path).toBe('/v1/orders');
    expect((await shop.till(path, { token: null })).status).toBe(200);
    expect((await shop.till(path, { token: null, method: 'DELETE' })).status).toBe(204);
  });

  it.each([
    ['price times quantity', '99.89999999999999', '33.3', '3', '99.89999999999999', '99.90'],
    ['a float that is above', '30.300000000000004', '10.1', '3', '30.300000000000004', '30.30'],
    ['sixteen zeros and an exponent', '1.0000000000000000E+003', '2.5000000000000000E+002', '4.0', '1E3', '1000.00'],
    ['a price that is off, too', '59.99999999999999', '19.999999999999996', '3', '60', '60.00'],
  ])('floats of a till: %s', async (_what, total, price, quantity, line, charged) => {
    const { external_id } = shop.freshTill();
    const text = `{"external_reference":"f","title":"t","description":"d","total_amount":${total},"items":[{"title":"a","unit_price":${price},"quantity":${quantity},"unit_measure":"unit","total_amount":${line}}]}`;
    expect((await shop.till(orderPath(external_id), { method: 'PUT', body: text })).status).toBe(204);
    expect(await shop.ordersAt(external_id)).toMatchObject([{ total_amount: charged }]);
    expect((await shop.till(orderPath(external_id))).text, 'as it was sent').toBe(text);
  });

  it.each([
    ['a cent too much', '100.01', '100'],
    ['a tenth of a cent', '100.001', '100.001'],
    ['a hundredth of a cent', '99.9999', '99.9999'],
    ['nothing but noise', '0.0000001', '0.0000001'],
  ])('a real difference stays refused: %s', async (_what, total, line) => {
    const { external_id } = shop.freshTill();
    const text = `{"external_reference":"f","title":"t","description":"d","total_amount":${total},"items":[{"title":"a","unit_price":${line},"quantity":1,"unit_measure":"unit","total_amount":${line}}]}`;
    expect((await shop.till(orderPath(external_id), { method: 'PUT', body: text })).status).toBe(400);
    expect(await shop.ordersAt(external_id)).toEqual([]);
  });

  it('whole numbers in any spelling where an integer is asked for', async () => {
    const { external_id } = shop.freshTill();
    const text =
      '{"external_reference":77.0,"title":"t","total_amount":100,"sponsor":{"id":4.45566E5},"items":[{"sku_number":1.2E+1,"title":"a","unit_price":100,"quantity":1E0,"unit_measure":"unit","total_amount":100}]}';
    expect((await shop.till(orderPath(external_id), { method: 'PUT', body: text })).status).toBe(204);
    expect(await shop.ordersAt(external_id)).toMatchObject([
      { external_reference: '77', integration_data: { sponsor: { id: '445566' } }, items: [{ external_code: '12' }] },
    ]);
  });
});

it('what a till sent comes back as it was sent, its keys in their order', async () => {
  const { external_id } = shop.freshTill();
  const text =
    '{"total_amount":301.00,"title":"Shop","external_reference":"Factura é 0009","zeta":1,"notification_url":"www.shop.example?a=1&b=2","alpha":[null,true],' +
    '"items":[{"total_amount":301.0,"unit_measure":"unit","quantity":2,"unit_price":150.50,"title":"Café","color":"x"}]}';
  expect((await shop.till(orderPath(external_id), { method: 'PUT', body: text })).status).toBe(204);
  expect((await shop.till(orderPath(external_id))).text).toBe(text);
});
