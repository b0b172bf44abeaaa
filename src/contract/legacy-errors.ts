/** The legacy error catalogues: per family of paths the status, code and text that clients match, and the envelope. */
import { answered, type Catalogue, doorErrors, type LegacyErrorEntry, namesOf } from './legacy-error.ts';
import { pointErrors } from './legacy-point.ts';

// The error catalogues of merchant orders and of payments with their refunds.

/** `docs/field-notes.md` QR §2 errors; the body of the 404 is not in public material. */
const merchantOrderErrors = {
  ...doorErrors,
  bad_json: answered(400, 'bad_request', 'Invalid JSON body'),
  bad_request: answered(400, 'ds_search_query', 'The search can not be read'),
  missing_property: answered(400, 'bad_request', '{} is required'),
  invalid_property: answered(400, 'invalid_format', '{} is not valid'),
  additional_property: answered(400, 'bad_request', '{} is not allowed'),
  amount_minimum: answered(400, 'bad_request', 'amount: Must be greater than or equal to {}'),
  amount_maximum: answered(400, 'bad_request', 'amount: Must be less than or equal to {}'),
  unauthorized: answered(401, 'invalid_token', 'invalid access token'),
  forbidden: answered(401, 'invalid_caller_id', 'The caller is not the owner'),
  not_found: answered(404, 'not_found', 'Merchant order not found'),
  internal: answered(500, 'internal_server_error', 'Internal server error'),
} as const satisfies Catalogue;

/** `docs/field-notes.md` QR §3 errors; `cause` is the number that clients compare. */
export const paymentErrors = {
  bad_json: answered(400, 'bad_request', 'Invalid JSON body', 1),
  bad_request: answered(400, 'bad_request', 'Bad request', 1),
  missing_property: answered(400, 'bad_request', '{} is required', 1),
  invalid_property: answered(400, 'bad_request', '{} is not valid', 1),
  additional_property: answered(400, 'bad_request', '{} is not allowed', 1),
  amount_minimum: answered(400, 'bad_request', 'Amount must be a positive number', 4040),
  amount_maximum: answered(400, 'bad_request', 'The refund amount exceeds the payment', 4017),
  amount_not_positive: answered(401, 'unauthorized', 'Amount must be a positive number', 4040),
  amount_not_numeric: answered(401, 'unauthorized', 'Amount must be numeric', 4041),
  state_refuses: answered(400, 'bad_request', 'The action requested is not valid for the current payment state', 2063),
  refund_refused: answered(400, 'bad_request', 'The payment can not be refunded', 2085),
  already_refunded: answered(404, 'not_found', 'The payment is already refunded', 4296),
  refund_too_old: answered(404, 'not_found', 'Payment too old to be refunded', 2024),
  partial_unsupported: answered(404, 'not_found', 'Partial refund is not supported', 3024),
  payment_not_found: answered(404, 'not_found', 'Payment not found', 2000),
  refund_not_found: answered(404, 'not_found', 'Refund not found', 2032),
  insufficient_money: answered(400, 'bad_request', 'Not enough money for the refund', 2085),
  /** No number is published for a key that is reused with another request. */
  key_reused: answered(400, 'bad_request', 'X-Idempotency-Key was already used with another request', 1),
  refund_in_progress: answered(409, 'conflict', 'A refund of the payment is in progress', 2063),
  unauthorized: answered(401, 'unauthorized', 'invalid access token', 5),
  token_missing: answered(401, 'unauthorized', 'Must provide your access_token to proceed', 5),
  forbidden: answered(403, 'forbidden', 'The caller may not do this', 4),
  action_not_supported: { ...doorErrors.action_not_supported, cause: 404 },
  too_large: { ...doorErrors.too_large, cause: 1 },
  unsupported_media: { ...doorErrors.unsupported_media, cause: 1 },
  too_many_requests: { ...doorErrors.too_many_requests, cause: 429 },
  internal: answered(500, 'internal_error', 'Internal server error', 500),
  bad_gateway: { ...doorErrors.bad_gateway, cause: 502 },
  not_yet: { ...doorErrors.not_yet, cause: 503 },
  bad_answer: { ...doorErrors.bad_answer, cause: 502 },
  unavailable: { ...doorErrors.unavailable, cause: 503 },
  outcome_unknown: { ...doorErrors.outcome_unknown, cause: 504 },
  no_answer: { ...doorErrors.no_answer, cause: 504 },
} as const satisfies Catalogue;

// The error catalogues of in-store QR: attended v1, and v2 with dynamic and hybrid codes.

/** Errors that are equal in v1 and v2. */
const pointOfSaleErrors = {
  ...doorErrors,
  unauthorized: answered(401, 'unauthorized', 'user not found'),
  forbidden: answered(403, 'forbidden', 'The collector does not own the access token'),
  // Status and text were measured live; the code is not published.
  foreign_collector: answered(400, 'bad_request', 'Collector ID and Caller ID must be the same'),
  order_not_found: answered(404, 'point_of_sale_in_store_order_not_found', 'Point of sale has no in store order'),
  order_locked: answered(409, 'in_store_order_locked', 'The order of this point of sale is being paid'),
  order_in_doubt: answered(409, 'in_store_order_pending', 'The order before this one is not known yet; try again'),
  create_failed: answered(500, 'in_store_order_creation_error', 'Failed to create order'),
  delete_failed: answered(500, 'in_store_order_creation_error', 'Failed to delete order'),
  internal: answered(500, 'internal_error', 'Internal server error'),
  pos_not_found: answered(404, 'pos_obtainment_error', 'Point of sale not found'),
} as const;

/** v1, `docs/field-notes.md` QR §1.1 errors; `invalid_preference_body` is captured, the rest is the reference. */
const preferenceErrors = {
  ...pointOfSaleErrors,
  bad_json: answered(400, 'invalid_preference_body', 'Invalid preference_body'),
  bad_request: answered(400, 'invalid_preference_body', 'Invalid preference_body'),
  missing_property: answered(400, 'invalid_{}', '{} needed'),
  invalid_property: answered(400, 'invalid_{}', '{} invalid'),
  additional_property: answered(400, 'invalid_preference_body', '{} is not allowed'),
  amount_minimum: answered(400, 'invalid_items', 'amount: Must be greater than or equal to {}'),
  amount_maximum: answered(400, 'invalid_items', 'amount: Must be less than or equal to {}'),
  invalid_collector: answered(400, 'invalid_collector_id', 'collector_id is not a number'),
  invalid_sponsor: answered(400, 'invalid_sponsor_id', 'sponsor_id is invalid'),
  pos_without_external_id: answered(
    404,
    'pos_obtainment_error',
    'Point of sale has no external id; give it one and try again',
  ),
} as const satisfies Catalogue;

/** v2, dynamic and hybrid, `docs/field-notes.md` QR §1.2 errors. */
const instoreErrors = {
  ...pointOfSaleErrors,
  bad_json: answered(400, 'json_syntax_error', 'Invalid JSON body'),
  bad_request: answered(400, 'bad_request', 'Bad request'),
  missing_property: answered(400, 'invalid_{}', '{} must be present'),
  invalid_property: answered(400, 'invalid_{}', '{} is not valid'),
  additional_property: answered(400, 'bad_request', '{} is not allowed'),
  amount_minimum: answered(400, 'invalid_total_amount', 'amount: Must be greater than or equal to {}'),
  amount_maximum: answered(400, 'invalid_total_amount', 'amount: Must be less than or equal to {}'),
  cash_out_required: answered(400, 'error_creating_seller_qr_order', 'cash out is required when order has no items'),
  cash_out_refused: answered(400, 'invalid_cash_out.amount', 'The seller has no agreement for cash withdrawal'),
  invalid_collector: answered(400, 'invalid_collectorId', 'collectorId must be a number'),
  invalid_sponsor: answered(400, 'invalid_sponsor.id', 'sponsor.id is not valid'),
  confirmation_refused: answered(
    409,
    'confirmation_not_supported',
    'The withdrawal belongs to an order, which ends when it is paid; refund the payment instead',
  ),
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
