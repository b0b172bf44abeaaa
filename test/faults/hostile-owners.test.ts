/** Ownership: no other merchant's token reads or changes a sale by guessing ids; a repeated create is the same sale. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { ARGENTINA, BRAZIL, call, DEVICE, MEXICO, POINT, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { codePath, openQrShop, orderPath, storeOrder } from '../proxy/http/qr-till.ts';
import { idOf, openShop, rowsOf } from '../proxy/http/till.ts';
import { startOutside } from '../proxy/http/unruly.ts';

/** Pairs of token and id; nightly runs set `FUZZ_OWNERS=50000`. */
const PAIRS = Number(process.env.FUZZ_OWNERS ?? 400);
const MERCHANTS = [ARGENTINA, BRAZIL, MEXICO];
const SECRET = 'only-the-owner-knows-';
/** Puente also polls an open order in the background. */
const LOOK = /^GET \/v1\/orders\/ORD/;

const shop = openForAll(() => openShop());
const qr = openForAll(() => openQrShop());
const sales: { merchant: string; id: string; device: string }[] = [];
beforeAll(async () => {
  for (const merchant of MERCHANTS) {
    const device = DEVICE;
    const body = { amount: 1500, additional_info: { external_reference: SECRET + merchant } };
    const answer = await shop.create(device, body, { merchant });
    sales.push({ merchant, id: idOf(answer), device });
  }
});

/** Ids one character away from a real one, as an attacker who knows their form would guess. */
const near = (id: string) =>
  fc
    .tuple(fc.nat(id.length - 1), fc.constantFrom(...'0123456789abcdefABCDEF-'))
    .map(([at, one]) => id.slice(0, at) + one + id.slice(at + 1));

const calls = fc.constantFrom<[string, (id: string) => string]>(
  ['GET', (id) => `/payment-intents/${id}`],
  ['GET', (id) => `/devices/${DEVICE}/payment-intents/${id}`],
  ['GET', (id) => `/payment-intents/${id}/events`],
  ['DELETE', (id) => `/payment-intents/${id}`],
  ['DELETE', (id) => `/devices/${DEVICE}/payment-intents/${id}`],
);

describe('guessed ids', () => {
  it('no pair of a token and an id shows or cancels another merchant’s sale [F92 P10]', async () => {
    const pair = fc.constantFrom(...sales).chain((sale) =>
      fc.record({
        sale: fc.constant(sale),
        asker: fc.constantFrom(...MERCHANTS, 'stranger'),
        id: fc.oneof(fc.constant(sale.id), near(sale.id), fc.uuid()),
        how: calls,
      }),
    );
    const told = fc.asyncProperty(pair, async ({ sale, asker, id, how: [method, path] }) => {
      const isOwn = asker === sale.merchant && id.toLowerCase() === sale.id;
      if (isOwn && method === 'DELETE') return; // the owner may cancel
      const token = asker === 'stranger' ? `APP_USR-1-1-${'f'.repeat(32)}-${sale.merchant}` : tokenOf(asker);
      const answer = await call(shop.app.public_url + POINT + path(id), { method, token });
      expect(isOwn ? [200] : [401, 404]).toContain(answer.status);
      if (isOwn) return;
      expect(answer.text).not.toContain(SECRET);
    });
    await fc.assert(told, { numRuns: PAIRS });
    for (const { merchant, id } of sales) {
      expect((await shop.read(id, { merchant })).body).toMatchObject({ id, state: 'OPEN' });
    }
  });

  it('an id of another merchant is answered like an unknown one, word for word and after the same upstream calls [F92]', async () => {
    const asked = async (): Promise<string[]> =>
      (await shop.requests('/')).map(({ method, path }) => `${method} ${path}`).filter((line) => !LOOK.test(line));
    const unknown = '019539a0-0000-7000-8000-00000000dead';
    for (const { merchant, id } of sales) {
      const other = merchant === BRAZIL ? MEXICO : BRAZIL;
      for (const path of [`/payment-intents/${id}`, `/devices/${DEVICE}/payment-intents/${id}`]) {
        for (const method of ['GET', 'DELETE']) {
          const before = (await asked()).length;
          const foreign = await shop.till(POINT + path, { method, merchant: other });
          const between = (await asked()).length;
          const nothing = await shop.till(POINT + path.replace(id, unknown), { method, merchant: other });
          expect([foreign.status, foreign.text.replaceAll(id, unknown)]).toEqual([nothing.status, nothing.text]);
          const all = (await asked()).map((line) => line.replaceAll(id, unknown));
          expect(all.slice(before, between)).toEqual(all.slice(between));
        }
      }
    }
  });

  it('another merchant’s token does not reach a QR sale through its path [F92 P10]', async () => {
    const { external_id } = qr.freshTill();
    expect((await qr.till(orderPath(external_id), { method: 'PUT', body: storeOrder() })).status).toBe(204);
    for (const [method, path, body] of [
      ['GET', orderPath(external_id), undefined],
      ['DELETE', orderPath(external_id), undefined],
      ['PUT', orderPath(external_id), storeOrder()],
      ['POST', codePath(external_id), storeOrder()],
    ] as const) {
      const answer = await qr.till(path, { method, merchant: BRAZIL, ...(body === undefined ? {} : { body }) });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
    expect(await qr.ordersAt(external_id)).toMatchObject([{ status: 'created' }]);
  });
});

it('the same create ten times at once, and again after a restart, is one order and one id [F90]', async () => {
  const sandbox = await startSandbox({ port: 0, host: '127.0.0.1' });
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
  const ids = new Set<string>();
  for (let start = 0; start < 2; start++) {
    const puente = await startOutside(sandbox.url, { PUENTE_DATA_DIR: data_dir });
    const path = `${POINT}/devices/${DEVICE}/payment-intents`;
    const once = () => puente.till(path, { body: { amount: 1500 }, headers: { 'x-idempotency-key': 'sale-1' } });
    for (const answer of await Promise.all(Array.from({ length: 10 }, once))) ids.add(idOf(answer));
    await puente.close();
  }
  expect(ids.size).toBe(1);
  expect(rowsOf(data_dir, DEVICE)).toHaveLength(1);
  expect(((await call(`${sandbox.url}/_sandbox/state`)).body as { orders: unknown[] }).orders).toHaveLength(1); // its shape
  await sandbox.close();
  rmSync(data_dir, { recursive: true });
});
