/** Headers that no table knows: neither translated, nor of those that clients and proxies send by themselves. */

import type { IncomingMessage } from 'node:http';
import { legacyHeaders } from '../../contract/legacy-body.ts';

/** What HTTP clients, and the proxies on the way, send by themselves; lower-case. */
const ORDINARY: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'authorization',
  'baggage',
  'cache-control',
  'cdn-loop',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'date',
  'dnt',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'origin',
  'pragma',
  'priority',
  'proxy-connection',
  'referer',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade-insecure-requests',
  'user-agent',
  'via',
  'x-access-token',
  'x-amzn-trace-id',
  'x-correlation-id',
  'x-real-ip',
  'x-request-id',
  'x-requested-with',
]);
/** Families of such headers. */
const ORDINARY_STARTS = ['if-', 'sec-', 'x-forwarded-', 'cf-'];
/** Every one of these has a row in the headers tables, which the proofs at the start make sure. */
const TRANSLATED: ReadonlySet<string> = new Set(Object.keys(legacyHeaders.shape));

/** @param names lower-case. */
export function unknownHeaderNames(names: readonly string[]): string[] {
  return names.filter(
    (name) => !ORDINARY.has(name) && !TRANSLATED.has(name) && !ORDINARY_STARTS.some((start) => name.startsWith(start)),
  );
}

// Headers of translated calls that no table knows: they never reach the order, so whoever sends them should know.

/** Lower-case names, each once. */
export function unknownHeaders(request: IncomingMessage): string[] {
  return unknownHeaderNames(Object.keys(request.headers));
}
