/** The body of a QR call as it is kept: given back byte for byte, its notification URL sealed apart. */
import { stringifyJson } from '../../contract/json.ts';
import type { Link } from '../link.ts';
import type { Runtime } from '../runtime.ts';

/** What stands in the kept body where the URL was; a URL of its own may carry a secret and is never kept in clear. */
const PLACE = 'sealed';

export interface KeptBody {
  body: Record<string, unknown>;
  notice_url: string | null;
}

/** @param body a JSON object; its keys stay in their order. */
export function keepBody(body: unknown): KeptBody {
  const said = body as Record<string, unknown>; // the door takes JSON objects only
  const { notification_url } = said;
  if (typeof notification_url !== 'string') return { body: said, notice_url: null };
  const kept = Object.fromEntries(
    Object.entries(said).map(([key, value]) => [key, key === 'notification_url' ? PLACE : value]),
  );
  return { body: kept, notice_url: notification_url };
}

/** The body as the till sent it. */
export function keptBody(runtime: Runtime, link: Link): Record<string, unknown> {
  const body = link.held.body as Record<string, unknown>; // QR links are opened with one
  const url = noticeUrl(runtime, link);
  if (url === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [key, key === 'notification_url' ? url : value]),
  );
}

/** Where this sale's notices go; null: to the merchant's URL. */
export function noticeUrl(runtime: Runtime, link: Link): string | null {
  if (link.sealed_notice_url === null) return null;
  return runtime.vault.open(link.sealed_notice_url, 'notice-url').toString('utf8');
}

/** The client's own reference as text; null when it is none. */
export function referenceOf(body: Record<string, unknown>): string | null {
  const { external_reference } = body;
  if (typeof external_reference === 'string') return external_reference;
  return external_reference === undefined || external_reference === null ? null : stringifyJson(external_reference);
}
