/**
 * A yardstick for what Puente adds, a process of its own: Express 5, JSON both ways, undici, and a durable commit before and
 * after each create, as P1 asks (`reliability.md` §2). No tokens, lanes, retries, evidence or log, and nothing but creates.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import express from 'express';
import { Pool } from 'undici';
import { takeRandom } from '../../src/core/entropy.ts';
import { RANDOM_BYTES, uuidV7 } from '../../src/core/identifier.ts';
import type { Group, Row } from './bare-translation-writer.ts';

/** As many as Puente may have. */
const CONNECTIONS = 256;

interface Intent {
  amount: number;
  additional_info: { external_reference: string; print_on_terminal: boolean };
}

const [target, database] = process.argv.slice(2);
if (target === undefined || database === undefined)
  throw new Error('Give the base URL of the upstream and the file of the database as the arguments.');

const writer = new Worker(new URL('./bare-translation-writer.ts', import.meta.url), { workerData: database });
await once(writer, 'online');
const pool = new Pool(target, { connections: CONNECTIONS, pipelining: 1 });

const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.post('/point/integration-api/devices/:device/payment-intents', async (request, response) => {
  const { device } = request.params;
  const intent = JSON.parse(await textOf(request)) as Intent; // what the benchmark sends
  const id = uuidV7(Date.now(), takeRandom(RANDOM_BYTES));
  const body = orderOf(device, intent);
  await durable({ id, body, order_id: null });
  const headers = {
    authorization: String(request.headers.authorization),
    'content-type': 'application/json',
    'x-idempotency-key': id,
  };
  const made = await pool.request({ method: 'POST', path: '/v1/orders', headers, body });
  if (made.statusCode !== 201) throw new Error(`the upstream answered ${made.statusCode}`);
  const order = (await made.body.json()) as { id: string }; // what its upstream answers
  await durable({ id, body: null, order_id: order.id });
  response.status(201).json({ id, device_id: device, ...intent });
});

const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  process.stdout.write(`bare translation on http://127.0.0.1:${port}\n`);
});
server.keepAliveTimeout = 600_000; // longer than any pause between two measurements
process.on('SIGTERM', () => process.exit(0));

function orderOf(terminal_id: string, { amount, additional_info }: Intent): string {
  const { external_reference, print_on_terminal } = additional_info;
  return JSON.stringify({
    type: 'point',
    external_reference,
    expiration_time: 'PT15M',
    transactions: { payments: [{ amount: (amount / 100).toFixed(2) }] },
    config: { point: { terminal_id, print_on_terminal: print_on_terminal ? 'seller_ticket' : 'no_ticket' } },
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer); // no encoding is set
  return Buffer.concat(parts).toString('utf8');
}

/** One group is with the writer, and what comes meanwhile gathers for the next; no group waits to become larger. */
let waiting: { rows: Row[]; resolved: (() => void)[] } = { rows: [], resolved: [] };
let committing: (() => void)[] | null = null;
let is_scheduled = false;

/** Resolves when the row is on the disk. */
function durable(row: Row): Promise<void> {
  return new Promise((resolve) => {
    waiting.rows.push(row);
    waiting.resolved.push(resolve);
    if (is_scheduled || committing !== null) return;
    is_scheduled = true;
    setImmediate(() => {
      is_scheduled = false;
      post();
    });
  });
}

function post(): void {
  const { rows, resolved } = waiting;
  waiting = { rows: [], resolved: [] };
  committing = resolved;
  writer.postMessage(rows satisfies Group);
}

writer.on('message', () => {
  const committed = committing ?? [];
  committing = null;
  if (waiting.rows.length > 0) post();
  for (const resolve of committed) resolve();
});
