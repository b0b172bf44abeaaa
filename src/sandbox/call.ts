/** One call of either API: whose it is, what was sent, and the rows that make the sandbox's routes. */
import { hash } from 'node:crypto';
import express, { type Request, type RequestHandler, type Router } from 'express';
import { decodeUtf8, type Json, parseJson, withWholeNumbers } from '../contract/json.ts';
import { decodeText, isOtherSyntax, readQuery } from '../contract/legacy-body.ts';
import { type Family as LegacyFamily, legacyError } from '../contract/legacy-errors.ts';
import type { PuenteError } from '../error.ts';
import { type Answer, encodeError, json, refuse, refused, refusedAnswer, send, tokenRefusal } from './answer.ts';
import type { Merchant } from './records.ts';
import type { World } from './world.ts';

export interface Call<Family extends AnyFamily = AnyFamily> {
  world: World;
  family: Family;
  /** The owner of the token. */
  merchant: Merchant;
  token: string;
  request: Request;
  /** A named part of the path; empty when the route has none of that name. */
  path(name: string): string;
  query: URLSearchParams;
  /** Value of a request header, by lower-case name. */
  header(name: string): string | undefined;
  /** Raw bytes; empty on GET and DELETE, whose bodies the live service ignores (`docs/field-notes.md` Point finding 9). */
  body: Buffer;
}

export type AnyFamily = 'orders' | 'terminals' | LegacyFamily;

/** @throws PuenteError made by `refuse` or `refused`, which is answered as it says. */
export type Handler<Family extends AnyFamily = AnyFamily> = (call: Call<Family>) => Answer;

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Rows of one family: method, path and what answers. */
export type Rows<Family extends AnyFamily> = readonly (readonly [Method, string, Handler<Family>])[];

/** Trailing slashes are tolerated (`docs/field-notes.md` QR §3). */
export function addRoutes<Family extends AnyFamily>(
  router: Router,
  world: World,
  family: Family,
  rows: Rows<Family>,
): void {
  const isInPerson = family === 'point' || family === 'qr_v1' || family === 'qr' || family === 'merchant_orders';
  for (const [method, path, handler] of rows) {
    const reading =
      method === 'get' || method === 'delete' ? [] : isInPerson ? [refuseOtherSyntax, readBody] : [readBody];
    router[method](path, ...reading, (request, response) => {
      send(response, answerTo(world, family, handler, request));
    });
  }
}

function answerTo<Family extends AnyFamily>(
  world: World,
  family: Family,
  handler: Handler<Family>,
  request: Request,
): Answer {
  try {
    const query = queryOf(request);
    return handler({
      world,
      family,
      ...callerOf(world, family, request, query),
      request,
      path: (name) => String(request.params[name] ?? ''),
      query,
      header: (name) => request.get(name),
      body: bodyBytes(request),
    });
  } catch (error) {
    const answer = refusedAnswer(error);
    if (answer === null) throw error;
    return answer;
  }
}

/** No documented body comes near this; a larger one is a mistake. */
const MAX_BODY_BYTES = 256 * 1024;

/** The bytes, whatever the content type says. */
export const readBody: RequestHandler = express.raw({ type: () => true, limit: MAX_BODY_BYTES });

/** In-person families read JSON under any type but another format's own. */
const refuseOtherSyntax: RequestHandler = (request, _response, next) => {
  const isOther = isOtherSyntax(request.headers['content-type'] ?? '');
  next(isOther ? Object.assign(new Error('no JSON'), { status: 415 }) : undefined);
};

/** The answer to a request that Express refuses before a handler runs (a path that does not decode, a body too large), and to the sandbox's own faults. */
export function unreadableAnswer(path: string, status: number): Answer {
  const family = legacyFamilies.find(([prefix]) => path.startsWith(prefix))?.[1];
  const name = namesByStatus[String(status)] ?? 'internal';
  const isKnown = family === 'point' || (family !== undefined && name !== 'internal');
  const entry = isKnown ? legacyError(family, name) : null;
  const known = entry === null ? null : refusedAnswer(refuse(family as LegacyFamily, entry)); // an entry is of a family
  if (known !== null) return known;
  if (status >= 500)
    return encodeError(path, { status, code: 'internal_error', message: 'Internal error of the sandbox' });
  return encodeError(path, { status, code: 'bad_request', message: 'The request could not be read' });
}

const legacyFamilies = [
  ['/point', 'point'],
  ['/mpmobile', 'qr_v1'],
  ['/instore', 'qr'],
  ['/merchant_orders', 'merchant_orders'],
] as const;

const namesByStatus: Readonly<Record<string, 'too_large' | 'unsupported_media' | 'bad_request'>> = {
  '413': 'too_large',
  '415': 'unsupported_media',
  '400': 'bad_request',
};

// Who calls: tokens, and the answers to a missing, malformed or unknown one (`docs/field-notes.md` Orders §1.5).

/** Production and test credentials start like this; anything else is malformed to the live service. */
export const WELL_FORMED = /^(?:APP_USR|TEST)-[\w-]+$/;

/** @returns the token, or undefined when there is no bearer token in the header. */
export function bearerToken(request: Request): string | undefined {
  return /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}

/** The older families take the token in the query too (`docs/field-notes.md` QR §6). @throws PuenteError refused. */
function callerOf(
  world: World,
  family: AnyFamily,
  request: Request,
  query: URLSearchParams,
): { merchant: Merchant; token: string } {
  const isNew = family === 'orders' || family === 'terminals';
  const token = bearerToken(request) ?? (isNew ? undefined : query.get('access_token')) ?? '';
  const merchant = world.ownerOf(token);
  if (!isNew) {
    if (merchant !== undefined) return { merchant, token };
    throw refuse(family, family === 'payments' && token === '' ? 'token_missing' : 'unauthorized');
  }
  if (request.headers.authorization === undefined) {
    const isBlocked = world.settings.missing_token === 'gateway' && family === 'orders';
    throw refused(isBlocked ? blockedByGateway : missingToken);
  }
  if (!WELL_FORMED.test(token)) throw refused(missingToken);
  if (merchant === undefined) throw refused(tokenRefusal(401, 'unauthorized', 'user not found'));
  return { merchant, token };
}

const missingToken = tokenRefusal(401, 'unauthorized', 'authorization value not present');

const blockedByGateway = json(403, {
  code: 'PA_UNAUTHORIZED_RESULT_FROM_POLICIES',
  blocked_by: 'PolicyAgent',
  message: 'At least one policy returned UNAUTHORIZED.',
  status: 403,
});

/** The query of the address; a bare question mark is an empty one. */
function queryOf(request: Request): URLSearchParams {
  const [, query = ''] = request.originalUrl.split(/\?(.*)/s);
  return readQuery(query);
}

// What was sent.

export type JsonObject = { [key: string]: Json };

/** True for a JSON object; arrays, null and exact numbers are none. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The bytes of the body; none for a missing one. */
export function bodyBytes(request: Request): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

/** Strict JSON. @returns undefined when the body is empty, null-safe `{ value }` when it parses, and `{ broken }` when it is no JSON. */
export function bodyJson(bytes: Buffer): { value: Json } | { broken: true } | undefined {
  if (bytes.length === 0) return undefined;
  try {
    return { value: parseJson(decodeUtf8(bytes)) };
  } catch {
    return { broken: true }; // what is wrong with it is the caller's to find out
  }
}

/**
 * The body of a legacy call as an object, as its family reads it: payments take no body for `{}`; Point takes `1500.0` for a
 * whole number; in-store QR v1 has its own code for every body that is no object (`docs/field-notes.md` QR §1.1).
 * @throws PuenteError refused.
 */
export function bodyObject({ family, body }: Call<LegacyFamily>): JsonObject {
  if (family === 'payments' && body.length === 0) return {};
  try {
    const value = parseJson(family === 'payments' ? decodeUtf8(body) : decodeText(body));
    const read = family === 'point' ? withWholeNumbers(value) : value;
    if (isObject(read)) return read;
  } catch {
    // no JSON at all is refused in the same words
  }
  throw refuse(family, 'bad_json');
}

/** Null for a missing or empty `X-Idempotency-Key`. */
export function idempotencyKey(call: Call): string | null {
  return call.header('x-idempotency-key') || null;
}

/** Same path and same bytes, same mark. */
export function fingerprint({ request, body }: Call): string {
  return `${request.path} ${hash('sha256', body)}`;
}

// Pages of the older families' searches.

export interface Page {
  offset: number;
  limit: number;
}

/** The largest page; none is published, so a larger wish is cut and the answer says so in `paging.limit`. */
const MAX_LIMIT = 1000;

/**
 * `limit` and `offset` of the query.
 * @throws PuenteError what `fault` makes of the name of the parameter that is no number.
 */
export function pageOf(query: URLSearchParams, default_limit: number, fault: (name: string) => PuenteError): Page {
  const read = (name: string, missing: number): number => {
    const text = query.get(name) || String(missing);
    if (!/^\d{1,9}$/.test(text)) throw fault(name);
    return Number(text);
  };
  return { offset: read('offset', 0), limit: Math.min(read('limit', default_limit), MAX_LIMIT) };
}

/** `paging` and `results` of one page. */
export function paged<Entry>(entries: readonly Entry[], page: Page, render: (entry: Entry) => unknown): Answer {
  const { offset, limit } = page;
  const results = entries.slice(offset, offset + limit).map(render);
  return json(200, { paging: { total: entries.length, limit, offset }, results });
}
