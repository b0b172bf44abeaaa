/** The legacy door: one route per row of `mappings/operations.yaml`; its lane decides whether a call is translated. */
import { type RequestHandler, type Response, Router } from 'express';
import { isObject, type Json, withWholeNumbers } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';
import type { Operation } from '../../mapping/tables.ts';
import { type ExchangeDraft, markLimitation, noteUnknown } from '../evidence/exchange.ts';
import { stories } from '../operations.ts';
import type { Ports } from '../ports.ts';
import { chooseLane, type Lane, namedBy, namings } from '../routing/lane.ts';
import type { Merchant } from '../routing/merchant.ts';
import { isShadowed } from '../routing/stage.ts';
import { provenMerchant } from '../routing/token-ownership.ts';
import type { Secret } from '../vault.ts';
import { isPayment } from './admission.ts';
import { type Answered, answerThrown, type LegacyAnswer, refused, sendAnswer } from './answer.ts';
import { nameMerchant, type Ongoing, ongoingOf, policyOf, setMerchant } from './exchange.ts';
import { markDeprecated, proxyBytes, proxyOperation } from './proxy-legacy.ts';
import {
  isPathValue,
  parseBody,
  peekBody,
  plainTarget,
  readToken,
  scrubbedTarget,
  singleHeaders,
  singleQuery,
  slotNamed,
  unknownHeaderNames,
} from './request.ts';

/** Most lane choices of one call: another call may take or free the unit meanwhile. */
const MAX_CHOICES = 4;

interface LegacyDoor {
  ports: Ports;
  /** Proxies the request to the legacy upstream, unchanged. */
  proxy: RequestHandler;
  body_limit_bytes: number;
}

/** Routes of all operations. @throws PuenteError bad_tables when an operation names a story that does not exist. */
export function legacyRouter(door: LegacyDoor): RequestHandler {
  const routers = narrowRouters();
  for (const operation of door.ports.tables.operations) {
    if (stories[operation.story] === undefined || namings[operation.story] === undefined) {
      throw new PuenteError(
        'bad_tables',
        `operations.yaml: ${operation.name} names the story ${operation.story}, which does not exist`,
      );
    }
    routers.add(operation, (request, response, next) => {
      const call = ongoingOf(request);
      call.work = serve({ ...door, ports: call.ports }, operation, call, request, response, next).catch(
        (error: unknown) => sendAnswer(response, answerThrown(operation.family, error, request, door.ports.log)),
      );
    });
  }
  return routers.handle;
}

// Routing: the method and paths of an operation, and the values of its path.

/** One router per method and first path segment: trying seventy patterns one by one costs every call 10 µs. */
function narrowRouters() {
  const make = (): Router => Router({ caseSensitive: true, strict: true });
  const narrow = new Map<string, Router>();
  /** For HEAD, which Express answers as GET. */
  const all = make();
  return {
    add(operation: Operation, handler: RequestHandler): void {
      const start = startOf(operation.method, operation.path);
      const router = narrow.get(start) ?? make();
      narrow.set(start, router);
      const found: RequestHandler = (request, response, next) => {
        request.url = request.originalUrl; // proxied as received
        return handler(request, response, next);
      };
      for (const one of [router, all]) one[methodOf(operation)](pathsOf(operation), found);
    },
    /** Passes calls of no operation to the next handler. */
    handle(...[request, response, next]: Handled) {
      const { method, url } = request;
      const plain = plainTarget(url);
      const router = method === 'HEAD' ? all : narrow.get(startOf(method, plain));
      if (router === undefined) return next();
      request.url = plain;
      router(request, response, (error?: unknown) => {
        request.url = url; // proxied as received
        next(error);
      });
    },
  };
}

/** `GET /v1`; operations have no parameter there. */
function startOf(method: string, target: string): string {
  return `${method} ${/^\/[^/?]*/.exec(target)?.[0]}`;
}

function pathValues(parameters: Record<string, string | string[]>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name in parameters) {
    const value = parameters[name];
    if (value !== undefined) values[name] = String(value);
  }
  return values;
}

/**
 * Official clients end some payment paths with a slash; legacy accepted it there and on merchant orders
 * (`docs/field-notes.md` QR §2, §3). It accepted it on sales too (`docs/architecture.md` Decision 12): a sale that
 * passes unrecognised could become a second charge.
 */
function pathsOf({ family, path }: Operation): string[] {
  const isOfUnit = family === 'point' || family === 'qr' || family === 'qr_v1';
  const mayEndSo = isOfUnit || family === 'payments' || /^\/merchant_orders\/./.test(path);
  return mayEndSo ? [path, `${path}/`] : [path];
}

function methodOf(operation: Operation): 'get' | 'post' | 'patch' | 'put' | 'delete' {
  return operation.method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete'; // lower case of a closed list
}

/** Serves a call: token, lane, then translation or proxy; starts again when another call made the lane wrong. */
async function serve(door: LegacyDoor, operation: Operation, call: Ongoing, ...handled: Handled): Promise<void> {
  const { ports } = door;
  const [request, response] = handled;
  const { family } = operation;
  const reply = (answer: Answered): void => finish(door, operation, response, answer, call);
  call.operation = operation;
  call.draft.is_payment = isPayment(operation);
  call.token = readToken(request);
  const { token } = call;
  if (token === null) {
    // Without a token: where merchants start on legacy, legacy answers the call.
    if (ports.settings.merchants.stage === 'legacy') return proxyBytes(door, call, handled);
    call.lane = 'orders';
    return reply(refused(family, family === 'payments' ? 'token_missing' : 'unauthorized'));
  }
  call.path = pathValues(request.params);
  for (let choice = 0; choice < MAX_CHOICES; choice++) {
    const lane = await chooseLaneOf(ports, operation, call, token);
    if (lane.lane === 'refused') return reply(refused(family, lane.error));
    if (isDeprecated(call.merchant)) await addDeprecation(ports, call, call.merchant, operation, token, response);
    if (lane.lane === 'orders') {
      const answer = await translate(door, operation, call, lane, token, request);
      if (answer.kind === 'answer') return reply(answer);
      if (answer.kind === 'moved') continue;
    }
    if (isShadowed(lane.stage)) noteHeaders(call, request); // counted only: no header refuses a proxied call
    if (await proxyOperation(door, call, operation, token, handled)) return;
  }
  return reply(refused(family, 'unavailable'));
}

function isDeprecated(merchant: Merchant | null): merchant is Merchant {
  return merchant !== null && merchant.settings.deprecation !== null;
}

/** Adds the headers for a proven token of the merchant only: others must not learn the plans for its tills. */
async function addDeprecation(
  ports: Ports,
  call: Ongoing,
  merchant: Merchant,
  operation: Operation,
  token: Secret,
  response: Handled[1],
): Promise<void> {
  if (call.proven_id !== merchant.id && (await provenMerchant(ports, token)) !== merchant.id) return;
  markDeprecated(response, merchant, operation);
}

type Handled = Parameters<RequestHandler>;
type OnOrders = Extract<Lane, { lane: 'orders' }>;

async function chooseLaneOf(ports: Ports, operation: Operation, call: Ongoing, token: Secret): Promise<Lane> {
  const lane = await chooseLane(ports, token, namedBy(ports, operation, call.path), operation.kind);
  call.lane = lane.lane === 'legacy' ? 'legacy' : 'orders';
  call.is_token_refused = lane.lane === 'legacy' && lane.is_token_refused === true;
  call.stage = lane.stage;
  call.unit = slotNamed(call.path);
  if (lane.lane === 'orders') {
    setMerchant(ports, call, lane.merchant);
    call.proven_id = lane.merchant.id;
    call.unit ??= lane.link?.slot ?? null;
    call.draft.legacy_id ??= lane.link?.legacy_id ?? null;
  } else await nameMerchant(ports, call, lane.merchant_id);
  return lane;
}

/** Serves a call on the orders lane: checks the request, then runs its story. */
async function translate(
  door: LegacyDoor,
  operation: Operation,
  call: Ongoing,
  lane: OnOrders,
  token: Secret,
  request: Handled[0],
): Promise<LegacyAnswer> {
  const { family } = operation;
  const query = singleQuery(request);
  if (query === null) {
    markLimitation(call.draft, 'LIM-56');
    return refused(family, 'bad_request');
  }
  for (const name in call.path) {
    if (!isPathValue(call.path[name] ?? '')) return refused(family, 'invalid_property', name);
  }
  const [invented] = noteHeaders(call, request);
  if (invented !== undefined && policyOf(door.ports, lane.merchant, 'unknown_header') === 'refuse')
    return refused(family, 'additional_property', invented);
  const body = operation.body === 'dropped' ? undefined : await readJson(door, operation, request);
  call.body = body;
  return await storyOf(operation)(forMerchant(door.ports, lane.merchant), {
    operation,
    received_at: call.at,
    target: scrubbedTarget(request),
    path: call.path,
    query,
    headers: singleHeaders(request),
    body,
    token,
    merchant: lane.merchant,
    link: lane.link,
    is_by_unit: lane.is_by_unit,
  });
}

/** The same ports, with the tables of a merchant that has its own. */
function forMerchant(ports: Ports, { id }: Merchant): Ports {
  const tables = ports.tables.of(id);
  return tables === ports.tables ? ports : { ...ports, tables };
}

function storyOf(operation: Operation): NonNullable<(typeof stories)[string]> {
  return stories[operation.story] as NonNullable<(typeof stories)[string]>; // checked at start
}

/** Notes the headers that no table has. @returns their names. */
function noteHeaders(call: Ongoing, request: Handled[0]): string[] {
  const names = unknownHeaderNames(Object.keys(request.headers));
  for (const name of names) noteUnknown(call.draft, 'header', name);
  return names;
}

/** An optional body that is empty or `null` counts as `{}`: tills refund a whole payment that way (`docs/field-notes.md` QR §3). */
async function readJson(door: LegacyDoor, { family, body: wanted }: Operation, request: Handled[0]): Promise<unknown> {
  const bytes = await peekBody(request, door.body_limit_bytes);
  if (wanted === 'optional' && bytes.length === 0) return {};
  const read = parseBody(bytes, request.headers, door.body_limit_bytes);
  if (wanted === 'optional' && read === null) return {};
  // Point has no fractions: 1500 and 1500.0 are the same sale, answered as 1500. QR amounts keep their spelling.
  const body = family === 'point' ? withWholeNumbers(read as Json) : read;
  // Every legacy body is an object; legacy never accepted anything else.
  if (!isObject(body)) throw new PuenteError('refused', 'The body is no JSON object', { facts: { error: 'bad_json' } });
  return body;
}

// The end of a translated call: logged, answered, and followed up.

type Door = Pick<LegacyDoor, 'ports'>;

/** Answers a call of the orders lane; `answer.onClosed` runs once the till has the answer, or disconnected. */
function finish(door: Door, operation: Operation, response: Response, answer: Answered, { draft }: Ongoing): void {
  const duration_ms = performance.now() - draft.started_tick_ms;
  door.ports.log.info('call', {
    operation: operation.name,
    status: answer.status,
    lane: 'orders',
    duration_ms: Math.round(duration_ms),
  });
  if (answer.onClosed !== undefined) afterwards(door, operation, response, answer.onClosed, draft);
  sendAnswer(response, answer);
  door.ports.memory.failpoint('answer.sent');
}

/** Runs `onClosed` when the response closes; at once when the client disconnected before. */
function afterwards(
  door: Door,
  operation: Operation,
  response: Response,
  onClosed: (whole: boolean) => Promise<void>,
  { legacy_id }: ExchangeDraft,
): void {
  const closed = (): void => {
    onClosed(response.writableFinished).catch((error: unknown) =>
      door.ports.log.error('what follows an answer failed', {
        ...(legacy_id === null ? {} : { legacy_id }),
        operation: operation.name,
        cause: String(error),
      }),
    );
  };
  if (response.closed) closed();
  else response.once('close', closed);
}
