/** Payment intents: create, get and cancel. Source: `legacy-point.md` §1.3 to §1.5. */
import { randomUUID } from 'node:crypto';
import { pointErrors } from '../../contract/legacy-point.ts';
import { deviceOf, type Handler, type LegacyCall, type LegacyReply, refusal } from './call.ts';
import { readCreate } from './create.ts';
import { cancelOpen, queueWork, stateOf } from './lifecycle.ts';
import { paymentKind } from './payment.ts';
import type { PaymentIntent } from './state.ts';

/** `POST …/devices/{device}/payment-intents`: 201, because published clients take nothing else for a created intent. */
export const createIntent: Handler = (call) => {
  const request = readCreate(call.body, call.merchant.site.site_id);
  // What the live service answers for a device in STANDALONE is unknown (`legacy-point.md` §7); it is accepted here.
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

/** `DELETE …/devices/{device}/payment-intents/{id}`: only while OPEN (`legacy-point.md` §1.5, `orders-api.md` §7.1 for "101"). */
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
 * clients repeat one key for every later sale (`legacy-point.md` finding 11).
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
