/** What the outcome of a refund means, and what an order says of one whose outcome is not known: pure (`reliability.md` §3.9). */
import { type Order, refundedOrder } from '../../contract/orders.ts';
import { minorUnits } from '../../mapping/amount.ts';
import { saysNotYet } from '../sales/not-yet.ts';
import { errorCode, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Refund, RefundChange } from './refund.ts';

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

type Node = NonNullable<NonNullable<Order['transactions']>['refunds']>[number];

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

function isOther(node: Node, { amount_minor, transaction_id }: Asked, exponent: number): boolean {
  const said_minor = minorUnits(node.amount, exponent);
  if (amount_minor !== null && said_minor !== undefined && said_minor !== amount_minor) return true;
  return node.transaction_id !== undefined && transaction_id !== undefined && node.transaction_id !== transaction_id;
}

/** Sums of an order's payment, minor units of its currency. */
export interface Sums {
  /** What the buyer paid, tip and discount included. */
  paid_minor: number;
  refunded_minor: number;
  /** The amount of the sale. */
  sale_minor: number;
}

/** @param sale_minor the amount of the create, for an order that names none that can be read. */
export function sumsOf(order: Order | null, sale_minor: number, exponent: number): Sums {
  const payment = order?.transactions?.payments?.[0];
  const amount_minor = minorUnits(payment?.amount, exponent) ?? sale_minor;
  const own = nodesOf(order).filter((node) => node.transaction_id === undefined || node.transaction_id === payment?.id);
  const refunded_minor = Math.max(minorUnits(payment?.refunded_amount, exponent) ?? 0, sumOf(own, exponent));
  return {
    paid_minor: minorUnits(payment?.paid_amount, exponent) ?? amount_minor,
    refunded_minor,
    sale_minor: amount_minor,
  };
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
  const isClaimed = (node: Node): boolean => node.id !== undefined && claimed.includes(node.id);
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

function sumOf(nodes: readonly Node[], exponent: number): number {
  return nodes.reduce((sum, node) => sum + (minorUnits(node.amount, exponent) ?? 0), 0);
}

export function nodesOf(order: Order | null): readonly Node[] {
  return order?.transactions?.refunds ?? [];
}

export function factsOf(node: Node, exponent: number): RefundFacts {
  return {
    upstream_id: node.id ?? null,
    reference_id: node.reference_id ?? null,
    refunded_minor: minorUnits(node.amount, exponent) ?? null,
    upstream_status: node.status ?? null,
  };
}
