/** What the values of an order may be, for both types and for Point. */

import { durationMs } from '../../contract/duration.ts';
import { isWithinCharacters, POINT_PRO_ID } from '../../contract/identifiers.ts';
import { decimalText, minorUnits } from '../../mapping/amount.ts';
import { type Fields, isObject, type OrderFacts, type Rule, siteFacts } from './rule.ts';

/** A code that has a table of its own in `docs/field-notes.md` Spec Errors, is not here. */
type ValueRule = Omit<Rule, 'status' | 'code'>;

/** Shortest life of both types, and the longest of each. */
const MIN_LIFE_MS = 30_000;
const MAX_LIFE_MS = { point: 3 * 3_600_000, qr: 3600 * 3_600_000 } as const;

const rows: readonly ValueRule[] = [
  {
    path: 'external_reference',
    of: 'both',
    holds: (value) => /^[A-Za-z0-9_-]{1,64}$/.test(String(value)),
    why: 'A reference has 1 to 64 letters, digits, hyphens and underscores.',
    source: 'docs/field-notes.md Spec Limits',
  },
  {
    path: 'description',
    of: 'both',
    holds: (value) => isWithinCharacters(String(value), 150),
    why: 'A description has at most 150 characters.',
    source: 'docs/field-notes.md Spec Limits',
  },
  {
    path: 'expiration_time',
    of: 'both',
    holds: (value, { type }) => {
      const life_ms = durationMs(String(value), 0); // the tables write no months, whose length depends on when they begin
      return life_ms !== null && life_ms >= MIN_LIFE_MS && life_ms <= MAX_LIFE_MS[type];
    },
    why: 'A lifetime is an ISO 8601 duration of PT30S to PT3H on a terminal, and to 3600 hours by QR.',
    source: 'docs/field-notes.md Spec Limits',
  },
  {
    path: 'transactions.payments[].amount',
    of: 'both',
    holds: (value, facts) => isAmount(value, facts),
    why: 'An amount is a decimal text with two decimals or none, as the currency has them.',
    source: 'docs/field-notes.md Spec Order; docs/field-notes.md Orders §11',
  },
  {
    path: 'transactions.payments[].amount',
    of: 'both',
    holds: (value, facts) => (minorUnits(value, facts.exponent) ?? 0) >= minimumOf(facts),
    says: (facts) => `Must be greater than or equal to ${decimalText(minimumOf(facts), facts.exponent)}`,
    why: 'An amount is not below the least one of its site, and never nothing.',
    source: 'docs/field-notes.md Orders §10',
  },
  {
    path: 'marketplace_fee',
    of: 'both',
    holds: (value, facts) => isAmount(value, facts),
    why: 'A fee is a decimal text with two decimals or none, as the currency has them.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'config.point.terminal_id',
    of: 'point',
    holds: (value) => /^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__[A-Za-z0-9-]+$/.test(String(value)),
    why: 'The id of a terminal is its type and its serial with two underscores between them.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'config.point.print_on_terminal',
    of: 'point',
    holds: (value) => value === 'seller_ticket' || value === 'no_ticket',
    why: 'A terminal prints seller_ticket or no_ticket.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'config.payment_method.default_type',
    of: 'point',
    holds: (value) => value === 'credit_card' || value === 'debit_card' || value === 'qr',
    why: 'A terminal is asked for credit_card, debit_card or qr.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'config.payment_method.default_installments',
    of: 'point',
    holds: (value) => Number(value) >= 1,
    why: 'A payment has at least one installment.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'config.payment_method.default_installments',
    of: 'point',
    holds: (_value, _facts, order) => defaultType(order) === 'credit_card',
    why: 'Installments are chosen beforehand with default_type credit_card only.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'config.payment_method.default_installments_cost',
    of: 'point',
    holds: (value) => value === 'seller' || value === 'buyer',
    why: 'The seller or the buyer bears the cost of installments.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'config.payment_method.default_installments_cost',
    of: 'point',
    holds: (_value, _facts, { config }) => POINT_PRO_ID.test(terminalOf(config)),
    why: 'Who bears the cost of installments can be said on Point Pro 2 and Point Pro 3 alone.',
    source: 'docs/field-notes.md Spec Order',
  },
];

export const valueRules: readonly Rule[] = rows.map((row) => ({ status: 400, code: 'property_value', ...row }));

/** Point takes one decimal too, because one of its pages does; QR takes two or none. */
export function isAmount(value: unknown, { type, exponent }: OrderFacts): boolean {
  const text = String(value);
  if (exponent === 0) return /^\d+$/.test(text);
  return type === 'point' ? /^\d+(?:\.\d{1,2})?$/.test(text) : /^\d+(?:\.\d{2})?$/.test(text);
}

function minimumOf({ site }: OrderFacts): number {
  return siteFacts(site)?.minimum_minor ?? 1;
}

function terminalOf(config: unknown): string {
  return isObject(config) && isObject(config.point) ? String(config.point.terminal_id) : '';
}

function defaultType(order: { config?: { payment_method?: { default_type?: unknown } } }): unknown {
  return order.config?.payment_method?.default_type;
}

// What the values of a QR order may be, and what its fields say together.

type QrRule = Omit<Rule, 'status' | 'of' | 'code'> & { code?: Rule['code'] };

const isText = (most: number) => (value: unknown) => value !== '' && isWithinCharacters(String(value), most);

const qrRows: readonly QrRule[] = [
  {
    path: 'total_amount',
    holds: isAmount,
    why: 'A total is a decimal text with two decimals or none, as the currency has them.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'transactions.cash_outs[].amount',
    holds: (value, facts) => isAmount(value, facts) && isPositive(value, facts),
    why: 'A withdrawal is a decimal text above nothing, with two decimals or none.',
    source: 'docs/field-notes.md Spec Order, total_amount',
  },
  {
    path: 'config.qr.external_pos_id',
    holds: (value) => value !== '',
    why: 'A point of sale is named by its external id.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'config.qr.mode',
    holds: (value) => value === 'static' || value === 'dynamic' || value === 'hybrid',
    why: 'A code shows static, dynamic or hybrid.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'items[].title',
    holds: isText(150),
    why: 'The title of an item has 1 to 150 characters.',
    source: 'docs/field-notes.md Spec Limits',
  },
  {
    path: 'items[].unit_price',
    holds: isAmount,
    why: 'A price is a decimal text with two decimals or none, as the currency has them.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'items[].quantity',
    holds: (value) => Number(value) >= 1,
    why: 'The quantity of an item is one or more.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'items[].unit_measure',
    holds: isText(10),
    why: 'The measure of an item has 1 to 10 characters.',
    source: 'docs/field-notes.md Spec Limits',
  },
  {
    path: 'items[].external_code',
    holds: (value) => isWithinCharacters(String(value), 30),
    why: 'The code of an item has at most 30 characters.',
    source: 'docs/field-notes.md Orders §1.2',
  },
  {
    path: 'discounts.payment_methods[].new_total_amount',
    holds: (value, facts) => isAmount(value, facts) && isPositive(value, facts),
    why: 'A new total is a decimal text above nothing, with two decimals or none.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'discounts.payment_methods[].type',
    holds: (value) => ['debit_card', 'credit_card', 'account_money', 'prepaid_card'].includes(String(value)),
    why: 'Discounts are for debit_card, credit_card, account_money and prepaid_card.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'integration_data.integrator_id',
    holds: (value) => /^dev_./.test(String(value)),
    why: 'By QR the id of an integrator begins with dev_.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'total_amount',
    holds: (value, facts, order) => minorUnits(value, facts.exponent) === sumOf(order.transactions, LISTS, facts),
    why: 'The total is the sum of the payment and the withdrawal.',
    source: 'docs/field-notes.md Spec Order',
  },
  {
    path: 'discounts.payment_methods[].new_total_amount',
    holds: (value, facts, { transactions }) => {
      const minor = minorUnits(value, facts.exponent) ?? 0;
      return minor <= sumOf(transactions, LISTS, facts) && minor >= sumOf(transactions, ['cash_outs'], facts);
    },
    why: 'A discount makes the total no greater, and takes nothing off the withdrawal.',
    source: 'docs/field-notes.md Spec Order, total_amount and discounts',
  },
  {
    path: 'discounts',
    code: 'bad_request',
    holds: (_value, _facts, order) => !hasCategories(order),
    why: 'Discounts and categories of items do not go together; no code is named for it, so it is the general one.',
    source: 'docs/field-notes.md Spec Order',
  },
];

export const qrRules: readonly Rule[] = qrRows.map((row) => ({
  of: 'qr',
  status: 400,
  code: 'property_value',
  ...row,
}));

function isPositive(value: unknown, { exponent }: OrderFacts): boolean {
  return (minorUnits(value, exponent) ?? 0) > 0;
}

/** What makes the total. */
const LISTS = ['payments', 'cash_outs'] as const;

/** Minor units of the lists together. */
function sumOf(transactions: unknown, names: readonly (typeof LISTS)[number][], { exponent }: OrderFacts): number {
  if (!isObject(transactions)) return 0;
  const lists = names.map((name) => transactions[name]).filter((list) => Array.isArray(list));
  const elements: unknown[] = lists.flat();
  return elements.reduce<number>((sum, one) => sum + (isObject(one) ? (minorUnits(one.amount, exponent) ?? 0) : 0), 0);
}

function hasCategories({ items }: Fields): boolean {
  return Array.isArray(items) && items.some((item) => isObject(item) && item.external_categories !== undefined);
}
