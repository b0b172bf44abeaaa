/** Payment intents: create, get and cancel. Source: `docs/field-notes.md` Point §1.3 to §1.5. */
import { randomUUID } from 'node:crypto';
import { isExactNumber, type Json } from '../../contract/json.ts';
import { createIntentBody, type IntentState, operatingModes, pointErrors } from '../../contract/legacy-point.ts';
import type { SiteId, Terminal } from '../cast.ts';
import { isoDate } from '../dates.ts';
import {
  deviceOf,
  type Handler,
  isObject,
  jsonObject,
  type LegacyCall,
  type LegacyReply,
  refusal,
  single,
} from './call.ts';
import { cancelOpen, isFinal, lastStep, paymentKind, queueWork, stateOf } from './lifecycle.ts';
import type { PaymentIntent, PaymentPreference } from './state.ts';

/** `POST …/devices/{device}/payment-intents`: 201, because published clients take nothing else for a created intent. */
export const createIntent: Handler = (call) => {
  const request = readCreate(call.body, call.merchant.site.site_id);
  // What the live service answers for a device in STANDALONE is unknown (`docs/field-notes.md` Point §7); it is accepted here.
  const terminal = deviceOf(call, pointErrors.not_device_owner);
  const repeated = repeatedCreate(call);
  if (repeated !== null) return created(repeated);
  if (terminal.occupation !== null) throw refusal(pointErrors.queued_intent);
  const intent: PaymentIntent = {
    ...request,
    id: randomUUID(),
    merchant: call.merchant,
    terminal,
    history: [{ state: 'OPEN', at_ms: call.world.clock.now() }],
    expiry: null,
    create_key: keyOf(call),
    payment_id: null,
    paid: null,
  };
  call.state.intents.set(intent.id, intent);
  queueWork(call.world, intent, paymentKind(call.world, call.state, intent), lifetimeMs(call));
  if (intent.create_key !== null)
    call.state.keyed_creates.set(intent.create_key, { intent_id: intent.id, body: call.body });
  return created(intent);
};

/** `GET …/payment-intents/{id}`. */
export const getIntent: Handler = (call) => {
  const intent = intentOf(call);
  return {
    status: 200,
    body: {
      id: intent.id,
      state: stateOf(intent),
      amount: intent.amount_minor,
      device_id: intent.terminal.id,
      description: intent.description,
      payment: shownPayment(intent),
      additional_info: intent.additional_info,
    },
  };
};

/** `DELETE …/devices/{device}/payment-intents/{id}`: only while OPEN (`docs/field-notes.md` Point §1.5, `docs/field-notes.md` Orders §7.1 for "101"). */
export const cancelIntent: Handler = (call) => {
  const intent = call.state.intents.get(call.path('intent').toLowerCase());
  const known = intent?.merchant.user_id === call.merchant.user_id && intent.terminal.id === call.path('device');
  if (intent === undefined || !known || stateOf(intent) === 'CANCELED')
    throw refusal(pointErrors.intent_not_cancelable);
  if (!cancelOpen(call.world, intent, paymentKind(call.world, call.state, intent)))
    throw refusal(pointErrors.cancel_blocked);
  return { status: 200, body: { id: intent.id } };
};

/** @throws PuenteError refused, when the path's id is malformed, unknown or another merchant's. */
export function intentOf(call: LegacyCall): PaymentIntent {
  const intent = call.state.intents.get(call.path('intent').toLowerCase());
  if (intent === undefined || intent.merchant.user_id !== call.merchant.user_id)
    throw refusal(pointErrors.intent_not_found);
  return intent;
}

/** The documented create answer has no `state`; `payment_mode` is in the captured one. */
function created(intent: PaymentIntent): LegacyReply {
  return {
    status: 201,
    body: {
      id: intent.id,
      device_id: intent.terminal.id,
      amount: intent.amount_minor,
      description: intent.description,
      additional_info: intent.additional_info,
      payment: intent.preference,
      payment_mode: 'card',
    },
  };
}

/** Before the payment what the till asked for; after it the number and the method, which is what clients read. */
function shownPayment(intent: PaymentIntent): object | undefined {
  const { payment_id, paid, preference } = intent;
  if (payment_id === null) return preference;
  if (paid === null) return { id: payment_id, ...preference };
  return {
    id: paid.id,
    type: paid.payment_type_id,
    installments: paid.installments,
    installments_cost: preference?.installments_cost,
    voucher_type: preference?.voucher_type,
  };
}

/** A lifetime that the till gives in seconds, or the setting: the duration is documented nowhere. */
function lifetimeMs(call: LegacyCall): number {
  const ttl = call.header('x-ttl-store-preference') ?? '';
  return TTL_SECONDS.test(ttl) ? Number(ttl) * 1000 : call.world.settings.legacy_expiry_ms;
}
const TTL_SECONDS = /^[1-9]\d{0,6}$/;

/**
 * The intent of an equal create with an equal key, while it is open: the memory ends with the intent, because official
 * clients repeat one key for every later sale (`docs/field-notes.md` Point finding 11).
 */
function repeatedCreate(call: LegacyCall): PaymentIntent | null {
  const known = call.state.keyed_creates.get(keyOf(call) ?? '');
  if (known === undefined || Buffer.compare(known.body, call.body) !== 0) return null;
  return call.state.intents.get(known.intent_id) ?? null;
}

function keyOf(call: LegacyCall): string | null {
  const key = call.header('x-idempotency-key');
  return key === undefined || key === '' ? null : `${call.merchant.user_id}/${call.path('device')}/${key}`;
}

// What a create of a payment intent may say, by site. Source: `docs/field-notes.md` Point §1.3.

interface CreateRequest {
  amount_minor: number;
  description: string | undefined;
  preference: PaymentPreference | undefined;
  additional_info: unknown;
}

interface SiteRules {
  /** Minor units. The minimum has moved over time; 1500 is the live text seen last for MLA. */
  minimum_minor: number;
  maximum_minor: number;
  /** Whether `description` and `payment` are known. */
  preferences: boolean;
  /** Whether what is not known is refused, as a closed schema does; elsewhere it is ignored. */
  strict: boolean;
}

const rules: Readonly<Partial<Record<SiteId, SiteRules>>> = {
  MLA: { minimum_minor: 1500, maximum_minor: 400_000_000, preferences: false, strict: false },
  MLB: { minimum_minor: 100, maximum_minor: 7_000_000, preferences: true, strict: false },
  MLM: {
    minimum_minor: 500,
    maximum_minor: 35_000_000,
    preferences: false,
    strict: true,
  },
};

/** Legacy Point was sold in the three countries above; elsewhere nobody has a device that could take an intent. */
const otherRules: SiteRules = { minimum_minor: 1, maximum_minor: 400_000_000, preferences: false, strict: false };

/** @throws PuenteError refused, with the legacy error of the first rule that does not hold. */
export function readCreate(bytes: Uint8Array, site: SiteId): CreateRequest {
  const body = jsonObject(bytes);
  const { strict, preferences, minimum_minor, maximum_minor } = rules[site] ?? otherRules;
  if (strict) refuseAdditional(body);
  const amount_minor = readAmount(body.amount, minimum_minor, maximum_minor);
  const parsed = createIntentBody.safeParse({ ...body, amount: amount_minor });
  if (!parsed.success) throw refusal(pointErrors.invalid_property, parsed.error.issues[0]?.path.join('.') ?? 'body');
  if (preferences) checkPreference(parsed.data.payment, amount_minor);
  return {
    amount_minor,
    description: preferences ? parsed.data.description : undefined,
    preference: preferences && isObject(body.payment) ? body.payment : undefined, // as sent, unknown keys included
    additional_info: body.additional_info,
  };
}

/** What Mexico takes; `notification_url` has no effect, yet a client sends it (`docs/field-notes.md` Point §1.3). */
const KNOWN = ['amount', 'additional_info', 'notification_url'];
const KNOWN_ADDITIONAL_INFO = ['external_reference', 'print_on_terminal', 'ticket_number'];

function refuseAdditional(body: { [key: string]: Json }): void {
  const info = isObject(body.additional_info) ? Object.keys(body.additional_info) : [];
  const additional =
    Object.keys(body).find((name) => !KNOWN.includes(name)) ??
    info.find((name) => !KNOWN_ADDITIONAL_INFO.includes(name));
  if (additional !== undefined) throw refusal(pointErrors.additional_property, additional);
}

function readAmount(value: Json | undefined, minimum_minor: number, maximum_minor: number): number {
  if (value === undefined) throw refusal(pointErrors.missing_property, 'amount');
  const text = typeof value === 'number' || isExactNumber(value) ? String(value) : '';
  // 1500.0 and 15e2 are whole numbers by now; what still has a source text is none, or too long to be one.
  if (!/^-?\d+$/.test(text)) throw refusal(pointErrors.invalid_property, 'amount');
  const amount = BigInt(text);
  if (amount < BigInt(minimum_minor)) throw refusal(pointErrors.amount_minimum, String(minimum_minor));
  if (amount > BigInt(maximum_minor)) throw refusal(pointErrors.amount_maximum, String(maximum_minor));
  return Number(amount);
}

const PAYMENT_TYPES = ['credit_card', 'debit_card', 'voucher_card'];
const INSTALLMENTS_COSTS = ['seller', 'buyer'];
const VOUCHER_TYPES = ['sodexo', 'alelo'];
const MAX_INSTALLMENTS = 72;
/** Each instalment is at least 5.00. */
const MIN_INSTALLMENT_MINOR = 500;

/** The rules of the four `payment` fields at MLB. */
function checkPreference(payment: PaymentPreference | undefined, amount_minor: number): void {
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
  if (!holds) throw refusal(pointErrors.invalid_property, property);
}

// History of intents: the events list and the last status. Source: `docs/field-notes.md` Point §1.6, §1.7.

const DAY_MS = 24 * 60 * 60 * 1000;
/** The longest range that may be asked for. */
const MAX_RANGE_DAYS = 30;

/** `GET …/payment-intents/events?startDate=…&endDate=…`: final states, newest first; days are whole days in UTC, both included. */
export const listEvents: Handler = ({ state, merchant, query }) => {
  const start_ms = dayStart(single(query, 'startDate'));
  const end_ms = dayStart(single(query, 'endDate'));
  if (start_ms > end_ms || end_ms - start_ms > MAX_RANGE_DAYS * DAY_MS) throw refusal(pointErrors.bad_request);
  const events: { payment_intent_id: string; status: IntentState; at_ms: number }[] = [];
  for (const intent of state.intents.values()) {
    const { state: status, at_ms } = lastStep(intent);
    if (intent.merchant.user_id !== merchant.user_id || !isFinal(status)) continue;
    if (at_ms >= start_ms && at_ms < end_ms + DAY_MS) events.push({ payment_intent_id: intent.id, status, at_ms });
  }
  events.reverse(); // so that of two at the same time the later created comes first
  events.sort((one, other) => other.at_ms - one.at_ms);
  const shown = events.map(({ at_ms, ...event }) => ({ ...event, created_on: isoDate(at_ms, 0) }));
  return { status: 200, body: { events: shown } };
};

/** `GET …/payment-intents/{id}/events`: the current state, here called `status`, with the time it was reached. */
export const lastStatus: Handler = (call) => {
  const { state, at_ms } = lastStep(intentOf(call));
  return { status: 200, body: { status: state, created_on: isoDate(at_ms, 0) } };
};

/** @throws PuenteError refused, unless the text is a day of the calendar as YYYY-MM-DD. */
function dayStart(text: string | null): number {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) throw refusal(pointErrors.bad_request);
  const time_ms = Date.parse(`${text}T00:00:00Z`);
  if (Number.isNaN(time_ms) || isoDate(time_ms, 0).slice(0, 10) !== text) throw refusal(pointErrors.bad_request);
  return time_ms;
}

// Devices: the list, and the change of operating mode. Source: `docs/field-notes.md` Point §1.1, §1.2.

/** Largest and usual page; the orders API clamps to the same number (`docs/field-notes.md` Orders §5). */
const MAX_PAGE = 50;

/** `GET /point/integration-api/devices`. */
export const listDevices: Handler = ({ world, merchant, query }) => {
  const store_id = single(query, 'store_id');
  const pos_id = single(query, 'pos_id');
  if (pos_id !== null && !/^\d{1,20}$/.test(pos_id)) throw refusal(pointErrors.invalid_property, 'pos_id');
  const limit = Math.min(Math.max(pageNumber(query, 'limit', MAX_PAGE), 1), MAX_PAGE);
  const offset = pageNumber(query, 'offset', 0);
  const matching = world
    .terminals(merchant.user_id)
    .filter(({ pos }) => store_id === null || pos?.store_id === store_id)
    .filter(({ pos }) => pos_id === null || String(pos?.id ?? 0) === pos_id);
  return {
    status: 200,
    body: {
      devices: matching.slice(offset, offset + limit).map(shown),
      paging: { total: matching.length, limit, offset },
    },
  };
};

/** `PATCH /point/integration-api/devices/{device}` `{"operating_mode": "PDV"}`. */
export const changeMode: Handler = (call) => {
  const wanted = jsonObject(call.body).operating_mode;
  if (wanted === undefined) throw refusal(pointErrors.missing_property, 'operating_mode');
  const mode = operatingModes.find((name) => name === wanted);
  if (mode === undefined) throw refusal(pointErrors.invalid_property, 'operating_mode');
  const terminal = deviceOf(call, pointErrors.not_device_owner);
  if (terminal.pos === null) throw refusal(pointErrors.forbidden);
  if (mode === 'PDV' && rivalInPdv(call.world.terminals(call.merchant.user_id), terminal)) {
    throw refusal(pointErrors.device_in_pos);
  }
  terminal.operating_mode = mode;
  return { status: 200, body: { operating_mode: mode } };
};

/** Only one terminal per point of sale may be in PDV (`docs/field-notes.md` Spec Terminal). */
function rivalInPdv(terminals: readonly Terminal[], terminal: Terminal): boolean {
  return terminals.some(
    (other) => other !== terminal && other.pos?.id === terminal.pos?.id && other.operating_mode === 'PDV',
  );
}

/** `store_id` null rather than empty: an empty text breaks the PHP SDK (`docs/field-notes.md` Point §4.2). The old API knows two modes. */
function shown(terminal: Terminal): object {
  return {
    id: terminal.id,
    pos_id: terminal.pos?.id ?? 0,
    store_id: terminal.pos?.store_id ?? null,
    external_pos_id: terminal.pos?.external_id ?? '',
    operating_mode: terminal.operating_mode === 'PDV' ? 'PDV' : 'STANDALONE',
  };
}

function pageNumber(query: URLSearchParams, name: string, missing: number): number {
  const text = single(query, name);
  if (text === null) return missing;
  if (!/^\d{1,9}$/.test(text)) throw refusal(pointErrors.invalid_property, name);
  return Number(text);
}
