/** v1 attended orders: `docs/field-notes.md` QR §1.1, rule by rule. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { instoreError, preferenceAnswer } from '../../../src/contract/legacy-qr.ts';
import { newPoint } from '../../../src/sandbox/cast.ts';
import {
  ARGENTINA,
  BRAZIL,
  CHILE,
  OTHER_TILL,
  openShop,
  preference,
  preferenceItem,
  type Shop,
  TILL_NUMBER,
  v1Path,
  v2Path,
} from './qr-kit.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(() => shop.close());

const create = (changes: object = {}, path = v1Path(), method = 'POST') =>
  shop.call(method, path, { body: preference(changes) });
const item = (changes: object) => ({ items: [{ ...preferenceItem, ...changes }] });

describe('refusals', () => {
  it.each<[string, object, string]>([
    ['no reference', { external_reference: undefined }, 'invalid_external_reference'],
    ['an empty reference', { external_reference: '' }, 'invalid_external_reference'],
    ['a reference of 257 characters', { external_reference: 'x'.repeat(257) }, 'invalid_external_reference'],
    ['a URL of 501 characters', { notification_url: 'x'.repeat(501) }, 'invalid_notification_url'],
    ['a sponsor that is no number', { sponsor_id: 'me' }, 'invalid_sponsor_id'],
    ['a sponsor equal to the collector', { sponsor_id: Number(ARGENTINA) }, 'invalid_sponsor_id'],
    ['a sponsor of another site', { sponsor_id: BRAZIL }, 'invalid_sponsor_id'],
    ['no items', { items: undefined }, 'invalid_items'],
    ['an empty list of items', { items: [] }, 'invalid_items'],
    ['items as an object', { items: { '0': preferenceItem } }, 'invalid_preference_body'],
    ['an item that is a text', { items: ['Coffee'] }, 'invalid_items'],
    ['no title', item({ title: undefined }), 'invalid_items'],
    ['no currency', item({ currency_id: undefined }), 'invalid_items'],
    ['the currency of another site', item({ currency_id: 'BRL' }), 'invalid_items'],
    ['no quantity', item({ quantity: undefined }), 'invalid_items'],
    ['half a piece', item({ quantity: 0.5 }), 'invalid_items'],
    ['no piece', item({ quantity: 0 }), 'invalid_items'],
    ['no price', item({ unit_price: undefined }), 'invalid_items'],
    ['a price that is no number', item({ unit_price: 'ten' }), 'invalid_items'],
    ['a price with three decimals', item({ unit_price: 1.005 }), 'invalid_items'],
    ['a negative price', item({ unit_price: -1 }), 'invalid_items'],
    ['an amount that can not be paid', item({ unit_price: 0 }), 'invalid_items'],
    ['a fee that is no amount', { marketplace_fee: 'much' }, 'invalid_marketplace_fee'],
  ])('400 for %s', async (_name, changes, error) => {
    const reply = await create(changes);
    expect(reply).toMatchObject({ status: 400, body: { error, status: 400, causes: [] } });
    expect(instoreError.safeParse(reply.body).success).toBe(true);
    expect(await shop.orders()).toEqual([]);
  });

  it.each(['', '{', '[]', '"x"'])('400 invalid_preference_body for the body %j', async (body) => {
    const reply = await shop.call('POST', v1Path(), { body });
    expect(reply.body).toEqual({
      error: 'invalid_preference_body',
      message: 'Invalid preference_body',
      status: 400,
      causes: [],
    });
  });

  it('401 for a token that nobody has', async () => {
    const reply = await shop.call('POST', v1Path(), { merchant: '1', body: preference() });
    expect(reply).toMatchObject({ status: 401, body: { error: 'unauthorized', causes: [] } });
  });

  it('400 for a path user that is no number, and for one that does not own the token', async () => {
    expect(await create({}, v1Path(undefined, 'me'))).toMatchObject({
      status: 400,
      body: { error: 'invalid_collector_id' },
    });
    expect(await create({}, v1Path(undefined, BRAZIL))).toMatchObject({
      status: 400,
      body: { message: 'Collector ID and Caller ID must be the same' },
    });
  });

  it('404 for an unknown till, and for an internal number where the external id belongs', async () => {
    for (const till of ['NOWHERE', String(TILL_NUMBER)]) {
      const reply = await create({}, v1Path(till));
      expect(reply.status).toBe(404);
      expect(reply.body).toEqual({
        error: 'pos_obtainment_error',
        message: 'Point of sale not found',
        status: 404,
        causes: [],
      });
    }
  });

  it('404 for a number that is no till or the till of another merchant', async () => {
    for (const number of ['42', 'SUC001POS001', '2000001']) {
      expect((await create({}, `/mpmobile/instore/qr/${number}`)).status).toBe(404);
    }
  });

  it('404 for a till without external id, unless the setting accepts it', async () => {
    const { world } = shop.sandbox;
    const ids = { id: 77, merchant_id: ARGENTINA, external_id: null, store_id: '10001' };
    world.points_of_sale.set(77, newPoint(world, ids));
    expect(await create({}, '/mpmobile/instore/qr/77')).toMatchObject({
      status: 404,
      body: { error: 'pos_obtainment_error', causes: [] },
    });
    shop.sandbox.world.configure({ legacy_qr_nameless_till: 'accepted' });
    expect((await create({}, '/mpmobile/instore/qr/77')).status).toBe(200);
  });
});

describe('create', () => {
  it('answers with the object of a preference, whose total is the sum of its items', async () => {
    const items = [
      { ...preferenceItem, picture_url: 'https://shop.test/a.png', description: 'hot' },
      { title: 'Cake', currency_id: 'ARS', unit_price: '500', quantity: 3 },
    ];
    const reply = await create({
      items,
      sponsor_id: 888,
      notification_url: 'https://shop.test/ipn',
      marketplace_fee: 10.5,
    });
    expect(reply.status).toBe(200);
    expect(preferenceAnswer.safeParse(reply).success).toBe(true);
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^700100200-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      collector_id: 700100200,
      collector: {},
      client_id: 4004001,
      sponsor_id: 888,
      items: [
        { ...preferenceItem, picture_url: 'https://shop.test/a.png', description: 'hot' },
        { id: '', title: 'Cake', currency_id: 'ARS', unit_price: 500, quantity: 3, description: '', picture_url: '' },
      ],
      total_amount: 1741,
      amount: 1741,
      external_reference: 'INV 0001',
      operation_type: 'regular_payment',
      notification_url: 'https://shop.test/ipn',
      payment_methods: {
        excluded_payment_methods: [{ id: '' }],
        excluded_payment_types: [{ id: 'ticket' }, { id: 'atm' }],
      },
      marketplace: 'NONE',
      marketplace_fee: 10.5,
      expires: false,
      additional_info: '',
      back_urls: { success: '', pending: '', failure: '' },
      payer: { id: 0, email: '', identification: { number: '', type: '' } },
      site_id: 'MLA',
      processing_modes: ['aggregator'],
      internal_metadata: {},
    });
  });

  it('takes PUT, a reference that is a number, and the internal number of the till', async () => {
    const reply = await create({ external_reference: 123 }, `/mpmobile/instore/qr/${TILL_NUMBER}`, 'PUT');
    expect(reply).toMatchObject({ status: 200, body: { external_reference: '123' } });
    expect(await shop.orders()).toMatchObject([{ pos_id: TILL_NUMBER, mode: 'attended' }]);
  });

  it('answers 201 where the setting says so', async () => {
    shop.sandbox.world.configure({ legacy_qr_preference_status: 201 });
    expect((await create()).status).toBe(201);
  });

  it('knows no decimals in Chile', async () => {
    const chile = (unit_price: number) =>
      shop.call('POST', v1Path(undefined, CHILE), {
        merchant: CHILE,
        body: preference({ items: [{ ...preferenceItem, currency_id: 'CLP', unit_price }] }),
      });
    expect(await chile(1990.5)).toMatchObject({ status: 400, body: { error: 'invalid_items' } });
    expect(await chile(1990)).toMatchObject({ status: 200, body: { total_amount: 3980, site_id: 'MLC' } });
    expect(await shop.orders()).toMatchObject([{ total_minor: 3980 }]);
  });

  it('lives as long as the header says in seconds, and 10 minutes without one', async () => {
    const open = async () => (await shop.orders()).map(({ state }) => state);
    await shop.call('POST', v1Path(), { body: preference(), headers: { 'x-ttl-store-preference': '180' } });
    await create({}, v1Path(OTHER_TILL));
    shop.sandbox.world.clock.advance(179_999);
    expect(await open()).toEqual(['open', 'open']);
    shop.sandbox.world.clock.advance(1);
    expect(await open()).toEqual(['expired', 'open']);
    shop.sandbox.world.clock.advance(420_000);
    expect(await open()).toEqual(['expired', 'expired']);
  });

  it('replaces what the till shows, whichever family put it there', async () => {
    await create();
    await create({}, v1Path(OTHER_TILL));
    await create({ external_reference: 'second' }, v1Path(), 'PUT');
    expect((await shop.orders()).map(({ state }) => state)).toEqual(['expired', 'open', 'open']);
    expect((await shop.call('GET', v2Path())).body).toEqual(preference({ external_reference: 'second' }));
  });

  it('is refused while the order before it is being paid, unless the setting lets it replace that', async () => {
    await create();
    shop.buyer('lock');
    expect(await create()).toMatchObject({ status: 409, body: { error: 'in_store_order_locked', causes: [] } });
    expect(await shop.call('DELETE', v1Path())).toMatchObject({ status: 409 });
    shop.sandbox.world.configure({ legacy_qr_locked: 'replaced' });
    expect((await create()).status).toBe(200);
    expect((await shop.orders()).map(({ state }) => state)).toEqual(['expired', 'open']);
  });
});

describe('get and delete', () => {
  it('GET answers with what the till shows, by external id and by number, and 404 without', async () => {
    const nothing = await shop.call('GET', v1Path());
    expect(nothing).toMatchObject({
      status: 404,
      body: { error: 'point_of_sale_in_store_order_not_found', causes: [] },
    });
    const { body } = await create();
    expect((await shop.call('GET', v1Path())).body).toEqual(body);
    expect((await shop.call('GET', `/mpmobile/instore/qr/${TILL_NUMBER}`)).body).toEqual(body);
  });

  it('DELETE answers 204 without a body, by external id and by number', async () => {
    await create();
    expect(await shop.call('DELETE', v1Path())).toMatchObject({ status: 204, text: '' });
    await create();
    expect(await shop.call('DELETE', `/mpmobile/instore/qr/${TILL_NUMBER}`)).toMatchObject({ status: 204, text: '' });
    expect((await shop.orders()).map(({ state }) => state)).toEqual(['canceled', 'canceled']);
  });

  it.each([204, 400, 404] as const)('DELETE on an empty till answers %i where the setting says so', async (status) => {
    shop.sandbox.world.configure({ legacy_qr_delete_empty: status });
    const reply = await shop.call('DELETE', v1Path());
    expect(reply.status).toBe(status);
    if (status === 204) expect(reply.text).toBe('');
    else expect(reply.body).toMatchObject({ error: 'point_of_sale_in_store_order_not_found', status, causes: [] });
  });

  it('checks owner and till first', async () => {
    for (const method of ['GET', 'DELETE']) {
      expect((await shop.call(method, v1Path(undefined, BRAZIL))).status).toBe(400);
      expect((await shop.call(method, v1Path('NOWHERE'))).status).toBe(404);
    }
  });
});
