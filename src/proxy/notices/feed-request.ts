/** Builds the request of a notice of a payment or a merchant order: IPN (`legacy-qr.md` §5.1) or webhook (§5.3). */
import { z } from 'zod';
import { stringifyJson } from '../../contract/json.ts';
import {
  finalMerchantOrderStates,
  type MerchantOrderState,
  merchantOrderStates,
} from '../../contract/merchant-orders.ts';
import type { Notice } from '../records/notices.ts';
import type { Secret } from '../secret.ts';
import { type NoticeRequest, signature, unverifiableSignature, withQuery } from './point-request.ts';

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
  // Real deliveries carry seconds, and the official SDK reads them so (`legacy-qr.md` §0 row 9).
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

/** `status` of a merchant order follows from its `order_status` (`legacy-qr.md` §2). */
function statusOf(order_status: MerchantOrderState): 'opened' | 'closed' | 'expired' {
  if (order_status === 'expired') return 'expired';
  return finalMerchantOrderStates.includes(order_status) ? 'closed' : 'opened';
}
