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
import { codesOf, SHOPS, terminal } from './shops.ts';

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
  const tills = SHOPS.flatMap((shop, index) => {
    const connection = connect(app.public_url, app.sandbox?.url ?? '', shop.merchant, shop.site, counts);
    const chance = (till: number) => seeded(seed + index * 100 + till);
    const points = Array.from({ length: shop.terminals }, (_, nth) => {
      const own = chance(nth);
      return until((sale) => sellAtTerminal(connection, own, terminal(nth), sale));
    });
    const codes = codesOf(shop).map((till, nth) => {
      const own = chance(50 + nth);
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
