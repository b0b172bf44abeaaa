/**
 * Refunds that were made and that the stored order does not show: its read lags, or upstream shows the order no longer,
 * as those older than three months (`docs/field-notes.md` Orders §3.2). Pure.
 */
import type { Order } from '../../contract/orders.ts';
import { decimalOfMinor, decimalText, minorUnits } from '../../mapping/values.ts';
import type { Refund } from '../records/refunds.ts';
import { hasFailed, nodesOf, type RefundNode, sumsOf } from '../sales/order-transition.ts';

/** The terms of the sale on which its sums depend. */
export interface SaleMoney {
  /** The amount of the create, minor units. */
  sale_minor: number;
  /** Decimals of its currency. */
  exponent: number;
}

/** True for the order's node of a stored refund: by upstream's id, or by the number where one of them has no id. */
export function isOf(
  { id, reference_id: number }: RefundNode,
  { upstream_id, reference_id }: Pick<Refund, 'upstream_id' | 'reference_id'>,
): boolean {
  if (id !== undefined && upstream_id !== null) return id === upstream_id;
  return number !== undefined && number === reference_id;
}

/** True once upstream changes no more of a refund. */
export function hasResult(status: string | null | undefined): boolean {
  return status === 'processed' || status === 'failed';
}

/**
 * Upstream answers a refund before it is made: how it ended is in its answer, or else in its order, by a later event or read
 * (LIM-42). @param order of its sale as last read, which may be older than the answer.
 */
export function asLastRead<Row extends Pick<Refund, 'upstream_id' | 'reference_id' | 'upstream_status'>>(
  refund: Row,
  order: Order | null,
): Row {
  if (hasResult(refund.upstream_status)) return refund;
  const node = nodesOf(order).find((one) => isOf(one, refund));
  return { ...refund, upstream_status: node?.status ?? refund.upstream_status };
}

/** The ids and numbers of upstream's refunds that belong to these. */
export function namesOf(refunds: readonly Refund[]): string[] {
  return refunds.flatMap(({ upstream_id, reference_id }) => [upstream_id, reference_id]).filter((one) => one !== null);
}

/** Whether the order shows a refund that was made: it lists it, or its sum has risen by it since the request. */
export function isShown(order: Order | null, refund: Refund, { sale_minor, exponent }: SaleMoney): boolean {
  if (nodesOf(order).some((node) => isOf(node, refund))) return true;
  // One whose amount is not known can't be counted.
  if (refund.refunded_minor === null) return true;
  return (
    sumsOf(order, sale_minor, exponent).ever_refunded_minor >= refund.refunded_before_minor + refund.refunded_minor
  );
}

/** The order with the refunds that upstream made, as it answered them; the same one when it shows all of them. */
export function withMade(order: Order, refunds: readonly Refund[], sale: SaleMoney): Order {
  if (order.status !== 'processed' && order.status !== 'refunded') return order;
  return refunds
    .filter((refund) => refund.state === 'DONE')
    .reduce((shown, refund) => (isShown(shown, refund, sale) ? shown : withRefund(shown, refund, sale)), order);
}

function withRefund(order: Order, refund: Refund, { sale_minor, exponent }: SaleMoney): Order {
  const { upstream_id, reference_id, upstream_status } = refund;
  const refunded_minor = Number(refund.refunded_minor); // not null: such a one counts as shown
  const [payment, ...others] = order.transactions?.payments ?? [];
  const node: RefundNode = {
    ...(upstream_id === null ? {} : { id: upstream_id }),
    ...(payment?.id === undefined ? {} : { transaction_id: payment.id }),
    ...(reference_id === null ? {} : { reference_id }),
    amount: decimalOfMinor(BigInt(refunded_minor), exponent),
    ...(upstream_status === null ? {} : { status: upstream_status }),
  };
  const listed = { ...order, transactions: { ...order.transactions, refunds: [...nodesOf(order), node] } };
  if (hasFailed(node)) return listed;
  const sums = sumsOf(order, sale_minor, exponent);
  const is_all = refund.amount_minor === null || sums.refunded_minor + refunded_minor >= sums.paid_minor;
  const states = is_all ? { status: 'refunded', status_detail: 'refunded' } : {};
  const moved = { ...listed, status_detail: 'partially_refunded', ...states };
  if (payment === undefined) return moved;
  // Of the payment alone: without the sale's amount there is no cash beside it.
  const before_minor = sumsOf(order, 0, exponent).refunded_minor;
  const refunded_amount = decimalOfMinor(BigInt(before_minor + refunded_minor), exponent);
  // A till refunds the first one, of which it knows the number.
  const payments = [{ ...payment, refunded_amount, ...states }, ...others];
  return { ...moved, transactions: { ...moved.transactions, payments } };
}

/** What the payments API calls a refund that gave nothing back. */
const FAILED = ['rejected', 'cancelled'];

/** The order with the refunds that its real payment shows, for an order that can't be read. @param payment any JSON. */
export function asPaymentShows(order: Order, payment: Record<string, unknown>, exponent: number): Order {
  const amountOf = (written: unknown): string | undefined =>
    decimalText(minorUnits(String(written), exponent), exponent);
  const refunds = Array.isArray(payment.refunds) ? payment.refunds : [];
  const nodes = refunds.map((refund: { id?: unknown; amount?: unknown; status?: unknown } | null): RefundNode => {
    const { id, amount, status } = refund ?? {};
    const shown = status === 'approved' ? 'processed' : 'processing';
    return {
      reference_id: String(id),
      amount: amountOf(amount),
      status: FAILED.includes(String(status)) ? 'failed' : shown,
    };
  });
  const [paid] = order.transactions?.payments ?? [];
  const refunded_amount = amountOf(payment.transaction_amount_refunded);
  const payments = [{ ...paid, refunded_amount }];
  const status = payment.status === 'refunded' ? 'refunded' : 'processed';
  return { ...order, status, transactions: { payments, refunds: nodes } };
}
