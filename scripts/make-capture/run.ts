/** Makes a capture: Puente with capture on, with the sandbox, and tills that sell until there are enough calls. */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { request } from 'undici';
import { type App, startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { seeded } from './chance.ts';
import { type Counts, connect, newCounts } from './counter.ts';
import { sellAtTerminal } from './point-till.ts';
import { sellByCode } from './qr-till.ts';

export interface Making {
  /** Least number of till calls; sales under way are finished. */
  exchanges: number;
  output: string;
  seed: number;
  stage: 'shadow' | 'orders';
  onProgress(calls: number): void;
}

export interface Made {
  counts: Counts;
  state: { counts: { orders: number; payments: number }; legacy: { counts: { intents: number } } };
}

const SHOPS = [
  { merchant: '700100200', site: 'MLA', currency: 'ARS', exponent: 2, terminals: 3, numbers: 1_000_000 },
  { merchant: '700100300', site: 'MLB', currency: 'BRL', exponent: 2, terminals: 3, numbers: 2_000_000 },
  { merchant: '700100400', site: 'MLM', currency: 'MXN', exponent: 2, terminals: 2, numbers: 3_000_000 },
  { merchant: '700100500', site: 'MLC', currency: 'CLP', exponent: 0, terminals: 0, numbers: 4_000_000 },
  { merchant: '700100600', site: 'MLU', currency: 'UYU', exponent: 2, terminals: 0, numbers: 5_000_000 },
] as const;

const TILLS = [
  { external_id: 'SUC001POS001', ordinal: 1 },
  { external_id: 'SUC001POS002', ordinal: 2 },
] as const;

/** Uses a temporary directory; only the capture file remains. */
export async function makeCapture(making: Making): Promise<Made> {
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-capture-'));
  const env = {
    PUENTE_DATA_DIR: data_dir,
    PUENTE_PUBLIC_PORT: '0',
    PUENTE_OPS_PORT: '0',
    PUENTE_SANDBOX_PORT: '0',
    PUENTE_LOG_LEVEL: 'silent',
    // Tills and Puente share this process, and their work must not make Puente shed a till.
    PUENTE_LIMITS_LAG_MS: '600000',
    PUENTE_ROUTING_DEFAULT_STAGE: making.stage,
    PUENTE_MERCHANTS_CAPTURE: 'true',
    PUENTE_SHADOW_QUEUE: '100000',
    PUENTE_EVIDENCE_QUEUE: '100000',
    PUENTE_SANDBOX_SETTINGS: JSON.stringify({ extra_terminals: 3 }),
  };
  try {
    const app = await startApp(loadConfig({ env, cwd: data_dir }));
    try {
      const counts = await sell(app, making);
      await save(app, making.output);
      const state = await ask(`${app.sandbox?.url}/_sandbox/state`);
      return { counts, state: (await state.json()) as Made['state'] }; // the sandbox's shape
    } finally {
      await app.close();
    }
  } finally {
    rmSync(data_dir, { recursive: true, force: true });
  }
}

/** Each terminal and each point of sale is a till of its own; they sell in parallel. */
async function sell(app: App, { exchanges, seed, onProgress }: Making): Promise<Counts> {
  const counts = newCounts();
  let number = 0;
  const until = async (sale: (number: number) => Promise<void>): Promise<void> => {
    while (counts.calls < exchanges) {
      number++;
      await sale(number);
      onProgress(counts.calls);
    }
  };
  const tills = SHOPS.flatMap(({ merchant, site, currency, exponent, terminals, numbers }, shop) => {
    const connection = connect(app.public_url, app.sandbox?.url ?? '', merchant, site, counts);
    const chance = (till: number) => seeded(seed + shop * 100 + till);
    const points = Array.from({ length: terminals }, (_, index) => {
      const own = chance(index);
      const device = `NEWLAND_N950__LOAD${String(index + 1).padStart(7, '0')}`;
      return until((sale) => sellAtTerminal(connection, own, device, sale));
    });
    const codes = TILLS.map(({ external_id, ordinal }, index) => {
      const own = chance(50 + index);
      const till = { external_id, number: numbers + ordinal, currency, exponent };
      return until((sale) => sellByCode(connection, own, till, sale));
    });
    return [...points, ...codes];
  });
  await Promise.all(tills);
  return counts;
}

async function save(app: App, output: string): Promise<void> {
  const exported = await ask(`${app.ops_url}/api/exchanges`, app.ops_token?.reveal());
  await pipeline(exported, createWriteStream(output, { mode: 0o600 }));
}

/** @throws Error for any other status than 2xx. */
async function ask(url: string, token?: string): Promise<Awaited<ReturnType<typeof request>>['body']> {
  const { statusCode, body } = await request(url, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  if (statusCode >= 300) throw new Error(`${url} was answered ${statusCode}: ${await body.text()}`);
  return body;
}
