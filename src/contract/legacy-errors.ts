/** The legacy error catalogues: per family of paths the status, code and text that clients match, and the envelope. */
import { type Catalogue, doorErrors, type LegacyErrorEntry, namesOf } from './legacy-error.ts';
import { pointErrors } from './legacy-point.ts';

// The error catalogues of merchant orders and of payments with their refunds.

/** `docs/field-notes.md` QR §2 errors; the body of the 404 is not in public material. */
const merchantOrderErrors = {
  ...doorErrors,
  bad_json: { status: 400, error: 'bad_request', message: 'Invalid JSON body' },
  bad_request: { status: 400, error: 'ds_search_query', message: 'The search can not be read' },
  missing_property: { status: 400, error: 'bad_request', message: '{} is required' },
  invalid_property: { status: 400, error: 'invalid_format', message: '{} is not valid' },
  additional_property: { status: 400, error: 'bad_request', message: '{} is not allowed' },
  amount_minimum: { status: 400, error: 'bad_request', message: 'amount: Must be greater than or equal to {}' },
  amount_maximum: { status: 400, error: 'bad_request', message: 'amount: Must be less than or equal to {}' },
  unauthorized: { status: 401, error: 'invalid_token', message: 'invalid access token' },
  forbidden: { status: 401, error: 'invalid_caller_id', message: 'The caller is not the owner' },
  not_found: { status: 404, error: 'not_found', message: 'Merchant order not found' },
  internal: { status: 500, error: 'internal_server_error', message: 'Internal server error' },
} as const satisfies Catalogue;

/** `docs/field-notes.md` QR §3 errors; `cause` is the number that clients compare. */
export const paymentErrors = {
  bad_json: { status: 400, error: 'bad_request', message: 'Invalid JSON body', cause: 1 },
  bad_request: { status: 400, error: 'bad_request', message: 'Bad request', cause: 1 },
  missing_property: { status: 400, error: 'bad_request', message: '{} is required', cause: 1 },
  invalid_property: { status: 400, error: 'bad_request', message: '{} is not valid', cause: 1 },
  additional_property: { status: 400, error: 'bad_request', message: '{} is not allowed', cause: 1 },
  amount_minimum: { status: 400, error: 'bad_request', message: 'Amount must be a positive number', cause: 4040 },
  amount_maximum: { status: 400, error: 'bad_request', message: 'The refund amount exceeds the payment', cause: 4017 },
  amount_not_positive: { status: 401, error: 'unauthorized', message: 'Amount must be a positive number', cause: 4040 },
  amount_not_numeric: { status: 401, error: 'unauthorized', message: 'Amount must be numeric', cause: 4041 },
  state_refuses: {
    status: 400,
    error: 'bad_request',
    message: 'The action requested is not valid for the current payment state',
    cause: 2063,
  },
  refund_refused: { status: 400, error: 'bad_request', message: 'The payment can not be refunded', cause: 2085 },
  already_refunded: { status: 404, error: 'not_found', message: 'The payment is already refunded', cause: 4296 },
  refund_too_old: { status: 404, error: 'not_found', message: 'Payment too old to be refunded', cause: 2024 },
  partial_unsupported: { status: 404, error: 'not_found', message: 'Partial refund is not supported', cause: 3024 },
  payment_not_found: { status: 404, error: 'not_found', message: 'Payment not found', cause: 2000 },
  refund_not_found: { status: 404, error: 'not_found', message: 'Refund not found', cause: 2032 },
  insufficient_money: { status: 400, error: 'bad_request', message: 'Not enough money for the refund', cause: 2085 },
  /** No number is published for a key that is reused with another request. */
  key_reused: {
    status: 400,
    error: 'bad_request',
    message: 'X-Idempotency-Key was already used with another request',
    cause: 1,
  },
  refund_in_progress: {
    status: 409,
    error: 'conflict',
    message: 'A refund of the payment is in progress',
    cause: 2063,
  },
  unauthorized: { status: 401, error: 'unauthorized', message: 'invalid access token', cause: 5 },
  token_missing: {
    status: 401,
    error: 'unauthorized',
    message: 'Must provide your access_token to proceed',
    cause: 5,
  },
  forbidden: { status: 403, error: 'forbidden', message: 'The caller may not do this', cause: 4 },
  action_not_supported: { ...doorErrors.action_not_supported, cause: 404 },
  too_large: { ...doorErrors.too_large, cause: 1 },
  unsupported_media: { ...doorErrors.unsupported_media, cause: 1 },
  too_many_requests: { ...doorErrors.too_many_requests, cause: 429 },
  internal: { status: 500, error: 'internal_error', message: 'Internal server error', cause: 500 },
  bad_gateway: { ...doorErrors.bad_gateway, cause: 502 },
  not_yet: { ...doorErrors.not_yet, cause: 503 },
  bad_answer: { ...doorErrors.bad_answer, cause: 502 },
  unavailable: { ...doorErrors.unavailable, cause: 503 },
  outcome_unknown: { ...doorErrors.outcome_unknown, cause: 504 },
} as const satisfies Catalogue;

// The error catalogues of in-store QR: attended v1, and v2 with dynamic and hybrid codes.

/** Errors that are equal in v1 and v2. */
const pointOfSaleErrors = {
  ...doorErrors,
  unauthorized: { status: 401, error: 'unauthorized', message: 'user not found' },
  forbidden: { status: 403, error: 'forbidden', message: 'The collector does not own the access token' },
  // Status and text were measured live; the code is not published.
  foreign_collector: { status: 400, error: 'bad_request', message: 'Collector ID and Caller ID must be the same' },
  order_not_found: {
    status: 404,
    error: 'point_of_sale_in_store_order_not_found',
    message: 'Point of sale has no in store order',
  },
  order_locked: {
    status: 409,
    error: 'in_store_order_locked',
    message: 'The order of this point of sale is being paid',
  },
  order_in_doubt: {
    status: 409,
    error: 'in_store_order_pending',
    message: 'The order before this one is not known yet; try again',
  },
  create_failed: { status: 500, error: 'in_store_order_creation_error', message: 'Failed to create order' },
  delete_failed: { status: 500, error: 'in_store_order_creation_error', message: 'Failed to delete order' },
  internal: { status: 500, error: 'internal_error', message: 'Internal server error' },
  pos_not_found: { status: 404, error: 'pos_obtainment_error', message: 'Point of sale not found' },
} as const;

/** v1, `docs/field-notes.md` QR §1.1 errors; `invalid_preference_body` is captured, the rest is the reference. */
const preferenceErrors = {
  ...pointOfSaleErrors,
  bad_json: { status: 400, error: 'invalid_preference_body', message: 'Invalid preference_body' },
  bad_request: { status: 400, error: 'invalid_preference_body', message: 'Invalid preference_body' },
  missing_property: { status: 400, error: 'invalid_{}', message: '{} needed' },
  invalid_property: { status: 400, error: 'invalid_{}', message: '{} invalid' },
  additional_property: { status: 400, error: 'invalid_preference_body', message: '{} is not allowed' },
  amount_minimum: { status: 400, error: 'invalid_items', message: 'amount: Must be greater than or equal to {}' },
  amount_maximum: { status: 400, error: 'invalid_items', message: 'amount: Must be less than or equal to {}' },
  invalid_collector: { status: 400, error: 'invalid_collector_id', message: 'collector_id is not a number' },
  invalid_sponsor: { status: 400, error: 'invalid_sponsor_id', message: 'sponsor_id is invalid' },
  pos_without_external_id: {
    status: 404,
    error: 'pos_obtainment_error',
    message: 'Point of sale has no external id; give it one and try again',
  },
} as const satisfies Catalogue;

/** v2, dynamic and hybrid, `docs/field-notes.md` QR §1.2 errors. */
const instoreErrors = {
  ...pointOfSaleErrors,
  bad_json: { status: 400, error: 'json_syntax_error', message: 'Invalid JSON body' },
  bad_request: { status: 400, error: 'bad_request', message: 'Bad request' },
  missing_property: { status: 400, error: 'invalid_{}', message: '{} must be present' },
  invalid_property: { status: 400, error: 'invalid_{}', message: '{} is not valid' },
  additional_property: { status: 400, error: 'bad_request', message: '{} is not allowed' },
  amount_minimum: {
    status: 400,
    error: 'invalid_total_amount',
    message: 'amount: Must be greater than or equal to {}',
  },
  amount_maximum: { status: 400, error: 'invalid_total_amount', message: 'amount: Must be less than or equal to {}' },
  cash_out_required: {
    status: 400,
    error: 'error_creating_seller_qr_order',
    message: 'cash out is required when order has no items',
  },
  cash_out_refused: {
    status: 400,
    error: 'invalid_cash_out.amount',
    message: 'The seller has no agreement for cash withdrawal',
  },
  invalid_collector: { status: 400, error: 'invalid_collectorId', message: 'collectorId must be a number' },
  invalid_sponsor: { status: 400, error: 'invalid_sponsor.id', message: 'sponsor.id is not valid' },
  confirmation_refused: {
    status: 409,
    error: 'confirmation_not_supported',
    message: 'The withdrawal belongs to an order, which ends when it is paid; refund the payment instead',
  },
} as const satisfies Catalogue;

export type { CommonErrorName, LegacyErrorEntry } from './legacy-error.ts';

/** Families of legacy paths; each has its own error codes and its own envelope. */
export const families = ['point', 'qr_v1', 'qr', 'merchant_orders', 'payments'] as const;
export type Family = (typeof families)[number];

const catalogues = {
  point: pointErrors,
  qr_v1: preferenceErrors,
  qr: instoreErrors,
  merchant_orders: merchantOrderErrors,
  payments: paymentErrors,
} as const satisfies Record<Family, Catalogue>;

export type LegacyErrorName = {
  [F in Family]: keyof (typeof catalogues)[F];
}[Family];

/** Null for a name that the family's catalogue does not have. */
export function legacyError(family: Family, name: string): LegacyErrorEntry | null {
  const catalogue: Readonly<Record<string, LegacyErrorEntry>> = catalogues[family];
  return Object.hasOwn(catalogue, name) ? (catalogue[name] ?? null) : null;
}

/** Every name that `legacyError` knows in the family. */
export function legacyErrorNames(family: Family): string[] {
  return Object.keys(catalogues[family]);
}

/** Never has an `id` (`docs/field-notes.md` Point §1.9, QR §1.1 and §3). @param detail replaces `{}`. */
export function errorBody(family: Family, entry: LegacyErrorEntry, detail: string): Record<string, unknown> {
  const named = namesOf(family, detail);
  const message = entry.message.replace('{}', named.text).trim();
  const error = entry.error.replace('{}', named.code);
  const { status } = entry;
  if (family === 'point') return { error, message, status };
  if (family === 'payments' || family === 'merchant_orders') {
    const cause = entry.cause === undefined ? [] : [{ code: entry.cause, description: message, data: null }];
    return { message, error, status, cause };
  }
  return { error, message, status, causes: [] };
}
