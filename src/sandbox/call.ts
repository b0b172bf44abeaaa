/** One call of either API: its merchant, its input, and the routes that the rows of handlers make. */
import { hash } from 'node:crypto';
import express, { type Request, type RequestHandler, type Router } from 'express';
import { decodeUtf8, isObject, type Json, type JsonObject, parseJson, withWholeNumbers } from '../contract/json.ts';
import { decodeText, isOtherSyntax, readQuery } from '../contract/legacy-body.ts';
import { type Family as LegacyFamily, legacyError } from '../contract/legacy-errors.ts';
import type { PuenteError } from '../error.ts';
import { type Answer, encodeError, json, refuse, refused, refusedAnswer, send, tokenRefusal } from './answer.ts';
import type { Merchant } from './records.ts';
import type { World } from './world.ts';

export interface Call<Family extends AnyFamily = AnyFamily> {
  world: World;
  family: Family;
  merchant: Merchant;
  token: string;
  request: Request;
  /** A path parameter; empty when the route does not have it. */
  path(name: string): string;
  query: URLSearchParams;
  /** The name in any case; undefined when the request does not have it. */
  header(name: string): string | undefined;
  /** Empty on GET and DELETE, whose bodies the real API ignores (`docs/field-notes.md` Point finding 9). */
  body: Buffer;
}

type AnyFamily = 'orders' | 'terminals' | LegacyFamily;

/** @throws PuenteError made by `refuse` or `refused`; it becomes the answer. */
export type Handler<Family extends AnyFamily = AnyFamily> = (call: Call<Family>) => Answer;

export type PaymentsCall = Call<'payments'>;
export type PaymentsHandler = Handler<'payments'>;

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

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

/** No documented body is nearly this large. */
const MAX_BODY_BYTES = 256 * 1024;

export const readBody: RequestHandler = express.raw({ type: () => true, limit: MAX_BODY_BYTES });

/** In-person families read JSON under any content type except one of another format. */
const refuseOtherSyntax: RequestHandler = (request, _response, next) => {
  const isOther = isOtherSyntax(request.headers['content-type'] ?? '');
  next(isOther ? Object.assign(new Error('no JSON'), { status: 415 }) : undefined);
};

/** Answers requests that Express refuses before a handler runs (bad path, large body), and the sandbox's own faults. */
export function unreadableAnswer(path: string, status: number): Answer {
  const family = legacyFamilies.find(([prefix]) => path.startsWith(prefix))?.[1];
  const name = namesByStatus[String(status)] ?? 'internal';
  const isKnown = family === 'point' || (family !== undefined && name !== 'internal');
  const entry = isKnown ? legacyError(family, name) : null;
  const known = entry === null ? null : refusedAnswer(refuse(family as LegacyFamily, entry)); // an entry exists only with a family
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

// Callers: tokens, and the answers to a missing, malformed or unknown token (`docs/field-notes.md` Orders §1.5).

/** Prefixes of production and test credentials; the real API treats any other token as malformed. */
export const WELL_FORMED = /^(?:APP_USR|TEST)-[\w-]+$/;

/** The token of the `Authorization` header, as sent; undefined without one or with another scheme. */
export function bearerToken(request: Request): string | undefined {
  return /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}

/** Legacy families also take the token in the query (`docs/field-notes.md` QR §6). @throws PuenteError refused. */
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

function queryOf(request: Request): URLSearchParams {
  const [, query = ''] = request.originalUrl.split(/\?(.*)/s);
  return readQuery(query);
}

// Bodies.

/** Empty where no body was read. */
export function bodyBytes(request: Request): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

/** Strict JSON: undefined for an empty body, `{ broken }` when it does not parse. */
export function bodyJson(bytes: Buffer): { value: Json } | { broken: true } | undefined {
  if (bytes.length === 0) return undefined;
  try {
    return { value: parseJson(decodeUtf8(bytes)) };
  } catch {
    return { broken: true };
  }
}

/**
 * Payments take an empty body and `null` for `{}`; Point takes `1500.0` as a whole number; in-store QR v1 has its own code for
 * every body that is not an object (`docs/field-notes.md` QR §1.1). @throws PuenteError refused.
 */
export function bodyObject({ family, body }: Call<LegacyFamily>): JsonObject {
  if (family === 'payments' && body.length === 0) return {};
  try {
    const value = parseJson(family === 'payments' ? decodeUtf8(body) : decodeText(body));
    if (family === 'payments' && value === null) return {};
    const read = family === 'point' ? withWholeNumbers(value) : value;
    if (isObject(read)) return read;
  } catch {
    // text that is not JSON gets the same refusal
  }
  throw refuse(family, 'bad_json');
}

/** Null for a missing or empty `X-Idempotency-Key`. */
export function idempotencyKey(call: Call): string | null {
  return call.header('x-idempotency-key') || null;
}

/** Equal for the same path and the same bytes. */
export function fingerprint({ request, body }: Call): string {
  return `${request.path} ${hash('sha256', body)}`;
}

// Pages of the legacy searches.

interface Page {
  offset: number;
  limit: number;
}

/** No maximum is published. A larger `limit` is cut, and `paging.limit` of the answer shows it. */
const MAX_LIMIT = 1000;

/** @throws PuenteError made by `fault` from the name of a parameter that is not a number. */
export function pageOf(query: URLSearchParams, default_limit: number, fault: (name: string) => PuenteError): Page {
  const read = (name: string, missing: number): number => {
    const text = query.get(name) || String(missing);
    if (!/^\d{1,9}$/.test(text)) throw fault(name);
    return Number(text);
  };
  return { offset: read('offset', 0), limit: Math.min(read('limit', default_limit), MAX_LIMIT) };
}

/** 200 with `paging` and `results`; `total` counts the entries of all pages. */
export function paged<Entry>(entries: readonly Entry[], page: Page, render: (entry: Entry) => unknown): Answer {
  const { offset, limit } = page;
  const results = entries.slice(offset, offset + limit).map(render);
  return json(200, { paging: { total: entries.length, limit, offset }, results });
}
