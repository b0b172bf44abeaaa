/** Every field that a QR order may have, with its own rule. Source: `interface.md` Order, `orders-api.md` §1.2. */
import type { Site } from './cast.ts';
import { parseQrAmount } from './money.ts';
import { atLeastMinimum, commonProperties, isAllowedExpiration, oneOf, pattern } from './order-request.ts';
import type { ObjectProperty } from './property-tree.ts';

/** `interface.md` Limits: 3600 hours. */
const MAX_EXPIRATION_MS = 3600 * 3_600_000;
/** `orders-api.md` §1.2. */
const MAX_ITEMS = 10;
const MAX_CATEGORIES = 10;
/** `interface.md` Order: up to 4 methods. */
const MAX_DISCOUNTS = 4;

const isAmount = (value: string, site: Site): boolean => parseQrAmount(value, site.exponent) !== null;
const isPositiveAmount = (value: string, site: Site): boolean => (parseQrAmount(value, site.exponent) ?? 0) > 0;
/** What is required says something. */
const isText =
  (max_length: number) =>
  (value: string): boolean =>
    value !== '' && value.length <= max_length;

const oneAmount = (check: (value: string, site: Site) => boolean | string): ObjectProperty['properties'][string] => ({
  kind: 'array',
  min: 1,
  max: 1,
  item: { kind: 'object', properties: { amount: { kind: 'string', required: true, check } } },
});

const item: ObjectProperty = {
  kind: 'object',
  properties: {
    title: { kind: 'string', required: true, check: isText(150) },
    unit_price: { kind: 'string', required: true, check: isAmount },
    quantity: { kind: 'integer', required: true, check: (value) => value >= 1 },
    unit_measure: { kind: 'string', required: true, check: isText(10) },
    external_code: { kind: 'string', check: (value) => value.length <= 30 },
    external_categories: {
      kind: 'array',
      min: 0,
      max: MAX_CATEGORIES,
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

/** A page of the vendor refuses discounts beside `installments_cost`, so QR knows it (reference qr-code-ca/orders/create-order). */
const installments: ObjectProperty = {
  kind: 'object',
  properties: {
    default_installments: { kind: 'integer', check: (value) => value >= 1 },
    default_installments_cost: { kind: 'string', check: oneOf('seller', 'buyer') },
    installments_cost: { kind: 'string', check: oneOf('seller', 'buyer') },
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

/** The table of `interface.md` to the letter: `config.payment_method` is for Point. */
export const qrOrderWithoutInstallments: ObjectProperty = {
  kind: 'object',
  properties: {
    ...commonProperties,
    expiration_time: { kind: 'string', check: (value) => isAllowedExpiration(value, MAX_EXPIRATION_MS) },
    total_amount: { kind: 'string', check: isAmount },
    marketplace_fee: { kind: 'string', check: isAmount },
    transactions: {
      kind: 'object',
      required: true,
      properties: {
        payments: oneAmount((value, site) => atLeastMinimum(parseQrAmount(value, site.exponent), site)),
        cash_outs: oneAmount(isPositiveAmount),
      },
    },
    config: { kind: 'object', required: true, properties: { qr } },
    items: { kind: 'array', min: 0, max: MAX_ITEMS, item },
    discounts: {
      kind: 'object',
      properties: { payment_methods: { kind: 'array', min: 0, max: MAX_DISCOUNTS, item: methodDiscount } },
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

/** With `config.payment_method`, the default. */
export const qrOrder: ObjectProperty = {
  ...qrOrderWithoutInstallments,
  properties: {
    ...qrOrderWithoutInstallments.properties,
    config: { kind: 'object', required: true, properties: { qr, payment_method: installments } },
  },
};
