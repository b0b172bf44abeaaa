/** `puente migrate-store`: ahead, killed, repeated, finished, and every old sale answered afterwards. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { App } from '../../../src/app/app.ts';
import { call, eventually, OPS_TOKEN, POINT } from '../../kit.ts';
import { type Server, startServer } from './server.ts';
import { openStand, outcomeOf, type TransferStand } from './transfer-stand.ts';

const PAID = 'NEWLAND_N950__LOAD0000001';
const OPEN = 'NEWLAND_N950__LOAD0000002';
const AGAIN = 'NEWLAND_N950__LOAD0000003';

let server: Server;
let stand: TransferStand;
beforeAll(async () => {
  server = await startServer();
  stand = await openStand();
});
afterAll(async () => {
  await stand.close();
  await server.remove();
});

const intentOf = async (app: App, id: string) =>
  (await stand.till(app, `${POINT}/payment-intents/${id}`)).body as {
    state: string;
    payment?: { id: number | string };
  };
const finished = (app: App, id: string) =>
  eventually(
    () => intentOf(app, id),
    ({ state }) => state === 'FINISHED',
  );

async function told(app: App, ids: readonly string[], payment: string) {
  const intents = await Promise.all(
    ids.map(async (id) => (await stand.till(app, `${POINT}/payment-intents/${id}`)).text),
  );
  const { text: refunds } = await stand.till(app, `/v1/payments/${payment}/refunds`);
  return { intents, refunds };
}

/** Only ends what hangs: a dozen processes, one after the other. */
const LIMIT_MS = 300_000;

it('copies an installation in use, whatever ends it on the way, and every sale of before is answered as before', {
  timeout: LIMIT_MS,
}, async () => {
  const url = await server.database();
  const first = await stand.start();
  const paid = await stand.sell(first, PAID, 'mesa 4 | ñandú');
  await stand.pay(PAID);
  const payment = String((await finished(first, paid)).payment?.id);
  const refund = await stand.till(first, `/v1/payments/${payment}/refunds`, {
    body: {},
    headers: { 'x-idempotency-key': 'refund-1' },
  });
  expect(refund.status, refund.text).toBe(201);
  const open = await stand.sell(first, OPEN, 'still open');
  const before = await stand.sell(first, AGAIN, 'paid later');
  await eventually(
    async () => stand.noticed(),
    (count) => count >= 1,
  );

  expect((await stand.migrate('')).err).toContain('set PUENTE_POSTGRES_URL to the empty database');
  const running = await stand.migrate(url);
  expect(running.err).toContain('a Puente is using it. Stop it, then repeat the command');
  const killed = await stand.migrate(url, ['--ahead'], { CRASH_TEST_FAILPOINT: 'transfer.copied:3' });
  expect(killed.out).toBe('');
  await expect(stand.start(url)).rejects.toThrow('still being copied into it');
  const ahead = outcomeOf(await stand.migrate(url, ['--ahead']));
  expect(ahead).toMatchObject({ is_resumed: true, proved: null });

  // The slot of a sale that was copied as live gets another sale.
  await stand.pay(AGAIN);
  await finished(first, before);
  const later = await stand.sell(first, AGAIN, 'sold after the copy');
  const ids = [paid, open, before, later];
  const answers = await told(first, ids, payment);
  await first.close();
  expect((await stand.migrate(url, [], { CRASH_TEST_FAILPOINT: 'transfer.proved' })).out).toBe('');
  await expect(stand.start(url)).rejects.toThrow('still being copied into it');
  expect((await stand.migrate(url, [], { CRASH_TEST_FAILPOINT: 'transfer.noted' })).out).toBe('');
  await expect(stand.start(url)).rejects.toThrow('still being copied into it');
  await expect(stand.start()).rejects.toThrow('its rows were copied to postgres://127.0.0.1');
  const { is_resumed, proved } = outcomeOf(await stand.migrate(url));
  expect(is_resumed).toBe(true);
  expect(proved?.tables.find(({ table }) => table === 'links')?.rows).toBe(4);
  expect(proved?.links).toMatchObject({ LIVE: 2, DONE: 2 });
  for (const name of ['merchants', 'tokens', 'notices', 'notice_attempts', 'events', 'refunds', 'exchanges'])
    expect(proved?.tables.find(({ table }) => table === name)?.rows, name).toBeGreaterThan(0);
  await expect(stand.start()).rejects.toThrow('its rows were copied to postgres://127.0.0.1');
  expect((await stand.migrate(url)).err).toContain('was copied into it already');
  expect((await stand.doctor()).out).toContain('were copied to postgres://127.0.0.1');

  const second = await stand.start(url);
  expect(await told(second, ids, payment)).toEqual(answers);
  await stand.pay(OPEN);
  await finished(second, open);
  await stand.pay(AGAIN);
  await finished(second, later);
  expect(await stand.sell(second, AGAIN, 'sold on the server')).not.toBe(later);
  const chain = await call(`${second.ops_url}/api/audit/verify`, { token: OPS_TOKEN });
  expect(chain.body).toMatchObject({ intact: true });
});
