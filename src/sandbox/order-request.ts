/** What a create of a Point order may say, and the checks that both types of order share. Source: `interface.md` Order, `orders-api.md` §1.2. */
import { isWithinCharacters } from '../contract/characters.ts';
import { durationMs } from '../contract/duration.ts';
import { POINT_PRO_ID } from '../contract/identifiers.ts';
import type { Json } from '../contract/json.ts';
import type { Problem } from './answer.ts';
import { amountText, parseAmount } from './money.ts';
import {
  type Circumstances,
  checkProperties,
  type Fields,
  isObject,
  type ObjectProperty,
  type Property,
} from './property-tree.ts';

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

/** `interface.md` Limits: PT30S to PT3H, PT15M when nothing is said. */
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

/** Who bears the cost of installments; the second spelling is in no table of `interface.md` (`orders-api.md` §1.2). */
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

/** A check that it is more than nothing, and where there is a minimum, no less; with its message (`orders-api.md` §10). */
export function isPayable(type: 'point' | 'qr') {
  return (value: string, { site, settings }: Circumstances): boolean | string => {
    const minor = parseAmount(value, site.exponent, type, settings.amounts);
    if (minor === null) return false;
    const minimum_minor = (settings.minimum_amounts === 'as_seen' ? site.minimum_minor : null) ?? 1;
    return minor >= minimum_minor || `Must be greater than or equal to ${amountText(minimum_minor, site.exponent)}`;
  };
}

/** `interface.md` Limits: 30 seconds for both types; the longest differs. */
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
