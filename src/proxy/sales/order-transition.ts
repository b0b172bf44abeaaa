/** What a read order changes about its link, and which notices are due. Pure; a link never goes back in time. */
import { durationMs } from '../../contract/duration.ts';
import { stringifyJson } from '../../contract/json.ts';
import type { MerchantOrderState } from '../../contract/merchant-orders.ts';
import type { Order } from '../../contract/orders.ts';
import type { Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { NoticeTopic } from '../../mapping/schema.ts';
import type { StateRow, Tables } from '../../mapping/tables.ts';
import { minorUnits } from '../../mapping/values.ts';
import { syntheticPaymentId } from '../ids.ts';
import type { FeedFacts, News } from '../notices/request.ts';
import {
  comparableInstant,
  hasEnded,
  instantMs,
  isPaid,
  type LegacyState,
  type Link,
  type LinkChange,
} from './link.ts';

/** Settings and time by which an order changes its link; times and durations in ms. */
export interface AdvanceRules {
  now: number;
  declined: 'error' | 'finished';
  action_required_grace_ms: number;
  default_lifetime_ms: number;
  /** Decimals of the merchant's currency. */
  exponent: number;
  /** A new sale needs the unit: a held order is shown as CONFIRMATION_REQUIRED now. */
  released: boolean;
}

interface Advance {
  change: LinkChange;
  notices: News[];
  /** For counters: a status without a table row, an older version, an approval after a cancel. */
  remarks: ('unknown_states' | 'stale_versions' | 'late_approvals')[];
}

/**
 * What a freshly read order changes about its link (`docs/protocol.md` §3.12), and the notices that legacy would have
 * sent for the change (`docs/field-notes.md` Point §3.1, QR §5.1).
 */
export function advance(link: Link, order: Order, tables: Tables, rules: AdvanceRules): Advance {
  const row = rowOf(link, order, tables, rules);
  const remarks: Advance['remarks'] = row.known ? [] : ['unknown_states'];
  const version = comparableInstant(order.last_updated_date);
  const expires_at = expiry(link, order, rules);
  const newer = isNewer(link, order, version, row, tables, rules);
  if (!newer && !settlesHeld(link, order, row, expires_at, rules)) {
    const same = link.order !== null && order.status === link.order.status;
    return { change: {}, notices: [], remarks: same ? remarks : [...remarks, 'stale_versions'] };
  }
  const legacy_state = visibleState(link, order, row, expires_at, rules);
  const change: LinkChange = {
    order,
    order_id: order.id,
    order_version: version ?? link.order_version,
    payment_id: paymentId(order) ?? link.payment_id ?? syntheticPaymentId(link, order),
    legacy_state,
    legacy_state_at: legacy_state === link.legacy_state ? link.legacy_state_at : stateInstant(version, rules.now),
    state: row.final || legacy_state === 'CONFIRMATION_REQUIRED' ? 'DONE' : 'LIVE',
    expires_at,
    sealed_body: null,
  };
  const next: Link = { ...link, ...change };
  if (hasEnded(link) && !isPaid(link) && isPaid(next)) remarks.push('late_approvals');
  return { change, notices: announcements(link, next, order, row, tables, rules), remarks };
}

/** The row of the states table by which an order of this link is shown. */
export function rowOf(link: Link, order: Order, tables: Tables, rules: AdvanceRules): ReturnType<Tables['state']> {
  const shown = isTimedOut(link, order, rules) ? { ...order, status: 'expired' } : order;
  return tables.state(link.family, shown, rules.declined);
}

/** An automatic cancel may be dated this long before the end of the lifetime: upstream's clocks disagree. */
const CLOCK_DIFFERENCE_MS = 5_000;

/**
 * Upstream cancels an unpaid Point order at the end of its lifetime (`docs/field-notes.md` Spec Order status); others
 * saw `expired` (Orders §3.2). Legacy showed ABANDONED and sent no notice. A requested cancel names its source.
 */
function isTimedOut(link: Link, order: Order, rules: AdvanceRules): boolean {
  if (link.family !== 'point' || order.status !== 'canceled') return false;
  const detail = order.transactions?.payments?.[0]?.status_detail;
  if (detail === 'canceled_by_api' || detail === 'canceled_on_terminal') return false;
  const canceled = comparableInstant(order.last_updated_date);
  return canceled !== null && instantMs(canceled) >= expiry(link, order, rules) - CLOCK_DIFFERENCE_MS;
}

/**
 * Whether the reading is later than what is stored (`docs/protocol.md` §3.12). Machines of upstream disagree by
 * seconds, so statuses decide first: a final one is later than a live one, a payment later than an end without payment,
 * a refund later than its payment (`docs/field-notes.md` Orders §3.2), and a refund's end later than the refund. Other
 * readings are ordered by date, and by rank where the dates are equal or missing.
 */
function isNewer(
  link: Link,
  order: Order,
  version: string | null,
  row: StateRow,
  tables: Tables,
  rules: AdvanceRules,
): boolean {
  if (hasEnded(link) && order.status !== 'processed' && order.status !== 'refunded') return false;
  if (link.order === null) return true;
  const before = rowOf(link, link.order, tables, rules);
  if (row.final !== before.final) return row.final;
  // A refund that was processing has ended; when it failed, the order is paid again (LIM-42).
  if (hasEndedRefund(link.order, order)) return true;
  if (hasEndedRefund(order, link.order)) return false;
  const more_refunded = refundedMinor(order, rules.exponent) - refundedMinor(link.order, rules.exponent);
  if (row.final && row.rank !== before.rank) return row.rank > before.rank;
  if (row.final && more_refunded !== 0) return more_refunded > 0;
  if (version !== null && link.order_version !== null && version !== link.order_version) {
    return version > link.order_version;
  }
  return row.rank > before.rank;
}

/** Whether a refund that is `processing` in one reading has ended in the other. */
export function hasEndedRefund(earlier: Order, later: Order): boolean {
  const processing = nodesOf(earlier).filter(({ id, status }) => id !== undefined && status === 'processing');
  return nodesOf(later).some((node) => node.status !== 'processing' && processing.some(({ id }) => id === node.id));
}

/**
 * Whether a later reading shows a refund that the earlier one does not have, such as one made in the vendor's panel. The
 * end of a refund raises no amount: it counts from when it was accepted.
 */
export function hasNewRefund(earlier: Order, later: Order, exponent: number): boolean {
  const is_whole = later.status === 'refunded' && earlier.status !== 'refunded';
  return is_whole || refundedMinor(later, exponent) > refundedMinor(earlier, exponent);
}

/** True when a held order is held no longer: its grace has passed, or a new sale needs its terminal. */
function settlesHeld(link: Link, order: Order, row: StateRow, expires_at: number, rules: AdvanceRules): boolean {
  if (!row.held || hasEnded(link)) return false;
  if (link.order?.status === order.status) return holdIsOver(order, expires_at, rules);
  // An older reading of an order that has moved on does not count, except long after the order's end: no later date
  // will come, and an earlier reading that was dated ahead must not hold the terminal for ever.
  return !rules.released && rules.now >= expires_at + rules.action_required_grace_ms;
}

function visibleState(link: Link, order: Order, row: StateRow, expires_at: number, rules: AdvanceRules): LegacyState {
  const shows = row.shows as LegacyState; // proved by `check`
  if (link.family !== 'point') return shows;
  if (row.held && holdIsOver(order, expires_at, rules)) return 'CONFIRMATION_REQUIRED';
  // FINISHED without a payment breaks tills that read `payment.id` (`docs/field-notes.md` Point §2, failed).
  if (order.status === 'failed' && shows === 'FINISHED' && paymentId(order) === null) return 'ERROR';
  return shows;
}

function holdIsOver(order: Order, expires_at: number, rules: AdvanceRules): boolean {
  return rules.released || rules.now >= heldUntil(order, expires_at, rules.action_required_grace_ms);
}

/**
 * Until when an order that waits for a person is shown as not final, epoch ms: a grace, so that the till is notified
 * before its cashier starts the next sale. Upstream's clock may be ahead, so the order's end bounds the beginning.
 */
export function heldUntil(order: Order, expires_at: number, grace_ms: number): number {
  const since = comparableInstant(order.last_updated_date);
  return (since === null ? expires_at : Math.min(instantMs(since), expires_at)) + grace_ms;
}

function expiry(link: Link, order: Order, rules: AdvanceRules): number {
  const created = comparableInstant(order.created_date);
  const created_at = created === null ? link.created_at : instantMs(created);
  return created_at + (durationMs(order.expiration_time, created_at) ?? rules.default_lifetime_ms);
}

function stateInstant(version: string | null, now: number): number {
  return version === null ? now : Math.min(instantMs(version), now);
}

/** The number of the processed payment: `reference_id`, not `id` (`docs/field-notes.md` Point §1.4). */
function paymentId(order: Order): string | null {
  const reference = order.transactions?.payments?.[0]?.reference_id;
  return reference !== undefined && /^\d+$/.test(reference) ? reference : null;
}

// Notices: which a change of a link causes, and what they contain.

type NumberedTopic = Exclude<NoticeTopic, 'point'>;

/** The notices due when a link becomes `next`. */
function announcements(
  link: Link,
  next: Link,
  order: Order,
  row: StateRow,
  tables: Tables,
  rules: AdvanceRules,
): News[] {
  const numbered = isNews(link, next, rules.exponent)
    ? topicsOf(link, next, row).flatMap((topic) => feedNotice(topic, link, next, rules.now))
    : [];
  if (next.family === 'qr') return numbered;
  const changed = next.legacy_state !== link.legacy_state;
  const announced = next.legacy_state === 'CONFIRMATION_REQUIRED' || row.notices.includes('point');
  return changed && announced ? [intentNotice(next, order, tables, rules), ...numbered] : numbered;
}

/** Topics with a number: payments, and the merchant orders of QR sales. */
function topicsOf(link: Link, next: Link, row: StateRow): NumberedTopic[] {
  // A payment that the sale does not show causes no notice: an intent that shows ERROR has none.
  const isShown = (topic: NoticeTopic): topic is NumberedTopic =>
    topic === 'merchant_order' || (topic === 'payment' && isPaid(next));
  const topics = row.notices.filter(isShown);
  // Paid and refunded between two reads: the merchant order was closed in between, and receivers wait for that notice.
  const closed = next.family === 'qr' && isPaid(next) && !isPaid(link) && !topics.includes('merchant_order');
  return closed ? [...topics, 'merchant_order'] : topics;
}

/** True for a first reading, a changed state or status (a refunded intent stays FINISHED), and a further refund. */
function isNews(link: Link, next: Link, exponent: number): boolean {
  if (link.order === null || next.legacy_state !== link.legacy_state) return true;
  if (link.order.status !== next.order?.status) return true;
  return refundedMinor(link.order, exponent) !== refundedMinor(next.order, exponent);
}

/** Refunded amount of an order's payment, minor units; 0 where it has none. */
function refundedMinor(order: Order | null, exponent: number): number {
  return minorUnits(order?.transactions?.payments?.[0]?.refunded_amount, exponent) ?? 0;
}

/** The body of a Point notice for a link in its current state, in the order of `docs/field-notes.md` Point §3.1. */
function intentNotice(link: Link, order: Order, tables: Tables, rules: AdvanceRules): News {
  const { value } = tables.notice(order, {
    intent_id: link.legacy_id,
    state: link.legacy_state,
    amount_minor: link.amount_minor,
    exponent: rules.exponent,
    caller_id: Number(link.merchant_id),
    created_at: link.created_at,
    held: link.held,
    payment_state: order.status === 'failed' ? 'rejected' : 'approved',
  });
  return { ...common(link, 'point', rules.now), subject: link.legacy_id, body: stringifyJson(value.body) };
}

/** The notice of the end of a merchant order whose order upstream no longer finds. */
export function endOfMerchantOrder(link: Link, next: Link, now: number): News[] {
  return link.order === null ? [] : feedNotice('merchant_order', link, next, now);
}

/** Stores the facts of the webhook form; an IPN body is made at delivery (`docs/field-notes.md` QR §5.3). */
function feedNotice(topic: NumberedTopic, link: Link, next: Link, now: number): News[] {
  const subject = topic === 'payment' ? next.payment_id : next.merchant_order_id;
  if (subject === null) return [];
  const first = topic === 'payment' ? !isPaid(link) : link.order === null;
  const application_id = next.order?.integration_data?.application_id;
  const facts: FeedFacts = {
    first,
    // `check` proves that the states table of QR shows no other.
    ...(topic === 'merchant_order' ? { order_status: next.legacy_state as MerchantOrderState } : {}),
    ...(application_id === undefined ? {} : { application_id }),
  };
  return [{ ...common(next, topic, now), subject: String(subject), body: stringifyJson(facts) }];
}

function common(link: Link, topic: NoticeTopic, now: number): Omit<News, 'subject' | 'body'> {
  const { legacy_id, merchant_id } = link;
  return { legacy_id, merchant_id, topic, created_at: now, next_attempt_at: now };
}

export type RefundNode = NonNullable<NonNullable<Order['transactions']>['refunds']>[number];

export interface Sums {
  /** What the buyer paid, tip, discount and withdrawn cash included. */
  paid_minor: number;
  refunded_minor: number;
  /** With refunds that failed: never falls, so that a rise shows a refund. */
  ever_refunded_minor: number;
  sale_minor: number;
}

/**
 * With the cash that the buyer withdrew: its refunds name a transaction of their own, and a refund of all gives it back.
 * @param sale_minor the amount of the create; an order without a readable one has it too.
 */
export function sumsOf(order: Order | null, sale_minor: number, exponent: number): Sums {
  const payment = order?.transactions?.payments?.[0];
  const amount_minor = minorUnits(payment?.amount, exponent) ?? sale_minor;
  const cash_minor = cashOf(order, sale_minor, exponent);
  const isOwn = ({ transaction_id }: RefundNode): boolean =>
    payment === undefined || transaction_id === undefined || transaction_id === payment.id;
  const own = nodesOf(order).filter(isOwn);
  const of_cash = cash_minor === 0 ? [] : nodesOf(order).filter((node) => !isOwn(node));
  // A refund that failed has given its money back to the seller.
  const given = (nodes: readonly RefundNode[]): number =>
    sumOf(
      nodes.filter((node) => !hasFailed(node)),
      exponent,
    );
  const refunded_minor = Math.max(minorUnits(payment?.refunded_amount, exponent) ?? 0, given(own)) + given(of_cash);
  return {
    paid_minor: (minorUnits(payment?.paid_amount, exponent) ?? amount_minor) + cash_minor,
    refunded_minor,
    ever_refunded_minor: refunded_minor + sumOf([...own, ...of_cash].filter(hasFailed), exponent),
    sale_minor: amount_minor + cash_minor,
  };
}

/** Cash that the buyer withdrew, minor units: what the sale is more than its payment (QR). */
export function cashOf(order: Order | null, sale_minor: number, exponent: number): number {
  const amount_minor = minorUnits(order?.transactions?.payments?.[0]?.amount, exponent) ?? sale_minor;
  return Math.max(sale_minor - amount_minor, 0);
}

/** True for a refund that upstream says has failed: it moved no money. */
export function hasFailed({ status }: RefundNode): boolean {
  return status === 'failed';
}

/** Minor units. */
export function sumOf(nodes: readonly RefundNode[], exponent: number): number {
  return nodes.reduce((sum, node) => sum + (minorUnits(node.amount, exponent) ?? 0), 0);
}

/** Approved payments of the order, refunded ones too; null where it lists none and may be all cash (QR). */
export function approvalsOf({ order, family }: Pick<Link, 'order' | 'family'>): number | null {
  if (order === null || (family === 'qr' && !order.transactions?.payments?.length)) return null;
  return approvedOf(order).length;
}

/** The approved payments of an order, refunded ones too. */
export function approvedOf({ transactions }: Order) {
  return (transactions?.payments ?? []).filter(({ status }) => status === 'processed' || status === 'refunded');
}

/**
 * False of a sale that was paid without exactly one approved payment, not paid with any, or is open with several: while
 * it is open, its payment may be approved before its order is processed. @param approvals null where none can be counted.
 */
export function isApprovedOnce(approvals: number | null, sale: 'open' | 'paid' | 'not_paid'): boolean {
  if (approvals === null) return true;
  return sale === 'open' ? approvals <= 1 : approvals === Number(sale === 'paid');
}

/** What is wrong with a sale that was not approved exactly once; else null. */
export function approvalFault(link: Pick<Link, 'order' | 'family' | 'state'>): Spoken | null {
  const { order, state } = link;
  if (order === null) return null;
  const approvals = approvalsOf(link);
  const is_paid = state === 'DONE' && (order.status === 'processed' || order.status === 'refunded');
  const sale = state === 'LIVE' ? 'open' : is_paid ? 'paid' : 'not_paid';
  return isApprovedOnce(approvals, sale) ? null : say('mismatch.approvals', { order_status: order.status, approvals });
}

/** Refunds that an order lists; none for null. */
export function nodesOf(order: Order | null): readonly RefundNode[] {
  return order?.transactions?.refunds ?? [];
}
