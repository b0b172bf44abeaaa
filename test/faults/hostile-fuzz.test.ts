/** Mutated requests over real sockets to every door: an answer in its shape or a clean close, and the door survives. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, call, DEVICE, OPS_TOKEN, POINT, startBench, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { codePath, orderPath, preference, preferencePath, storeOrder } from '../proxy/http/qr-till.ts';
import { rawRequest } from '../proxy/http/raw.ts';
import { untilClosed } from './hostile-table.ts';

/** Number of requests; nightly runs set `FUZZ_RUNS=100000`. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 2_000);
/** The test closes a connection that is silent for this long. */
const PATIENCE_MS = 150;
const TOGETHER = 20;

const bench = openForAll(() => startBench());
const legacy = openForAll(() => startBench({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }));
beforeAll(() => bench.till(`${POINT}/devices`));

const BEARER = `Authorization: Bearer ${tokenOf(ARGENTINA)}`;
const OPS = [`Authorization: Bearer ${OPS_TOKEN}`, 'Content-Type: application/json'];
const JSON_TYPE = 'Content-Type: application/json';
const ID = '019539a0-0000-7000-8000-00000000dead';
const REASON = '{"reason":"a test","revision":0,"declined":"finished"}';

const TILL: Buffer[] = [
  rawRequest(`POST ${POINT}/devices/${DEVICE}/payment-intents`, [BEARER, JSON_TYPE], '{"amount":1500}'),
  rawRequest(`GET ${POINT}/payment-intents/${ID}?a=1`, [BEARER]),
  rawRequest(`DELETE ${POINT}/devices/${DEVICE}/payment-intents/${ID}`, [BEARER]),
  rawRequest(`PATCH ${POINT}/devices/${DEVICE}`, [BEARER, JSON_TYPE], '{"operating_mode":"PDV"}'),
  rawRequest(`GET ${POINT}/payment-intents/events?startDate=2026-01-01&endDate=2026-01-02`, [BEARER]),
  rawRequest(`PUT ${orderPath('POS1')}`, [BEARER, JSON_TYPE], JSON.stringify(storeOrder())),
  rawRequest(`POST ${codePath('POS1')}`, [BEARER, 'X-Ttl-Store-Preference: 60'], JSON.stringify(storeOrder())),
  rawRequest(`POST ${preferencePath('POS1')}`, [BEARER], JSON.stringify(preference())),
  rawRequest('POST /v1/payments/16500000001/refunds', [BEARER, 'X-Idempotency-Key: k'], '{"amount":1.50}'),
  rawRequest('GET /v1/payments/search?external_reference=x&status=approved&offset=0&limit=5', [BEARER]),
  rawRequest('GET /merchant_orders/5', [BEARER]),
  rawRequest('POST /webhooks/orders?data.id=ORD1', ['x-signature: ts=1,v1=00', JSON_TYPE], '{"data":{"id":"ORD1"}}'),
  rawRequest('POST /anything', [BEARER, 'Transfer-Encoding: chunked'], '3\r\nabc\r\n0\r\n\r\n'),
];
const OPERATOR: Buffer[] = [
  rawRequest('GET /api/merchants', OPS),
  rawRequest(`PUT /api/merchants/${ARGENTINA}`, OPS, REASON),
  rawRequest('GET /api/reports?since=2026-01-01', OPS),
  rawRequest('GET /metrics', []),
].map((bytes) => Buffer.from(bytes.toString('latin1').replace('till.example', 'localhost'), 'latin1'));
const CONTROL: Buffer[] = [
  rawRequest('GET /_sandbox/settings', []),
  rawRequest('PUT /_sandbox/webhooks', [JSON_TYPE], '{"mode":"normal"}'),
  rawRequest(`POST /_sandbox/terminals/${ARGENTINA}/${DEVICE}/pay`, [JSON_TYPE], '{}'),
  rawRequest('POST /v1/orders', [BEARER, JSON_TYPE, 'X-Idempotency-Key: k1'], '{"type":"point"}'),
];

const piece = fc.oneof(
  fc.constantFrom(
    ...[
      '\r\n',
      '\n',
      '\0',
      ' ',
      ':',
      '%00',
      '%2f',
      '..',
      '//',
      '"',
      '{',
      '[',
      '}',
      ',',
      '\\',
      '\\ud800',
      '-',
      '.',
      'e9',
    ],
    ...[
      '\r\nHost: b',
      '\r\nContent-Length: 3',
      '\r\nTransfer-Encoding: chunked',
      '\r\nExpect: 100-continue',
      '?',
      '&a=1&a=2',
    ],
    ...[
      '"__proto__":',
      '9'.repeat(40),
      'é',
      '\r\n\r\n',
      'HTTP/1.0',
      '\r\nConnection: close',
      '\r\nContent-Encoding: gzip',
    ],
  ),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);
const change = fc.record({ at: fc.nat(), cut: fc.nat(12), piece });
function mutated(from: Buffer[]) {
  return fc.tuple(fc.constantFrom(...from), fc.array(change, { maxLength: 4 })).map(([bytes, changes]) =>
    changes.reduce((text, { at, cut, piece: put }) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + cut);
    }, bytes.toString('latin1')),
  );
}

const tell = (url: string, text: string) => untilClosed(url, Buffer.from(text, 'latin1'), PATIENCE_MS);

/** Sends a share of the runs to a door and checks each answer. */
async function storm(url: string, requests: fc.Arbitrary<string>, runs: number, look: (answer: string) => void) {
  const batch = fc.array(requests, { minLength: TOGETHER, maxLength: TOGETHER });
  const all = fc.asyncProperty(batch, async (texts) => {
    for (const answer of await Promise.all(texts.map((text) => tell(url, text)))) look(answer);
    if (Reflect.ownKeys(Object.prototype).length !== PROTOTYPE) throw new Error('every object has changed');
  });
  await fc.assert(all, { numRuns: Math.ceil(runs / TOGETHER), endOnFailure: true });
}
const PROTOTYPE = Reflect.ownKeys(Object.prototype).length;

/** Statuses in order; checks that a refusal's body has the shape of a known API. */
function statusesOf(answer: string): number[] {
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  if (answer !== '' && !answer.startsWith('HTTP/1.1 ')) throw new Error(`no HTTP: ${answer.slice(0, 200)}`);
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
  const is_refusal =
    (statuses[0] ?? 0) >= 400 && /content-type: application\/json/i.test(head) && statuses.length === 1;
  if (is_refusal && !/"message":|"errors":/.test(body)) throw new Error(`no refusal: ${answer.slice(0, 400)}`);
  return statuses;
}

describe('changed requests', () => {
  it('on the public door, to orders: never an error of ours [P13]', async () => {
    await storm(bench.app.public_url, mutated(TILL), RUNS * 0.45, (answer) => {
      if (statusesOf(answer).some((status) => status >= 500)) throw new Error(answer.slice(0, 400));
    });
    expect((await bench.till(`${POINT}/devices`)).status).toBe(200);
  });

  it('on the public door, to legacy: never an error of ours [P13]', async () => {
    await storm(legacy.app.public_url, mutated(TILL), RUNS * 0.25, (answer) => {
      if (statusesOf(answer).some((status) => status >= 500)) throw new Error(answer.slice(0, 400));
    });
    expect((await legacy.till(`${POINT}/devices`)).status).toBe(200);
  });

  it('on the ops door: never an error of ours [P13]', async () => {
    await storm(bench.app.ops_url, mutated(OPERATOR), RUNS * 0.2, (answer) => {
      if (statusesOf(answer).some((status) => status >= 500)) throw new Error(answer.slice(0, 400));
    });
    expect((await bench.ops('/api/merchants')).status).toBe(200);
  });

  it('on the sandbox and its control door: it survives, and is what it was [P13]', async () => {
    await storm(bench.sandbox.url, mutated(CONTROL), RUNS * 0.1, (answer) => {
      if (statusesOf(answer).some((status) => status === 500)) throw new Error(answer.slice(0, 400));
    });
    expect((await call(`${bench.sandbox.url}/_sandbox/state`)).status).toBe(200);
  });
});
