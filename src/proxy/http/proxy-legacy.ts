/** Calls that go to the legacy API: what is recorded, refused or observed before their bytes are proxied unchanged. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { decodeText, readLegacyBody } from '../../contract/legacy-body.ts';
import { matcherOf } from '../../mapping/path.ts';
import type { Operation } from '../../mapping/tables.ts';
import { endpointName, noteUnknown, type OperationKind } from '../evidence/exchange.ts';
import type { Ports } from '../ports.ts';
import { chooseLane, type Named } from '../routing/lane.ts';
import { beginProxied, isTerminalRefund } from '../routing/legacy-ledger.ts';
import { isPaymentRefund } from '../routing/legacy-refunds.ts';
import { type Merchant, routedKinds } from '../routing/merchant.ts';
import { brownoutOf, brownoutWait_s } from '../routing/stage.ts';
import { verifiedMerchant } from '../routing/token-ownership.ts';
import type { Secret } from '../vault.ts';
import { READING } from './admission.ts';
import { type Answered, answerThrown, refused, sendAnswer } from './answer.ts';
import { nameCaller, type Ongoing, ongoingOf, policyOf } from './exchange.ts';
import { familyOf } from './passthrough.ts';
import { peekUpTo, plainTarget, readToken, singleHeaders, slotNamed } from './request.ts';

interface LegacyProxy {
  ports: Ports;
  /** Proxies the request to the legacy upstream, unchanged. */
  proxy: RequestHandler;
  /** A longer body is proxied unread. */
  body_limit_bytes: number;
}

type Handled = Parameters<RequestHandler>;

/**
 * Proxies a call of an operation; a create is recorded before.
 * @returns false when an order holds the unit by now, so that the lane has to be chosen again.
 * @throws PuenteError bad_request when the client disconnects before its request is complete.
 */
export async function proxyOperation(
  legacy: LegacyProxy,
  call: Ongoing,
  operation: Operation,
  token: Secret,
  handled: Handled,
): Promise<boolean> {
  const [request, response] = handled;
  call.lane = 'legacy';
  if (await isBrownedOut(legacy.ports, call, operation, token, response)) return true;
  const is_create = operation.upstream === 'create' || isTerminalRefund(operation);
  const is_captured = call.draft.rules?.captured === true && operation.body !== 'dropped';
  if (is_create || is_captured || isPaymentRefund(operation))
    call.body = await lookAtBody(request, legacy.body_limit_bytes);
  if (response.closed) return true; // the client disconnected, and nothing was sent
  if (is_create) {
    const begun = await beginProxied(legacy.ports, {
      merchant_id: call.merchant_id,
      operation,
      path: call.path,
      body: typeof call.body === 'object' ? call.body : null,
      headers: singleHeaders(request),
      is_token_refused: call.is_token_refused,
      token,
    });
    if (begun.kind === 'elsewhere') return false;
    call.sale = begun.kind === 'begun' ? begun.sale : null;
  }
  proxyBytes(legacy, call, handled);
  return true;
}

/** Proxies any call, and notes when. */
export function proxyBytes(legacy: Pick<LegacyProxy, 'ports' | 'proxy'>, call: Ongoing, handled: Handled): void {
  call.lane = 'legacy';
  call.proxied_at = legacy.ports.clock.now();
  call.proxied_tick_ms = performance.now();
  void legacy.proxy(...handled);
}

/** Refuses the call during a brown-out of its merchant; checked per call, so that an abort takes effect at once. */
async function isBrownedOut(
  ports: Ports,
  call: Ongoing,
  operation: Operation,
  token: Secret,
  response: Handled[1],
): Promise<boolean> {
  const now = ports.clock.now();
  const window = brownoutOf(call.merchant, operation, now);
  if (window === null) return false;
  // Only a proven token may learn of it. The legacy lane has not verified it so far; legacy judges any other token.
  if ((await verifiedMerchant(ports, token)) !== call.merchant?.id) return false;
  call.is_drill = true;
  ports.count('brownout_refusals', operation.name);
  const wait = { 'retry-after': String(brownoutWait_s(window, now)) };
  sendAnswer(response, refused(operation.family, 'unavailable', null, wait));
  return true;
}

/** Parsed as on the orders lane, else text; undefined when empty or too long. Every byte is put back. */
async function lookAtBody(request: IncomingMessage, limit_bytes: number): Promise<unknown> {
  const bytes = await peekUpTo(request, limit_bytes);
  if (bytes === null || bytes.length === 0) return undefined;
  const read = readLegacyBody(bytes, request.headers, limit_bytes);
  return read.fault === undefined ? read.value : decodeText(bytes);
}

// Calls of no operation: counted, and then proxied, unless their merchant's policy refuses them.

/**
 * The last handler of the door. A merchant's policy to refuse applies to calls with its proven token only, so that an
 * invented token does not learn of it. A call without a token, such as the one for a new token, has no merchant.
 */
export function unknownEndpoints({ proxy }: Pick<LegacyProxy, 'proxy'>): RequestHandler {
  return (request, response, next) => {
    const call = ongoingOf(request);
    const legacy = { ports: call.ports, proxy };
    const serve = async (): Promise<void> => {
      await nameCaller(legacy.ports, call, readToken(request));
      noteUnknown(call.draft, 'endpoint', endpointName(request.method, request.originalUrl));
      const guarded = await guard(legacy.ports, call, request.method, request.originalUrl);
      if (guarded !== null) {
        sendAnswer(response, guarded);
      } else if (await isRefused(legacy.ports, call)) {
        sendAnswer(response, refused(familyOf(request.originalUrl), 'action_not_supported'));
      } else if (!response.closed) proxyBytes(legacy, call, [request, response, next]);
    };
    call.work = serve().catch((error: unknown) => {
      sendAnswer(response, answerThrown(familyOf(request.originalUrl), error, request, legacy.ports.log));
    });
  };
}

/**
 * Keeps new sales off legacy for a unit whose sales are on orders. There, a write below the paths of sales that no
 * table has is refused in its family's shape, unless `merchants.unknown_write` is `allow`; so is any path that a
 * lenient server could read as an operation's. The lane is chosen as for an operation.
 * @returns null for a call that may be proxied.
 */
async function guard(ports: Ports, call: Ongoing, method: string, target: string): Promise<Answered | null> {
  const unrouted = method === 'OPTIONS' ? null : unroutedOf(ports.tables.operations, target);
  if (unrouted === null) return null;
  const { is_odd, is_of_sales, slot, kind, path } = unrouted;
  if (!is_odd && ports.tables.isProxied(method, plainTarget(target).split('?', 1)[0] ?? '')) return null;
  const family = familyOf(`${path}/`);
  const is_write = is_of_sales && !READING.has(method);
  if (!is_odd && (!is_write || ports.settings.merchants.unknown_write === 'allow')) return null;
  // Without a token: where merchants start on legacy, legacy answers the call.
  if (call.token === null) return ports.settings.merchants.stage === 'legacy' ? null : refused(family, 'unauthorized');
  const named: Named = slot === null ? { kind: 'merchant' } : { kind: 'slot', slot, work: 'look' };
  const lane = await chooseLane(ports, call.token, named, kind);
  call.unit = slot;
  if (lane.lane === 'refused') return refused(family, lane.error);
  // On canary, a call that names no unit could be a sale of either lane.
  if (lane.lane === 'legacy' && !(slot === null && lane.stage === 'canary')) return null;
  call.lane = 'orders';
  ports.count('refused_writes', is_odd ? 'spelling' : 'endpoint');
  ports.log.warn('a call that could make a sale on legacy was refused', {
    merchant: call.merchant_id ?? 'none',
    path: endpointName(method, target),
    cause: is_odd ? 'its path is spelled oddly' : 'no table has it',
  });
  return is_odd ? refused(family, 'bad_request') : refused(family, 'action_not_supported');
}

async function isRefused(ports: Ports, call: Ongoing): Promise<boolean> {
  const { token, merchant, merchant_id } = call;
  if (token === null || merchant_id === null) return false;
  if (policyOf(ports, merchant, 'unknown_endpoint') !== 'refuse') return false;
  return (await verifiedMerchant(ports, token)) === merchant_id;
}

// Paths that no route has matched.

/** Levels of nested escapes that are decoded. */
const MOST_ESCAPES = 4;

/**
 * The path as the most lenient of servers could read it: nested escapes, backslashes, parameters of segments, dots at
 * their ends, and letters of other widths or cases are normalised. Nothing is routed by it; it finds calls that must
 * not be proxied unread.
 * @param target path and query as received. @returns lower case, without a slash at its end.
 */
export function boldPath(target: string): string {
  let path = target.split('?', 1)[0] ?? '';
  for (let round = 0; round < MOST_ESCAPES; round++) {
    const before = path;
    path = path.replaceAll(/(?:%u[0-9a-f]{4}|%[0-9a-f]{2}|[\x80-\xff])+/gi, unescaped);
    if (path === before) break;
  }
  const parts: string[] = [];
  for (const part of path.normalize('NFKC').replaceAll('\\', '/').split('/')) {
    const word = part.replace(/[;?#].*$/s, '').replaceAll(/[^\x21-\x7e]/g, '');
    if (word === '..') parts.pop();
    else if (/[^.]/.test(word)) parts.push(word.replace(/\.+$/, ''));
  }
  return `/${parts.join('/')}`.toLowerCase();
}

/** Decodes a run of escapes: UTF-8, also overlong (`%c1%b0` for `p`), `%u0070`, else byte by byte. */
function unescaped(run: string): string {
  const bytes: number[] = [];
  for (const [, unit, byte, raw] of run.matchAll(/%u([0-9a-f]{4})|%([0-9a-f]{2})|([\x80-\xff])/gi)) {
    if (unit !== undefined) bytes.push(...Buffer.from(String.fromCharCode(Number.parseInt(unit, 16))));
    else bytes.push(byte === undefined ? (raw ?? '').charCodeAt(0) : Number.parseInt(byte, 16));
  }
  const short = Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(/\xe0[\x80\x81]([\x80-\xbf])|([\xc0\xc1])([\x80-\xbf])/g, (_all, _deep, lead?: string, tail = '') =>
      lead === undefined ? '' : String.fromCharCode(((lead.charCodeAt(0) & 1) << 6) | (tail.charCodeAt(0) & 0x3f)),
    );
  const text = Buffer.from(short, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? short : text;
}

/** Below these paths every unsafe method may make a sale. */
const SALES = /^\/(?:point|instore|mpmobile)(?:\/|$)/;

interface Unrouted {
  /** As `boldPath` reads it. */
  path: string;
  /** Spelled so that no table matches it, but a lenient server may. */
  is_odd: boolean;
  /** Below a path at which sales are made. */
  is_of_sales: boolean;
  /** Slot of the unit that the path names; null when it names none. */
  slot: string | null;
  kind: OperationKind;
}

/** @returns null for a path that resembles no operation. */
function unroutedOf(operations: readonly Operation[], target: string): Unrouted | null {
  const path = boldPath(target);
  const plain =
    plainTarget(target)
      .split('?', 1)[0]
      ?.replace(/(?<=.)\/$/, '') ?? '';
  const is_of_sales = SALES.test(path);
  const match = matcherOf(path);
  const named = operations.find((one) => match(one.path) !== null);
  if (!is_of_sales && named === undefined) return null;
  const is_misspelled = is_of_sales && (!SALES.test(plain) || plain.toLowerCase() !== path);
  const matchPlain = matcherOf(plain);
  const is_odd = is_misspelled || (named !== undefined && !operations.some((one) => matchPlain(one.path) !== null));
  return {
    path,
    is_odd,
    is_of_sales,
    slot: slotIn(target),
    kind: named?.kind ?? (path.startsWith('/point') ? 'intents' : 'qr'),
  };
}

/** Slot of the unit that a path names, in its own spelling. */
function slotIn(target: string): string | null {
  const path = plainTarget(target).split('?', 1)[0] ?? '';
  const [, device_id] = /\/devices\/([^/;]+)/i.exec(path) ?? [];
  if (device_id !== undefined) return slotNamed({ device_id });
  const [, external_pos_id] = /\/(?:pos|mpmobile\/instore\/qr\/\d+)\/([^/;]+)/i.exec(path) ?? [];
  return external_pos_id === undefined ? null : slotNamed({ external_pos_id });
}

// `Deprecation`, `Sunset` and `Link` headers for the makers of a merchant's tills, where its setting requires them.

/** Sets the headers before either lane answers; legacy's own ones win. Payments and searches stay, so get none. */
export function markDeprecated(response: ServerResponse, merchant: Merchant | null, operation: Operation): void {
  if (response.headersSent || !routedKinds.some((kind) => kind === operation.kind)) return;
  for (const [name, value] of Object.entries(deprecationHeaders(merchant))) response.setHeader(name, value);
}

/** Empty without the setting. */
export function deprecationHeaders(merchant: Merchant | null): Record<string, string> {
  const setting = merchant?.settings.deprecation ?? null;
  if (setting === null) return {};
  const { deprecated_at, sunset_at, link } = setting;
  return {
    // A structured-field date: `@` and seconds (RFC 9745 §2.1).
    ...(deprecated_at === null ? {} : { deprecation: `@${Math.floor(deprecated_at / 1000)}` }),
    // An HTTP-date (RFC 8594 §3).
    ...(sunset_at === null ? {} : { sunset: new Date(sunset_at).toUTCString() }),
    // The URL parser leaves no character that could end the header or the brackets.
    ...(link === null ? {} : { link: `<${new URL(link).href}>; rel="deprecation"` }),
  };
}
