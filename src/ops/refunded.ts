/** What was given back of sales: their orders as last read, and the refunds of tills that these do not show yet. */
import { z } from 'zod';
import { decimalText } from '../mapping/values.ts';
import { withMade } from '../proxy/payments/made-refunds.ts';
import { isOpen } from '../proxy/payments/refund-decisions.ts';
import type { Refund } from '../proxy/records/refunds.ts';
import type { LegacySale } from '../proxy/records/routing.ts';
import { minorOf } from '../proxy/routing/legacy-ledger.ts';
import type { Link } from '../proxy/sales/link.ts';
import { nodesOf, sumOf, sumsOf } from '../proxy/sales/order-transition.ts';
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

/** As a report counts refunds: one that failed gave nothing back, and one that upstream still processes has not yet. */
export function refundOfLink(link: Link, refunds: readonly Refund[], exponent: number): Refunded {
  if (link.order === null || stateOfLink(link) !== 'paid') return NOT_REFUNDED;
  const sale = { sale_minor: link.amount_minor, exponent };
  const order = withMade(link.order, refunds, sale);
  const { paid_minor, refunded_minor } = sumsOf(order, sale.sale_minor, exponent);
  const processing = nodesOf(order).filter(({ status }) => status === 'processing');
  // An order may be refunded without a word about the amount.
  const all_minor = order.status === 'refunded' && refunded_minor === 0 ? paid_minor : refunded_minor;
  const made_minor = all_minor - sumOf(processing, exponent);
  const refunded = made_minor > 0 ? (decimalText(made_minor, exponent) ?? null) : null;
  if (processing.length > 0 || refunds.some(isOpen)) return { refund: 'open', refunded };
  if (refunded === null) return NOT_REFUNDED;
  return { refund: order.status === 'refunded' || made_minor >= paid_minor ? 'whole' : 'part', refunded };
}

/** What a till's read of its merchant order showed (QR); of other sales on legacy no answer names the sale of a refund. */
export function refundOfLegacySale(sale: LegacySale, exponent: number): Refunded {
  if (sale.end_state === 'partially_reverted') return { refund: 'part', refunded: null };
  if (sale.end_state !== 'reverted') return NOT_REFUNDED;
  return { refund: 'whole', refunded: decimalText(minorOf(sale, exponent), exponent) ?? null };
}
