/** One merchant's shop: its tills' connection, its receiver of notices, and its record of sales. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { listen, shut } from '../../test/listen.ts';
import type { Answer } from '../http.ts';
import { type Connection, connect, newCounts } from '../make-capture/counter.ts';
import type { Stand } from './stand.ts';

/** A sale as its till knows it. */
export interface Sale {
  family: 'point' | 'qr';
  unit: string;
  reference: string;
  /** The legacy id; null for an in-store QR order, which has none. */
  id: string | null;
  amount_minor: number;
  /** Last state that the till saw, of the intent or the merchant order. */
  state: string;
  payment_id: number | null;
  refunded: boolean;
  /** The lane on which the sale was created, as found right afterwards; null before. */
  born: 'legacy' | 'orders' | null;
}

/** A new sale in the shop's record. */
export function noteSale(shop: Pick<Shop, 'sales'>, made: Omit<Sale, 'payment_id' | 'refunded' | 'born'>): Sale {
  const sale: Sale = { ...made, payment_id: null, refunded: false, born: null };
  shop.sales.push(sale);
  return sale;
}

/** A delivery, with the values that the receiver read before it answered. */
export interface Told {
  topic: string;
  /** Id of the intent, payment or merchant order. */
  subject: string;
  /** State of the subject when read. */
  state: string;
  /** The till's reference in the notice. */
  reference: string;
  signature_right: boolean;
}

export interface Shop extends Connection {
  /** Short, for the files of its reports and the references of its sales. */
  name: string;
  /** What people call it. */
  known_as: string;
  units: readonly string[];
  /** URL and signing secret of its notices. */
  notice_url: string;
  notice_secret: string;
  sales: Sale[];
  told: readonly Told[];
  nextReference(): string;
  /** Resolves with the first matching delivery; null if none came in time. */
  toldOf(fits: (told: Told) => boolean): Promise<Told | null>;
  close(): Promise<void>;
}

/** With the sandbox a notice takes milliseconds; after this none will come. */
const NOTICE_LIMIT_MS = 30_000;
/** Longer than any pause between two notices, so that no connection closes under the next one. */
const KEEP_ALIVE_MS = 75_000;

export interface ShopFacts {
  merchant: string;
  site: string;
  name: string;
  known_as: string;
  units: readonly string[];
}

export async function openShop(stand: Stand, { merchant, site, name, known_as, units }: ShopFacts): Promise<Shop> {
  const connection = connect(stand.public_url, stand.sandbox_url, merchant, site, newCounts());
  const notice_secret = `the secret of the tills of ${name}`;
  const told: Told[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((incoming, response) => {
    handle(connection, incoming, notice_secret).then(
      (one) => {
        told.push(one);
        response.end('OK');
        for (const look of waiting) look();
      },
      () => response.writeHead(500).end(),
    );
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const port = await listen(server);
  const notice_url = `http://127.0.0.1:${port}/notification`;
  // The vendor's panel as the merchant filled it in.
  const panel = { url: notice_url, topic: 'point_integration_wh', secret: notice_secret };
  await stand.control('PUT', `/legacy/merchants/${merchant}/notifications`, panel);
  let references = 0;
  return {
    ...connection,
    name,
    known_as,
    units,
    notice_url,
    notice_secret,
    sales: [],
    told,
    nextReference: () => `${name}-${String(++references).padStart(4, '0')}`,
    toldOf: (fits) =>
      new Promise((resolve) => {
        const end = (found: Told | null): void => {
          clearTimeout(limit);
          waiting.delete(look);
          resolve(found);
        };
        const look = (): void => {
          const found = told.find(fits);
          if (found !== undefined) end(found);
        };
        const limit = setTimeout(() => end(null), NOTICE_LIMIT_MS);
        waiting.add(look);
        look();
      }),
    async close() {
      await shut(server);
    },
  };
}

/** Reads a notice's subject before answering, as Odoo and the official examples do. */
async function handle(connection: Connection, incoming: IncomingMessage, secret: string): Promise<Told> {
  let text = '';
  for await (const chunk of incoming) text += chunk;
  const query = new URL(incoming.url ?? '/', 'http://receiver').searchParams;
  const topic = query.get('topic') ?? query.get('type') ?? '';
  if (topic === 'point_integration_wh') {
    const id = query.get('data.id') ?? '';
    const read = await connection.call('point.get_intent', 'GET', `/point/integration-api/payment-intents/${id}`);
    const reference = String(Object(fieldsOf(read).additional_info).external_reference);
    const signature_right = isSigned(incoming, id, secret);
    return { topic, subject: id, state: String(fieldsOf(read).state), reference, signature_right };
  }
  const id = query.get('id') ?? '';
  const about =
    topic === 'payment'
      ? await connection.call('payments.get', 'GET', `/v1/payments/${id}`)
      : await connection.call('merchant_orders.get', 'GET', new URL(Object(JSON.parse(text)).resource).pathname);
  const { status, external_reference } = fieldsOf(about);
  // IPN of QR sales was never signed.
  return { topic, subject: id, state: String(status), reference: String(external_reference), signature_right: true };
}

/** @throws Error for any other status than 200; the notice is then sent again. */
export function fieldsOf({ status, body }: Answer): Record<string, unknown> {
  if (status !== 200) throw new Error(`A read was answered ${status}: ${JSON.stringify(body)}`);
  return body as Record<string, unknown>; // every legacy read returns an object
}

/** HMAC over `id:{id};request-id:{X-Request-Id};ts:{ts};`, id unchanged (`docs/field-notes.md` Point finding 3). */
function isSigned(incoming: IncomingMessage, id: string, secret: string): boolean {
  const [, ts = '', v1 = ''] = /^ts=(\d+),v1=([0-9a-f]{64})$/.exec(String(incoming.headers['x-signature'])) ?? [];
  if (v1 === '') return false;
  const manifest = `id:${id};request-id:${incoming.headers['x-request-id']};ts:${ts};`;
  return timingSafeEqual(createHmac('sha256', secret).update(manifest).digest(), Buffer.from(v1, 'hex'));
}
