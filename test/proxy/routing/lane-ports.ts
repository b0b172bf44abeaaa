/** A Puente without doors for tests of lanes: the real stories on a store and upstreams of the test. */
import { join } from 'node:path';
import { createPorts, type PortParts } from '../../../src/app/ports.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { loadTables } from '../../../src/mapping/load.ts';
import type { Ports, Store } from '../../../src/ops/ports.ts';
import { systemClock } from '../../../src/proxy/clock.ts';
import { type MerchantSettings, merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import type { Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { createVault, Secret } from '../../../src/proxy/vault.ts';
import { auditOf } from '../../store/contract/harness.ts';

const tables = loadTables(join(import.meta.dirname, '../../..', 'mappings'));
const vault = createVault(new Secret('c7'.repeat(32)));
const legacyFirst = loadConfig({ env: { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }, cwd: process.cwd() });

export function lanePorts(parts: Pick<PortParts, 'store' | 'upstreams'> & Partial<PortParts>): Ports {
  return createPorts(legacyFirst, {
    tables,
    vault,
    clock: systemClock,
    random: Math.random,
    log: createLog('silent'),
    count: () => undefined,
    // There is no door, so there are no exchanges.
    evidence: {
      finished: () => undefined,
      shadowed: () => undefined,
      coming: () => undefined,
      settled: async () => undefined,
    },
    failpoint: () => undefined,
    ...parts,
  });
}

/** Where nobody is called: nothing of a request is sent. @param now epoch ms. */
export function portsAt(store: Store, now: () => number, parts: Partial<PortParts> = {}): Ports {
  const silent: Upstream = { send: async () => ({ kind: 'not_sent', cause: 'nobody is there' }) };
  const clock = { now, sleep: async () => undefined };
  return lanePorts({ store, upstreams: { orders: silent, legacy: silent }, clock, ...parts });
}

export async function setMerchant(store: Store, id: string, settings: Partial<MerchantSettings>): Promise<void> {
  const before = await store.merchants.merchant(id);
  const merged = merchantSettings.parse({ ...before?.settings, ...settings });
  const sealed = { sealed_notice_url: null, sealed_notice_secret: null, sealed_credential: null };
  const revision = before?.revision ?? 0;
  await store.merchants.saveMerchant(
    { id, site: before?.site ?? 'MLA', settings: merged, ...sealed },
    revision,
    auditOf('stage'),
  );
}
