/** Building the request of a notice in the dialect of its merchant: Point intents, and payments or merchant orders as IPN or webhook (`docs/field-notes.md` QR §5.1). */
import { createHash, createHmac } from 'node:crypto';
import { z } from 'zod';
import { callableUrl } from '../../contract/identifiers.ts';
import { stringifyJson } from '../../contract/json.ts';
import {
  finalMerchantOrderStates,
  type MerchantOrderState,
  merchantOrderStates,
} from '../../contract/merchant-orders.ts';
import type { Ports } from '../ports.ts';
import { noticeUrl } from '../qr/held-body.ts';
import type { Notice } from '../records/notices.ts';
import type { Merchant } from '../routing/merchant.ts';
import type { Link } from '../sales/link.ts';
import type { Secret } from '../vault.ts';

export interface NoticeRequest {
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

interface NoticeFacts {
  /** The merchant's URL; its own query stays in front. */
  url: string;
  /** The legacy id; signed and sent in its own case (`docs/field-notes.md` Point finding 3). */
  intent_id: string;
  /** The flat intent, JSON text. */
  body: string;
  /** The same on every attempt, so that a receiver can tell a second delivery. */
  request_id: string;
  /** Epoch ms of this attempt. */
  timestamp_ms: number;
}

export type NoticeInput =
  | (NoticeFacts & { dialect: 'point_integration_ipn' })
  | (NoticeFacts & { dialect: 'point_integration_wh'; secret: Secret });

/**
 * The request of one notice. `point_integration_wh` is signed with the merchant's own secret; the signature of
 * `point_integration_ipn` verifies with no key. Source: `docs/field-notes.md` Point §3.1, §3.2, finding 3.
 */
export function noticeRequest(input: NoticeInput): NoticeRequest {
  const { url, body, intent_id } = input;
  const id = encodeURIComponent(intent_id);
  const is_ipn = input.dialect === 'point_integration_ipn';
  const query = is_ipn ? `topic=point_integration_ipn&id=${id}` : `type=point_integration_wh&data.id=${id}`;
  return {
    url: withQuery(url, query),
    headers: {
      accept: '*/*',
      'content-type': 'application/json',
      'x-request-id': input.request_id,
      'x-signature': is_ipn
        ? unverifiableSignature(input.request_id, input.timestamp_ms)
        : intentSignature(input, input.secret),
    },
    body,
  };
}

/**
 * Notices in turns: one of each merchant, then the second of each, and so on; a merchant's own stay in their order.
 * Merchants with the lowest turn come first.
 * @param turnOf When a merchant was last served, as a rising number; 0 when never.
 */
export function inTurns<N extends Pick<Notice, 'merchant_id'>>(
  notices: N[],
  turnOf: (merchant_id: string) => number,
): N[] {
  const byMerchant = Map.groupBy(notices, (notice) => notice.merchant_id);
  const queues = [...byMerchant].sort(([one], [other]) => turnOf(one) - turnOf(other)).map(([, queue]) => queue);
  const rounds = Math.max(0, ...queues.map((queue) => queue.length));
  const ordered: N[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const queue of queues) {
      const notice = queue[round];
      if (notice !== undefined) ordered.push(notice);
    }
  }
  return ordered;
}

/** The URL without its user name and password, and the header that tells them instead, as HTTP clients do. */
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

/** Puts `query` behind the URL's own parameters, which stay as they are. */
export function withQuery(url: string, query: string): string {
  if (!url.includes('?')) return `${url}?${query}`;
  return /[?&]$/.test(url) ? url + query : `${url}&${query}`;
}

/** The value of `x-signature` (`docs/field-notes.md` Point finding 3, `docs/field-notes.md` QR §5.3). `ts` in the unit that the form has. */
export function signature(signed: { id: string; request_id: string; ts: number }, secret: Secret): string {
  const manifest = `id:${signed.id};request-id:${signed.request_id};ts:${signed.ts};`;
  const digest = createHmac('sha256', secret.reveal()).update(manifest).digest('hex');
  return `ts=${signed.ts},v1=${digest}`;
}

/**
 * The `x-signature` of an IPN: it has the form of a signature, which receivers may ask for, and verifies with no key, as
 * the vendor's own did (`docs/field-notes.md` Spec Authentication 6, `docs/field-notes.md` QR §5.1). It is made without a secret.
 * @param timestamp_ms epoch ms of the attempt.
 */
export function unverifiableSignature(request_id: string, timestamp_ms: number): string {
  const ts = Math.floor(timestamp_ms / 1000);
  return `ts=${ts},v1=${createHash('sha256').update(`${request_id};${ts}`).digest('hex')}`;
}

function intentSignature({ intent_id, request_id, timestamp_ms }: NoticeFacts, secret: Secret): string {
  return signature({ id: intent_id, request_id, ts: timestamp_ms }, secret);
}

// Builds the request of a notice of a payment or a merchant order: IPN (`docs/field-notes.md` QR §5.1) or webhook (§5.3).

/** What `announce.ts` keeps of the moment at which the news arose. */
export const feedFacts = z.object({
  first: z.boolean(),
  /** Of a merchant order. */
  order_status: z.enum(merchantOrderStates).optional(),
  application_id: z.string().optional(),
});
export type FeedFacts = z.infer<typeof feedFacts>;

export interface FeedReceiver {
  /** Its own parameters stay in front. */
  url: string;
  /** The merchant's own, for webhooks; without one they go unsigned, as QR notices could never be verified (§0 row 7). */
  secret: Secret | null;
  /** Puente's public address without a slash at its end: receivers fetch `resource` from it (§0 row 3). */
  public_url: string;
}

/**
 * The request of one attempt. The request id is the notice's own id, the same on every attempt.
 * @param timestamp_ms epoch ms of this attempt.
 * @throws ZodError when a webhook's facts are not those of its topic.
 */
export function feedNoticeRequest(notice: Notice, receiver: FeedReceiver, timestamp_ms: number): NoticeRequest {
  return notice.form === 'webhook' ? webhook(notice, receiver, timestamp_ms) : ipn(notice, receiver, timestamp_ms);
}

/** The agent is the vendor's, because firewalls and receivers match it. */
function ipn({ id, topic, subject }: Notice, { url, public_url }: FeedReceiver, timestamp_ms: number): NoticeRequest {
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

function webhook(notice: Notice, { url, secret }: FeedReceiver, timestamp_ms: number): NoticeRequest {
  const { id, topic, subject } = notice;
  const facts = feedFacts.parse(JSON.parse(notice.body));
  const type = topic === 'payment' ? 'payment' : 'topic_merchant_order_wh';
  const body = topic === 'payment' ? paymentBody(notice, facts) : merchantOrderBody(notice, facts);
  // Real deliveries carry seconds, and the official SDK reads them so (`docs/field-notes.md` QR finding 9).
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

/** A shape of its own: the merchant order is the root id, there is no `data.id`, and the status stands twice (§5.3). */
function merchantOrderBody(notice: Notice, facts: FeedFacts): Record<string, unknown> {
  const status = statusOf(feedFacts.required({ order_status: true }).parse(facts).order_status);
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
    // A number, as typed receivers of captured deliveries read it; the application stays text there.
    user_id: Number(notice.merchant_id),
    version: 1,
    api_version: 'v1',
  };
}

/** A notice's own number, the same on every attempt: the random end of its UUID, 48 bits, exact in a double. */
function numberOf(notice: Notice): number {
  return Number.parseInt(notice.id.slice(-12), 16);
}

/** `status` of a merchant order follows from its `order_status` (`docs/field-notes.md` QR §2). */
function statusOf(order_status: MerchantOrderState): 'opened' | 'closed' | 'expired' {
  if (order_status === 'expired') return 'expired';
  return finalMerchantOrderStates.includes(order_status) ? 'closed' : 'opened';
}

// Where a link's notices go: the sale's own URL, or the merchant's, as it is set now.

/** Null when no URL is set anywhere: then notices are held. Whether the URL may be called is the outbound guard's to say. */
export function targetOf(ports: Ports, link: Link | null, merchant: Merchant | null): string | null {
  const own = link === null ? null : callableUrl(noticeUrl(ports, link) ?? '', ports.notices.scheme);
  return own ?? (merchant === null ? null : merchantUrl(ports, merchant)) ?? ports.settings.merchants.notice_url;
}

/** The merchant's own URL, unsealed; null when it follows the default. */
export function merchantUrl(ports: Ports, { sealed_notice_url: sealed }: Merchant): string | null {
  return sealed === null ? null : ports.vault.open(sealed, 'notice-url').toString('utf8');
}
