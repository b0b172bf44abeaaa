/**
 * The rules of a create of an order that span several fields, or that depend on the seller: one row each, in the order
 * of judging, after the rows of `order-fields.ts`. The sandbox refuses by them, and the shadow predicts from them.
 */
import { POINT_PRO_ID } from './identifiers.ts';
import { isObject, type JsonObject } from './json.ts';

export interface OrderRule {
  /** Where in the order, `[]` for each element of a list. Judged only where it has a value. */
  path: string;
  of: 'point' | 'qr' | 'both';
  status: 400 | 404;
  /** Of `docs/field-notes.md` Spec Errors, POST /v1/orders. */
  code:
    | 'property_value'
    | 'bad_request'
    | 'sponsor_id_not_valid'
    | 'seller_configuration'
    | 'marketplace_not_valid'
    | 'marketplace_fee_not_allowed';
  /** @param value at the path. */
  holds(value: unknown, facts: SellerFacts, order: JsonObject): boolean;
  why: string;
  source: string;
}

/** Null: unknown, and a rule that depends on it holds. */
export interface SellerFacts {
  /** Minor units of an amount as orders write it; null for any other text. */
  minorOf(text: string): number | null;
  is_oauth: boolean | null;
  /** The token's application is a marketplace. */
  is_marketplace: boolean | null;
  /** The seller has the agreement for cash withdrawals. */
  may_hand_out_cash: boolean | null;
}

const ORDER = 'docs/field-notes.md Spec Order';
const ERRORS = 'docs/field-notes.md Spec Errors';

function rows(of: OrderRule['of'], code: OrderRule['code'], status: OrderRule['status'] = 400) {
  return (path: string, why: string, source: string, holds: OrderRule['holds']): OrderRule => {
    return { path, of, status, code, why, source, holds };
  };
}

const point = rows('point', 'property_value');
const qr = rows('qr', 'property_value');

/** The sandbox drops it by its setting `installments_cost`. */
export const installmentsCostRule = point(
  'config.payment_method.default_installments_cost',
  'The bearer of the cost of installments can be set on Point Pro 2 and Point Pro 3 alone.',
  ORDER,
  (_value, _facts, { config }) => POINT_PRO_ID.test(String(objectAt(objectAt(config).point).terminal_id)),
);

export const orderRules: readonly OrderRule[] = [
  point(
    'config.payment_method.default_installments',
    'Installments are chosen beforehand with default_type credit_card only.',
    ORDER,
    (_value, _facts, { config }) => objectAt(objectAt(config).payment_method).default_type === 'credit_card',
  ),
  installmentsCostRule,
  qr('total_amount', 'The total is the sum of the payment and the withdrawal.', ORDER, (value, facts, order) => {
    return facts.minorOf(String(value)) === totalOf(order, facts);
  }),
  qr(
    'discounts.payment_methods[].new_total_amount',
    'A discount makes the total no greater, and takes nothing off the withdrawal.',
    'docs/field-notes.md Spec Order, total_amount and discounts',
    (value, facts, order) => {
      const minor = facts.minorOf(String(value)) ?? 0;
      return minor <= totalOf(order, facts) && minor >= sumOf(order, 'cash_outs', facts);
    },
  ),
  rows('qr', 'bad_request')(
    'discounts',
    'Discounts and categories of items do not go together; no code is named for it, so it is the general one.',
    ORDER,
    (_value, _facts, { items }) =>
      !Array.isArray(items) || items.every((item) => objectAt(item).external_categories === undefined),
  ),
  rows('both', 'sponsor_id_not_valid')(
    'integration_data.sponsor.id',
    'A sponsor is the user id of an account, which is digits.',
    ERRORS,
    (value) => /^\d{1,20}$/.test(String(value)),
  ),
  rows('qr', 'seller_configuration')(
    'transactions.cash_outs',
    'Only a seller with the agreement for it hands out cash.',
    ERRORS,
    (_value, { may_hand_out_cash }) => may_hand_out_cash !== false,
  ),
  rows('both', 'marketplace_not_valid')(
    'marketplace_fee',
    'A fee is for tokens that came from OAuth.',
    'docs/field-notes.md Spec Authentication 4',
    (_value, { is_oauth }) => is_oauth !== false,
  ),
  rows('both', 'marketplace_fee_not_allowed', 404)(
    'marketplace_fee',
    'A fee is for the application of a marketplace.',
    ERRORS,
    (_value, { is_marketplace }) => is_marketplace !== false,
  ),
];

function objectAt(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function totalOf(order: JsonObject, facts: SellerFacts): number {
  return sumOf(order, 'payments', facts) + sumOf(order, 'cash_outs', facts);
}

/** Minor units. */
function sumOf({ transactions }: JsonObject, name: 'payments' | 'cash_outs', { minorOf }: SellerFacts): number {
  const list = objectAt(transactions)[name];
  if (!Array.isArray(list)) return 0;
  return list.reduce<number>((sum, one) => sum + (minorOf(String(objectAt(one).amount)) ?? 0), 0);
}
