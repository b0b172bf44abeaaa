/** What the values of a QR order may be, and what its fields say together. */
import { isWithinCharacters } from '../../contract/characters.ts';
import { minorUnits } from '../../mapping/amount.ts';
import { type Fields, isObject, type OrderFacts, type Rule } from './rule.ts';
import { isAmount } from './rules-values.ts';

type QrRule = Omit<Rule, 'status' | 'of' | 'code'> & { code?: Rule['code'] };

const isText = (most: number) => (value: unknown) => value !== '' && isWithinCharacters(String(value), most);

const rows: readonly QrRule[] = [
  {
    path: 'total_amount',
    holds: isAmount,
    why: 'A total is a decimal text with two decimals or none, as the currency has them.',
    source: 'interface.md Order',
  },
  {
    path: 'transactions.cash_outs[].amount',
    holds: (value, facts) => isAmount(value, facts) && isPositive(value, facts),
    why: 'A withdrawal is a decimal text above nothing, with two decimals or none.',
    source: 'interface.md Order, total_amount',
  },
  {
    path: 'config.qr.external_pos_id',
    holds: (value) => value !== '',
    why: 'A point of sale is named by its external id.',
    source: 'interface.md Order',
  },
  {
    path: 'config.qr.mode',
    holds: (value) => value === 'static' || value === 'dynamic' || value === 'hybrid',
    why: 'A code shows static, dynamic or hybrid.',
    source: 'interface.md Order',
  },
  {
    path: 'items[].title',
    holds: isText(150),
    why: 'The title of an item has 1 to 150 characters.',
    source: 'interface.md Limits',
  },
  {
    path: 'items[].unit_price',
    holds: isAmount,
    why: 'A price is a decimal text with two decimals or none, as the currency has them.',
    source: 'interface.md Order',
  },
  {
    path: 'items[].quantity',
    holds: (value) => Number(value) >= 1,
    why: 'The quantity of an item is one or more.',
    source: 'interface.md Order',
  },
  {
    path: 'items[].unit_measure',
    holds: isText(10),
    why: 'The measure of an item has 1 to 10 characters.',
    source: 'interface.md Limits',
  },
  {
    path: 'items[].external_code',
    holds: (value) => isWithinCharacters(String(value), 30),
    why: 'The code of an item has at most 30 characters.',
    source: 'orders-api.md §1.2',
  },
  {
    path: 'discounts.payment_methods[].new_total_amount',
    holds: (value, facts) => isAmount(value, facts) && isPositive(value, facts),
    why: 'A new total is a decimal text above nothing, with two decimals or none.',
    source: 'interface.md Order',
  },
  {
    path: 'discounts.payment_methods[].type',
    holds: (value) => ['debit_card', 'credit_card', 'account_money', 'prepaid_card'].includes(String(value)),
    why: 'Discounts are for debit_card, credit_card, account_money and prepaid_card.',
    source: 'interface.md Order',
  },
  {
    path: 'integration_data.integrator_id',
    holds: (value) => /^dev_./.test(String(value)),
    why: 'By QR the id of an integrator begins with dev_.',
    source: 'interface.md Order',
  },
  {
    path: 'total_amount',
    holds: (value, facts, order) => minorUnits(value, facts.exponent) === sumOf(order.transactions, LISTS, facts),
    why: 'The total is the sum of the payment and the withdrawal.',
    source: 'interface.md Order',
  },
  {
    path: 'discounts.payment_methods[].new_total_amount',
    holds: (value, facts, { transactions }) => {
      const minor = minorUnits(value, facts.exponent) ?? 0;
      return minor <= sumOf(transactions, LISTS, facts) && minor >= sumOf(transactions, ['cash_outs'], facts);
    },
    why: 'A discount makes the total no greater, and takes nothing off the withdrawal.',
    source: 'interface.md Order, total_amount and discounts',
  },
  {
    path: 'discounts',
    code: 'bad_request',
    holds: (_value, _facts, order) => !hasCategories(order),
    why: 'Discounts and categories of items do not go together; no code is named for it, so it is the general one.',
    source: 'interface.md Order',
  },
];

export const qrRules: readonly Rule[] = rows.map((row) => ({ of: 'qr', status: 400, code: 'property_value', ...row }));

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
