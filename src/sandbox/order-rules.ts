/** What a create of a Point order may say, and the checks that both types of order share. Source: `docs/field-notes.md` Spec Order, `docs/field-notes.md` Orders §1.2. */

import { durationMs } from '../contract/duration.ts';
import { isWithinCharacters, POINT_PRO_ID } from '../contract/identifiers.ts';
import type { Json } from '../contract/json.ts';
import type { Problem } from './answer.ts';
import type { Settings } from './assumptions.ts';
import { type JsonObject as Fields, isObject } from './call.ts';
import { amountText, parseAmount } from './money.ts';
import type { Site } from './sites.ts';

export interface PointOrderRequest {
  type: 'point';
  external_reference: string;
  description?: string;
  expiration_time?: string;
  marketplace_fee?: string;
  transactions: { payments: [{ amount: string }] };
  config: {
    point: { terminal_id: string; print_on_terminal?: string; ticket_number?: string };
    payment_method?: Record<string, Json>;
  };
  integration_data?: Record<string, Json>;
}

/** `docs/field-notes.md` Spec Limits: PT30S to PT3H, PT15M when nothing is said. */
export const DEFAULT_EXPIRATION = 'PT15M';
const MAX_EXPIRATION_MS = 3 * 3_600_000;

/** @returns the request, or the refusal of its first fault. The caller has looked at the type. */
export function checkPointOrder(body: Fields, circumstances: Circumstances): { request: PointOrderRequest } | Problem {
  const problem = checkProperties(body, pointOrder, circumstances) ?? checkSponsor(body);
  if (problem !== undefined) return problem;
  return { request: body as unknown as PointOrderRequest }; // the tree has just proved this shape
}

export const pattern =
  (regex: RegExp) =>
  (value: string): boolean =>
    regex.test(value);
export const oneOf =
  (...values: string[]) =>
  (value: string): boolean =>
    values.includes(value);

/** Fields that Point and QR have in common. */
export const commonProperties: ObjectProperty['properties'] = {
  type: { kind: 'string', required: true },
  external_reference: { kind: 'string', required: true, check: pattern(/^[A-Za-z0-9_-]{1,64}$/) },
  description: { kind: 'string', check: (value) => isWithinCharacters(value, 150) },
};

export const one = (): number => 1;

/** Who bears the cost of installments; the second spelling is not in the specification (`docs/field-notes.md` Orders §1.2). */
export const installmentsCost: Record<string, Property> = {
  default_installments_cost: { kind: 'string', check: oneOf('seller', 'buyer') },
  installments_cost: {
    kind: 'string',
    isKnown: (settings) => settings.installments_cost === 'as_seen',
    check: oneOf('seller', 'buyer'),
  },
};

/** @returns the path of a cost that the terminal does not know. */
function costOfAnotherModel({ point, payment_method }: Fields, { settings }: Circumstances): string | null {
  if (settings.installments_cost === 'as_seen' || !isObject(point) || !isObject(payment_method)) return null;
  const isAsked = payment_method.default_installments_cost !== undefined;
  return isAsked && !POINT_PRO_ID.test(String(point.terminal_id)) ? 'payment_method.default_installments_cost' : null;
}

/** The fields that Point takes. */
const pointOrder: ObjectProperty = {
  kind: 'object',
  properties: {
    ...commonProperties,
    expiration_time: { kind: 'string', check: livesAtMost(MAX_EXPIRATION_MS) },
    marketplace_fee: { kind: 'string', check: isAmount('point') },
    transactions: {
      kind: 'object',
      required: true,
      properties: {
        payments: {
          kind: 'array',
          required: true,
          min: 1,
          max: one,
          item: {
            kind: 'object',
            properties: { amount: { kind: 'string', required: true, check: isPayable('point') } },
          },
        },
      },
    },
    config: {
      kind: 'object',
      required: true,
      properties: {
        point: {
          kind: 'object',
          required: true,
          properties: {
            terminal_id: {
              kind: 'string',
              required: true,
              check: pattern(/^[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__[A-Za-z0-9-]+$/),
            },
            print_on_terminal: { kind: 'string', check: oneOf('seller_ticket', 'no_ticket') },
            ticket_number: { kind: 'string' },
          },
        },
        payment_method: {
          kind: 'object',
          properties: {
            default_type: { kind: 'string', check: oneOf('credit_card', 'debit_card', 'qr') },
            default_installments: { kind: 'integer', check: (value) => value >= 1 },
            ...installmentsCost,
          },
          check: (fields) =>
            'default_installments' in fields && fields.default_type !== 'credit_card' ? 'default_installments' : null,
        },
      },
      check: costOfAnotherModel,
    },
    integration_data: {
      kind: 'object',
      properties: {
        platform_id: { kind: 'string' },
        integrator_id: { kind: 'string' },
        sponsor: { kind: 'object', properties: { id: { kind: 'string', required: true } } },
      },
    },
  },
};

/** A check that the text is an amount as orders of this type write it. */
export function isAmount(type: 'point' | 'qr') {
  return (value: string, { site, settings }: Circumstances): boolean =>
    parseAmount(value, site.exponent, type, settings.amounts) !== null;
}

/** A check that it is more than nothing, and where there is a minimum, no less; with its message (`docs/field-notes.md` Orders §10). */
export function isPayable(type: 'point' | 'qr') {
  return (value: string, { site, settings }: Circumstances): boolean | string => {
    const minor = parseAmount(value, site.exponent, type, settings.amounts);
    if (minor === null) return false;
    const minimum_minor = (settings.minimum_amounts === 'as_seen' ? site.minimum_minor : null) ?? 1;
    return minor >= minimum_minor || `Must be greater than or equal to ${amountText(minimum_minor, site.exponent)}`;
  };
}

/** `docs/field-notes.md` Spec Limits: 30 seconds for both types; the longest differs. */
const MIN_EXPIRATION_MS = 30_000;

/** A check that the text is a duration of 30 seconds to this long. */
export function livesAtMost(max_ms: number) {
  return (value: string, { now_ms }: Circumstances): boolean => {
    const lifetime_ms = durationMs(value, now_ms);
    return lifetime_ms !== null && lifetime_ms >= MIN_EXPIRATION_MS && lifetime_ms <= max_ms;
  };
}

/** A sponsor is a user id. */
export function checkSponsor(body: Fields): Problem | undefined {
  const data = body.integration_data;
  const sponsor = isObject(data) ? data.sponsor : undefined;
  if (!isObject(sponsor) || (typeof sponsor.id === 'string' && /^\d{1,20}$/.test(sponsor.id))) return undefined;
  return {
    status: 400,
    code: 'sponsor_id_not_valid',
    message: 'The sponsor is not valid',
    details: ['integration_data.sponsor.id'],
  };
}

// A tree of the properties that a request may have, and the documented refusal of whatever does not fit it. Source:
// `docs/field-notes.md` Spec Errors.

/** What decides beside the request: the seller's site, what the sandbox was set to, and its time in epoch milliseconds. */
export interface Circumstances {
  site: Site;
  settings: Settings;
  now_ms: number;
}

interface AnyProperty {
  required?: true;
  /** Without it the property is known always. */
  isKnown?: (settings: Settings) => boolean;
}

/** A check of a text answers false or the message of the refusal; a check of an object answers the path of the culprit. */
export type Property =
  | (AnyProperty & { kind: 'string'; check?: (value: string, circumstances: Circumstances) => boolean | string })
  | (AnyProperty & { kind: 'integer'; check?: (value: number) => boolean })
  | ObjectProperty
  | (AnyProperty & { kind: 'array'; min: number; max: (settings: Settings) => number; item: Property });

export interface ObjectProperty extends AnyProperty {
  kind: 'object';
  properties: Record<string, Property>;
  check?: (value: Fields, circumstances: Circumstances) => string | null;
}

/** @returns the refusal of the first kind of fault, in the order of `codesInOrder`, with every path it occurs at. */
export function checkProperties(body: Fields, tree: ObjectProperty, circumstances: Circumstances): Problem | undefined {
  const found: Found[] = [];
  checkObject(body, tree, '', circumstances, found);
  return firstProblem(found);
}

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

function checkObject(
  fields: Fields,
  property: ObjectProperty,
  path: string,
  circumstances: Circumstances,
  found: Found[],
): void {
  if (Object.keys(fields).length === 0) {
    found.push({ code: 'minimum_properties', path });
    return;
  }
  const prefix = path === '' ? '' : `${path}.`;
  const known = Object.entries(property.properties).filter(
    ([, { isKnown }]) => isKnown?.(circumstances.settings) ?? true,
  );
  for (const name of Object.keys(fields)) {
    if (!known.some(([other]) => other === name)) found.push({ code: 'unsupported_properties', path: prefix + name });
  }
  for (const [name, child] of known) {
    const value = fields[name];
    if (value !== undefined) checkValue(value, child, prefix + name, circumstances, found);
    else if (child.required) found.push({ code: 'required_properties', path: prefix + name });
  }
  const wrong = property.check?.(fields, circumstances) ?? null;
  if (wrong !== null) found.push({ code: 'property_value', path: prefix + wrong });
}

function checkValue(value: Json, property: Property, path: string, circumstances: Circumstances, found: Found[]): void {
  const add = (code: PropertyCode, message?: string): void => {
    found.push(message === undefined ? { code, path } : { code, path, message });
  };
  if (property.kind === 'object' && isObject(value)) checkObject(value, property, path, circumstances, found);
  else if (property.kind === 'array' && Array.isArray(value)) {
    if (value.length < property.min) add('minimum_items');
    else if (value.length > property.max(circumstances.settings)) add('maximum_items');
    for (const [index, item] of value.entries())
      checkValue(item, property.item, `${path}[${index}]`, circumstances, found);
  } else if (property.kind === 'integer' && typeof value === 'number') {
    if (property.check?.(value) === false) add('property_value');
  } else if (property.kind === 'string' && typeof value === 'string') {
    const verdict = property.check?.(value, circumstances) ?? true;
    if (verdict === false) add('property_value');
    else if (typeof verdict === 'string') add('property_value', verdict);
  } else add('property_type');
}

function firstProblem(found: Found[]): Problem | undefined {
  for (const code of codesInOrder) {
    const same = found.filter((entry) => entry.code === code);
    if (same.length > 0)
      return problemOf(
        code,
        same.map((entry) => entry.path),
        same.find((entry) => entry.message)?.message,
      );
  }
  return undefined;
}
