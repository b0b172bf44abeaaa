/** What the actions at the terminal mean for a payment intent: the payment that is made, and the notice that is told. */
import type { TerminalAction, TerminalOptions } from '../cast.ts';
import type { Payment, World } from '../world.ts';
import { isObject } from './call.ts';
import type { Move, WorkKind } from './lifecycle.ts';
import { announce } from './notices.ts';
import type { LegacyState, PaymentIntent } from './state.ts';

/** A declined card ends in FINISHED too, with a rejected payment (`legacy-point.md` finding 1). */
const moves: Readonly<Record<TerminalAction, Move>> = {
  pick_up: { latest: 'OPEN', through: 'ON_TERMINAL', end: null },
  process: { latest: 'ON_TERMINAL', through: 'PROCESSING', end: null },
  pay: { latest: 'PROCESSING', through: 'PROCESSED', end: 'FINISHED' },
  decline: { latest: 'PROCESSING', through: 'PROCESSED', end: 'FINISHED' },
  cancel: { latest: 'ON_TERMINAL', through: 'ON_TERMINAL', end: 'CANCELED' },
  confirm_needed: { latest: 'PROCESSING', through: 'PROCESSING', end: 'CONFIRMATION_REQUIRED' },
  error: { latest: 'PROCESSING', through: 'ON_TERMINAL', end: 'ERROR' },
};

export function paymentKind(world: World, state: LegacyState, intent: PaymentIntent): WorkKind {
  return {
    moves,
    effect(action, options) {
      if (action === 'pay') record(world, intent, options, 'approved', 'accredited');
      if (action === 'decline') {
        const detail = options.status_detail ?? world.settings.failed_status_detail;
        record(world, intent, options, 'rejected', `cc_rejected_${detail}`);
      }
      // The number is all that is told of it: its outcome must be read on the terminal (`legacy-point.md` §2).
      if (action === 'confirm_needed') intent.payment_id = world.nextPaymentId();
    },
    ended(final) {
      if (intent.create_key !== null) state.keyed_creates.delete(intent.create_key);
      announce(world, state, intent, final);
    },
  };
}

function record(
  world: World,
  intent: PaymentIntent,
  options: TerminalOptions,
  status: Payment['status'],
  status_detail: string,
): void {
  const type = options.payment_method_type ?? intent.preference?.type ?? 'credit_card';
  const reference = isObject(intent.additional_info) ? intent.additional_info.external_reference : undefined;
  const now_ms = world.clock.now();
  const payment: Payment = {
    id: world.nextPaymentId(),
    merchant_id: intent.merchant.user_id,
    status,
    status_detail,
    amount_minor: intent.amount_minor,
    tip_minor: options.tip_minor ?? 0,
    refunded_minor: 0,
    external_reference: typeof reference === 'string' ? reference : null,
    description: intent.description ?? null,
    payment_type_id: type,
    payment_method_id: options.payment_method_id ?? usualMethods[type] ?? intent.preference?.voucher_type ?? type,
    installments: options.installments ?? intent.preference?.installments ?? 1,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    refunds: [],
    pos: intent.terminal.pos,
    origin: { kind: 'intent', id: intent.id },
    merchant_order_id: null,
  };
  world.payments.set(payment.id, payment);
  world.paymentChanged(payment);
  intent.payment_id = payment.id;
  intent.paid = payment;
}

/** The card that is used when the person at the terminal names none. */
const usualMethods: Readonly<Record<string, string>> = { credit_card: 'master', debit_card: 'debmaster' };
