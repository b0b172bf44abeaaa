/** The control door `/_sandbox/…`: see the whole world, reset it, change settings, time and faults, and act as the person at a terminal or as a buyer. */
import { type ErrorRequestHandler, type NextFunction, type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { type ErrorCode, PuenteError } from '../error.ts';
import { encodeError, json, readBody, send } from './answer.ts';
import { listAssumptions } from './assumptions.ts';
import { addMerchants, bearerToken } from './auth.ts';
import { type Merchant, type Terminal, terminalActions } from './cast.ts';
import { merchantOf, parse } from './control-call.ts';
import { invoiceControl } from './invoices.ts';
import { addBuyer } from './order-at-unit.ts';
import { renderState } from './order-view.ts';
import { type Fault, type FaultRule, faultSchema } from './records.ts';
import type { World } from './world.ts';

export function controlRouter(world: World): Router {
  const router = Router();
  router.get('/_sandbox/state', (_request, response) => send(response, json(200, renderState(world))));
  router.post('/_sandbox/reset', (_request, response) => {
    world.reset();
    send(response, { status: 204, body: '' });
  });
  addSettings(router, world);
  addClock(router, world);
  addFaults(router, world);
  addTerminals(router, world);
  addMerchants(router, world);
  addBuyer(router, world);
  router.use(invoiceControl(world));
  router.use('/_sandbox', answerError);
  return router;
}

function addSettings(router: Router, world: World): void {
  const show = () => {
    const assumptions = listAssumptions(world.settings);
    return json(200, {
      profile: world.profile,
      settings: Object.fromEntries(assumptions.map(({ name, value }) => [name, value])),
      assumptions,
    });
  };
  router.get('/_sandbox/settings', (_request, response) => send(response, show()));
  router.put('/_sandbox/settings', readBody, (request, response) => {
    world.configure(parse(z.record(z.string(), z.unknown()), request));
    send(response, show());
  });
  const showWebhooks = () => {
    const {
      webhook_url: url,
      signature_casing: casing,
      signature_ts_unit: ts_unit,
      webhook_mode: mode,
      webhook_late_ms: late_ms,
    } = world.settings;
    return json(200, { url, casing, ts_unit, mode, late_ms });
  };
  router.get('/_sandbox/webhooks', (_request, response) => send(response, showWebhooks()));
  router.put('/_sandbox/webhooks', readBody, (request, response) => {
    const changes = Object.entries(parse(webhooksSchema, request)).map(([name, value]) => [
      webhookSettings[name],
      value,
    ]);
    world.configure(Object.fromEntries(changes));
    send(response, showWebhooks());
  });
}

const webhooksSchema = z.strictObject({
  url: z.string().optional(),
  secret: z.string().optional(),
  casing: z.string().optional(),
  ts_unit: z.string().optional(),
  mode: z.string().optional(),
  late_ms: z.number().optional(),
});

/** The short names of the webhook door; the values are checked as settings. */
const webhookSettings: Readonly<Record<string, string>> = {
  url: 'webhook_url',
  secret: 'webhook_secret',
  casing: 'signature_casing',
  ts_unit: 'signature_ts_unit',
  mode: 'webhook_mode',
  late_ms: 'webhook_late_ms',
};

function addClock(router: Router, world: World): void {
  const show = () => json(200, { now: new Date(world.clock.now()).toISOString(), mode: world.clock.mode() });
  router.get('/_sandbox/clock', (_request, response) => send(response, show()));
  router.post('/_sandbox/clock', readBody, async (request, response) => {
    const { mode, now, advance_ms } = parse(clockSchema, request);
    if (mode !== undefined) world.clock.setMode(mode);
    const delta_ms = now === undefined ? (advance_ms ?? 0) : Date.parse(now) - world.clock.now();
    if (delta_ms < 0) throw new PuenteError('bad_request', 'Time only moves forward; reset the sandbox to go back.');
    await advance(world, delta_ms);
    send(response, show());
  });
}

const clockSchema = z.strictObject({
  mode: z.enum(['real', 'manual']).optional(),
  now: z.iso.datetime({ offset: true }).optional(),
  advance_ms: z.int().min(0).optional(),
});

/** Timer by timer, and each one's webhooks have arrived before the next one fires. */
async function advance(world: World, delta_ms: number): Promise<void> {
  const { clock } = world;
  const target_ms = clock.now() + delta_ms;
  for (let due_ms = clock.nextDueAt(); due_ms !== null && due_ms <= target_ms; due_ms = clock.nextDueAt()) {
    clock.advance(Math.max(due_ms - clock.now(), 0));
    await world.settled();
  }
  clock.advance(Math.max(target_ms - clock.now(), 0));
}

function addFaults(router: Router, world: World): void {
  const door = router.route('/_sandbox/faults');
  const show = ({ rule, matched, acted }: Fault) => ({ ...rule, matched, acted });
  door.get((_request, response) => send(response, json(200, { faults: world.faults.map(show) })));
  door.post(readBody, (request, response) => {
    const fault = createFault(parse(faultSchema, request));
    world.faults.push(fault);
    send(response, json(201, show(fault)));
  });
  door.delete((_request, response) => {
    world.faults.length = 0;
    send(response, { status: 204, body: '' });
  });
}

function addTerminals(router: Router, world: World): void {
  router.put('/_sandbox/terminals/:merchant/:terminal', readBody, (request, response) => {
    const terminal = placeTerminal(
      world,
      merchantOf(world, request),
      String(request.params.terminal),
      parse(terminalSchema, request),
    );
    const { id, pos, operating_mode, software } = terminal;
    send(response, json(200, { id, pos_id: pos?.id ?? null, operating_mode, software }));
  });
  router.post('/_sandbox/terminals/:merchant/:terminal/:action', readBody, (request, response) => {
    const action = z.enum(terminalActions).safeParse(request.params.action);
    if (!action.success) throw new PuenteError('not_found', `Actions at a terminal are ${terminalActions.join(', ')}.`);
    const merchant = merchantOf(world, request);
    const terminal = world.terminal(merchant.user_id, String(request.params.terminal));
    if (terminal === undefined)
      throw new PuenteError('not_found', `Merchant ${merchant.user_id} has no such terminal.`);
    const { occupation } = terminal;
    if (occupation === null)
      throw new PuenteError('refused', `Nothing is queued on ${terminal.id}; create an order or an intent first.`);
    const options = parse(optionsSchema, request);
    occupation.operate(action.data, options);
    send(response, json(200, { kind: occupation.kind, id: occupation.id, queued: terminal.occupation !== null }));
  });
}

const terminalSchema = z.strictObject({
  /** Null takes the terminal away from its point of sale. */
  pos_id: z.int().nullable().optional(),
  operating_mode: z.enum(['PDV', 'STANDALONE', 'SELF_SERVICE', 'UNDEFINED']).optional(),
  software: z.enum(['current', 'old']).optional(),
});

const optionsSchema = z.strictObject({
  payment_method_type: z.string().exactOptional(),
  payment_method_id: z.string().exactOptional(),
  installments: z.int().min(1).exactOptional(),
  status_detail: z.string().exactOptional(),
  tip_minor: z.int().min(0).exactOptional(),
});

/** Changes a terminal, or adds one. */
function placeTerminal(world: World, merchant: Merchant, id: string, wanted: z.infer<typeof terminalSchema>): Terminal {
  const found = world.terminal(merchant.user_id, id);
  const terminal: Terminal = found ?? {
    id,
    merchant_id: merchant.user_id,
    pos: null,
    operating_mode: 'STANDALONE',
    software: 'current',
    occupation: null,
  };
  if (wanted.pos_id !== undefined) {
    const pos = wanted.pos_id === null ? null : world.points_of_sale.get(wanted.pos_id);
    if (pos === undefined || (pos !== null && pos.merchant_id !== merchant.user_id)) {
      throw new PuenteError('not_found', `Merchant ${merchant.user_id} has no point of sale ${wanted.pos_id}.`);
    }
    terminal.pos = pos;
  }
  terminal.operating_mode = wanted.operating_mode ?? terminal.operating_mode;
  terminal.software = wanted.software ?? terminal.software;
  if (found === undefined) world.addTerminal(terminal);
  return terminal;
}

const statuses: Partial<Record<ErrorCode, number>> = {
  bad_request: 400,
  bad_setting: 400,
  not_found: 404,
  refused: 409,
  conflict: 409,
};

/** Four parameters, because Express tells error handlers by their number. */
const answerError: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (!(error instanceof PuenteError)) return next(error);
  send(response, json(statuses[error.code] ?? 500, { error: error.code, message: error.message }));
};

// Faults: rules that make the sandbox misbehave on matching requests, as a network or a broken service would.

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

/** Variant V4 of `docs/protocol.md` §3.1: a 500 is saved under its key and replayed. */
function rememberFailure(world: World, request: Request, answer: { status: number; body: string }): void {
  const merchant = world.tokens.get(bearerToken(request) ?? '');
  const key = request.get('x-idempotency-key');
  if (world.settings.replay !== 'saved_500' || answer.status < 500 || merchant === undefined || !key) return;
  world.keys.store(merchant.user_id, key, { fingerprint: null, answer, order_id: null });
}
