/** What a create of an order may say: one table of the fields of both types, and the rules between fields. Source: `docs/field-notes.md` Spec Order, Spec Errors, Orders §1.2, reference qr-code-ca/orders/create-order. */

import { durationMs } from '../contract/duration.ts';
import { isWithinCharacters, ORDER_REFERENCE, POINT_PRO_ID } from '../contract/identifiers.ts';
import type { Json } from '../contract/json.ts';
import { type QrMode, qrModes } from '../contract/orders.ts';
import type { Problem } from './answer.ts';
import type { Settings } from './assumptions.ts';
import { isObject, type JsonObject } from './call.ts';
import { amountText, minorUnits, parseAmount } from './money.ts';
import type { Merchant } from './records.ts';
import type { Site } from './sites.ts';

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
  /** At least one of the two: `payments` may be missing when money is withdrawn without a sale. */
  transactions: { payments?: [{ amount: string }]; cash_outs?: [{ amount: string }] };
  config: { qr: { external_pos_id: string; mode?: QrMode }; payment_method?: JsonObject };
  items?: { [key: string]: unknown; external_categories?: unknown[] }[];
  discounts?: { payment_methods?: { type: string; new_total_amount: string }[] };
}

/** What decides beside the request: the seller, what the sandbox was set to, and its time in epoch milliseconds. */
export interface Circumstances {
  type: 'point' | 'qr';
  merchant: Merchant;
  settings: Settings;
  now_ms: number;
}

/** @returns the request, or the refusal of its first fault. */
export function checkOrder(
  body: JsonObject,
  circumstances: Circumstances,
): { request: PointOrderRequest | QrOrderRequest } | Problem {
  const found: Found[] = [];
  checkObject(body, '', undefined, circumstances, found);
  const problem = firstProblem(found) ?? checkSponsor(body);
  if (problem !== undefined) return problem;
  const request = body as unknown as PointOrderRequest | QrOrderRequest; // the table has just proved this shape
  return (request.type === 'qr' ? checkQr(request, circumstances.merchant) : undefined) ?? { request };
}

// The table.

type Check<Value, Verdict> = (value: Value, circumstances: Circumstances) => Verdict;

interface Field {
  /** `[]` stands for each element of a list; elements are objects. */
  path: string;
  /** Of both types when missing. */
  of?: 'point' | 'qr';
  required?: true;
  /** Without it the field is known always. */
  isKnown?: (settings: Settings) => boolean;
}

/** A check of a text answers false or the message of the refusal; a check of an object answers the path of the culprit. */
type Rule = Field &
  (
    | { kind: 'text'; check?: Check<string, boolean | string> }
    | { kind: 'whole'; check?: Check<number, boolean> }
    | { kind: 'object'; check?: Check<JsonObject, string | null> }
    | { kind: 'list'; least: number; most: (settings: Settings) => number }
  );

const required = true;
const oneOf =
  (...values: readonly string[]) =>
  (value: string): boolean =>
    values.includes(value);
const within =
  (most: number) =>
  (value: string): boolean =>
    isWithinCharacters(value, most);
/** What is required says something. */
const isText =
  (most: number) =>
  (value: string): boolean =>
    value !== '' && isWithinCharacters(value, most);
const isCounted = (value: number): boolean => value >= 1;
const one = { least: 1, most: () => 1 };
/** Limits of items that were seen (`docs/field-notes.md` Orders §1.2); the specification has none (setting `item_limits`). */
const seenLimit =
  (most: number) =>
  ({ item_limits }: Settings): number =>
    item_limits === 'as_seen' ? most : Number.POSITIVE_INFINITY;
const isCode: Check<string, boolean> = (value, { settings }) => isWithinCharacters(value, seenLimit(30)(settings));
const isTerminalId = (value: string): boolean => /^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__[A-Za-z0-9-]+$/.test(value);
const discountMethods = ['debit_card', 'credit_card', 'account_money', 'prepaid_card'];
const HOUR_MS = 3_600_000;
/** `docs/field-notes.md` Spec Limits: PT15M when nothing is said. */
export const DEFAULT_EXPIRATION = 'PT15M';
const MIN_EXPIRATION_MS = 30_000;

/** A check that the text is a duration of 30 seconds to this long (`docs/field-notes.md` Spec Limits). */
function livesAtMost(max_ms: number): Check<string, boolean> {
  return (value, { now_ms }) => {
    const lifetime_ms = durationMs(value, now_ms);
    return lifetime_ms !== null && lifetime_ms >= MIN_EXPIRATION_MS && lifetime_ms <= max_ms;
  };
}

/** Minor units of an amount as orders of this type write it; null for any other text. */
function minorOf(value: string, { merchant, type, settings }: Circumstances): number | null {
  return parseAmount(value, merchant.site.exponent, type, settings.amounts);
}

const isAmount: Check<string, boolean> = (value, circumstances) => minorOf(value, circumstances) !== null;
const isPositive: Check<string, boolean> = (value, circumstances) => (minorOf(value, circumstances) ?? 0) > 0;

/** More than nothing, and where there is a minimum, no less; with its message (`docs/field-notes.md` Orders §10). */
const isPayable: Check<string, boolean | string> = (value, circumstances) => {
  const minor = minorOf(value, circumstances);
  if (minor === null) return false;
  const { site } = circumstances.merchant;
  const minimum_minor = (circumstances.settings.minimum_amounts === 'as_seen' ? site.minimum_minor : null) ?? 1;
  return minor >= minimum_minor || `Must be greater than or equal to ${amountText(minimum_minor, site.exponent)}`;
};

/** The cost of installments is for some terminals alone (setting `installments_cost`). */
function costOfAnotherModel({ point, payment_method }: JsonObject, { settings }: Circumstances): string | null {
  if (settings.installments_cost === 'as_seen' || !isObject(point) || !isObject(payment_method)) return null;
  const isAsked = payment_method.default_installments_cost !== undefined;
  return isAsked && !POINT_PRO_ID.test(String(point.terminal_id)) ? 'payment_method.default_installments_cost' : null;
}

/** Installments go with a credit card alone. */
function installmentsOfAnother({ default_installments, default_type }: JsonObject): string | null {
  return default_installments !== undefined && default_type !== 'credit_card' ? 'default_installments' : null;
}

/** The specification has instalments for Point (`docs/field-notes.md` Spec Order); a page of the vendor refuses discounts beside `installments_cost`, so QR knows it there. */
const knowsInstallments = ({ qr_installments }: Settings): boolean => qr_installments === 'accepted';
/** The second spelling of the cost is not in the specification (`docs/field-notes.md` Orders §1.2). */
const knowsSecondSpelling = ({ installments_cost }: Settings): boolean => installments_cost === 'as_seen';

const rules: readonly Rule[] = [
  { path: 'type', kind: 'text', required },
  { path: 'external_reference', kind: 'text', required, check: (value) => ORDER_REFERENCE.test(value) },
  { path: 'description', kind: 'text', check: within(150) },
  { path: 'expiration_time', of: 'point', kind: 'text', check: livesAtMost(3 * HOUR_MS) },
  { path: 'expiration_time', of: 'qr', kind: 'text', check: livesAtMost(3600 * HOUR_MS) },
  { path: 'total_amount', of: 'qr', kind: 'text', check: isAmount },
  { path: 'marketplace_fee', kind: 'text', check: isAmount },
  { path: 'transactions', kind: 'object', required },
  { path: 'transactions.payments', of: 'point', kind: 'list', required, ...one },
  { path: 'transactions.payments', of: 'qr', kind: 'list', ...one },
  { path: 'transactions.payments[].amount', kind: 'text', required, check: isPayable },
  { path: 'transactions.cash_outs', of: 'qr', kind: 'list', ...one },
  { path: 'transactions.cash_outs[].amount', of: 'qr', kind: 'text', required, check: isPositive },
  { path: 'config', kind: 'object', required, check: costOfAnotherModel },
  { path: 'config.point', of: 'point', kind: 'object', required },
  { path: 'config.point.terminal_id', of: 'point', kind: 'text', required, check: isTerminalId },
  { path: 'config.point.print_on_terminal', of: 'point', kind: 'text', check: oneOf('seller_ticket', 'no_ticket') },
  { path: 'config.point.ticket_number', of: 'point', kind: 'text' },
  { path: 'config.qr', of: 'qr', kind: 'object', required },
  { path: 'config.qr.external_pos_id', of: 'qr', kind: 'text', required, check: (value) => value !== '' },
  { path: 'config.qr.mode', of: 'qr', kind: 'text', check: oneOf(...qrModes) },
  { path: 'config.payment_method', of: 'point', kind: 'object', check: installmentsOfAnother },
  { path: 'config.payment_method', of: 'qr', kind: 'object', isKnown: knowsInstallments },
  {
    path: 'config.payment_method.default_type',
    of: 'point',
    kind: 'text',
    check: oneOf('credit_card', 'debit_card', 'qr'),
  },
  { path: 'config.payment_method.default_installments', kind: 'whole', check: isCounted },
  { path: 'config.payment_method.default_installments_cost', kind: 'text', check: oneOf('seller', 'buyer') },
  {
    path: 'config.payment_method.installments_cost',
    kind: 'text',
    isKnown: knowsSecondSpelling,
    check: oneOf('seller', 'buyer'),
  },
  { path: 'items', of: 'qr', kind: 'list', least: 0, most: seenLimit(10) },
  { path: 'items[].title', of: 'qr', kind: 'text', required, check: isText(150) },
  { path: 'items[].unit_price', of: 'qr', kind: 'text', required, check: isAmount },
  { path: 'items[].quantity', of: 'qr', kind: 'whole', required, check: isCounted },
  { path: 'items[].unit_measure', of: 'qr', kind: 'text', required, check: isText(10) },
  { path: 'items[].external_code', of: 'qr', kind: 'text', check: isCode },
  { path: 'items[].external_categories', of: 'qr', kind: 'list', least: 0, most: seenLimit(10) },
  { path: 'items[].external_categories[].id', of: 'qr', kind: 'text', required },
  { path: 'discounts', of: 'qr', kind: 'object' },
  { path: 'discounts.payment_methods', of: 'qr', kind: 'list', least: 0, most: () => 4 },
  { path: 'discounts.payment_methods[].new_total_amount', of: 'qr', kind: 'text', required, check: isPositive },
  { path: 'discounts.payment_methods[].type', of: 'qr', kind: 'text', required, check: oneOf(...discountMethods) },
  { path: 'integration_data', kind: 'object' },
  { path: 'integration_data.platform_id', kind: 'text' },
  { path: 'integration_data.integrator_id', of: 'point', kind: 'text' },
  { path: 'integration_data.integrator_id', of: 'qr', kind: 'text', check: (value) => /^dev_./.test(value) },
  { path: 'integration_data.sponsor', kind: 'object' },
  { path: 'integration_data.sponsor.id', kind: 'text', required },
];

/** The rules of one type by the path of the object that they are of, with the name of each there. */
const rulesOf = { point: byObject('point'), qr: byObject('qr') };

function byObject(type: 'point' | 'qr'): ReadonlyMap<string, readonly { name: string; rule: Rule }[]> {
  const tree = new Map<string, { name: string; rule: Rule }[]>();
  for (const rule of rules.filter(({ of }) => of === undefined || of === type)) {
    const [, parent = '', name = ''] = /^(?:(.*)\.)?([^.]+)$/.exec(rule.path) ?? [];
    tree.set(parent, [...(tree.get(parent) ?? []), { name, rule }]);
  }
  return tree;
}

// The walk over a body, and the documented refusal of whatever does not fit the table.

interface Found {
  code: PropertyCode;
  path: string;
  message?: string;
}

/** The first of these that occurs is answered, with every path it occurs at. The live order is not known. */
const codesInOrder = [
  'minimum_properties',
  'unsupported_properties',
  'required_properties',
  'property_type',
  'minimum_items',
  'maximum_items',
  'property_value',
] as const;
export type PropertyCode = (typeof codesInOrder)[number];

const messages: Readonly<Record<PropertyCode, string>> = {
  minimum_properties: 'The minimum number of properties was not sent',
  unsupported_properties: 'The following properties are not supported',
  required_properties: 'The following properties are required',
  property_type: 'The following properties have a wrong type',
  minimum_items: 'Too few items',
  maximum_items: 'Too many items',
  property_value: 'The following value is not valid',
};

/** A 400 with one of the codes about properties. */
export function problemOf(code: PropertyCode, details: string[], message: string = messages[code]): Problem {
  return { status: 400, code, message, details };
}

/** @param path as the refusal names it, with the numbers of elements. */
function checkObject(
  fields: JsonObject,
  path: string,
  rule: Rule | undefined,
  circumstances: Circumstances,
  found: Found[],
): void {
  if (Object.keys(fields).length === 0) {
    found.push({ code: 'minimum_properties', path });
    return;
  }
  const prefix = path === '' ? '' : `${path}.`;
  const { settings, type } = circumstances;
  const all = rulesOf[type].get(path.replaceAll(/\[\d+\]/g, '[]')) ?? [];
  const known = all.filter((child) => child.rule.isKnown?.(settings) ?? true);
  for (const name of Object.keys(fields)) {
    if (!known.some((child) => child.name === name))
      found.push({ code: 'unsupported_properties', path: prefix + name });
  }
  for (const child of known) {
    const value = fields[child.name];
    if (value !== undefined) checkValue(value, child.rule, prefix + child.name, circumstances, found);
    else if (child.rule.required) found.push({ code: 'required_properties', path: prefix + child.name });
  }
  const wrong = rule?.kind === 'object' ? (rule.check?.(fields, circumstances) ?? null) : null;
  if (wrong !== null) found.push({ code: 'property_value', path: prefix + wrong });
}

function checkValue(value: Json, rule: Rule, path: string, circumstances: Circumstances, found: Found[]): void {
  const add = (code: PropertyCode): void => void found.push({ code, path });
  if (rule.kind === 'object' && isObject(value)) checkObject(value, path, rule, circumstances, found);
  else if (rule.kind === 'list' && Array.isArray(value)) {
    if (value.length < rule.least) add('minimum_items');
    else if (value.length > rule.most(circumstances.settings)) add('maximum_items');
    for (const [index, item] of value.entries()) {
      const at = `${path}[${index}]`;
      if (isObject(item)) checkObject(item, at, undefined, circumstances, found);
      else found.push({ code: 'property_type', path: at });
    }
  } else if (rule.kind === 'whole' && typeof value === 'number') {
    if (rule.check?.(value, circumstances) === false) add('property_value');
  } else if (rule.kind === 'text' && typeof value === 'string') {
    const verdict = rule.check?.(value, circumstances) ?? true;
    if (typeof verdict === 'string') found.push({ code: 'property_value', path, message: verdict });
    else if (!verdict) add('property_value');
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

// The rules between fields.

/** A sponsor is a user id. */
function checkSponsor({ integration_data: data }: JsonObject): Problem | undefined {
  const sponsor = isObject(data) ? data.sponsor : undefined;
  if (!isObject(sponsor) || (typeof sponsor.id === 'string' && /^\d{1,20}$/.test(sponsor.id))) return undefined;
  const message = 'The sponsor is not valid';
  return { status: 400, code: 'sponsor_id_not_valid', message, details: ['integration_data.sponsor.id'] };
}

/** Minor units of what is paid, what is withdrawn, and both; of a request that has been checked. */
export function amountsOf(request: QrOrderRequest, site: Site): { paid: number; withdrawn: number; total: number } {
  const minor = (list: [{ amount: string }] | undefined) => minorUnits(list?.[0].amount ?? '0', site.exponent) ?? 0;
  const paid = minor(request.transactions.payments);
  const withdrawn = minor(request.transactions.cash_outs);
  return { paid, withdrawn, total: paid + withdrawn };
}

function checkQr(request: QrOrderRequest, merchant: Merchant): Problem | undefined {
  return checkTotals(request, merchant.site) ?? checkDiscounts(request) ?? checkWithdrawal(request, merchant);
}

/** The total is the sum of the transactions, and a discount lowers it without touching the cash. */
function checkTotals(request: QrOrderRequest, site: Site): Problem | undefined {
  const { withdrawn, total } = amountsOf(request, site);
  const { total_amount } = request;
  if (total_amount !== undefined && minorUnits(total_amount, site.exponent) !== total) {
    return problemOf('property_value', ['total_amount'], 'The total_amount must be the sum of the transactions');
  }
  const wrong = (request.discounts?.payment_methods ?? []).findIndex(({ new_total_amount }) => {
    const new_minor = minorUnits(new_total_amount, site.exponent) ?? 0;
    return new_minor > total || new_minor < withdrawn;
  });
  if (wrong === -1) return undefined;
  return problemOf('property_value', [`discounts.payment_methods[${wrong}].new_total_amount`]);
}

/** Which code is for the two exclusions is shown for installments alone; `bad_request` covers invalid fields in general. */
function checkDiscounts(request: QrOrderRequest): Problem | undefined {
  if (request.discounts === undefined) return undefined;
  const index = (request.items ?? []).findIndex((entry) => entry.external_categories !== undefined);
  const method = request.config.payment_method ?? {};
  const cost = ['installments_cost', 'default_installments_cost'].find((name) => method[name] !== undefined);
  if (index !== -1) {
    const details = ['discounts', `items[${index}].external_categories`];
    return {
      status: 400,
      code: 'bad_request',
      message: 'discounts and external_categories do not go together',
      details,
    };
  }
  if (cost === undefined) return undefined;
  const message = 'discounts and installments_cost do not go together';
  const details = ['discounts', `config.payment_method.${cost}`];
  return { status: 400, code: 'discounts_not_allowed_with_installments', message, details };
}

/** Only sellers with an agreement may hand out cash (`docs/field-notes.md` Spec Errors). */
function checkWithdrawal(request: QrOrderRequest, merchant: Merchant): Problem | undefined {
  if (request.transactions.cash_outs === undefined || merchant.may_hand_out_cash) return undefined;
  const message = 'The seller is not authorized for cash withdrawal';
  return { status: 400, code: 'seller_configuration', message, details: ['transactions.cash_outs'] };
}
