/** The door for `order` webhooks: raw bytes, signature, inbox, and only then 200 (DESIGN decision 7). */
import { Router } from 'express';
import { type OrderEvent, orderEvent } from '../contract/events.ts';
import { ORDER_ID, ORDER_REFERENCE, USER_ID } from '../contract/identifiers.ts';
import { decodeUtf8 } from '../contract/json.ts';
import type { Runtime } from '../core/runtime.ts';
import type { Secret } from '../core/secret.ts';
import { verifyOrderSignature } from '../core/signature.ts';
import { peekBody, singleHeaders } from './request.ts';

/** A real event is below 4 KiB. */
const MAX_EVENT_BYTES = 65_536;

export interface WebhookDoor {
  runtime: Runtime;
  /** The secret that signs events; null: every event is unverified, and still leads to a read. */
  secret: Secret | null;
  /** An event was committed: handle it now. */
  eventsWaiting(): void;
}

/** `POST /webhooks/orders`. 503 when the event can't be kept, so that upstream sends it again. */
export function webhookRouter(door: WebhookDoor): Router {
  const router = Router({ caseSensitive: true });
  router.post('/webhooks/orders', async (request, response) => {
    const body = await peekBody(request, MAX_EVENT_BYTES);
    const query = new URLSearchParams(request.url.split('?', 2)[1] ?? '');
    const headers = singleHeaders(request);
    const event = readEvent(body, query);
    if (event === null) {
      door.runtime.count('events', 'unreadable');
      response.status(400).json({ error: 'bad_request', message: 'No order id or external reference was found' });
      return;
    }
    if (event.type !== undefined && event.type !== 'order' && event.type !== 'orders') {
      door.runtime.count('events', 'other_topic');
      response.status(200).json({ received: true });
      return;
    }
    await keep(door, event, query, headers);
    door.runtime.failpoint('event.received');
    response.status(200).json({ received: true });
    door.eventsWaiting();
  });
  return router;
}

async function keep(
  door: WebhookDoor,
  event: OrderEvent,
  query: URLSearchParams,
  headers: Record<string, string>,
): Promise<void> {
  const { verified } =
    door.secret === null
      ? { verified: false }
      : verifyOrderSignature({
          query_id: query.get('data.id'),
          body_id: event.data?.id ?? null,
          request_id: headers['x-request-id'] ?? null,
          signature_header: headers['x-signature'] ?? null,
          secret: door.secret,
        });
  door.runtime.count('events', verified ? 'verified' : 'unverified');
  door.runtime.failpoint('event.before_inbox');
  await door.runtime.store.receiveEvent({
    received_at: door.runtime.clock.now(),
    order_id: event.data?.id ?? null,
    reference: event.data?.external_reference ?? null,
    user_id: event.user_id ?? null,
    verified,
    action: (event.action ?? event.data?.status ?? 'unknown').slice(0, 64),
  });
}

/** What an event points at; null when it points at nothing that could be an order of ours. */
function readEvent(body: Buffer, query: URLSearchParams): OrderEvent | null {
  const parsed = orderEvent.safeParse(jsonOrNothing(body));
  const event: OrderEvent = parsed.success ? parsed.data : {};
  // The panel's simulator sends a query id unrelated to the body's; the body names the order (`legacy-point.md` §3.3).
  const id = [event.data?.id, query.get('data.id') ?? undefined].find(
    (text) => text !== undefined && ORDER_ID.test(text.toUpperCase()),
  );
  const said = event.data?.external_reference ?? query.get('data.external_reference') ?? undefined;
  const reference = said !== undefined && ORDER_REFERENCE.test(said) ? said : undefined;
  const type = event.type ?? query.get('type') ?? undefined;
  const user_id = event.user_id !== undefined && USER_ID.test(event.user_id) ? event.user_id : undefined;
  if (id === undefined && reference === undefined && (type === undefined || type.startsWith('order'))) return null;
  return {
    ...(event.action === undefined ? {} : { action: event.action }),
    ...(type === undefined ? {} : { type }),
    ...(user_id === undefined ? {} : { user_id }),
    data: {
      ...(id === undefined ? {} : { id: id.toUpperCase() }),
      ...(reference === undefined ? {} : { external_reference: reference }),
      ...(event.data?.status === undefined ? {} : { status: event.data.status }),
    },
  };
}

function jsonOrNothing(body: Buffer): unknown {
  try {
    return JSON.parse(decodeUtf8(body));
  } catch {
    return {};
  }
}
