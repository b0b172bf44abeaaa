/** Which properties an order may have, and the rules that follow: supported, required, of the right type, and none of them empty. */
import { isObject, type PredictedCode, type Rule, siteFacts } from './rule.ts';

type Type = 'text' | 'whole number' | 'object' | 'list';

interface Property {
  path: string;
  of: Rule['of'];
  type: Type;
  required?: true;
  source: string;
}

const ORDER = 'docs/field-notes.md Spec Order';
/** Accepted besides what the specification has, because they were seen in public requests (`docs/field-notes.md` Orders §1.2). */
const PUBLIC = 'docs/field-notes.md Orders §1.2';
/** The vendor's page of cash withdrawals; the specification has the sum and not the name. */
const CASH = 'docs/field-notes.md Spec Order, total_amount; reference qr-code-ca/orders/create-order';

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

/** The elements that a list may have, where they are counted. */
const counted: readonly Pick<Rule, 'path' | 'of' | 'code' | 'why' | 'source' | 'holds'>[] = [
  least('transactions.payments', 1, 'An order has exactly one payment.', 'docs/field-notes.md Spec Limits'),
  least('transactions.cash_outs', 1, 'An order has one withdrawal or none.', CASH, 'qr'),
  most('transactions.payments', 1, 'An order has exactly one payment.', 'docs/field-notes.md Spec Limits', 'both'),
  most('transactions.cash_outs', 1, 'An order has one withdrawal or none.', CASH),
  most('items', 10, 'An order has ten items at most.', PUBLIC),
  most('items[].external_categories', 10, 'An item has ten categories at most.', PUBLIC),
  most('discounts.payment_methods', 4, 'Four methods at most have a discount.', 'docs/field-notes.md Spec Limits'),
];

/** By code in the order of judging: an object that is empty lacks everything, which its own code says. */
export const shapeRules: readonly Rule[] = [
  ...objects.map((object) =>
    rule(object, 'minimum_properties', `${named(object)} has at least one property.`, {
      holds: (value) => !isObject(value) || Object.keys(value).length > 0,
    }),
  ),
  ...objects.flatMap((object) => (['point', 'qr'] as const).flatMap((of) => supportedRule(object, of))),
  ...properties
    .filter((property) => property.required)
    .map((property) =>
      rule(property, 'required_properties', `${property.path} is required.`, {
        demands: true,
        holds: (value) => value !== undefined,
      }),
    ),
  ...properties.map((property) =>
    rule(
      property,
      'property_type',
      `${property.path} is ${property.type === 'object' ? 'an' : 'a'} ${property.type}.`,
      {
        holds: (value) => isOfType[property.type](value),
      },
    ),
  ),
  ...counted.map((row) => ({ status: 400 as const, ...row })),
];

const isOfType: Readonly<Record<Type, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  'whole number': (value) => typeof value === 'number' && Number.isSafeInteger(value),
  object: isObject,
  list: Array.isArray,
};

function rule(
  { path, of, source }: Property,
  code: PredictedCode,
  why: string,
  rest: Pick<Rule, 'holds' | 'demands' | 'culprit'>,
): Rule {
  return { path, of, status: 400, code, why, source, ...rest };
}

function named({ path }: Property): string {
  return path === '' ? 'An order' : path;
}

/** A property that the other type of order has is unsupported too. */
function supportedRule(object: Property, of: 'point' | 'qr'): Rule[] {
  if (object.of !== 'both' && object.of !== of) return [];
  const prefix = object.path === '' ? '' : `${object.path}.`;
  const names = properties
    .filter((property) => property.of === 'both' || property.of === of)
    .filter(({ path }) => path.startsWith(prefix) && /^\w+$/.test(path.slice(prefix.length)))
    .map(({ path }) => path.slice(prefix.length));
  const known = new Set(names);
  const strange = (value: unknown) => (isObject(value) ? Object.keys(value).find((key) => !known.has(key)) : undefined);
  const why = `${named(object)} of type ${of} has no properties but ${names.join(', ')}.`;
  const found = rule({ ...object, of }, 'unsupported_properties', why, {
    holds: (value) => strange(value) === undefined,
    culprit: (value) => strange(value) ?? '',
  });
  return [found];
}

function least(path: string, count: number, why: string, source: string, of: Rule['of'] = 'both') {
  const holds = (value: unknown) => !Array.isArray(value) || value.length >= count;
  return { path, of, code: 'minimum_items' as const, why, source, holds };
}

function most(path: string, count: number, why: string, source: string, of: Rule['of'] = 'qr') {
  const holds = (value: unknown) => !Array.isArray(value) || value.length <= count;
  return { path, of, code: 'maximum_items' as const, why, source, holds };
}

// Rules that hang on who asks: the header, the site, the seller's agreements, and whose the token is.

/** Before the site, because where an order may be made hangs on its type. */
export const wholeRules: readonly Rule[] = [
  {
    path: '',
    of: 'both',
    status: 400,
    code: 'empty_required_header',
    holds: (_order, { has_key }) => has_key,
    why: 'A create needs the header X-Idempotency-Key.',
    source: 'docs/field-notes.md Spec Endpoints',
  },
  {
    path: '',
    of: 'both',
    status: 400,
    code: 'bad_request',
    holds: isObject,
    why: 'An order is a JSON object.',
    source: 'docs/field-notes.md Spec Errors',
  },
  {
    path: 'type',
    of: 'both',
    status: 400,
    code: 'property_value',
    // A type that is no text is told as one of the wrong type, with all other properties.
    holds: (value) => value === 'point' || value === 'qr' || typeof value !== 'string',
    why: 'An order is of type point or qr.',
    source: 'docs/field-notes.md Spec Order',
  },
];

export const siteRules: readonly Rule[] = [
  {
    path: '',
    of: 'point',
    status: 400,
    code: 'unsupported_site',
    holds: (_order, { site }) => siteFacts(site)?.has_terminals !== false,
    why: 'Orders on terminals exist in Argentina, Brazil, Chile and Mexico.',
    source: 'docs/field-notes.md Spec Errors; docs/field-notes.md Orders §10',
  },
  {
    path: '',
    of: 'qr',
    status: 400,
    code: 'unsupported_site',
    holds: (_order, { site }) => siteFacts(site)?.has_qr !== false,
    why: 'Orders by QR exist where the currency is ARS, BRL, CLP or UYU.',
    source: 'docs/field-notes.md Spec Order, currency; docs/field-notes.md Orders §10',
  },
];

/** After the order itself was found right. */
export const serviceRules: readonly Rule[] = [
  {
    path: 'integration_data.sponsor.id',
    of: 'both',
    status: 400,
    code: 'sponsor_id_not_valid',
    holds: (value) => /^\d{1,20}$/.test(String(value)),
    why: 'A sponsor is the user id of an account, which is digits.',
    source: 'docs/field-notes.md Spec Errors',
  },
  {
    path: 'transactions.cash_outs',
    of: 'qr',
    status: 400,
    code: 'seller_configuration',
    holds: (_value, { may_hand_out_cash }) => may_hand_out_cash !== false,
    why: 'Only a seller with the agreement for it hands out cash.',
    source: 'docs/field-notes.md Spec Errors',
  },
  {
    path: 'marketplace_fee',
    of: 'both',
    status: 400,
    code: 'marketplace_not_valid',
    holds: (_value, { is_oauth }) => is_oauth !== false,
    why: 'A fee is for tokens that came from OAuth.',
    source: 'docs/field-notes.md Spec Authentication 4',
  },
  {
    path: 'marketplace_fee',
    of: 'both',
    status: 404,
    code: 'marketplace_fee_not_allowed',
    holds: (_value, { is_marketplace }) => is_marketplace !== false,
    why: 'A fee is for the application of a marketplace.',
    source: 'docs/field-notes.md Spec Errors',
  },
];
