/** Where a call goes: new work by the stage, an existing id by its birth, and nobody's token gets at the map. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRuntime, systemClock } from '../../src/app/runtime.ts';
import { loadConfig } from '../../src/config.ts';
import { chooseLane, type Named } from '../../src/core/lane.ts';
import { type MerchantSettings, merchantSettings } from '../../src/core/merchant.ts';
import {
  byDevice,
  byHistory,
  byIntent,
  byMerchant,
  byMerchantOrder,
  byPayment,
  byPointOfSale,
} from '../../src/core/named.ts';
import type { Runtime } from '../../src/core/runtime.ts';
import { Secret } from '../../src/core/secret.ts';
import type { Store } from '../../src/core/store.ts';
import { createVault } from '../../src/core/vault.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { createLog } from '../../src/outbound/log.ts';
import { createUpstream, type UpstreamClient } from '../../src/outbound/upstream.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { ARGENTINA, BRAZIL, tokenOf } from '../kit.ts';
import { auditOf, opened } from '../store/contract/harness.ts';

const tables = loadTables(join(import.meta.dirname, '..', '..', 'mappings'));
const MINTED = 8_030_388_800_000_001;
const NOBODY = new Secret(tokenOf('799999999'));
const FORGED = new Secret(`APP_USR-1-112026-${'f'.repeat(32)}-${ARGENTINA}`);
const argentina = new Secret(tokenOf(ARGENTINA));
const brazil = new Secret(tokenOf(BRAZIL));
const TILL = { kind: 'slot', slot: 'qr:SUC001POS001' } as const;

let sandbox: Sandbox;
let upstream: UpstreamClient;
let directory: string;
let files = 0;
beforeAll(async () => {
  sandbox = await startSandbox({ port: 0, host: '127.0.0.1' });
  upstream = createUpstream({ baseUrl: sandbox.url, connections: 2, connectTimeout_ms: 1000, userAgent: 'Puente' });
  directory = mkdtempSync(join(tmpdir(), 'puente-lane-'));
});
afterAll(async () => {
  await upstream?.close();
  await sandbox?.close();
  rmSync(directory, { recursive: true, force: true });
});

/** A Puente without doors whose merchants start on legacy. */
async function openRuntime(): Promise<Runtime> {
  const path = join(directory, `${++files}.db`);
  return createRuntime(loadConfig({ env: { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }, cwd: process.cwd() }), {
    store: await openSqliteStore({ path, create: true, now: Date.now }),
    upstream,
    legacy_upstream: upstream,
    tables,
    vault: createVault(new Secret('a-secret-key-that-only-these-tests-use')),
    clock: systemClock,
    random: Math.random,
    log: createLog('silent'),
    count: () => undefined,
    noticesWaiting: () => undefined,
    failpoint: () => undefined,
  });
}

async function stage(store: Store, id: string, to: MerchantSettings['stage']): Promise<void> {
  const settings = merchantSettings.parse({ stage: to });
  await store.saveMerchant(
    { id, site: 'MLA', settings, sealed_notice_url: null, sealed_notice_secret: null, sealed_credential: null },
    0,
    auditOf('stage'),
  );
}

describe('the lane', () => {
  let runtime: Runtime;
  beforeEach(async () => {
    runtime = await openRuntime();
    return () => runtime.store.close();
  });
  const lane = (token: Secret, named: Named) => chooseLane(runtime, token, named);
  const asked = (): number => sandbox.world.request_log.list().filter((one) => one.path === '/users/me').length;

  it('of an id that is none of ours is legacy, whoever asks, and nobody is asked about the token', async () => {
    await stage(runtime.store, ARGENTINA, 'orders');
    const before = asked();
    expect(await lane(argentina, { kind: 'link', link: null })).toEqual({ lane: 'legacy' });
    expect(await lane(NOBODY, { kind: 'link', link: null })).toEqual({ lane: 'legacy' });
    expect(asked()).toBe(before);
  });

  it.each<Named>([TILL, { kind: 'history' }, { kind: 'merchant' }])(
    'of a merchant on legacy is legacy: $kind',
    async (named) => {
      const before = asked();
      expect(await lane(argentina, named)).toEqual({ lane: 'legacy' });
      expect(asked()).toBe(before);
    },
  );

  it.each<Named>([TILL, { kind: 'history' }, { kind: 'merchant' }])(
    'of a merchant on orders is orders: $kind',
    async (named) => {
      await stage(runtime.store, ARGENTINA, 'orders');
      expect(await lane(argentina, named)).toMatchObject({ lane: 'orders', merchant: { id: ARGENTINA }, link: null });
    },
  );

  it.each<Named>([TILL, { kind: 'history' }, { kind: 'merchant' }])(
    'of a token nobody has accepted is refused: $kind',
    async (named) => {
      await stage(runtime.store, ARGENTINA, 'orders');
      expect(await lane(FORGED, named)).toEqual({ lane: 'refused', error: 'unauthorized' });
    },
  );

  it('of an id born on orders is orders whatever the stage is now, and for its own merchant alone', async () => {
    const link = await opened(runtime.store, { family: 'qr', unit: 'SUC001POS001' });
    expect(await lane(argentina, { kind: 'link', link })).toMatchObject({ lane: 'orders', link });
    expect(await lane(brazil, { kind: 'link', link })).toEqual({ lane: 'legacy' });
    expect(await lane(FORGED, { kind: 'link', link })).toEqual({ lane: 'refused', error: 'unauthorized' });
  });

  it('of a unit with something live on orders stays orders until that is over', async () => {
    const link = await opened(runtime.store, { family: 'qr', unit: 'SUC001POS001' });
    expect(await lane(argentina, TILL)).toMatchObject({ lane: 'orders', link: null });
    expect(await lane(argentina, { kind: 'slot', slot: 'point:SUC001POS001' })).toEqual({ lane: 'legacy' });
    expect(await lane(brazil, TILL)).toEqual({ lane: 'legacy' });
    await runtime.store.saveLink(link, { state: 'DONE', legacy_state: 'paid' });
    expect(await lane(argentina, TILL)).toEqual({ lane: 'legacy' });
  });

  it('of a point of sale by its number is orders while what it stands for is live there, and legacy when that is unknown', async () => {
    const number = { kind: 'pos', pos_id: '1000001' } as const;
    expect(await lane(argentina, number)).toEqual({ lane: 'legacy' });
    const link = await opened(runtime.store, { family: 'qr', unit: 'SUC001POS001' });
    expect(await lane(argentina, number)).toMatchObject({ lane: 'orders', link: null });
    expect(await lane(argentina, { kind: 'pos', pos_id: '1000002' })).toEqual({ lane: 'legacy' });
    expect(await lane(argentina, { kind: 'pos', pos_id: '999' })).toEqual({ lane: 'legacy' });
    expect(await lane(brazil, number)).toEqual({ lane: 'legacy' });
    await runtime.store.saveLink(link, { state: 'DONE', legacy_state: 'expired' });
    expect(await lane(argentina, number)).toEqual({ lane: 'legacy' });
  });

  it('of a payment that no link has is legacy, and upstream is asked about it only where there is a past', async () => {
    const payment = { kind: 'payment', payment_id: '131772540988' } as const;
    const reads = (): number => sandbox.world.request_log.list().filter(({ path }) => path.endsWith('988')).length;
    const before = asked();
    await stage(runtime.store, BRAZIL, 'orders');
    expect(await lane(brazil, payment)).toEqual({ lane: 'legacy' });
    expect([asked() - before, reads()]).toEqual([0, 0]);
    await opened(runtime.store, { family: 'qr', unit: 'SUC001POS001' });
    expect(await lane(FORGED, payment)).toEqual({ lane: 'legacy' });
    expect(reads()).toBe(0);
    expect(await lane(argentina, payment)).toEqual({ lane: 'legacy' });
    expect(reads()).toBe(1);
  });

  it('of a search is orders for whoever has a past there, for ever', async () => {
    const link = await opened(runtime.store, { family: 'qr', unit: 'SUC001POS001' });
    await runtime.store.saveLink(link, { state: 'DONE', legacy_state: 'expired' });
    expect(await lane(argentina, { kind: 'history' })).toMatchObject({ lane: 'orders', link: null });
    expect(await lane(argentina, { kind: 'merchant' })).toEqual({ lane: 'legacy' });
    expect(await lane(brazil, { kind: 'history' })).toEqual({ lane: 'legacy' });
  });
});

describe('what a path names', () => {
  let runtime: Runtime;
  beforeEach(async () => {
    runtime = await openRuntime();
    return () => runtime.store.close();
  });

  it('a device and a till by their external ids: the slots of their live work', async () => {
    expect(await byDevice(runtime, { device_id: 'PAX_A910__1' })).toEqual({ kind: 'slot', slot: 'point:PAX_A910__1' });
    expect(await byPointOfSale(runtime, { user_id: ARGENTINA, external_pos_id: 'SUC001POS001' })).toEqual(TILL);
  });

  it('a point of sale by its internal number, which says nothing before it has been looked up', async () => {
    expect(await byPointOfSale(runtime, { pos_id: '12345678' })).toEqual({ kind: 'pos', pos_id: '12345678' });
    expect(await byHistory(runtime, {})).toEqual({ kind: 'history' });
    expect(await byMerchant(runtime, {})).toEqual({ kind: 'merchant' });
  });

  it('an intent in any case of its letters', async () => {
    const link = await opened(runtime.store);
    expect(await byIntent(runtime, { intent_id: link.legacy_id.toUpperCase() })).toEqual({ kind: 'link', link });
    expect(await byIntent(runtime, { intent_id: 'unknown' })).toEqual({ kind: 'link', link: null });
  });

  it('a payment by its number', async () => {
    const link = await opened(runtime.store, { family: 'qr', unit: 'A' });
    const paid = await runtime.store.saveLink(link, { payment_id: '131772540987' });
    expect(await byPayment(runtime, { payment_id: '131772540987' })).toEqual({ kind: 'link', link: paid });
    expect(await byPayment(runtime, { payment_id: '131772540988' })).toEqual({
      kind: 'payment',
      payment_id: '131772540988',
    });
    for (const payment_id of ['', '0', '-1', 'abc', '1.5', '../users/me']) {
      expect(await byPayment(runtime, { payment_id })).toEqual({ kind: 'link', link: null });
    }
  });

  it('a payment by the number that was minted for it, also after the service has given a real one', async () => {
    const link = await opened(runtime.store, { family: 'qr', unit: 'A', merchant_order_id: MINTED });
    const paid = await runtime.store.saveLink(link, { payment_id: '131772540999' });
    const minted = String(MINTED - 1_000_000_000_000_000);
    expect(await byPayment(runtime, { payment_id: minted })).toEqual({ kind: 'link', link: paid });
    expect(await byPayment(runtime, { payment_id: `${minted}0` })).toEqual({ kind: 'link', link: null });
  });

  it.each(['40123456789', '0', '-1', '8030388800000001.0', '8.0303888e15', '80303888000000010', 'MO-1', ''])(
    'a merchant order that is none of ours: %s',
    async (merchant_order_id) => {
      await opened(runtime.store, { family: 'qr', unit: 'A', merchant_order_id: MINTED });
      expect(await byMerchantOrder(runtime, { merchant_order_id })).toEqual({ kind: 'link', link: null });
    },
  );

  it('a merchant order of ours', async () => {
    const link = await opened(runtime.store, { family: 'qr', unit: 'A', merchant_order_id: MINTED });
    expect(await byMerchantOrder(runtime, { merchant_order_id: String(MINTED) })).toEqual({ kind: 'link', link });
    expect(await byMerchantOrder(runtime, { merchant_order_id: String(MINTED + 1) })).toEqual({
      kind: 'link',
      link: null,
    });
  });
});
