/** Floods at the real door: excess refused before any row, a flood costs only its merchant, payments are shed last. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, ARGENTINA, BRAZIL, call, eventually, POINT, tokenOf } from '../kit.ts';
import { closing } from '../open.ts';
import { legacyErrorOf } from '../proxy/http/till.ts';
import {
  answerJson,
  answerWho,
  type Outside,
  orderFor,
  startOutside,
  startUnruly,
  type Unruly,
} from '../proxy/http/unruly.ts';

let upstream: Unruly;
let puente: Outside;
/** Upstream answers creates and reads of `/v1/slow` when it resolves. */
let gate = Promise.withResolvers<void>();

afterEach(async () => {
  gate.resolve();
  await puente.close();
  await upstream.close();
});

/** An upstream that delays creates, and Puente with few places; it knows both merchants. */
async function open(limits: Record<string, string>): Promise<void> {
  gate = Promise.withResolvers<void>();
  upstream = await startUnruly((seen, response) => {
    const merchant = seen.headers.authorization?.endsWith(BRAZIL) ? BRAZIL : ARGENTINA;
    if (seen.path === '/users/me') {
      if (!seen.headers.authorization?.includes('APP_USR-4004001'))
        return void gate.promise.then(() => answerJson(response, 401, {}));
      return answerWho(response, merchant);
    }
    gate.promise.then(() => {
      if (seen.path === '/v1/orders') answerJson(response, 201, orderFor(seen, { id: orderId(), user_id: merchant }));
      else answerJson(response, 200, { id: 'x' });
    });
  });
  puente = await startOutside(upstream.url, { PUENTE_CREATE_ATTEMPTS: '1', ...limits });
  const { promise } = gate;
  gate.resolve();
  await promise;
  for (const merchant of [ARGENTINA, BRAZIL]) expect((await create(merchant)).status).toBe(201);
  gate = Promise.withResolvers<void>();
}

let devices = 0;
let made = 0;

function orderId(): string {
  return `ORD01K7Q2V5B8N4T6W9XJ${String(++made).padStart(8, '0')}`;
}

function create(merchant: string, headers: Record<string, string> = {}): Promise<Answer> {
  const path = `${POINT}/devices/PAX_A910__FLOOD${++devices}/payment-intents`;
  return puente.till(path, { body: { amount: 1500 }, merchant, headers });
}

function count(table: string): number {
  using database = closing(new Database(join(puente.data_dir, 'puente.db'), { readonly: true }));
  return database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
}

async function underWay(number: number): Promise<void> {
  await eventually(
    async () => (await puente.ops('/metrics')).text,
    (text) => new RegExp(`^puente_calls_under_way ${number}$`, 'm').test(text),
  );
}

/** Resolves when this many sales are stored. */
async function linked(number: number): Promise<void> {
  await eventually(
    async () => count('links'),
    (now) => now === number,
  );
}

/** Resolves when this many of the calls are answered, while the others wait for upstream. */
async function told(calls: Promise<Answer>[], number: number): Promise<void> {
  let answered = 0;
  for (const one of calls) void one.then(() => answered++);
  await eventually(
    async () => answered,
    (now) => now === number,
  );
}

function expectShed(answer: Answer): void {
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
  legacyErrorOf(answer);
}

describe('one merchant floods', () => {
  it('beyond its share its calls get 503, without a row or an upstream call; others are served [F98 F99 F100]', async () => {
    await open({ PUENTE_LIMITS_CALLS: '40', PUENTE_LIMITS_MERCHANT_CALLS: '5' });
    const [links, asked] = [count('links'), upstream.seen.length];
    // `X-Forwarded-For` makes no difference.
    const flood = Array.from({ length: 40 }, (_, nth) => create(ARGENTINA, { 'x-forwarded-for': `203.0.113.${nth}` }));
    await told(flood, 35);
    await underWay(5);
    const others = create(BRAZIL, { 'x-forwarded-for': '203.0.113.1' });
    await underWay(6);
    await linked(links + 6);
    gate.resolve();
    const answers = await Promise.all(flood);
    expect((await others).status).toBe(201);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectShed(answer);
    expect(count('links') - links).toBe(6);
    expect(upstream.seen.slice(asked).filter(({ method }) => method === 'POST')).toHaveLength(6);
  });

  it('its calls that hang on legacy leave connections to legacy for others [F99]', async () => {
    await open({});
    const flood = Array.from({ length: 280 }, () => puente.till('/v1/slow'));
    await underWay(280);
    const other = puente.till('/v1/quick', { merchant: BRAZIL });
    await eventually(
      async () => upstream.seen.some(({ path }) => path === '/v1/quick'),
      (came) => came,
    );
    gate.resolve();
    expect((await other).status).toBe(200);
    expect((await Promise.all(flood)).map(({ status }) => status)).toEqual(flood.map(() => 200));
  });

  it('invented tokens share one limit, whatever merchants they name [F99 F102]', async () => {
    await open({ PUENTE_LIMITS_CALLS: '40', PUENTE_LIMITS_UNKNOWN_CALLS: '4' });
    const invented = (nth: number): string => `APP_USR-4004001-112026-${String(nth).padStart(32, '0')}-${ARGENTINA}`;
    const flood = Array.from({ length: 30 }, (_, nth) =>
      call(`${puente.app.public_url}/v1/slow`, { token: invented(nth) }),
    );
    await told(flood, 27);
    await underWay(3); // a quarter is reserved
    const till = create(ARGENTINA);
    await underWay(4);
    gate.resolve();
    expect((await till).status).toBe(201);
    const answers = await Promise.all(flood);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    for (const answer of answers.filter(({ status }) => status !== 200)) expectShed(answer);
  });

  it('invented tokens do not shut out merchants that were known before a restart [F99]', async () => {
    const data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
    const settings = { PUENTE_DATA_DIR: data_dir, PUENTE_LIMITS_UNKNOWN_CALLS: '4' };
    await open(settings);
    await puente.close();
    puente = await startOutside(upstream.url, { PUENTE_CREATE_ATTEMPTS: '1', ...settings });
    const invented = (nth: number): Promise<Answer> =>
      call(`${puente.app.public_url}${POINT}/devices/PAX_A910__FLOOD0/payment-intents`, {
        token: `APP_USR-9-9-${String(nth).padStart(32, '0')}-${BRAZIL}`,
        body: { amount: 1500 },
      });
    const flood = Array.from({ length: 4 }, (_, nth) => invented(nth));
    await underWay(4);
    expectShed(await invented(5));
    const till = create(ARGENTINA);
    await underWay(5);
    gate.resolve();
    expect((await till).status).toBe(201);
    expect((await Promise.all(flood)).map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    rmSync(data_dir, { recursive: true, force: true });
  });
});

describe('after a start, while there is too much to do', () => {
  it('payments with tokens that were not verified yet use up no merchant’s rate [F50 F99]', async () => {
    await open({ PUENTE_LIMITS_CALLS: '40', PUENTE_LIMITS_MERCHANT_PER_SECOND: '1' });
    const tokens = Array.from({ length: 10 }, (_, nth) => `APP_USR-9-9-${String(nth).padStart(32, '0')}-${BRAZIL}`);
    const first = Array.from({ length: 30 }, () => create(ARGENTINA));
    await underWay(30);
    const tills = tokens.map((token) =>
      call(`${puente.app.public_url}${POINT}/devices/PAX_A910__FLOOD0/payment-intents`, {
        token,
        body: { amount: 1500 },
      }),
    );
    await underWay(40);
    gate.resolve();
    const told = await Promise.all(tills);
    expect(
      told.map(({ status }) => status),
      'asked about, and not theirs',
    ).toEqual(tokens.map(() => 401));
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual(first.map(() => 201));
  });
});

describe('too much from everybody', () => {
  it('reads are shed first; payments, and calls that may be payments, only when the limit is reached [F98]', async () => {
    await open({ PUENTE_LIMITS_CALLS: '8', PUENTE_LIMITS_MERCHANT_CALLS: '8' });
    const links = count('links');
    const paying = Array.from({ length: 6 }, (_, nth) => create(nth % 2 === 0 ? ARGENTINA : BRAZIL));
    await underWay(6);
    expect((await call(`${puente.app.ops_url}/readyz`)).body).toMatchObject({ status: 'ready', shedding: 'reads' });
    for (const path of [`${POINT}/devices`, '/v1/payments/search', '/merchant_orders/5', '/v1/slow']) {
      const answer = await puente.till(path);
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    }
    const event = await call(`${puente.app.public_url}/webhooks/orders`, { body: { data: { id: 'ORD01' } } });
    expect(event.status, 'upstream sends it again').toBe(503);
    const ended = await call(`${puente.app.public_url}/webhooks/orders/`, { body: { data: { id: 'ORD01' } } });
    expect(ended.status, 'however its path ends').toBe(503);
    paying.push(create(ARGENTINA), puente.till('/v1/payments', { body: { note: 'a call that no table knows' } }));
    await underWay(8);
    await linked(links + 7);
    expectShed(await create(ARGENTINA));
    expect((await call(`${puente.app.ops_url}/readyz`)).body).toMatchObject({ shedding: 'payments' });
    gate.resolve();
    // The last call is proxied.
    expect((await Promise.all(paying)).map(({ status }) => status)).toEqual([...Array(7).fill(201), 200]);
    await underWay(0);
    expect((await puente.till('/v1/slow')).status, 'and all is well again').toBe(200);
    const { text } = await puente.ops('/metrics');
    for (const kind of ['read', 'payment', 'event'])
      expect(text).toContain(`puente_shed_total{class="${kind}",reason="load"}`);
    expect(count('events'), 'of what was shed nothing was kept').toBe(0);
  });

  it('a till that disconnects holds its place until its sale is made, so that disconnecting frees no room [F89 F98]', async () => {
    await open({ PUENTE_LIMITS_CALLS: '4', PUENTE_LIMITS_MERCHANT_CALLS: '4' });
    const leaving = Array.from({ length: 4 }, () => {
      const gone = new AbortController();
      const path = `${POINT}/devices/PAX_A910__FLOOD${++devices}/payment-intents`;
      const headers = { authorization: `Bearer ${tokenOf(ARGENTINA)}`, 'content-type': 'application/json' };
      const sent = { method: 'POST', headers, body: '{"amount":1500}', signal: gone.signal };
      return { gone, answer: fetch(puente.app.public_url + path, sent) };
    });
    const links = count('links');
    await underWay(4);
    await linked(links + 4);
    for (const { gone } of leaving) gone.abort();
    await Promise.allSettled(leaving.map(({ answer }) => answer));
    expectShed(await create(BRAZIL));
    gate.resolve();
    await underWay(0);
    expect((await create(BRAZIL)).status).toBe(201);
  });

  it('while the event loop is late, reads are shed and payments are not [F50]', async () => {
    await open({ PUENTE_LIMITS_LAG_MS: '50' });
    gate.resolve();
    const [read, paid] = await eventually(
      async () => {
        const both = Promise.all([puente.till(`${POINT}/devices`), create(ARGENTINA)]);
        await new Promise((resolve) => setImmediate(resolve)); // both calls are sent
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
        return both;
      },
      ([first]) => first.status === 503,
    );
    expectShed(read);
    expect(paid.status).toBe(201);
  });
});

describe('reads that hang upstream', () => {
  it('a create whose token has to be verified goes before them, however many they are [F99]', async () => {
    await open({
      PUENTE_UPSTREAM_POOL_CONNECTIONS: '4',
      PUENTE_TOKENS_ACCEPTED_FOR_MS: '1000',
      PUENTE_READS_TIMEOUT_MS: '9000',
    });
    // By now no token counts as accepted.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const looks = Array.from({ length: 8 }, () => puente.till(`${POINT}/devices`, { merchant: BRAZIL }));
    const asked = (method: string): number =>
      upstream.seen.filter((one) => one.method === method && one.path !== '/users/me').length;
    const made_before = asked('POST');
    await eventually(
      async () => asked('GET'),
      (number) => number === 3,
    );
    const till = create(ARGENTINA);
    await eventually(
      async () => asked('POST') - made_before,
      (number) => number === 1,
    );
    expect(asked('GET')).toBe(3);
    gate.resolve();
    expect((await till).status).toBe(201);
    await Promise.all(looks);
  });
});

it('thousands of units, tokens and paths make no new names in the metrics [F102]', async () => {
  await open({});
  gate.resolve();
  const names = async (): Promise<string[]> =>
    (await puente.ops('/metrics')).text
      .split('\n')
      .filter((line) => line.startsWith('puente_'))
      .map((line) => line.replace(/ [^ ]*$/, ''))
      .sort();
  const once = async (nth: number): Promise<unknown> =>
    Promise.all([
      call(`${puente.app.public_url}${POINT}/devices/UNIT_${nth}`, {
        token: `APP_USR-1-1-${nth}-${700_000_000 + nth}`,
      }),
      call(`${puente.app.public_url}/path-${nth}/deeper-${nth}?name-${nth}=1`, {
        method: 'PUT',
        token: tokenOf(ARGENTINA),
      }),
      puente.till(`${POINT}/payment-intents/${nth}`),
    ]);
  await once(0);
  const before = await names();
  for (let nth = 1; nth < 160; nth += 20) await Promise.all(Array.from({ length: 20 }, (_, more) => once(nth + more)));
  const after = await names();
  // Background polls of an order and statuses seen for the first time add a few names.
  expect(after.length - before.length).toBeLessThan(100);
  expect(after.join()).not.toMatch(/UNIT_|path-|name-|7000000/);
});
