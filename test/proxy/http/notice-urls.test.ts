/** The notice URL of a till: called in any notation, or refused with the create. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { callableUrl } from '../../../src/contract/identifiers.ts';
import { ARGENTINA, type Bench, eventually, type Receiver, startBench, startReceiver } from '../../kit.ts';
import { orderPath, preference, preferencePath, storeOrder, TILL } from './qr-till.ts';

let bench: Bench;
let receiver: Receiver;

beforeAll(async () => {
  [bench, receiver] = await Promise.all([startBench(), startReceiver()]);
});
afterAll(() => Promise.all([bench?.close(), receiver?.close()]));

const CODES = `/instore/orders/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/qrs`;
const families = [
  ['v1', 'POST', preferencePath(TILL), preference],
  ['v2', 'PUT', orderPath(TILL), storeOrder],
  ['dynamic', 'POST', CODES, storeOrder],
  ['hybrid', 'PUT', CODES, storeOrder],
] as const;

describe.each(families)('%s', (family, method, path, bodyOf) => {
  it.each([
    ['a space', '{host}/my shop/ipn', '/my%20shop/ipn', undefined],
    ['letters beyond ASCII', '{host}/año?caja=ñ', '/a%C3%B1o', undefined],
    ['an emoji', '{host}/🧾', '/%F0%9F%A7%BE', undefined],
    ['spaces around it', '  {host}/around ', '/around', undefined],
    ['a fragment', '{host}/ipn#top', '/ipn', undefined],
    ['a user and a password', '{user}/ipn', '/ipn', 'user:p@w ñ'],
    ['no scheme', '{bare}/ipn', '/ipn', undefined],
    ['an upper-case scheme', '{upper}/ipn', '/ipn', undefined],
  ])('calls a URL with %s', async (what, written, called, credentials) => {
    // An earlier sale of the till ends meanwhile, and its own URL is notified.
    const own = `/${family}-${encodeURIComponent(what)}`;
    const host = new URL(receiver.url).host + own;
    const notification_url = written
      .replace('{host}', `http://${host}`)
      .replace('{user}', `http://user:p%40w ñ@${host}`)
      .replace('{bare}', host)
      .replace('{upper}', `HTTP://${host}`);
    const sold = await bench.till(path, { method, body: bodyOf({ notification_url }) });
    // Only the dynamic POST requires a scheme, as legacy did.
    if (family === 'dynamic' && !/^https?:/.test(notification_url)) return expect(sold.status, what).toBe(400);
    expect(sold.status, sold.text).toBeLessThan(300);
    const delivery = await eventually(
      async () => receiver.received.find((one) => one.path.startsWith(own)),
      (one) => one !== undefined,
    );
    expect(delivery?.path).toBe(own + called);
    expect(delivery?.query.get('topic')).toBe('merchant_order');
    const basic = credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
    expect(delivery?.headers.authorization).toBe(basic);
  });

  it.each([
    'https://shop with a space/ipn',
    'https://shop.example\\@other.example/ipn',
    'https://',
    'https://shop..example/ipn',
    'ftp://shop.example/ipn',
    'mailto:shop@shop.example',
    'javascript:alert(1)',
    'https://shop.example:99999/ipn',
    `https://shop.example/${'ñ'.repeat(400)}`,
  ])('refuses %s when the sale is made, in its own shape', async (notification_url) => {
    const orders = bench.sandbox.world.orders.size;
    const refused = await bench.till(path, { method, body: bodyOf({ notification_url }) });
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ status: 400, causes: [] });
    expect(refused.text).toContain('notification_url');
    expect(bench.sandbox.world.orders.size).toBe(orders);
  });
});

test('one that the rules of outgoing calls hold back is taken, and the report says so', async () => {
  const strict = await startBench({ PUENTE_OUTBOUND_ALLOW_PRIVATE: 'false' });
  try {
    for (const notification_url of [
      'http://shop.example/ipn',
      'https://10.0.0.1/ipn',
      'shop.example:9000/ipn',
      'https://shop.example/ipn',
    ]) {
      const sold = await strict.till(orderPath(TILL), { method: 'PUT', body: storeOrder({ notification_url }) });
      expect(sold.status, sold.text).toBe(204);
    }
    await expect
      .poll(async () => {
        const { limitations } = (await strict.ops('/api/report')).body as {
          limitations: { id: string; hits: number | null }[];
        };
        return limitations.find(({ id }) => id === 'LIM-83')?.hits;
      })
      .toBe(3);
  } finally {
    await strict.close();
  }
});

test.each([
  ['www.shop.example', 'https', 'https://www.shop.example/'],
  ['www.shop.example', 'http', 'http://www.shop.example/'],
  ['shop.example:8443/ipn?x=1', 'https', 'https://shop.example:8443/ipn?x=1'],
  ['//shop.example/ipn', 'https', 'https://shop.example/ipn'],
  ['https:shop.example', 'http', 'https://shop.example/'],
  ['https://tiendañ.example/', 'https', 'https://xn--tienda-1wa.example/'],
  // The guard sees it as it is: an address of this machine.
  ['https://①②⑦.⓪.⓪.①/', 'https', 'https://127.0.0.1/'],
  ['', 'https', undefined],
  [' \t', 'https', undefined],
  ['not a url', 'https', null],
  ['wss://shop.example', 'https', null],
] as const)('%j becomes callable', (text, scheme, expected) => {
  expect(callableUrl(text, scheme)).toBe(expected);
});
