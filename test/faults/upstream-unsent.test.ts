/** An upstream that can receive no byte: the call is proved unsent, answered 502, and may be retried (F1–F3). */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { POINT } from '../kit.ts';
import { openForAll } from '../open.ts';
import { legacyErrorOf } from '../proxy/http/till.ts';
import { refusedUrl, startFaultServer, startGate } from './fault-server.ts';
import { json } from './fault-server-acts.ts';
import { startBlackHole } from './fault-server-hole.ts';
import { makeTlsFaults, type TlsFaults } from './fault-server-tls.ts';
import { openTill, startUpstream, type Till } from './upstream-stand.ts';

let faults: TlsFaults;
let puente: Till;
const data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
beforeAll(async () => {
  faults = await makeTlsFaults();
});
const upstream = openForAll(() => startUpstream({ tls: faults.good }));
const gate = openForAll(() => startGate(upstream.port));
beforeAll(async () => {
  puente = await openTill(`https://localhost:${gate.port}`, { PUENTE_DATA_DIR: data_dir });
  // Makes the token's owner known while upstream answers; on a busy machine the first call may time out.
  const first = async () => expect((await puente.create(puente.device())).status).toBe(201);
  await vi.waitFor(first, { timeout: 50_000 });
});

/** The till is answered 502, and the row says that nothing was sent. */
async function expectUnsent(till: Till): Promise<void> {
  const device = till.device();
  const told = await till.create(device);
  expect(told.status).toBe(502);
  legacyErrorOf(told);
  const row = till.row(device);
  expect(row).toMatchObject({ state: 'NOT_SENT', client_answer: 'error', order_id: null, body_kept: 0 });
  expect(row.attempts).toBeGreaterThanOrEqual(1);
  expect(row.attempts).toBeLessThanOrEqual(3);
}

describe('a certificate or protocol that must be refused', () => {
  it.each<[keyof TlsFaults, RegExp]>([
    ['expired', /CERT_HAS_EXPIRED/],
    ['not_yet', /CERT_NOT_YET_VALID/],
    ['wrong_host', /ERR_TLS_CERT_ALTNAME_INVALID/],
    ['self_signed', /DEPTH_ZERO_SELF_SIGNED_CERT/],
    ['unknown_authority', /UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)/],
    ['old_protocol', /PROTOCOL|ALERT|ECONNRESET|VERSION/],
    ['older_protocol', /PROTOCOL|ALERT|ECONNRESET|VERSION/],
  ])('%s: 502, nothing sent, and the log says why [F3]', async (fault, cause) => {
    const bad = await startFaultServer(() => json(201, {}), { tls: faults[fault] });
    gate.turnTo(bad.port);
    const before = puente.alerts.length;
    await expectUnsent(puente);
    expect(bad.accepted(), 'it was asked').toBeGreaterThan(0);
    expect(bad.heard, 'and never got a request, let alone the token').toEqual([]);
    const alerts = puente.alerts.slice(before).filter(({ message }) => message === 'create: not_sent');
    expect(alerts.map((alert) => alert.cause).join(' ')).toMatch(cause);
    await bad.close();
  });

  it('the control: the same door with a good certificate is used', async () => {
    gate.turnTo(upstream.port);
    expect((await puente.create(puente.device())).status).toBe(201);
  });
});

describe('an upstream that can not be reached', () => {
  // The first Puente has stopped; the next one reads the token's owner from the same database.
  beforeAll(() => puente.close());

  async function expectUnsentAt(url: string, settings: Record<string, string> = {}): Promise<Till> {
    const till = await openTill(url, { PUENTE_DATA_DIR: data_dir, ...settings });
    try {
      await expectUnsent(till);
    } finally {
      await till.close();
    }
    return till;
  }

  it('a refused connection [F1]', async () => {
    await expectUnsentAt(await refusedUrl());
  });

  it('a name that does not exist [F1]', async () => {
    await expectUnsentAt('http://upstream.invalid');
  });

  it('a port that neither accepts nor refuses connections is given up after the connect timeout [F2]', async () => {
    const hole = await startBlackHole();
    const till = await expectUnsentAt(hole.url, {
      PUENTE_CREATE_DEADLINE_MS: '9000',
      PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '8000', // after the connect timeout, which undici rounds to whole seconds
      PUENTE_CREATE_ATTEMPTS: '2',
    });
    await hole.close();
    expect(till.alerts.map((alert) => alert.cause)).toContain('UND_ERR_CONNECT_TIMEOUT');
  });

  it('the next sale on that terminal goes through once upstream can be reached [F1]', async () => {
    const till = await openTill(await refusedUrl(), { PUENTE_DATA_DIR: data_dir });
    const device = till.device();
    expect((await till.create(device)).status).toBe(502);
    await till.close();
    const plain = await startUpstream();
    const again = await openTill(plain.url, { PUENTE_DATA_DIR: data_dir });
    expect((await again.create(device)).status).toBe(201);
    expect(plain.creates(), 'the unsent one stays unsent').toHaveLength(1);
    expect((await again.till(`${POINT}/payment-intents/00000000-0000-4000-8000-000000000000`)).status).toBe(404);
    await again.close();
    await plain.close();
  });
});
