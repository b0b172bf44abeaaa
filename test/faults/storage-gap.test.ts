/** The drill of a restore: what was sold after the backup comes back with its events, once, and the gap is told (F60). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type App, startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import type { DoctorReport } from '../../src/core/doctor/doctor.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { restoreBackup } from '../../src/store/sqlite/restore.ts';
import { auditsOf, FAST, idOf, rowsOf } from '../http/till.ts';
import { type Answer, ARGENTINA, type Call, call, eventually, OPS_TOKEN, POINT, tokenOf } from '../kit.ts';

const SECRET = 'a webhook secret of the tests';
const BEFORE = 'NEWLAND_N950__LOAD0000001';
const LOST = 'NEWLAND_N950__LOAD0000002';
const NAMED = 'NEWLAND_N950__LOAD0000003';

let sandbox: Sandbox;
const folders: string[] = [];
const apps: App[] = [];
beforeAll(async () => {
  sandbox = await startSandbox({ host: '127.0.0.1', port: 0, settings: { extra_terminals: 200 } });
});
afterAll(async () => {
  for (const app of apps) await app.close();
  await sandbox.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'puente-gap-'));
  folders.push(folder);
  return folder;
}

/** Puente on a data directory, before the sandbox that outlives it. */
async function start(data_dir: string): Promise<App> {
  const env = {
    ...FAST,
    PUENTE_SANDBOX_SETTINGS: undefined,
    PUENTE_UPSTREAM: sandbox.url,
    PUENTE_DATA_DIR: data_dir,
    PUENTE_PUBLIC_PORT: '0',
    PUENTE_OPS_PORT: '0',
    PUENTE_OPS_TOKEN: OPS_TOKEN,
    PUENTE_SECRET_KEY: 'c7'.repeat(32),
    PUENTE_WEBHOOK_SECRET: SECRET,
    PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
    PUENTE_LOG_LEVEL: 'silent',
  };
  const app = await startApp(loadConfig({ env, cwd: process.cwd() }));
  apps.push(app);
  sandbox.world.configure({ webhook_url: `${app.public_url}/webhooks/orders`, webhook_secret: SECRET });
  return app;
}

const till = (app: App, path: string, options: Call = {}): Promise<Answer> =>
  call(app.public_url + POINT + path, { token: tokenOf(ARGENTINA), ...options });
const sell = (app: App, device: string, external_reference?: string): Promise<Answer> =>
  till(app, `/devices/${device}/payment-intents`, {
    body: { amount: 1500, ...(external_reference === undefined ? {} : { additional_info: { external_reference } }) },
  });
const pay = (device: string): Promise<Answer> =>
  call(`${sandbox.url}/_sandbox/terminals/${ARGENTINA}/${device}/pay`, { body: {} });
const stateOf = async (app: App, id: string): Promise<unknown> =>
  ((await till(app, `/payment-intents/${id}`)).body as { state?: unknown }).state;

it('adopts the sales of after the backup by their reference, under their old ids, and tells what it can not place [F60]', async () => {
  const first = await start(newFolder());
  const before = idOf(await sell(first, BEFORE));
  const backup = await call(`${first.ops_url}/api/backup`, { token: OPS_TOKEN, body: {} });
  expect(backup.status).toBe(200);
  const lost = idOf(await sell(first, LOST));
  const named = idOf(await sell(first, NAMED, 'TICKET-7'));
  await first.close();
  apps.splice(0);

  const into = newFolder();
  const [data_dir = ''] = folders;
  const { file } = JSON.parse(backup.text.trim().split('\n').at(-1) ?? '').backup;
  await restoreBackup({
    file: join(data_dir, 'backups', file),
    into,
    replace: false,
    reason: 'the disk failed',
    now: Date.now(),
  });
  const second = await start(into);
  expect(await stateOf(second, before)).toBe('OPEN');
  expect(rowsOf(into, LOST)).toEqual([]);

  for (const device of [BEFORE, LOST, NAMED]) expect((await pay(device)).status).toBe(200);
  await eventually(
    () => stateOf(second, lost),
    (state) => state === 'FINISHED',
  );
  await eventually(
    () => stateOf(second, before),
    (state) => state === 'FINISHED',
  );
  expect(rowsOf(into, LOST)).toMatchObject([{ legacy_id: lost, state: 'DONE', client_answer: 'maybe' }]);
  const { orders } = (await call(`${sandbox.url}/_sandbox/state`)).body as { orders: { status: string }[] }; // the control door's own form
  expect(orders.map(({ status }) => status)).toEqual(['processed', 'processed', 'processed']);

  // The one that went under the till's own reference is nobody's any more, and that is told.
  expect(rowsOf(into, NAMED)).toEqual([]);
  expect((await till(second, `/payment-intents/${named}`)).status).toBe(404);
  const lines = auditsOf(into).map(({ action, subject }) => [action, subject]);
  expect(lines).toEqual(
    expect.arrayContaining([
      ['restored', 'puente'],
      ['restored sale', lost],
    ]),
  );
  const doctor = await eventually(
    async () => (await call(`${second.ops_url}/api/doctor`, { token: OPS_TOKEN })).body as DoctorReport, // the API's own shape
    ({ findings }) => findings.some(({ name, says }) => name === 'restored' && says.includes('1 events since then')),
  );
  expect(doctor.findings.find(({ name }) => name === 'restored')).toMatchObject({ level: 'warning' });
  const verified = await call(`${second.ops_url}/api/audit/verify`, { token: OPS_TOKEN });
  expect(verified.body).toMatchObject({ intact: true });
  const report = await call(`${second.ops_url}/api/report`, { token: OPS_TOKEN });
  expect(report.text).toContain('missing_from');
  expect(report.text).toContain('restored sale');
});
