/** Builds the request of a Point notification in the merchant's dialect, and puts due notices into a fair order. */
import { createHash, createHmac } from 'node:crypto';
import type { Notice } from '../records/notices.ts';
import type { Secret } from '../secret.ts';

export interface NoticeRequest {
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

interface NoticeFacts {
  /** The merchant's URL; its own query stays in front. */
  url: string;
  /** The legacy id; signed and sent in its own case (`legacy-point.md` finding 3). */
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
 * `point_integration_ipn` verifies with no key. Source: `legacy-point.md` §3.1, §3.2, finding 3.
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

/** The value of `x-signature` (`legacy-point.md` finding 3, `legacy-qr.md` §5.3). `ts` in the unit that the form has. */
export function signature(signed: { id: string; request_id: string; ts: number }, secret: Secret): string {
  const manifest = `id:${signed.id};request-id:${signed.request_id};ts:${signed.ts};`;
  const digest = createHmac('sha256', secret.reveal()).update(manifest).digest('hex');
  return `ts=${signed.ts},v1=${digest}`;
}

/**
 * The `x-signature` of an IPN: it has the form of a signature, which receivers may ask for, and verifies with no key, as
 * the vendor's own did (`interface.md` Authentication 6, `legacy-qr.md` §5.1). It is made without a secret.
 * @param timestamp_ms epoch ms of the attempt.
 */
export function unverifiableSignature(request_id: string, timestamp_ms: number): string {
  const ts = Math.floor(timestamp_ms / 1000);
  return `ts=${ts},v1=${createHash('sha256').update(`${request_id};${ts}`).digest('hex')}`;
}

function intentSignature({ intent_id, request_id, timestamp_ms }: NoticeFacts, secret: Secret): string {
  return signature({ id: intent_id, request_id, ts: timestamp_ms }, secret);
}
