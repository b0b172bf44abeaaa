/** Legacy Point: payment intents, devices, refund intents, integrator. Source: `docs/field-notes.md` Point §1. */

import { hash } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS } from '../../contract/duration.ts';
import { TERMINAL_ID } from '../../contract/identifiers.ts';
import { isExactNumber, isObject, type Json, type JsonObject } from '../../contract/json.ts';
import type { LegacyErrorName } from '../../contract/legacy-errors.ts';
import {
  createIntentBody,
  createRefundIntentBody,
  type IntentState,
  operatingModes,
} from '../../contract/legacy-point.ts';
import type { SiteId } from '../../contract/sites.ts';
import { type Answer, json, noContent, refuse } from '../answer.ts';
import { bodyObject, type Call, type Handler, idempotencyKey, type Rows } from '../call.ts';
import { isoDate } from '../dates.ts';
import type { Payment, PaymentIntent, RefundIntent, Terminal } from '../records.ts';
import { hasRivalInPdv } from '../terminals.ts';
import { newUuid, type World } from '../world.ts';
import { cancelOpen, isFinal, lastStep, queueWork, stateOf } from './lifecycle.ts';

type PointHandler = Handler<'point'>;
type PointCall = Call<'point'>;

/** A refusal from the catalogue (`docs/field-notes.md` Point §1.9). */
function refusal(name: LegacyErrorName, detail = '') {
  return refuse('point', name, detail);
}

/** 201, because published clients accept no other status for a created intent. */
const createIntent: PointHandler = (call) => {
  const { world, merchant } = call;
  const request = readCreate(bodyObject(call), merchant.site.site_id);
  // The real answer for a device in STANDALONE is unknown (`docs/field-notes.md` Point §7); the sandbox accepts it.
  const terminal = deviceOf(call, 'not_device_owner');
  const create_key = createKey(call);
  const repeated = world.keyed_intents.get(create_key?.name ?? '');
  // A key ends with its intent: official clients reuse it for later sales (`docs/field-notes.md` Point finding 11).
  if (repeated?.create_key?.body_hash === create_key?.body_hash && repeated !== undefined) return created(repeated);
  if (terminal.occupation !== null) throw refusal('queued_intent');
  const intent: PaymentIntent = {
    ...request,
    id: newUuid(world),
    merchant_id: merchant.user_id,
    device_id: terminal.id,
    history: [{ state: 'OPEN', at_ms: world.clock.now() }],
    create_key,
    payment_id: null,
  };
  world.intents.set(intent.id, intent);
  if (create_key !== null) world.keyed_intents.set(create_key.name, intent);
  queueWork(world, intent, terminal, lifetimeMs(call));
  return created(intent);
};

const getIntent: PointHandler = (call) => {
  const intent = intentOf(call);
  return json(200, {
    id: intent.id,
    state: stateOf(intent),
    amount: intent.amount_minor,
    device_id: intent.device_id,
    description: intent.description,
    payment: shownPayment(call.world, intent),
    additional_info: intent.additional_info,
  });
};

/** Only while OPEN (`docs/field-notes.md` Point §1.5; Orders §7.1 for "101"). */
const cancelIntent: PointHandler = ({ world, merchant, path }) => {
  const intent = world.intents.get(path('intent').toLowerCase());
  const isKnown = intent?.merchant_id === merchant.user_id && intent.device_id === path('device');
  if (intent === undefined || !isKnown || stateOf(intent) === 'CANCELED') throw refusal('intent_not_cancelable');
  if (!cancelOpen(world, intent)) throw refusal('cancel_blocked');
  return json(200, { id: intent.id });
};

/** @throws PuenteError refused, when the id is malformed, unknown or another merchant's. */
function intentOf({ world, merchant, path }: PointCall): PaymentIntent {
  const intent = world.intents.get(path('intent').toLowerCase());
  if (intent?.merchant_id !== merchant.user_id) throw refusal('intent_not_found');
  return intent;
}

/** The documented create answer has no `state`; `payment_mode` is in the captured one. */
function created(intent: PaymentIntent): Answer {
  return json(201, {
    id: intent.id,
    device_id: intent.device_id,
    amount: intent.amount_minor,
    description: intent.description,
    additional_info: intent.additional_info,
    payment: intent.preference,
    payment_mode: 'card',
  });
}

/** Before the payment the till's preference; after it the number and the method, which clients read. */
function shownPayment(world: World, { payment_id, preference }: PaymentIntent): object | undefined {
  if (payment_id === null) return preference;
  const paid = world.payments.get(payment_id);
  if (paid === undefined) return { id: payment_id, ...preference };
  return {
    id: paid.id,
    type: paid.payment_type_id,
    installments: paid.installments,
    installments_cost: preference?.installments_cost,
    voucher_type: preference?.voucher_type,
  };
}

/** The till's header in seconds, or the setting; the real duration is not documented. */
function lifetimeMs({ world, header }: PointCall): number {
  const ttl = header('x-ttl-store-preference') ?? '';
  return TTL_SECONDS.test(ttl) ? Number(ttl) * 1000 : world.settings.legacy_expiry_ms;
}
const TTL_SECONDS = /^[1-9]\d{0,6}$/;

function createKey(call: PointCall): PaymentIntent['create_key'] {
  const key = idempotencyKey(call);
  if (key === null) return null;
  return { name: `${call.merchant.user_id}/${call.path('device')}/${key}`, body_hash: hash('sha256', call.body) };
}

/** @throws PuenteError refused with `error`, when the merchant does not have this device. */
function deviceOf({ world, merchant, path }: PointCall, error: LegacyErrorName): Terminal {
  // The reference has a 400 for a malformed id, apart from the answer for an unknown device (§1.2).
  if (!TERMINAL_ID.test(path('device'))) throw refusal('invalid_property', 'device_id');
  const terminal = world.terminal(merchant.user_id, path('device'));
  if (terminal === undefined) throw refusal(error);
  return terminal;
}

// The body of a create, by site. Source: `docs/field-notes.md` Point §1.3.

type CreateRequest = Pick<PaymentIntent, 'amount_minor' | 'description' | 'preference' | 'additional_info'>;

interface SiteRules {
  /** Minor units. The minimum has changed over time; 1500 is the latest live text for MLA. */
  minimum_minor: number;
  maximum_minor: number;
  /** Whether the site takes `description` and `payment`. */
  preferences: boolean;
  /** True refuses unknown fields, as a closed schema does; false ignores them. */
  strict: boolean;
}

const rules: Readonly<Partial<Record<SiteId, SiteRules>>> = {
  MLA: { minimum_minor: 1500, maximum_minor: 400_000_000, preferences: false, strict: false },
  MLB: { minimum_minor: 100, maximum_minor: 7_000_000, preferences: true, strict: false },
  MLM: { minimum_minor: 500, maximum_minor: 35_000_000, preferences: false, strict: true },
};

/** Legacy Point was sold only in the three countries above; other sites have no device for an intent. */
const otherRules: SiteRules = { minimum_minor: 1, maximum_minor: 400_000_000, preferences: false, strict: false };

/** @throws PuenteError refused, with the legacy error of the first broken rule. */
function readCreate(body: JsonObject, site: SiteId): CreateRequest {
  const { strict, preferences, minimum_minor, maximum_minor } = rules[site] ?? otherRules;
  if (strict) refuseAdditional(body);
  const amount_minor = readAmount(body.amount, minimum_minor, maximum_minor);
  const parsed = createIntentBody.safeParse({ ...body, amount: amount_minor });
  if (!parsed.success) throw refusal('invalid_property', parsed.error.issues[0]?.path.join('.') ?? 'body');
  if (preferences) checkPreference(parsed.data.payment, amount_minor);
  return {
    amount_minor,
    description: preferences ? parsed.data.description : undefined,
    preference: preferences && isObject(body.payment) ? body.payment : undefined, // as sent, unknown keys included
    additional_info: body.additional_info ?? undefined,
  };
}

/** Fields of Mexico. `notification_url` has no effect, but a client sends it (`docs/field-notes.md` Point §1.3). */
const KNOWN = ['amount', 'additional_info', 'notification_url'];
const KNOWN_ADDITIONAL_INFO = ['external_reference', 'print_on_terminal', 'ticket_number'];

function refuseAdditional(body: JsonObject): void {
  const info = isObject(body.additional_info) ? Object.keys(body.additional_info) : [];
  const additional =
    Object.keys(body).find((name) => !KNOWN.includes(name)) ??
    info.find((name) => !KNOWN_ADDITIONAL_INFO.includes(name));
  if (additional !== undefined) throw refusal('additional_property', additional);
}

function readAmount(value: Json | undefined, minimum_minor: number, maximum_minor: number): number {
  if (value === undefined) throw refusal('missing_property', 'amount');
  const text = typeof value === 'number' || isExactNumber(value) ? String(value) : '';
  // 1500.0 and 15e2 are already whole numbers; a value that keeps its source text is none, or too long to be one.
  if (!/^-?\d+$/.test(text)) throw refusal('invalid_property', 'amount');
  const amount = BigInt(text);
  if (amount < BigInt(minimum_minor)) throw refusal('amount_minimum', String(minimum_minor));
  if (amount > BigInt(maximum_minor)) throw refusal('amount_maximum', String(maximum_minor));
  return Number(amount);
}

const PAYMENT_TYPES = ['credit_card', 'debit_card', 'voucher_card'];
const INSTALLMENTS_COSTS = ['seller', 'buyer'];
const VOUCHER_TYPES = ['sodexo', 'alelo'];
const MAX_INSTALLMENTS = 72;
/** Each installment is at least 5.00. */
const MIN_INSTALLMENT_MINOR = 500;

/** MLB only. */
function checkPreference(payment: PaymentIntent['preference'], amount_minor: number): void {
  if (payment === undefined) return;
  const { type, installments, installments_cost, voucher_type } = payment;
  const credit = type === 'credit_card';
  demand(type === undefined || PAYMENT_TYPES.includes(type), 'payment.type');
  if (installments !== undefined) {
    const split = installments === 1 || amount_minor >= installments * MIN_INSTALLMENT_MINOR;
    demand(credit && installments >= 1 && installments <= MAX_INSTALLMENTS && split, 'payment.installments');
  }
  if (installments_cost !== undefined) {
    demand(credit && INSTALLMENTS_COSTS.includes(installments_cost), 'payment.installments_cost');
  }
  if (voucher_type !== undefined) {
    demand(type === 'voucher_card' && VOUCHER_TYPES.includes(voucher_type), 'payment.voucher_type');
  }
}

function demand(holds: boolean, property: string): void {
  if (!holds) throw refusal('invalid_property', property);
}

// History of intents: the events list and the last status. Source: `docs/field-notes.md` Point §1.6, §1.7.

const MAX_RANGE_DAYS = 30;

/** Final states, newest first; days are whole UTC days, both included. */
const listEvents: PointHandler = ({ world, merchant, query }) => {
  const start_ms = dayStart(single(query, 'startDate'));
  const end_ms = dayStart(single(query, 'endDate'));
  if (start_ms > end_ms || end_ms - start_ms > MAX_RANGE_DAYS * DAY_MS) throw refusal('bad_request');
  const events: { payment_intent_id: string; status: IntentState; at_ms: number }[] = [];
  for (const intent of world.intents.values()) {
    const { state: status, at_ms } = lastStep(intent);
    if (intent.merchant_id !== merchant.user_id || !isFinal(status)) continue;
    if (at_ms >= start_ms && at_ms < end_ms + DAY_MS) events.push({ payment_intent_id: intent.id, status, at_ms });
  }
  events.reverse(); // at equal times the later created intent comes first
  events.sort((one, other) => other.at_ms - one.at_ms);
  const shown = events.map(({ at_ms, ...event }) => ({ ...event, created_on: isoDate(at_ms, 0) }));
  return json(200, { events: shown });
};

/** The current state, here named `status`, with the time it was reached. */
const lastStatus: PointHandler = (call) => {
  const { state, at_ms } = lastStep(intentOf(call));
  return json(200, { status: state, created_on: isoDate(at_ms, 0) });
};

/** @throws PuenteError refused, unless the text is a calendar day as YYYY-MM-DD. */
function dayStart(text: string | null): number {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) throw refusal('bad_request');
  const time_ms = Date.parse(`${text}T00:00:00Z`);
  if (Number.isNaN(time_ms) || isoDate(time_ms, 0).slice(0, 10) !== text) throw refusal('bad_request');
  return time_ms;
}

// Devices: the list, and the change of operating mode. Source: `docs/field-notes.md` Point §1.1, §1.2.

/** Largest and default page; the orders API clamps to the same number (`docs/field-notes.md` Orders §5). */
const MAX_PAGE = 50;

const listDevices: PointHandler = ({ world, merchant, query }) => {
  const store_id = single(query, 'store_id');
  const pos_id = single(query, 'pos_id');
  if (pos_id !== null && !/^\d{1,20}$/.test(pos_id)) throw refusal('invalid_property', 'pos_id');
  const limit = Math.min(Math.max(pageNumber(query, 'limit', MAX_PAGE), 1), MAX_PAGE);
  const offset = pageNumber(query, 'offset', 0);
  const matching = world
    .terminalsOf(merchant.user_id)
    .filter((terminal) => store_id === null || world.posOf(terminal)?.store_id === store_id)
    .filter((terminal) => pos_id === null || String(terminal.pos_id ?? 0) === pos_id);
  return json(200, {
    devices: matching.slice(offset, offset + limit).map((terminal) => renderDevice(world, terminal)),
    paging: { total: matching.length, limit, offset },
  });
};

const changeMode: PointHandler = (call) => {
  const wanted = bodyObject(call).operating_mode;
  if (wanted === undefined) throw refusal('missing_property', 'operating_mode');
  const operating_mode = operatingModes.find((name) => name === wanted);
  if (operating_mode === undefined) throw refusal('invalid_property', 'operating_mode');
  const terminal = deviceOf(call, 'not_device_owner');
  if (terminal.pos_id === null) throw refusal('forbidden');
  if (operating_mode === 'PDV' && hasRivalInPdv(call.world, terminal)) throw refusal('device_in_pos');
  terminal.operating_mode = operating_mode;
  return json(200, { operating_mode });
};

/** `store_id` is null: an empty text breaks the PHP SDK (`docs/field-notes.md` Point §4.2). Legacy has two modes. */
function renderDevice(world: World, terminal: Terminal): object {
  const pos = world.posOf(terminal);
  return {
    id: terminal.id,
    pos_id: pos?.id ?? 0,
    store_id: pos?.store_id ?? null,
    external_pos_id: pos?.external_id ?? '',
    operating_mode: terminal.operating_mode === 'PDV' ? 'PDV' : 'STANDALONE',
  };
}

function pageNumber(query: URLSearchParams, name: string, missing: number): number {
  const text = single(query, name);
  if (text === null) return missing;
  if (!/^\d{1,9}$/.test(text)) throw refusal('invalid_property', name);
  return Number(text);
}

/** @throws PuenteError refused, when the parameter is given twice. */
function single(query: URLSearchParams, name: string): string | null {
  const values = query.getAll(name);
  if (values.length > 1) throw refusal('bad_request');
  return values[0] ?? null;
}

// Refund intents run on the terminal that took the payment. Source: `docs/field-notes.md` Point §1.8.

const createRefund: PointHandler = (call) => {
  const { world, merchant } = call;
  const request = readRefund(bodyObject(call));
  const terminal = deviceOf(call, 'device_not_found');
  const payment = world.payments.get(Number(request.payment_id));
  if (payment === undefined || !isRefundableOn(call, payment, terminal.id)) throw refusal('payment_not_found');
  if (terminal.occupation !== null) throw refusal('queued_intent');
  const refund: RefundIntent = {
    ...request,
    id: newUuid(world),
    merchant_id: merchant.user_id,
    device_id: terminal.id,
    history: [{ state: 'OPEN', at_ms: world.clock.now() }],
    payment: payment.id,
  };
  world.refund_intents.set(refund.id, refund);
  queueWork(world, refund, terminal, world.settings.legacy_expiry_ms);
  const { id, device_id, payment_id, additional_info } = refund;
  return json(200, { id, device_id, payment_id, additional_info });
};

/** The answer for an unknown id is not documented; it is that of a payment intent. */
const getRefund: PointHandler = (call) => {
  const refund = refundOf(call);
  if (refund === undefined) {
    throw refuse('point', { status: 404, error: '404', message: "Refund intent doesn't exist" });
  }
  const { id, device_id, payment_id, additional_info } = refund;
  return json(200, { id, state: stateOf(refund), device_id, payment_id, additional_info });
};

/** Refusals are those of a payment intent's cancel, because no others are documented. */
const cancelRefund: PointHandler = (call) => {
  const refund = refundOf(call);
  if (refund === undefined || stateOf(refund) === 'CANCELED' || refund.device_id !== call.path('device')) {
    throw refusal('intent_not_cancelable');
  }
  if (!cancelOpen(call.world, refund)) throw refusal('cancel_blocked');
  return json(200, { id: refund.id });
};

function readRefund(body: JsonObject): Pick<RefundIntent, 'payment_id' | 'additional_info'> {
  if (body.payment_id === undefined) throw refusal('missing_property', 'payment_id');
  const parsed = createRefundIntentBody.safeParse(body);
  if (!parsed.success) throw refusal('invalid_property', parsed.error.issues[0]?.path.join('.') ?? 'body');
  const { payment_id } = parsed.data;
  if (!/^\d{1,15}$/.test(String(payment_id))) throw refusal('invalid_property', 'payment_id');
  return { payment_id, additional_info: body.additional_info };
}

function refundOf({ world, merchant, path }: PointCall): RefundIntent | undefined {
  const refund = world.refund_intents.get(path('refund').toLowerCase());
  return refund?.merchant_id === merchant.user_id ? refund : undefined;
}

/** An approved payment of this merchant that was taken on this device. */
function isRefundableOn({ world, merchant }: PointCall, payment: Payment, device_id: string): boolean {
  if (payment.merchant_id !== merchant.user_id || payment.status !== 'approved') return false;
  const { kind, id } = payment.origin;
  const place = kind === 'order' ? world.orders.get(id)?.place : undefined;
  const order_terminal = place?.type === 'point' ? place.terminal_id : undefined;
  return (kind === 'intent' ? world.intents.get(id)?.device_id : order_terminal) === device_id;
}

// The integrator record: channels for device restarts and mode changes. Source: `docs/field-notes.md` Point §1.8.

const getIntegrator: PointHandler = ({ world, merchant }) => {
  const { merchant_id, created_at_ms, updated_at_ms, event_channel_devices } = integratorOf(world, merchant.user_id);
  return json(200, {
    id: Number(merchant_id),
    created_at: isoDate(created_at_ms, 0),
    updated_at: isoDate(updated_at_ms, 0),
    notification_url_enabled: (world.notice_targets.get(merchant_id)?.url ?? null) !== null,
    event_channel_devices,
  });
};

const channels = z.array(z.string());

const changeIntegrator: PointHandler = (call) => {
  const wanted = bodyObject(call).event_channel_devices;
  if (wanted === undefined) throw refusal('missing_property', 'event_channel_devices');
  const parsed = channels.safeParse(wanted);
  if (!parsed.success) throw refusal('invalid_property', 'event_channel_devices');
  const integrator = integratorOf(call.world, call.merchant.user_id);
  integrator.event_channel_devices = parsed.data;
  integrator.updated_at_ms = call.world.clock.now();
  return noContent;
};

/** The real API creates the record when the integration registers; the sandbox at first use. */
function integratorOf({ integrators, clock }: World, merchant_id: string) {
  const now_ms = clock.now();
  const fresh = { merchant_id, created_at_ms: now_ms, updated_at_ms: now_ms, event_channel_devices: [] };
  const integrator = integrators.get(merchant_id) ?? fresh;
  integrators.set(merchant_id, integrator);
  return integrator;
}

const base = '/point/integration-api';

/** Every route of `docs/field-notes.md` Point §1. The events list is first, because `:intent` would match `events`. */
export const pointRows: Rows<'point'> = [
  ['get', `${base}/devices`, listDevices],
  ['patch', `${base}/devices/:device`, changeMode],
  ['post', `${base}/devices/:device/payment-intents`, createIntent],
  ['delete', `${base}/devices/:device/payment-intents/:intent`, cancelIntent],
  ['get', `${base}/payment-intents/events`, listEvents],
  ['get', `${base}/payment-intents/:intent`, getIntent],
  ['get', `${base}/payment-intents/:intent/events`, lastStatus],
  ['post', `${base}/devices/:device/refund`, createRefund],
  ['get', `${base}/refund/:refund`, getRefund],
  ['delete', `${base}/devices/:device/refund/:refund`, cancelRefund],
  ['get', `${base}/integrator`, getIntegrator],
  ['patch', `${base}/integrator`, changeIntegrator],
];
