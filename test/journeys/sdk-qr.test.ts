/** The unchanged official Node SDK 3.6.1, in its own process, reads and refunds QR sales that Puente made as orders. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ARGENTINA, type Bench, eventually, startBench, tokenOf } from '../kit.ts';
import { makeAuthority } from './authority.ts';
import { type SdkAnswer, type SdkTill, startSdkTill } from './sdk-process.ts';
import type { QrCall } from './sdk-qr-till.ts';
import { OTHER_HOST, VENDOR_HOST } from './vendor-host.ts';

const POS = 'SUC001POS001';
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:Z|[+-]\d\d:\d\d)$/;

let directory: string;
let ca: Buffer;
let bench: Bench;
let sdk: SdkTill<QrCall>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'puente-sdk-qr-'));
  const authority = await makeAuthority(directory);
  ca = readFileSync(authority.ca_file);
  bench = await startBench({
    PUENTE_PUBLIC_TLS_CERTIFICATE_FILE: authority.certificate_file,
    PUENTE_PUBLIC_TLS_KEY_FILE: authority.key_file,
    // A read right after a change must show it; the age of searches has its own test.
    PUENTE_READS_SEARCH_FRESH_MS: '0',
    PUENTE_READS_FRESH_MS: '0',
  });
  sdk = startSdkTill<QrCall>(bench.app.public_url, authority.ca_file, tokenOf(ARGENTINA), 'sdk-qr-till.ts');
});

afterAll(async () => {
  await sdk?.close();
  await bench?.close();
});

interface Told {
  status: number;
  text: string;
  body: unknown;
}

/** A plain client that resolves the vendor's host name to Puente and trusts only the test's authority. */
function vendor(host: string, method: string, path: string, body?: unknown, merchant = ARGENTINA): Promise<Told> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const { port } = new URL(bench.app.public_url);
  const options: RequestOptions = {
    host,
    port,
    path,
    method,
    ca,
    agent: false,
    lookup: (_name, { all }, found) =>
      all ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4),
    headers: {
      host,
      authorization: `Bearer ${tokenOf(merchant)}`,
      'content-length': Buffer.byteLength(text),
      ...(text === '' ? {} : { 'content-type': 'application/json' }),
    },
  };
  return new Promise((resolve, reject) => {
    const call = request(options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const whole = Buffer.concat(chunks).toString('utf8');
        resolve({ status: answer.statusCode ?? 0, text: whole, body: whole === '' ? null : JSON.parse(whole) });
      });
    });
    call.on('error', reject);
    call.end(text);
  });
}

async function sellV2(external_reference: string): Promise<void> {
  const item = { sku_number: 'A1', category: 'food', title: 'Café', unit_price: 120.5, quantity: 2 };
  const body = {
    external_reference,
    title: 'Dos cafés',
    total_amount: 241,
    items: [{ ...item, unit_measure: 'unit', total_amount: 241 }],
  };
  const path = `/instore/qr/seller/collectors/${ARGENTINA}/stores/SUC001/pos/${POS}/orders`;
  expect(await vendor(VENDOR_HOST, 'PUT', path, body)).toEqual({ status: 204, text: '', body: null });
}

async function buyerPays(merchant = ARGENTINA): Promise<void> {
  const paid = await bench.control(`/pos/${merchant}/${POS}/pay`, { method: 'POST', body: {} });
  expect(paid.status, paid.text).toBeLessThan(300);
}

interface Found {
  results: { id: number }[];
}

/** The id of the sale's payment, once a search finds it. */
async function paidBy(external_reference: string, options: { client?: string; token?: string } = {}): Promise<number> {
  const query = { options: { external_reference, sort: 'date_created', criteria: 'desc' } };
  const found = await eventually(
    async () => (await sdk.call('Payment.search', query, options)) as unknown as Found,
    ({ results }) => results.length > 0,
  );
  expect(found.results).toHaveLength(1);
  return found.results[0]?.id ?? 0;
}

async function sellAndPay(external_reference: string): Promise<number> {
  await sellV2(external_reference);
  await buyerPays();
  return paidBy(external_reference);
}

describe('MerchantOrder and Payment', () => {
  test('search and get: a sale of v2 before and after it is paid', async () => {
    const reference = 'Factura 0001-0007 ñ 🧾';
    await sellV2(reference);
    const before = (await sdk.call('MerchantOrder.search', {
      options: { external_reference: reference },
    })) as unknown as { total: number; elements: Record<string, unknown>[]; api_response: { status: number } };
    expect(before).toMatchObject({ total: 1, api_response: { status: 200 } });
    expect(before.elements[0]).toMatchObject({
      id: expect.any(Number),
      external_reference: reference,
      status: 'opened',
      order_status: 'payment_required',
      total_amount: 241,
      paid_amount: 0,
      payments: [],
    });
    await buyerPays();
    const payment_id = await paidBy(reference);
    expect(Number.isSafeInteger(payment_id)).toBe(true);
    const merchantOrderId = Number(before.elements[0]?.id);
    const closed = await eventually(
      () => sdk.call('MerchantOrder.get', { merchantOrderId }),
      ({ status }) => status === 'closed',
    );
    expect(closed).toMatchObject({
      id: merchantOrderId,
      external_reference: reference,
      order_status: 'paid',
      paid_amount: 241,
      collector: { id: Number(ARGENTINA) },
      items: [{ title: 'Café', unit_price: 120.5, quantity: 2 }],
      payments: [{ id: payment_id, status: 'approved', transaction_amount: 241 }],
      api_response: { status: 200 },
    });
    const payment = await sdk.call('Payment.get', { id: payment_id });
    expect(payment).toMatchObject({
      id: payment_id,
      status: 'approved',
      status_detail: 'accredited',
      transaction_amount: 241,
      currency_id: 'ARS',
      external_reference: reference,
      order: { id: String(merchantOrderId), type: 'mercadopago' },
      date_approved: expect.stringMatching(DATE),
      api_response: { status: 200 },
    });
    expect((await sdk.call('Payment.get', { id: String(payment_id) })).id).toBe(payment_id);
    const orders = [...bench.sandbox.world.orders.values()];
    expect(orders).toMatchObject([{ status: 'processed', place: { type: 'qr' } }]);
  });

  test('search: nothing found is null for merchant orders and an empty list for payments', async () => {
    const options = { external_reference: 'nobody sold this' };
    expect(await sdk.call('MerchantOrder.search', { options })).toMatchObject({ elements: null, total: 0 });
    expect(await sdk.call('Payment.search', { options })).toMatchObject({ results: [], paging: { total: 0 } });
  });
});

describe('PaymentRefund', () => {
  test('create, total, get and list: in parts, then the rest', async () => {
    const payment_id = await sellAndPay('refunded in parts');
    const part = await sdk.call('PaymentRefund.create', { payment_id, body: { amount: 40.5 } });
    expect(part).toMatchObject({
      id: expect.any(Number),
      payment_id,
      amount: 40.5,
      status: 'approved',
      api_response: { status: 201 },
    });
    expect(await sdk.call('Payment.get', { id: payment_id })).toMatchObject({
      status: 'approved',
      status_detail: 'partially_refunded',
      transaction_amount_refunded: 40.5,
    });
    const rest = await sdk.call('PaymentRefund.total', { payment_id });
    expect(rest).toMatchObject({ payment_id, amount: 200.5 });
    expect(rest.id).not.toBe(part.id);
    const list = await listOf(payment_id);
    expect(list.map(({ id, amount }) => [id, amount]).sort()).toEqual(
      [
        [part.id, 40.5],
        [rest.id, 200.5],
      ].sort(),
    );
    expect(await sdk.call('PaymentRefund.get', { payment_id, refund_id: part.id })).toMatchObject({
      id: part.id,
      payment_id,
      amount: 40.5,
    });
    await eventually(
      () => sdk.call('Payment.get', { id: payment_id }),
      ({ status }) => status === 'refunded',
    );
  });

  test('total: whole in one call, and a second one is refused', async () => {
    const payment_id = await sellAndPay('refunded whole');
    expect(await sdk.call('PaymentRefund.total', { payment_id })).toMatchObject({ payment_id, amount: 241 });
    const refusal = await sdk.refusal('PaymentRefund.total', { payment_id });
    expect(refusal).toMatchObject({ status: expect.any(Number), causes: [{ code: expect.any(Number) }] });
    expect(refusal.name).toMatch(/^MP(?:BadRequest|NotFound)Error$/);
    expect(await listOf(payment_id)).toHaveLength(1);
  });

  test('create: the same key again is the same refund', async () => {
    const payment_id = await sellAndPay('refunded with one key');
    const call = { payment_id, body: { amount: 100 }, requestOptions: { idempotencyKey: 'one-refund' } };
    const client = { client: 'keeps its key' };
    const first = await sdk.call('PaymentRefund.create', call, client);
    const again = await sdk.call('PaymentRefund.create', call, client);
    expect(again.id).toBe(first.id);
    expect(await listOf(payment_id)).toHaveLength(1);
  });

  async function listOf(payment_id: number): Promise<{ id: number; amount: number }[]> {
    return (await sdk.call('PaymentRefund.list', { payment_id })) as unknown as { id: number; amount: number }[]; // a bare list
  }
});

describe('Invoice', () => {
  test('search and get are proxied to legacy', async () => {
    const found = (await sdk.call('Invoice.search', { options: { limit: 2 } })) as unknown as {
      paging: { total: number; limit: number };
      results: { id: number; preapproval_id: string }[];
      api_response: { status: number };
    };
    expect(found.paging).toMatchObject({ limit: 2 });
    expect(found.results).toHaveLength(2);
    expect(found.api_response.status).toBe(200);
    const [first] = found.results;
    expect(first?.id).toEqual(expect.any(Number));
    const invoice: SdkAnswer = await sdk.call('Invoice.get', { id: String(first?.id) });
    expect(invoice).toMatchObject({ ...first, api_response: { status: 200 } });
  });
});

describe('errors are of the types that the SDK makes of them', () => {
  const NOBODYS = 999_000_000_001;

  test.each<[QrCall, object]>([
    ['Payment.get', { id: NOBODYS }],
    ['PaymentRefund.create', { payment_id: NOBODYS, body: { amount: 1 } }],
    ['PaymentRefund.total', { payment_id: NOBODYS }],
    ['PaymentRefund.list', { payment_id: NOBODYS }],
    ['MerchantOrder.get', { merchantOrderId: NOBODYS }],
    ['Invoice.get', { id: String(NOBODYS) }],
  ])('%s of what nobody has', async (call, argument) => {
    expect(await sdk.refusal(call, argument)).toMatchObject({ name: 'MPNotFoundError', status: 404 });
  });

  test('a payment and a refund that are not there have their numbers', async () => {
    expect(await sdk.refusal('Payment.get', { id: NOBODYS })).toMatchObject({ causes: [{ code: 2000 }] });
    const payment_id = await sellAndPay('has no such refund');
    expect(await sdk.refusal('PaymentRefund.get', { payment_id, refund_id: NOBODYS })).toMatchObject({
      name: 'MPNotFoundError',
      status: 404,
    });
  });

  test('an invented token', async () => {
    const token = tokenOf(ARGENTINA).replace('a01-', 'bad-');
    for (const call of ['Payment.get', 'PaymentRefund.total', 'MerchantOrder.search'] as const) {
      const argument = { id: 1, payment_id: 1, options: { external_reference: 'x' } };
      expect(await sdk.refusal(call, argument, { client: 'invented', token })).toMatchObject({
        name: 'MPAuthenticationError',
        status: 401,
      });
    }
  });
});

describe('both host names', () => {
  test('answer the same, each under its own name in one certificate', async () => {
    const payment_id = await sellAndPay('read under both names');
    const { order } = (await sdk.call('Payment.get', { id: payment_id })) as unknown as { order: { id: number } };
    const path = `/merchant_orders/${order.id}`;
    const [one, other] = [await vendor(VENDOR_HOST, 'GET', path), await vendor(OTHER_HOST, 'GET', path)];
    expect(other.status).toBe(200);
    expect(other.body).toMatchObject({
      id: Number(order.id),
      external_reference: 'read under both names',
      status: 'closed',
    });
    expect(other).toEqual(one);
    expect((await vendor(OTHER_HOST, 'GET', `/v1/payments/${payment_id}`)).body).toMatchObject({ id: payment_id });
  });

  test('no other name is in the certificate', async () => {
    await expect(vendor('api.mercadopago.example', 'GET', '/users/me')).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });
});
