/** The request of a notice: its form, its URL, and its bytes (`docs/field-notes.md` Point §3, QR §5). */
import { createHash, createHmac } from 'node:crypto';
import { z } from 'zod';
import { callableUrl } from '../../contract/identifiers.ts';
import { type JsonObject, parseJson, stringifyJson } from '../../contract/json.ts';
import {
  finalMerchantOrderStates,
  type MerchantOrderState,
  merchantOrderStates,
} from '../../contract/merchant-orders.ts';
import type { Ports } from '../ports.ts';
import type { NewNotice, Notice, NoticeForm } from '../records/notices.ts';
import type { Dialect, Merchant, PointPaymentNotices, QrNotices } from '../routing/merchant.ts';
import type { Link } from '../sales/link.ts';
import { Secret } from '../vault.ts';

/** The HTTP POST of a notice. */
export interface NoticeRequest {
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

interface NoticeTarget {
  /** The merchant's URL; its own query stays in front. */
  url: string;
  dialect: Dialect;
  /** Signs webhooks. QR webhooks without it are unsigned: no key verifies (`docs/field-notes.md` QR finding 7). */
  secret: Secret | null;
  /** Laid under the flat body of an intent's webhook: some receivers find their shop by a key of it (Point §3.1). */
  extra?: Merchant['settings']['point_notice_extra'] | undefined;
  /** Puente's public address without a final slash, for `resource` (`docs/field-notes.md` QR finding 3). */
  public_url: string;
}

/**
 * The request of one attempt; the request id is the notice's id, the same on every attempt. `timestamp_ms`: epoch.
 * @throws ZodError when a webhook's facts are not those of its topic.
 */
export function noticeRequest(notice: Notice, target: NoticeTarget, timestamp_ms: number): NoticeRequest {
  if (notice.form === 'point') return intent(notice, target, timestamp_ms);
  return notice.form === 'webhook' ? webhook(notice, target, timestamp_ms) : ipn(notice, target, timestamp_ms);
}

/** Signs `point_integration_wh` only; the id keeps its case (`docs/field-notes.md` Point §3.1, §3.2, finding 3). */
function intent({ id, legacy_id, body }: Notice, target: NoticeTarget, ts: number): NoticeRequest {
  const { url, dialect, secret, extra } = target;
  const is_extended = dialect === 'point_integration_wh' && extra !== null && extra !== undefined;
  const is_signed = dialect === 'point_integration_wh' && secret !== null;
  const idName =
    dialect === 'point_integration_ipn' ? 'topic=point_integration_ipn&id' : 'type=point_integration_wh&data.id';
  return {
    url: withQuery(url, `${idName}=${encodeURIComponent(legacy_id)}`),
    headers: {
      accept: '*/*',
      'content-type': 'application/json',
      'x-request-id': id,
      'x-signature': is_signed
        ? signature({ id: legacy_id, request_id: id, ts }, secret)
        : unverifiableSignature(id, ts),
    },
    body: is_extended ? stringifyJson({ ...extra, ...(parseJson(body) as JsonObject) }) : body, // the mapping wrote an object
  };
}

/** Moves the user name and the password of the URL to a header, as HTTP clients do. */
export function withoutCredentials(text: string): { url: string; headers: { authorization?: string } } {
  const url = URL.parse(text);
  if (url === null || (url.username === '' && url.password === '')) return { url: text, headers: {} };
  const pair = `${decoded(url.username)}:${decoded(url.password)}`;
  url.username = '';
  url.password = '';
  return { url: url.href, headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone percent sign
  }
}

/** Appends `query` to the URL's own parameters, which stay unchanged. */
function withQuery(url: string, query: string): string {
  if (!url.includes('?')) return `${url}?${query}`;
  return /[?&]$/.test(url) ? url + query : `${url}&${query}`;
}

/** The value of `x-signature` (`docs/field-notes.md` Point finding 3, QR §5.3); `ts` in the unit of the form. */
function signature(signed: { id: string; request_id: string; ts: number }, secret: Secret): string {
  const manifest = `id:${signed.id};request-id:${signed.request_id};ts:${signed.ts};`;
  const digest = createHmac('sha256', secret.reveal()).update(manifest).digest('hex');
  return `ts=${signed.ts},v1=${digest}`;
}

/**
 * The `x-signature` of an IPN, made without a secret: receivers may require its form, and it verifies with no key, as
 * upstream's own did (`docs/field-notes.md` Spec Authentication 6, QR §5.1). `timestamp_ms`: epoch.
 */
function unverifiableSignature(request_id: string, timestamp_ms: number): string {
  const ts = Math.floor(timestamp_ms / 1000);
  return `ts=${ts},v1=${createHash('sha256').update(`${request_id};${ts}`).digest('hex')}`;
}

/** The facts of a payment or merchant order at the time of the notice. */
const feedFacts = z.object({
  first: z.boolean(),
  /** Merchant orders only. */
  order_status: z.enum(merchantOrderStates).optional(),
  application_id: z.string().optional(),
});
const merchantOrderFacts = feedFacts.required({ order_status: true });
export type FeedFacts = z.infer<typeof feedFacts>;

/** The user agent is upstream's, because firewalls and receivers match it. */
function ipn({ id, topic, subject }: Notice, { url, public_url }: NoticeTarget, timestamp_ms: number): NoticeRequest {
  const resource = topic === 'merchant_order' ? `${public_url}/merchant_orders/${subject}` : subject;
  return {
    url: withQuery(url, `id=${subject}&topic=${topic}`),
    headers: {
      'content-type': 'application/json',
      'user-agent': `MercadoPago Feed v2.0 ${topic}`,
      'x-request-id': id,
      'x-signature': unverifiableSignature(id, timestamp_ms),
    },
    body: stringifyJson({ resource, topic }),
  };
}

function webhook(notice: Notice, { url, secret }: NoticeTarget, timestamp_ms: number): NoticeRequest {
  const { id, topic, subject } = notice;
  const facts = feedFacts.parse(JSON.parse(notice.body));
  const type = topic === 'payment' ? 'payment' : 'topic_merchant_order_wh';
  const body = topic === 'payment' ? paymentBody(notice, facts) : merchantOrderBody(notice, facts);
  // Real deliveries have seconds, and the official SDK reads them so (`docs/field-notes.md` QR finding 9).
  const ts = Math.floor(timestamp_ms / 1000);
  return {
    url: withQuery(url, `data.id=${subject}&type=${type}`),
    headers: {
      'content-type': 'application/json',
      'user-agent': `MercadoPago WebHook v1.0 ${type}`,
      'x-request-id': id,
      ...(secret === null ? {} : { 'x-signature': signature({ id: subject, request_id: id, ts }, secret) }),
    },
    body: stringifyJson(body),
  };
}

function paymentBody(notice: Notice, facts: FeedFacts): Record<string, unknown> {
  const { id: _id, ...common } = commonBody(notice, facts, 'payment');
  const action = facts.first ? 'payment.created' : 'payment.updated';
  return { id: numberOf(notice), ...common, action, data: { id: notice.subject } };
}

/** The root id is the merchant order's; no `data.id`; the status appears twice (`docs/field-notes.md` QR §5.3). */
function merchantOrderBody(notice: Notice, facts: FeedFacts): Record<string, unknown> {
  const status = statusOf(merchantOrderFacts.parse(facts).order_status);
  const action = facts.first ? 'create' : 'update';
  return { ...commonBody(notice, facts, 'topic_merchant_order_wh'), action, status, data: { status } };
}

function commonBody(notice: Notice, facts: FeedFacts, type: string) {
  return {
    id: notice.subject,
    live_mode: true,
    type,
    date_created: new Date(notice.created_at).toISOString(),
    application_id: facts.application_id,
    // A number, as in captured deliveries, where the application is text.
    user_id: Number(notice.merchant_id),
    version: 1,
    api_version: 'v1',
  };
}

/** The last 48 bits of the UUID: the same on every attempt, and exact in a double. */
function numberOf(notice: Notice): number {
  return Number.parseInt(notice.id.slice(-12), 16);
}

/** False for the opening of a merchant order, whose receiver does not know from it how the sale ended. */
export function isOfEnd({ topic, body }: Pick<Notice, 'topic' | 'body'>): boolean {
  if (topic !== 'merchant_order') return true;
  const facts = merchantOrderFacts.safeParse(JSON.parse(body));
  return !facts.success || statusOf(facts.data.order_status) !== 'opened';
}

/** `status` of a merchant order follows from its `order_status` (`docs/field-notes.md` QR §2). */
function statusOf(order_status: MerchantOrderState): 'opened' | 'closed' | 'expired' {
  if (order_status === 'expired') return 'expired';
  return finalMerchantOrderStates.includes(order_status) ? 'closed' : 'opened';
}

/** Where a notice goes and in which form, by the current settings. */
export interface Receiver {
  url: string | null;
  dialect: Dialect;
  secret: Secret | null;
  extra?: NoticeTarget['extra'];
  /** The URL is not the sale's own: all such notices of the merchant go there. */
  is_merchants?: boolean;
}

/** Finds where a notice goes now, and how it is signed. */
export function receiverFinder(ports: Ports): (notice: Notice) => Promise<Receiver> {
  return async (notice) => {
    const [merchant, link] = await Promise.all([
      ports.store.merchants.merchant(notice.merchant_id),
      notice.form === 'point' ? null : ports.store.links.link(notice.legacy_id),
    ]);
    const sealed = merchant?.sealed_notice_secret ?? null;
    const own = ownUrl(ports, link);
    return {
      url: own ?? sharedUrl(ports, merchant),
      is_merchants: own === null,
      dialect: merchant?.settings.dialect ?? ports.settings.merchants.dialect,
      extra: merchant?.settings.point_notice_extra,
      secret: sealed === null ? null : new Secret(ports.vault.open(sealed, 'notice-secret').toString('utf8')),
    };
  };
}

/** The URL of the sale, the merchant or the settings; null: notices are held. The outbound guard checks it later. */
export function targetOf(ports: Ports, link: Link | null, merchant: Merchant | null): string | null {
  return ownUrl(ports, link) ?? sharedUrl(ports, merchant);
}

function ownUrl(ports: Ports, link: Link | null): string | null {
  return link === null ? null : (callableUrl(noticeUrl(ports, link) ?? '', ports.notices.scheme) ?? null);
}

function sharedUrl(ports: Ports, merchant: Merchant | null): string | null {
  return (merchant === null ? null : merchantUrl(ports, merchant)) ?? ports.settings.merchants.notice_url;
}

/** The merchant's own URL, unsealed; null for the default. */
export function merchantUrl(ports: Ports, { sealed_notice_url: sealed }: Merchant): string | null {
  return sealed === null ? null : ports.vault.open(sealed, 'notice-url').toString('utf8');
}

/** A notice before its form is decided. */
export type News = Omit<NewNotice, 'form'>;

/** Forms of payments and merchant orders; the merchant's dialect decides that of an intent. */
export type FeedForm = Exclude<NoticeForm, 'point'>;

/** Each form is a notice with its own attempts, so that a receiver of only one form gets that one in time. */
export function inForms(news: readonly News[], forms: readonly FeedForm[]): NewNotice[] {
  return news.flatMap((one): NewNotice[] =>
    one.topic === 'point' ? [{ ...one, form: 'point' }] : forms.map((form) => ({ ...one, form })),
  );
}

/**
 * `source_news` in the URL overrides `setting`. @param ipn_means a setting, because the guides and the specification
 * contradict each other (`docs/field-notes.md` QR finding 10).
 */
export function qrForms(url: string | null, setting: QrNotices, ipn_means: FeedForm): readonly FeedForm[] {
  const query = url?.split('?').slice(1).join('?') ?? '';
  const source_news = new URLSearchParams(query).get('source_news');
  if (source_news === 'ipn') return [ipn_means];
  if (source_news === 'webhooks') return ['webhook'];
  return setting === 'both' ? ['ipn', 'webhook'] : [setting];
}

/** The forms of a Point payment's notice beside that of the intent; empty for none. */
export function pointPaymentForms(setting: PointPaymentNotices, dialect: Dialect): readonly FeedForm[] {
  if (setting === 'off') return [];
  if (dialect === 'point_integration_ipn') return ['ipn'];
  return setting === 'all' ? ['webhook'] : [];
}

/** The sale's own URL; null: the merchant's is used. */
function noticeUrl(ports: Ports, link: Link): string | null {
  if (link.sealed_notice_url === null) return null;
  return ports.vault.open(link.sealed_notice_url, 'notice-url').toString('utf8');
}
