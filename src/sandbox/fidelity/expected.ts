/** What is expected of an upstream beside the assumptions, and which assumptions no probe can show, and why. */

/** Facts that both profiles hold, beside the assumptions: what is answered, and its source in the field notes. */
export const facts: Readonly<Record<string, { is: string; source: string }>> = {
  'fact.unknown_order': { is: '404 order_not_found', source: 'GET of an id that no order has (Spec Errors).' },
  'fact.terminals': { is: '200', source: 'The list of terminals has data.terminals (Spec Terminal).' },
  'fact.terminal_mode': { is: '200', source: 'A terminal is set to the mode that it has (Spec Terminal).' },
  'fact.wrong_mode': { is: '400 property_value', source: 'A mode that does not exist (Spec Terminal).' },
  'fact.no_key': { is: '400 empty_required_header', source: 'A create without X-Idempotency-Key (Spec Errors).' },
  'fact.unknown_property': { is: '400 unsupported_properties', source: 'A field that no page has (Spec Errors).' },
  'fact.missing_property': { is: '400 required_properties', source: 'A create without a reference (Spec Errors).' },
  'fact.no_amount': { is: '400 property_value', source: 'An amount of nothing (Spec Order).' },
  'fact.created': { is: '201 created', source: 'A create, and its order (Spec Order status).' },
  'fact.read': { is: '200 created', source: 'GET of a new order (Spec Endpoints).' },
  'fact.key_reused': { is: '409', source: 'A key with another body (Spec Errors).' },
  'fact.queue': { is: '409', source: 'A second order for a terminal that has one (Spec Limits).' },
  'fact.canceled': { is: '200 canceled', source: 'A cancel of a new order (Spec Order status).' },
  'fact.canceled_twice': { is: '409 order_already_canceled', source: 'Another cancel of it (Spec Errors).' },
  'fact.refund_unpaid': {
    is: '409 cannot_refund_order',
    source: 'A refund of an order that was not paid (Spec Errors).',
  },
  'fact.refunded': { is: '201', source: 'A total refund of a paid order (Spec Endpoints).' },
};

const SWITCH = 'a switch of the sandbox, and no fact about upstream';
const RECEIVER = 'needs a receiver of notifications that upstream can reach';
const BUYER = 'needs a person who pays with a wallet or a card';
const OLD = 'needs a payment that is months old';

/** Assumptions without a probe, and why. */
export const notProbed: Readonly<Record<string, string>> = {
  replay_forget_after_minutes: 'needs hours: how long a key is remembered shows only when it is forgotten',
  partial_refund_action: RECEIVER,
  max_refunds: 'needs a payment that is refunded in twenty parts',
  simulated_step_ms: SWITCH,
  cancel_step_ms: SWITCH,
  webhook_url: SWITCH,
  webhook_mode: SWITCH,
  webhook_late_ms: SWITCH,
  signature_casing: RECEIVER,
  signature_ts_unit: RECEIVER,
  webhook_amounts: RECEIVER,
  webhook_user_id: RECEIVER,
  webhook_timeout_ms: RECEIVER,
  qr_refund_days: OLD,
  qr_signature: RECEIVER,
  legacy_expiry_ms: 'needs an intent that nobody takes up at a terminal of legacy, for a quarter of an hour',
  legacy_qr_expiry_ms: 'needs a code that nobody scans, for ten minutes',
  legacy_qr_locked: BUYER,
  legacy_qr_nameless_till: 'needs a point of sale without an external id',
  ipn_resource_base: RECEIVER,
  local_notification_urls: RECEIVER,
  source_news_ipn: RECEIVER,
  payment_refund_days: OLD,
  refund_too_old_code: OLD,
  payment_refund_status: BUYER,
  chargeback_payment: 'needs a buyer who disputes a payment',
  store_create_status: 'would make a store in the account, which may not be deletable',
  invoice_external_reference: 'needs a subscription of the account',
  invoice_amount: 'needs a subscription of the account',
  invoice_canceled: 'needs a subscription of the account',
  extra_terminals: SWITCH,
};
