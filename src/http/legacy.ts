/** The legacy door: one route per row of `mappings/operations.yaml`; everything else is carried. */
import { type RequestHandler, Router } from 'express';
import { type Answered, refused } from '../core/answer.ts';
import { chooseLane } from '../core/lane.ts';
import type { Runtime } from '../core/runtime.ts';
import { stories } from '../core/stories.ts';
import { PuenteError } from '../error.ts';
import type { Operation } from '../mapping/tables.ts';
import { errorAnswer, sendAnswer } from './answer.ts';
import type { Observe } from './metrics.ts';
import {
  duplicateHeader,
  parseBody,
  peekBody,
  readToken,
  scrubbedTarget,
  singleHeaders,
  singleQuery,
} from './request.ts';

/** Allow-list of everything a path parameter may be before it reaches a table or a path (`reliability.md` F76). */
const PATH_VALUE = /^[A-Za-z0-9_-]{1,64}$/;

export interface LegacyDoor {
  runtime: Runtime;
  /** Carries the request to the legacy upstream, untouched. */
  carry: RequestHandler;
  body_limit_bytes: number;
  observe: Observe;
}

/**
 * Routes for every operation of the tables.
 * @throws PuenteError bad_tables when an operation names a story that does not exist.
 */
export function legacyRouter(door: LegacyDoor): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const operation of door.runtime.tables.operations) {
    if (stories[operation.story] === undefined) {
      throw new PuenteError(
        'bad_tables',
        `operations.yaml: ${operation.name} names the story ${operation.story}, which does not exist`,
      );
    }
    router[methodOf(operation)](pathsOf(operation), (request, response, next) => {
      serve(door, operation, request, response, next).catch((error: unknown) => {
        door.observe(operation.name, 'error', 0);
        sendAnswer(response, errorAnswer(operation.family, error, request, door.runtime.log));
      });
    });
  }
  return router;
}

/** One call: token, lane, and then the story or the carrier. */
async function serve(
  door: LegacyDoor,
  operation: Operation,
  ...[request, response, next]: Parameters<RequestHandler>
): Promise<void> {
  const { runtime } = door;
  const started_at = runtime.clock.now();
  const { family } = operation;
  const tell = (answer: Answered): void => finish(door, operation, response, answer, started_at);
  const token = readToken(request);
  if (token === null) {
    // Nobody's call: where merchants start on legacy, legacy says what it thinks of it.
    if (runtime.settings.merchants.stage === 'legacy') return void door.carry(request, response, next);
    return tell(refused(family, family === 'payments' ? 'token_missing' : 'unauthorized'));
  }
  const story = stories[operation.story] as NonNullable<(typeof stories)[string]>; // checked at start
  const path = pathValues(request.params);
  const lane = await chooseLane(runtime, token, await story.names(runtime, path));
  if (lane.lane === 'refused') return tell(refused(family, lane.error));
  if (lane.lane === 'legacy') return void door.carry(request, response, next);
  if (duplicateHeader(request) !== null) return tell(refused(family, 'bad_request'));
  for (const [name, value] of Object.entries(path)) {
    if (!PATH_VALUE.test(value)) return tell(refused(family, 'invalid_property', name));
  }
  const body = operation.body === 'dropped' ? undefined : await readJson(door, request, operation.body === 'optional');
  const answer = await story.run(runtime, {
    operation,
    received_at: started_at,
    target: scrubbedTarget(request),
    path,
    query: singleQuery(request),
    headers: singleHeaders(request),
    body,
    token,
    merchant: lane.merchant,
    link: lane.link,
  });
  if (answer.kind === 'carry') return void door.carry(request, response, next);
  return tell(answer);
}

function finish(
  door: LegacyDoor,
  operation: Operation,
  response: Parameters<RequestHandler>[1],
  answer: Answered,
  started_at: number,
): void {
  const duration_ms = door.runtime.clock.now() - started_at;
  door.observe(operation.name, `${Math.floor(answer.status / 100)}xx`, duration_ms);
  door.runtime.log.info('call', { operation: operation.name, status: answer.status, lane: 'orders', duration_ms });
  if (answer.over !== undefined) afterwards(door, operation, response, answer.over);
  sendAnswer(response, answer);
  door.runtime.failpoint('answer.sent');
}

/** A client that has gone already is told nothing, and what follows knows it. */
function afterwards(
  door: LegacyDoor,
  operation: Operation,
  response: Parameters<RequestHandler>[1],
  over: (whole: boolean) => Promise<void>,
): void {
  const settle = (): void => {
    over(response.writableFinished).catch((error: unknown) =>
      door.runtime.log.error('what follows an answer failed', { operation: operation.name, cause: String(error) }),
    );
  };
  if (response.closed) settle();
  else response.once('close', settle);
}

/** @param optional nothing at all counts as `{}`, as the refund of a whole payment is asked for (`legacy-qr.md` §3). */
async function readJson(door: LegacyDoor, request: Parameters<RequestHandler>[0], optional: boolean): Promise<unknown> {
  const bytes = await peekBody(request, door.body_limit_bytes);
  if (optional && bytes.length === 0) return {};
  const body = parseBody(bytes, request.headers['content-type']);
  // Every legacy body is an object; what is none was never taken for one.
  const object = typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;
  if (!object) throw new PuenteError('refused', 'The body is no JSON object', { facts: { error: 'bad_json' } });
  return body;
}

function pathValues(parameters: Record<string, string | string[]>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) values[name] = String(value);
  return values;
}

/** Official clients end some paths of payments with a slash, and legacy took it on all of them, and on merchant orders (`legacy-qr.md` §2, §3). */
function pathsOf({ family, path }: Operation): string[] {
  const mayEndSo = family === 'payments' || /^\/merchant_orders\/./.test(path);
  return mayEndSo ? [path, `${path}/`] : [path];
}

function methodOf(operation: Operation): 'get' | 'post' | 'patch' | 'put' | 'delete' {
  return operation.method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete'; // lower case of a closed list
}
