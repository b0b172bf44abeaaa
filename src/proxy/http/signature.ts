/** Verifies `order` webhook signatures, in every casing and time unit in use (`docs/field-notes.md` Orders §4.2). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../vault.ts';

export interface SignedDelivery {
  /** `data.id` of the query, as received; this one is signed. */
  query_id: string | null;
  /** `data.id` of the body, which is not signed. */
  body_id: string | null;
  /** `X-Request-Id`. */
  request_id: string | null;
  /** `X-Signature`: `ts=…,v1=…`. */
  signature_header: string | null;
  secret: Secret;
}

/**
 * The body is not signed, so a body that names another order than the query is not verified. There is no time window: an
 * event that is sent again only causes another read (`docs/protocol.md` §3.11, step 6). Never throws.
 * @returns `timestamp_ms`: the sender's time, epoch ms, also when the check fails; null when unreadable.
 */
export function verifyOrderSignature(delivery: SignedDelivery): { verified: boolean; timestamp_ms: number | null } {
  const parts = readHeader(delivery.signature_header);
  if (parts === null) return { verified: false, timestamp_ms: null };
  const timestamp_ms = readTimestamp_ms(parts.ts);
  const secret = delivery.secret.reveal();
  if (timestamp_ms === null || secret === '' || !DIGEST.test(parts.v1) || namesAnother(delivery)) {
    return { verified: false, timestamp_ms };
  }
  const given = Buffer.from(parts.v1, 'hex');
  let verified = false;
  for (const id of castings(delivery.query_id)) {
    const expected = createHmac('sha256', secret)
      .update(manifest(id, delivery.request_id, parts.ts))
      .digest();
    // Tries every casing, also after a match, so that the time shows nothing.
    verified = timingSafeEqual(given, expected) || verified;
  }
  return { verified, timestamp_ms };
}

/** SHA-256 as hex; another length would make the constant-time comparison throw (F103). */
const DIGEST = /^[0-9a-f]{64}$/i;
/** Far above any real header; a longer one is not parsed. */
const MAX_HEADER_CHARACTERS = 1024;

/** The header's two parts in any order and spacing; null when one is missing or given twice. */
function readHeader(header: string | null): { ts: string; v1: string } | null {
  if (header === null || header.length > MAX_HEADER_CHARACTERS) return null;
  const found = new Map<string, string>();
  for (const part of header.split(',')) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(at, 0)).trim().toLowerCase();
    if (name !== 'ts' && name !== 'v1') continue;
    if (found.has(name)) return null;
    found.set(name, part.slice(at + 1).trim());
  }
  const ts = found.get('ts');
  const v1 = found.get('v1');
  return ts === undefined || v1 === undefined ? null : { ts, v1 };
}

/** Seconds (10 digits) and milliseconds (13) are both in use; the number of digits decides. */
function readTimestamp_ms(ts: string): number | null {
  if (/^\d{10}$/.test(ts)) return Number(ts) * 1000;
  return /^\d{13}$/.test(ts) ? Number(ts) : null;
}

function namesAnother({ query_id, body_id }: SignedDelivery): boolean {
  return query_id !== null && body_id !== null && query_id.toLowerCase() !== body_id.toLowerCase();
}

/** Upstream's libraries disagree on the case of the id, so each case is tried once. */
function castings(id: string | null): Iterable<string | null> {
  return id === null || id === '' ? [null] : new Set([id, id.toLowerCase(), id.toUpperCase()]);
}

/** Omits absent parts, with their names. */
function manifest(id: string | null, request_id: string | null, ts: string): string {
  const idPart = id === null ? '' : `id:${id};`;
  const requestPart = request_id === null || request_id === '' ? '' : `request-id:${request_id};`;
  return `${idPart}${requestPart}ts:${ts};`;
}
