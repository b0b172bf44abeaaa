/** What the values of an order may be, for both types and for Point. */
import { isWithinCharacters } from '../../contract/characters.ts';
import { durationMs } from '../../contract/duration.ts';
import { POINT_PRO_ID } from '../../contract/identifiers.ts';
import { decimalText, minorUnits } from '../../mapping/amount.ts';
import { isObject, type OrderFacts, type Rule } from './rule.ts';
import { siteFacts } from './sites.ts';

/** A code that has a table of its own in `interface.md`, Errors, is not here. */
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
    source: 'interface.md Limits',
  },
  {
    path: 'description',
    of: 'both',
    holds: (value) => isWithinCharacters(String(value), 150),
    why: 'A description has at most 150 characters.',
    source: 'interface.md Limits',
  },
  {
    path: 'expiration_time',
    of: 'both',
    holds: (value, { type }) => {
      const life_ms = durationMs(String(value), 0); // the tables write no months, whose length depends on when they begin
      return life_ms !== null && life_ms >= MIN_LIFE_MS && life_ms <= MAX_LIFE_MS[type];
    },
    why: 'A lifetime is an ISO 8601 duration of PT30S to PT3H on a terminal, and to 3600 hours by QR.',
    source: 'interface.md Limits',
  },
  {
    path: 'transactions.payments[].amount',
    of: 'both',
    holds: (value, facts) => isAmount(value, facts),
    why: 'An amount is a decimal text with two decimals or none, as the currency has them.',
    source: 'interface.md Order; orders-api.md §11',
  },
  {
    path: 'transactions.payments[].amount',
    of: 'both',
    holds: (value, facts) => (minorUnits(value, facts.exponent) ?? 0) >= minimumOf(facts),
    says: (facts) => `Must be greater than or equal to ${decimalText(minimumOf(facts), facts.exponent)}`,
    why: 'An amount is not below the least one of its site, and never nothing.',
    source: 'orders-api.md §10',
  },
  {
    path: 'marketplace_fee',
    of: 'both',
    holds: (value, facts) => isAmount(value, facts),
    why: 'A fee is a decimal text with two decimals or none, as the currency has them.',
    source: 'interface.md Order',
  },
  {
    path: 'config.point.terminal_id',
    of: 'point',
    holds: (value) => /^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__[A-Za-z0-9-]+$/.test(String(value)),
    why: 'The id of a terminal is its type and its serial with two underscores between them.',
    source: 'interface.md Order',
  },
  {
    path: 'config.point.print_on_terminal',
    of: 'point',
    holds: (value) => value === 'seller_ticket' || value === 'no_ticket',
    why: 'A terminal prints seller_ticket or no_ticket.',
    source: 'interface.md Order',
  },
  {
    path: 'config.payment_method.default_type',
    of: 'point',
    holds: (value) => value === 'credit_card' || value === 'debit_card' || value === 'qr',
    why: 'A terminal is asked for credit_card, debit_card or qr.',
    source: 'interface.md Order',
  },
  {
    path: 'config.payment_method.default_installments',
    of: 'point',
    holds: (value) => Number(value) >= 1,
    why: 'A payment has at least one installment.',
    source: 'interface.md Order',
  },
  {
    path: 'config.payment_method.default_installments',
    of: 'point',
    holds: (_value, _facts, order) => defaultType(order) === 'credit_card',
    why: 'Installments are chosen beforehand with default_type credit_card only.',
    source: 'interface.md Order',
  },
  {
    path: 'config.payment_method.default_installments_cost',
    of: 'point',
    holds: (value) => value === 'seller' || value === 'buyer',
    why: 'The seller or the buyer bears the cost of installments.',
    source: 'interface.md Order',
  },
  {
    path: 'config.payment_method.default_installments_cost',
    of: 'point',
    holds: (_value, _facts, { config }) => POINT_PRO_ID.test(terminalOf(config)),
    why: 'Who bears the cost of installments can be said on Point Pro 2 and Point Pro 3 alone.',
    source: 'interface.md Order',
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
