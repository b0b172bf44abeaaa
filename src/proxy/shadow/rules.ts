/** The rules of the specification for creating an order, as rows, in the order in which they are judged. */
import { durationMs } from '../../contract/duration.ts';
import { isWithinCharacters, POINT_PRO_ID } from '../../contract/identifiers.ts';
import { decimalText, minorUnits } from '../../mapping/values.ts';
import { isObject, type OrderFacts, type PredictedCode, type Rule, siteFacts } from './rule.ts';

const ORDER = 'docs/field-notes.md Spec Order';
const LIMITS = 'docs/field-notes.md Spec Limits';
const ERRORS = 'docs/field-notes.md Spec Errors';
const SITES = 'docs/field-notes.md Orders §10';
/** Accepted besides the specification, because public requests have them (`docs/field-notes.md` Orders §1.2). */
const PUBLIC = 'docs/field-notes.md Orders §1.2';
/** Upstream's page of cash withdrawals; the specification has the sum and not the name. */
const CASH = 'docs/field-notes.md Spec Order, total_amount; reference qr-code-ca/orders/create-order';

type Type = 'text' | 'whole number' | 'object' | 'list';

interface Property {
  path: string;
  of: Rule['of'];
  type: Type;
  required?: true;
  source: string;
}

const properties: readonly Property[] = [
  { path: 'type', of: 'both', type: 'text', required: true, source: ORDER },
  { path: 'external_reference', of: 'both', type: 'text', required: true, source: ORDER },
  { path: 'description', of: 'both', type: 'text', source: ORDER },
  { path: 'expiration_time', of: 'both', type: 'text', source: ORDER },
  { path: 'total_amount', of: 'qr', type: 'text', source: ORDER },
  { path: 'marketplace_fee', of: 'both', type: 'text', source: ORDER },
  { path: 'transactions', of: 'both', type: 'object', required: true, source: ORDER },
  { path: 'transactions.payments', of: 'point', type: 'list', required: true, source: ORDER },
  { path: 'transactions.payments', of: 'qr', type: 'list', source: CASH },
  { path: 'transactions.payments[]', of: 'both', type: 'object', source: ORDER },
  { path: 'transactions.payments[].amount', of: 'both', type: 'text', required: true, source: ORDER },
  { path: 'transactions.cash_outs', of: 'qr', type: 'list', source: CASH },
  { path: 'transactions.cash_outs[]', of: 'qr', type: 'object', source: CASH },
  { path: 'transactions.cash_outs[].amount', of: 'qr', type: 'text', required: true, source: CASH },
  { path: 'config', of: 'both', type: 'object', required: true, source: ORDER },
  { path: 'config.point', of: 'point', type: 'object', required: true, source: ORDER },
  { path: 'config.point.terminal_id', of: 'point', type: 'text', required: true, source: ORDER },
  { path: 'config.point.print_on_terminal', of: 'point', type: 'text', source: ORDER },
  { path: 'config.point.ticket_number', of: 'point', type: 'text', source: PUBLIC },
  { path: 'config.payment_method', of: 'point', type: 'object', source: ORDER },
  { path: 'config.payment_method.default_type', of: 'point', type: 'text', source: ORDER },
  { path: 'config.payment_method.default_installments', of: 'point', type: 'whole number', source: ORDER },
  { path: 'config.payment_method.default_installments_cost', of: 'point', type: 'text', source: ORDER },
  { path: 'config.qr', of: 'qr', type: 'object', required: true, source: ORDER },
  { path: 'config.qr.external_pos_id', of: 'qr', type: 'text', required: true, source: ORDER },
  { path: 'config.qr.mode', of: 'qr', type: 'text', source: ORDER },
  { path: 'items', of: 'qr', type: 'list', source: ORDER },
  { path: 'items[]', of: 'qr', type: 'object', source: ORDER },
  { path: 'items[].title', of: 'qr', type: 'text', required: true, source: ORDER },
  { path: 'items[].unit_price', of: 'qr', type: 'text', required: true, source: ORDER },
  { path: 'items[].quantity', of: 'qr', type: 'whole number', required: true, source: ORDER },
  { path: 'items[].unit_measure', of: 'qr', type: 'text', required: true, source: ORDER },
  { path: 'items[].external_code', of: 'qr', type: 'text', source: ORDER },
  { path: 'items[].external_categories', of: 'qr', type: 'list', source: ORDER },
  { path: 'items[].external_categories[]', of: 'qr', type: 'object', source: ORDER },
  { path: 'items[].external_categories[].id', of: 'qr', type: 'text', required: true, source: ORDER },
  { path: 'discounts', of: 'qr', type: 'object', source: ORDER },
  { path: 'discounts.payment_methods', of: 'qr', type: 'list', source: ORDER },
  { path: 'discounts.payment_methods[]', of: 'qr', type: 'object', source: ORDER },
  { path: 'discounts.payment_methods[].new_total_amount', of: 'qr', type: 'text', required: true, source: ORDER },
  { path: 'discounts.payment_methods[].type', of: 'qr', type: 'text', required: true, source: ORDER },
  { path: 'integration_data', of: 'both', type: 'object', source: ORDER },
  { path: 'integration_data.platform_id', of: 'both', type: 'text', source: ORDER },
  { path: 'integration_data.integrator_id', of: 'both', type: 'text', source: ORDER },
  { path: 'integration_data.sponsor', of: 'both', type: 'object', source: ORDER },
  { path: 'integration_data.sponsor.id', of: 'both', type: 'text', required: true, source: ORDER },
];

/** The order itself is an object like those inside it. */
const objects: readonly Property[] = [
  { path: '', of: 'both', type: 'object', source: ORDER },
  ...properties.filter((property) => property.type === 'object'),
];

const isOfType: Readonly<Record<Type, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  'whole number': (value) => typeof value === 'number' && Number.isSafeInteger(value),
  object: isObject,
  list: Array.isArray,
};

/** @returns what makes a row: path, sentence, source, and the test. */
function rows(of: Rule['of'], code: PredictedCode, status: Rule['status'] = 400) {
  return (path: string, why: string, source: string, holds: Rule['holds']): Rule => {
    return { path, of, status, code, why, source, holds };
  };
}

const named = ({ path }: Property): string => (path === '' ? 'An order' : path);

const atLeast = (count: number) => (value: unknown) => !Array.isArray(value) || value.length >= count;
const atMost = (count: number) => (value: unknown) => !Array.isArray(value) || value.length <= count;

/** By code in the order of judging: an empty object lacks everything, which its own code says. */
const shapeRules: readonly Rule[] = [
  ...objects.map((object) =>
    rows(object.of, 'minimum_properties')(
      object.path,
      `${named(object)} has at least one property.`,
      object.source,
      (value) => !isObject(value) || Object.keys(value).length > 0,
    ),
  ),
  ...objects.flatMap((object) => (['point', 'qr'] as const).flatMap((of) => supportedRule(object, of))),
  ...properties
    .filter((property) => property.required)
    .map(({ path, of, source }): Rule => {
      const row = rows(of, 'required_properties')(path, `${path} is required.`, source, (value) => value !== undefined);
      return { ...row, demands: true };
    }),
  ...properties.map(({ path, of, type, source }) =>
    rows(of, 'property_type')(path, `${path} is ${type === 'object' ? 'an' : 'a'} ${type}.`, source, isOfType[type]),
  ),
  rows('both', 'minimum_items')('transactions.payments', 'An order has exactly one payment.', LIMITS, atLeast(1)),
  rows('qr', 'minimum_items')('transactions.cash_outs', 'An order has one withdrawal or none.', CASH, atLeast(1)),
  rows('both', 'maximum_items')('transactions.payments', 'An order has exactly one payment.', LIMITS, atMost(1)),
  rows('qr', 'maximum_items')('transactions.cash_outs', 'An order has one withdrawal or none.', CASH, atMost(1)),
  rows('qr', 'maximum_items')('items', 'An order has ten items at most.', PUBLIC, atMost(10)),
  rows('qr', 'maximum_items')('items[].external_categories', 'An item has ten categories at most.', PUBLIC, atMost(10)),
  rows('qr', 'maximum_items')('discounts.payment_methods', 'Four methods at most have a discount.', LIMITS, atMost(4)),
];

/** A property that only the other type of order has is unsupported too. */
function supportedRule(object: Property, of: 'point' | 'qr'): Rule[] {
  if (object.of !== 'both' && object.of !== of) return [];
  const prefix = object.path === '' ? '' : `${object.path}.`;
  const names = properties
    .filter((property) => property.of === 'both' || property.of === of)
    .filter(({ path }) => path.startsWith(prefix) && /^\w+$/.test(path.slice(prefix.length)))
    .map(({ path }) => path.slice(prefix.length));
  const strange = (value: unknown) =>
    isObject(value) ? Object.keys(value).find((key) => !names.includes(key)) : undefined;
  const why = `${named(object)} of type ${of} has no properties but ${names.join(', ')}.`;
  const holds = (value: unknown) => strange(value) === undefined;
  const row = rows(of, 'unsupported_properties')(object.path, why, object.source, holds);
  return [{ ...row, culprit: (value) => strange(value) ?? '' }];
}

/** Before the site, because where an order may be made depends on its type. */
const wholeRules: readonly Rule[] = [
  rows('both', 'empty_required_header')(
    '',
    'A create needs the header X-Idempotency-Key.',
    'docs/field-notes.md Spec Endpoints',
    (_order, { has_key }) => has_key,
  ),
  rows('both', 'bad_request')('', 'An order is a JSON object.', ERRORS, isObject),
  // A type that is no text is reported as a property of the wrong type, with all others.
  rows('both', 'property_value')('type', 'An order is of type point or qr.', ORDER, (value) => {
    return value === 'point' || value === 'qr' || typeof value !== 'string';
  }),
];

const siteRules: readonly Rule[] = [
  rows('point', 'unsupported_site')(
    '',
    'Orders on terminals exist in Argentina, Brazil, Chile and Mexico.',
    `${ERRORS}; ${SITES}`,
    (_order, { site }) => siteFacts(site)?.has_terminals !== false,
  ),
  rows('qr', 'unsupported_site')(
    '',
    'Orders by QR exist where the currency is ARS, BRL, CLP or UYU.',
    `docs/field-notes.md Spec Order, currency; ${SITES}`,
    (_order, { site }) => siteFacts(site)?.has_qr !== false,
  ),
];

const isOneOf =
  (...values: string[]) =>
  (value: unknown) =>
    values.includes(String(value));
const isText = (most: number) => (value: unknown) => value !== '' && isWithinCharacters(String(value), most);

/** Shortest life of both types, and the longest of each. */
const MIN_LIFE_MS = 30_000;
const MAX_LIFE_MS = { point: 3 * 3_600_000, qr: 3600 * 3_600_000 } as const;

/** A code that has a table of its own in `docs/field-notes.md` Spec Errors is not here. */
const both = rows('both', 'property_value');
const point = rows('point', 'property_value');

const valueRules: readonly Rule[] = [
  both('external_reference', 'A reference has 1 to 64 letters, digits, hyphens and underscores.', LIMITS, (value) =>
    /^[A-Za-z0-9_-]{1,64}$/.test(String(value)),
  ),
  both('description', 'A description has at most 150 characters.', LIMITS, (value) =>
    isWithinCharacters(String(value), 150),
  ),
  both(
    'expiration_time',
    'A lifetime is an ISO 8601 duration of PT30S to PT3H on a terminal, and to 3600 hours by QR.',
    LIMITS,
    (value, { type }) => {
      const life_ms = durationMs(String(value), 0); // the tables write no months, whose length depends on their start
      return life_ms !== null && life_ms >= MIN_LIFE_MS && life_ms <= MAX_LIFE_MS[type];
    },
  ),
  both(
    'transactions.payments[].amount',
    'An amount is a decimal text with two decimals or none, as the currency has them.',
    'docs/field-notes.md Spec Order; docs/field-notes.md Orders §11',
    isAmount,
  ),
  {
    ...both(
      'transactions.payments[].amount',
      'An amount is not below the least one of its site, and never nothing.',
      SITES,
      (value, facts) => (minorUnits(value, facts.exponent) ?? 0) >= minimumOf(facts),
    ),
    says: (facts) => `Must be greater than or equal to ${decimalText(minimumOf(facts), facts.exponent)}`,
  },
  both(
    'marketplace_fee',
    'A fee is a decimal text with two decimals or none, as the currency has them.',
    ORDER,
    isAmount,
  ),
  point(
    'config.point.terminal_id',
    'The id of a terminal is its type and its serial with two underscores between them.',
    ORDER,
    (value) => /^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__[A-Za-z0-9-]+$/.test(String(value)),
  ),
  point(
    'config.point.print_on_terminal',
    'A terminal prints seller_ticket or no_ticket.',
    ORDER,
    isOneOf('seller_ticket', 'no_ticket'),
  ),
  point(
    'config.payment_method.default_type',
    'A terminal is asked for credit_card, debit_card or qr.',
    ORDER,
    isOneOf('credit_card', 'debit_card', 'qr'),
  ),
  point(
    'config.payment_method.default_installments',
    'A payment has at least one installment.',
    ORDER,
    (value) => Number(value) >= 1,
  ),
  point(
    'config.payment_method.default_installments',
    'Installments are chosen beforehand with default_type credit_card only.',
    ORDER,
    (_value, _facts, order: { config?: { payment_method?: { default_type?: unknown } } }) =>
      order.config?.payment_method?.default_type === 'credit_card',
  ),
  point(
    'config.payment_method.default_installments_cost',
    'The seller or the buyer bears the cost of installments.',
    ORDER,
    isOneOf('seller', 'buyer'),
  ),
  point(
    'config.payment_method.default_installments_cost',
    'Who bears the cost of installments can be said on Point Pro 2 and Point Pro 3 alone.',
    ORDER,
    (_value, _facts, { config }) =>
      POINT_PRO_ID.test(isObject(config) && isObject(config.point) ? String(config.point.terminal_id) : ''),
  ),
];

const qr = rows('qr', 'property_value');

const qrRules: readonly Rule[] = [
  qr('total_amount', 'A total is a decimal text with two decimals or none, as the currency has them.', ORDER, isAmount),
  qr(
    'transactions.cash_outs[].amount',
    'A withdrawal is a decimal text above nothing, with two decimals or none.',
    'docs/field-notes.md Spec Order, total_amount',
    isPositiveAmount,
  ),
  qr('config.qr.external_pos_id', 'A point of sale is named by its external id.', ORDER, (value) => value !== ''),
  qr('config.qr.mode', 'A code shows static, dynamic or hybrid.', ORDER, isOneOf('static', 'dynamic', 'hybrid')),
  qr('items[].title', 'The title of an item has 1 to 150 characters.', LIMITS, isText(150)),
  qr(
    'items[].unit_price',
    'A price is a decimal text with two decimals or none, as the currency has them.',
    ORDER,
    isAmount,
  ),
  qr('items[].quantity', 'The quantity of an item is one or more.', ORDER, (value) => Number(value) >= 1),
  qr('items[].unit_measure', 'The measure of an item has 1 to 10 characters.', LIMITS, isText(10)),
  qr('items[].external_code', 'The code of an item has at most 30 characters.', PUBLIC, (value) =>
    isWithinCharacters(String(value), 30),
  ),
  qr(
    'discounts.payment_methods[].new_total_amount',
    'A new total is a decimal text above nothing, with two decimals or none.',
    ORDER,
    isPositiveAmount,
  ),
  qr(
    'discounts.payment_methods[].type',
    'Discounts are for debit_card, credit_card, account_money and prepaid_card.',
    ORDER,
    isOneOf('debit_card', 'credit_card', 'account_money', 'prepaid_card'),
  ),
  qr('integration_data.integrator_id', 'By QR the id of an integrator begins with dev_.', ORDER, (value) =>
    /^dev_./.test(String(value)),
  ),
  qr('total_amount', 'The total is the sum of the payment and the withdrawal.', ORDER, (value, facts, order) => {
    return minorUnits(value, facts.exponent) === sumOf(order.transactions, LISTS, facts);
  }),
  qr(
    'discounts.payment_methods[].new_total_amount',
    'A discount makes the total no greater, and takes nothing off the withdrawal.',
    'docs/field-notes.md Spec Order, total_amount and discounts',
    (value, facts, { transactions }) => {
      const minor = minorUnits(value, facts.exponent) ?? 0;
      return minor <= sumOf(transactions, LISTS, facts) && minor >= sumOf(transactions, ['cash_outs'], facts);
    },
  ),
  rows('qr', 'bad_request')(
    'discounts',
    'Discounts and categories of items do not go together; no code is named for it, so it is the general one.',
    ORDER,
    (_value, _facts, { items }) =>
      !Array.isArray(items) || !items.some((item) => isObject(item) && item.external_categories !== undefined),
  ),
];

/** Judged last: they depend on the seller's agreements and on whose the token is. */
const sellerRules: readonly Rule[] = [
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

/**
 * The first broken rule is the verdict. Upstream's own order is not published: the header and the site come first here,
 * then the shape by its codes, then values, then what several fields say together.
 */
const rules = [...wholeRules, ...siteRules, ...shapeRules, ...valueRules, ...qrRules, ...sellerRules];

/** The rules of one type of order. */
export const rulesOf: Readonly<Record<OrderFacts['type'], readonly Rule[]>> = {
  point: rules.filter((rule) => rule.of !== 'qr'),
  qr: rules.filter((rule) => rule.of !== 'point'),
};

/** Point accepts one decimal too, as one of its pages does; QR accepts two or none. */
function isAmount(value: unknown, { type, exponent }: OrderFacts): boolean {
  const text = String(value);
  if (exponent === 0) return /^\d+$/.test(text);
  return type === 'point' ? /^\d+(?:\.\d{1,2})?$/.test(text) : /^\d+(?:\.\d{2})?$/.test(text);
}

function isPositiveAmount(value: unknown, facts: OrderFacts): boolean {
  return isAmount(value, facts) && (minorUnits(value, facts.exponent) ?? 0) > 0;
}

function minimumOf({ site }: OrderFacts): number {
  return siteFacts(site)?.minimum_minor ?? 1;
}

/** The lists whose sum is the total. */
const LISTS = ['payments', 'cash_outs'] as const;

/** Minor units of the lists together. */
function sumOf(transactions: unknown, names: readonly (typeof LISTS)[number][], { exponent }: OrderFacts): number {
  if (!isObject(transactions)) return 0;
  const lists = names.map((name) => transactions[name]).filter((list) => Array.isArray(list));
  const elements: unknown[] = lists.flat();
  return elements.reduce<number>((sum, one) => sum + (isObject(one) ? (minorUnits(one.amount, exponent) ?? 0) : 0), 0);
}
