/** Every field that a QR order may have, with its own rule. Source: `interface.md` Order, `orders-api.md` §1.2. */
import { isWithinCharacters } from '../contract/characters.ts';
import { parseAmount } from './money.ts';
import {
  commonProperties,
  installmentsCost,
  isAmount,
  isPayable,
  livesAtMost,
  one,
  oneOf,
  pattern,
} from './order-request.ts';
import type { Circumstances, ObjectProperty } from './property-tree.ts';

/** `interface.md` Limits: 3600 hours. */
const MAX_EXPIRATION_MS = 3600 * 3_600_000;
/** Limits of items that were seen (`orders-api.md` §1.2); the specification has none (setting `item_limits`). */
const MAX_ITEMS = 10;
const MAX_CATEGORIES = 10;
const MAX_CODE = 30;
const asSeen =
  (most: number) =>
  ({ item_limits }: Circumstances['settings']): number =>
    item_limits === 'as_seen' ? most : Number.POSITIVE_INFINITY;
/** `interface.md` Order: up to 4 methods. */
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

/** `interface.md` has them for Point; a page of the vendor refuses discounts beside `installments_cost`, so QR knows it there (reference qr-code-ca/orders/create-order). */
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
