/** The upstream of the benchmark, a process of its own: answers a valid order to every create, keeps nothing but two counts. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UpstreamCounts } from './checks.ts';

const counts: UpstreamCounts = { orders: 0, intents: 0 };
const LEGACY_CREATE = /^\/point\/integration-api\/devices\/([^/]+)\/payment-intents$/;
/** Crockford's alphabet, in which an order id is written (`orders-api.md` §1.4). */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** Longer than any pause between two measurements. */
const KEEP_ALIVE_MS = 600_000;

const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true }, (request, response) => {
  if (request.method === 'POST') return create(request, response);
  if (request.url === '/_bench/counts') return send(response, 200, JSON.stringify(counts));
  if (request.url === '/users/me') {
    const id = Number(request.headers.authorization?.split('-').at(-1));
    return send(response, 200, JSON.stringify({ id, nickname: 'BENCH', site_id: 'MLA', country_id: 'AR' }));
  }
  send(response, 404, '{"errors":[{"code":"order_not_found","message":"Nothing is kept here"}]}');
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // a TCP server's address is never text
  process.stdout.write(`upstream on http://127.0.0.1:${port}\n`);
});
process.on('SIGTERM', () => process.exit(0));

/** The same order answers both roads, so that translated and untouched creates cost the upstream the same. */
function create(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const device = LEGACY_CREATE.exec(request.url ?? '')?.[1];
    if (device === undefined) counts.orders++;
    else counts.intents++;
    const order =
      device === undefined
        ? orderOf(body.external_reference, body.config.point.terminal_id, body.transactions.payments[0].amount)
        : orderOf(body.additional_info.external_reference, device, (body.amount / 100).toFixed(2));
    send(response, 201, order);
  });
}

function orderOf(reference: string, terminal: string, amount: string): string {
  const id = ulid(counts.orders + counts.intents);
  const now = new Date().toISOString();
  return JSON.stringify({
    id: `ORD${id}`,
    type: 'point',
    user_id: '700100200',
    external_reference: reference,
    expiration_time: 'PT15M',
    processing_mode: 'automatic',
    country_code: 'ARG',
    currency: 'ARS',
    integration_data: { application_id: '4004001' },
    status: 'created',
    status_detail: 'created',
    created_date: now,
    last_updated_date: now,
    config: { point: { terminal_id: terminal, print_on_terminal: 'seller_ticket' } },
    transactions: { payments: [{ id: `PAY${id}`, amount, status: 'created' }] },
  });
}

/** 26 characters that no other create of this process has. */
function ulid(count: number): string {
  let text = '';
  for (let rest = count; rest > 0; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text;
  return `01BENCH${text.padStart(19, '0')}`;
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
