/** Decisions about refunds, pure: new, repeated or conflicting; what an outcome means; what an order says of one in doubt. */
import { type Order, refundedOrder } from '../../contract/orders.ts';
import { minorUnits } from '../../mapping/amount.ts';
import type { Refund, RefundChange } from '../records/refunds.ts';
import { nodesOf, type RefundNode, type Sums, sumOf, sumsOf } from '../sales/order-transition.ts';
import { errorCode, saysNotYet, type UpstreamOutcome } from '../upstream/upstream.ts';

export type Recognised =
  | { kind: 'new' }
  /** Asked for before: answered again when it is done, sent again with its own key when its outcome is not known. */
  | { kind: 'same'; refund: Refund }
  /** The client's key belongs to another request. */
  | { kind: 'key_reused'; refund: Refund }
  /** Another refund of the payment has no outcome yet, or nobody was told of it. */
  | { kind: 'in_progress'; refund: Refund };

/** How long a refund that nobody heard of waits for its till to repeat itself; a later equal one is a new one. */
const UNTOLD_FOR_MS = 15 * 60_000;
/** How long a client's key names the refund it was first sent with, as the vendor remembers its keys (`docs/protocol.md` §3.1). */
const KEY_MEMORY_MS = 24 * 60 * 60_000;

/**
 * Two equal parts are two refunds, unless the client's key says otherwise, or the till has not shown that it knows the first: it was
 * not answered, or it was answered lately and may not have got that answer.
 * @param earlier refunds of the same payment, oldest first.
 * @param settled_id a refund whose outcome was found only now, on behalf of this call: nobody was told of it.
 * @param join_window_ms how long a refund whose till was answered may be repeated without a key.
 * @param ageOf how long ago a refund was asked for, ms.
 */
export function recognise(
  earlier: readonly Refund[],
  asked: Refund,
  settled_id: string | null,
  join_window_ms: number,
  ageOf: (refund: Refund) => number,
): Recognised {
  const held = earlier.filter((one) => one.state === 'DONE' || isOpen(one));
  const { client_key, fingerprint } = asked;
  if (client_key !== null) {
    const known = held.findLast((one) => one.client_key === client_key && (isOpen(one) || ageOf(one) < KEY_MEMORY_MS));
    if (known !== undefined) return { kind: known.fingerprint === fingerprint ? 'same' : 'key_reused', refund: known };
  }
  const isUntold = (one: Refund): boolean =>
    one.told_at === null && one.heard_at === null && ageOf(one) < UNTOLD_FOR_MS;
  const isUnheard = (one: Refund): boolean => {
    if (one.told_at === null || one.heard_at !== null || one.client_key !== null) return false;
    return ageOf(one) - (one.told_at - one.created_at) < join_window_ms;
  };
  const isAlike = (one: Refund): boolean => one.fingerprint === fingerprint;
  const untold =
    held.find((one) => isOpen(one)) ??
    held.filter((one) => isAlike(one) && (one.id === settled_id || isUntold(one))).toSorted(keylessFirst)[0] ??
    (client_key === null ? held.findLast((one) => isAlike(one) && isUnheard(one)) : undefined);
  // One with a new key asks for a new refund, as soon as none is under way.
  if (untold === undefined || (client_key !== null && !isOpen(untold))) return { kind: 'new' };
  // A till without keys repeats itself without one. Where the first had a key, to send a second one may give the money back
  // twice, and to tell the first one may hide a wish: neither is done, and the till can repeat the first with its key.
  const isRepeated = isAlike(untold) && client_key === null && untold.client_key === null;
  return { kind: isRepeated ? 'same' : 'in_progress', refund: untold };
}

function keylessFirst(one: Refund, other: Refund): number {
  return Number(one.client_key !== null) - Number(other.client_key !== null);
}

/** No outcome is known, so that no other refund of the payment may be sent. */
export function isOpen(refund: Refund): boolean {
  return refund.state === 'SENDING' || refund.state === 'IN_DOUBT';
}

// What the outcome of a refund means, and what an order says of one whose outcome is not known: pure
// (`docs/protocol.md` §3.9).

/** What upstream says of a refund that it made. */
export type RefundFacts = Required<
  Pick<RefundChange, 'upstream_id' | 'reference_id' | 'refunded_minor' | 'upstream_status'>
>;

export type RefundVerdict =
  | { kind: 'made'; facts: RefundFacts }
  /** Refused for sure; nothing was refunded. */
  | { kind: 'refused' }
  /** Refused unexecuted by a rate limit, or because it can't be done yet, or proved that no byte left. */
  | { kind: 'not_executed' }
  /**
   * `contradicted`: refused now, after an earlier try that may have worked; the order decides. `other`: answered with a
   * refund that is not the one that was asked for.
   */
  | { kind: 'unknown'; contradicted: boolean; other?: true };

/** What a refund was asked of. */
export interface Asked {
  /** Minor units; null: all that is left. */
  amount_minor: number | null;
  /** The payment inside the order; undefined where the order names none. */
  transaction_id: string | undefined;
}

/**
 * @param asked what was sent: an answer about another amount or another payment says nothing of this refund.
 * @param repeated an earlier try of this refund may have reached upstream.
 */
export function judgeRefund(
  outcome: UpstreamOutcome,
  order_id: string,
  asked: Asked,
  exponent: number,
  repeated: boolean,
): RefundVerdict {
  const unknown = { kind: 'unknown', contradicted: false } as const;
  if (outcome.kind === 'not_sent') return repeated ? unknown : { kind: 'not_executed' };
  if (outcome.kind === 'broken') return unknown;
  const { status, body } = outcome;
  if (status === 200 || status === 201) {
    const parsed = refundedOrder.safeParse(body);
    const node = parsed.success && parsed.data.id === order_id ? parsed.data.transactions.refunds[0] : undefined;
    if (node === undefined) return unknown;
    if (isOther(node, asked, exponent)) return { ...unknown, other: true };
    return { kind: 'made', facts: factsOf(node, exponent) };
  }
  if (status === 429 || saysNotYet(outcome)) return repeated ? unknown : { kind: 'not_executed' };
  if (status < 400 || status === 408 || status >= 500) return unknown;
  if (errorCode(body) === 'idempotency_key_already_used') return unknown;
  if (!repeated) return { kind: 'refused' };
  // A token that died meanwhile says nothing about the refund.
  return { kind: 'unknown', contradicted: status !== 401 && status !== 403 };
}

function isOther(node: RefundNode, { amount_minor, transaction_id }: Asked, exponent: number): boolean {
  const said_minor = minorUnits(node.amount, exponent);
  if (amount_minor !== null && said_minor !== undefined && said_minor !== amount_minor) return true;
  return node.transaction_id !== undefined && transaction_id !== undefined && node.transaction_id !== transaction_id;
}

/**
 * True when a part is all that is left, which orders only refund as the whole. After a discount the till knows the
 * amount of the sale, which is more than was paid.
 */
export function isEverything(asked_minor: number, { paid_minor, refunded_minor, sale_minor }: Sums): boolean {
  const discounted = paid_minor < sale_minor;
  return asked_minor === paid_minor - refunded_minor || (discounted && asked_minor === sale_minor - refunded_minor);
}

/**
 * What a freshly read order says of a refund in doubt; null when it doesn't show it.
 * @param claimed upstream ids of the payment's other refunds.
 */
export function findRefund(
  order: Order,
  refund: Refund,
  claimed: readonly (string | null)[],
  exponent: number,
): RefundFacts | null {
  const isClaimed = (node: RefundNode): boolean => node.id !== undefined && claimed.includes(node.id);
  // A read that lagged behind may have missed them when this one was opened; they were made before it all the same.
  const others_minor = sumOf(nodesOf(order).filter(isClaimed), exponent);
  const before_minor = Math.max(refund.refunded_before_minor, others_minor);
  const risen_minor = sumsOf(order, 0, exponent).refunded_minor - before_minor;
  if (risen_minor <= 0) return null;
  const { amount_minor } = refund;
  if (amount_minor === null && order.status !== 'refunded') return null;
  if (amount_minor !== null && risen_minor < amount_minor) return null;
  const free = nodesOf(order).filter((node) => !isClaimed(node));
  const node = free.findLast((one) => amount_minor === null || minorUnits(one.amount, exponent) === amount_minor);
  if (node !== undefined) return factsOf(node, exponent);
  // A sum that rose by something else was somebody else's refund.
  if (amount_minor !== null && risen_minor !== amount_minor) return null;
  return { upstream_id: null, reference_id: null, refunded_minor: risen_minor, upstream_status: 'processed' };
}

export function factsOf(node: RefundNode, exponent: number): RefundFacts {
  return {
    upstream_id: node.id ?? null,
    reference_id: node.reference_id ?? null,
    refunded_minor: minorUnits(node.amount, exponent) ?? null,
    upstream_status: node.status ?? null,
  };
}

// A refund asked for by a till: what is stored before a byte is sent, and afterwards (`docs/protocol.md` §3.9).
