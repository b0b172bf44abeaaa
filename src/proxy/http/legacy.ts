/** The legacy door: one route per row of `mappings/operations.yaml`. A call is admitted, its lane chosen, then translated or proxied, answered, and recorded. */
import { type RequestHandler, type Response, Router } from 'express';
import { type Json, withWholeNumbers } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';
import type { Operation } from '../../mapping/tables.ts';
import { type ExchangeDraft, markLimitation, noteUnknown } from '../evidence/exchange.ts';
import { stories } from '../operations.ts';
import type { Ports } from '../ports.ts';
import { chooseLane, type Lane, namedBy, namings } from '../routing/lane.ts';
import type { Merchant } from '../routing/merchant.ts';
import { isShadowed } from '../routing/stage.ts';
import { provenMerchant } from '../routing/token-ownership.ts';
import type { Observe } from '../telemetry/telemetry.ts';
import type { Secret } from '../vault.ts';
import { isPayment } from './admission.ts';
import { type Answered, answerThrown, type LegacyAnswer, refused, sendAnswer } from './answer.ts';
import { nameMerchant, type Ongoing, ongoingOf, policyOf, setMerchant } from './exchange.ts';
import { carryBytes, carryOperation, markDeprecated } from './proxy-legacy.ts';
import {
  isPathValue,
  parseBody,
  peekBody,
  plainTarget,
  readToken,
  repeatsParameter,
  scrubbedTarget,
  singleHeaders,
  singleQuery,
  slotNamed,
  unknownHeaders,
} from './request.ts';

/** How often one call may find that what its lane was chosen by is over, or has begun, meanwhile. */
const MAX_CHOICES = 4;

export interface LegacyDoor {
  ports: Ports;
  /** Carries the request to the legacy upstream, untouched. */
  carry: RequestHandler;
  body_limit_bytes: number;
  observe: Observe;
}

/**
 * Routes for every operation of the tables.
 * @throws PuenteError bad_tables when an operation names a story that does not exist.
 */
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
        (error: unknown) => {
          door.observe(operation.name, 'error', 0);
          sendAnswer(response, answerThrown(operation.family, error, request, door.ports.log));
        },
      );
    });
  }
  return routers.handle;
}

// Where an operation is found: its method, its paths, and what a path names.

interface NarrowRouters {
  add(operation: Operation, handler: RequestHandler): void;
  /** Leaves what is no operation's to the next handler. */
  handle: RequestHandler;
}

/** One router for each method and first part of a path: walked through one by one, seventy patterns cost every call 10 µs. */
function narrowRouters(): NarrowRouters {
  const make = (): Router => Router({ caseSensitive: true, strict: true });
  const narrow = new Map<string, Router>();
  /** For HEAD, which Express answers as GET. */
  const all = make();
  return {
    add(operation, handler) {
      const start = startOf(operation.method, operation.path);
      const router = narrow.get(start) ?? make();
      narrow.set(start, router);
      const found: RequestHandler = (request, response, next) => {
        request.url = request.originalUrl; // what is carried goes as it came
        return handler(request, response, next);
      };
      for (const one of [router, all]) one[methodOf(operation)](pathsOf(operation), found);
    },
    handle(request, response, next) {
      const { method, url } = request;
      const plain = plainTarget(url);
      const router = method === 'HEAD' ? all : narrow.get(startOf(method, plain));
      if (router === undefined) return next();
      request.url = plain;
      router(request, response, (error?: unknown) => {
        request.url = url; // what is carried goes as it came
        next(error);
      });
    },
  };
}

/** `GET /v1`; operations have no parameter there. */
function startOf(method: string, target: string): string {
  return `${method} ${/^\/[^/?]*/.exec(target)?.[0]}`;
}

/** The path parameters of a request, by name. */
function pathValues(parameters: Record<string, string | string[]>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name in parameters) {
    const value = parameters[name];
    if (value !== undefined) values[name] = String(value);
  }
  return values;
}

/**
 * Official clients end some paths of payments with a slash, and legacy took it on all of them, and on merchant orders
 * (`docs/field-notes.md` QR §2, §3). It took it on sales too (`docs/architecture.md` Decision 12), and work on a unit that went by unseen could be a
 * second charge.
 */
function pathsOf({ family, path }: Operation): string[] {
  const isOfUnit = family === 'point' || family === 'qr' || family === 'qr_v1';
  const mayEndSo = isOfUnit || family === 'payments' || /^\/merchant_orders\/./.test(path);
  return mayEndSo ? [path, `${path}/`] : [path];
}

/** The name of the router's method for an operation. */
function methodOf(operation: Operation): 'get' | 'post' | 'patch' | 'put' | 'delete' {
  return operation.method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete'; // lower case of a closed list
}

/** One call: token, lane, and then the story or the carrier; once more when the lane was overtaken by another call. */
async function serve(door: LegacyDoor, operation: Operation, call: Ongoing, ...handled: Handled): Promise<void> {
  const { ports } = door;
  const [request, response] = handled;
  const { family } = operation;
  const tell = (answer: Answered): void => finish(door, operation, response, answer, call);
  call.operation = operation;
  call.draft.is_payment = isPayment(operation);
  call.token = readToken(request);
  const { token } = call;
  if (token === null) {
    // Nobody's call: where merchants start on legacy, legacy says what it thinks of it.
    if (ports.settings.merchants.stage === 'legacy') return carryBytes(door, call, handled);
    call.lane = 'orders';
    return tell(refused(family, family === 'payments' ? 'token_missing' : 'unauthorized'));
  }
  call.path = pathValues(request.params);
  for (let choice = 0; choice < MAX_CHOICES; choice++) {
    const lane = await chooseLaneOf(ports, operation, call, token);
    if (lane.lane === 'refused') return tell(refused(family, lane.error));
    if (isDeprecated(call.merchant)) await tellDeprecation(ports, call, call.merchant, operation, token, response);
    if (lane.lane === 'orders') {
      const answer = await translate(door, operation, call, lane, token, request);
      if (answer.kind === 'answer') return tell(answer);
      if (answer.kind === 'moved') continue;
    }
    if (isShadowed(lane.stage)) noteHeaders(call, request); // counted; a carried call is refused for nothing
    if (await carryOperation(door, call, operation, token, handled)) return;
  }
  return tell(refused(family, 'unavailable'));
}

function isDeprecated(merchant: Merchant | null): merchant is Merchant {
  return merchant !== null && merchant.settings.deprecation !== null;
}

/** To whoever has the merchant's token alone: what is planned for its tills is nobody else's affair. */
async function tellDeprecation(
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

/** The lane, with what it tells of the call's merchant, unit and id. */
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

/** The call on the orders lane, from what may be read of it to the story's answer. */
async function translate(
  door: LegacyDoor,
  operation: Operation,
  call: Ongoing,
  lane: OnOrders,
  token: Secret,
  request: Handled[0],
): Promise<LegacyAnswer> {
  const { family } = operation;
  if (repeatsParameter(request)) {
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
  return await storyOf(operation)(door.ports, {
    operation,
    received_at: call.at,
    target: scrubbedTarget(request),
    path: call.path,
    query: singleQuery(request),
    headers: singleHeaders(request),
    body,
    token,
    merchant: lane.merchant,
    link: lane.link,
  });
}

function storyOf(operation: Operation): NonNullable<(typeof stories)[string]> {
  return stories[operation.story] as NonNullable<(typeof stories)[string]>; // checked at start
}

/** @returns the names of headers that no table knows. */
function noteHeaders(call: Ongoing, request: Handled[0]): string[] {
  const names = unknownHeaders(request);
  for (const name of names) noteUnknown(call.draft, 'header', name);
  return names;
}

/** Where a body is optional nothing at all counts as `{}`, as the refund of a whole payment is asked for (`docs/field-notes.md` QR §3). */
async function readJson(door: LegacyDoor, { family, body: wanted }: Operation, request: Handled[0]): Promise<unknown> {
  const bytes = await peekBody(request, door.body_limit_bytes);
  if (wanted === 'optional' && bytes.length === 0) return {};
  const read = parseBody(bytes, request.headers, door.body_limit_bytes);
  // Point has no fractions: one number in two spellings is the same sale, and comes back plain. QR amounts come back as written.
  const body = family === 'point' ? withWholeNumbers(read as Json) : read;
  // Every legacy body is an object; what is none was never taken for one.
  const object = typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;
  if (!object) throw new PuenteError('refused', 'The body is no JSON object', { facts: { error: 'bad_json' } });
  return body;
}

// The end of a translated call: counted, logged, answered, and followed up.

interface Door {
  ports: Ports;
  observe: Observe;
}

/** Answers a call of the orders lane, and does what follows once the till has the answer, or has gone. */
export function finish(
  door: Door,
  operation: Operation,
  response: Response,
  answer: Answered,
  { draft }: Ongoing,
): void {
  const duration_ms = performance.now() - draft.started_tick_ms;
  door.observe(operation.name, `${Math.floor(answer.status / 100)}xx`, duration_ms);
  door.ports.log.info('call', {
    operation: operation.name,
    status: answer.status,
    lane: 'orders',
    duration_ms: Math.round(duration_ms),
  });
  if (answer.over !== undefined) afterwards(door, operation, response, answer.over, draft);
  sendAnswer(response, answer);
  door.ports.memory.failpoint('answer.sent');
}

/** A client that has gone already is told nothing, and what follows knows it. */
function afterwards(
  door: Door,
  operation: Operation,
  response: Response,
  over: (whole: boolean) => Promise<void>,
  { legacy_id }: ExchangeDraft,
): void {
  const settle = (): void => {
    over(response.writableFinished).catch((error: unknown) =>
      door.ports.log.error('what follows an answer failed', {
        ...(legacy_id === null ? {} : { legacy_id }),
        operation: operation.name,
        cause: String(error),
      }),
    );
  };
  if (response.closed) settle();
  else response.once('close', settle);
}
