/** The ops door: token, reason, revision and audit line required (`docs/architecture.md` Decision 13, F123–F128). */
import supertest from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { version } from '../../../src/version.ts';
import { ARGENTINA, call, OPS_TOKEN, POINT, tokenOf } from '../../kit.ts';
import { auditsOf, idOf, openShop, type Shop } from '../../proxy/http/till.ts';
import { verifyAudit } from '../audit-chain.ts';

let shop: Shop;
afterEach(() => shop.close());

const MERCHANT = `/api/merchants/${ARGENTINA}`;
const CHANGE = { reason: 'agreed with the merchant', revision: 0, new: true, declined: 'finished' };

describe('without the right token', () => {
  it('a token in the query is none, and the public door has no ops routes [F123]', async () => {
    shop = await openShop();
    const inQuery = await call(`${shop.app.ops_url}${MERCHANT}?access_token=${OPS_TOKEN}`);
    expect(inQuery.status).toBe(401);
    for (const path of ['/api/merchants', '/metrics', '/healthz', '/readyz']) {
      expect((await call(shop.app.public_url + path, { token: OPS_TOKEN })).status).toBe(404);
    }
  });
});

const REFUSED: [string, string, unknown, number][] = [
  ['no reason', MERCHANT, { revision: 0, declined: 'error' }, 400],
  ['an empty reason', MERCHANT, { ...CHANGE, reason: '  ' }, 400],
  ['no revision', MERCHANT, { reason: 'agreed', declined: 'error' }, 400],
  ['an unknown field', MERCHANT, { ...CHANGE, admin: true }, 400],
  ['the stage by the wrong door', MERCHANT, { ...CHANGE, stage: 'legacy' }, 400],
  ['__proto__', MERCHANT, '{"reason":"agreed","revision":0,"__proto__":{"polluted":1}}', 400],
  ['an unknown value', MERCHANT, { ...CHANGE, declined: 'maybe' }, 400],
  ['a URL that is none', MERCHANT, { ...CHANGE, notice_url: 'not a url' }, 400],
  ['a URL with a password', MERCHANT, { ...CHANGE, notice_url: 'https://user:pass@shop.example/' }, 400],
  ['a URL of another scheme', MERCHANT, { ...CHANGE, notice_url: 'file:///etc/passwd' }, 400],
  ['a list', MERCHANT, [], 400],
  ['no JSON', MERCHANT, '{', 400],
  ['too much', MERCHANT, { ...CHANGE, reason: 'x'.repeat(5_000_000) }, 413],
  ['an id that is no number', '/api/merchants/abc', CHANGE, 400],
  ['an id with a bad escape', '/api/merchants/%zz', CHANGE, 400],
  ['an old revision', MERCHANT, { ...CHANGE, revision: 7 }, 409],
  ['an unknown stage', `${MERCHANT}/stage`, { stage: 'canary', reason: 'agreed', revision: 0, new: true }, 400],
  ['a stage without a reason', `${MERCHANT}/stage`, { stage: 'legacy', revision: 0 }, 400],
  [
    'a stage at an old revision',
    `${MERCHANT}/stage`,
    { stage: 'legacy', reason: 'agreed', revision: 3, new: true },
    409,
  ],
  ['an unknown route', `${MERCHANT}/nothing`, CHANGE, 404],
];

describe('changes that are refused', () => {
  it('get the right status, and change nothing [F127 F128]', async () => {
    shop = await openShop();
    for (const [name, path, body, status] of REFUSED) {
      const answer = await shop.ops(path, { method: 'PUT', body });
      expect([name, answer.status, answer.text]).toEqual([name, status, expect.stringContaining('"message"')]);
      expect(answer.text).not.toMatch(/at .*\.ts:\d+/);
      expect([name, await auditsOf(shop.data_dir)]).toEqual([name, []]);
    }
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    expect(((await shop.ops(MERCHANT)).body as { revision: number }).revision).toBe(0);
  });

  it('a URL, while private addresses are closed', async () => {
    shop = await openShop({ PUENTE_OUTBOUND_ALLOW_PRIVATE: 'false' });
    for (const notice_url of [
      'http://127.0.0.1/x',
      'https://127.0.0.1/x',
      'https://[::1]/x',
      'https://10.0.0.1/',
      'https://0x7f.1/',
      'https://shop.example:8080/',
      'http://shop.example/',
    ]) {
      const answer = await shop.ops(MERCHANT, { method: 'PUT', body: { ...CHANGE, notice_url } });
      const { error } = answer.body as { error: string }; // every refusal has a code
      expect([notice_url, answer.status, error]).toEqual([notice_url, 400, 'blocked_address']);
    }
  });
});

describe('changes', () => {
  it('show settings with their source, keep secrets to themselves, and are chained in the audit [P9 P16]', async () => {
    shop = await openShop();
    const body = {
      ...CHANGE,
      notice_url: 'https://shop.example/notices?key=k',
      notice_secret: 'the till has this',
      credential: tokenOf(ARGENTINA),
    };
    const saved = await shop.ops(MERCHANT, { method: 'PUT', body });
    expect(saved.status).toBe(200);
    const seen = await shop.ops(MERCHANT);
    expect({ ...(saved.body as object), unseen: null, unseen_said: [] }).toEqual({
      ...(seen.body as object),
      result: 'changed',
    });
    expect(seen.body).toMatchObject({
      id: ARGENTINA,
      revision: 1,
      settings: { declined: { value: 'finished', from: 'merchant' }, voucher: { value: 'refuse', from: 'default' } },
      notice_secret: 'set',
      credential: 'set',
    });
    const back = await shop.ops(MERCHANT, {
      method: 'PUT',
      body: { reason: 'taken back', revision: 1, declined: null, notice_secret: null, credential: null },
    });
    expect(back.body).toMatchObject({
      revision: 2,
      settings: { declined: { value: 'error', from: 'default' } },
      notice_secret: 'not set',
      credential: 'not set',
    });
    const lines = await auditsOf(shop.data_dir);
    expect(lines.map((line) => [line.who, line.action, line.subject, line.reason])).toEqual([
      ['operator', 'merchant settings', ARGENTINA, 'agreed with the merchant'],
      ['operator', 'merchant settings', ARGENTINA, 'taken back'],
    ]);
    for (const text of [saved.text, seen.text, JSON.stringify(lines)]) {
      expect(text).not.toContain('the till has this');
      expect(text).not.toContain(tokenOf(ARGENTINA));
    }
    expect(verifyAudit(lines)).toEqual({ intact: true, lines: 2 });
    const [first, second] = lines;
    const forged = [{ ...first, reason: 'nobody asked' }, second] as typeof lines; // two lines were just verified
    expect(verifyAudit(forged)).toMatchObject({ intact: false, sequence: 1 });
  });

  it('lists merchants that were seen', async () => {
    shop = await openShop();
    await shop.create(shop.freshDevice());
    const list = (await shop.ops('/api/merchants')).body as { merchants: { id: string; site: string }[] }; // the API's shape
    expect(list.merchants.map(({ id, site }) => [id, site])).toEqual([[ARGENTINA, 'MLA']]);
  });
});

describe('health and metrics', () => {
  it('count and log an upstream error that no row of its own tells, so that it gets one', async () => {
    const lines: string[] = [];
    shop = await openShop({}, { log: createLog('info', { write: (line) => void lines.push(line) }) });
    await shop.fault({ method: 'GET', path: '/terminals/v1/list', kind: 'error', status: 418, code: 'teapot' });
    const answer = await shop.till(`${POINT}/devices`);
    expect(answer.body).toEqual({ error: '400', message: 'Bad request', status: 400 });
    const { text } = await call(`${shop.app.ops_url}/metrics`);
    expect(text).toMatch(/^puente_default_rows_total\{call="terminals_list"\} 1$/m);
    const told = lines
      .map((line) => JSON.parse(line) as object)
      .filter((line) => 'msg' in line && /default row/.test(String(line.msg)));
    expect(told).toMatchObject([{ operation: 'point.list_devices', status: 418, merchant: ARGENTINA }]);
  });

  it('need no token, count what happened, and name no merchant, unit or token [F102 F135]', async () => {
    shop = await openShop();
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device, { additional_info: { external_reference: 'private-reference-7' } }));
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'error', status: 400, code: 'bad_request' });
    await shop.create(shop.freshDevice());
    const door = supertest(shop.app.ops_url);
    await door.get('/healthz').expect(200, { status: 'ok', version });
    expect((await door.get('/readyz').expect(200)).body).toMatchObject({ status: 'ready' });
    const { text } = await door
      .get('/metrics')
      .expect(200)
      .expect('content-type', /^text\/plain/);
    expect(text).toMatch(/^puente_creates_total\{outcome="created"\} 1$/m);
    expect(text).toMatch(/^puente_creates_total\{outcome="refused"\} 1$/m);
    expect(text).toMatch(/^puente_links\{state="LIVE"\} 1$/m);
    const of_create = 'operation="point.create_intent",lane="orders",outcome="ok",status="201"';
    for (const line of [
      `puente_http_request_duration_seconds_count{method="POST",${of_create}} 1`,
      'puente_upstream_request_duration_seconds_count{method="POST",service="orders",call="create",outcome="answered",status="201"} 1',
      `puente_build_info{version="${version}",node="${process.versions.node}"} 1`,
    ])
      expect(text.split('\n')).toContain(line);
    const [order] = await shop.orders(device);
    for (const secret of [id, device, ARGENTINA, order?.id ?? 'no order', 'private-reference-7', tokenOf(ARGENTINA)]) {
      expect(text).not.toContain(secret);
    }
  });
});
