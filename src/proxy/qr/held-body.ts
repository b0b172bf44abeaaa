/** The body of a QR call as it is kept: given back as it was sent, and sealed, because what a till says may be private. */
import { parseJson, plainNumber, stringifyJson } from '../../contract/json.ts';
import type { Ports } from '../ports.ts';
import type { Link } from '../sales/link.ts';

/** What of a QR call outlives it. */
export interface KeptCall {
  /** JSON text, sealed, as base64. */
  body: string;
  /** The client's own reference as text; null when it gave none. */
  reference: string | null;
  /** Where this sale's notices go; null: to the merchant's URL. */
  notice_url: string | null;
}

/** @param body a JSON object. */
export function keepCall(ports: Ports, body: unknown): KeptCall {
  const said = body as Record<string, unknown>; // the door takes JSON objects only
  const { notification_url } = said;
  return {
    body: Buffer.from(ports.vault.seal(stringifyJson(said), 'qr-body')).toString('base64'),
    reference: referenceOf(said),
    notice_url: typeof notification_url === 'string' ? notification_url : null,
  };
}

/** A longer body takes some hundred times its length once it is parsed, and as many of them are kept as rows are known. */
const LONGEST_KEPT = 8_192;
/** Opened once for each row that is known: a till polls its merchant order, and opening takes longer than all else of that. */
const opened = new WeakMap<Link, Record<string, unknown>>();

/** The body as the till sent it, numbers with their source text; to be read only, because others hold it too. */
export function keptBody(ports: Ports, link: Link): Readonly<Record<string, unknown>> {
  const known = opened.get(link);
  if (known !== undefined) return known;
  const sealed = Buffer.from(String(link.held.body), 'base64'); // QR links are opened with one
  const body = parseJson(ports.vault.open(sealed, 'qr-body').toString('utf8')) as Record<string, unknown>; // it was one
  if (sealed.length <= LONGEST_KEPT) opened.set(link, body);
  return body;
}

/** Where this sale's notices go; null: to the merchant's URL. */
export function noticeUrl(ports: Ports, link: Link): string | null {
  if (link.sealed_notice_url === null) return null;
  return ports.vault.open(link.sealed_notice_url, 'notice-url').toString('utf8');
}

/** The client's own reference as text; null when it is none. */
export function referenceOf(body: Record<string, unknown>): string | null {
  const external_reference = plainNumber(body.external_reference);
  if (typeof external_reference === 'string') return external_reference;
  return external_reference === undefined || external_reference === null ? null : stringifyJson(external_reference);
}
