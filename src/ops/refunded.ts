/** What was given back of sales: their orders as last read, and the refunds of tills that these do not show yet. */
import { z } from 'zod';
import type { Order } from '../contract/orders.ts';
import { decimalText, minorUnits } from '../mapping/values.ts';
import { asLastRead, hasResult, isOf, withMade } from '../proxy/payments/made-refunds.ts';
import { isOpen } from '../proxy/payments/refund-decisions.ts';
import type { Refund } from '../proxy/records/refunds.ts';
import type { LegacySale } from '../proxy/records/routing.ts';
import { minorOf } from '../proxy/routing/legacy-ledger.ts';
import type { Link } from '../proxy/sales/link.ts';
import {
  approvedOf,
  hasFailed,
  nodesOf,
  type RefundNode,
  type Sums,
  sumOf,
  sumsOf,
} from '../proxy/sales/order-transition.ts';
import type { Ports } from './ports.ts';
import { stateOfLink } from './sale-state.ts';

/** Of a sale, in views and files; its state stays `paid`. */
export const refundFields = {
  refund: z
    .enum(['whole', 'part', 'open'])
    .nullable()
    .describe(
      'of a paid sale: how much was refunded; open: a refund of it has not ended; null: none is known, as of most sales on legacy',
    ),
  refunded: z
    .string()
    .nullable()
    .describe('what was refunded, in decimal; null: nothing, or an amount that Puente does not know'),
};
export type Refunded = { [Name in keyof typeof refundFields]: z.infer<(typeof refundFields)[Name]> };

export const NOT_REFUNDED: Refunded = { refund: null, refunded: null };

/** The refunds of the paid sales among them, by legacy id: one read for a page. */
export async function refundsOfAll({ store }: Ports, links: readonly Link[]): Promise<Map<string, Refund[]>> {
  const paid = links.filter((link) => stateOfLink(link) === 'paid').map(({ legacy_id }) => legacy_id);
  if (paid.length === 0) return new Map();
  return Map.groupBy(await store.refunds.refundsOf(paid), ({ legacy_id }) => legacy_id);
}

/** A refund that upstream accepted may have failed since, or not be made yet: then it is open (LIM-42). @param refund as last read. */
export function refundOutcome({ state, upstream_status }: Refund): 'refunded' | 'refused' | 'in_doubt' | 'open' {
  if (state === 'REFUSED' || state === 'NOT_SENT') return 'refused';
  if (state !== 'DONE') return 'in_doubt';
  if (upstream_status === 'failed') return 'refused';
  return upstream_status === null || upstream_status === 'processed' ? 'refunded' : 'open';
}

/** As a report counts refunds: one that failed gave nothing back, and one that upstream still processes has not yet. */
export function refundOfLink(link: Link, refunds: readonly Refund[], exponent: number): Refunded {
  if (link.order === null || stateOfLink(link) !== 'paid') return NOT_REFUNDED;
  const rows = refunds.map((one) =>
    asLastRead({ ...one, refunded_minor: one.refunded_minor ?? one.amount_minor }, link.order),
  );
  const order = withMade(link.order, rows, { sale_minor: link.amount_minor, exponent });
  const nodes = nodesOf(order).map((node): RefundNode => {
    const { upstream_status, refunded_minor = null } = rows.find((one) => isOf(node, one)) ?? {};
    const amount = node.amount ?? decimalText(refunded_minor, exponent);
    return { ...node, status: upstream_status ?? node.status, amount };
  });
  const isUnlisted = (row: Refund): boolean => !nodes.some((node) => node.amount !== undefined && isOf(node, row));
  const under_way = nodes.filter(({ status }) => status !== undefined && !hasResult(status));
  const open = rows.filter((row) => refundOutcome(row) === 'open');
  const unlisted_minor = open.filter(isUnlisted).reduce((sum, { refunded_minor }) => sum + (refunded_minor ?? 0), 0);
  const sums = sumsByPayment({ ...order, transactions: { ...order.transactions, refunds: nodes } }, link, exponent);
  const paid_minor = sums.reduce((sum, one) => sum + one.paid_minor, 0);
  const given_minor = sums.reduce((sum, one) => sum + one.refunded_minor, 0);
  // An order may be refunded without a word about the amount, and so may a till that requested all of it.
  const says_all = order.status === 'refunded' && [...under_way, ...open, ...nodes.filter(hasFailed)].length === 0;
  const made_minor =
    says_all && given_minor === 0 ? paid_minor : given_minor - sumOf(under_way, exponent) - unlisted_minor;
  const refunded = made_minor > 0 ? (decimalText(made_minor, exponent) ?? null) : null;
  if (under_way.length > 0 || rows.some((row) => isOpen(row)) || open.length > 0) return { refund: 'open', refunded };
  if (made_minor >= paid_minor || (says_all && sums.length === 1)) return { refund: 'whole', refunded };
  if (rows.some((row) => refundOutcome(row) === 'refunded' && row.refunded_minor === null && isUnlisted(row)))
    return { refund: 'whole', refunded: null };
  return refunded === null ? NOT_REFUNDED : { refund: 'part', refunded };
}

/** Of each approved payment with its own refunds; the first has those of no payment, and of cash, too. */
function sumsByPayment(order: Order, { amount_minor }: Link, exponent: number): Sums[] {
  const approved = approvedOf(order);
  if (approved.length === 0) return [sumsOf(order, amount_minor, exponent)];
  const ownerOf = ({ transaction_id: id }: RefundNode): number =>
    id === undefined ? 0 : Math.max(0, approved.map((payment) => payment.id).indexOf(id));
  return approved.map((payment, nth) => {
    const refunds = nodesOf(order).filter((node) => ownerOf(node) === nth);
    const sale_minor = nth === 0 ? amount_minor : (minorUnits(payment.amount, exponent) ?? amount_minor);
    return sumsOf({ ...order, transactions: { payments: [payment], refunds } }, sale_minor, exponent);
  });
}

/** What a till's read of its merchant order showed (QR); of other sales on legacy no answer names the sale of a refund. */
export function refundOfLegacySale(sale: LegacySale, exponent: number): Refunded {
  if (sale.end_state === 'partially_reverted') return { refund: 'part', refunded: null };
  if (sale.end_state !== 'reverted') return NOT_REFUNDED;
  return { refund: 'whole', refunded: decimalText(minorOf(sale, exponent), exponent) ?? null };
}
