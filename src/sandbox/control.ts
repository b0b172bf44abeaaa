/** The control door `/_sandbox/…`: state, snapshots, settings, clock, faults, people at terminals, and buyers. */
import express, { type Request, Router } from 'express';
import { z } from 'zod';
import { type ErrorCode, PuenteError } from '../error.ts';
import {
  type BuyerAction,
  type BuyerOptions,
  buyerActions,
  buyerOptions,
  type Fault,
  faultSchema,
  type TerminalAction,
  type TerminalOptions,
  terminalActions,
  terminalOptions,
} from './actions.ts';
import { type Answer, json, noContent, send } from './answer.ts';
import { listAssumptions } from './assumptions.ts';
import { bodyBytes, type Method, WELL_FORMED } from './call.ts';
import { addToken, putTerminal } from './cast.ts';
import { createFault } from './faults.ts';
import { putInvoice, renderInvoice, wantedInvoice } from './invoices.ts';
import { operateWork, workOf } from './legacy/lifecycle.ts';
import { actOnQrOrder } from './legacy/qr/lifecycle.ts';
import { actOnOrder, operateOrder } from './order-at-unit.ts';
import type { Chargeback, Merchant, Payable, Payment, PointOfSale, Terminal } from './records.ts';
import { restoreSnapshot, takeSnapshot } from './snapshot.ts';
import { renderState, renderTarget } from './state-view.ts';
import { announceFeed, announcePayment, notificationUrlOf } from './webhooks.ts';
import { hashOf, type World } from './world.ts';

interface ControlCall {
  world: World;
  path(name: string): string;
  /** The merchant of the path. @throws PuenteError not_found */
  merchant(): Merchant;
  body: Buffer;
  /** An empty body counts as `{}`. @throws PuenteError bad_request, naming the field. */
  parse<Schema extends z.ZodType>(schema: Schema): z.output<Schema>;
}

type ControlHandler = (call: ControlCall) => Answer | Promise<Answer>;

const rows: readonly (readonly [Method, string, ControlHandler])[] = [
  ['get', '/state', ({ world }) => json(200, renderState(world))],
  ['post', '/reset', async ({ world }) => done(await world.reset())],
  ['get', '/snapshot', ({ world }) => ({ status: 200, body: takeSnapshot(world, false) })],
  [
    'post',
    '/restore',
    async ({ world, body }) => done(await restoreSnapshot(world, body.toString('utf8'), 'as_saved')),
  ],
  ['get', '/settings', ({ world }) => showSettings(world)],
  ['put', '/settings', changeSettings],
  ['get', '/webhooks', ({ world }) => showWebhooks(world)],
  ['put', '/webhooks', changeWebhooks],
  ['get', '/clock', ({ world }) => showClock(world)],
  ['post', '/clock', moveClock],
  ['get', '/faults', ({ world }) => json(200, { faults: world.faults.map(showFault) })],
  ['post', '/faults', addFault],
  ['delete', '/faults', ({ world }) => done(world.faults.splice(0))],
  ['put', '/merchants/:merchant', changeMerchant],
  ['put', '/merchants/:merchant/token', changeToken],
  ['put', '/terminals/:merchant/:terminal', changeTerminal],
  ['post', '/terminals/:merchant/:terminal/:action', actAtTerminal],
  ['post', '/pos/:merchant/:pos/:action', actAtTill],
  ['post', '/payables/:id/:action', actOnPayable],
  ['post', '/invoices/:merchant', addInvoice],
  ['post', '/payments/:payment/chargeback', disputePayment],
  ['get', '/legacy/merchants/:merchant/notifications', showTarget],
  ['put', '/legacy/merchants/:merchant/notifications', changeTarget],
  ['delete', '/legacy/merchants/:merchant/notifications', removeTarget],
  ['post', '/legacy/merchants/:merchant/delivery_cancellation', alertFraud],
];

/** Snapshots may be large; only tests and demos on the same machine use this door. */
const MAX_BODY = '256mb';

/** Everything below `/_sandbox`; needs no token. */
export function controlRouter(world: World): Router {
  const router = Router();
  const readBody = express.raw({ type: () => true, limit: MAX_BODY });
  for (const [method, path, handler] of rows) {
    router[method](`/_sandbox${path}`, readBody, async (request, response) => {
      send(response, await answerTo(world, request, handler));
    });
  }
  return router;
}

async function answerTo(world: World, request: Request, handler: ControlHandler): Promise<Answer> {
  const path = (name: string): string => String(request.params[name] ?? '');
  const body = bodyBytes(request);
  const merchant = (): Merchant =>
    found(world.merchants.get(path('merchant')), `Merchant ${path('merchant')} is unknown.`);
  try {
    return await handler({ world, path, merchant, body, parse: (schema) => parse(schema, body) });
  } catch (error) {
    const status = error instanceof PuenteError ? statuses[error.code] : undefined;
    if (!(error instanceof PuenteError) || status === undefined) throw error;
    return json(status, { error: error.code, message: error.message });
  }
}

const statuses: Partial<Record<ErrorCode, number>> = {
  bad_request: 400,
  bad_setting: 400,
  not_found: 404,
  refused: 409,
  conflict: 409,
};

/** Reads plain numbers: settings have fractions and hold no money. */
function parse<Schema extends z.ZodType>(schema: Schema, body: Buffer): z.output<Schema> {
  let value: unknown = {};
  try {
    if (body.length > 0) value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new PuenteError('bad_request', 'The body is not valid JSON.');
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new PuenteError('bad_request', z.prettifyError(parsed.error));
  return parsed.data;
}

function found<Value>(value: Value | undefined, message: string): Value {
  if (value === undefined) throw new PuenteError('not_found', message);
  return value;
}

function done(_effect: unknown): Answer {
  return noContent;
}

// Settings, time and faults.

function showSettings(world: World): Answer {
  const assumptions = listAssumptions(world.settings);
  const settings = Object.fromEntries(assumptions.map(({ name, value }) => [name, value]));
  return json(200, { profile: world.profile, settings, assumptions });
}

function changeSettings({ world, parse }: ControlCall): Answer {
  world.configure(parse(z.record(z.string(), z.unknown())));
  return showSettings(world);
}

function showWebhooks({ settings }: World): Answer {
  return json(200, {
    url: settings.webhook_url,
    casing: settings.signature_casing,
    ts_unit: settings.signature_ts_unit,
    mode: settings.webhook_mode,
    late_ms: settings.webhook_late_ms,
  });
}

/** Short names of the webhook settings; `configure` checks the values. */
const webhookSettings: Readonly<Record<string, string>> = {
  url: 'webhook_url',
  secret: 'webhook_secret',
  casing: 'signature_casing',
  ts_unit: 'signature_ts_unit',
  mode: 'webhook_mode',
  late_ms: 'webhook_late_ms',
};
const text = z.string().optional();
const webhooksSchema = z.strictObject({
  url: text,
  secret: text,
  casing: text,
  ts_unit: text,
  mode: text,
  late_ms: z.number().optional(),
});

function changeWebhooks({ world, parse }: ControlCall): Answer {
  const changes = Object.entries(parse(webhooksSchema)).map(([name, value]) => [webhookSettings[name], value]);
  world.configure(Object.fromEntries(changes));
  return showWebhooks(world);
}

function showClock({ clock }: World): Answer {
  return json(200, { now: new Date(clock.now()).toISOString(), mode: clock.mode() });
}

const clockSchema = z.strictObject({
  mode: z.enum(['real', 'manual']).optional(),
  now: z.iso.datetime({ offset: true }).optional(),
  advance_ms: z.int().min(0).optional(),
});

/** Fires timer by timer; the webhooks of each have arrived before the next one fires. */
async function moveClock({ world, parse }: ControlCall): Promise<Answer> {
  const { clock } = world;
  const { mode, now, advance_ms = 0 } = parse(clockSchema);
  if (mode !== undefined) clock.setMode(mode);
  // Read once: in real time it moves on meanwhile.
  const from_ms = clock.now();
  const target_ms = now === undefined ? from_ms + advance_ms : Date.parse(now);
  if (target_ms < from_ms) {
    throw new PuenteError('bad_request', 'Time only moves forward; reset the sandbox to go back.');
  }
  for (let due_ms = clock.nextDueAt(); due_ms !== null && due_ms <= target_ms; due_ms = clock.nextDueAt()) {
    clock.advance(Math.max(due_ms - clock.now(), 0));
    await world.settled();
  }
  clock.advance(Math.max(target_ms - clock.now(), 0));
  return showClock(world);
}

function showFault({ rule, matched, acted }: Fault): object {
  return { ...rule, matched, acted };
}

function addFault({ world, parse }: ControlCall): Answer {
  const fault = createFault(parse(faultSchema));
  world.faults.push(fault);
  return json(201, showFault(fault));
}

// Merchants: tokens and agreements.

const merchantSchema = z.strictObject({
  has_marketplace: z.boolean().exactOptional(),
  may_hand_out_cash: z.boolean().exactOptional(),
});

function changeMerchant({ merchant, parse }: ControlCall): Answer {
  const { user_id, has_marketplace, may_hand_out_cash } = Object.assign(merchant(), parse(merchantSchema));
  return json(200, { user_id, has_marketplace, may_hand_out_cash });
}

const tokenSchema = z
  .strictObject({
    access_token: z.string().regex(WELL_FORMED).optional(),
    /** Whether the token was obtained through OAuth. */
    oauth: z.boolean().optional(),
  })
  .refine((wanted) => Object.keys(wanted).length > 0, { message: 'Say access_token or oauth.' });

/** A replaced token is unknown from then on, like an expired one. */
function changeToken(call: ControlCall): Answer {
  const merchant = call.merchant();
  const old_hash = hashOf(merchant.access_token);
  const was_oauth = call.world.tokens.get(old_hash)?.oauth === true;
  const { access_token = merchant.access_token, oauth = was_oauth } = call.parse(tokenSchema);
  call.world.tokens.delete(old_hash);
  merchant.access_token = access_token;
  addToken(call.world, access_token, merchant.user_id, oauth);
  return noContent;
}

// The person at a terminal and the buyer who scans a QR code, for both APIs.

const terminalSchema = z.strictObject({
  /** Null removes the terminal from its point of sale. */
  pos_id: z.int().nullable().exactOptional(),
  operating_mode: z.enum(['PDV', 'STANDALONE', 'SELF_SERVICE', 'UNDEFINED']).exactOptional(),
  software: z.enum(['current', 'old']).exactOptional(),
});

/** Changes a terminal, or adds one. */
function changeTerminal(call: ControlCall): Answer {
  const { world } = call;
  const { user_id: merchant_id } = call.merchant();
  const id = call.path('terminal');
  const wanted = call.parse(terminalSchema);
  const isOwn = wanted.pos_id == null || world.points_of_sale.get(wanted.pos_id)?.merchant_id === merchant_id;
  if (!isOwn) throw new PuenteError('not_found', `Merchant ${merchant_id} has no point of sale ${wanted.pos_id}.`);
  const fresh = { pos_id: null, operating_mode: 'STANDALONE', software: 'current', occupation: null } as const;
  const terminal: Terminal = Object.assign(world.terminal(merchant_id, id) ?? { id, merchant_id, ...fresh }, wanted);
  putTerminal(world, terminal);
  const { pos_id, operating_mode, software } = terminal;
  return json(200, { id, pos_id, operating_mode, software });
}

function actAtTerminal(call: ControlCall): Answer {
  const { world, path } = call;
  const action = actionOf(path('action'), terminalActions, 'Actions at a terminal are');
  const { user_id } = call.merchant();
  const terminal = found(world.terminal(user_id, path('terminal')), `Merchant ${user_id} has no such terminal.`);
  const { occupation } = terminal;
  if (occupation === null)
    throw new PuenteError('refused', `Nothing is queued on ${terminal.id}; create an order or an intent first.`);
  operate(world, terminal, action, call.parse(terminalOptions));
  return json(200, { ...occupation, queued: terminal.occupation !== null });
}

function actionOf<Action extends string>(word: string, known: readonly Action[], sentence: string): Action {
  return found(
    known.find((action) => action === word),
    `${sentence} ${known.join(', ')}.`,
  );
}

/** A final state frees the terminal. @throws PuenteError refused, when the state excludes the action. */
export function operate(world: World, terminal: Terminal, action: TerminalAction, options: TerminalOptions): void {
  const { kind, id } = terminal.occupation ?? {};
  const order = kind === 'order' ? world.orders.get(id ?? '') : undefined;
  const work = kind === 'intent' ? workOf(world, id ?? '') : undefined;
  if (order !== undefined) operateOrder(world, order, action, options);
  else if (work !== undefined) operateWork(world, work, action, options);
}

/** Acts on the newest order that the till's code shows. */
function actAtTill(call: ControlCall): Answer {
  const { world } = call;
  const pos = tillOf(world, call.merchant(), call.path('pos'));
  const shown = [...world.payables.values()].findLast((payable) => payable.on_pos && payable.pos_id === pos.id);
  if (shown === undefined) {
    const till = call.path('pos');
    throw new PuenteError('refused', `The code of till ${till} shows nothing to pay; create an order first.`);
  }
  return buy(call, shown);
}

/** Acts by id, the only way for a dynamic order. */
function actOnPayable(call: ControlCall): Answer {
  const id = call.path('id');
  return buy(call, found(call.world.payables.get(id), `Nothing with id ${id} can be paid; it may have ended already.`));
}

function buy({ world, path, parse }: ControlCall, payable: Payable): Answer {
  const action = actionOf(path('action'), buyerActions, 'A buyer can');
  const { kind, id } = payable;
  actAsBuyer(world, id, action, parse(buyerOptions));
  return json(200, { kind, id, open: world.payables.has(id) });
}

/** Does nothing when the order can't be paid now. @throws PuenteError refused, when the state excludes the action. */
export function actAsBuyer(world: World, id: string, action: BuyerAction, options: BuyerOptions): void {
  if (!world.payables.has(id)) return;
  const order = world.orders.get(id);
  const legacy = world.qr_orders.get(id);
  if (order !== undefined) actOnOrder(world, order, action, options);
  else if (legacy !== undefined) actOnQrOrder(world, legacy, action, options);
}

/** @param name external id or internal number; the external id wins when both match. */
function tillOf(world: World, { user_id }: Merchant, name: string): PointOfSale {
  const numbered = world.points_of_sale.get(Number(name));
  const own = numbered?.merchant_id === user_id ? numbered : undefined;
  return found(world.tillNamed(user_id, name) ?? own, `Merchant ${user_id} has no till ${name}.`);
}

// Payments and disputes that start outside both APIs.

function addInvoice({ world, merchant, parse }: ControlCall): Answer {
  return json(201, renderInvoice(world, putInvoice(world, merchant(), parse(wantedInvoice))));
}

/** `opened` starts a dispute about an approved payment; `won` and `lost` end it. */
const chargebackSchema = z.strictObject({ status: z.enum(['opened', 'won', 'lost']).default('opened') });

/** Sends notices of both topics, payment and chargeback. */
function disputePayment({ world, path, parse }: ControlCall): Answer {
  const payment = found(world.payments.get(Number(path('payment'))), 'There is no such payment.');
  const { status } = parse(chargebackSchema);
  const chargeback = changeChargeback(world, payment, status);
  if (chargeback === undefined) {
    throw new PuenteError('refused', `Payment ${payment.id} is ${payment.status}; ${status} is not possible.`);
  }
  announcePayment(world, payment, 'updated');
  announceFeed(world, {
    topic: 'chargebacks',
    id: chargeback.id,
    merchant_id: payment.merchant_id,
    notification_url: notificationUrlOf(world, payment),
    change: status === 'opened' ? 'created' : 'updated',
    status,
  });
  return json(200, chargeback);
}

const disputed = {
  opened: ['charged_back', 'in_process'],
  won: ['approved', 'accredited'],
  lost: ['charged_back', 'settled'],
} as const;

/** @returns undefined when the payment's state does not allow it. */
function changeChargeback(world: World, payment: Payment, status: Chargeback['status']): Chargeback | undefined {
  const now_ms = world.clock.now();
  const open = [...world.chargebacks.values()].find((one) => one.payment_id === payment.id && one.status === 'opened');
  if (status === 'opened' ? payment.status !== 'approved' : open === undefined) return undefined;
  const { id: payment_id, merchant_id } = payment;
  const amount_minor = payment.amount_minor + payment.tip_minor - payment.refunded_minor;
  const fresh = { payment_id, merchant_id, amount_minor, created_at_ms: now_ms };
  const before = status === 'opened' || open === undefined ? { id: world.next('chargeback'), ...fresh } : open;
  const chargeback: Chargeback = { ...before, status, updated_at_ms: now_ms };
  world.chargebacks.set(chargeback.id, chargeback);
  [payment.status, payment.status_detail] = disputed[status];
  payment.updated_at_ms = now_ms;
  return chargeback;
}

// Legacy notifications: each merchant's target, and a fraud alert.

const address = z.url({ protocol: /^https?$/ });
const targetSchema = z
  .strictObject({
    url: address.nullable().default(null),
    topic: z.enum(['point_integration_ipn', 'point_integration_wh']).default('point_integration_ipn'),
    ipn_url: address.nullable().default(null),
    secret: z.string().min(1).optional(),
  })
  .refine(({ url, ipn_url }) => url !== null || ipn_url !== null, 'Give url, ipn_url, or both.');

function showTarget({ world, merchant }: ControlCall): Answer {
  return json(200, renderTarget(world.notice_targets.get(merchant().user_id)));
}

function changeTarget(call: ControlCall): Answer {
  const { user_id: merchant_id } = call.merchant();
  call.world.notice_targets.set(merchant_id, { merchant_id, ...call.parse(targetSchema) });
  return showTarget(call);
}

function removeTarget({ world, merchant }: ControlCall): Answer {
  world.notice_targets.delete(merchant().user_id);
  return noContent;
}

/** `id` of the merchant order, or of another object that the alert is about. */
const alertSchema = z.strictObject({ id: z.int().positive() });

function alertFraud({ world, merchant, parse }: ControlCall): Answer {
  const { user_id: merchant_id } = merchant();
  const { id } = parse(alertSchema);
  const order = world.merchant_orders.get(id);
  const notification_url = order?.merchant_id === merchant_id ? order.notification_url : null;
  announceFeed(world, {
    topic: 'delivery_cancellation',
    id,
    merchant_id,
    notification_url,
    change: 'created',
    status: '',
  });
  return noContent;
}
