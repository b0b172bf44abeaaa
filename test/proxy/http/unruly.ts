/** An upstream with any answers, for those that the sandbox never gives. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, type AppParts, startApp } from '../../../src/app/app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { usualKeeping } from '../../engines/keeping.ts';
import { beginWriter } from '../../engines/writer-threads.ts';
import { type Answer, ARGENTINA, type Call, call, OPS_TOKEN, tables, tokenOf } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';

export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  raw_headers: string[];
  body: Buffer;
}

export interface Unruly {
  url: string;
  seen: Seen[];
  close(): Promise<void>;
}

export async function startUnruly(handle: (seen: Seen, response: ServerResponse) => void): Promise<Unruly> {
  const seen: Seen[] = [];
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = request;
      const one = { method, path: url, headers, raw_headers: rawHeaders, body: Buffer.concat(chunks) };
      seen.push(one);
      handle(one, response);
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close: () => shut(server),
  };
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function answerWho(response: ServerResponse, merchant = ARGENTINA): void {
  answerJson(response, 200, { id: Number(merchant), site_id: 'MLA' });
}

export function orderFor(seen: Pick<Seen, 'body'>, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const sent = JSON.parse(seen.body.toString('utf8')) as Record<string, unknown>; // Puente's own JSON
  const now = new Date().toISOString();
  const payments = (sent.transactions as { payments: object[] }).payments; // as above
  return {
    ...sent,
    id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD',
    user_id: ARGENTINA,
    status: 'created',
    status_detail: 'created',
    created_date: now,
    last_updated_date: now,
    transactions: { payments: payments.map((payment) => ({ ...payment, id: 'PAY01', status: 'created' })) },
    ...changes,
  };
}

export interface Outside {
  app: App;
  data_dir: string;
  till(path: string, options?: Call & { merchant?: string }): Promise<Answer>;
  ops(path: string, options?: Call): Promise<Answer>;
  close(): Promise<void>;
}

/** Puente with custom upstreams: every merchant on orders, loopback receivers allowed. */
export async function startOutside(
  upstream: string,
  settings: Record<string, string> = {},
  parts: AppParts = {},
): Promise<Outside> {
  const data_dir = settings.PUENTE_DATA_DIR ?? mkdtempSync(join(tmpdir(), 'puente-test-'));
  // A test that names the folder sees what a first start makes of it.
  if (settings.PUENTE_DATA_DIR === undefined) await usualKeeping().make(data_dir, parts.clock?.now() ?? Date.now());
  const config = loadConfig({
    env: {
      PUENTE_DATA_DIR: data_dir,
      PUENTE_UPSTREAM: upstream,
      PUENTE_LEGACY_UPSTREAM: upstream,
      PUENTE_SECRET_KEY: 'c7'.repeat(32),
      PUENTE_WEBHOOK_SECRET: 'a webhook secret of the tests',
      PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
      PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_OPS_TOKEN: OPS_TOKEN,
      PUENTE_LOG_LEVEL: 'silent',
      PUENTE_LIMITS_LAG_MS: '600000', // as in test/kit.ts
      ...settings,
    },
    cwd: process.cwd(),
  });
  const shipped = config.mappings.folder === null ? { tables: tables() } : {};
  const app = await startApp(config, { ...shipped, beginWriter, ...parts });
  return {
    app,
    data_dir,
    till: (path, { merchant = ARGENTINA, ...options } = {}) =>
      call(app.public_url + path, { token: tokenOf(merchant), ...options }),
    ops: (path, options) => call(app.ops_url + path, { token: OPS_TOKEN, ...options }),
    async close() {
      await app.close();
      if (settings.PUENTE_DATA_DIR === undefined) rmSync(data_dir, { recursive: true, force: true });
    },
  };
}
