/** What the values of an order may be, for both types and for Point. */
import { decimalText, minorUnits } from '../../mapping/amount.ts';
import type { OrderFacts, Rule } from './rule.ts';
import { siteFacts } from './sites.ts';

/** A code that has a table of its own in `interface.md`, Errors, is not here. */
type ValueRule = Omit<Rule, 'status' | 'code'>;

/** Shortest life of both types, and the longest of each, in seconds. */
const MIN_LIFE_S = 30;
const MAX_LIFE_S = { point: 3 * 3600, qr: 3600 * 3600 } as const;

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
    holds: (value) => String(value).length <= 150,
    why: 'A description has at most 150 characters.',
    source: 'interface.md Limits',
  },
  {
    path: 'expiration_time',
    of: 'both',
    holds: (value, { type }) => {
      const life_s = secondsOf(String(value));
      return life_s !== null && life_s >= MIN_LIFE_S && life_s <= MAX_LIFE_S[type];
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
  ...['default_installments_cost', 'installments_cost'].map(
    (name): ValueRule => ({
      path: `config.payment_method.${name}`,
      of: 'point',
      holds: (value) => value === 'seller' || value === 'buyer',
      why: 'The seller or the buyer bears the cost of installments.',
      source: 'interface.md Order; orders-api.md §1.2',
    }),
  ),
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

const DURATION = /^P(?=\d|T\d)(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?$/;

/** Seconds of an ISO 8601 duration; months and years have no fixed length, and are none here. */
function secondsOf(text: string): number | null {
  const match = DURATION.exec(text);
  if (match === null) return null;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
}

function defaultType(order: { config?: { payment_method?: { default_type?: unknown } } }): unknown {
  return order.config?.payment_method?.default_type;
}
