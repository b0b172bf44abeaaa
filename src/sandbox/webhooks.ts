/** All notifications of the sandbox and their delivery. Source: `docs/field-notes.md` Orders §4, Point §3, QR §5. */
import { createHmac, randomBytes, randomUUID, X509Certificate } from 'node:crypto';
import { checkServerIdentity, rootCertificates } from 'node:tls';
import { Agent, type buildConnector, request } from 'undici';
import { stringifyJson } from '../contract/json.ts';
import type { IntentState } from '../contract/legacy-point.ts';
import type { Letter } from './collections.ts';
import { renderEventData } from './order-view.ts';
import type { Order, Payment, PaymentIntent } from './records.ts';
import type { World } from './world.ts';

/** Sends nothing while no URL is set. */
export function announceOrder(world: World, order: Order, action: string): void {
  const { webhook_url, webhook_mode, webhook_late_ms } = world.settings;
  if (webhook_url === '' || webhook_mode === 'drop') return;
  const is_forged = webhook_mode === 'forge';
  const is_qr = order.place.type === 'qr';
  const shown = is_forged ? forgedChange(order, action) : { order, action };
  const url = new URL(webhook_url);
  url.searchParams.set('data.id', order.id);
  url.searchParams.set('type', 'order');
  // Seen in a live delivery about a QR order (`docs/field-notes.md` Orders §4.1).
  if (is_qr) url.searchParams.set('data.external_reference', order.external_reference);
  const letter: Letter = {
    url: url.href,
    topic: 'order',
    subject: order.id,
    action: shown.action,
    body: JSON.stringify(eventBody(world, shown.order, shown.action)),
    user_agent: REST_CLIENT,
    signing: { by: 'order', is_qr, is_forged },
  };
  if (webhook_mode === 'late') world.clock.schedule(webhook_late_ms, { kind: 'deliver', letter, attempt: 0 });
  else world.deliver(letter);
  if (webhook_mode === 'duplicate') world.deliver(letter);
}

const REST_CLIENT = 'restclient-node/4.15.3';

function eventBody(world: World, order: Order, action: string): object {
  const { settings, clock } = world;
  const { user_id, application_id } = world.merchant(order.merchant_id);
  return {
    action,
    api_version: 'v1',
    application_id,
    id: String(world.next('event')),
    date_created: new Date(clock.now()).toISOString().replace('Z', '000000Z'), // nine fraction digits, as captured
    live_mode: settings.order_ids === 'ORD',
    type: 'order',
    user_id: settings.webhook_user_id === 'string' ? user_id : Number(user_id),
    data: renderEventData(world, order),
  };
}

/** A false change: paid if the order was not, canceled if it was. */
function forgedChange(order: Order, action: string): { order: Order; action: string } {
  const status = action === 'order.processed' ? 'canceled' : 'processed';
  const transaction = { ...order.transaction, status, status_detail: status } as const;
  return {
    order: { ...order, status, status_detail: status, transaction, version: order.version + 1 },
    action: `order.${status}`,
  };
}

// Legacy Point: the notices of payment intents. Source: `docs/field-notes.md` Point §3.1, §3.2.

const announcedStates: readonly IntentState[] = ['FINISHED', 'CONFIRMATION_REQUIRED', 'CANCELED', 'ERROR'];

/** Sends nothing for states that are not announced, or without a receiver. Later attempts repeat this body. */
export function announceIntent(world: World, intent: PaymentIntent, final: IntentState): void {
  const { id, merchant_id } = intent;
  const target = world.notice_targets.get(merchant_id);
  if (target === undefined || target.url === null || !announcedStates.includes(final)) return;
  const url = new URL(target.url);
  if (!isCalled(world, url)) return;
  const isWebhook = target.topic === 'point_integration_wh';
  world.deliver({
    url: withQuery(url, isWebhook ? `type=point_integration_wh&data.id=${id}` : `topic=point_integration_ipn&id=${id}`),
    topic: target.topic,
    subject: id,
    action: final,
    body: stringifyJson(intentBody(world, intent, final)),
    user_agent: REST_CLIENT,
    signing: isWebhook ? { by: 'merchant', merchant_id, unit: 'ms' } : randomSigning(),
  });
}

function intentBody(world: World, intent: PaymentIntent, final: IntentState): object {
  const { user_id, application_id } = world.merchant(intent.merchant_id);
  const paid = final === 'FINISHED' ? world.payments.get(intent.payment_id ?? 0) : undefined;
  const payment = paid && { id: paid.id, state: paid.status, type: paid.payment_type_id };
  return {
    id: intent.id,
    state: final,
    amount: intent.amount_minor,
    caller_id: Number(user_id),
    client_id: Number(application_id),
    // In UTC: receivers store it unchanged in a DATETIME column.
    created_at: new Date(intent.history[0].at_ms).toISOString().slice(0, 19).replace('T', ' '),
    payment: final === 'CONFIRMATION_REQUIRED' ? { id: intent.payment_id, state: '', type: '' } : payment,
    additional_info: intent.additional_info,
  };
}

// The legacy feed: IPN calls, or webhooks for receivers that request them. Source: `docs/field-notes.md` QR §5.1, §5.3.

/** Topics with their webhook types (`docs/field-notes.md` Spec Events); public captures do not have the last two. */
const webhookTypes = {
  payment: 'payment',
  merchant_order: 'topic_merchant_order_wh',
  chargebacks: 'topic_chargebacks_wh',
  delivery_cancellation: 'delivery_cancellation',
} as const;

export interface FeedNotice {
  topic: keyof typeof webhookTypes;
  id: number;
  merchant_id: string;
  /** The object's own URL; null for one without. */
  notification_url: string | null;
  change: 'created' | 'updated';
  /** Of the object; only the webhook of a merchant order has it. */
  status: string;
}

/** Repeats until acknowledged, at the object's own URL, or else the account's; without either it sends nothing. */
export function announceFeed(world: World, notice: FeedNotice): void {
  const { id, topic, merchant_id, change: action } = notice;
  const url = callableUrl(notice.notification_url ?? world.notice_targets.get(merchant_id)?.ipn_url ?? null);
  if (url === null || !isCalled(world, url)) return;
  const type = webhookTypes[topic];
  const base = world.settings.ipn_resource_base.replace(/\/+$/, '');
  const resource = topic === 'merchant_order' ? `${base}/merchant_orders/${id}` : String(id);
  const form = wantsWebhook(world, url)
    ? {
        url: withQuery(url, `data.id=${id}&type=${type}`),
        topic: type,
        body: JSON.stringify(webhookBody(world, notice, type)),
        user_agent: `MercadoPago WebHook v1.0 ${type}`,
        // `ts` has the unit of order webhooks, because pages and captures differ (`docs/field-notes.md` QR finding 9).
        signing: { by: 'merchant', merchant_id, unit: 'setting' } as const,
      }
    : {
        url: withQuery(url, `id=${id}&topic=${topic}`),
        topic,
        body: JSON.stringify({ resource, topic }),
        user_agent: `MercadoPago Feed v2.0 ${topic}`,
        signing: randomSigning(),
      };
  world.deliver({ ...form, subject: String(id), action });
}

/** Leaves out payments of orders, which legacy topics do not support (`docs/field-notes.md` Spec Orders webhook). */
export function announcePayment(world: World, payment: Payment, change: FeedNotice['change']): void {
  const { id, merchant_id, status, origin } = payment;
  if (origin.kind === 'order') return;
  announceFeed(world, {
    topic: 'payment',
    id,
    merchant_id,
    notification_url: notificationUrlOf(world, payment),
    change,
    status,
  });
}

/** The URL of the paid QR order; null without one. */
export function notificationUrlOf(world: World, payment: Payment): string | null {
  return world.qr_orders.get(payment.origin.id)?.notification_url ?? null;
}

/** Adds the scheme that samples lack (`www.…`, `docs/field-notes.md` QR §1.1); null for a URL that can't be called. */
function callableUrl(text: string | null): URL | null {
  if (text === null) return null;
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : null;
}

/** Local addresses must not be used (`docs/field-notes.md` Spec Events), except by setting. */
function isCalled({ settings }: World, { hostname }: URL): boolean {
  return settings.local_notification_urls === 'called' || !['localhost', '127.0.0.1'].includes(hostname);
}

/** `source_news` in the URL; the pages contradict each other on `ipn` (setting `source_news_ipn`). */
function wantsWebhook(world: World, url: URL): boolean {
  const wanted = url.searchParams.get('source_news');
  return wanted === 'webhooks' || (wanted === 'ipn' && world.settings.source_news_ipn === 'webhooks');
}

/** A merchant order has its id at the root; other objects have it in `data` (`docs/field-notes.md` QR §5.3). */
function webhookBody(world: World, notice: FeedNotice, type: string): object {
  const { id, merchant_id, change, status, topic } = notice;
  const common = {
    live_mode: true,
    type,
    date_created: new Date(world.clock.now()).toISOString(),
    application_id: world.merchant(merchant_id).application_id,
    user_id: merchant_id,
    version: 1,
    api_version: 'v1',
  };
  if (topic === 'merchant_order') {
    const action = change === 'created' ? 'create' : 'update';
    return { id: String(id), ...common, action, status, data: { status } };
  }
  const event_id = randomBytes(6).readUIntBE(0, 6); // any number: receivers recognize repeats by it
  return { id: event_id, ...common, action: `${topic}.${change}`, data: { id: String(id) } };
}

/** Appends to the URL's own query, which stays unchanged. */
function withQuery(url: URL, added: string): string {
  const whole = new URL(url);
  whole.search = whole.search === '' ? added : `${whole.search.slice(1)}&${added}`;
  return whole.href;
}

// Signatures and headers of each attempt.

/** An IPN has a signature that verifies with no key (`docs/field-notes.md` Spec Authentication 6, QR finding 7). */
function randomSigning(): Letter['signing'] {
  return { by: 'random', request_id: randomUUID(), v1: randomBytes(32).toString('hex') };
}

/** Signs for merchants without a secret. */
const DEFAULT_SECRET = 'sandbox-legacy-secret';

/** @param attempt counted from 0. */
export function headersOf(world: World, letter: Letter, attempt: number): Record<string, string> {
  const { user_agent, subject, signing } = letter;
  const { settings, clock } = world;
  const now = { ms: clock.realNow(), s: Math.floor(clock.realNow() / 1000) };
  const common = { 'content-type': 'application/json', 'user-agent': user_agent };
  if (signing.by === 'random') {
    return { ...common, 'x-request-id': signing.request_id, 'x-signature': `ts=${now.s},v1=${signing.v1}` };
  }
  if (signing.by === 'merchant') {
    const secret = world.notice_targets.get(signing.merchant_id)?.secret ?? DEFAULT_SECRET;
    return { ...common, ...signature(subject, secret, now[signing.unit === 'ms' ? 'ms' : settings.signature_ts_unit]) };
  }
  const isBad = settings.signature_casing === 'bad' || (signing.is_qr && settings.qr_signature === 'bad');
  const { 'x-signature': signed, ...request_id } = signature(
    settings.signature_casing === 'lower' ? subject.toLowerCase() : subject,
    signing.is_forged || isBad ? `not ${settings.webhook_secret}` : settings.webhook_secret,
    now[settings.signature_ts_unit],
  );
  return {
    ...common,
    ...request_id,
    'x-retry': String(attempt),
    'x-socket-timeout': '22000',
    'x-rest-pool-name': 'default',
    ...(settings.signature_casing !== 'none' && { 'x-signature': signed }),
  };
}

/** Signs the id of the body, not a query value (`docs/field-notes.md` Point finding 3). */
function signature(id: string, secret: string, ts: number): { 'x-request-id': string; 'x-signature': string } {
  const request_id = randomUUID();
  const v1 = createHmac('sha256', secret).update(`id:${id};request-id:${request_id};ts:${ts};`).digest('hex');
  return { 'x-request-id': request_id, 'x-signature': `ts=${ts},v1=${v1}` };
}

// Delivery: 200 or 201 within 22 s, else again every 15 minutes, then at growing intervals.

/** Every 15 minutes; after the third attempt the interval grows (`docs/field-notes.md` Spec IPN), here by doubling. */
const RETRY_MS = 15 * 60 * 1000;
const EVEN_RETRIES = 3;
/** One vendor text says up to about a day (`docs/field-notes.md` Orders §4.3). */
const MAX_RETRY_MS = 24 * 60 * 60 * 1000;

/** @param certificate PEM of a receiver to trust, beside those that a public authority has signed. */
export function createPostman(world: World, certificate: string | undefined) {
  const agent = new Agent(certificate === undefined ? {} : { connect: trusting(certificate) });
  let stop = new AbortController();
  world.onReset(() => {
    stop.abort();
    stop = new AbortController();
  });

  function deliver(letter: Letter, attempt: number): void {
    const { signal } = stop;
    const sending = { letter, attempt };
    world.under_way.add(sending);
    const sent = post(letter, attempt, signal).then((isTaken) => {
      if (signal.aborted) return;
      world.under_way.delete(sending);
      if (!isTaken) world.clock.schedule(retryDelay(attempt), { kind: 'deliver', letter, attempt: attempt + 1 });
    });
    world.track(sent);
  }

  async function post(letter: Letter, attempt: number, stopped: AbortSignal): Promise<boolean> {
    const { url, topic, subject, action, body } = letter;
    const line = { at: new Date(world.clock.now()).toISOString(), url, topic, subject, action, attempt: attempt + 1 };
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: headersOf(world, letter, attempt),
        body,
        dispatcher: agent,
        signal: AbortSignal.any([stopped, AbortSignal.timeout(world.settings.webhook_timeout_ms)]),
      });
      await answer.body.dump();
      world.sent_log.push({ ...line, status: answer.statusCode, failure: null });
      return answer.statusCode === 200 || answer.statusCode === 201;
    } catch (error) {
      if (stopped.aborted) return false;
      world.sent_log.push({ ...line, status: null, failure: error instanceof Error ? error.message : String(error) });
      return false;
    }
  }

  return { deliver, close: (): Promise<void> => agent.destroy() };
}

function retryDelay(attempt: number): number {
  if (attempt < EVEN_RETRIES) return RETRY_MS;
  return Math.min(RETRY_MS * 2 ** (attempt - EVEN_RETRIES + 1), MAX_RETRY_MS);
}

/** Trusts the certificate for any host: it may name the vendor's host, while the sandbox calls Puente's address. */
function trusting(certificate: string): buildConnector.BuildOptions {
  const { fingerprint256 } = new X509Certificate(certificate);
  return {
    ca: [...rootCertificates, certificate],
    allowPartialTrustChain: true,
    checkServerIdentity: (host, peer) =>
      peer.fingerprint256 === fingerprint256 ? undefined : checkServerIdentity(host, peer),
  };
}
