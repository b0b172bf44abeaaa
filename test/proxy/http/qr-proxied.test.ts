/** Stores, tills, account, subscriptions, disputes and outside sales are proxied, with upstream's own answers. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, ARGENTINA, type Bench, BRAZIL, call, startBench, tokenOf } from '../../kit.ts';
import { TELLS_NOBODY } from './payment-sale.ts';
import { orderPath, storeOrder, TILL } from './qr-till.ts';

/** One calls upstream directly, the other Puente with all work on orders. */
let direct: Bench;
let through: Bench;
const benches = (): Bench[] => [direct, through];
beforeAll(async () => {
  const settings = { PUENTE_ROUTING_DEFAULT_STAGE: 'orders' };
  [direct, through] = await Promise.all([startBench(settings), startBench(settings)]);
});
beforeEach(startOver);
afterAll(() => Promise.all(benches().map((bench) => bench.close())));

type Place = 'header' | 'query';
const PLACES = ['header', 'query'] as const;

interface Step {
  /** Method and path; `{id}` is an id of the preparation. */
  ask: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** The owner of the token; null sends no token. */
  merchant?: string | null;
  /** The status that shows that the call took effect. */
  status: number;
}

const STORES = `/users/${ARGENTINA}/stores`;
const MADE_STORE = 60_000_001;
const MADE_TILL = 70_000_001;
const SHOP = { name: 'Downtown', external_id: 'SUC003', location: { street_name: 'Long Street', street_number: '12' } };

const stories: [string, Step[]][] = [
  [
    'stores are made, changed, found, read and removed',
    [
      { ask: `POST ${STORES}`, body: SHOP, status: 200 },
      { ask: `POST ${STORES}`, body: SHOP, status: 400 },
      { ask: `POST ${STORES}`, body: '{"name":', status: 400 },
      { ask: `POST ${STORES}`, body: SHOP, merchant: BRAZIL, status: 403 },
      { ask: `PUT ${STORES}/${MADE_STORE}`, body: { name: 'Uptown' }, status: 200 },
      { ask: `GET ${STORES}/search`, status: 200 },
      { ask: `GET ${STORES}/search?external_id=SUC003`, status: 200 },
      { ask: `GET ${STORES}/search?limit=1&offset=1`, status: 200 },
      { ask: `GET /stores/${MADE_STORE}`, status: 200 },
      { ask: `DELETE ${STORES}/${MADE_STORE}`, status: 204 },
      { ask: `GET /stores/${MADE_STORE}`, status: 404 },
    ],
  ],
  [
    'tills are made, listed, read, changed and removed',
    [
      { ask: 'POST /pos', body: { name: 'Till 9', external_id: 'TILL9', external_store_id: 'SUC001' }, status: 200 },
      { ask: 'POST /pos', body: { name: 'Till 9', external_id: 'TILL9', external_store_id: 'SUC001' }, status: 409 },
      { ask: 'POST /pos', body: { name: 'Till 8', external_store_id: 'nowhere' }, status: 400 },
      { ask: 'GET /pos?external_id=TILL9', status: 200 },
      { ask: 'GET /pos?external_id=nothing', status: 200 },
      { ask: `GET /pos/${MADE_TILL}`, status: 200 },
      { ask: `GET /pos/${MADE_TILL}`, merchant: BRAZIL, status: 404 },
      { ask: `PUT /pos/${MADE_TILL}`, body: { name: 'Till 10', fixed_amount: true }, status: 200 },
      { ask: `DELETE /pos/${MADE_TILL}`, status: 204 },
      { ask: `GET /pos/${MADE_TILL}`, status: 404 },
    ],
  ],
  [
    'whose token it is',
    [
      { ask: 'GET /users/me', status: 200 },
      { ask: 'GET /users/me', merchant: BRAZIL, status: 200 },
    ],
  ],
  [
    'subscription invoices',
    [
      { ask: 'GET /authorized_payments/search', status: 200 },
      { ask: 'GET /authorized_payments/search?limit=1&offset=2', status: 200 },
      { ask: 'GET /authorized_payments/6100000001', status: 200 },
      { ask: 'GET /authorized_payments/1', status: 404 },
    ],
  ],
];

describe('proxied as they are, the token in its header and in the query:', () => {
  it.each(stories)('%s', async (_name, steps) => {
    for (const place of PLACES) {
      await startOver();
      await compare(steps, place);
    }
  });

  it('a disputed payment and its dispute', async () => {
    const sold = await each(soldElsewhere);
    const opened = await each(async (bench, index) => {
      const answer = await bench.control(`/payments/${sold[index]?.payment}/chargeback`, { body: {} });
      return String((answer.body as { id: number }).id); // the control door's form
    });
    const steps = [
      { ask: 'GET /v1/chargebacks/{id}', status: 200 },
      { ask: 'GET /v1/chargebacks/{id}', merchant: BRAZIL, status: 404 },
      { ask: 'GET /v1/chargebacks/1', status: 404 },
    ];
    for (const place of PLACES) await compare(steps, place, opened);
  });

  it('a payment that never saw Puente, its refunds, and one of nobody', async () => {
    for (const place of PLACES) {
      await startOver();
      const sold = await each(soldElsewhere);
      const ids = sold.map(({ payment }) => payment);
      const path = '/v1/payments/{id}';
      const steps = [
        { ask: `GET ${path}`, status: 200 },
        { ask: `GET ${path}/`, status: 200 },
        { ask: `GET ${path}`, merchant: BRAZIL, status: 404 },
        { ask: 'GET /v1/payments/1', status: 404 },
        { ask: `GET ${path}/refunds`, status: 200 },
        { ask: `POST ${path}/refunds`, body: { amount: 1 }, headers: { 'x-idempotency-key': place }, status: 201 },
        {
          ask: `POST ${path}/refunds`,
          body: { amount: 1e6 },
          headers: { 'x-idempotency-key': `${place} 2` },
          status: 400,
        },
        { ask: `GET ${path}/refunds/`, status: 200 },
        { ask: 'PUT /collections/{id}', body: { status: 'refunded' }, status: 200 },
        { ask: `GET ${path}`, status: 200 },
      ];
      await compare(steps, place, ids);
    }
  });

  it('a merchant order that never saw Puente, and one of nobody', async () => {
    const sold = await each(soldElsewhere);
    const ids = sold.map(({ merchant_order }) => merchant_order);
    const steps = [
      { ask: 'GET /merchant_orders/{id}', status: 200 },
      { ask: 'GET /merchant_orders/{id}/', status: 200 },
      { ask: 'GET /merchant_orders/{id}', merchant: BRAZIL, status: 401 },
      { ask: 'GET /merchant_orders/1', status: 404 },
    ];
    for (const place of PLACES) await compare(steps, place, ids);
  });

  it('a code of OAuth becomes a token once, a refresh token another, and both work', async () => {
    const client = { client_id: '4004001', client_secret: 'sandbox-client-secret' };
    const codes = await each(async (bench) => {
      const { oauth } = (await bench.control('/state')).body as {
        oauth: { grants: { merchant_id: string; code: string }[] };
      }; // the control door's form
      return oauth.grants.find(({ merchant_id }) => merchant_id === ARGENTINA)?.code ?? 'no code';
    });
    expect(codes[1]).toBe(codes[0]);
    const grant = { ...client, grant_type: 'authorization_code', code: codes[0] };
    const asked = (body: unknown, status: number): Step => ({ ask: 'POST /oauth/token', body, merchant: null, status });
    const [first] = await compare([asked(grant, 200), asked(grant, 400), asked({ ...grant, client_secret: '1' }, 400)]);
    const refreshed = await each(async (bench, index) => {
      const refresh_token = textOf(first?.[index], 'refresh_token');
      const form = new URLSearchParams({ ...client, grant_type: 'refresh_token', refresh_token }).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      return call(`${doorOf(bench)}/oauth/token`, { body: form, headers });
    });
    expectEqual(refreshed, 'the refresh');
    const who = await each((bench, index) => {
      return call(`${doorOf(bench)}/users/me`, { token: textOf(refreshed[index], 'access_token') });
    });
    expect(who[0]?.body).toMatchObject({ id: Number(ARGENTINA) });
    expectEqual(who, 'who that is');
  });
});

/** Runs every step in both worlds and compares the answers. @param ids the value of `{id}` in each world. */
async function compare(steps: Step[], place: Place = 'header', ids: string[] = []): Promise<Answer[][]> {
  const all: Answer[][] = [];
  const { request_log } = through.sandbox.world;
  const before = request_log.list().length;
  for (const step of steps) {
    const answers = await each((bench, index) => asked(bench, step, place, ids[index] ?? ''));
    expectEqual(answers, `${step.ask}, token in the ${place}`);
    expect(answers[0]?.status, `${step.ask} ${answers[0]?.text}`).toBe(step.status);
    all.push(answers);
  }
  const proxied = request_log.list().slice(before);
  for (const { ask, status } of steps) {
    const [method, path] = ask.replace('{id}', ids[1] ?? '').split(/[ ?]/);
    expect(proxied, 'the service itself was asked').toContainEqual(expect.objectContaining({ method, path, status }));
  }
  return all;
}

function asked(bench: Bench, { ask, body, headers = {}, merchant = ARGENTINA }: Step, place: Place, id: string) {
  const [method, path] = ask.replace('{id}', id).split(' ') as [string, string]; // every row is written so
  const token = merchant === null ? null : tokenOf(merchant);
  const query = token === null || place === 'header' ? '' : `${path.includes('?') ? '&' : '?'}access_token=${token}`;
  const options = { method, headers, token: place === 'header' ? token : null };
  return call(doorOf(bench) + path + query, body === undefined ? options : { ...options, body });
}

function doorOf(bench: Bench): string {
  return bench === direct ? bench.sandbox.url : bench.app.public_url;
}

async function each<T>(run: (bench: Bench, index: number) => Promise<T>): Promise<T[]> {
  return [await run(direct, 0), await run(through, 1)];
}

function textOf(answer: Answer | undefined, name: string): string {
  const value = (answer?.body as Record<string, unknown> | undefined)?.[name];
  if (typeof value !== 'string') throw new Error(`no ${name} in ${answer?.text}`);
  return value;
}

/** Compares status, text and all but the connection's headers; random and clock values are replaced by their order. */
function expectEqual(answers: Answer[], what: string): void {
  const [one, other] = answers.map(({ status, headers, text }) => {
    const { date: _date, connection: _connection, 'keep-alive': _kept, ...kept } = headers;
    return { status, headers: kept, text: named(text) };
  });
  expect(other, what).toEqual(one);
}

/** UUIDs of tills, tokens, and times, which differ by some milliseconds after a reset. */
const DRAWN =
  /\d{4}-\d\d-\d\dT[\d:.]+(?:[+-]\d\d:\d\d|Z)|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{24}/g;

function named(text: string): string {
  const seen: string[] = [];
  return text.replace(DRAWN, (drawn) => {
    if (!seen.includes(drawn)) seen.push(drawn);
    return `<drawn ${seen.indexOf(drawn) + 1}>`;
  });
}

/** A paid sale on the legacy API itself. */
async function soldElsewhere(bench: Bench): Promise<{ payment: string; merchant_order: string }> {
  const token = tokenOf(ARGENTINA);
  const body = storeOrder({ ...TELLS_NOBODY, external_reference: 'Elsewhere 1' });
  const put = await call(bench.sandbox.url + orderPath(TILL), { method: 'PUT', token, body });
  expect(put.status, put.text).toBe(204);
  const paid = await bench.control(`/pos/${ARGENTINA}/${TILL}/pay`, { body: {} });
  expect(paid.status, paid.text).toBe(200);
  const { body: found } = await call(`${bench.sandbox.url}/v1/payments/search?sort=id&criteria=desc`, { token });
  const { results } = found as { results: { id: number; order: { id: string } }[] }; // upstream's form
  return { payment: String(results[0]?.id), merchant_order: results[0]?.order.id ?? '' };
}

/** Resets both worlds and stops their clocks, so that no answer depends on the time of its call. */
async function startOver(): Promise<void> {
  const now = new Date(Date.now() + 3_600_000).toISOString();
  for (const bench of benches()) {
    await bench.control('/reset', { method: 'POST' });
    const stopped = await bench.control('/clock', { body: { mode: 'manual', now } });
    expect(stopped.body).toEqual({ now, mode: 'manual' });
  }
}
