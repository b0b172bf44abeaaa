/**
 * The canary run of P9: tokens, keys, cards and URLs go through all operations on each lane; all sinks are searched.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { opsRoutes } from '../../src/ops/api/api.ts';
import { csvParts } from '../../src/ops/report/report.ts';
import { createLog } from '../../src/proxy/telemetry/telemetry.ts';
import {
  type Answer,
  ARGENTINA,
  BRAZIL,
  call,
  eventually,
  MEXICO,
  OPS_TOKEN,
  PEOPLE,
  POINT,
  type Receiver,
  startReceiver,
  tokenOf,
} from '../kit.ts';
import {
  codePath,
  openQrShop,
  orderPath,
  preference,
  preferencePath,
  type QrShop,
  storeOrder,
} from '../proxy/http/qr-till.ts';
import { idOf } from '../proxy/http/till.ts';
import { HOUSE, puente } from '../run-cli.ts';
import { encoded, encodings, searchFor } from './canary-search.ts';

const CARD = '5031755734530604';
const GROUPED = '5031 7557 3453 0604';
const CANARIES = {
  'the token of a till on orders': tokenOf(ARGENTINA),
  'the token of a till on legacy': tokenOf(BRAZIL),
  'a token that is refused': 'APP_USR-4004001-112026-c0ffeec0ffeec0ffeec0ffeec0ffee77-700100200',
  'a configured credential': 'APP_USR-4004001-112026-5eedbead5eedbead5eedbead5eedbead-700100200',
  'a card number': CARD,
  'a card number in groups': GROUPED,
  'the path of a notice URL': 'NoticePathCanary71d2f9',
  'the query of a notice URL': 'NoticeQueryCanary82e3a0',
  'the path of a sale’s URL': 'SalePathCanary93f4b1',
  'the query of a sale’s URL': 'SaleQueryCanaryA405c2',
  'a notice secret': 'NoticeSecretCanaryB516d3',
  'the webhook secret': 'WebhookSecretCanaryC627e4',
  'the key of the installation': 'InstallationKeyCanaryD738f5-of-32-characters',
  'the token of an operator': OPS_TOKEN,
  'a wrong token of an operator': 'GuessedOpsTokenCanaryE849a6',
  'a password in an unknown field': 'PasswordCanaryF95ab7',
} as const;
const leaks = searchFor(CANARIES);
const tables = loadTables(join(HOUSE, 'mappings'));

const lines: string[] = [];
const told: [string, string][] = [];
/** Answers to tills, which may contain the tills' own texts. */
const answers: Answer[] = [];
const intents = new Map<string, string>();
let shop: QrShop;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  const log = createLog('trace', { write: (line) => void lines.push(line) });
  const settings = {
    ...PEOPLE,
    PUENTE_ROUTING_DEFAULT_STAGE: 'shadow',
    PUENTE_MERCHANTS_CAPTURE: 'true',
    PUENTE_SECRET_KEY: CANARIES['the key of the installation'],
    PUENTE_WEBHOOK_SECRET: CANARIES['the webhook secret'],
  };
  shop = await openQrShop(settings, { log });
  const { origin } = new URL(receiver.url);
  // The third merchant's token is taken back once it was tried, so no notice of it could be sent.
  const token = (access_token: string) =>
    shop.control(`/merchants/${MEXICO}/token`, { method: 'PUT', body: { access_token } });
  await token(CANARIES['a configured credential']);
  for (const merchant of [ARGENTINA, BRAZIL, MEXICO]) {
    const notice_url = `${origin}/${CANARIES['the path of a notice URL']}?k=${CANARIES['the query of a notice URL']}`;
    const answer = await shop.notify(merchant, {
      notice_url,
      notice_secret: CANARIES['a notice secret'],
      ...(merchant === MEXICO ? { credential: CANARIES['a configured credential'] } : {}),
    });
    told.push(['the change of a merchant', answer.text]);
    expect(answer.status, answer.text).toBe(200);
  }
  await token(tokenOf(MEXICO));
  const { revision } = (await shop.ops(`/api/merchants/${ARGENTINA}`)).body as { revision: number }; // a view has one
  const reason = `agreed with the shop, card ${CARD}, token ${CANARIES['a token that is refused']}`;
  const body = { stage: 'orders', reason, revision, new: true };
  expect((await shop.ops(`/api/merchants/${ARGENTINA}/stage`, { method: 'PUT', body })).status).toBe(200);
  const alert = { alert: `${GROUPED} ${CANARIES['a configured credential']}`, id: 'first', merchants: [MEXICO] };
  const rolled = await shop.ops('/api/rollback-by-alert', { method: 'POST', body: alert });
  expect(rolled.body).toMatchObject({ rolled_back: [MEXICO] });
  for (const merchant of [ARGENTINA, BRAZIL]) {
    await sellAtTerminals(merchant);
    await sellByCodes(merchant);
    await everyOperation(merchant, await ask(merchant));
  }
  await misbehave();
  await lookAround();
}, 180_000);
afterAll(async () => {
  await shop?.close();
  await receiver?.close();
});

async function till(merchant: string, path: string, options: Parameters<QrShop['till']>[1] = {}): Promise<Answer> {
  const answer = await shop.till(path, { merchant, ...options });
  answers.push(answer);
  return answer;
}

/** Fields with the canary where a till may write any text; the sale itself succeeds. */
function words(canary: string): Record<string, unknown> {
  return {
    note: canary,
    [`field ${canary}`]: 1,
    client_secret: CANARIES['a password in an unknown field'],
    inside: JSON.stringify({ password: CANARIES['a password in an unknown field'], note: canary }),
    deep: { token: CANARIES['a token that is refused'], list: [{ pan: canary }] },
  };
}

const HEADERS = {
  'x-idempotency-key': CARD,
  'x-anything': GROUPED,
  cookie: `session=${CANARIES['a password in an unknown field']}`,
  'user-agent': `till/1 ${CARD}`,
};

async function sellAtTerminals(merchant: string): Promise<void> {
  const said = [CARD, `Mesa 4, ${GROUPED}`, CANARIES['a token that is refused'], 'Mesa 5'];
  for (const [index, reference] of said.entries()) {
    const aside = words(reference === 'Mesa 5' ? 'extra cheese' : CARD);
    const device = shop.freshDevice();
    const path = `${POINT}/devices/${device}/payment-intents`;
    const sale = {
      amount: 1500,
      ...(merchant === ARGENTINA ? {} : aside),
      description: `for ${reference}`,
      additional_info: {
        external_reference: reference,
        print_on_terminal: true,
        ticket_number: 'S0392JED',
        ...aside,
      },
    };
    const made = await till(merchant, path, {
      body: sale,
      headers: { ...HEADERS, 'x-idempotency-key': `${CARD}${index}` },
    });
    const id = idOf(made);
    intents.set(merchant, id);
    if (merchant === ARGENTINA) expect(made.text, 'a till gets its own words back').toContain(reference);
    await till(merchant, `${POINT}/payment-intents/${id}?note=${encodeURIComponent(GROUPED)}`);
    await till(merchant, `${POINT}/payment-intents/${id}/events`);
    await till(merchant, `${POINT}/devices/${device}/payment-intents/${id}`);
    if (index === 0 && merchant === ARGENTINA) {
      await shop.atTerminal('pay', { device, merchant });
      await receiver.waitFor(1);
    } else await till(merchant, `${path}/${id}`, { method: 'DELETE', body: words(CARD) });
  }
  await till(merchant, `${POINT}/devices?access_token=${tokenOf(merchant)}`, { token: null });
  await till(merchant, `${POINT}/payment-intents/events?startDate=2026-01-01&endDate=2026-01-02`);
}

async function sellByCodes(merchant: string): Promise<void> {
  const { origin } = new URL(receiver.url);
  const notification_url = `${origin}/${CANARIES['the path of a sale’s URL']}?k=${CANARIES['the query of a sale’s URL']}`;
  for (const external_reference of [CARD, `Caja 2 ${GROUPED}`]) {
    const body = (whole: Record<string, unknown>) => ({
      ...whole,
      external_reference,
      notification_url,
      ...words(GROUPED),
    });
    const where = shop.freshTill().external_id;
    await till(merchant, orderPath(where, merchant), { method: 'PUT', body: body(storeOrder()), headers: HEADERS });
    await till(merchant, orderPath(where, merchant));
    if (merchant === ARGENTINA) await shop.buyer(where, 'pay', merchant);
    await till(merchant, orderPath(where, merchant), { method: 'DELETE' });
    await till(merchant, codePath(shop.freshTill().external_id, merchant), { body: body(storeOrder()) });
    await till(merchant, codePath(shop.freshTill().external_id, merchant), { method: 'PUT', body: body(storeOrder()) });
    const first = shop.freshTill().external_id;
    await till(merchant, preferencePath(first, merchant), { body: body(preference()) });
    await till(merchant, preferencePath(first, merchant));
    await till(merchant, preferencePath(first, merchant), { method: 'DELETE' });
  }
}

/** Searches and payment calls with the canaries. @returns ids of what was sold. */
async function ask(merchant: string): Promise<Record<string, string>> {
  for (const text of [CARD, GROUPED]) {
    const asked = encodeURIComponent(text);
    await till(merchant, `/v1/payments/search?external_reference=${asked}&payer.email=${asked}`);
    await till(merchant, `/merchant_orders/search?external_reference=${asked}`);
    await till(merchant, `/merchant_orders?external_reference=${asked}&access_token=${tokenOf(merchant)}`, {
      token: null,
    });
  }
  const first = (answer: Answer, list: 'results' | 'elements'): number | undefined =>
    (answer.body as Partial<Record<typeof list, { id: number }[]>>)[list]?.[0]?.id; // legacy's search shapes
  const asked = `external_reference=${CARD}`;
  const payment_id = String(first(await till(merchant, `/v1/payments/search?${asked}`), 'results') ?? 99_000_000_001);
  const orders = await till(merchant, `/merchant_orders/search?${asked}`);
  await till(merchant, `/v1/payments/${payment_id}`);
  await till(merchant, `/v1/payments/${payment_id}/refunds`, { body: { amount: 1, ...words(CARD) }, headers: HEADERS });
  await till(merchant, `/v1/payments/${payment_id}/refunds`);
  const intent_id = intents.get(merchant) ?? 'none';
  return { payment_id, intent_id, merchant_order_id: String(first(orders, 'elements') ?? 1) };
}

/** Every operation of the tables again, with the canaries in its body; most are refused, each in its own way. */
async function everyOperation(merchant: string, known: Record<string, string>): Promise<void> {
  const values: Record<string, string> = {
    user_id: merchant,
    device_id: shop.freshDevice(),
    external_pos_id: shop.freshTill().external_id,
    external_store_id: 'SUC001',
    refund_id: '1',
    pos_id: '1001001',
    ...known,
  };
  for (const { method, path } of tables.operations) {
    const filled = path.replace(/:(\w+)/g, (_, name: string) => values[name] ?? '1');
    const body =
      method === 'GET' || method === 'DELETE' ? {} : { body: { ...words(CARD), payment_id: Number(known.payment_id) } };
    await till(merchant, `${filled}?note=${CARD}`, { method, ...body, headers: HEADERS });
  }
}

async function misbehave(): Promise<void> {
  const path = `${POINT}/devices/${shop.freshDevice()}/payment-intents`;
  for (const token of [CANARIES['a token that is refused'], CARD, CANARIES['a wrong token of an operator']])
    await till(ARGENTINA, path, { token, body: { amount: 1500, description: CARD } });
  for (const body of [
    `{"amount":1500,"note":"${CARD}"`,
    `{"a":"${CARD}","a":1}`,
    JSON.stringify({ amount: CARD }),
    `${GROUPED}`,
  ])
    await till(ARGENTINA, path, { body });
  await till(ARGENTINA, `${POINT}/payment-intents/${CARD}`);
  await till(ARGENTINA, `${POINT}/payment-intents/${encodeURIComponent(GROUPED)}`);
  await till(ARGENTINA, `/v1/nothing/${CARD}?card_number=${CARD}`, { body: words(CARD) });
  await till(ARGENTINA, `/%zz?card=${CARD}`);
  await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'error', status: 418, code: 'teapot' });
  await till(ARGENTINA, path, { body: { amount: 1500, additional_info: { external_reference: CARD } } });
  await shop.clearFaults();
  for (const data of [
    { id: CARD },
    { external_reference: CARD },
    { id: 'ORD01JQ4S4KY8HWQ6NA5PXB65B3D3', external_reference: CARD, status: CARD },
  ]) {
    const body = {
      action: `order.${CARD}`,
      type: 'order',
      user_id: 700_100_200,
      data,
      token: CANARIES['a token that is refused'],
    };
    await call(`${shop.app.public_url}/webhooks/orders?secret=${CANARIES['a password in an unknown field']}`, {
      body,
      headers: { 'x-signature': `ts=1,v1=${CANARIES['the webhook secret']}` },
    });
  }
}

/** Every read that the ops door allows, and calls that it refuses. */
async function lookAround(): Promise<void> {
  await eventually(
    async () => lines.join(''),
    (log) => log.includes('notice delivered'),
  );
  const look = async (path: string, options: Parameters<QrShop['ops']>[1] = {}): Promise<void> => {
    told.push([path, (await shop.ops(path, options)).text]);
  };
  const notices = (await shop.ops('/api/notices?limit=500')).body as { notices: { id: string; legacy_id: string }[] };
  for (const merchant of [ARGENTINA, BRAZIL])
    for (const { method, path } of opsRoutes)
      if (method === 'GET') await look(path.replace(/:(id|merchant)/, merchant).replace(':signature', 'none'));
  for (const { id, legacy_id } of notices.notices) {
    await look(`/api/notices/${id}`);
    await look(`/api/trace?id=${legacy_id}`);
  }
  for (const merchant of ['', `&merchant=${ARGENTINA}`, `&merchant=${BRAZIL}`])
    for (const form of ['json', 'html', ...['exchanges', 'sales', ...csvParts].map((part) => `csv&part=${part}`)])
      await look(`/api/report?format=${form}${merchant}`);
  for (const text of [CARD, GROUPED, `Mesa 4, ${GROUPED}`, CANARIES['a token that is refused']])
    await look(`/api/trace?id=${encodeURIComponent(text)}`);
  await look(`/api/exchanges?captured=true&merchant=${ARGENTINA}`);
  for (const token of [CANARIES['a wrong token of an operator'], tokenOf(ARGENTINA)])
    await look('/api/merchants', { token });
  for (const path of ['/metrics', '/healthz', '/readyz', '/nothing'])
    told.push([path, (await call(shop.app.ops_url + path)).text]);
}

describe('no invented secret appears', () => {
  it('in any file of the data directory: database, write-ahead log, shared memory [F133 F134]', () => {
    const files = readdirSync(shop.data_dir, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const names = files.map(({ name }) => name);
    for (const file of ['puente.db', 'puente.db-wal', 'puente.db-shm']) expect(names).toContain(file);
    const bytes = files.map(({ parentPath, name }) => ({ name, bytes: readFileSync(join(parentPath, name)) }));
    expect(
      bytes.some((file) => file.bytes.includes('~covered1:')),
      'what was said is there, covered',
    ).toBe(true);
    for (const file of bytes) expect([file.name, leaks(file.bytes)]).toEqual([file.name, []]);
  });

  it('in the log at level trace [F132 F133 F134]', () => {
    expect(lines.length).toBeGreaterThan(50);
    expect(leaks(lines.join(''))).toEqual([]);
    for (const line of lines) expect(line.indexOf('\n')).toBe(line.length - 1);
  });

  it('in any answer of the ops door: reports, traces, captures, metrics, health and others [F126 F133 F134 F135]', () => {
    const looked = new Set(told.map(([path]) => path.split('?')[0]));
    expect(looked.size).toBeGreaterThan(30);
    const shown = told.map(([, text]) => text).join('');
    expect(shown).toContain('503175XXXXXX0604');
    for (const [path, text] of told) expect([path, leaks(text)]).toEqual([path, []]);
  });

  it('in the answers to tills, except in texts of their own: no token and no key [F136]', () => {
    const refused = answers.filter(({ status }) => status >= 400);
    expect(refused.length).toBeGreaterThan(10);
    const mine = /a card number|a token that is refused|a password|URL/;
    for (const { status, text } of answers) {
      const found = leaks(text).filter((one) => !(mine.test(one) && status < 400));
      expect([text.slice(0, 200), found.filter((one) => !/a card number/.test(one))]).toEqual([text.slice(0, 200), []]);
    }
  });

  it('in the output of the commands [F131 F133 F134 F135]', async () => {
    const env = { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_URL: shop.app.ops_url };
    const wrong = { ...env, PUENTE_OPS_TOKEN: CANARIES['a wrong token of an operator'] };
    const capture = await puente(['capture', 'export', '--captured'], { env });
    const runs = [
      capture,
      await puente(['replay', '-', '--against', 'tables', '--json'], { env, input: capture.out }),
      await puente(['trace', CARD], { env }),
      await puente(['report', ARGENTINA, '--format', 'html'], { env }),
      await puente(['merchants', 'list'], { env: wrong }),
      await puente(['serve', '--help'], { env }),
    ];
    expect(runs.map(({ code }) => code)).toEqual([0, expect.any(Number), 0, 0, 1, 0]);
    expect(capture.out.length).toBeGreaterThan(10_000);
    for (const { out, err } of runs) expect(leaks(out + err)).toEqual([]);
  });

  it('anywhere once it has stopped; and the same search finds what is planted in such a file', async () => {
    await shop.app.close();
    const file = readFileSync(join(shop.data_dir, 'puente.db'));
    expect(leaks(file)).toEqual([]);
    expect(leaks(lines.join(''))).toEqual([]);
    const page = file.subarray(0, 16_384);
    for (const [name, canary] of Object.entries(CANARIES))
      for (const encoding of encodings) {
        const planted = Buffer.from(page);
        encoded(`<${canary}>`, encoding).copy(planted, 4096 + 17);
        expect(leaks(planted)).toContain(`${name} (${encoding})`);
      }
  });
});

it('every operation was called on both lanes', () => {
  const csv = told.find(([path]) => path === '/api/report?format=csv&part=traffic')?.[1] ?? '';
  const called = new Set(
    [...csv.matchAll(/^"([^"]+)","(orders|legacy)"/gm)].map(([, name, lane]) => `${name} ${lane}`),
  );
  const missing = tables.operations.flatMap(({ name }) =>
    ['orders', 'legacy'].map((lane) => `${name} ${lane}`).filter((one) => !called.has(one)),
  );
  expect(missing).toEqual([]);
});
