/** What no row of one's own may change: amounts, which sale and unit it is, and what became of it. */
import { finalIntentStates } from '../contract/legacy-point.ts';
import { finalMerchantOrderStates } from '../contract/merchant-orders.ts';
import type { WrittenTable } from './schema.ts';

type FieldRow = WrittenTable['rows'][number];

/** Kinds of fields by the last name of their path, in both APIs. The rest of a message may be laid over. */
const KEPT: readonly (readonly [kind: string, name: RegExp])[] = [
  ['an amount', /(?:^|_)(?:amount|minor|fee|fees|price|cost|currency)(?:_|$)|^tax(?:es)?$|^discounts?$/],
  ['an amount', /^(?:quantity|installments|items|transactions|cash_outs?|payments?|refunds?)$/],
  ["the sale's identity", /^(?:id|external_reference|additional_info|order|body|x-idempotency-key|qr_data)$/],
  [
    "the sale's identity",
    /^(?:(?:order|in_store_order|merchant_order|payment|intent|refund|preference|transaction)_id|refund_number)$/,
  ],
  [
    "the sale's seller or unit",
    /^(?:(?:terminal|device|pos|external_pos|store|external_store|user|collector|caller)_id)$/,
  ],
  ['what became of the sale', /^(?:state|status|status_detail|order_status|cancelled|captured|date_approved)$/],
];

/** A row whose field is of a kept kind, or in whose list one is. A silent drop passes nothing on. */
export function isKept(row: FieldRow): boolean {
  return row.policy !== 'silent' && (kindOf(row) !== null || (row.rows ?? []).some(isKept));
}

/** In words, after "is". @param row a kept one. */
export function whatIsKept(row: FieldRow): string {
  return kindOf(row) ?? "a list with the sale's identity or amounts";
}

function kindOf({ to, drop, weight }: FieldRow): string | null {
  const last = lastName((to ?? drop) as string); // the grammar demands a target of every row but a drop
  for (const [kind, name] of KEPT) if (name.test(last)) return kind;
  return weight === 'money' ? 'an amount, or decides about one' : null;
}

/** Without the indexes behind it. @param path of the grammar in `path.ts`. */
function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).replace(/\[.*$/, '');
}

const PAID = ['FINISHED', 'partially_paid', 'paid'];
const REFUNDED = ['partially_reverted', 'reverted'];
const UNPAID: readonly string[] = [...finalIntentStates, ...finalMerchantOrderStates];

/** What tills take a state for. */
export function outcomeOf(state: string): 'paid' | 'refunded' | 'not clear' | 'over without a payment' | 'open' {
  if (PAID.includes(state)) return 'paid';
  if (REFUNDED.includes(state)) return 'refunded';
  if (state === 'CONFIRMATION_REQUIRED') return 'not clear';
  return UNPAID.includes(state) ? 'over without a payment' : 'open';
}
