/** What a create of a Point order may say: a tree of properties, and the documented refusal of whatever does not fit it. */
import type { Json } from '../contract/json.ts';
import type { Problem } from './answer.ts';
import type { Merchant } from './cast.ts';
import { parseDuration } from './dates.ts';
import { amountText, parseAmount } from './money.ts';

export interface PointOrderRequest {
  external_reference: string;
  description?: string;
  expiration_time?: string;
  transactions: { payments: [{ amount: string }] };
  config: {
    point: { terminal_id: string; print_on_terminal?: string; ticket_number?: string };
    payment_method?: Record<string, Json>;
  };
  integration_data?: Record<string, Json>;
}

/** `interface.md` Limits: PT30S to PT3H, PT15M when nothing is said. */
export const DEFAULT_EXPIRATION = 'PT15M';
const MIN_EXPIRATION_MS = 30_000;
const MAX_EXPIRATION_MS = 3 * 3_600_000;

/** @returns the request, or the refusal of its first fault in the order of `codesInOrder`. */
export function checkPointOrder(body: Json, merchant: Merchant): { request: PointOrderRequest } | { problem: Problem } {
  if (!isObject(body))
    return { problem: { status: 400, code: 'bad_request', message: 'The body must be a JSON object' } };
  const { type } = body;
  if (typeof type === 'string' && type !== 'point') return { problem: problemOf('property_value', ['type']) };
  const found: Found[] = [];
  checkObject(body, pointOrder, '', merchant, found);
  const problem = firstProblem(found) ?? checkMarketplace(body) ?? checkSponsor(body);
  if (problem !== undefined) return { problem };
  return { request: body as unknown as PointOrderRequest }; // the tree above has just proved this shape
}

interface Found {
  code: (typeof codesInOrder)[number];
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

const messages: Readonly<Record<Found['code'], string>> = {
  minimum_properties: 'The minimum number of properties was not sent',
  unsupported_properties: 'The following properties are not supported',
  required_properties: 'The following properties are required',
  property_type: 'The following properties have a wrong type',
  minimum_items: 'Too few items',
  maximum_items: 'Too many items',
  property_value: 'The following value is not valid',
};

type Property =
  | { kind: 'string'; required?: true; check?: (value: string, merchant: Merchant) => boolean | string }
  | { kind: 'integer'; required?: true; check?: (value: number) => boolean }
  | { kind: 'object'; required?: true; properties: Record<string, Property>; check?: (value: Fields) => string | null }
  | { kind: 'array'; required?: true; min: number; max: number; item: Property };

type Fields = { [key: string]: Json };

const pattern =
  (regex: RegExp) =>
  (value: string): boolean =>
    regex.test(value);
const oneOf =
  (...values: string[]) =>
  (value: string): boolean =>
    values.includes(value);

/** `interface.md` Order, the fields that Point takes; installments cost in all spellings of `orders-api.md` §1.2. */
const pointOrder: Extract<Property, { kind: 'object' }> = {
  kind: 'object',
  properties: {
    type: { kind: 'string', required: true },
    external_reference: { kind: 'string', required: true, check: pattern(/^[A-Za-z0-9_-]{1,64}$/) },
    description: { kind: 'string', check: (value) => value.length <= 150 },
    expiration_time: { kind: 'string', check: isAllowedExpiration },
    marketplace_fee: { kind: 'string', check: (value) => parseAmount(value) !== null },
    transactions: {
      kind: 'object',
      required: true,
      properties: {
        payments: {
          kind: 'array',
          required: true,
          min: 1,
          max: 1,
          item: { kind: 'object', properties: { amount: { kind: 'string', required: true, check: checkAmount } } },
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
            default_installments_cost: { kind: 'string', check: oneOf('seller', 'buyer') },
            installments_cost: { kind: 'string', check: oneOf('seller', 'buyer') },
          },
          check: (fields) =>
            'default_installments' in fields && fields.default_type !== 'credit_card' ? 'default_installments' : null,
        },
      },
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

function checkObject(
  fields: Fields,
  property: Extract<Property, { kind: 'object' }>,
  path: string,
  merchant: Merchant,
  found: Found[],
): void {
  if (Object.keys(fields).length === 0) {
    found.push({ code: 'minimum_properties', path });
    return;
  }
  const prefix = path === '' ? '' : `${path}.`;
  for (const name of Object.keys(fields)) {
    if (!Object.hasOwn(property.properties, name)) found.push({ code: 'unsupported_properties', path: prefix + name });
  }
  for (const [name, child] of Object.entries(property.properties)) {
    const value = fields[name];
    if (value !== undefined) checkValue(value, child, prefix + name, merchant, found);
    else if (child.required) found.push({ code: 'required_properties', path: prefix + name });
  }
  const wrong = property.check?.(fields) ?? null;
  if (wrong !== null) found.push({ code: 'property_value', path: prefix + wrong });
}

function checkValue(value: Json, property: Property, path: string, merchant: Merchant, found: Found[]): void {
  const add = (code: Found['code'], message?: string): void => {
    found.push(message === undefined ? { code, path } : { code, path, message });
  };
  if (property.kind === 'object' && isObject(value)) checkObject(value, property, path, merchant, found);
  else if (property.kind === 'array' && Array.isArray(value)) {
    if (value.length < property.min) add('minimum_items');
    else if (value.length > property.max) add('maximum_items');
    for (const [index, item] of value.entries()) checkValue(item, property.item, `${path}[${index}]`, merchant, found);
  } else if (property.kind === 'integer' && typeof value === 'number') {
    if (property.check?.(value) === false) add('property_value');
  } else if (property.kind === 'string' && typeof value === 'string') {
    const verdict = property.check?.(value, merchant) ?? true;
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

/** A 400 with one of the codes about properties. */
export function problemOf(code: Found['code'], details: string[], message: string = messages[code]): Problem {
  return { status: 400, code, message, details };
}

function checkAmount(value: string, merchant: Merchant): boolean | string {
  const minor = parseAmount(value);
  if (minor === null) return false;
  const minimum_minor = merchant.site.minimum_minor ?? 1;
  return minor >= minimum_minor || `Must be greater than or equal to ${amountText(minimum_minor)}`;
}

function isAllowedExpiration(value: string): boolean {
  const lifetime_ms = parseDuration(value);
  return lifetime_ms !== null && lifetime_ms >= MIN_EXPIRATION_MS && lifetime_ms <= MAX_EXPIRATION_MS;
}

/** No token of the cast was obtained through OAuth, so no marketplace can be identified (`interface.md` Authentication 4). */
function checkMarketplace(body: Fields): Problem | undefined {
  if (body.marketplace_fee === undefined) return undefined;
  return {
    status: 400,
    code: 'marketplace_not_valid',
    message: 'The marketplace is not valid',
    details: ['marketplace_fee'],
  };
}

/** A sponsor is a user id. */
function checkSponsor(body: Fields): Problem | undefined {
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

/** True for a JSON object; an exact number is not one. */
export function isObject(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
