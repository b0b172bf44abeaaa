/** Only a verified token reads, cancels, creates or teaches (`docs/glossary.md` Merchant). */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { ARGENTINA, BRAZIL, call, DEVICE, eventually, POINT, startReceiver, tokenOf } from '../../kit.ts';
import { idOf, openShop, rowsOf, type Shop } from './till.ts';
import { startOutside } from './unruly.ts';

/** Ends in the victim's id; upstream never issued it. */
const INVENTED = `APP_USR-9999-112026-ffffffffffffffffffffffffffffffff-${ARGENTINA}`;

describe('a token of another merchant', () => {
  let shop: Shop;
  let device: string;
  let id: string;
  beforeAll(async () => {
    shop = await openShop();
    device = shop.freshDevice();
    id = idOf(await shop.create(device, { additional_info: { external_reference: 'private 1' } }));
  });
  afterAll(() => shop.close());

  const calls: [string, string, (device: string, id: string) => string, unknown?][] = [
    ['reads nothing', 'GET', (_device, intent) => `/payment-intents/${intent}`],
    ['reads nothing by the device', 'GET', (unit, intent) => `/devices/${unit}/payment-intents/${intent}`],
    ['reads no last status', 'GET', (_device, intent) => `/payment-intents/${intent}/events`],
    ['cancels nothing', 'DELETE', (unit, intent) => `/devices/${unit}/payment-intents/${intent}`],
    ['cancels nothing without the device', 'DELETE', (_device, intent) => `/payment-intents/${intent}`],
    ['lists no events', 'GET', () => '/payment-intents/events?startDate=2026-01-01&endDate=2026-01-20'],
    ['lists no devices', 'GET', () => '/devices'],
    ['moves no device', 'PATCH', (unit) => `/devices/${unit}`, { operating_mode: 'STANDALONE' }],
    ['creates nothing', 'POST', (unit) => `/devices/${unit}/payment-intents`, { amount: 1500 }],
    ['refunds nothing', 'POST', (unit) => `/devices/${unit}/refund`, { payment_id: '16500000001' }],
  ];

  it.each(calls)("an invented token with the merchant's id %s", async (_name, method, path, body) => {
    const rows = shop.rows(device);
    const answer = await shop.till(POINT + path(device, id), {
      method,
      token: INVENTED,
      ...(body === undefined ? {} : { body }),
    });
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('private 1');
    expect(shop.rows(device)).toEqual(rows);
    expect((await shop.orders(device)).map((order) => order.status)).toEqual(['created']);
  });

  it.each(calls.slice(0, 5))(
    "another merchant's good token %s: the id is as unknown as any [F92]",
    async (_name, method, path) => {
      const theirs = await shop.till(POINT + path(device, id), { method, merchant: BRAZIL });
      const unknown = await shop.till(POINT + path(device, '019539a0-0000-7000-8000-00000000dead'), {
        method,
        merchant: BRAZIL,
      });
      expect([theirs.status, theirs.body]).toEqual([unknown.status, unknown.body]);
      expect(theirs.status).toBe(404);
      expect((await shop.orders(device)).map((order) => order.status)).toEqual(['created']);
    },
  );

  it('the owner still reads and cancels it', async () => {
    expect((await shop.read(id)).body).toMatchObject({
      id,
      state: 'OPEN',
      additional_info: { external_reference: 'private 1' },
    });
    expect((await shop.cancel(device, id)).status).toBe(200);
  });
});

describe('a token that ends', () => {
  let shop: Shop;
  afterEach(() => shop.close());

  it('is asked about again when its acceptance is over, and refused when it was revoked', async () => {
    shop = await openShop({ PUENTE_TOKENS_ACCEPTED_FOR_MS: '1000' });
    const id = idOf(await shop.create(shop.freshDevice()));
    await shop.control(`/merchants/${ARGENTINA}/token`, {
      method: 'PUT',
      body: { access_token: 'APP_USR-new-token-of-the-merchant-1' },
    });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await shop.read(id)).status).toBe(401);
    expect((await shop.read(id, { token: 'APP_USR-new-token-of-the-merchant-1' })).body).toMatchObject({ id });
  });

  it('is good while the upstream can not be asked, for what the upstream judges anyway', async () => {
    shop = await openShop({ PUENTE_TOKENS_ACCEPTED_FOR_MS: '1000' });
    const id = idOf(await shop.create(shop.freshDevice()));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await shop.fault({ path: '/users/me', kind: 'error', status: 503, times: 'always' });
    expect((await shop.read(id)).body).toMatchObject({ id });
    const stranger = await shop.read(id, { token: INVENTED });
    expect(stranger.status).toBe(503);
    expect(stranger.text).not.toContain(id);
  });
});

describe('at rest', () => {
  it('an accepted token survives a restart sealed: an event settles and is announced, and nothing is in clear anywhere', async () => {
    const data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
    const lines: string[] = [];
    const log = createLog('trace', { write: (line) => lines.push(line) });
    const sandbox = await startSandbox({ port: 0, host: '127.0.0.1' });
    const receiver = await startReceiver();
    const secrets = {
      token: tokenOf(ARGENTINA),
      notice: 'notice secret of the merchant',
      credential: tokenOf(BRAZIL),
      webhook: 'a webhook secret of the tests',
    };
    const settings = { PUENTE_DATA_DIR: data_dir, PUENTE_RECONCILE_POINT_INTERVAL_MS: '60000' };
    const first = await startOutside(sandbox.url, settings, { log });
    const change = {
      reason: 'for the test',
      revision: 0,
      new: true,
      notice_url: receiver.url,
      dialect: 'point_integration_wh',
      notice_secret: secrets.notice,
    };
    expect((await first.ops(`/api/merchants/${ARGENTINA}`, { method: 'PUT', body: change })).status).toBe(200);
    const other = { reason: 'for the test', revision: 0, new: true, credential: secrets.credential };
    expect((await first.ops(`/api/merchants/${BRAZIL}`, { method: 'PUT', body: other })).status).toBe(200);
    const id = idOf(await first.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } }));
    await first.till(`${POINT}/payment-intents/${id}?access_token=${secrets.token}`, { token: null });
    expect(files(data_dir, secrets), 'while it runs, with its write-ahead log').toEqual([]);
    await first.close();
    const second = await startOutside(sandbox.url, settings, { log });
    sandbox.world.configure({
      webhook_url: `${second.app.public_url}/webhooks/orders`,
      webhook_secret: secrets.webhook,
    });
    await call(`${sandbox.url}/_sandbox/terminals/${ARGENTINA}/${DEVICE}/pay`, { body: {} });
    const [notice] = await receiver.waitFor(1);
    expect(notice?.body).toMatchObject({ id, state: 'FINISHED' });
    await eventually(
      async () => rowsOf(data_dir, DEVICE)[0],
      (row) => row?.state === 'DONE',
    );
    const metrics = (await second.ops('/metrics')).text;
    await second.close();
    expect(files(data_dir, secrets)).toEqual([]);
    expect(encodings(secrets).filter(({ bytes }) => lines.join('').includes(bytes.toString('latin1')))).toEqual([]);
    expect(encodings(secrets).filter(({ bytes }) => metrics.includes(bytes.toString('latin1')))).toEqual([]);
    expect(lines.length, 'the log was there to be searched').toBeGreaterThan(0);
    await receiver.close();
    await sandbox.close();
    rmSync(data_dir, { recursive: true, force: true });
  });
});

function files(directory: string, secrets: Record<string, string>): string[] {
  const forms = encodings(secrets);
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const bytes = readFileSync(join(entry.parentPath, entry.name));
      return forms.filter((form) => bytes.includes(form.bytes)).map((form) => `${entry.name} has ${form.name}`);
    });
}

function encodings(secrets: Record<string, string>): { name: string; bytes: Buffer }[] {
  return Object.entries(secrets).flatMap(([name, text]) => {
    const raw = Buffer.from(text);
    const base64 = raw.toString('base64').replaceAll('=', '').slice(0, -1);
    return [
      { name: `${name} raw`, bytes: raw },
      { name: `${name} base64`, bytes: Buffer.from(base64) },
      { name: `${name} base64url`, bytes: Buffer.from(raw.toString('base64url').slice(0, -1)) },
      { name: `${name} hex`, bytes: Buffer.from(raw.toString('hex')) },
      { name: `${name} percent`, bytes: Buffer.from(encodeURIComponent(text)) },
      { name: `${name} UTF-16`, bytes: Buffer.from(text, 'utf16le') },
    ];
  });
}
