/** A create of a QR order: its shape, and the rules between its fields. Source: `docs/field-notes.md` Spec Order, `docs/field-notes.md` Orders §1.2, reference qr-code-ca/orders/create-order. */

import { isWithinCharacters } from '../contract/identifiers.ts';
import type { Json } from '../contract/json.ts';
import type { Problem } from './answer.ts';
import type { JsonObject as Fields } from './call.ts';
import { minorUnits, parseAmount } from './money.ts';
import {
  type Circumstances,
  checkProperties,
  checkSponsor,
  commonProperties,
  installmentsCost,
  isAmount,
  isPayable,
  livesAtMost,
  type ObjectProperty,
  one,
  oneOf,
  pattern,
  problemOf,
} from './order-rules.ts';
import type { Merchant } from './records.ts';
import type { Site } from './sites.ts';

export type QrMode = 'static' | 'dynamic' | 'hybrid';

export interface QrOrderRequest {
  type: 'qr';
  external_reference: string;
  description?: string;
  expiration_time?: string;
  total_amount?: string;
  marketplace_fee?: string;
  /** At least one of the two: `payments` may be missing when money is withdrawn without a sale. */
  transactions: { payments?: [{ amount: string }]; cash_outs?: [{ amount: string }] };
  config: {
    qr: { external_pos_id: string; mode?: QrMode };
    payment_method?: Record<string, Json>;
  };
  items?: Item[];
  discounts?: { payment_methods?: MethodDiscount[] };
  integration_data?: Record<string, Json>;
}

type Item = {
  title: string;
  unit_price: string;
  quantity: number;
  unit_measure: string;
  external_code?: string;
  external_categories?: { id: string }[];
};

export interface MethodDiscount {
  type: string;
  new_total_amount: string;
}

/** @returns the request, or the refusal of its first fault. The caller has looked at the type. */
export function checkQrOrder(
  body: Fields,
  merchant: Merchant,
  circumstances: Circumstances,
): { request: QrOrderRequest } | Problem {
  const problem = checkProperties(body, qrOrder, circumstances) ?? checkSponsor(body);
  if (problem !== undefined) return problem;
  const request = body as unknown as QrOrderRequest; // the tree has just proved this shape
  return (
    checkTotals(request, merchant.site) ?? checkDiscounts(request) ?? checkWithdrawal(request, merchant) ?? { request }
  );
}

/** Minor units of what is paid, what is withdrawn, and both; of a request that has been checked. */
export function amountsOf(request: QrOrderRequest, site: Site): { paid: number; withdrawn: number; total: number } {
  const minor = (list: [{ amount: string }] | undefined) => minorUnits(list?.[0].amount ?? '0', site.exponent) ?? 0;
  const paid = minor(request.transactions.payments);
  const withdrawn = minor(request.transactions.cash_outs);
  return { paid, withdrawn, total: paid + withdrawn };
}

/** The total is the sum of the transactions, and a discount lowers it without touching the cash. */
function checkTotals(request: QrOrderRequest, site: Site): Problem | undefined {
  const { withdrawn, total } = amountsOf(request, site);
  const { total_amount } = request;
  if (total_amount !== undefined && minorUnits(total_amount, site.exponent) !== total) {
    return problemOf('property_value', ['total_amount'], 'The total_amount must be the sum of the transactions');
  }
  const methods = request.discounts?.payment_methods ?? [];
  const wrong = methods.findIndex(({ new_total_amount }) => {
    const new_minor = minorUnits(new_total_amount, site.exponent) ?? 0;
    return new_minor > total || new_minor < withdrawn;
  });
  return wrong === -1
    ? undefined
    : problemOf('property_value', [`discounts.payment_methods[${wrong}].new_total_amount`]);
}

/** Which code tells of the two exclusions is shown for installments alone; `bad_request` covers invalid fields in general. */
function checkDiscounts(request: QrOrderRequest): Problem | undefined {
  if (request.discounts === undefined) return undefined;
  const index = (request.items ?? []).findIndex((entry) => entry.external_categories !== undefined);
  if (index !== -1) {
    return {
      status: 400,
      code: 'bad_request',
      message: 'discounts and external_categories do not go together',
      details: ['discounts', `items[${index}].external_categories`],
    };
  }
  const method = request.config.payment_method ?? {};
  const cost = ['installments_cost', 'default_installments_cost'].find((name) => method[name] !== undefined);
  if (cost === undefined) return undefined;
  return {
    status: 400,
    code: 'discounts_not_allowed_with_installments',
    message: 'discounts and installments_cost do not go together',
    details: ['discounts', `config.payment_method.${cost}`],
  };
}

/** Only sellers with an agreement may hand out cash (`docs/field-notes.md` Spec Errors). */
function checkWithdrawal(request: QrOrderRequest, merchant: Merchant): Problem | undefined {
  if (request.transactions.cash_outs === undefined || merchant.may_hand_out_cash) return undefined;
  return {
    status: 400,
    code: 'seller_configuration',
    message: 'The seller is not authorized for cash withdrawal',
    details: ['transactions.cash_outs'],
  };
}

// Every field that a QR order may have, with its own rule. Source: `docs/field-notes.md` Spec Order, `docs/field-notes.md` Orders §1.2.

/** `docs/field-notes.md` Spec Limits: 3600 hours. */
const MAX_EXPIRATION_MS = 3600 * 3_600_000;
/** Limits of items that were seen (`docs/field-notes.md` Orders §1.2); the specification has none (setting `item_limits`). */
const MAX_ITEMS = 10;
const MAX_CATEGORIES = 10;
const MAX_CODE = 30;
const asSeen =
  (most: number) =>
  ({ item_limits }: Circumstances['settings']): number =>
    item_limits === 'as_seen' ? most : Number.POSITIVE_INFINITY;
/** `docs/field-notes.md` Spec Order: up to 4 methods. */
const MAX_DISCOUNTS = 4;

const isPositiveAmount = (value: string, { site, settings }: Circumstances): boolean =>
  (parseAmount(value, site.exponent, 'qr', settings.amounts) ?? 0) > 0;
/** What is required says something. */
const isText =
  (most: number) =>
  (value: string): boolean =>
    value !== '' && isWithinCharacters(value, most);

const oneAmount = (check: ReturnType<typeof isPayable>): ObjectProperty['properties'][string] => ({
  kind: 'array',
  min: 1,
  max: one,
  item: { kind: 'object', properties: { amount: { kind: 'string', required: true, check } } },
});

const item: ObjectProperty = {
  kind: 'object',
  properties: {
    title: { kind: 'string', required: true, check: isText(150) },
    unit_price: { kind: 'string', required: true, check: isAmount('qr') },
    quantity: { kind: 'integer', required: true, check: (value) => value >= 1 },
    unit_measure: { kind: 'string', required: true, check: isText(10) },
    external_code: {
      kind: 'string',
      check: (value, { settings }) => isWithinCharacters(value, asSeen(MAX_CODE)(settings)),
    },
    external_categories: {
      kind: 'array',
      min: 0,
      max: asSeen(MAX_CATEGORIES),
      item: { kind: 'object', properties: { id: { kind: 'string', required: true } } },
    },
  },
};

const methodDiscount: ObjectProperty = {
  kind: 'object',
  properties: {
    new_total_amount: { kind: 'string', required: true, check: isPositiveAmount },
    type: {
      kind: 'string',
      required: true,
      check: oneOf('debit_card', 'credit_card', 'account_money', 'prepaid_card'),
    },
  },
};

/** The specification has them for Point (`docs/field-notes.md` Spec Order); a page of the vendor refuses discounts beside `installments_cost`, so QR knows it there (reference qr-code-ca/orders/create-order). */
const installments: ObjectProperty = {
  kind: 'object',
  isKnown: ({ qr_installments }) => qr_installments === 'accepted',
  properties: {
    default_installments: { kind: 'integer', check: (value) => value >= 1 },
    ...installmentsCost,
  },
};

const qr: ObjectProperty = {
  kind: 'object',
  required: true,
  properties: {
    external_pos_id: { kind: 'string', required: true, check: (value) => value !== '' },
    mode: { kind: 'string', check: oneOf('static', 'dynamic', 'hybrid') },
  },
};

export const qrOrder: ObjectProperty = {
  kind: 'object',
  properties: {
    ...commonProperties,
    expiration_time: { kind: 'string', check: livesAtMost(MAX_EXPIRATION_MS) },
    total_amount: { kind: 'string', check: isAmount('qr') },
    marketplace_fee: { kind: 'string', check: isAmount('qr') },
    transactions: {
      kind: 'object',
      required: true,
      properties: {
        payments: oneAmount(isPayable('qr')),
        cash_outs: oneAmount(isPositiveAmount),
      },
    },
    config: { kind: 'object', required: true, properties: { qr, payment_method: installments } },
    items: { kind: 'array', min: 0, max: asSeen(MAX_ITEMS), item },
    discounts: {
      kind: 'object',
      properties: { payment_methods: { kind: 'array', min: 0, max: () => MAX_DISCOUNTS, item: methodDiscount } },
    },
    integration_data: {
      kind: 'object',
      properties: {
        platform_id: { kind: 'string' },
        integrator_id: { kind: 'string', check: pattern(/^dev_./) },
        sponsor: { kind: 'object', properties: { id: { kind: 'string', required: true } } },
      },
    },
  },
};
