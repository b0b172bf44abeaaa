/** The webhook door: checks and stores the order events of upstream before it answers them. */
import { type RequestHandler, Router } from 'express';
import { type OrderEvent, orderEvent } from '../../contract/events.ts';
import { ORDER_ID, ORDER_REFERENCE, USER_ID } from '../../contract/identifiers.ts';
import { decodeUtf8 } from '../../contract/json.ts';
import type { Ports } from '../ports.ts';
import type { Secret } from '../vault.ts';
import { answered, sendAnswer } from './answer.ts';
import { peekBody, singleHeaders } from './request.ts';
import { verifyOrderSignature } from './signature.ts';

/** A real event is below 4 KiB. */
const MAX_EVENT_BYTES = 65_536;
/** The form of an action; other text of a sender is not stored. */
const ACTION = /^[a-z][a-z_.-]{0,63}$/i;
/** How long the count of waiting events is cached: a flood of events must not cause a flood of counts. */
const COUNT_KEPT_MS = 1_000;
/** The wait of a refused sender; upstream itself repeats after 15 min. */
const RETRY_AFTER_S = '60';

interface WebhookDoor {
  ports: Ports;
  /** Signs events; null: every event is unverified, and still leads to a read. */
  secret: Secret | null;
  /** Policy for an unverified event while there is a secret. */
  unverified: 'read' | 'refuse';
  /** Events that may wait in the inbox; beyond it, unverified ones are refused. */
  waiting_limit: number;
}

/**
 * `POST /webhooks/orders`. 503 when the event can't be stored, or too many wait, so that upstream sends it again; 401
 * for an unverified one where the settings require it (`test/faults/README.md` F103, F109, F110). An event that can't
 * be about an order, such as the test of upstream's panel, is answered 200 and not stored.
 */
export function webhookRouter(door: WebhookDoor): RequestHandler {
  const router = Router({ caseSensitive: true });
  const isFull = watchInbox(door);
  router.post('/webhooks/orders', async (request, response) => {
    const reply = (...answer: Parameters<typeof answered>): void => sendAnswer(response, answered(...answer));
    const body = await peekBody(request, MAX_EVENT_BYTES);
    const query = new URLSearchParams(request.url.split('?', 2)[1] ?? '');
    const headers = singleHeaders(request);
    const event = readEvent(body, query);
    if (event === null) {
      door.ports.count('events', 'unreadable');
      door.ports.log.warn('an event was not understood', { cause: shapeOf(body) });
      reply(400, { error: 'bad_request', message: 'No order id or external reference was found' });
      return;
    }
    if (event.type !== undefined && event.type !== 'order' && event.type !== 'orders') {
      door.ports.count('events', 'other_topic');
      reply(200, { received: true });
      return;
    }
    const verified = isVerified(door, event, query, headers);
    if (!verified && door.secret !== null && door.unverified === 'refuse') {
      door.ports.count('events', 'refused');
      reply(401, { error: 'unauthorized', message: 'The signature is missing or wrong' });
      return;
    }
    if (event.data?.id === undefined && event.data?.external_reference === undefined) {
      door.ports.count('events', 'no_order');
      reply(200, { received: true });
      return;
    }
    if (!verified && (await isFull())) {
      door.ports.count('events', 'shed');
      const message = 'Too many events wait; send it again later';
      reply(503, { error: 'unavailable', message }, { 'retry-after': RETRY_AFTER_S });
      return;
    }
    await keep(door, event, verified);
    door.ports.memory.failpoint('event.received');
    reply(200, { received: true });
    door.ports.memory.wakeups.events.wake();
  });
  return router;
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

async function keep({ ports }: WebhookDoor, event: OrderEvent, verified: boolean): Promise<void> {
  ports.count('events', verified ? 'verified' : 'unverified');
  ports.memory.failpoint('event.before_inbox');
  await ports.store.events.receiveEvent({
    received_at: ports.clock.now(),
    order_id: event.data?.id ?? null,
    reference: event.data?.external_reference ?? null,
    user_id: event.user_id ?? null,
    verified,
    action: [event.action, event.data?.status].find((name) => name !== undefined && ACTION.test(name)) ?? 'unknown',
  });
}

/** True when too many events wait; parked ones count, because they wait for their order. */
function watchInbox({ ports, waiting_limit }: WebhookDoor): () => Promise<boolean> {
  let full = false;
  let counted_at = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = ports.clock.now();
    if (Math.abs(now - counted_at) < COUNT_KEPT_MS) return full;
    counted_at = now;
    full = (await ports.store.upkeep.counts()).events_waiting >= waiting_limit;
    return full;
  };
}

/** The event, with id and reference only if they can be an order's; null when it names nothing. */
function readEvent(body: Buffer, query: URLSearchParams): OrderEvent | null {
  const parsed = orderEvent.safeParse(jsonOrNothing(body));
  const event: OrderEvent = parsed.success ? parsed.data : {};
  const type = event.type ?? query.get('type') ?? undefined;
  const isOurs = type === undefined || type.startsWith('order');
  // The panel's simulator sends an unrelated query id; the body names the order (`docs/field-notes.md` Point §3.3).
  const id = orderId(event.data?.id) ?? orderId(query.get('data.id')) ?? (isOurs ? anyOrderId(body) : undefined);
  const external_reference = event.data?.external_reference ?? query.get('data.external_reference') ?? undefined;
  const reference =
    external_reference !== undefined && ORDER_REFERENCE.test(external_reference) ? external_reference : undefined;
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

/** Finds an order id anywhere in the body, because no source documents the shape of events for certain (F111). */
function anyOrderId(body: Buffer): string | undefined {
  return orderId(/\bORD(?:TST)?[0-9A-Z]{26}\b/i.exec(body.toString('latin1'))?.[0]);
}

/** The id as it is, or in capitals again when it was lower-cased on its way. */
function orderId(text: string | null | undefined): string | undefined {
  return text == null ? undefined : [text, text.toUpperCase()].find((form) => ORDER_ID.test(form));
}

/** The length and the top-level field names, which show the kind of an event and nothing of its content. */
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
