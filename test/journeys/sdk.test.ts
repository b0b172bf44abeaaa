/** The unchanged official Node SDK 3.6.1, in its own process, takes payments through Puente over TLS. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ARGENTINA,
  type Bench,
  BRAZIL,
  call,
  DEVICE,
  eventually,
  MEXICO,
  SECOND_DEVICE,
  startBench,
  tokenOf,
} from '../kit.ts';
import { closing } from '../open.ts';
import { type Authority, makeAuthority } from './authority.ts';
import { type SdkAnswer, type SdkTill, startSdkTill } from './sdk-process.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let directory: string;
let authority: Authority;
let bench: Bench;
let till: SdkTill;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'puente-sdk-'));
  authority = await makeAuthority(directory);
  bench = await startBench({
    PUENTE_PUBLIC_TLS_CERTIFICATE_FILE: authority.certificate_file,
    PUENTE_PUBLIC_TLS_KEY_FILE: authority.key_file,
  });
  till = startSdkTill(bench.app.public_url, authority.ca_file, tokenOf(ARGENTINA));
});

afterAll(async () => {
  await till?.close();
  await bench?.close();
});

/** Frees the terminals before each test; Puente keeps its data. */
beforeEach(async () => {
  for (const merchant of [ARGENTINA, BRAZIL, MEXICO]) {
    for (const device of [DEVICE, SECOND_DEVICE]) await bench.atTerminal('cancel', { merchant, device });
  }
});

describe('attached to Puente', () => {
  test('the SDK is the published 3.6.1, and calls the vendor by name', () => {
    const require = createRequire(import.meta.url);
    const root = join(require.resolve('mercadopago'), '..', '..');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(version).toBe('3.6.1');
    const lock = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string; integrity: string }>;
    };
    expect(lock.packages['node_modules/mercadopago']).toMatchObject({ version: '3.6.1' });
    const config = readFileSync(join(root, 'dist', 'utils', 'config', 'index.js'), 'utf8');
    expect(config).toContain("AppConfig.BASE_URL = 'https://api.mercadopago.com'");
  });

  test('without the authority the SDK refuses the certificate', async () => {
    await using stranger = closing(startSdkTill(bench.app.public_url, null, tokenOf(ARGENTINA)));
    const refusal = await stranger.refusal('getDevices', { requestOptions: { maxRetries: 0 } });
    expect(refusal).toMatchObject({ name: 'MPConnectionError', error: 'connection_error' });
    expect(refusal.cause).toMatch(
      /UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT_LOCALLY/,
    );
  });
});

describe('the seven calls', () => {
  test('getDevices: all, by page and by filter', async () => {
    const all = await till.call('getDevices');
    expect(all.devices).toContainEqual({
      id: DEVICE,
      pos_id: 1_000_001,
      store_id: '10001',
      external_pos_id: 'SUC001POS001',
      operating_mode: 'PDV',
    });
    expect(all.paging).toEqual({ total: 3, limit: 50, offset: 0 });
    const page = await till.call('getDevices', { request: { options: { limit: 1, offset: 1 } } });
    expect((page.devices as { id: string }[]).map(({ id }) => id)).toEqual([SECOND_DEVICE]);
    const filtered = await till.call('getDevices', { request: { options: { store_id: 10002 } } });
    expect(filtered.paging).toMatchObject({ total: 1 });
  });

  test('changeDeviceOperatingMode: there and back', async () => {
    const change = (operating_mode: string): Promise<SdkAnswer> =>
      till.call('changeDeviceOperatingMode', { device_id: SECOND_DEVICE, request: { operating_mode } });
    expect(await change('STANDALONE')).toMatchObject({ operating_mode: 'STANDALONE', api_response: { status: 200 } });
    expect(await modeOf(SECOND_DEVICE)).toBe('STANDALONE');
    expect(await change('PDV')).toMatchObject({ operating_mode: 'PDV' });
    const refusal = await till.refusal('changeDeviceOperatingMode', {
      device_id: SECOND_DEVICE,
      request: { operating_mode: 'SLEEPING' },
    });
    expect(refusal).toMatchObject({ name: 'MPBadRequestError', status: 400, error: '400' });
  });

  test('createPaymentIntent, searchPaymentIntent, getPaymentIntentStatus, getPaymentIntentList: a paid sale', async () => {
    const sale = await create({
      amount: 1500,
      additional_info: { external_reference: 'Pedido 002', print_on_terminal: true },
    });
    expect(sale.id).toMatch(UUID);
    expect(sale).toMatchObject({
      device_id: DEVICE,
      amount: 1500,
      additional_info: { external_reference: 'Pedido 002', print_on_terminal: true },
      payment_mode: 'card',
      api_response: { status: 201 },
    });
    expect(sale).not.toHaveProperty('state');
    expect(await stateOf(sale)).toBe('OPEN');
    await bench.atTerminal('pick_up');
    await untilState(sale, 'ON_TERMINAL');
    await bench.atTerminal('pay');
    const paid = await untilState(sale, 'FINISHED');
    const payment = paid.payment as { id: number; type: string; installments: number };
    expect(payment).toEqual({ id: expect.any(Number), type: 'credit_card', installments: 1 });
    expect(await paymentStatus(payment.id)).toBe('approved');
    const status = await till.call('getPaymentIntentStatus', { payment_intent_id: sale.id });
    expect(status).toMatchObject({
      status: 'FINISHED',
      created_on: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect(await listed(sale)).toMatchObject({ payment_intent_id: sale.id, status: 'FINISHED' });
    // The sandbox's event reached the public door, whose certificate is private.
    expect(bench.sandbox.world.sent_log.list()).toContainEqual(
      expect.objectContaining({ action: 'order.processed', status: 200 }),
    );
  });

  test('cancelPaymentIntent: while OPEN', async () => {
    const sale = await create({ amount: 1500 });
    expect(await cancel(sale)).toMatchObject({ id: sale.id, api_response: { status: 200 } });
    expect(await stateOf(sale)).toBe('CANCELED');
    expect(await listed(sale)).toMatchObject({ status: 'CANCELED' });
    expect(await refusedCancel(sale)).toMatchObject({ name: 'MPNotFoundError', status: 404, error: '101' });
  });
});

describe('outcomes', () => {
  test('a busy terminal says 2205 and takes the next sale once it is free', async () => {
    const sale = await create({ amount: 1500 });
    const refusal = await till.refusal('createPaymentIntent', { device_id: DEVICE, request: { amount: 1600 } });
    expect(refusal).toMatchObject({
      name: 'MPIdempotencyError',
      status: 409,
      error: '2205',
      message: 'There is already a queued intent for the device',
    });
    await cancel(sale);
    const next = await create({ amount: 1600 });
    expect(next.id).not.toBe(sale.id);
  });

  test("an invented token with a merchant's id is refused", async () => {
    const token = `APP_USR-4004001-112026-0000000000000000000000000000beef-${ARGENTINA}`;
    const refusal = await till.refusal(
      'createPaymentIntent',
      { device_id: DEVICE, request: { amount: 1500 } },
      { client: 'invented', token },
    );
    expect(refusal).toMatchObject({ name: 'MPAuthenticationError', status: 401 });
  });
});

describe('the idempotency key that the SDK keeps and sends again (docs/field-notes.md Point finding 11)', () => {
  const device_id = SECOND_DEVICE;
  const request = { amount: 2500 };

  test('one order while it is open, another once it is final', async () => {
    const client = { client: 'keeps its key' };
    const first = await till.call(
      'createPaymentIntent',
      { device_id, request, requestOptions: { idempotencyKey: 'key-of-the-first-call' } },
      client,
    );
    const again = await till.call('createPaymentIntent', { device_id, request }, client);
    expect(again.id).toBe(first.id);
    await bench.atTerminal('pay', { device: device_id });
    await untilState(first, 'FINISHED');
    const second = await till.call('createPaymentIntent', { device_id, request }, client);
    expect(second.id).not.toBe(first.id);
    expect(await keysOfCreates()).not.toContain('key-of-the-first-call');
    await bench.atTerminal('pay', { device: device_id });
    const paid = [await untilState(first, 'FINISHED'), await untilState(second, 'FINISHED')];
    const numbers = paid.map(({ payment }) => (payment as { id: number }).id);
    expect(new Set(numbers).size).toBe(2);
  });

  test('the kept key on a cancel cancels, and a new sale with it is a new order', async () => {
    const client = { client: 'cancels with its key' };
    const first = await till.call(
      'createPaymentIntent',
      { device_id, request, requestOptions: { idempotencyKey: 'one-key-for-all' } },
      client,
    );
    expect(await till.call('cancelPaymentIntent', { device_id, payment_intent_id: first.id }, client)).toMatchObject({
      id: first.id,
    });
    const second = await till.call('createPaymentIntent', { device_id, request }, client);
    expect(second.id).not.toBe(first.id);
    expect(await till.call('cancelPaymentIntent', { device_id, payment_intent_id: second.id }, client)).toMatchObject({
      id: second.id,
    });
  });
});

function create(request: object): Promise<SdkAnswer> {
  return till.call('createPaymentIntent', { device_id: DEVICE, request });
}

function cancel(sale: SdkAnswer): Promise<SdkAnswer> {
  return till.call('cancelPaymentIntent', { device_id: DEVICE, payment_intent_id: sale.id });
}

function refusedCancel(sale: SdkAnswer): ReturnType<SdkTill['refusal']> {
  return till.refusal('cancelPaymentIntent', { device_id: DEVICE, payment_intent_id: sale.id });
}

async function stateOf(sale: SdkAnswer): Promise<unknown> {
  return (await till.call('searchPaymentIntent', { payment_intent_id: sale.id })).state;
}

function untilState(sale: SdkAnswer, state: string): Promise<SdkAnswer> {
  return eventually(
    () => till.call('searchPaymentIntent', { payment_intent_id: sale.id }),
    (intent) => intent.state === state,
  );
}

/** The sale in the events list, from yesterday to tomorrow because the sandbox's clock may be ahead. */
async function listed(sale: SdkAnswer): Promise<object | undefined> {
  const day = (offset_days: number): string =>
    new Date(Date.now() + offset_days * 86_400_000).toISOString().slice(0, 10);
  const answer = await till.call('getPaymentIntentList', {
    body: { options: { startDate: day(-1), endDate: day(1) } },
  });
  return (answer.events as { payment_intent_id: string }[]).find(
    ({ payment_intent_id }) => payment_intent_id === sale.id,
  );
}

async function modeOf(device: string): Promise<string | undefined> {
  const { devices } = (await till.call('getDevices')) as unknown as {
    devices: { id: string; operating_mode: string }[];
  }; // tested above
  return devices.find(({ id }) => id === device)?.operating_mode;
}

async function paymentStatus(payment_id: number): Promise<unknown> {
  const answer = await call(`${bench.sandbox.url}/v1/payments/${payment_id}`, { token: tokenOf(ARGENTINA) });
  return (answer.body as { status: string }).status;
}

async function keysOfCreates(): Promise<(string | null)[]> {
  const { body } = await bench.control('/state');
  const { requests } = body as { requests: { method: string; path: string; idempotency_key: string | null }[] };
  return requests
    .filter(({ method, path }) => method === 'POST' && path === '/v1/orders')
    .map(({ idempotency_key }) => idempotency_key);
}
