/** No call that can make a sale reaches legacy for a unit on orders, in any spelling of its path. */
import { afterEach, describe, expect, it } from 'vitest';
import { boldPath } from '../../../src/proxy/http/proxy-legacy.ts';
import { plainTarget } from '../../../src/proxy/http/request.ts';
import { ARGENTINA, DEVICE, POINT, tokenOf } from '../../kit.ts';
import { rawRequest, sendRaw } from './raw.ts';
import { answerJson, answerWho, type Outside, orderFor, startOutside, startUnruly, type Unruly } from './unruly.ts';

let upstream: Unruly;
let puente: Outside;
afterEach(async () => {
  await puente.close();
  await upstream.close();
});

async function open(settings: Record<string, string> = {}): Promise<void> {
  upstream = await startUnruly((seen, response) => {
    if (seen.path === '/users/me') answerWho(response);
    else if (seen.path === '/v1/orders') answerJson(response, 201, orderFor(seen));
    else answerJson(response, 207, { proxied: true });
  });
  puente = await startOutside(upstream.url, settings);
}

const BEARER = `Authorization: Bearer ${tokenOf(ARGENTINA)}`;
const CREATE = `${POINT}/devices/${DEVICE}/payment-intents`;

async function send(line: string, headers = [BEARER], body = '{"amount":1500}') {
  const { status, text } = await sendRaw(puente.app.public_url, rawRequest(line, headers, body));
  return { status, body: text.split('\r\n\r\n')[1] ?? '' };
}

function proxied(): string[] {
  return upstream.seen
    .filter(({ path }) => !path.startsWith('/v1/orders') && path !== '/users/me')
    .map(({ method, path }) => `${method} ${path}`);
}

const ODD = [
  `${CREATE};x=1`,
  CREATE.replace('/point', '/point;a=b'),
  CREATE.replace('/point', '/POINT'),
  CREATE.replace('integration-api', 'Integration-API'),
  CREATE.replace('payment-intents', 'Payment-Intents'),
  CREATE.replace('/point', '/point.'),
  CREATE.replace('payment-intents', 'payment-intents..'),
  `${CREATE}%20`,
  `${CREATE}%00`,
  CREATE.replace('/point', '/x/../point'),
  CREATE.replace('/point', '/%2e%2e/point'),
  CREATE.replace('/point/', '/point%2f'),
  CREATE.replace('/point/', '/point%5c'),
  CREATE.replace('/point/', '/point%252f'),
  CREATE.replace('/point', '/%2570oint'),
  CREATE.replace('/point', '/%u0070oint'),
  CREATE.replace('/point', '/%c1%b0oint'),
  CREATE.replace('/point', '/%ef%bd%90oint'),
  CREATE.replace('/point', '/%09point'),
  '/instore/qr/seller/collectors/700100200/pos/SUC001POS001/orders;v=2',
  '/INSTORE/qr/seller/collectors/700100200/pos/SUC001POS001/orders',
  '/mpmobile/instore/%2e%2e/instore/qr/700100200/SUC001POS001',
  '/V1/payments/123/refunds',
  '/v1/payments/123/refunds;x=1',
];

describe('a merchant on orders', () => {
  it.each(ODD)('an odd spelling is refused, and not proxied: %s', async (path) => {
    await open();
    for (const method of ['POST', 'PUT', 'DELETE', 'GET']) {
      const { status, body } = await send(`${method} ${path}`);
      expect([method, status, JSON.parse(body)]).toMatchObject([method, 400, { status: 400 }]);
    }
    expect(proxied()).toEqual([]);
  });

  it.each([
    CREATE.replace('/point', '//point'),
    CREATE.replace('/point', '/./point'),
    CREATE.replace('/point', '/%70oint'),
    CREATE.replace('/devices', '/%2E/devices//'),
    CREATE.replace('integration-api', 'integration%2Dapi'),
    `/.${CREATE}`,
  ])('another spelling of the same path is the same sale: %s', async (path) => {
    await open();
    const first = await send(`POST ${path}`);
    expect(first.status).toBe(201);
    expect(await send(`POST ${CREATE}`), 'a retry in the plain spelling').toEqual(first);
    expect(proxied()).toEqual([]);
  });

  it.each([
    ['POST', `${POINT}/devices/${DEVICE}/sales`, '111'],
    ['PUT', CREATE, '111'],
    ['PATCH', '/point/v2/anything', '111'],
    ['POST', '/instore/orders/new', 'action_not_supported'],
    ['DELETE', '/mpmobile/instore/other', 'action_not_supported'],
  ])('a write that no table covers: %s %s', async (method, path, error) => {
    await open();
    const { status, body } = await send(`${method} ${path}`);
    const told = JSON.parse(body) as { error: string; status: number };
    expect([status, told.status]).toEqual([404, 404]);
    if (error === '111') expect(told.error).toBe(error);
    expect(proxied()).toEqual([]);
    const metrics = (await puente.ops('/metrics')).text;
    expect(metrics).toMatch(/refused_writes[^\n]*endpoint[^\n]* 1\n/);
  });

  it('is proxied where the setting says so, but no odd spelling', async () => {
    await open({ PUENTE_MERCHANTS_UNKNOWN_WRITE: 'allow' });
    expect((await send('PATCH /point/v2/anything')).status).toBe(207);
    expect((await send('POST /point;x/v2/anything')).status).toBe(400);
    expect(proxied()).toEqual(['PATCH /point/v2/anything']);
  });

  it('a read that no table covers, and what is no sale, is proxied as it came', async () => {
    await open();
    for (const line of ['GET /point/v2/anything', 'POST /v2/x//y;z=1', 'POST /oauth/token', 'PUT /v1/payments/7'])
      expect((await send(line)).status).toBe(207);
    expect(proxied()).toEqual([
      'GET /point/v2/anything',
      'POST /v2/x//y;z=1',
      'POST /oauth/token',
      'PUT /v1/payments/7',
    ]);
  });

  it('without a token it is nobody’s, and is refused', async () => {
    await open();
    expect((await send(`POST ${CREATE};x=1`, [])).status).toBe(401);
    expect(proxied()).toEqual([]);
  });
});

it('a canary: units on orders are kept from legacy, and so is what names no unit', async () => {
  await open({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
  const change = {
    stage: 'canary',
    share: 0,
    units_in: [`point:${DEVICE}`],
    override: true,
    reason: 'a test',
    revision: 0,
    new: true,
  };
  const moved = await puente.ops(`/api/merchants/${ARGENTINA}/stage`, { method: 'PUT', body: change });
  expect(moved.status, moved.text).toBe(200);
  expect((await send(`POST ${CREATE};x=1`)).status).toBe(400);
  expect((await send(`POST ${POINT}/devices/${DEVICE}/sales`)).status).toBe(404);
  expect((await send('POST /point/v2/sales')).status).toBe(404);
  expect(proxied()).toEqual([]);
  expect((await send(`POST ${POINT}/devices/OTHER/sales`)).status).toBe(207);
});

it('a merchant on legacy: every spelling is proxied as it came', async () => {
  await open({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
  const spelled = [...ODD, `/${CREATE}`, CREATE.replace('/point', '/%70oint/.')];
  for (const path of spelled) expect([path, (await send(`POST ${path}`)).status]).toEqual([path, 207]);
  expect(proxied()).toEqual(spelled.map((path) => `POST ${path}`));
});

it.each([
  ['/a/%2E/b//c?x=//', '/a/b/c?x=//'],
  ['//', '/'],
  ['/a%2Fb/%zz', '/a%2Fb/%zz'],
  ['/a/../b', '/a/../b'],
])('%s is spelled plainly %s, and read boldly like it', (target, plain) => {
  expect(plainTarget(target)).toBe(plain);
  expect(plainTarget(plain), 'once is enough').toBe(plain);
  expect(boldPath(plain)).toBe(boldPath(target));
});
