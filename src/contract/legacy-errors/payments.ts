/** The error catalogues of merchant orders and of payments with their refunds. */
import { type Catalogue, doorErrors } from './catalogue.ts';

/** `legacy-qr.md` §2 errors; the body of the 404 is not in public material. */
export const merchantOrderErrors = {
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

/** `legacy-qr.md` §3 errors; `cause` is the number that clients compare. */
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
  /** No number is published for a key that comes back with another request. */
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
