/** Builds the request of a Point notification in the merchant's dialect, and puts due notices into a fair order. */
import { createHmac } from 'node:crypto';
import type { Notice } from './records/notices.ts';
import type { Secret } from './secret.ts';

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
  | (NoticeFacts & { dialect: 'point_integration_ipn'; secret?: Secret | null })
  | (NoticeFacts & { dialect: 'point_integration_wh'; secret: Secret });

/**
 * The request of one notice. `point_integration_ipn` is never signed, `point_integration_wh` always is, with the
 * merchant's own secret. Source: `legacy-point.md` §3.1, §3.2, finding 3.
 */
export function noticeRequest(input: NoticeInput): NoticeRequest {
  const { url, body, intent_id } = input;
  const id = encodeURIComponent(intent_id);
  const headers = { accept: '*/*', 'content-type': 'application/json' };
  if (input.dialect === 'point_integration_ipn') {
    return { url: withQuery(url, `topic=point_integration_ipn&id=${id}`), headers, body };
  }
  return {
    url: withQuery(url, `type=point_integration_wh&data.id=${id}`),
    headers: { ...headers, 'x-request-id': input.request_id, 'x-signature': intentSignature(input, input.secret) },
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

function intentSignature({ intent_id, request_id, timestamp_ms }: NoticeFacts, secret: Secret): string {
  return signature({ id: intent_id, request_id, ts: timestamp_ms }, secret);
}
