/** Merchants with settings, written before Puente starts; and exchanges, read from the store while it runs. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Exchange } from '../../src/proxy/evidence/exchange.ts';
import type { CapturedMessages } from '../../src/proxy/evidence/redact.ts';
import { type MerchantSettings, merchantSettings } from '../../src/proxy/routing/merchant.ts';
import { createVault, Secret } from '../../src/proxy/vault.ts';
import { firedRows } from '../../src/store/exchanges.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { closing } from '../open.ts';

/** Sites of the test merchants, by the last three digits of their ids. */
const SITES: Readonly<Record<string, string>> = { 200: 'MLA', 300: 'MLB', 400: 'MLM', 500: 'MLC', 600: 'MLU' };
const KEY = 'c7'.repeat(32);

/** Makes a data directory with these merchants. @returns the settings to start with. */
export async function seed(merchants: Record<string, Partial<MerchantSettings>>): Promise<Record<string, string>> {
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
  const vault = createVault(new Secret(KEY));
  const store = await openSqliteStore({
    path: join(data_dir, 'puente.db'),
    create: true,
    key_mark: vault.keyed('key-check', 'puente'),
    now: Date.now,
  });
  for (const [id, settings] of Object.entries(merchants)) {
    const merchant = {
      id,
      site: SITES[id.slice(-3)] ?? null,
      settings: merchantSettings.parse(settings),
      sealed_notice_url: null,
      sealed_notice_secret: null,
      sealed_credential: null,
    };
    const audit = {
      at: Date.now(),
      who: 'a test',
      action: 'stage' as const,
      subject: id,
      reason: 'for the test',
      detail: {},
    };
    await store.merchants.saveMerchant(merchant, 0, audit);
  }
  await store.close();
  return { PUENTE_DATA_DIR: data_dir, PUENTE_SECRET_KEY: KEY, PUENTE_EVIDENCE_BATCH_MS: '20' };
}

export type Kept = Pick<
  Exchange,
  'id' | 'merchant_id' | 'operation' | 'lane' | 'stage' | 'unit' | 'legacy_id' | 'status' | 'error' | 'outcome'
> & {
  upstream: Exchange['upstream'] | null;
  fired: string[] | null;
  losses: Exchange['losses'] | null;
  unknown: Exchange['unknown'] | null;
  shadow: Exchange['shadow'];
  messages: CapturedMessages | null;
};

/** Exchanges in the store now, oldest first. */
export function keptExchanges(data_dir: string): Kept[] {
  using database = closing(new Database(join(data_dir, 'puente.db'), { readonly: true }));
  const rows = database.prepare<[], Record<string, string | null>>('SELECT * FROM exchanges ORDER BY at, id').all();
  return rows.map((row) => {
    const json = (name: string): unknown => (typeof row[name] === 'string' ? JSON.parse(row[name]) : null);
    const parts = ['upstream', 'losses', 'unknown', 'shadow', 'messages'];
    const fired = row.fired === null ? null : firedRows(row.fired ?? null);
    // Columns as the store writes them.
    return { ...row, fired, ...Object.fromEntries(parts.map((name) => [name, json(name)])) } as unknown as Kept;
  });
}

/** Creates that each API received, from the sandbox's request log. */
export function createsOf(requests: readonly { method: string; path: string }[]): { legacy: number; orders: number } {
  const count = (pattern: RegExp): number =>
    requests.filter(({ method, path }) => pattern.test(`${method} ${path}`)).length;
  return {
    legacy: count(/^POST \/point\/\S+\/payment-intents$|^PUT \/instore\/|^POST \/(mpmobile|instore)\//),
    orders: count(/^POST \/v1\/orders$/),
  };
}
