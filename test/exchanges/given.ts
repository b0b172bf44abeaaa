/** The orders behind intents that stand before an exchange begins. */
import { decimalText } from '../../src/mapping/amount.ts';
import type { Given } from './kit.ts';

/** When the orders of the golden files were made, if nothing else is said: long over, so nothing of them still waits. */
export const MADE_AT = '2026-01-31T17:10:37.402Z';

export interface OrderFacts {
  order_id: string;
  merchant: string;
  reference: string;
}

/** A created order as the service answers it, and what became of it where the exchange says so. */
export function orderOf(given: Given, facts: OrderFacts): Record<string, unknown> {
  return {
    id: facts.order_id,
    type: 'point',
    user_id: facts.merchant,
    external_reference: facts.reference,
    status: 'created',
    status_detail: 'created',
    created_date: MADE_AT,
    last_updated_date: MADE_AT,
    config: { point: { terminal_id: given.device } },
    transactions: { payments: [{ amount: decimalText(given.body.amount, 2), status: 'created' }] },
  };
}

/** The same order at its end. */
export function endedOrder(given: Given, facts: OrderFacts): Record<string, unknown> {
  return { ...orderOf(given, facts), last_updated_date: '2026-01-31T17:11:37.402Z', ...given.ends };
}

/** The n-th order id of a run: the form is the service's, the number is ours. */
export function orderId(count: number): string {
  return `ORD01KG9Z8Q7X4V2${String(count).padStart(13, '0')}`;
}
