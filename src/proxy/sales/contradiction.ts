/** Upstream answers that contradict the sale they are about: never believed, and made known to operators. */
import type { Order } from '../../contract/orders.ts';
import type { Spoken } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import { minorUnits } from '../../mapping/amount.ts';
import { tickOf } from '../clock.ts';
import { sumsOf } from '../payments/refund-decisions.ts';
import type { Ports } from '../ports.ts';
import type { Link } from './link.ts';

/** What contradicts: a closed set, because it labels a counter. */
export const contradictions = ['merchant', 'reference', 'type', 'unit', 'amount', 'paid', 'refund'] as const;

export interface Contradiction {
  what: (typeof contradictions)[number];
  /** One sentence for operators. */
  said: Spoken;
}

/** What of a sale its order must repeat. */
export type SaleTerms = Pick<Link, 'merchant_id' | 'family' | 'unit' | 'reference_sent' | 'amount_minor'>;

/**
 * The first thing in which an order is not the one that the sale asked for; null when nothing contradicts. What the order
 * does not name says nothing. A tip, a cash withdrawal or the buyer's installment costs make `paid_amount` larger than
 * the sale, and a discount makes it smaller, which the order then names (interface.md, Order: `paid_amount` and
 * `discounts.type`; `orders-api.md` §3.2): less, without a discount and without a refund, is none of these.
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
  return { what: 'paid', said: say('contradiction.paid', { sale_minor, paid_minor }) };
}

/** The same for a payment as the payments API gives it; how its amounts follow tips and coupons is not documented. */
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
 * Makes a contradiction known: a counter, a log line, and an incident in the audit chain, once for as long as upstream says
 * the same of this sale.
 * @param key under which it is remembered that upstream says so: that of the sale, or of another answer about it.
 * @throws PuenteError store_failed.
 */
export async function reportContradiction(
  ports: Ports,
  link: Link,
  order_id: string | null,
  { what, said }: Contradiction,
  key: string = link.legacy_id,
): Promise<void> {
  const { clock } = ports;
  const { contradicted } = ports.memory.sales;
  const tick_ms = tickOf(clock);
  const known = contradicted.get(key);
  contradicted.set(key, { what, since_ms: known?.since_ms ?? tick_ms, last_ms: tick_ms });
  if (known?.what === what) return;
  const { legacy_id, merchant_id, unit } = link;
  ports.count('contradictions', what);
  ports.log.error('an answer contradicts its sale, and is not believed', {
    legacy_id,
    order_id: order_id ?? 'none',
    merchant: merchant_id,
    unit,
    cause: what,
  });
  await ports.store.audit.appendAudit({
    at: clock.now(),
    who: 'puente',
    action: `mismatch ${mismatchKindOf({ what })}`,
    subject: legacy_id,
    reason: said.text,
    detail: { merchant: merchant_id, unit, order_id },
  });
}

/** Under which kind of mismatch it is kept and compared: that of sums is older than the others. */
export function mismatchKindOf({ what }: Pick<Contradiction, 'what'>): 'amount' | 'contradiction' {
  return what === 'amount' ? 'amount' : 'contradiction';
}

/** True while what upstream last said of the sale contradicts it. */
export function isContradicted({ memory }: Ports, { legacy_id }: Pick<Link, 'legacy_id'>): boolean {
  return memory.sales.contradicted.get(legacy_id) !== undefined;
}

function found(what: 'merchant' | 'reference' | 'type' | 'unit'): Contradiction {
  return { what, said: say(`contradiction.${what}`, {}) };
}

function amountDiffers(link_minor: number, order_minor: number): Contradiction {
  return { what: 'amount', said: say('mismatch.amount', { link_minor, order_minor }) };
}
