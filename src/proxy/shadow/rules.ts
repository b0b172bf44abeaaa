/** The specification's rules for creating an order, as rows, in the order of judging. */
import { isObject } from '../../contract/json.ts';
import { type OrderField, orderFields, type ValueFacts } from '../../contract/order-fields.ts';
import { orderRules } from '../../contract/order-rules.ts';
import { type Site, type SiteId, sites } from '../../contract/sites.ts';
import { decimalText, minorUnits } from '../../mapping/values.ts';
import type { OrderFacts, PredictedCode, Rule } from './rule.ts';

const ORDER = 'docs/field-notes.md Spec Order';
const ERRORS = 'docs/field-notes.md Spec Errors';
const SITES = 'docs/field-notes.md Orders §10';

type Property = Pick<OrderField, 'path' | 'of' | 'kind' | 'required' | 'source'>;

/** The fields, and the elements of lists, which are objects. */
const properties: readonly Property[] = orderFields.flatMap((field) => {
  const { path, kind } = field;
  return kind === 'list' ? [field, { path: `${path}[]`, of: field.of, kind: 'object', source: field.source }] : [field];
});

/** The order itself is an object too. */
const objects: readonly Property[] = [
  { path: '', of: 'both', kind: 'object', source: ORDER },
  ...properties.filter(({ kind }) => kind === 'object'),
];

const isOfKind: Readonly<Record<OrderField['kind'], (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  'whole number': (value) => typeof value === 'number' && Number.isSafeInteger(value),
  object: isObject,
  list: Array.isArray,
};

function rows(of: Rule['of'], code: PredictedCode, status: Rule['status'] = 400) {
  return (path: string, why: string, source: string, holds: Rule['holds']): Rule => {
    return { path, of, status, code, why, source, holds };
  };
}

const named = ({ path }: Property): string => (path === '' ? 'An order' : path);

const listRules = orderFields.flatMap(({ path, of, elements }) => (elements ? [{ path, of, ...elements }] : []));
const lengthOf = (value: unknown): number | null => (Array.isArray(value) ? value.length : null);

/** In the order of judging: an empty object lacks every field, and has its own code. */
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
  ...properties.map(({ path, of, kind, source }) =>
    rows(of, 'property_type')(path, `${path} is ${kind === 'object' ? 'an' : 'a'} ${kind}.`, source, isOfKind[kind]),
  ),
  ...listRules.flatMap(({ path, of, least = 0, why, source }) =>
    least === 0 ? [] : [rows(of, 'minimum_items')(path, why, source, (value) => (lengthOf(value) ?? least) >= least)],
  ),
  ...listRules.map(({ path, of, most, why, source }) =>
    rows(of, 'maximum_items')(path, why, source, (value) => (lengthOf(value) ?? 0) <= most),
  ),
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

/** Before the site, whose rules depend on the type. */
const wholeRules: readonly Rule[] = [
  rows('both', 'empty_required_header')(
    '',
    'A create needs the header X-Idempotency-Key.',
    'docs/field-notes.md Spec Endpoints',
    (_order, { has_key }) => has_key,
  ),
  rows('both', 'bad_request')('', 'An order is a JSON object.', ERRORS, isObject),
  // A type that is no text is reported as a wrong type, with all others.
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

type SiteFacts = Pick<Site, 'has_terminals' | 'has_qr' | 'minimum_minor'>;
const NOWHERE: SiteFacts = { has_terminals: false, has_qr: false, minimum_minor: null };

/** A site that is not listed has no orders. Null for an unknown site: no rule of sites applies. */
function siteFacts(site: string | null): SiteFacts | null {
  if (site === null) return null;
  return Object.hasOwn(sites, site) ? sites[site as SiteId] : NOWHERE; // its own key
}

/** Values of fields, without the codes that have their own table (`docs/field-notes.md` Spec Errors). */
const valueRules: readonly Rule[] = orderFields.flatMap(({ path, of, rules }) =>
  rules.map(({ why, source, holds, says }): Rule => {
    const isHeld = (value: unknown, facts: OrderFacts) => holds(value as string | number, valueFacts(facts)); // the kind is judged before
    const row = rows(of, 'property_value')(path, why, source, isHeld);
    return says === undefined ? row : { ...row, says: (facts) => says(valueFacts(facts)) };
  }),
);

/** `now_ms` is 0: the tables write no months, whose length depends on their start. */
function valueFacts(facts: OrderFacts): ValueFacts {
  const minor = siteFacts(facts.site)?.minimum_minor ?? 1;
  return {
    type: facts.type,
    now_ms: 0,
    minorOf: (text) => (isAmount(text, facts) ? (minorUnits(text, facts.exponent) ?? null) : null),
    minimum: { minor, text: decimalText(minor, facts.exponent) ?? '' },
  };
}

const jointRules: readonly Rule[] = orderRules.map((rule) => ({
  ...rule,
  holds: (value, facts, order) => rule.holds(value, { ...facts, ...valueFacts(facts) }, order),
}));

/**
 * The first broken rule decides. Upstream's order of rules is not published: here header and site come first, then the
 * shape by its codes, then values, then several fields together.
 */
const rules = [...wholeRules, ...siteRules, ...shapeRules, ...valueRules, ...jointRules];

export const rulesOf: Readonly<Record<OrderFacts['type'], readonly Rule[]>> = {
  point: rules.filter((rule) => rule.of !== 'qr'),
  qr: rules.filter((rule) => rule.of !== 'point'),
};

/** Point accepts one decimal too, as one of its pages does; QR accepts two or none. */
function isAmount(text: string, { type, exponent }: OrderFacts): boolean {
  if (exponent === 0) return /^\d+$/.test(text);
  return type === 'point' ? /^\d+(?:\.\d{1,2})?$/.test(text) : /^\d+(?:\.\d{2})?$/.test(text);
}
