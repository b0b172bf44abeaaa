/** The signed `order` webhook: its address, body and headers. Source: `orders-api.md` §4. */
import { createHmac, randomUUID } from 'node:crypto';
import type { Postman } from './delivery.ts';
import type { Order } from './order.ts';
import { renderEventData } from './order-view.ts';
import type { World } from './world.ts';

/** @returns the function that announces a change; it does nothing until a URL is set. */
export function createWebhooks(world: World, postman: Postman): (order: Order, action: string) => void {
  let next_id = FIRST_ID;
  return (order, action) => {
    const { webhook_url, webhook_mode, webhook_late_ms } = world.settings;
    if (webhook_url === '' || webhook_mode === 'drop') return;
    const forged = webhook_mode === 'forge';
    const told = forged ? lieAbout(order, action) : { order, action };
    const url = new URL(webhook_url);
    url.searchParams.set('data.id', order.id);
    url.searchParams.set('type', 'order');
    // Seen in a live delivery about a QR order (`orders-api.md` §4.1).
    if (order.place.type === 'qr') url.searchParams.set('data.external_reference', order.external_reference);
    const letter = {
      url: url.href,
      topic: 'order',
      subject: order.id,
      action: told.action,
      body: JSON.stringify(eventBody(world, told.order, told.action, String(next_id++))),
      headers: (attempt: number) => eventHeaders(world, order, attempt, forged),
    };
    if (webhook_mode === 'late') world.clock.schedule(webhook_late_ms, () => postman.deliver(letter));
    else postman.deliver(letter);
    if (webhook_mode === 'duplicate') postman.deliver(letter);
  };
}

/** Event ids have nine digits in the vendor's capture. */
const FIRST_ID = 812_300_001;

function eventBody(world: World, order: Order, action: string, id: string): object {
  const { settings, clock } = world;
  const { user_id, application_id } = order.merchant;
  return {
    action,
    api_version: 'v1',
    application_id,
    id,
    date_created: new Date(clock.now()).toISOString().replace('Z', '000000Z'), // nine fraction digits, as captured
    live_mode: settings.order_ids === 'ORD',
    type: 'order',
    user_id: settings.webhook_user_id === 'string' ? user_id : Number(user_id),
    data: renderEventData(order, settings),
  };
}

function eventHeaders(world: World, order: Order, attempt: number, forged: boolean): Record<string, string> {
  const { settings, clock } = world;
  const request_id = randomUUID();
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'restclient-node/4.15.3',
    'x-request-id': request_id,
    'x-retry': String(attempt),
    'x-socket-timeout': '22000',
    'x-rest-pool-name': 'default',
  };
  if (settings.signature_casing === 'none') return headers;
  const ts = settings.signature_ts_unit === 'ms' ? clock.realNow() : Math.floor(clock.realNow() / 1000);
  const signed_id = settings.signature_casing === 'lower' ? order.id.toLowerCase() : order.id;
  const isBad = settings.signature_casing === 'bad' || (order.place.type === 'qr' && settings.qr_signature === 'bad');
  const secret = forged || isBad ? `not ${settings.webhook_secret}` : settings.webhook_secret;
  const v1 = createHmac('sha256', secret).update(`id:${signed_id};request-id:${request_id};ts:${ts};`).digest('hex');
  return { ...headers, 'x-signature': `ts=${ts},v1=${v1}` };
}

/** What a forger would say: paid if it was not, canceled if it was. */
function lieAbout(order: Order, action: string): { order: Order; action: string } {
  const status = action === 'order.processed' ? 'canceled' : 'processed';
  const transaction = { ...order.transaction, status, status_detail: status } as const;
  return {
    order: { ...order, status, status_detail: status, transaction, version: order.version + 1 },
    action: `order.${status}`,
  };
}
