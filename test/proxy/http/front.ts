/** A real server in front of a real sandbox that can change its reads of orders. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { request } from 'undici';
import type { AppParts } from '../../../src/app/app.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { type Answer, ARGENTINA, call } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';
import { type Outside, startOutside } from './unruly.ts';

export type WireOrder = Record<string, unknown> & { id: string; status: string };

export interface Front extends Outside {
  sandbox: Sandbox;
  /** Changes the order in a read; null leaves it unchanged. */
  lie: ((order: WireOrder) => WireOrder) | null;
  reads(): number;
  control(path: string, options?: { method?: string; body?: unknown }): Promise<Answer>;
  atTerminal(action: string, device: string, merchant?: string): Promise<Answer>;
}

/** Background reads are off, so that only the reconciliation finds a difference. */
const QUIET = {
  PUENTE_RECONCILE_POINT_INTERVAL_MS: '3600000',
  PUENTE_RECONCILE_QR_INTERVAL_MS: '3600000',
  PUENTE_RECONCILE_MAX_INTERVAL_MS: '86400000',
  PUENTE_RECONCILE_SWEEP_PER_SECOND: '0',
  PUENTE_CREATE_SETTLE_AFTER_MS: '3600000',
};

export async function openFront(settings: Record<string, string> = {}, parts: AppParts = {}): Promise<Front> {
  const now = parts.clock?.now;
  const sandbox = await startSandbox({
    host: '127.0.0.1',
    port: 0,
    settings: { extra_terminals: 20 },
    ...(now === undefined ? {} : { now }),
  });
  let reads = 0;
  const server = createServer((incoming, response) => {
    const is_read = incoming.method === 'GET' && /^\/v1\/orders\/ORD/.test(incoming.url ?? '');
    if (is_read) reads++;
    void forward(sandbox.url, incoming, response, is_read ? front.lie : null);
  });
  const port = await listen(server);
  const outside = await startOutside(`http://127.0.0.1:${port}`, { ...QUIET, ...settings }, parts);
  sandbox.world.configure({
    webhook_url: `${outside.app.public_url}/webhooks/orders`,
    webhook_secret: 'a webhook secret of the tests',
  });
  const control: Front['control'] = (path, options) => call(`${sandbox.url}/_sandbox${path}`, options);
  const front: Front = {
    ...outside,
    sandbox,
    lie: null,
    reads: () => reads,
    control,
    atTerminal: (action, device, merchant = ARGENTINA) =>
      control(`/terminals/${merchant}/${device}/${action}`, { body: {} }),
    async close() {
      await outside.close();
      await shut(server);
      await sandbox.close();
    },
  };
  return front;
}

/** All rows as text; equal texts mean that nothing was written. */
export function storedBy({ data_dir }: Outside): string {
  const database = new Database(join(data_dir, 'puente.db'), { readonly: true });
  try {
    const tables = database.prepare<[], { name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table'`).all();
    return tables
      .map(({ name }) => `${name}: ${JSON.stringify(database.prepare(`SELECT * FROM "${name}"`).all())}`)
      .join('\n');
  } finally {
    database.close();
  }
}

/** Answers a call as the server at `to` does. @param lie changes the order in a read. */
export async function forward(
  to: string,
  incoming: IncomingMessage,
  response: ServerResponse,
  lie: Front['lie'] = null,
): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { host: _host, connection: _connection, 'content-length': _length, ...headers } = incoming.headers;
  const answer = await request(to + incoming.url, {
    method: incoming.method as 'GET', // undici's list of methods is narrower
    headers,
    ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
  });
  const text = await answer.body.text();
  const told = lie === null || answer.statusCode !== 200 ? text : JSON.stringify(lie(JSON.parse(text)));
  response.writeHead(answer.statusCode, {
    'content-type': String(answer.headers['content-type'] ?? 'application/json'),
  });
  response.end(told);
}
