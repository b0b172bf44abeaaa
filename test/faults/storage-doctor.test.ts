/** Findings of `puente doctor` on a running and on a stopped Puente; it shows no secret. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examineOffline } from '../../src/app/installation.ts';
import { storageFindings, surroundingFindings } from '../../src/ops/doctor/checks.ts';
import type { DoctorReport } from '../../src/ops/doctor/doctor.ts';
import type { Finding } from '../../src/ops/doctor/finding.ts';
import { makeAuthority } from '../journeys/authority.ts';
import { ANA, ARGENTINA, OPS_TOKEN, PEOPLE, startReceiver } from '../kit.ts';
import { openForAll } from '../open.ts';
import { command } from '../ops/moves/command.ts';
import { openShop } from '../proxy/http/till.ts';
import { puente } from '../run-cli.ts';

const SECRET = 'webhook-secret-that-nobody-sees';
/** `nobody`. Only root can become another user, and only root needs to: for any other the port below is privileged. */
const USER = process.getuid?.() === 0 ? { uid: 65_534 } : {};
const PRIVILEGED_PORT = 443;

/** Linux names the first port that any user may take; elsewhere we know of none that is refused. */
function firstFreePort(): number {
  const file = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
}

/** False where `nobody` can't read the files of this checkout, or its Node. */
async function canRun(): Promise<boolean> {
  return (await puente(['--version'], USER)).code === 0;
}

const named = (findings: Finding[], name: string): Finding | undefined =>
  findings.find((finding) => finding.name === name);

describe('of a Puente that runs', () => {
  let free_bytes = 1e12;
  const shop = openForAll(() =>
    openShop(
      {
        ...PEOPLE,
        PUENTE_WEBHOOK_SECRET: SECRET,
        // A receiver in a private network, which the guard refuses.
        PUENTE_MERCHANTS_NOTICE_URL: 'https://10.0.0.8/in?key=key-in-the-url',
        PUENTE_OUTBOUND_ALLOW_PRIVATE: 'false',
      },
      { free_bytes: async () => free_bytes },
    ),
  );
  beforeAll(async () => {
    await shop.create(shop.freshDevice());
  });
  const ask = async (): Promise<DoctorReport> => (await shop.ops('/api/doctor')).body as DoctorReport; // the API's shape

  it('looks at everything, and every finding that is not well has its repair', async () => {
    const { findings, level, versions } = await ask();
    for (const name of ['schema', 'integrity', 'writes', 'disk', 'write-ahead log', 'clock', 'webhook secret'])
      expect(named(findings, name), name).toMatchObject({ level: 'ok' });
    expect(named(findings, 'upstream orders')).toMatchObject({
      level: 'ok',
      says: expect.stringContaining('without TLS'),
    });
    expect(named(findings, 'backups')).toMatchObject({
      level: 'warning',
      repair: expect.stringContaining('puente backup'),
    });
    for (const finding of findings) expect(finding.repair === null, finding.name).toBe(finding.level === 'ok');
    expect(level).toBe('warning');
    expect(versions).toMatchObject({ node: process.versions.node, store: expect.stringContaining('SQLite 3.') });
  });

  it('lists every setting with its source, and never a secret', async () => {
    const report = await ask();
    const setting = (name: string) => report.settings.find((one) => one.name === name);
    expect(setting('webhook.secret')).toEqual({
      name: 'webhook.secret',
      value: 'set',
      source: 'the variable PUENTE_WEBHOOK_SECRET',
    });
    expect(setting('create.attempts')).toMatchObject({ value: '3', source: 'config/default.yaml' });
    expect(setting('merchants.notice_url')?.value).toContain('10.0.0.8');
    expect(report.assumptions.length).toBeGreaterThan(10);
    const text = JSON.stringify(report);
    for (const secret of [SECRET, OPS_TOKEN, ANA.token, 'key-in-the-url']) expect(text).not.toContain(secret);
  });

  it('names a merchant whose notices have nowhere to go, or whose token was refused', async () => {
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'error', status: 401, code: 'unauthorized' });
    expect((await shop.create(shop.freshDevice())).status).toBe(401);
    await shop.clearFaults();
    const { findings } = await ask();
    expect(named(findings, `notices of ${ARGENTINA}`)).toMatchObject({
      level: 'warning',
      says: expect.stringContaining('may not be called'),
    });
    expect(named(findings, `token of ${ARGENTINA}`)).toMatchObject({
      level: 'warning',
      says: expect.stringContaining('refused'),
    });
  });

  it('exits 1 for a problem and says what to free; warnings alone leave 0', async () => {
    const env = { PUENTE_OPS_URL: shop.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN };
    const well = await command(['doctor'], env);
    expect([well.code, well.err]).toEqual([0, '']);
    expect(well.out).toMatch(/^warning +backups +There is none .*\n +Repair: Make one: `puente backup`\.$/m);
    expect(well.out).toMatch(/^0 problems, \d+ warnings?\.$/m);
    free_bytes = 1024;
    await new Promise((resolve) => setTimeout(resolve, 1_100)); // the disk is checked once a second
    const ill = await command(['doctor', '--json'], env);
    expect(ill.code).toBe(1);
    expect(named((JSON.parse(ill.out) as DoctorReport).findings, 'disk')).toMatchObject({
      level: 'problem',
      // New sales return only when there is room for the reserve too.
      repair: expect.stringContaining('See that 72 MiB are free'),
    });
    free_bytes = 1e12;
  });
});

it('judges clock, certificate and reach of an upstream', () => {
  const now = Date.parse('2026-06-01T00:00:00Z');
  const probe = {
    name: 'orders',
    url: 'https://api.example',
    is_reached: true,
    says: 'status 404',
    latency_ms: 20,
    protocol: 'TLSv1.3',
    certificate_until: now + 90 * 86_400_000,
    skew_ms: 400,
  } as const;
  const doors = { public: { url: null } };
  const installation = { has_webhook_secret: false, is_sandbox: false, doors } as unknown as Parameters<
    typeof surroundingFindings
  >[1]; // the fields read here
  const levels = (change: object) =>
    surroundingFindings([{ ...probe, ...change }], installation, now).map(({ level }) => level);
  expect(levels({})).toEqual(['ok', 'ok', 'warning']);
  expect(levels({ is_reached: false, skew_ms: null })).toEqual(['problem', 'note', 'warning']);
  expect(levels({ certificate_until: now + 86_400_000 })).toEqual(['warning', 'ok', 'warning']);
  expect(levels({ latency_ms: 3_000 })).toEqual(['warning', 'ok', 'warning']);
  expect(levels({ skew_ms: -120_000 })).toEqual(['ok', 'problem', 'warning']);
});

it('takes no backup of a time that is still to come for a new one, and misses none that a server makes', () => {
  const now = Date.parse('2026-06-01T00:00:00Z');
  const judged = (made_at: string | null, engine = 'SQLite 3.50') => {
    const condition = { engine, schema: 6, newest_schema: 6, file_bytes: 1, gap: null };
    const room = { level: 'enough', free_bytes: null, log_bytes: 0, is_log_large: false };
    const facts = { condition: { ...condition, room }, integrity: 'ok', is_healthy: true, now, unmatched_since_gap: 0 };
    const backups = made_at === null ? [] : [{ file: 'puente-1.db', made_at }];
    const installation = { backup_every_ms: 86_400_000, backup_directory: 'backups', disk: {} };
    const findings = storageFindings(
      { ...facts, backups } as unknown as Parameters<typeof storageFindings>[0], // the fields read here
      installation as unknown as Parameters<typeof storageFindings>[1], // the fields read here
    );
    return named(findings, 'backups');
  };
  expect(judged('2026-05-31T12:00:00Z')).toMatchObject({ level: 'ok' });
  expect(judged(null)).toMatchObject({ level: 'warning', repair: expect.stringContaining('`puente backup`') });
  const server = { level: 'ok', says: expect.stringContaining('pg_dump'), repair: null };
  expect(judged(null, 'PostgreSQL 17.4')).toMatchObject(server);
  expect(judged('2026-05-29T12:00:00Z')).toMatchObject({
    level: 'warning',
    says: expect.stringContaining('later than'),
  });
  expect(judged('2027-05-31T12:00:00Z')).toMatchObject({ level: 'warning', says: expect.stringContaining('to come') });
});

describe('of a Puente that does not run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'puente-offline-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('says what its settings and its file are, and exits 1 for either', async () => {
    const env = { PUENTE_DATA_DIR: folder };
    const look = (change: object = {}) => examineOffline({ ...env, ...change }, process.cwd());
    const missing = await look();
    expect([missing.level, named(missing.findings, 'database')?.level]).toEqual(['note', 'note']);
    writeFileSync(join(folder, 'puente.db'), 'Querido diario: '.repeat(1_000));
    const garbage = await puente(['doctor', '--offline'], { env });
    expect([garbage.code, garbage.out]).toEqual([1, expect.stringContaining("can't be used")]);
    const settings = await look({ PUENTE_CREATE_ATTEMPTS: 'many' });
    expect(settings).toMatchObject({
      level: 'problem',
      findings: [{ name: 'settings', says: expect.stringContaining('create.attempts from the variable') }],
    });
  });

  it('looks at the doors and around them, before anything was started', async () => {
    const door = mkdtempSync(join(folder, 'door-'));
    const { certificate_file, key_file } = await makeAuthority(door);
    const upstream = await startReceiver();
    const env = {
      PUENTE_DATA_DIR: door,
      PUENTE_UPSTREAM: new URL(upstream.url).origin,
      PUENTE_SECRET_KEY: 'k'.repeat(32),
      PUENTE_PUBLIC_TLS_CERTIFICATE_FILE: certificate_file,
      PUENTE_PUBLIC_TLS_KEY_FILE: key_file,
      PUENTE_PUBLIC_PORT: new URL(upstream.url).port, // taken
      PUENTE_HEALTH_HOST: '2001:db8::1', // for documentation: no machine has it
      PUENTE_HEALTH_PORT: '8082',
    };
    const { out, code } = await puente(['doctor', '--offline', '--json'], { env });
    await upstream.close();
    const { findings } = JSON.parse(out) as { findings: Finding[] }; // the output of --json
    expect(named(findings, 'public port')).toMatchObject({
      level: 'note',
      repair: expect.stringContaining('public.port'),
    });
    expect(named(findings, 'health port')).toMatchObject({
      level: 'problem',
      says: expect.stringMatching(/^\[2001:db8::1\]:8082 is no address of this machine/),
      repair: expect.stringContaining('health.host'),
    });
    expect(named(findings, 'public address')).toMatchObject({ level: 'warning' });
    expect(named(findings, 'door certificate')).toMatchObject({
      level: 'warning',
      says: expect.stringContaining('ends in'),
    });
    expect(named(findings, 'ops door')).toMatchObject({
      level: 'problem',
      repair: expect.stringContaining('ops.token_file'),
    });
    expect(named(findings, 'upstream orders')).toMatchObject({ level: 'ok' });
    expect(named(findings, 'webhook secret')).toMatchObject({
      repair: expect.stringContaining('at public.url/webhooks/orders'),
    });
    for (const finding of findings) expect(finding.repair === null, finding.name).toBe(finding.level === 'ok');
    expect(code).toBe(1);
  });

  it('tells a user who may not take a port, and still starts', async ({ skip }) => {
    skip(firstFreePort() <= PRIVILEGED_PORT || !(await canRun()), 'no user here may not, or such a one reads no code');
    chmodSync(folder, 0o777);
    const env = { PUENTE_DATA_DIR: join(folder, 'of-nobody'), PUENTE_PUBLIC_PORT: String(PRIVILEGED_PORT) };
    const { out, code } = await puente(['doctor', '--offline', '--json'], { env, ...USER });
    const { findings } = JSON.parse(out) as { findings: Finding[] }; // the output of --json
    expect(named(findings, 'public port')).toMatchObject({
      level: 'note',
      says: expect.stringContaining(`:${PRIVILEGED_PORT} is refused to this user`),
      repair: expect.stringContaining('Set public.port to 1024 or above'),
    });
    expect(code).toBe(0);
  });

  it('asks a database server without changing it, and shows no password', async () => {
    const env = { PUENTE_DATA_DIR: folder, PUENTE_POSTGRES_URL: 'postgres://puente:hush@127.0.0.1:1/puente' };
    const { out, code } = await puente(['doctor', '--offline'], { env });
    expect(out).toContain("The database postgres://127.0.0.1:1/puente can't be reached");
    expect(out).toContain('Repair: See that the server runs, and that postgres.url');
    expect(out).not.toContain('hush');
    expect(code).toBe(1);
  });

  it('is named to whoever asks one that does not run, or has no token', async () => {
    const { err, code } = await puente(['doctor']);
    expect(err).toContain('To check a Puente that is not running: puente doctor --offline');
    expect(code).toBe(1);
  });
});
