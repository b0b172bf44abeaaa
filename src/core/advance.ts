/** From what upstream says of an order to what legacy clients see: pure, and never back in time. */
import { stringifyJson } from '../contract/json.ts';
import { finalIntentStates, type IntentState } from '../contract/legacy-point.ts';
import type { Order } from '../contract/orders.ts';
import type { StateRow, Tables } from '../mapping/tables.ts';
import type { Link, LinkChange } from './link.ts';
import { comparableInstant, durationMs, instantMs } from './moment.ts';
import type { NewNotice } from './store.ts';

export interface AdvanceRules {
  now: number;
  declined: 'error' | 'finished';
  action_required_grace_ms: number;
  default_lifetime_ms: number;
  /** Decimals of the merchant's currency. */
  exponent: number;
  /** A new sale was asked for on the unit: nothing of an earlier one is held back any longer. */
  released: boolean;
}

export interface Advance {
  change: LinkChange;
  notices: NewNotice[];
  /** What is worth a counter: an order status no table row knows, an older version, an approval after a cancel. */
  remarks: ('unknown_states' | 'stale_versions' | 'late_approvals')[];
}

/**
 * What a freshly read order changes about its link (`reliability.md` §3.12): the higher of (version, rank) wins,
 * a final state is left only for processed or refunded, and a notice is due when legacy would have announced
 * the state that is now visible (`legacy-point.md` §3.1).
 */
export function advance(link: Link, order: Order, tables: Tables, rules: AdvanceRules): Advance {
  const row = tables.state(order.status, rules.declined);
  const remarks: Advance['remarks'] = row.known ? [] : ['unknown_states'];
  const version = comparableInstant(order.last_updated_date);
  const expires_at = expiry(link, order, rules);
  const newer = isNewer(link, order, version, row, tables, rules);
  if (!newer && !settlesHeld(link, order, row, expires_at, rules)) {
    const same = link.order !== null && order.status === link.order.status;
    return { change: {}, notices: [], remarks: same ? remarks : [...remarks, 'stale_versions'] };
  }
  const intent_state = visibleState(order, row, expires_at, rules);
  const final = row.final || intent_state === 'CONFIRMATION_REQUIRED';
  if (link.intent_state === 'CANCELED' && intent_state === 'FINISHED') remarks.push('late_approvals');
  const changed = intent_state !== link.intent_state;
  const change: LinkChange = {
    order,
    order_id: order.id,
    order_version: version ?? link.order_version,
    payment_id: paymentId(order) ?? link.payment_id,
    intent_state,
    intent_state_at: changed ? stateInstant(version, rules.now) : link.intent_state_at,
    state: final ? 'DONE' : 'LIVE',
    expires_at,
    sealed_body: null,
  };
  const announce = changed && announced(intent_state, row);
  return { change, notices: announce ? [notice({ ...link, ...change }, order, tables, rules)] : [], remarks };
}

/** The flat body of a Point notice for a link in its current state, JSON text in the order of `legacy-point.md` §3.1. */
function notice(link: Link, order: Order, tables: Tables, rules: AdvanceRules): NewNotice {
  const application = order.integration_data?.application_id;
  const { value } = tables.notice(order, {
    intent_id: link.legacy_id,
    state: link.intent_state,
    amount_minor: link.amount_minor,
    exponent: rules.exponent,
    caller_id: Number(link.merchant_id),
    client_id: application !== undefined && /^\d{1,15}$/.test(application) ? Number(application) : undefined,
    created_at: link.created_at,
    held: link.held,
    payment_state: order.status === 'failed' ? 'rejected' : 'approved',
  });
  return {
    legacy_id: link.legacy_id,
    merchant_id: link.merchant_id,
    body: stringifyJson(value.body),
    created_at: rules.now,
    next_attempt_at: rules.now,
  };
}

function isNewer(
  link: Link,
  order: Order,
  version: string | null,
  row: StateRow,
  tables: Tables,
  rules: AdvanceRules,
): boolean {
  // What tills see decides, not the order: CONFIRMATION_REQUIRED and a lost link's ABANDONED are as final as the rest.
  const ended = finalIntentStates.includes(link.intent_state);
  if (ended && order.status !== 'processed' && order.status !== 'refunded') return false;
  if (link.order === null) return true;
  const before = tables.state(link.order.status, rules.declined);
  if (version !== null && link.order_version !== null && version !== link.order_version) {
    return version > link.order_version;
  }
  return row.rank > before.rank;
}

/** An order held back because it might still move can't any more: its time is over, or its terminal is wanted. */
function settlesHeld(link: Link, order: Order, row: StateRow, expires_at: number, rules: AdvanceRules): boolean {
  // A lagging read may still say so of an order that has moved on; only a link that is held now is let go.
  const held_now = row.held && link.order?.status === order.status && !finalIntentStates.includes(link.intent_state);
  return held_now && holdIsOver(expires_at, rules);
}

function visibleState(order: Order, row: StateRow, expires_at: number, rules: AdvanceRules): IntentState {
  if (row.held && holdIsOver(expires_at, rules)) return 'CONFIRMATION_REQUIRED';
  // FINISHED without a payment to look at breaks tills that read `payment.id` (`legacy-point.md` §2, failed).
  if (order.status === 'failed' && row.intent === 'FINISHED' && paymentId(order) === null) return 'ERROR';
  return row.intent;
}

function holdIsOver(expires_at: number, rules: AdvanceRules): boolean {
  return rules.released || rules.now >= expires_at + rules.action_required_grace_ms;
}

function announced(state: IntentState, row: StateRow): boolean {
  return state === 'CONFIRMATION_REQUIRED' || row.notice;
}

function expiry(link: Link, order: Order, rules: AdvanceRules): number {
  const created = comparableInstant(order.created_date);
  const lifetime_ms = durationMs(order.expiration_time) ?? rules.default_lifetime_ms;
  return (created === null ? link.created_at : instantMs(created)) + lifetime_ms;
}

function stateInstant(version: string | null, now: number): number {
  return version === null ? now : Math.min(instantMs(version), now);
}

/** The number of the processed payment: `reference_id`, not `id` (`legacy-point.md` §1.4). */
function paymentId(order: Order): string | null {
  const reference = order.transactions?.payments?.[0]?.reference_id;
  return reference !== undefined && /^\d+$/.test(reference) ? reference : null;
}
