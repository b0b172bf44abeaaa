/** The door for `order` webhooks: raw bytes, signature, inbox commit, and only then 200 (DESIGN decision 7). */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type RequestHandler, Router } from 'express';
import { type OrderEvent, orderEvent } from '../../contract/events.ts';
import { ORDER_ID, ORDER_REFERENCE, USER_ID } from '../../contract/identifiers.ts';
import { decodeUtf8 } from '../../contract/json.ts';
import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import { sendAnswer } from './answer.ts';
import { answered } from './legacy-answer.ts';
import { peekBody, singleHeaders } from './request.ts';

/** A real event is below 4 KiB. */
const MAX_EVENT_BYTES = 65_536;

/** What an event announces is a name; anything else that a sender puts there is not kept. */
const ACTION = /^[a-z][a-z_.-]{0,63}$/i;
/** How long the count of what waits in the inbox is believed: a flood must not be answered with a flood of counts. */
const COUNT_KEPT_MS = 1_000;
/** What the sender of a refused event is asked to wait; the vendor's own pace is 15 min. */
const RETRY_AFTER_S = '60';

export interface WebhookDoor {
  runtime: Runtime;
  /** The secret that signs events; null: every event is unverified, and still leads to a read. */
  secret: Secret | null;
  /** What becomes of an unverified event while there is a secret. */
  unverified: 'read' | 'refuse';
  /** Events that may wait in the inbox; beyond it unverified ones are not taken. */
  waiting_limit: number;
  /** An event was committed: handle it now. */
  eventsWaiting(): void;
}

/**
 * `POST /webhooks/orders`. 503 when the event can't be kept, or when too many wait, so that upstream sends it again;
 * 401 for an unverified one where the settings want that (`reliability.md` F103, F109, F110). An event about something that
 * can't be an order of ours, as the vendor panel's test is, is answered 200 and not kept.
 */
export function webhookRouter(door: WebhookDoor): RequestHandler {
  const router = Router({ caseSensitive: true });
  const isFull = watchInbox(door);
  router.post('/webhooks/orders', async (request, response) => {
    const tell = (...answer: Parameters<typeof answered>): void => sendAnswer(response, answered(...answer));
    const body = await peekBody(request, MAX_EVENT_BYTES);
    const query = new URLSearchParams(request.url.split('?', 2)[1] ?? '');
    const headers = singleHeaders(request);
    const event = readEvent(body, query);
    if (event === null) {
      door.runtime.count('events', 'unreadable');
      door.runtime.log.warn('an event was not understood', { cause: shapeOf(body) });
      tell(400, { error: 'bad_request', message: 'No order id or external reference was found' });
      return;
    }
    if (event.type !== undefined && event.type !== 'order' && event.type !== 'orders') {
      door.runtime.count('events', 'other_topic');
      tell(200, { received: true });
      return;
    }
    const verified = isVerified(door, event, query, headers);
    if (!verified && door.secret !== null && door.unverified === 'refuse') {
      door.runtime.count('events', 'refused');
      tell(401, { error: 'unauthorized', message: 'The signature is missing or wrong' });
      return;
    }
    if (event.data?.id === undefined && event.data?.external_reference === undefined) {
      door.runtime.count('events', 'no_order');
      tell(200, { received: true });
      return;
    }
    if (!verified && (await isFull())) {
      door.runtime.count('events', 'shed');
      const message = 'Too many events wait; send it again later';
      tell(503, { error: 'unavailable', message }, { 'retry-after': RETRY_AFTER_S });
      return;
    }
    await keep(door, event, verified);
    door.runtime.failpoint('event.received');
    tell(200, { received: true });
    door.eventsWaiting();
  });
  // A router that is entered costs a call more than the look at its path.
  return (request, response, next) => {
    if (request.url.startsWith('/webhooks/')) router(request, response, next);
    else next();
  };
}

function isVerified(
  { secret }: WebhookDoor,
  event: OrderEvent,
  query: URLSearchParams,
  headers: Record<string, string>,
): boolean {
  if (secret === null) return false;
  const { verified } = verifyOrderSignature({
    query_id: query.get('data.id'),
    body_id: event.data?.id ?? null,
    request_id: headers['x-request-id'] ?? null,
    signature_header: headers['x-signature'] ?? null,
    secret,
  });
  return verified;
}

async function keep({ runtime }: WebhookDoor, event: OrderEvent, verified: boolean): Promise<void> {
  runtime.count('events', verified ? 'verified' : 'unverified');
  runtime.failpoint('event.before_inbox');
  await runtime.store.receiveEvent({
    received_at: runtime.clock.now(),
    order_id: event.data?.id ?? null,
    reference: event.data?.external_reference ?? null,
    user_id: event.user_id ?? null,
    verified,
    action: [event.action, event.data?.status].find((name) => name !== undefined && ACTION.test(name)) ?? 'unknown',
  });
}

/** Whether more wait than may; parked events count, because they wait for their order. */
function watchInbox({ runtime, waiting_limit }: WebhookDoor): () => Promise<boolean> {
  let full = false;
  let counted_at = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = runtime.clock.now();
    if (Math.abs(now - counted_at) < COUNT_KEPT_MS) return full;
    counted_at = now;
    full = (await runtime.store.counts()).events_waiting >= waiting_limit;
    return full;
  };
}

/** What an event points at, with the id and the reference only if they can be an order's; null when it points at nothing. */
function readEvent(body: Buffer, query: URLSearchParams): OrderEvent | null {
  const parsed = orderEvent.safeParse(jsonOrNothing(body));
  const event: OrderEvent = parsed.success ? parsed.data : {};
  const type = event.type ?? query.get('type') ?? undefined;
  const isOurs = type === undefined || type.startsWith('order');
  // The panel's simulator sends a query id unrelated to the body's; the body names the order (`legacy-point.md` §3.3).
  const id = orderId(event.data?.id) ?? orderId(query.get('data.id')) ?? (isOurs ? anyOrderId(body) : undefined);
  const said = event.data?.external_reference ?? query.get('data.external_reference') ?? undefined;
  const reference = said !== undefined && ORDER_REFERENCE.test(said) ? said : undefined;
  const user_id = event.user_id !== undefined && USER_ID.test(event.user_id) ? event.user_id : undefined;
  const named = event.data?.id ?? query.get('data.id') ?? undefined;
  if (id === undefined && reference === undefined && isOurs && named === undefined) return null;
  return {
    ...(event.action === undefined ? {} : { action: event.action }),
    ...(type === undefined ? {} : { type }),
    ...(user_id === undefined ? {} : { user_id }),
    data: {
      ...(id === undefined ? {} : { id }),
      ...(reference === undefined ? {} : { external_reference: reference }),
      ...(event.data?.status === undefined ? {} : { status: event.data.status }),
    },
  };
}

/** The shape of events is documented nowhere for certain (F111): an order id in another place is as good a hint. */
function anyOrderId(body: Buffer): string | undefined {
  return orderId(/\bORD(?:TST)?[0-9A-Z]{26}\b/i.exec(body.toString('latin1'))?.[0]);
}

/** An id as it is, or what was lower-cased on its way in capitals again. */
function orderId(text: string | null | undefined): string | undefined {
  return text == null ? undefined : [text, text.toUpperCase()].find((form) => ORDER_ID.test(form));
}

/** The names of the outermost fields, which say what kind of thing it was and nothing of what was in it. */
function shapeOf(body: Buffer): string {
  const value = jsonOrNothing(body);
  const names = Object.keys(typeof value === 'object' && value !== null ? value : {});
  const plain = names.filter((name) => /^[a-z_]{1,24}$/.test(name)).slice(0, 10);
  return `${body.length} bytes; fields: ${plain.join(', ') || 'none'}`;
}

function jsonOrNothing(body: Buffer): unknown {
  try {
    return JSON.parse(decodeUtf8(body));
  } catch {
    return {};
  }
}

// Checks the signature of an `order` webhook over every casing and time unit in use. Source: `orders-api.md` §4.2.

export interface SignedDelivery {
  /** `data.id` of the query string, as it came; the signature is over this one. */
  query_id: string | null;
  /** `data.id` of the body, which nothing signs. */
  body_id: string | null;
  /** `X-Request-Id`. */
  request_id: string | null;
  /** `X-Signature`: `ts=…,v1=…`. */
  signature_header: string | null;
  secret: Secret;
}

/**
 * Checks a delivery. `timestamp_ms` is the sender's time, epoch ms, also when the check fails; null when unreadable.
 * The body is not part of what is signed, so a body that names another order than the query is not verified.
 * There is no time window: a replay is only a hint to read again (`reliability.md` §3.11.6). Never throws.
 */
export function verifyOrderSignature(delivery: SignedDelivery): { verified: boolean; timestamp_ms: number | null } {
  const parts = readHeader(delivery.signature_header);
  if (parts === null) return { verified: false, timestamp_ms: null };
  const timestamp_ms = readTimestamp_ms(parts.ts);
  const secret = delivery.secret.reveal();
  if (timestamp_ms === null || secret === '' || !DIGEST.test(parts.v1) || namesAnother(delivery)) {
    return { verified: false, timestamp_ms };
  }
  const given = Buffer.from(parts.v1, 'hex');
  let verified = false;
  for (const id of castings(delivery.query_id)) {
    const expected = createHmac('sha256', secret)
      .update(manifest(id, delivery.request_id, parts.ts))
      .digest();
    // No early end: every casting is tried, whichever fits.
    verified = timingSafeEqual(given, expected) || verified;
  }
  return { verified, timestamp_ms };
}

/** SHA-256 as hex; another length would make the constant-time comparison throw (F103). */
const DIGEST = /^[0-9a-f]{64}$/i;
/** Far above any real header; longer ones are not even split. */
const MAX_HEADER_CHARACTERS = 1024;

/** The header's two parts in any order and spacing; null when one is missing or given twice. */
function readHeader(header: string | null): { ts: string; v1: string } | null {
  if (header === null || header.length > MAX_HEADER_CHARACTERS) return null;
  const found = new Map<string, string>();
  for (const part of header.split(',')) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(at, 0)).trim().toLowerCase();
    if (name !== 'ts' && name !== 'v1') continue;
    if (found.has(name)) return null;
    found.set(name, part.slice(at + 1).trim());
  }
  const ts = found.get('ts');
  const v1 = found.get('v1');
  return ts === undefined || v1 === undefined ? null : { ts, v1 };
}

/** Seconds (10 digits) and milliseconds (13) are both live; the number of digits decides. */
function readTimestamp_ms(ts: string): number | null {
  if (/^\d{10}$/.test(ts)) return Number(ts) * 1000;
  return /^\d{13}$/.test(ts) ? Number(ts) : null;
}

function namesAnother({ query_id, body_id }: SignedDelivery): boolean {
  return query_id !== null && body_id !== null && query_id.toLowerCase() !== body_id.toLowerCase();
}

/** The vendor's libraries disagree on the id's case, so each one is tried, once. */
function castings(id: string | null): Iterable<string | null> {
  return id === null || id === '' ? [null] : new Set([id, id.toLowerCase(), id.toUpperCase()]);
}

/** Parts that are absent are left out, with their name. */
function manifest(id: string | null, request_id: string | null, ts: string): string {
  const idPart = id === null ? '' : `id:${id};`;
  const requestPart = request_id === null || request_id === '' ? '' : `request-id:${request_id};`;
  return `${idPart}${requestPart}ts:${ts};`;
}
