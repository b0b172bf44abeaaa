/** The old notification feed: IPN calls, and their webhook forms for whoever asks for those. Source: `legacy-qr.md` §5.1, §5.3. */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { Merchant } from './cast.ts';
import type { Letter, Postman } from './delivery.ts';
import type { World } from './world.ts';

/** `interface.md` Events; `point_integration_ipn` has a feed of its own (`legacy/notices.ts`). */
export const feedTopics = ['payment', 'chargebacks', 'merchant_order', 'delivery_cancellation'] as const;
export type FeedTopic = (typeof feedTopics)[number];
export type FeedChange = 'created' | 'updated';

export interface FeedNotice {
  topic: FeedTopic;
  id: number;
  merchant: Merchant;
  /** The object's own URL; null for one without. */
  notification_url: string | null;
  change: FeedChange;
  /** Of the object; told by the webhook form of a merchant order alone. */
  status: string;
}

export interface FeedAccount {
  /** Where the account's notices go when the object has no URL; null for nowhere. */
  ipn_url: string | null;
  /** Signs webhooks. */
  secret: string;
}

export interface Feed {
  world: World;
  postman: Postman;
  accountOf(merchant_id: string): FeedAccount;
}

/** Tells the merchant until it is acknowledged: at the object's own URL, at the account's otherwise, or nowhere. */
export function announceFeed(feed: Feed, notice: FeedNotice): void {
  const account = feed.accountOf(notice.merchant.user_id);
  const url = callableUrl(notice.notification_url ?? account.ipn_url);
  if (url === null || !isCalled(feed.world, url)) return;
  const isWebhook = wantsWebhook(feed.world, url);
  feed.postman.deliver(isWebhook ? webhook(feed.world, notice, url, account.secret) : ipn(feed.world, notice, url));
}

/** Samples of the pages lack a scheme (`www.…`, `legacy-qr.md` §1.1); null for what can't be called at all. */
function callableUrl(text: string | null): URL | null {
  if (text === null) return null;
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : null;
}

/** Local addresses, with or without a port, must not be used (`interface.md` Events), unless the setting has them called. */
export function isCalled({ settings }: World, { hostname }: URL): boolean {
  return settings.local_notification_urls === 'called' || !['localhost', '127.0.0.1'].includes(hostname);
}

/** `source_news` in the URL; the pages contradict each other on `ipn` (setting `source_news_ipn`). */
function wantsWebhook(world: World, url: URL): boolean {
  const wanted = url.searchParams.get('source_news');
  return wanted === 'webhooks' || (wanted === 'ipn' && world.settings.source_news_ipn === 'webhooks');
}

function ipn(world: World, { topic, id, change }: FeedNotice, url: URL): Letter {
  const base = world.settings.ipn_resource_base.replace(/\/+$/, '');
  const resource = topic === 'merchant_order' ? `${base}/merchant_orders/${id}` : String(id);
  const unverifiable = unverifiableSignature(world);
  return {
    url: withQuery(url, `id=${id}&topic=${topic}`),
    topic,
    subject: String(id),
    action: change,
    body: JSON.stringify({ resource, topic }),
    headers: () => ({
      'content-type': 'application/json',
      'user-agent': `MercadoPago Feed v2.0 ${topic}`,
      ...unverifiable(),
    }),
  };
}

/**
 * The headers of an attempt at an IPN: the live signature is there and verifies with no key at all (`interface.md`
 * Authentication 6, `legacy-qr.md` finding 7).
 */
export function unverifiableSignature(world: World): () => Record<string, string> {
  const request_id = randomUUID();
  const v1 = randomBytes(32).toString('hex');
  return () => ({
    'x-request-id': request_id,
    'x-signature': `ts=${Math.floor(world.clock.realNow() / 1000)},v1=${v1}`,
  });
}

/** Names of the topics as webhooks; those of the last two are not in public captures. */
const webhookTypes: Readonly<Record<FeedTopic, string>> = {
  payment: 'payment',
  merchant_order: 'topic_merchant_order_wh',
  chargebacks: 'topic_chargebacks_wh',
  delivery_cancellation: 'delivery_cancellation',
};

function webhook(world: World, notice: FeedNotice, url: URL, secret: string): Letter {
  const { id, topic } = notice;
  const type = webhookTypes[topic];
  return {
    url: withQuery(url, `data.id=${id}&type=${type}`),
    topic: type,
    subject: String(id),
    action: notice.change,
    body: JSON.stringify(webhookBody(world, notice, type)),
    headers: () => ({
      'content-type': 'application/json',
      'user-agent': `MercadoPago WebHook v1.0 ${type}`,
      ...signature(world, String(id), secret),
    }),
  };
}

/** A merchant order has its id at the root and no `data.id`; everything else has it in `data` (`legacy-qr.md` §5.3). */
function webhookBody(world: World, notice: FeedNotice, type: string): object {
  const { id, merchant, change, status, topic } = notice;
  const common = {
    live_mode: true,
    type,
    date_created: new Date(world.clock.now()).toISOString(),
    application_id: merchant.application_id,
    user_id: merchant.user_id,
    version: 1,
    api_version: 'v1',
  };
  if (topic === 'merchant_order') {
    const action = change === 'created' ? 'create' : 'update';
    return { id: String(id), ...common, action, status, data: { status } };
  }
  const event_id = randomBytes(6).readUIntBE(0, 6); // any number: receivers keep it to recognise a repeated call
  return { id: event_id, ...common, action: `${topic}.${change}`, data: { id: String(id) } };
}

/** Unit of `ts` as for order webhooks, since pages and captures differ (`legacy-qr.md` finding 9). */
function signature(world: World, id: string, secret: string): Record<string, string> {
  const now_ms = world.clock.realNow();
  const ts = world.settings.signature_ts_unit === 'ms' ? now_ms : Math.floor(now_ms / 1000);
  const request_id = randomUUID();
  const v1 = createHmac('sha256', secret).update(`id:${id};request-id:${request_id};ts:${ts};`).digest('hex');
  return { 'x-request-id': request_id, 'x-signature': `ts=${ts},v1=${v1}` };
}

/** Behind the URL's own parameters, which stay as they are. */
function withQuery(url: URL, told: string): string {
  const whole = new URL(url);
  whole.search = whole.search === '' ? told : `${whole.search.slice(1)}&${told}`;
  return whole.href;
}
