/** The body of a QR create as it is stored: sealed, because it may be private, and returned as it was sent. */
import { parseJson, plainNumber, stringifyJson } from '../../contract/json.ts';
import type { Ports } from '../ports.ts';
import type { Link } from '../sales/link.ts';

interface KeptCall {
  /** JSON text, sealed, as base64. */
  body: string;
  reference: string | null;
  /** Null: this sale's notices go to the merchant's URL. */
  notice_url: string | null;
}

/** @param body a JSON object. */
export function keepCall(ports: Ports, body: unknown): KeptCall {
  const fields = body as Record<string, unknown>; // only JSON objects are accepted
  const { notification_url } = fields;
  return {
    body: Buffer.from(ports.vault.seal(stringifyJson(fields), 'qr-body')).toString('base64'),
    reference: referenceOf(fields),
    notice_url: typeof notification_url === 'string' ? notification_url : null,
  };
}

/** Longer bodies are not cached: parsed, they take some hundred times their length. */
const LONGEST_KEPT = 8_192;
/** Opened once for each cached row: tills poll merchant orders, and opening is the slowest part of such a poll. */
const opened = new WeakMap<Link, Record<string, unknown>>();

/** The body as the till sent it, numbers with their source text. Shared: do not change it. */
export function keptBody(ports: Ports, link: Link): Readonly<Record<string, unknown>> {
  const known = opened.get(link);
  if (known !== undefined) return known;
  const sealed = Buffer.from(String(link.held.body), 'base64'); // every QR link has one
  const body = parseJson(ports.vault.open(sealed, 'qr-body').toString('utf8')) as Record<string, unknown>; // it was one
  if (sealed.length <= LONGEST_KEPT) opened.set(link, body);
  return body;
}

/** The client's own reference as text; null when it is none. */
export function referenceOf(body: Record<string, unknown>): string | null {
  const external_reference = plainNumber(body.external_reference);
  if (typeof external_reference === 'string') return external_reference;
  return external_reference === undefined || external_reference === null ? null : stringifyJson(external_reference);
}
