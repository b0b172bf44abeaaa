/** Refunds: new, repeated or conflicting; what an outcome means; and how doubt ends (`docs/protocol.md` §3.9). */
import { type Order, refundedOrder } from '../../contract/orders.ts';
import { payment } from '../../contract/payments.ts';
import { minorUnits } from '../../mapping/values.ts';
import { tickOf } from '../clock.ts';
import { isSyntheticPayment } from '../ids.ts';
import type { Ports } from '../ports.ts';
import type { Refund, RefundChange } from '../records/refunds.ts';
import { LATE_EFFECT_MS } from '../records/routing.ts';
import { credentialOf, distrust } from '../routing/merchant-identity.ts';
import type { Link } from '../sales/link.ts';
import { cashOf, hasFailed, nodesOf, type RefundNode, type Sums, sumOf, sumsOf } from '../sales/order-transition.ts';
import { readOrder } from '../sales/refresh.ts';
import { applyOrder, changeLink, paymentContradictionIn } from '../sales/settle.ts';
import { errorCode, isNotReady, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import { asPaymentShows, isOf, isShown, namesOf, withMade } from './made-refunds.ts';
import { sendPaymentRead } from './owner.ts';

/** What a requested refund is, beside the earlier ones of its payment. */
export type Recognised =
  | { kind: 'new' }
  /** Requested before: answered again when done, else sent again with its own key. */
  | { kind: 'same'; refund: Refund }
  /** The client's key belongs to another request. */
  | { kind: 'key_reused'; refund: Refund }
  /** Another refund of the payment has no outcome yet, or was never answered. */
  | { kind: 'in_progress'; refund: Refund };

/** An unanswered refund may be repeated for this long; a later equal request is a new refund. */
const UNANSWERED_FOR_MS = 15 * 60_000;
/** Clocks of processes and of their database differ by less (`docs/protocol.md` §3.9). */
const CLOCKS_AGREE_MS = 1_000;
/** A client's key identifies its refund for this long, like upstream's own keys (`docs/protocol.md` §3.1). */
const KEY_MEMORY_MS = 24 * 60 * 60_000;

/**
 * Two equal partial refunds are two, unless they have the same client key, or the till may not know the first: it was
 * not answered, or so recently that the answer may have been lost.
 * @param earlier refunds of the same payment, oldest first.
 * @param settled_id a refund whose outcome was found during this call, and was never answered.
 * @param call its arrival and the moment of this decision, epoch ms: what its till came to know while the call waited
 *   does not count, because it was sent before. `join_window_ms`: how long an answered refund may be repeated without a key.
 *   `isAlike`: an earlier refund is of the amount that this one requests.
 */
export function recognise(
  earlier: readonly Refund[],
  requested: Pick<Refund, 'client_key'>,
  settled_id: string | null,
  call: { arrived_at: number; decided_at: number; join_window_ms: number; isAlike: (refund: Refund) => boolean },
  ageOf: (refund: Refund) => number,
): Recognised {
  const held = earlier.filter((one) => one.state === 'DONE' || isOpen(one));
  const { client_key } = requested;
  const { isAlike } = call;
  if (client_key !== null) {
    const known = held.findLast((one) => one.client_key === client_key && (isOpen(one) || ageOf(one) < KEY_MEMORY_MS));
    if (known !== undefined) return { kind: isAlike(known) ? 'same' : 'key_reused', refund: known };
  }
  const isKnown = ({ known_at }: Refund): boolean =>
    known_at !== null && (known_at <= call.arrived_at || known_at > call.decided_at + CLOCKS_AGREE_MS); // a clock was set back
  const isUnanswered = (one: Refund): boolean =>
    one.answered_at === null && !isKnown(one) && ageOf(one) < UNANSWERED_FOR_MS;
  const mayBeRepeated = (one: Refund): boolean => {
    if (one.answered_at === null || isKnown(one) || one.client_key !== null) return false;
    return ageOf(one) - (one.answered_at - one.created_at) < call.join_window_ms;
  };
  const repeatable =
    held.find((one) => isOpen(one)) ??
    held.filter((one) => isAlike(one) && (one.id === settled_id || isUnanswered(one))).toSorted(keylessFirst)[0] ??
    (client_key === null ? held.findLast((one) => isAlike(one) && mayBeRepeated(one)) : undefined);
  // A new key means a new refund, unless one is in progress.
  if (repeatable === undefined || (client_key !== null && !isOpen(repeatable))) return { kind: 'new' };
  // A till without keys repeats a request without one. If the first had a key, sending another may refund twice and
  // answering the first may hide a new request: both are refused, and the till can repeat the first with its key.
  const isRepeated = isAlike(repeatable) && client_key === null && repeatable.client_key === null;
  return { kind: isRepeated ? 'same' : 'in_progress', refund: repeatable };
}

function keylessFirst(one: Refund, other: Refund): number {
  return Number(one.client_key !== null) - Number(other.client_key !== null);
}

/** Without an outcome: no other refund of the payment may be sent. */
export function isOpen(refund: Refund): boolean {
  return refund.state === 'SENDING' || refund.state === 'IN_DOUBT';
}

/** What upstream answered about a refund that it made. */
export type RefundFacts = Required<
  Pick<RefundChange, 'upstream_id' | 'reference_id' | 'refunded_minor' | 'upstream_status'>
>;

type RefundVerdict =
  | { kind: 'made'; facts: RefundFacts }
  /** Refused for sure: nothing was refunded. */
  | { kind: 'refused' }
  /** A rate limit, upstream not ready yet, or proof that no byte was sent. */
  | { kind: 'not_executed' }
  /** The order decides, also after a refusal of a repeat: an earlier try may have worked. `other`: of another refund. */
  | { kind: 'unknown'; other?: true };

interface RequestedRefund {
  /** Minor units; null: all that is left. */
  amount_minor: number | null;
  /** The payment of the order; undefined where the order names none. */
  transaction_id: string | undefined;
  /** The buyer also withdrew cash, which is a transaction of its own. */
  has_cash: boolean;
}

/** An answer about another amount or payment is no proof. @param repeated an earlier try may have reached upstream. */
export function judgeRefund(
  outcome: UpstreamOutcome,
  order_id: string,
  requested: RequestedRefund,
  exponent: number,
  repeated: boolean,
): RefundVerdict {
  const unknown = { kind: 'unknown' } as const;
  if (outcome.kind === 'not_sent') return repeated ? unknown : { kind: 'not_executed' };
  if (outcome.kind === 'broken') return unknown;
  const { status, body } = outcome;
  if (status === 200 || status === 201) {
    const parsed = refundedOrder.safeParse(body);
    if (!parsed.success || parsed.data.id !== order_id) return unknown;
    const { refunds } = parsed.data.transactions;
    // Of cash and payment, all that is left may be either, or both.
    const nodes = requested.amount_minor === null && requested.has_cash ? refunds : refunds.slice(0, 1);
    if (nodes.every((node) => isOther(node, requested, exponent))) return { ...unknown, other: true };
    return { kind: 'made', facts: factsOfAll(nodes, exponent) };
  }
  if (status === 429 || isNotReady(outcome)) return repeated ? unknown : { kind: 'not_executed' };
  if (status < 400 || status === 408 || status >= 500) return unknown;
  if (errorCode(body) === 'idempotency_key_already_used') return unknown;
  // A repeat is refused as well because an earlier try works now, or has worked.
  return repeated ? unknown : { kind: 'refused' };
}

function isOther(node: RefundNode, requested: RequestedRefund, exponent: number): boolean {
  const { amount_minor, transaction_id, has_cash } = requested;
  const reported_minor = minorUnits(node.amount, exponent);
  if (amount_minor !== null && reported_minor !== undefined && reported_minor !== amount_minor) return true;
  if (amount_minor === null && has_cash) return false;
  return node.transaction_id !== undefined && transaction_id !== undefined && node.transaction_id !== transaction_id;
}

/** Orders refund all that is left only as a whole. After a discount the till's amount is more than was paid. */
export function isEverything(
  requested_minor: number,
  { paid_minor, refunded_minor, sale_minor }: Omit<Sums, 'ever_refunded_minor'>,
): boolean {
  const discounted = paid_minor < sale_minor;
  return (
    requested_minor === paid_minor - refunded_minor || (discounted && requested_minor === sale_minor - refunded_minor)
  );
}

/**
 * Facts of a refund in doubt; null when the fresh order does not show it.
 * @param claimed ids and numbers of the other refunds. @param sale_minor the amount of the create.
 */
export function findRefund(
  order: Order,
  refund: Refund,
  claimed: readonly string[],
  sale_minor: number,
  exponent: number,
): RefundFacts | null {
  const isClaimed = ({ id, reference_id }: RefundNode): boolean =>
    [id, reference_id].some((one) => one !== undefined && claimed.includes(one));
  // A lagging read may have missed them when this refund was requested; they were made before it.
  const others_minor = sumOf(nodesOf(order).filter(isClaimed), exponent);
  const before_minor = Math.max(refund.refunded_before_minor, others_minor);
  const { paid_minor, ever_refunded_minor } = sumsOf(order, sale_minor, exponent);
  const risen_minor = ever_refunded_minor - before_minor;
  if (risen_minor <= 0) return null;
  const { amount_minor } = refund;
  // When another refund has failed since all that was left was refunded, the order is paid again (LIM-42).
  if (amount_minor === null && order.status !== 'refunded' && ever_refunded_minor < paid_minor) return null;
  if (amount_minor !== null && risen_minor < amount_minor) return null;
  const free = nodesOf(order).filter((node) => !isClaimed(node));
  const equal = free.filter((one) => amount_minor === null || minorUnits(one.amount, exponent) === amount_minor);
  const given = equal.filter((one) => !hasFailed(one));
  const node = given.at(-1);
  if (node !== undefined) {
    const is_whole = amount_minor === null && cashOf(order, sale_minor, exponent) > 0;
    return factsOfAll(is_whole ? lastOfEach(given) : [node], exponent);
  }
  if (equal.length > 0) return null;
  // A sum that rose by another amount belongs to another refund.
  if (amount_minor === null ? order.status !== 'refunded' : risen_minor !== amount_minor) return null;
  return { upstream_id: null, reference_id: null, refunded_minor: risen_minor, upstream_status: 'processed' };
}

/** The last refund of the payment, and the last one of the cash. */
function lastOfEach(nodes: readonly RefundNode[]): RefundNode[] {
  return [...new Map(nodes.map((node) => [node.transaction_id, node])).values()];
}

/** One refund as a till sees it, whose nodes give back a payment and its cash: their sum, with the ids of the first. */
function factsOfAll(nodes: readonly RefundNode[], exponent: number): RefundFacts {
  const given = nodes.filter((node) => !hasFailed(node));
  const [first = {}, ...others] = given.length > 0 ? given : nodes;
  const facts = factsOf(first, exponent);
  if (others.length === 0) return facts;
  return { ...facts, refunded_minor: (facts.refunded_minor ?? 0) + sumOf(others, exponent) };
}

/** What an order says of one of its refunds. @param exponent decimals of the payment's currency. */
export function factsOf(node: RefundNode, exponent: number): RefundFacts {
  return {
    upstream_id: node.id ?? null,
    reference_id: node.reference_id ?? null,
    refunded_minor: minorUnits(node.amount, exponent) ?? null,
    upstream_status: node.status ?? null,
  };
}

interface Look {
  link: Link;
  /** As it was read now; `missing` when upstream does not know it, null when it could not be read. */
  order: Order | 'missing' | null;
  /** The refund whose outcome this read found. */
  settled: Refund | null;
}

/** How an order is read for its refunds. */
export interface LookPlan {
  token: Secret;
  /** Decimals of the payment's currency. */
  exponent: number;
  /** Epoch ms by which the caller must answer. */
  deadline: number;
}

/**
 * Reads the order, applies it to the link, and settles a refund in doubt that the order shows, or never showed. Where
 * upstream does not know the order, its payment decides, and the link shows what was answered about its refunds.
 */
export async function lookAtOrder(ports: Ports, link: Link, plan: LookPlan): Promise<Look> {
  const { order_id } = link;
  if (order_id === null) return { link, order: null, settled: null };
  const result = await ports.memory.mutex.run(`order:${order_id}`, async () => {
    const current = (await ports.store.links.link(link.legacy_id)) ?? link;
    const order = await readOrder(ports, plan.token, order_id, plan.deadline);
    if (order === null || order === 'missing') return { link: current, order };
    return { link: await applyOrder(ports, current, order), order };
  });
  if (result.order === null) return { ...result, settled: null };
  const settled = await settleDoubt(ports, result.link, result.order, plan);
  if (result.order !== 'missing') return { ...result, settled };
  const made = ports.memory.mutex.run(`order:${order_id}`, () => applyMade(ports, result.link, plan.exponent));
  return { link: await made, order: 'missing', settled };
}

/** Moves the link by the refunds that upstream made and will not show: notices and merchant orders depend on the order. */
async function applyMade(ports: Ports, known: Link, exponent: number): Promise<Link> {
  const link = (await ports.store.links.link(known.legacy_id)) ?? known;
  if (link.order === null) return link;
  const refunds = await ports.store.refunds.refunds(link.legacy_id);
  const order = withMade(link.order, refunds, { sale_minor: link.amount_minor, exponent });
  if (order === link.order) return link;
  // The answers have no date. A later read has upstream's own, and is newer by what it shows beside.
  return applyOrder(ports, link, { ...order, last_updated_date: new Date(ports.clock.now()).toISOString() });
}

/** The sums of a sale by its order, and by the refunds that upstream made and the order does not show. */
export async function sumsWithMade(ports: Ports, link: Link, exponent: number): Promise<Sums> {
  const sale_minor = link.amount_minor;
  if (link.order === null) return sumsOf(null, sale_minor, exponent);
  const refunds = await ports.store.refunds.refunds(link.legacy_id);
  return sumsOf(withMade(link.order, refunds, { sale_minor, exponent }), sale_minor, exponent);
}

/** True while a refund of the sale has no outcome. */
export async function hasDoubt(ports: Ports, link: Link): Promise<boolean> {
  return (await ports.store.refunds.refunds(link.legacy_id)).some(isOpen);
}

/** A refund past its repeats, and not shown for `LATE_EFFECT_MS`, never happened; it must not block its payment. */
async function settleDoubt(ports: Ports, link: Link, read: Order | 'missing', plan: LookPlan): Promise<Refund | null> {
  const { legacy_id, order_id } = link;
  const refunds = await ports.store.refunds.refunds(legacy_id);
  const doubtful = refunds.find(isOpen);
  if (doubtful === undefined) return null;
  const order = read === 'missing' ? await orderByPayment(ports, link, plan) : read;
  if (order === null) return null;
  const facts =
    order === 'missing' ? null : findRefund(order, doubtful, namesOf(refunds), link.amount_minor, plan.exponent);
  const unseen_ms = facts === null ? unseenFor(ports, doubtful) : 0;
  if (facts !== null) return ports.store.refunds.saveRefund(doubtful, { ...facts, state: 'DONE' });
  const isGivenUp = !mayRepeat(ports, doubtful) && unseen_ms >= LATE_EFFECT_MS;
  // After a total refund it neither happened nor can, unless that one fails.
  const isRefunded =
    order !== 'missing' && order.status === 'refunded' && !nodesOf(order).some(({ status }) => status === 'processing');
  if (!isGivenUp && !isRefunded) return null;
  ports.log.warn('a refund in doubt never showed on its order', { legacy_id, order_id: String(order_id) });
  return ports.store.refunds.saveRefund(doubtful, { state: 'REFUSED' });
}

/**
 * Where upstream does not know the order: the order as its real payment shows it. `missing` when there is no such
 * payment, or none that this token may read; null when it can't be read now, which proves nothing.
 */
async function orderByPayment(ports: Ports, link: Link, plan: LookPlan): Promise<Order | 'missing' | null> {
  const { payment_id, order } = link;
  if (order === null || payment_id === null || isSyntheticPayment(payment_id)) return 'missing';
  const outcome = await sendPaymentRead(ports, plan.token, payment_id, plan.deadline);
  if (outcome.kind !== 'answered') return null;
  const { status, body } = outcome;
  if (status === 401) await distrust(ports, plan.token);
  if (status !== 200) return status < 400 || status >= 500 || PASSING.has(status) ? null : 'missing';
  const parsed = payment.safeParse(body);
  if (!parsed.success || String(parsed.data.id) !== payment_id) return null;
  return paymentContradictionIn(link, parsed.data) === null ? asPaymentShows(order, parsed.data, plan.exponent) : null;
}

/** Refusals of a read that may be granted later. */
const PASSING = new Set([401, 408, 425, 429]);

/**
 * Ms in which reads of this process have not shown it since it was last sent, which changed the row's revision. By the
 * monotonic clock: a wall clock that is set would close the window at once, while the refund may still take effect
 * (`test/faults/README.md` F47).
 */
function unseenFor({ clock, memory }: Ports, { id, revision }: Refund): number {
  const tick_ms = tickOf(clock);
  const sending = `${id} ${revision}`;
  const since_ms = memory.sales.missing.get(sending);
  if (since_ms === undefined) memory.sales.missing.set(sending, tick_ms);
  return tick_ms - (since_ms ?? tick_ms);
}

/** The key may be sent again while upstream surely remembers it (`docs/protocol.md` §3.5, retry rules). */
export function mayRepeat(ports: Ports, refund: Refund): boolean {
  const age_ms = ports.clock.now() - refund.created_at;
  return age_ms >= 0 && age_ms < ports.settings.create.replay_window_ms;
}

/** The call that requested the refund has ended by then. */
const FIRST_LOOK_MS = 30_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
/** An order that doesn't show a refund by then never will; reads of the payment still show it. */
const GIVEN_UP_AFTER_MS = 24 * 60 * 60_000;
/** A refund that only has to end is given up by then, even where its order can't be read: its sale is kept until then. */
const UNREAD_FOR_MS = 7 * GIVEN_UP_AFTER_MS;

/** Schedules the first read before the refund is written, so that it happens even after a crash. */
export async function expectRefund(ports: Ports, link: Link): Promise<void> {
  await changeLink(ports, link, () => ({ change: { next_check_at: ports.clock.now() + FIRST_LOOK_MS } }));
}

/**
 * Reads the order of a terminal link until it shows what was refunded, and how that ended: no event is known for a
 * refund that upstream calls `processing` (LIM-42). The caller holds the link's mutex.
 */
export async function lookAfterRefunds(ports: Ports, link: Link): Promise<void> {
  const token = await credentialOf(ports, link.merchant_id);
  const { exponent } = ports.tables.site((await ports.store.merchants.merchant(link.merchant_id))?.site ?? null);
  const deadline = ports.clock.now() + ports.settings.create.deadline_ms;
  const isDue = (await unfinishedRefunds(ports, link, exponent)).length > 0;
  const result =
    isDue && token !== null ? await lookAtOrder(ports, link, { token, exponent, deadline }) : { link, order: null };
  const left = isDue ? await unfinishedRefunds(ports, result.link, exponent) : [];
  const age_ms = ports.clock.now() - Math.max(...left.map(({ refund }) => refund.created_at));
  // The age alone may come from a clock that was set forward, and a refund in doubt blocks its payment. An order that
  // upstream does not know will not show how a refund ends.
  const isGivenUp = age_ms >= GIVEN_UP_AFTER_MS && result.order !== null && !left.some(({ refund }) => isOpen(refund));
  const isUnseen = left.some(({ is_shown }) => !is_shown);
  const isHopeless = age_ms >= UNREAD_FOR_MS && !isUnseen;
  const next_check_at =
    left.length === 0 || isGivenUp || isHopeless ? null : ports.clock.now() + pauseAfter(age_ms, isUnseen);
  await changeLink(ports, result.link, () => ({ change: { next_check_at } }));
}

interface Unfinished {
  refund: Refund;
  is_shown: boolean;
}

/** Refunds without an outcome; made ones that the order doesn't show yet; and shown ones that are still `processing`. */
async function unfinishedRefunds(ports: Ports, link: Link, exponent: number): Promise<Unfinished[]> {
  const unfinished: Unfinished[] = [];
  for (const refund of await ports.store.refunds.refunds(link.legacy_id)) {
    if (refund.state !== 'DONE' && !isOpen(refund)) continue;
    const is_shown = !isOpen(refund) && isShown(link.order, refund, { sale_minor: link.amount_minor, exponent });
    const node = nodesOf(link.order).find((one) => isOf(one, refund));
    if (!is_shown || node?.status === 'processing') unfinished.push({ refund, is_shown });
  }
  return unfinished;
}

/** Grows with age; a clock that was set back does not lengthen it. One that only has to end is read a dozen times a day. */
function pauseAfter(age_ms: number, isUnseen: boolean): number {
  return Math.max(FIRST_LOOK_MS, isUnseen ? Math.min(Math.round(age_ms / 4), LONGEST_PAUSE_MS) : age_ms);
}
