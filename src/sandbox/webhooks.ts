/** The signed `order` webhook: its address, body and headers. Source: `docs/field-notes.md` Orders §4. */
import { createHmac, randomBytes, randomUUID, X509Certificate } from 'node:crypto';
import { checkServerIdentity, rootCertificates } from 'node:tls';
import { Agent, type buildConnector, request } from 'undici';
import type { Merchant } from './cast.ts';
import { renderEventData } from './order-view.ts';
import type { Order } from './records.ts';
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
    // Seen in a live delivery about a QR order (`docs/field-notes.md` Orders §4.1).
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

// Delivery of notifications with the documented patience: 200 or 201 within 22 s, else again every 15 minutes, then
// ever later.

export interface Letter {
  url: string;
  /** For the log. */
  topic: string;
  subject: string;
  action: string;
  body: string;
  /** Built anew for each attempt, counted from 0. */
  headers(attempt: number): Record<string, string>;
}

export interface Postman {
  /** Returns at once; attempts go on in the background until one is taken or the world is reset. */
  deliver(letter: Letter): void;
  close(): Promise<void>;
}

/** `docs/field-notes.md` Spec IPN: every 15 minutes; after the third attempt the interval grows, here by doubling. */
const RETRY_MS = 15 * 60 * 1000;
const EVEN_RETRIES = 3;
/** One vendor text says up to about a day (`docs/field-notes.md` Orders §4.3). */
const MAX_RETRY_MS = 24 * 60 * 60 * 1000;

/** @param certificate PEM of a receiver that is trusted as it is, beside everybody whom a public authority has signed. */
export function createPostman(world: World, certificate: string | null = null): Postman {
  const agent = new Agent(certificate === null ? {} : { connect: trusting(certificate) });
  let stop = new AbortController();
  world.onReset(() => {
    stop.abort();
    stop = new AbortController();
  });

  function deliver(letter: Letter, attempt: number): void {
    const { signal } = stop;
    world.track(
      post(letter, attempt, signal).then((isTaken) => {
        if (!isTaken && !signal.aborted) world.clock.schedule(retryDelay(attempt), () => deliver(letter, attempt + 1));
      }),
    );
  }

  async function post(letter: Letter, attempt: number, stopped: AbortSignal): Promise<boolean> {
    const { url, topic, subject, action, body } = letter;
    const line = { at: new Date(world.clock.now()).toISOString(), url, topic, subject, action, attempt: attempt + 1 };
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: letter.headers(attempt),
        body,
        dispatcher: agent,
        signal: AbortSignal.any([stopped, AbortSignal.timeout(world.settings.webhook_timeout_ms)]),
      });
      await answer.body.dump();
      world.sent_log.push({ ...line, status: answer.statusCode, failure: null });
      return answer.statusCode === 200 || answer.statusCode === 201;
    } catch (failure) {
      if (stopped.aborted) return false;
      world.sent_log.push({
        ...line,
        status: null,
        failure: failure instanceof Error ? failure.message : String(failure),
      });
      return false;
    }
  }

  return { deliver: (letter) => deliver(letter, 0), close: () => agent.destroy() };
}

function retryDelay(attempt: number): number {
  if (attempt < EVEN_RETRIES) return RETRY_MS;
  return Math.min(RETRY_MS * 2 ** (attempt - EVEN_RETRIES + 1), MAX_RETRY_MS);
}

/** Puente's door may have a private certificate for the vendor's host name, while the sandbox calls its address. */
function trusting(certificate: string): buildConnector.BuildOptions {
  const { fingerprint256 } = new X509Certificate(certificate);
  return {
    ca: [...rootCertificates, certificate],
    allowPartialTrustChain: true,
    checkServerIdentity: (host, peer) =>
      peer.fingerprint256 === fingerprint256 ? undefined : checkServerIdentity(host, peer),
  };
}

// The old notification feed: IPN calls, and their webhook forms for whoever asks for those. Source: `docs/field-notes.md`
// QR §5.1, §5.3.

/** `docs/field-notes.md` Spec Events; `point_integration_ipn` has a feed of its own (`legacy/notices.ts`). */
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

/** Samples of the pages lack a scheme (`www.…`, `docs/field-notes.md` QR §1.1); null for what can't be called at all. */
function callableUrl(text: string | null): URL | null {
  if (text === null) return null;
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : null;
}

/** Local addresses, with or without a port, must not be used (`docs/field-notes.md` Spec Events), unless the setting has them called. */
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
 * The headers of an attempt at an IPN: the live signature is there and verifies with no key at all (`docs/field-notes.md`
 * Spec Authentication 6, `docs/field-notes.md` QR finding 7).
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

/** A merchant order has its id at the root and no `data.id`; everything else has it in `data` (`docs/field-notes.md` QR §5.3). */
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

/** Unit of `ts` as for order webhooks, since pages and captures differ (`docs/field-notes.md` QR finding 9). */
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
