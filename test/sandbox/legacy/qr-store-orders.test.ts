/** v2 attended orders: `docs/field-notes.md` QR §1.2, rule by rule. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { instoreError } from '../../../src/contract/legacy-qr.ts';
import {
  ARGENTINA,
  BRAZIL,
  FAR_TILL,
  openShop,
  type Shop,
  storeItem,
  storeOrder,
  storePath,
  TILL_NUMBER,
  v2Path,
} from './qr-kit.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(() => shop.close());

const put = (changes: object = {}, path = v2Path()) => shop.call('PUT', path, { body: storeOrder(changes) });
const item = (changes: object) => ({ items: [{ ...storeItem, ...changes }] });
const at = (ms: number) => new Date(shop.sandbox.world.clock.now() + ms).toISOString();

describe('refusals', () => {
  it.each<[string, object, string]>([
    ['no reference', { external_reference: undefined }, 'invalid_external_reference'],
    ['a reference that is a list', { external_reference: [] }, 'invalid_external_reference'],
    ['no title', { title: undefined }, 'invalid_title'],
    ['a title of 257 characters', { title: 'x'.repeat(257) }, 'invalid_title'],
    ['a description that is no text', { description: 5 }, 'invalid_description'],
    ['a date that is none', { expiration_date: 'tomorrow' }, 'invalid_expiration_date'],
    ['a date without offset', { expiration_date: '2999-01-01T00:00:00' }, 'invalid_expiration_date'],
    ['a date that has passed', { expiration_date: '2020-01-01T00:00:00.000-04:00' }, 'invalid_expiration_date'],
    ['no total', { total_amount: undefined }, 'invalid_total_amount'],
    ['a total that is not the sum', { total_amount: 240.99 }, 'invalid_total_amount'],
    ['a total with three decimals', { total_amount: 241.001 }, 'invalid_total_amount'],
    ['items as an object', { items: { '0': storeItem } }, 'invalid_items'],
    ['no items and no cash', { items: undefined }, 'error_creating_seller_qr_order'],
    ['an empty list and no cash', { items: [], cash_out: { amount: 0 } }, 'error_creating_seller_qr_order'],
    ['no title of an item', item({ title: undefined }), 'invalid_items.title'],
    ['no unit of measure', item({ unit_measure: undefined }), 'invalid_unit_measure'],
    ['no quantity', item({ quantity: undefined }), 'invalid_quantity'],
    ['half a piece', item({ quantity: 0.5, total_amount: 60.25 }), 'invalid_quantity'],
    ['a price that is no number', item({ unit_price: 'ten' }), 'invalid_unit_price'],
    ['no total of an item', item({ total_amount: undefined }), 'invalid_items.total_amount'],
    ['a total of an item that does not agree', item({ total_amount: 240 }), 'invalid_items.total_amount'],
    ['the currency of another site', item({ currency_id: 'BRL' }), 'invalid_items.currency_id'],
    ['a sponsor equal to the collector', { sponsor: { id: Number(ARGENTINA) } }, 'invalid_sponsor.id'],
    ['a sponsor that is no object', { sponsor: 5 }, 'invalid_sponsor.id'],
    ['cash that is no amount', { cash_out: { amount: 'all' } }, 'invalid_cash_out.amount'],
    ['cash without an agreement', { cash_out: { amount: 100 }, total_amount: 341 }, 'invalid_cash_out.amount'],
  ])('400 for %s', async (_name, changes, error) => {
    const reply = await put(changes);
    expect(reply).toMatchObject({ status: 400, body: { error, status: 400, causes: [] } });
    expect(instoreError.safeParse(reply.body).success).toBe(true);
    expect(await shop.orders()).toEqual([]);
  });

  it('400 json_syntax_error for a body that is no JSON, 400 bad_request for one that is no object', async () => {
    expect((await shop.call('PUT', v2Path(), { body: '{' })).body.error).toBe('json_syntax_error');
    expect((await shop.call('PUT', v2Path(), { body: '[]' })).body.error).toBe('json_syntax_error');
  });

  it('401 for a token that nobody has', async () => {
    const reply = await shop.call('PUT', v2Path(), { merchant: '1', body: storeOrder() });
    expect(reply.body).toEqual({ error: 'unauthorized', message: 'user not found', status: 401, causes: [] });
  });

  it.each(['PUT', 'GET', 'DELETE'])(
    '%s: 400 for a path user that is no number or that of another owner',
    async (method) => {
      const call = (path: string) => shop.call(method, path, method === 'PUT' ? { body: storeOrder() } : {});
      expect(await call(v2Path(undefined, 'me'))).toMatchObject({
        status: 400,
        body: { error: 'invalid_collectorId' },
      });
      expect(await call(v2Path(undefined, BRAZIL))).toMatchObject({
        status: 400,
        body: { message: 'Collector ID and Caller ID must be the same' },
      });
    },
  );

  it.each(['PUT', 'GET', 'DELETE'])('%s: 404 pos_obtainment_error for an unknown till', async (method) => {
    const call = (path: string) => shop.call(method, path, method === 'PUT' ? { body: storeOrder() } : {});
    const unknown = {
      error: 'pos_obtainment_error',
      message: 'Point of sale not found',
      status: 404,
      causes: [],
    };
    expect((await call(v2Path('NOWHERE'))).body).toEqual(unknown);
    expect((await call(v2Path(String(TILL_NUMBER)))).body).toEqual(unknown);
    expect((await call(storePath('SUC001', FAR_TILL))).body).toEqual(unknown);
    expect(await call(v2Path('SUC%20001'))).toMatchObject({ status: 400, body: { error: 'invalid_externalPosId' } });
  });
});

describe('put, get, delete', () => {
  it('PUT answers 204 without a body, with the store and without', async () => {
    expect(await put()).toMatchObject({ status: 204, text: '' });
    expect(await put({}, storePath())).toMatchObject({ status: 204, text: '' });
    expect((await shop.orders()).map(({ state }) => state)).toEqual(['expired', 'open']);
  });

  it('takes a price in quotes, a number as reference, and the tolerated fields', async () => {
    const changes = {
      external_reference: 55,
      description: 'all of it',
      notification_url: 'www.shop.test/ipn',
      sponsor: { id: 888 },
      cash_out: {},
      taxes: [{ value: 19, type: 'IVA' }],
      ...item({ unit_price: '120.50', picture_url: 'https://shop.test/a.png', currency_id: 'ARS', quantity: 2.0 }),
    };
    expect((await put(changes)).status).toBe(204);
    expect((await put({ cash_out: { amount: 0 } })).status).toBe(204);
    expect((await put({ cash_out: null, sponsor: null })).status).toBe(204);
  });

  it('GET answers with the order as it was sent, to the digit, with the store and without', async () => {
    const sent =
      '{"external_reference":"INV 0002","title":"Sale","total_amount":241.00,"more":[1.10,{"x":null}],"items":[{"title":"Coffee","unit_price":120.50,"quantity":2,"unit_measure":"unit","total_amount":241.0}]}';
    await shop.call('PUT', v2Path(), { body: sent });
    expect(await shop.call('GET', v2Path())).toMatchObject({ status: 200, text: sent });
    expect((await shop.call('GET', storePath())).text).toBe(sent);
  });

  it('GET answers 404 without an order, after DELETE and after the payment', async () => {
    const missing = { status: 404, body: { error: 'point_of_sale_in_store_order_not_found', causes: [] } };
    expect(await shop.call('GET', v2Path())).toMatchObject(missing);
    await put();
    expect(await shop.call('DELETE', v2Path())).toMatchObject({ status: 204, text: '' });
    expect(await shop.call('GET', v2Path())).toMatchObject(missing);
    await put();
    shop.buyer('pay');
    expect(await shop.call('GET', v2Path())).toMatchObject(missing);
  });

  it('DELETE answers 204 with the store too, and on an empty till', async () => {
    await put();
    expect((await shop.call('DELETE', storePath())).status).toBe(204);
    expect((await shop.call('DELETE', storePath())).status).toBe(204);
    expect((await shop.orders()).map(({ state }) => state)).toEqual(['canceled']);
  });

  it('DELETE is refused while the order is being paid', async () => {
    await put();
    shop.buyer('lock');
    expect(await shop.call('DELETE', v2Path())).toMatchObject({
      status: 409,
      body: { error: 'in_store_order_locked', causes: [] },
    });
    shop.buyer('unlock');
    expect((await shop.call('DELETE', v2Path())).status).toBe(204);
  });

  it('lives until its date, else as long as the header says, else as the setting says', async () => {
    const state = async () => (await shop.orders()).at(-1)?.state;
    await put({ expiration_date: at(90_000).replace('Z', '+00:00') });
    shop.sandbox.world.clock.advance(89_999);
    expect(await state()).toBe('open');
    shop.sandbox.world.clock.advance(1);
    expect(await state()).toBe('expired');
    await shop.call('PUT', v2Path(), { body: storeOrder(), headers: { 'x-ttl-store-preference': '300' } });
    shop.sandbox.world.clock.advance(300_000);
    expect(await state()).toBe('expired');
    shop.sandbox.world.configure({ legacy_qr_expiry_ms: 5000 });
    await put();
    shop.sandbox.world.clock.advance(5000);
    expect(await state()).toBe('expired');
  });
});
