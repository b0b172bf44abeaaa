/**
 * The checks of an order's body: the tables of `contract`, and what settings of the sandbox change. Source:
 * `docs/field-notes.md` Spec Order, Spec Errors, Orders §1.2, reference qr-code-ca/orders/create-order.
 */

import { isObject, type Json, type JsonObject } from '../contract/json.ts';
import { type OrderField, orderFields, type ValueFacts } from '../contract/order-fields.ts';
import { installmentsCostRule, type OrderRule, orderRules, type SellerFacts } from '../contract/order-rules.ts';
import type { QrMode } from '../contract/orders.ts';
import type { Site } from '../contract/sites.ts';
import type { Problem } from './answer.ts';
import type { Settings } from './assumptions.ts';
import { amountText, minorUnits, parseAmount } from './money.ts';
import type { Merchant } from './records.ts';

interface AnyOrderRequest {
  external_reference: string;
  description?: string;
  expiration_time?: string;
  marketplace_fee?: string;
  integration_data?: JsonObject;
}

export interface PointOrderRequest extends AnyOrderRequest {
  type: 'point';
  transactions: { payments: [{ amount: string }] };
  config: {
    point: { terminal_id: string; print_on_terminal?: string; ticket_number?: string };
    payment_method?: JsonObject;
  };
}

export interface QrOrderRequest extends AnyOrderRequest {
  type: 'qr';
  total_amount?: string;
  /** At least one of the two: an order for a cash withdrawal alone has no `payments`. */
  transactions: { payments?: [{ amount: string }]; cash_outs?: [{ amount: string }] };
  config: { qr: { external_pos_id: string; mode?: QrMode }; payment_method?: JsonObject };
  items?: { [key: string]: unknown; external_categories?: unknown[] }[];
  discounts?: { payment_methods?: { type: string; new_total_amount: string }[] };
}

/** What the checks need beside the body; `now_ms` is the sandbox's time in epoch milliseconds. */
interface Circumstances {
  type: 'point' | 'qr';
  merchant: Merchant;
  /** Whether the token came from OAuth. */
  is_oauth: boolean;
  settings: Settings;
  now_ms: number;
}

/** @returns the request, or the refusal of its first fault. */
export function checkOrder(
  body: JsonObject,
  circumstances: Circumstances,
): { request: PointOrderRequest | QrOrderRequest } | Problem {
  const walk: Walk = { circumstances, facts: factsOf(circumstances), order: body, found: [], broken: [] };
  checkObject(body, '', walk);
  const problem = firstProblem(walk.found) ?? checkDiscounts(body) ?? firstBroken(walk.broken);
  if (problem !== undefined) return problem;
  return { request: body as unknown as PointOrderRequest | QrOrderRequest }; // the table has just proved this shape
}

// The table of fields.

/** A field as the sandbox checks it: some are not in the specification, and some depend on a setting. */
interface Field extends OrderField {
  /** Missing: the field is always known. */
  isKnown?: (settings: Settings) => boolean;
}

/** `docs/field-notes.md` Spec Limits. */
export const DEFAULT_EXPIRATION = 'PT15M';

/** Specified for Point (`docs/field-notes.md` Spec Order). A QR page refuses discounts beside `installments_cost`. */
const knowsInstallments = ({ qr_installments }: Settings): boolean => qr_installments === 'accepted';
/** The specification does not have the second spelling of the cost (`docs/field-notes.md` Orders §1.2). */
const knowsSecondSpelling = ({ installments_cost }: Settings): boolean => installments_cost === 'as_seen';

const METHOD = /^config\.payment_method(?:\.default_installments(?:_cost)?)?$/;
const ofPoint = orderFields.filter(({ path }) => METHOD.test(path));
const secondSpelling = ofPoint
  .filter(({ path }) => path.endsWith('_cost'))
  .map(
    (field): Field => ({
      ...field,
      path: 'config.payment_method.installments_cost',
      of: 'both',
      isKnown: knowsSecondSpelling,
    }),
  );
const fields: readonly Field[] = [
  ...orderFields,
  ...ofPoint.map((field): Field => ({ ...field, of: 'qr', isKnown: knowsInstallments })),
  ...secondSpelling,
];

/** What the rules depend on. */
function factsOf({ merchant, is_oauth, type, settings, now_ms }: Circumstances): ValueFacts & SellerFacts {
  const { site, has_marketplace, may_hand_out_cash } = merchant;
  const minor = (settings.minimum_amounts === 'as_seen' ? site.minimum_minor : null) ?? 1;
  return {
    type,
    now_ms,
    minorOf: (text) => parseAmount(text, site.exponent, type, settings.amounts),
    minimum: { minor, text: amountText(minor, site.exponent) },
    is_oauth,
    is_marketplace: has_marketplace,
    may_hand_out_cash,
  };
}

/** Fields of each type by the path of their parent object. */
const fieldsOf = { point: byObject('point'), qr: byObject('qr') };

function byObject(type: 'point' | 'qr'): ReadonlyMap<string, readonly { name: string; field: Field }[]> {
  const tree = new Map<string, { name: string; field: Field }[]>();
  for (const field of fields.filter(({ of }) => of === 'both' || of === type)) {
    const [, parent = '', name = ''] = /^(?:(.*)\.)?([^.]+)$/.exec(field.path) ?? [];
    tree.set(parent, [...(tree.get(parent) ?? []), { name, field }]);
  }
  return tree;
}

// Checks of a body against the table, and the documented refusals.

interface Found {
  code: PropertyCode;
  path: string;
  message?: string;
}

/** The first of these codes that occurs is answered, with every path where it occurs. The live order is not known. */
const codesInOrder = [
  'minimum_properties',
  'unsupported_properties',
  'required_properties',
  'property_type',
  'minimum_items',
  'maximum_items',
  'property_value',
] as const;
type PropertyCode = (typeof codesInOrder)[number];

const messages: Readonly<Record<PropertyCode, string>> = {
  minimum_properties: 'The minimum number of properties was not sent',
  unsupported_properties: 'The following properties are not supported',
  required_properties: 'The following properties are required',
  property_type: 'The following properties have a wrong type',
  minimum_items: 'Too few items',
  maximum_items: 'Too many items',
  property_value: 'The following value is not valid',
};

/** A refusal with status 400. @param details the paths of the fields that break the rule. */
export function problemOf(code: PropertyCode, details: string[], message: string = messages[code]): Problem {
  return { status: 400, code, message, details };
}

interface Walk {
  circumstances: Circumstances;
  facts: ValueFacts & SellerFacts;
  order: JsonObject;
  found: Found[];
  /** Rules of `order-rules.ts` that do not hold, and where. */
  broken: { rule: OrderRule; path: string }[];
}

/** @param path as refusals name it, with element numbers. */
function checkObject(fields: JsonObject, path: string, walk: Walk): void {
  const { circumstances, found } = walk;
  if (Object.keys(fields).length === 0) return void found.push({ code: 'minimum_properties', path });
  const prefix = path === '' ? '' : `${path}.`;
  const all = fieldsOf[circumstances.type].get(path.replaceAll(/\[\d+\]/g, '[]')) ?? [];
  const known = all.filter(({ field }) => field.isKnown?.(circumstances.settings) ?? true);
  for (const name of Object.keys(fields)) {
    if (!known.some((child) => child.name === name))
      found.push({ code: 'unsupported_properties', path: prefix + name });
  }
  for (const { name, field } of known) {
    const value = fields[name];
    if (value !== undefined) {
      checkValue(value, field, prefix + name, walk);
      checkRules(value, field, prefix + name, walk);
    } else if (field.required) found.push({ code: 'required_properties', path: prefix + name });
  }
}

function checkValue(value: Json, { kind, rules, elements }: Field, path: string, walk: Walk): void {
  const { circumstances, facts, found } = walk;
  const add = (code: PropertyCode): void => void found.push({ code, path });
  /** Limits seen live apply only by the setting `item_limits`. */
  const isInForce = ({ is_seen }: { is_seen?: true }) => !is_seen || circumstances.settings.item_limits === 'as_seen';
  if (kind === 'object' && isObject(value)) checkObject(value, path, walk);
  else if (kind === 'list' && Array.isArray(value)) {
    if (elements !== undefined && value.length < (elements.least ?? 0)) add('minimum_items');
    else if (elements !== undefined && isInForce(elements) && value.length > elements.most) add('maximum_items');
    for (const [index, item] of value.entries()) {
      const at = `${path}[${index}]`;
      if (isObject(item)) checkObject(item, at, walk);
      else found.push({ code: 'property_type', path: at });
    }
  } else if (
    (kind === 'text' && typeof value === 'string') ||
    (kind === 'whole number' && typeof value === 'number' && Number.isInteger(value))
  ) {
    const broken = rules.find((rule) => isInForce(rule) && !rule.holds(value, facts));
    if (broken !== undefined)
      found.push({ code: 'property_value', path, ...(broken.says && { message: broken.says(facts) }) });
  } else add('property_type');
}

function firstProblem(found: Found[]): Problem | undefined {
  const code = codesInOrder.find((one) => found.some((entry) => entry.code === one));
  if (code === undefined) return undefined;
  const same = found.filter((entry) => entry.code === code);
  return problemOf(
    code,
    same.map(({ path }) => path),
    same.find(({ message }) => message)?.message,
  );
}

// The rules between fields, and of the seller.

function checkRules(value: Json, field: Field, path: string, { circumstances, facts, order, broken }: Walk): void {
  for (const rule of orderRules) {
    if (rule.path !== field.path || (rule.of !== 'both' && rule.of !== circumstances.type)) continue;
    // Only some terminals take the cost of installments (setting `installments_cost`).
    if (rule === installmentsCostRule && circumstances.settings.installments_cost === 'as_seen') continue;
    if (!rule.holds(value, facts, order)) broken.push({ rule, path });
  }
}

/** In the order of the table. */
function firstBroken(broken: Walk['broken']): Problem | undefined {
  const [first] = broken.toSorted((one, other) => orderRules.indexOf(one.rule) - orderRules.indexOf(other.rule));
  if (first === undefined) return undefined;
  const { status, code, why } = first.rule;
  return { status, code, message: why, details: [first.path] };
}

/** The pages show this code; the specification has no cost of installments by QR. */
function checkDiscounts({ discounts, config }: JsonObject): Problem | undefined {
  const method = isObject(config) && isObject(config.payment_method) ? config.payment_method : {};
  const cost = ['installments_cost', 'default_installments_cost'].find((name) => method[name] !== undefined);
  if (discounts === undefined || cost === undefined) return undefined;
  const message = 'discounts and installments_cost do not go together';
  const details = ['discounts', `config.payment_method.${cost}`];
  return { status: 400, code: 'discounts_not_allowed_with_installments', message, details };
}

/** Minor units: the payment, the withdrawal, and their sum. The request has been checked. */
export function amountsOf(request: QrOrderRequest, site: Site): { paid: number; withdrawn: number; total: number } {
  const minor = (list: [{ amount: string }] | undefined) => minorUnits(list?.[0].amount ?? '0', site.exponent) ?? 0;
  const paid = minor(request.transactions.payments);
  const withdrawn = minor(request.transactions.cash_outs);
  return { paid, withdrawn, total: paid + withdrawn };
}
