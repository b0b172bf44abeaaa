/** Settles a sale: commits what an order changes about its link, and decides again when the row's revision moved. */
import type { Order } from '../../contract/orders.ts';
import { PuenteError, type Spoken } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import { minorUnits } from '../../mapping/values.ts';
import type { AuditEntry } from '../audit.ts';
import { tickOf } from '../clock.ts';
import { inForms, type News, pointPaymentForms, qrForms, targetOf } from '../notices/request.ts';
import type { Ports } from '../ports.ts';
import type { InboxEvent, NewNotice } from '../records/notices.ts';
import type { Merchant } from '../routing/merchant.ts';
import type { LinkExtra } from '../store.ts';
import { isPaid, type Link, type LinkChange } from './link.ts';
import { type AdvanceRules, advance, approvalFault, heldUntil, sumsOf } from './order-transition.ts';
import { LONGEST_UNSEEN_MS } from './unseen.ts';

/** A change of a link, with what is written in the same transaction. */
export interface Decision extends LinkExtra {
  change: LinkChange;
}

/** Work on one link is serialized, so lost races are rare; more in a row are a defect. */
const MAX_RACES = 8;

/** Commits what `decide` returns; null changes nothing. @throws PuenteError store_failed for a commit without proof. */
export async function changeLink(ports: Ports, link: Link, decide: (current: Link) => Decision | null): Promise<Link> {
  return (await commitChange(ports, link, decide)).link;
}

/** With the link as it was before; null when nothing was committed. */
async function commitChange(
  ports: Ports,
  link: Link,
  decide: (current: Link) => Decision | null,
): Promise<{ link: Link; before: Link | null }> {
  let current = link;
  for (let race = 0; race < MAX_RACES; race++) {
    const decision = decide(current);
    if (decision === null) return { link: current, before: null };
    const { change: decided, ...rest } = decision;
    const change = { ...decided, updated_at: ports.clock.now() };
    // In the commit of the sale: after a crash between the two, no equal read would write it.
    const fault = newFault(ports, current, { ...current, ...change });
    const extra = fault === null ? rest : { ...rest, audit: [rest.audit ?? [], fault].flat() };
    try {
      const saved = await ports.store.links.saveLink(current, change, extra);
      if (fault !== null) {
        ports.log.error('a sale was not approved exactly once', { legacy_id: fault.subject, ...fault.detail });
      }
      if (extra.notices !== undefined && extra.notices.length > 0) {
        ports.memory.failpoint('notices.committed');
        ports.memory.wakeups.notices.wake(link.merchant_id);
      }
      return { link: saved, before: current };
    } catch (error) {
      if (!(error instanceof PuenteError) || error.code !== 'conflict') throw error;
      current = (await ports.store.links.link(link.legacy_id)) ?? current;
    }
  }
  throw new PuenteError('store_failed', `the link ${link.legacy_id} changed ${MAX_RACES} times during one change`);
}

/** The audit line of a change after which a sale is not approved exactly once; null where it says nothing new. */
function newFault(ports: Ports, before: Link, after: Link): ReturnType<typeof mismatchLine> | null {
  const fault = approvalFault(after);
  if (after.order === null || fault === null || fault.text === approvalFault(before)?.text) return null;
  return mismatchLine(ports, after, after.order.id, 'approvals', fault);
}

interface Applied {
  /** Further changes for the same commit. */
  extra?: (current: Link) => Decision;
  /** Shows a held order as CONFIRMATION_REQUIRED now. */
  released?: boolean;
  /** Read from the store unless the caller has it. */
  merchant?: Merchant | undefined;
  /** The event for which the order was read: done in the same commit, if there is one. */
  event?: InboxEvent | undefined;
}

/**
 * Moves a link to the state of a freshly read order, with its notices, in one transaction: the state is committed
 * before a notice can be sent (`docs/architecture.md` Decision 7). A contradicting order is only reported.
 */
export async function applyOrder(ports: Ports, link: Link, order: Order, more: Applied = {}): Promise<Link> {
  return (await commitOrder(ports, link, order, more)).link;
}

/** The same; `is_committed` when the order has changed the link. */
export async function commitOrder(
  ports: Ports,
  link: Link,
  order: Order,
  { extra = noExtra, released = false, merchant: known, event }: Applied = {},
): Promise<{ link: Link; is_committed: boolean }> {
  const merchant = known ?? (await ports.store.merchants.merchant(link.merchant_id));
  const rules = { ...advanceRules(ports, merchant), released };
  const contradiction = contradictionIn(link, order, rules.exponent);
  if (contradiction !== null) {
    await reportContradiction(ports, link, order.id, contradiction);
    return { link, is_committed: false };
  }
  ports.memory.sales.contradicted.delete(link.legacy_id);
  const { link: applied, before } = await commitChange(ports, link, (current) => {
    const step = advance(current, order, ports.tables.of(link.merchant_id), rules);
    for (const remark of step.remarks) remember(ports, remark, current, order);
    const more = extra({ ...current, ...step.change });
    const change: LinkChange = { ...step.change, ...more.change };
    const notices = [...noticesFor(ports, current, merchant, step.notices), ...(more.notices ?? [])];
    const next = { ...current, ...change };
    // A settlement's audit line is in the same commit, after an event, a read or a repeat alike.
    const settled = settlementOf(current, next);
    const audit = settled === null ? more.audit : settlementLine(ports, next, say(`settled.${settled}`, {}));
    if (Object.keys(change).length === 0 && notices.length === 0 && audit === undefined) return null;
    // A sale that had ended is looked at for its refunds alone, which end after it (`lookAfterRefunds`).
    const look_at = nextLook(ports, next).next_check_at ?? (current.state === 'DONE' ? current.next_check_at : null);
    return {
      change: { ...change, next_check_at: look_at },
      notices,
      ...(audit === undefined ? {} : { audit }),
      ...(event === undefined ? {} : { event }),
    };
  });
  const settled = before === null ? null : settlementOf(before, applied);
  if (settled !== null) ports.count('settlements', settlements[settled]);
  ports.memory.failpoint('order.applied');
  return { link: applied, is_committed: before !== null };
}

/** True while an order waits for a person at its terminal, and is therefore shown as not final. */
export function isHeld(ports: Ports, link: Link): boolean {
  return link.state === 'LIVE' && link.order !== null && ports.tables.state(link.family, link.order, 'error').held;
}

/** Shows a held order as CONFIRMATION_REQUIRED now, as legacy did at once: a new sale needs the terminal. */
export async function releaseHeld(ports: Ports, link: Link): Promise<Link> {
  return link.order === null ? link : applyOrder(ports, link, link.order, { released: true });
}

/** What became of unclaimed orders, as labels of the counter `settlements`. */
export const settlements = {
  paid: 'paid_but_unacknowledged',
  canceled: 'unacknowledged_order_canceled',
  not_canceled: 'unacknowledged_order_not_canceled_yet',
  adopted: 'unacknowledged_order_adopted',
} as const;
type Settlement = keyof typeof settlements;

/** How a change settled an unclaimed order; null when it did not (`docs/protocol.md` §3.8). */
function settlementOf(before: Link, after: Link): Settlement | null {
  if (!unclaimed(after) || before.legacy_state === after.legacy_state) return null;
  if (isPaid(after)) return isPaid(before) ? null : 'paid';
  return after.order?.status === 'canceled' && after.cancel !== null ? 'canceled' : null;
}

/** True for a held order that is shown as CONFIRMATION_REQUIRED by now, and may still be paid at its terminal. */
export function isReleased(ports: Ports, link: Link): boolean {
  if (link.state !== 'DONE' || link.legacy_state !== 'CONFIRMATION_REQUIRED' || link.order === null) return false;
  return ports.tables.state(link.family, link.order, 'error').held;
}

/** When a payable sale is read next: soon, then at growing intervals, and always at the end of its lifetime. */
export function nextLook(ports: Ports, link: Link): { next_check_at: number | null } {
  const now = ports.clock.now();
  const { point_interval_ms, qr_interval_ms, max_interval_ms, action_required_grace_ms } = ports.settings.reconcile;
  const since_ms = link.state === 'LIVE' ? Math.max(0, now - link.created_at) : awaitedFor(ports, link);
  if (since_ms === null) return { next_check_at: null };
  const first_ms = link.family === 'qr' ? qr_interval_ms : point_interval_ms;
  // A QR may be payable for months, so its intervals grow; not once it has expired and upstream does not find it.
  const grows = link.family === 'qr' && !(now > link.expires_at && isUnfound(ports, link));
  const longest_ms = grows ? Math.max(max_interval_ms, since_ms / 10) : max_interval_ms;
  const wait_ms = Math.round(Math.min(Math.max(first_ms, since_ms / 4), longest_ms));
  const ends = [link.expires_at + 1_000, link.expires_at + action_required_grace_ms];
  if (unclaimed(link)) ends.push(settlementTime(ports, link));
  if (link.order !== null && isHeld(ports, link))
    ends.push(heldUntil(link.order, link.expires_at, action_required_grace_ms));
  return { next_check_at: Math.min(now + wait_ms, ...ends.filter((end) => end > now)) };
}

function isUnfound({ memory }: Ports, { order_id }: Link): boolean {
  return order_id !== null && memory.sales.unfound.get(order_id) !== undefined;
}

/**
 * How long this process has watched a released order (`isReleased`), ms; null for any other, and when that is long
 * enough. Not by the wall clock alone, which may have been set forward (`test/faults/README.md` F47).
 */
function awaitedFor(ports: Ports, link: Link): number | null {
  if (!isReleased(ports, link)) return null;
  const { clock, settings } = ports;
  const { awaited } = ports.memory.sales;
  const first_look = awaited.get(link.legacy_id);
  const for_ms = first_look === undefined ? 0 : tickOf(clock) - first_look;
  const isExpired = clock.now() >= link.expires_at + settings.reconcile.action_required_grace_ms;
  return isExpired && for_ms >= LONGEST_UNSEEN_MS ? null : for_ms;
}

/** True while no 2xx can have reached the till and no retry has claimed the order (`docs/protocol.md` §3.8). */
export function unclaimed(link: Link): boolean {
  return link.client_answer !== 'maybe';
}

/** When an unclaimed order is settled, epoch ms: after the call's deadline and the time for a retry. */
export function settlementTime(ports: Ports, link: Link): number {
  const { deadline_ms, settle_after_ms } = ports.settings.create;
  return link.created_at + deadline_ms + settle_after_ms;
}

/** The notices of a sale's news, each in every form in which its receiver gets it; none without news. */
export function noticesFor(ports: Ports, link: Link, merchant: Merchant | null, news: News[]): NewNotice[] {
  if (news.length === 0) return [];
  const { merchants, notices } = ports.settings;
  const { qr_notices, point_payment_notices, dialect } = merchant?.settings ?? {};
  const forms =
    link.family === 'qr'
      ? qrForms(targetOf(ports, link, merchant), qr_notices ?? merchants.qr_notices, notices.source_news_ipn)
      : pointPaymentForms(point_payment_notices ?? merchants.point_payment_notices, dialect ?? merchants.dialect);
  return inForms(news, forms);
}

/** How orders of this merchant show, by its settings, else by the defaults. @param merchant null while unknown. */
export function advanceRules(ports: Ports, merchant: Merchant | null): Omit<AdvanceRules, 'released'> {
  return {
    now: ports.clock.now(),
    declined: merchant?.settings.declined ?? ports.settings.merchants.declined,
    action_required_grace_ms: ports.settings.reconcile.action_required_grace_ms,
    default_lifetime_ms: ports.settings.create.default_lifetime_ms,
    exponent: ports.tables.site(merchant?.site ?? null).exponent,
  };
}

function remember(
  ports: Ports,
  remark: 'unknown_states' | 'stale_versions' | 'late_approvals',
  link: Link,
  order: Order,
): void {
  ports.count(remark);
  ports.log.warn(`order: ${remark.replace('_', ' ')}`, {
    legacy_id: link.legacy_id,
    order_id: order.id,
    code: order.status,
  });
}

/** The audit line for the outcome of an unclaimed order (`docs/protocol.md` §3.8). */
export function settlementLine(ports: Ports, link: Link, why: Spoken): AuditEntry {
  return {
    at: ports.clock.now(),
    who: 'puente',
    action: 'settle',
    subject: link.legacy_id,
    reason: encoded(why),
    detail: { merchant: link.merchant_id, unit: link.unit, order_id: link.order_id, state: link.state },
  };
}

function noExtra(): Decision {
  return { change: {} };
}

// Upstream answers that contradict their sale: never believed, and reported to operators.

/** A closed set, because it labels a counter. */
export const contradictions = ['merchant', 'reference', 'type', 'unit', 'amount', 'paid', 'refund'] as const;

/** A term of a sale that an order of upstream does not repeat. */
export interface Contradiction {
  what: (typeof contradictions)[number];
  /** One sentence for operators. */
  message: Spoken;
}

/** The terms of a sale that its order must repeat. */
export type SaleTerms = Pick<Link, 'merchant_id' | 'family' | 'unit' | 'reference_sent' | 'amount_minor'>;

/**
 * The first term in which an order contradicts the sale; null without one. A field that the order lacks contradicts
 * nothing. A tip, a cash withdrawal or installment costs make `paid_amount` larger than the sale. A discount, which the
 * order then names, makes it smaller (`docs/field-notes.md` Spec Order: `paid_amount` and `discounts.type`;
 * `docs/field-notes.md` Orders §3.2). A smaller amount without a discount or a refund is a contradiction.
 * @param exponent decimals of the merchant's currency.
 */
export function contradictionIn(sale: SaleTerms, order: Order, exponent: number): Contradiction | null {
  const { user_id, external_reference, type, config, total_amount } = order;
  if (user_id !== undefined && user_id !== sale.merchant_id) return found('merchant');
  if (external_reference !== undefined && external_reference !== sale.reference_sent) return found('reference');
  if (type !== undefined && type !== sale.family) return found('type');
  const unit = sale.family === 'point' ? config?.point?.terminal_id : config?.qr?.external_pos_id;
  if (unit !== undefined && unit !== sale.unit) return found('unit');
  const payment = order.transactions?.payments?.[0];
  const order_minor = minorUnits(total_amount ?? payment?.amount, exponent);
  const part_minor = minorUnits(payment?.amount, exponent);
  const { amount_minor: link_minor } = sale;
  if (order_minor !== undefined && order_minor !== link_minor) return amountDiffers(link_minor, order_minor);
  // With a cash withdrawal the payment is a part of the total.
  if (part_minor !== undefined && part_minor > link_minor) return amountDiffers(link_minor, part_minor);
  const { paid_minor, refunded_minor, sale_minor } = sumsOf(order, link_minor, exponent);
  if (payment?.discounts !== undefined || paid_minor + refunded_minor >= sale_minor) return null;
  return { what: 'paid', message: say('contradiction.paid', { sale_minor, paid_minor }) };
}

/** The same for a payment of the payments API, without amounts: how tips and coupons change them is not documented. */
export function paymentContradictionIn(
  sale: SaleTerms & Pick<Link, 'client_reference'>,
  { collector_id, external_reference }: Readonly<Record<string, unknown>>,
): Contradiction | null {
  if (collector_id !== undefined && String(collector_id) !== sale.merchant_id) return found('merchant');
  const isNamed = typeof external_reference === 'string' && external_reference !== '';
  const isOther = external_reference !== sale.reference_sent && external_reference !== sale.client_reference;
  return isNamed && isOther ? found('reference') : null;
}

/**
 * Reports a contradiction in a counter, the log and the audit chain, once for as long as upstream repeats it.
 * @param key of the contradiction in memory; of a payment or refund, another than its sale's.
 * @throws PuenteError store_failed.
 */
export async function reportContradiction(
  ports: Ports,
  link: Link,
  order_id: string,
  { what, message }: Contradiction,
  key: string = link.legacy_id,
): Promise<void> {
  const { clock } = ports;
  const { contradicted } = ports.memory.sales;
  const tick_ms = tickOf(clock);
  const known = contradicted.get(key);
  contradicted.set(key, { what, since_ms: known?.since_ms ?? tick_ms, last_ms: tick_ms });
  if (known?.what === what) return;
  ports.count('contradictions', what);
  ports.log.error('an answer contradicts its sale, and is ignored', { ...namesOf(link, order_id), cause: what });
  try {
    await ports.store.audit.appendAudit(mismatchLine(ports, link, order_id, mismatchKindOf({ what }), message));
  } catch (error) {
    contradicted.delete(key); // the next read writes it
    throw error;
  }
}

function namesOf({ legacy_id, merchant_id: merchant, unit }: Link, order_id: string) {
  return { legacy_id, order_id, merchant, unit };
}

function mismatchLine(
  { clock }: Ports,
  link: Link,
  order_id: string,
  kind: 'amount' | 'contradiction' | 'approvals',
  message: Spoken,
) {
  const { legacy_id: subject, ...detail } = namesOf(link, order_id);
  const action = `mismatch ${kind}` as const;
  return { at: clock.now(), who: 'puente', action, subject, reason: encoded(message), detail } satisfies AuditEntry;
}

/** The kind of mismatch under which it is stored and compared. */
export function mismatchKindOf({ what }: Pick<Contradiction, 'what'>): 'amount' | 'contradiction' {
  return what === 'amount' ? 'amount' : 'contradiction';
}

/** True while upstream's last answer about the sale contradicts it. */
export function isContradicted({ memory }: Ports, { legacy_id }: Pick<Link, 'legacy_id'>): boolean {
  return memory.sales.contradicted.get(legacy_id) !== undefined;
}

function found(what: 'merchant' | 'reference' | 'type' | 'unit'): Contradiction {
  return { what, message: say(`contradiction.${what}`, {}) };
}

function amountDiffers(link_minor: number, order_minor: number): Contradiction {
  return { what: 'amount', message: say('mismatch.amount', { link_minor, order_minor }) };
}
