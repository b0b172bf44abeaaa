/** Faults: rules that make the sandbox misbehave on matching requests, as a network or a broken service would. */
import type { NextFunction, Request, Response } from 'express';
import type { Fault, FaultRule } from './actions.ts';
import { encodeError } from './answer.ts';
import { bearerToken } from './call.ts';
import type { World } from './world.ts';

/** `*` in the rule's path matches any text, slashes too. */
export function createFault(rule: FaultRule): Fault {
  const source = rule.path
    .split('*')
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
    .join('.*');
  return { rule, pattern: new RegExp(`^${source}$`), matched: 0, acted: 0 };
}

/** At most one rule acts on a request: the first that matches and is due. */
export function faultMiddleware(world: World): (request: Request, response: Response, next: NextFunction) => void {
  return (request, response, next) => {
    const fault = world.faults.length === 0 ? undefined : takeFault(world, request);
    if (fault === undefined) next();
    else act(world, fault.rule, request, response, next);
  };
}

function takeFault(world: World, request: Request): Fault | undefined {
  const merchant_id = world.ownerOf(bearerToken(request) ?? '')?.user_id;
  return world.faults.find((fault) => {
    const { rule } = fault;
    if (rule.method !== '*' && rule.method !== request.method) return false;
    if (rule.merchant !== undefined && rule.merchant !== merchant_id) return false;
    if (!fault.pattern.test(request.path)) return false;
    fault.matched++;
    if (fault.matched < rule.nth || (rule.times !== 'always' && fault.acted >= rule.times)) return false;
    fault.acted++;
    return true;
  });
}

function act(world: World, rule: FaultRule, request: Request, response: Response, next: NextFunction): void {
  if (rule.kind === 'refuse') request.socket.destroy();
  else if (rule.kind === 'delay' && rule.when === 'before') setTimeout(next, rule.delay_ms).unref();
  else if (rule.when === 'after' || rule.kind === 'truncate' || rule.kind === 'alter') {
    holdAnswer(response, (body, send) => spoil(world, rule, request, response, body, send));
    next();
  } else {
    request.on('end', () => spoil(world, rule, request, response, Buffer.alloc(0), () => {}));
    request.resume();
  }
}

/** Holds the response back and passes its body to `then`, which sends it unchanged or sends another. */
function holdAnswer(response: Response, then: (body: Buffer, send: () => void) => void): void {
  const end = response.end.bind(response);
  response.end = ((chunk?: unknown): Response => {
    response.end = end;
    const body = typeof chunk === 'string' || chunk instanceof Uint8Array ? Buffer.from(chunk) : Buffer.alloc(0);
    then(body, () => end(body));
    return response;
  }) as Response['end']; // the sandbox's answers only use one call with the whole body
}

function spoil(
  world: World,
  rule: FaultRule,
  request: Request,
  response: Response,
  body: Buffer,
  send: () => void,
): void {
  if (rule.kind === 'reset') request.socket.resetAndDestroy();
  else if (rule.kind === 'delay') setTimeout(send, rule.delay_ms).unref();
  else if (rule.kind === 'truncate') {
    response.setHeader('content-length', body.length);
    response.write(body.subarray(0, body.length >> 1), () => request.socket.destroy());
  } else if (rule.kind === 'alter') {
    replace(response, rule.status ?? response.statusCode, 'application/json', alter(body, rule.set ?? {}));
  } else if (rule.kind === 'html') {
    replace(response, rule.status ?? 502, 'text/html', '<html><body><h1>502 Bad Gateway</h1></body></html>');
  } else if (rule.kind === 'error') {
    const answer = encodeError(request.path, rule);
    rememberFailure(world, request, answer);
    replace(response, answer.status, 'application/json', answer.body);
  }
}

/** The JSON text with the values of `set`; a path that the answer does not have is skipped. */
function alter(body: Buffer, set: NonNullable<FaultRule['set']>): string {
  const answer: unknown = JSON.parse(body.toString('utf8'));
  for (const [path, value] of Object.entries(set)) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    const holder = names.reduce<unknown>((node, name) => (node as Record<string, unknown> | undefined)?.[name], answer); // any JSON
    if (holder === undefined || holder === null) continue;
    const place = holder as Record<string, unknown>; // as above
    if (value === null) delete place[last];
    else place[last] = value;
  }
  return JSON.stringify(answer);
}

function replace(response: Response, status: number, content_type: string, body: string): void {
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.statusCode = status;
  response.setHeader('content-type', content_type);
  response.end(body);
}

/** Variant V4 of `docs/protocol.md` §3.1: a 500 is stored under its key and answered to each repeat. */
function rememberFailure(world: World, request: Request, answer: { status: number; body: string }): void {
  const merchant = world.ownerOf(bearerToken(request) ?? '');
  const key = request.get('x-idempotency-key');
  if (world.settings.replay !== 'saved_500' || answer.status < 500 || merchant === undefined || !key) return;
  world.storeKey(merchant.user_id, key, { fingerprint: null, answer, order_id: null });
}
