/** The drill of a restore: events bring back the sales made after the backup, once, and the gap is reported (F60). */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type App, startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { DoctorReport } from '../../src/ops/doctor/doctor.ts';
import type { SalesView } from '../../src/ops/trace/sales.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { restoreBackup } from '../../src/store/sqlite/restore.ts';
import { type Answer, ARGENTINA, type Call, call, eventually, OPS_TOKEN, POINT, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { auditsOf, FAST, idOf, rowsOf } from '../proxy/http/till.ts';

const SECRET = 'a webhook secret of the tests';
const BEFORE = 'NEWLAND_N950__LOAD0000001';
const LOST = 'NEWLAND_N950__LOAD0000002';
const NAMED = 'NEWLAND_N950__LOAD0000003';
const DOUBTED = 'NEWLAND_N950__LOAD0000004';

const folders: string[] = [];
const apps: App[] = [];
const sandbox = openForAll(() => startSandbox({ host: '127.0.0.1', port: 0, settings: { extra_terminals: 200 } }));
afterAll(async () => {
  for (const app of apps) await app.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'puente-gap-'));
  folders.push(folder);
  return folder;
}

/** Starts Puente on a data directory, with the sandbox that survives it as upstream. */
async function start(data_dir: string, own = {}): Promise<App> {
  const env = {
    ...own,
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
    PUENTE_LIMITS_LAG_MS: '600000', // as in test/kit.ts
    PUENTE_CREATE_SETTLE_AFTER_MS: '100',
    PUENTE_RECONCILE_POINT_INTERVAL_MS: '200',
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

/** A backup of a running Puente; the result restores it into a new data directory. */
async function backedUp(app: App, data_dir: string): Promise<() => Promise<string>> {
  const answer = await call(`${app.ops_url}/api/backup`, { token: OPS_TOKEN, body: {} });
  const { file } = JSON.parse(answer.text.trim().split('\n').at(-1) ?? '').backup;
  return async () => {
    const into = newFolder();
    const order = { file: join(data_dir, 'backups', file), into, replace: false, reason: 'the disk failed' };
    await restoreBackup({ ...order, now: Date.now() });
    return into;
  };
}

it('a restore cancels no sale that its till learned of after the backup, although the backup does not know that [F60]', async () => {
  const data_dir = newFolder();
  const first = await start(data_dir);
  const faults = `${sandbox.url}/_sandbox/faults`;
  const silence = { method: 'POST', path: '/v1/orders', kind: 'no_answer', when: 'after', times: 'always' };
  await call(faults, { body: silence });
  expect((await sell(first, DOUBTED)).status).toBe(504);
  const restore = await backedUp(first, data_dir);
  await call(faults, { method: 'DELETE' });
  const told = await sell(first, DOUBTED);
  expect(told.status).toBe(201);
  await first.close();
  apps.splice(0);
  const into = await restore();
  await call(faults, { body: silence });
  const second = await start(into);
  // A failed retry does not change what the till was answered before.
  expect((await sell(second, DOUBTED)).status).toBe(504);
  expect(rowsOf(into, DOUBTED)).toMatchObject([{ state: 'IN_DOUBT', client_answer: 'maybe' }]);
  await call(faults, { method: 'DELETE' });
  await eventually(
    async () => rowsOf(into, DOUBTED),
    ([row]) => row?.state === 'LIVE',
  );
  expect(rowsOf(into, DOUBTED)).toMatchObject([{ legacy_id: idOf(told), client_answer: 'maybe' }]);
  // The order survives well past the limit for unclaimed orders, over several reads.
  const reads = async (): Promise<number> =>
    ((await call(`${sandbox.url}/_sandbox/state`)).body as { requests: { method: string }[] }).requests.filter(
      ({ method }) => method === 'GET',
    ).length; // the sandbox's shape
  const before = await reads();
  await eventually(reads, (count) => count >= before + 2);
  expect((await pay(DOUBTED)).status).toBe(200);
  await eventually(
    () => stateOf(second, idOf(told)),
    (state) => state === 'FINISHED',
  );
  await second.close();
  apps.splice(0);
});

it('a restore adopts the sales made after the backup by their reference, under their old ids, and lists the others [F60]', async () => {
  const data_dir = newFolder();
  const own = { PUENTE_MAPPINGS_FOLDER: newFolder() };
  const tables = join(own.PUENTE_MAPPINGS_FOLDER, 'merchants', ARGENTINA, 'point');
  mkdirSync(tables, { recursive: true });
  const row = '{ const: Kiosk, to: body.description, sites: [MLC], why: Our receipts name the shop. }';
  writeFileSync(join(tables, 'create.request.yaml'), `rows:\n  - ${row}\n`);
  const first = await start(data_dir, own);
  const before = idOf(await sell(first, BEFORE));
  const restore = await backedUp(first, data_dir);
  const lost = idOf(await sell(first, LOST));
  const named = idOf(await sell(first, NAMED, 'TICKET-7'));
  await first.close();
  apps.splice(0);
  const into = await restore();
  const second = await start(into, own);
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
  const revisions = [BEFORE, LOST].map((device) => rowsOf(into, device)[0]?.tables_revision);
  expect(new Set(revisions).size, `${revisions}: those of its merchant`).toBe(1);
  // It has its place among all sales, in pages as well: that of the time at which it was made.
  const listed: string[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const path: string = `/api/sales?limit=1${next === '' ? '' : `&before=${next}`}`;
    const page = (await call(second.ops_url + path, { token: OPS_TOKEN })).body as SalesView; // the API's shape
    listed.push(...page.sales.map(({ legacy_id }) => legacy_id ?? ''));
    next = page.next;
  }
  expect(listed).toEqual([lost, before]);
  const [sale] = ((await call(`${second.ops_url}/api/sales?limit=1`, { token: OPS_TOKEN })).body as SalesView).sales;
  expect(Date.parse(sale?.created_at ?? '')).toBe(Number.parseInt(lost.replaceAll('-', '').slice(0, 12), 16));
  const { orders } = (await call(`${sandbox.url}/_sandbox/state`)).body as { orders: { status: string }[] }; // the sandbox's shape
  expect(orders.map(({ status }) => status)).toEqual(orders.map(() => 'processed'));
  expect(orders).toHaveLength(4);
  // The order under the till's own reference belongs to no sale any more, which is reported.
  expect(rowsOf(into, NAMED)).toEqual([]);
  expect((await till(second, `/payment-intents/${named}`)).status).toBe(404);
  const lines = (await auditsOf(into)).map(({ action, subject }) => [action, subject]);
  expect(lines).toEqual(
    expect.arrayContaining([
      ['restored', 'puente'],
      ['restored sale', lost],
    ]),
  );
  const doctor = await eventually(
    async () => (await call(`${second.ops_url}/api/doctor`, { token: OPS_TOKEN })).body as DoctorReport, // the API's shape
    ({ findings }) => findings.some(({ name, says }) => name === 'restored' && says.includes('1 event since then')),
  );
  expect(doctor.findings.find(({ name }) => name === 'restored')).toMatchObject({ level: 'warning' });
  const verified = await call(`${second.ops_url}/api/audit/verify`, { token: OPS_TOKEN });
  expect(verified.body).toMatchObject({ intact: true });
  const report = await call(`${second.ops_url}/api/report`, { token: OPS_TOKEN });
  expect(report.text).toContain('missing_from');
  expect(report.text).toContain('restored sale');
});
