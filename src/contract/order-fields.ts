/**
 * The fields of a create of an order: one row for each field of both types, with the rules of its value. The sandbox
 * refuses by these rows, and the shadow predicts refusals from them. Rules of several fields: `order-rules.ts`.
 */
import { durationMs } from './duration.ts';
import { isWithinCharacters, ORDER_REFERENCE } from './identifiers.ts';
import { qrModes } from './orders.ts';

export interface OrderField {
  /** `[]` means each element of a list; elements are objects. */
  path: string;
  of: 'point' | 'qr' | 'both';
  kind: 'text' | 'whole number' | 'object' | 'list';
  required?: true;
  source: string;
  /** Of a value of the right kind, in the order of their checks. */
  rules: readonly ValueRule[];
  elements?: Elements;
}

interface Reasoned {
  why: string;
  source: string;
  /** A limit that was observed and that the specification does not have. */
  is_seen?: true;
}

interface ValueRule extends Reasoned {
  /**
   * Called only with a value of the row's kind; false breaks the rule, and upstream is expected to refuse the create.
   */
  holds(value: string | number, facts: ValueFacts): boolean;
  /** Upstream's own message, where it is known. */
  says?(facts: ValueFacts): string;
}

interface Elements extends Reasoned {
  least?: number;
  most: number;
}

export interface ValueFacts {
  type: 'point' | 'qr';
  /** Epoch ms: the length of a month depends on it. */
  now_ms: number;
  /** Minor units of an amount as orders of this type write it; null for any other text. */
  minorOf(text: string): number | null;
  /** The least amount of an order, as decimal text and in minor units. */
  minimum: { text: string; minor: number };
}

const ORDER = 'docs/field-notes.md Spec Order';
const LIMITS = 'docs/field-notes.md Spec Limits';
/** Accepted besides the specification, because public requests have them. */
const PUBLIC = 'docs/field-notes.md Orders §1.2';
/** Upstream's page of cash withdrawals; the specification has the sum, not the name. */
const CASH = 'docs/field-notes.md Spec Order, total_amount; reference qr-code-ca/orders/create-order';

const MIN_LIFE_MS = 30_000;
const MAX_LIFE_MS = { point: 3 * 3_600_000, qr: 3600 * 3_600_000 } as const;

const rule = (why: string, holds: ValueRule['holds'], source = ORDER): ValueRule => ({ why, source, holds });
const oneOf = (why: string, ...values: readonly string[]): ValueRule =>
  rule(why, (value) => values.includes(String(value)));
const matches = (why: string, pattern: RegExp, source = ORDER): ValueRule =>
  rule(why, (value) => pattern.test(String(value)), source);
const within = (why: string, most: number): ValueRule =>
  rule(why, (value) => isWithinCharacters(String(value), most), LIMITS);
const isText = (why: string, most: number): ValueRule =>
  rule(why, (value) => value !== '' && isWithinCharacters(String(value), most), LIMITS);
const isCounted = (why: string): ValueRule => rule(why, (value) => Number(value) >= 1);
const isAmount = (why: string, source = ORDER): ValueRule =>
  rule(why, (value, { minorOf }) => minorOf(String(value)) !== null, source);
const isPositive = (why: string, source = ORDER): ValueRule =>
  rule(why, (value, { minorOf }) => (minorOf(String(value)) ?? 0) > 0, source);

/** Makes the rows of fields of one type of order, or of both. */
function fieldsOf(fixed: Pick<OrderField, 'of' | 'required'>) {
  const field =
    (kind: OrderField['kind']) =>
    (path: string, ...rules: ValueRule[]): OrderField => ({ path, kind, source: ORDER, rules, ...fixed });
  const list = (path: string, elements: Elements): OrderField => ({ ...field('list')(path), elements });
  return { text: field('text'), whole: field('whole number'), object: field('object'), list };
}

const both = fieldsOf({ of: 'both' });
const bothNeeded = fieldsOf({ of: 'both', required: true });
const point = fieldsOf({ of: 'point' });
const pointNeeded = fieldsOf({ of: 'point', required: true });
const qr = fieldsOf({ of: 'qr' });
const qrNeeded = fieldsOf({ of: 'qr', required: true });
const from = (source: string, one: OrderField): OrderField => ({ ...one, source });

const onePayment: Elements = { least: 1, most: 1, why: 'An order has exactly one payment.', source: LIMITS };
const oneWithdrawal: Elements = { least: 1, most: 1, why: 'An order has one withdrawal or none.', source: CASH };
const seen = { source: PUBLIC, is_seen: true } as const;
const fourMethods: Elements = { most: 4, why: 'Four methods at most have a discount.', source: LIMITS };

const lifetime = rule(
  'A lifetime is an ISO 8601 duration of PT30S to PT3H on a terminal, and to 3600 hours by QR.',
  (value, { type, now_ms }) => {
    const life_ms = durationMs(String(value), now_ms);
    return life_ms !== null && life_ms >= MIN_LIFE_MS && life_ms <= MAX_LIFE_MS[type];
  },
  LIMITS,
);
const aboveMinimum: ValueRule = {
  why: 'An amount is not below the minimum of its site, and never zero.',
  source: 'docs/field-notes.md Orders §10',
  holds: (value, { minorOf, minimum }) => (minorOf(String(value)) ?? 0) >= minimum.minor,
  says: ({ minimum }) => `Must be greater than or equal to ${minimum.text}`,
};
const AMOUNTS = 'docs/field-notes.md Spec Order; docs/field-notes.md Orders §11';
const TOTAL = 'docs/field-notes.md Spec Order, total_amount';
const TERMINAL_NAME = /^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__[A-Za-z0-9-]+$/;
const discountMethods = ['debit_card', 'credit_card', 'account_money', 'prepaid_card'];

export const orderFields: readonly OrderField[] = [
  bothNeeded.text('type'),
  bothNeeded.text(
    'external_reference',
    matches('A reference has 1 to 64 letters, digits, hyphens and underscores.', ORDER_REFERENCE, LIMITS),
  ),
  both.text('description', within('A description has at most 150 characters.', 150)),
  both.text('expiration_time', lifetime),
  qr.text('total_amount', isAmount('A total is a decimal text with two decimals or none, as the currency has them.')),
  both.text(
    'marketplace_fee',
    isAmount('A fee is a decimal text with two decimals or none, as the currency has them.'),
  ),

  bothNeeded.object('transactions'),
  pointNeeded.list('transactions.payments', onePayment),
  from(CASH, qr.list('transactions.payments', onePayment)),
  bothNeeded.text(
    'transactions.payments[].amount',
    isAmount('An amount is a decimal text with two decimals or none, as the currency has them.', AMOUNTS),
    aboveMinimum,
  ),
  from(CASH, qr.list('transactions.cash_outs', oneWithdrawal)),
  from(
    CASH,
    qrNeeded.text(
      'transactions.cash_outs[].amount',
      isPositive('A withdrawal is a decimal text above zero, with two decimals or none.', TOTAL),
    ),
  ),

  bothNeeded.object('config'),
  pointNeeded.object('config.point'),
  pointNeeded.text(
    'config.point.terminal_id',
    matches('The id of a terminal is its type and its serial with two underscores between them.', TERMINAL_NAME),
  ),
  point.text(
    'config.point.print_on_terminal',
    oneOf('A terminal prints seller_ticket or no_ticket.', 'seller_ticket', 'no_ticket'),
  ),
  from(PUBLIC, point.text('config.point.ticket_number')),
  point.object('config.payment_method'),
  point.text(
    'config.payment_method.default_type',
    oneOf('The type of a payment at a terminal is credit_card, debit_card or qr.', 'credit_card', 'debit_card', 'qr'),
  ),
  point.whole('config.payment_method.default_installments', isCounted('A payment has at least one installment.')),
  point.text(
    'config.payment_method.default_installments_cost',
    oneOf('The seller or the buyer bears the cost of installments.', 'seller', 'buyer'),
  ),
  qrNeeded.object('config.qr'),
  qrNeeded.text(
    'config.qr.external_pos_id',
    rule('A point of sale is named by its external id.', (value) => value !== ''),
  ),
  qr.text('config.qr.mode', oneOf('A code shows static, dynamic or hybrid.', ...qrModes)),

  qr.list('items', { most: 10, why: 'An order has ten items at most.', ...seen }),
  qrNeeded.text('items[].title', isText('The title of an item has 1 to 150 characters.', 150)),
  qrNeeded.text(
    'items[].unit_price',
    isAmount('A price is a decimal text with two decimals or none, as the currency has them.'),
  ),
  qrNeeded.whole('items[].quantity', isCounted('The quantity of an item is one or more.')),
  qrNeeded.text('items[].unit_measure', isText('The measure of an item has 1 to 10 characters.', 10)),
  qr.text('items[].external_code', {
    ...within('The code of an item has at most 30 characters.', 30),
    ...seen,
  }),
  qr.list('items[].external_categories', { most: 10, why: 'An item has ten categories at most.', ...seen }),
  qrNeeded.text('items[].external_categories[].id'),

  qr.object('discounts'),
  qr.list('discounts.payment_methods', fourMethods),
  qrNeeded.text(
    'discounts.payment_methods[].new_total_amount',
    isPositive('A new total is a decimal text above zero, with two decimals or none.'),
  ),
  qrNeeded.text(
    'discounts.payment_methods[].type',
    oneOf('Discounts are for debit_card, credit_card, account_money and prepaid_card.', ...discountMethods),
  ),

  both.object('integration_data'),
  both.text('integration_data.platform_id'),
  point.text('integration_data.integrator_id'),
  qr.text('integration_data.integrator_id', matches('By QR the id of an integrator begins with dev_.', /^dev_./)),
  both.object('integration_data.sponsor'),
  bothNeeded.text('integration_data.sponsor.id'),
];
