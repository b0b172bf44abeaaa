/** Faults: rules that make the sandbox misbehave on matching requests, as a network or a broken service would. */
import type { NextFunction, Request, Response } from 'express';
import { z } from 'zod';
import { encodeError } from './answer.ts';
import { bearerToken } from './auth.ts';
import type { World } from './world.ts';

/**
 * `refuse`: the socket is destroyed before the body is read. `reset`: the connection is reset. `delay`: real time passes.
 * `error`: an answer with this status and code. `truncate`: half of the true answer, then a reset. `no_answer`: silence.
 * `html`: an HTML page instead of JSON. `alter`: the true answer with other values, named in `set`.
 */
export const faultSchema = z.strictObject({
  method: z.string().toUpperCase().default('*'),
  /** The path without query; `*` stands for any text. */
  path: z.string().min(1),
  merchant: z.string().optional(),
  kind: z.enum(['refuse', 'reset', 'delay', 'error', 'truncate', 'no_answer', 'html', 'alter']),
  /** Before: the request has no effect. After: it has its effect, and only the answer is spoiled. */
  when: z.enum(['before', 'after']).default('before'),
  /** The first matching request it acts on, counted from 1. */
  nth: z.int().min(1).default(1),
  /** How many requests it acts on. */
  times: z.union([z.int().min(1), z.literal('always')]).default(1),
  delay_ms: z.int().min(0).max(600_000).default(1000),
  status: z.int().min(200).max(599).optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  details: z.array(z.string()).optional(),
  /** For `alter`: dotted paths in the answer, such as `transactions.payments.0.amount`; null takes the value away. */
  set: z.record(z.string(), z.json()).optional(),
});
export type FaultRule = z.infer<typeof faultSchema>;

export interface Fault {
  rule: FaultRule;
  pattern: RegExp;
  /** Requests that matched, and requests it acted on. */
  matched: number;
  acted: number;
}

export function createFault(rule: FaultRule): Fault {
  const source = rule.path
    .split('*')
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
    .join('.*');
  return { rule, pattern: new RegExp(`^${source}$`), matched: 0, acted: 0 };
}

/** Express middleware; without rules it costs one comparison. The first rule that acts is the only one to act. */
export function faultMiddleware(world: World): (request: Request, response: Response, next: NextFunction) => void {
  return (request, response, next) => {
    const fault = world.faults.length === 0 ? undefined : takeFault(world, request);
    if (fault === undefined) next();
    else act(world, fault.rule, request, response, next);
  };
}

function takeFault(world: World, request: Request): Fault | undefined {
  const merchant_id = world.tokens.get(bearerToken(request) ?? '')?.user_id;
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

/** Keeps the answer back: its body goes to `then`, which may send it as it was, or something else. */
function holdAnswer(response: Response, then: (body: Buffer, send: () => void) => void): void {
  const end = response.end.bind(response);
  response.end = ((chunk?: unknown): Response => {
    response.end = end;
    const body = typeof chunk === 'string' || chunk instanceof Uint8Array ? Buffer.from(chunk) : Buffer.alloc(0);
    then(body, () => end(body));
    return response;
  }) as Response['end']; // one call with the whole body is the only form the sandbox's answers use
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

/** The JSON text with the values that the rule sets; a path that the answer does not have is left alone. */
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

/** Variant V4 of `reliability.md` §3.1: a 500 is saved under its key and replayed. */
function rememberFailure(world: World, request: Request, answer: { status: number; body: string }): void {
  const merchant = world.tokens.get(bearerToken(request) ?? '');
  const key = request.get('x-idempotency-key');
  if (world.settings.replay !== 'saved_500' || answer.status < 500 || merchant === undefined || !key) return;
  world.keys.store(merchant.user_id, key, { fingerprint: null, answer, order_id: null });
}
