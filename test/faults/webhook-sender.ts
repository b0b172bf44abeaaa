/** Sends events as the vendor does, and forged ones. */
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Answer, ARGENTINA, call, eventually } from '../kit.ts';
import { closing } from '../open.ts';

export const SECRET = 'a webhook secret of the tests';

export interface SentEvent {
  /** Order id, in the query and in the body. */
  id: string;
  action?: string;
  request_id?: string;
  /** The sender's clock, epoch ms. */
  ts?: number;
  /** Builds the signature header from the right digest; null: no header. */
  header?: (ts: number, digest: string) => string | null;
  secret?: string;
  user_id?: string;
  body?: unknown;
}

/** Sends one event to the public door, correctly signed by default. */
export function sendEvent(public_url: string, event: SentEvent): Promise<Answer> {
  const { id, action = 'order.processed', request_id = 'r-1', ts = Date.now(), secret = SECRET } = event;
  const digest = createHmac('sha256', secret)
    .update(`id:${id.toLowerCase()};request-id:${request_id};ts:${ts};`)
    .digest('hex');
  const header = (event.header ?? usualHeader)(ts, digest);
  return call(`${public_url}/webhooks/orders?data.id=${id}&type=order`, {
    headers: { 'x-request-id': request_id, ...(header === null ? {} : { 'x-signature': header }) },
    body: event.body ?? { action, type: 'order', user_id: event.user_id ?? ARGENTINA, data: { id } },
  });
}

export const usualHeader = (ts: number, digest: string): string => `ts=${ts},v1=${digest}`;

export interface InboxRow {
  order_id: string | null;
  verified: number;
  state: string;
  attempts: number;
}

/** The inbox, oldest first, read while the process runs. */
export function inboxOf(data_dir: string): InboxRow[] {
  using database = closing(new Database(join(data_dir, 'puente.db'), { readonly: true }));
  return database
    .prepare<[], InboxRow>('SELECT order_id, verified, state, attempts FROM events ORDER BY sequence')
    .all();
}

export function allHandled(data_dir: string): Promise<InboxRow[]> {
  return eventually(
    async () => inboxOf(data_dir),
    (rows) => rows.every((row) => row.state !== 'pending'),
  );
}

const ULID_LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** An order id that does not exist, another one for each number. */
export function inventedOrder(number: number): string {
  const digits = [...number.toString(32)].map((digit) => ULID_LETTERS[Number.parseInt(digit, 32)]).join('');
  return `ORD01K7FFD${digits.padStart(19, '0')}`;
}
