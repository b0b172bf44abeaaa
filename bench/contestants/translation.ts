/**
 * A yardstick for Puente's overhead, a process of its own: Express 5, JSON both ways, undici, and a durable commit
 * before and after each create, as P1 requires (`docs/protocol.md` §2). No tokens, lanes, retries, evidence or log, and
 * only creates. Its rows are minimal, or Puente's own of a sale.
 */
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { Pool } from 'undici';
import type { Order } from '../../src/contract/orders.ts';
import { uuidV7 } from '../../src/proxy/ids.ts';
import { openBareRows } from './bare-rows.ts';
import { BARE_TRANSLATION } from './contestants.ts';
import { openOwnRows } from './own-rows.ts';

/** Rows of a create. Both methods resolve when the row is on disk. */
export interface Rows {
  open(sale: { id: string; unit: string; reference: string; amount_minor: number; body: string }): Promise<void>;
  settle(id: string, order: Order): Promise<void>;
}

/** Puente's own maximum. */
const CONNECTIONS = 256;

interface Intent {
  amount: number;
  additional_info: { external_reference: string; print_on_terminal: boolean };
}

const [target, database, kind] = process.argv.slice(2);
if (target === undefined || database === undefined)
  throw new Error('Give the base URL of the upstream and the file of the database as the arguments.');

const rows = kind === BARE_TRANSLATION ? await openBareRows(database) : await openOwnRows(database);
const pool = new Pool(target, { connections: CONNECTIONS, pipelining: 1 });

const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.post('/point/integration-api/devices/:device/payment-intents', async (request, response) => {
  const { device } = request.params;
  const intent = JSON.parse(await textOf(request)) as Intent; // sent by the benchmark
  const id = uuidV7(Date.now());
  const body = orderOf(device, intent);
  const { external_reference: reference } = intent.additional_info;
  await rows.open({ id, unit: device, reference, amount_minor: intent.amount, body });
  const headers = {
    authorization: String(request.headers.authorization),
    'content-type': 'application/json',
    'x-idempotency-key': id,
  };
  const made = await pool.request({ method: 'POST', path: '/v1/orders', headers, body });
  if (made.statusCode !== 201) throw new Error(`the upstream answered ${made.statusCode}`);
  const order = (await made.body.json()) as Order; // the answer of its upstream
  await rows.settle(id, order);
  response.status(201).json({ id, device_id: device, ...intent });
});

const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  process.stdout.write(`${kind} on http://127.0.0.1:${port}\n`);
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
