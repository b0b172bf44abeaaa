/** Odd HTTP that the old service tolerated on its QR and merchant-order paths: `docs/architecture.md` Decision 12, `docs/field-notes.md` QR finding 13. */
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tokenOf } from '../kit.ts';
import { ARGENTINA, openShop, preference, type Shop, storeOrder, v1Path, v2Path } from './qr-kit.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(() => shop.close());

const TOKEN = tokenOf(ARGENTINA);

async function raw(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body: string | null, headers: object = {}) {
  const answer = await request(shop.sandbox.url + path, { method, body, headers: { ...headers } });
  return { status: answer.statusCode, text: await answer.body.text() };
}

describe('tolerated', () => {
  it('the token in the query alone, on every family', async () => {
    const query = `?access_token=${TOKEN}`;
    expect((await raw('POST', v1Path() + query, JSON.stringify(preference()))).status).toBe(200);
    expect((await raw('PUT', v2Path() + query, JSON.stringify(storeOrder()))).status).toBe(204);
    expect((await raw('GET', `/merchant_orders${query}`, null)).status).toBe(200);
    expect((await raw('DELETE', v2Path() + query, null)).status).toBe(204);
  });

  it('a missing and an empty content type', async () => {
    const authorization = `Bearer ${TOKEN}`;
    for (const headers of [{}, { 'content-type': '' }, { 'content-type': 'text/plain' }]) {
      const reply = await raw('PUT', v2Path(), JSON.stringify(storeOrder()), { authorization, ...headers });
      expect(reply.status).toBe(204);
    }
  });

  it('a body on GET and DELETE, even one that is no JSON', async () => {
    await shop.call('PUT', v2Path(), { body: storeOrder() });
    expect((await shop.call('GET', v2Path(), { body: '{"stale"' })).body).toEqual(storeOrder());
    expect((await shop.call('GET', '/merchant_orders', { body: '{"stale"' })).status).toBe(200);
    expect((await shop.call('DELETE', v2Path(), { body: '{"stale"' })).status).toBe(204);
  });

  it('a bare question mark and a trailing slash', async () => {
    expect((await shop.call('PUT', `${v2Path()}?`, { body: storeOrder() })).status).toBe(204);
    expect((await shop.call('GET', `${v2Path()}/?`)).status).toBe(200);
    expect((await shop.call('GET', '/merchant_orders/?')).status).toBe(200);
  });
});

describe('refused in the words of the family', () => {
  it.each([
    [v1Path(), 'invalid_preference_body'],
    [v2Path(), 'json_syntax_error'],
  ])('bytes that are no UTF-8 at %s', async (path, error) => {
    const answer = await request(shop.sandbox.url + path, {
      method: 'PUT',
      headers: { authorization: `Bearer ${TOKEN}` },
      body: Buffer.from([0x7b, 0xff, 0x7d]),
    });
    expect(await answer.body.json()).toMatchObject({ error, status: 400, causes: [] });
  });

  it('a body that is too large, and a path that does not decode', async () => {
    const large = await shop.call('PUT', v2Path(), { body: ' '.repeat(300_000) });
    expect(large).toMatchObject({ status: 413, body: { error: 'request_too_large', causes: [] } });
    expect(await shop.call('GET', v2Path('%E0%A4%A'))).toMatchObject({
      status: 400,
      body: { error: 'bad_request', causes: [] },
    });
    expect(await shop.call('GET', '/merchant_orders/%E0%A4%A')).toMatchObject({ status: 400, body: { cause: [] } });
  });
});
