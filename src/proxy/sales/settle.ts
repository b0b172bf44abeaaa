/** Changes to a link that lose no race: decide on the stored row, write under its revision, decide again when it moved. */

import type { Order } from '../../contract/orders.ts';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { AuditEntry } from '../audit.ts';
import { tickOf } from '../clock.ts';
import { inForms, type News, pointPaymentForms, qrForms } from '../notices/forms.ts';
import { targetOf } from '../notices/request.ts';
import type { Ports } from '../ports.ts';
import type { NewNotice } from '../records/notices.ts';
import type { Merchant } from '../routing/merchant.ts';
import type { LinkExtra } from '../store.ts';
import { contradictionIn, reportContradiction } from './contradiction.ts';
import { isPaid, type Link, type LinkChange } from './link.ts';
import { type AdvanceRules, advance, heldUntil } from './order-transition.ts';
import { LONGEST_UNSEEN_MS } from './unseen.ts';

export interface Decision extends LinkExtra {
  change: LinkChange;
}

/** Races on one link are rare, because work on it is serial; more than this many lost in a row is a defect. */
const MAX_RACES = 8;

/**
 * Applies `decide` to the link and commits what it says; `null` leaves the link as it is.
 * @returns the link as stored afterwards.
 * @throws PuenteError store_failed when the commit can't be proved.
 */
export async function changeLink(ports: Ports, link: Link, decide: (current: Link) => Decision | null): Promise<Link> {
  let current = link;
  for (let race = 0; race < MAX_RACES; race++) {
    const decision = decide(current);
    if (decision === null) return current;
    const { change: decided, ...extra } = decision;
    const change = { ...decided, updated_at: ports.clock.now() };
    try {
      const saved = await ports.store.links.saveLink(current, change, extra);
      if (extra.notices !== undefined && extra.notices.length > 0) {
        ports.memory.failpoint('notices.committed');
        ports.notices.waiting();
      }
      return saved;
    } catch (error) {
      if (!(error instanceof PuenteError) || error.code !== 'conflict') throw error;
      current = (await ports.store.links.link(link.legacy_id)) ?? current;
    }
  }
  throw new PuenteError(
    'store_failed',
    `the link ${link.legacy_id} changed ${MAX_RACES} times while it was being changed`,
  );
}

interface Applied {
  /** Rides along. */
  extra?: (current: Link) => Decision;
  /** Shows what is held as over. */
  released?: boolean;
  /** The link's, for who knows it; otherwise it is read. */
  merchant?: Merchant | undefined;
}

/**
 * Moves a link to what a freshly read order says, with its notices, in one transaction. An order that contradicts the sale
 * is reported instead, and the link stays as it is (`isContradicted`).
 * The state is committed before any notice can be sent (DESIGN decision 7).
 */
export async function applyOrder(
  ports: Ports,
  link: Link,
  order: Order,
  { extra = noExtra, released = false, merchant: known }: Applied = {},
): Promise<Link> {
  const merchant = known ?? (await ports.store.merchants.merchant(link.merchant_id));
  const rules = { ...advanceRules(ports, merchant), released };
  const contradiction = contradictionIn(link, order, rules.exponent);
  if (contradiction !== null) {
    await reportContradiction(ports, link, order.id, contradiction);
    return link;
  }
  ports.memory.sales.contradicted.delete(link.legacy_id);
  // However it was seen (event, read or replay), and whatever dies afterwards: the audit line is in the same commit.
  let settled = null as string | null; // set inside the decision, where the compiler doesn't look
  const applied = await changeLink(ports, link, (current) => {
    const step = advance(current, order, ports.tables, rules);
    for (const remark of step.remarks) remember(ports, remark, current, order);
    const more = extra({ ...current, ...step.change });
    const change: LinkChange = { ...step.change, ...more.change };
    const notices = [...told(ports, current, merchant, step.notices), ...(more.notices ?? [])];
    const next = { ...current, ...change };
    settled = settlementOf(current, next);
    const audit = settled === null ? more.audit : settlementLine(ports, next, settled);
    if (Object.keys(change).length === 0 && notices.length === 0 && audit === undefined) return null;
    return { change: { ...change, ...nextLook(ports, next) }, notices, ...(audit === undefined ? {} : { audit }) };
  });
  if (settled !== null) ports.count('settlements', settled.replaceAll(' ', '_'));
  ports.memory.failpoint('order.applied');
  return applied;
}

/** True while an order waits at the terminal for what only a person can see, and is not shown as final for that. */
export function isHeld(ports: Ports, link: Link): boolean {
  return link.state === 'LIVE' && link.order !== null && ports.tables.state(link.family, link.order, 'error').held;
}

/** Shows a held order as CONFIRMATION_REQUIRED now, as legacy did at once: the till wants the terminal for a new sale. */
export async function releaseHeld(ports: Ports, link: Link): Promise<Link> {
  return link.order === null ? link : applyOrder(ports, link, link.order, { released: true });
}

/** What became of an order nobody was told of, in audit words; null when nothing did (`reliability.md` §3.8). */
function settlementOf(before: Link, after: Link): string | null {
  if (!unclaimed(after) || before.legacy_state === after.legacy_state) return null;
  if (isPaid(after)) return isPaid(before) ? null : say('settled.paid', {}).text;
  return after.order?.status === 'canceled' && after.cancel !== null ? say('settled.canceled', {}).text : null;
}

/**
 * True for an order that is shown as CONFIRMATION_REQUIRED because its terminal was wanted, or its time seemed over, and may
 * yet be paid there.
 */
export function isReleased(ports: Ports, link: Link): boolean {
  if (link.state !== 'DONE' || link.legacy_state !== 'CONFIRMATION_REQUIRED' || link.order === null) return false;
  return ports.tables.state(link.family, link.order, 'error').held;
}

/** What may still be paid is looked at again soon, then ever less often; the end of its lifetime is never slept through. */
export function nextLook(ports: Ports, link: Link): { next_check_at: number | null } {
  const now = ports.clock.now();
  const { point_interval_ms, qr_interval_ms, max_interval_ms, action_required_grace_ms } = ports.settings.reconcile;
  const since_ms = link.state === 'LIVE' ? Math.max(0, now - link.created_at) : awaitedFor(ports, link);
  if (since_ms === null) return { next_check_at: null };
  const first_ms = link.family === 'qr' ? qr_interval_ms : point_interval_ms;
  // A QR may live for months, so its looks go on growing apart; not when it is over and can't be found.
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
 * For how long this process has looked at an order that is shown as CONFIRMATION_REQUIRED and may yet be paid, ms; null when
 * it has looked long enough. The wall clock alone doesn't say that: it may have been set forward (`reliability.md` F47).
 */
function awaitedFor(ports: Ports, link: Link): number | null {
  if (!isReleased(ports, link)) return null;
  const { clock, settings } = ports;
  const { awaited } = ports.memory.sales;
  const first_look = awaited.get(link.legacy_id);
  const for_ms = first_look === undefined ? 0 : tickOf(clock) - first_look;
  const isOver = clock.now() >= link.expires_at + settings.reconcile.action_required_grace_ms;
  return isOver && for_ms >= LONGEST_UNSEEN_MS ? null : for_ms;
}

/** True when no 2xx can have reached the client: the order is nobody's until a retry claims it (`reliability.md` §3.8). */
export function unclaimed(link: Link): boolean {
  return link.client_answer !== 'maybe';
}

/** When an unclaimed order is settled: the client's call is over by its deadline, and a retry had its time. */
export function settlementTime(ports: Ports, link: Link): number {
  const { deadline_ms, settle_after_ms } = ports.settings.create;
  return link.created_at + deadline_ms + settle_after_ms;
}

/** News in the forms that the receiver wants. */
export function told(ports: Ports, link: Link, merchant: Merchant | null, news: News[]): NewNotice[] {
  if (news.length === 0) return [];
  const { merchants, notices } = ports.settings;
  const { qr_notices, point_payment_notices, dialect } = merchant?.settings ?? {};
  const forms =
    link.family === 'qr'
      ? qrForms(targetOf(ports, link, merchant), qr_notices ?? merchants.qr_notices, notices.source_news_ipn)
      : pointPaymentForms(point_payment_notices ?? merchants.point_payment_notices, dialect ?? merchants.dialect);
  return inForms(news, forms);
}

/** What `advance` needs of settings and merchant, all but `released`. */
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

/** The audit line of what became of an order nobody was told of (`reliability.md` §3.8). */
export function settlementLine(ports: Ports, link: Link, what: string): AuditEntry {
  return {
    at: ports.clock.now(),
    who: 'puente',
    action: 'settle',
    subject: link.legacy_id,
    reason: what,
    detail: { merchant: link.merchant_id, unit: link.unit, order_id: link.order_id, state: link.state },
  };
}

function noExtra(): Decision {
  return { change: {} };
}
