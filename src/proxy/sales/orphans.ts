/** Orphans: orders that Puente caused and no link has, found by unmatched events (`docs/protocol.md` P3). */
import { durationMs } from '../../contract/duration.ts';
import { ORDER_ID } from '../../contract/identifiers.ts';
import type { Order } from '../../contract/orders.ts';
import type { Spoken } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import type { Tables } from '../../mapping/tables.ts';
import { minorUnits } from '../../mapping/values.ts';
import { noteId, type Ports } from '../ports.ts';
import type { InboxEvent } from '../records/notices.ts';
import type { RestoredGap } from '../records/upkeep.ts';
import { credentialOf } from '../routing/merchant-identity.ts';
import { type Link, type LinkState, slotOf } from './link.ts';
import { blankLink, derivedReference, legacyIdOf } from './new-link.ts';
import { type AdvanceRules, advance, approvalFault, hasNewRefund, rowOf } from './order-transition.ts';
import { readOrder } from './refresh.ts';
import { applyOrder, contradictionIn, mismatchKindOf } from './settle.ts';

/** States without an order id in which the order may exist all the same. */
const ADOPTABLE: readonly LinkState[] = ['LOST', 'REJECTED', 'NOT_SENT', 'IN_DOUBT'];

/** An order without its sale; `link` is the sale when it is stored all the same. */
export interface Orphan extends Mismatch {
  order: Order;
  link: Link | null;
}

/**
 * Reads the order of an event that matched no link. Puente caused the order if it has a reference that Puente derived,
 * which no other system can know; orders with any other reference are left alone.
 * @returns null when it is no orphan, `unread` when the order could not be read.
 */
export async function findOrphan(ports: Ports, event: InboxEvent): Promise<Orphan | 'unread' | null> {
  const { order_id, user_id } = event;
  if (order_id === null || user_id === null || !ORDER_ID.test(order_id)) return null;
  if ((await ports.store.links.linkByOrder(order_id)) !== null) return null;
  const token = await credentialOf(ports, user_id);
  if (token === null) return 'unread';
  const order = await readOrder(ports, token, order_id);
  if (order === null) return 'unread';
  if (order === 'missing' || order.external_reference === undefined) return null;
  const known = await ports.store.links.linkByReference(user_id, order.external_reference);
  const link = known ?? (await lostLink(ports, user_id, order));
  if (link === null || order.external_reference !== derivedReference(link.legacy_id)) return null;
  const message =
    known === null
      ? say('mismatch.restored', { order_status: order.status })
      : say('mismatch.orphan', { order_status: order.status, state: link.state });
  const in_the_way = await inTheWay(ports, link, order, message);
  return {
    kind: 'orphan',
    merchant_id: user_id,
    unit: link.unit,
    legacy_id: link.legacy_id,
    order_id,
    what: in_the_way ?? message,
    repair: in_the_way === null ? 'adopt' : 'none',
    amount_minor: link.amount_minor,
    order,
    link,
  };
}

/** The link of a sale that a restored backup lacks; null when another merchant has its id. */
async function lostLink(ports: Ports, merchant_id: string, order: Order): Promise<Link | null> {
  const legacy_id = lostInGap(order.external_reference, ports.store.upkeep.restoredGap());
  if (legacy_id === null || (await ports.store.links.link(legacy_id)) !== null) return null;
  return rebuiltLink(ports, merchant_id, legacy_id, order);
}

/** Why the link can't adopt the order; null when it can. */
async function inTheWay({ store, tables }: Ports, link: Link, order: Order, why: Spoken): Promise<Spoken | null> {
  if (link.order_id !== null || !ADOPTABLE.includes(link.state)) return say('mismatch.other_order', { why });
  if (link.slot === null || tables.state(link.family, order, 'error').final) return null;
  const holder = await store.links.liveLink(link.merchant_id, link.slot);
  if (holder === null || holder.legacy_id === link.legacy_id) return null;
  return say('mismatch.unit_taken', { why, holder: holder.legacy_id });
}

/** Gives an orphan its link again; if the till was answered an error, it is settled as unclaimed. */
export async function adopt(ports: Ports, { link, order, repair, what }: Orphan): Promise<boolean> {
  if (link === null || repair !== 'adopt') return false;
  const adopted = await ports.memory.mutex.run(link.legacy_id, async () => {
    const current = (await ports.store.links.link(link.legacy_id)) ?? (await written(ports, link));
    if (current === null || (await inTheWay(ports, current, order, what)) !== null) return false;
    return (await applyOrder(ports, current, order)).order_id === order.id;
  });
  if (!adopted) return false;
  noteId(ports, link.legacy_id);
  ports.count('settlements', 'adopted_by_reconciliation');
  return true;
}

/** Writes the row of a lost sale; null while legacy has a sale on its unit, or another row has its reference. */
async function written(ports: Ports, link: Link): Promise<Link | null> {
  const { opening, link: row } = await ports.store.links.openLink(link, () => ({ kind: 'open' }));
  return opening.kind === 'open' ? row : null;
}

/** Adopts the order of an event if a restore lost its sale: the till may read it before the next comparison. */
export async function adoptLost(ports: Ports, event: InboxEvent): Promise<boolean> {
  if (lostInGap(event.reference, ports.store.upkeep.restoredGap()) === null) return false;
  const orphan = await findOrphan(ports, event);
  if (orphan === null || orphan === 'unread' || !(await adopt(ports, orphan))) return false;
  const { merchant_id, legacy_id, unit, order_id, what } = orphan;
  await ports.store.audit.appendAudit({
    at: ports.clock.now(),
    who: 'puente',
    action: 'restored sale',
    subject: legacy_id ?? merchant_id,
    reason: encoded(what),
    detail: { merchant: merchant_id, unit, order_id },
  });
  return true;
}

// Sales that a restored backup lacks, recognised by the prefix of their reference (`test/faults/README.md` F60).

/** Legacy ids contain their creation time; the clocks of two machines differ by less. */
const MARGIN_MS = 60_000;

/**
 * The legacy id of a reference that Puente derived in the time that the restored file lacks; null for any other. Older
 * and younger sales are in the file, or were deleted from it on purpose.
 */
function lostInGap(reference: string | null | undefined, gap: RestoredGap | null): string | null {
  const legacy_id = gap === null || reference == null ? null : legacyIdOf(reference);
  if (gap === null || legacy_id === null) return null;
  const made_at = madeAt(legacy_id);
  return made_at >= gap.from - MARGIN_MS && made_at <= gap.until + MARGIN_MS ? legacy_id : null;
}

/** Epoch ms: a legacy id (UUID v7) begins with it. */
function madeAt(legacy_id: string): number {
  return Number.parseInt(legacy_id.replaceAll('-', '').slice(0, 12), 16);
}

/**
 * The link of a lost sale, from its order; the till's own fields are lost. Its answer counts as delivered, so
 * that it is never canceled: its till may have been answered 2xx. Null for an order without its unit or amount.
 */
async function rebuiltLink(ports: Ports, merchant_id: string, legacy_id: string, order: Order): Promise<Link | null> {
  const site = (await ports.store.merchants.merchant(merchant_id))?.site ?? null;
  const amount = order.total_amount ?? order.transactions?.payments?.[0]?.amount;
  const amount_minor = minorUnits(amount, ports.tables.site(site).exponent);
  const { point, qr } = order.config ?? {};
  const family = qr === undefined ? 'point' : 'qr';
  const unit = point?.terminal_id ?? qr?.external_pos_id;
  if (unit === undefined || amount_minor === undefined) return null;
  const now = ports.clock.now();
  return {
    ...blankLink(ports, now),
    tables_revision: ports.tables.of(merchant_id).revision,
    // Lists and sums are by the time of the sale, and lists of all merchants by that of its id.
    created_at: madeAt(legacy_id),
    legacy_id,
    merchant_id,
    family,
    unit,
    slot: qr?.mode === 'dynamic' ? null : slotOf(family, unit),
    client_key: null,
    fingerprint: 'restored',
    reference_sent: order.external_reference ?? '',
    client_reference: null,
    held: {},
    amount_minor,
    merchant_order_id: family === 'qr' ? ports.memory.ids.number(now) : null,
    sealed_notice_url: null,
    sealed_body: null,
    state: 'LOST',
    attempts: 1,
    first_sent_at: null,
    client_answer: 'maybe',
    legacy_state: family === 'qr' ? 'payment_required' : 'OPEN',
    acknowledged_at: now,
    expires_at: now + (durationMs(order.expiration_time, now) ?? ports.settings.create.default_lifetime_ms),
    next_check_at: null,
  };
}

// Does a link agree with its order? Pure: one comparison, one typed mismatch.

/**
 * `missing`: upstream does not know the order, or the outcome of a create is unknown. `stale`: the link is behind its
 * order. `orphan`: Puente caused the order, and no link has it. `amount`: the sums differ. `contradiction`: another
 * term of the sale differs. `state`: both are final, and they disagree. `approvals`: not one approval of a paid sale.
 */
export const mismatchKinds = ['missing', 'stale', 'orphan', 'amount', 'contradiction', 'state', 'approvals'] as const;
export type MismatchKind = (typeof mismatchKinds)[number];

/** `read`: move the link to its order. `give_up`: report it lost, free its unit. `adopt`: give the order its link. */
type Repair = 'read' | 'give_up' | 'adopt' | 'none';

/** A sale and an order that disagree, and the repair that is safe. */
export interface Mismatch {
  kind: MismatchKind;
  merchant_id: string;
  unit: string | null;
  legacy_id: string | null;
  order_id: string | null;
  /** One sentence with both sides. */
  what: Spoken;
  repair: Repair;
  /** Of an orphan, as its order says: its sale may be stored nowhere. */
  amount_minor?: number;
}

/** `missing`: upstream answered that it does not exist. `given_up`: and it no longer holds its unit (`isGivenUp`). */
export type Known = Order | 'missing' | 'given_up';

/** @returns null when both agree. */
export function judgeLink(link: Link, order: Known, tables: Tables, rules: AdvanceRules): Mismatch | null {
  if (order === 'missing' || order === 'given_up') return missing(link, order);
  const contradiction = contradictionIn(link, order, rules.exponent);
  if (contradiction !== null) {
    const kind = mismatchKindOf(contradiction);
    return { ...about(link), kind, what: contradiction.message, repair: 'none' };
  }
  const { change } = advance(link, order, tables, rules);
  // A refunded intent shows FINISHED as before; its payment and its receiver's notice do not.
  const is_refunded = change.order != null && link.order !== null && hasNewRefund(link.order, order, rules.exponent);
  if (is_refunded || changesState(link, change)) {
    const { state, legacy_state } = link;
    const order_status = (is_refunded ? order.status_detail : undefined) ?? order.status;
    const what = say('mismatch.stale', { state, legacy_state, order_status });
    return { ...about(link), kind: 'stale', what, repair: 'read' };
  }
  const row = rowOf(link, order, tables, rules);
  if (!disagrees(link, order, row)) {
    const fault = approvalFault({ ...link, order });
    return fault === null ? null : { ...about(link), kind: 'approvals', what: fault, repair: 'none' };
  }
  const { legacy_state } = link;
  const what = say('mismatch.state', { legacy_state, order_status: order.status, shows: row.shows });
  return { ...about(link), kind: 'state', what, repair: 'none' };
}

/** A create whose outcome is unknown after its repeat window; `lookAfter` gives it up after its lifetime. */
export function judgeUnknown(link: Link, now: number, replay_window_ms: number): Mismatch | null {
  const in_doubt = link.state === 'IN_DOUBT' || link.state === 'SENDING';
  if (!in_doubt || link.order_id !== null || now < link.created_at + replay_window_ms) return null;
  const what = say('mismatch.unresolved', {});
  return { ...about(link), kind: 'missing', what, repair: 'none' };
}

function missing(link: Link, order: 'missing' | 'given_up'): Mismatch | null {
  if (link.state === 'LOST') return null; // reported already
  return {
    ...about(link),
    kind: 'missing',
    what: say('mismatch.missing', { state: link.state }),
    repair: link.state === 'LIVE' && order === 'given_up' ? 'give_up' : 'none',
  };
}

function changesState(link: Link, change: { state?: Link['state']; legacy_state?: Link['legacy_state'] }): boolean {
  const { state = link.state, legacy_state = link.legacy_state } = change;
  return state !== link.state || legacy_state !== link.legacy_state;
}

/** A held order, or a merchant's own setting, is no disagreement; a paid order that shows as unpaid is. */
function disagrees(link: Link, order: Order, row: ReturnType<Tables['state']>): boolean {
  if (link.state !== 'DONE' || !row.known || !row.final || row.held) return false;
  return row.shows !== link.legacy_state && order.status !== link.order?.status;
}

function about(link: Link): Pick<Mismatch, 'merchant_id' | 'unit' | 'legacy_id' | 'order_id'> {
  return { merchant_id: link.merchant_id, unit: link.unit, legacy_id: link.legacy_id, order_id: link.order_id };
}
