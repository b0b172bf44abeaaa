/** The error catalogues of in-store QR: attended v1, and v2 with dynamic and hybrid codes. */
import { type Catalogue, doorErrors } from './catalogue.ts';

/** What both say in the same words. */
const pointOfSaleErrors = {
  ...doorErrors,
  unauthorized: { status: 401, error: 'unauthorized', message: 'user not found' },
  forbidden: { status: 403, error: 'forbidden', message: 'The collector does not own the access token' },
  // Measured live, status and text; its code is not published.
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

/** v1, `legacy-qr.md` §1.1 errors; `invalid_preference_body` is captured, the rest is the reference. */
export const preferenceErrors = {
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

/** v2, dynamic and hybrid, `legacy-qr.md` §1.2 errors. */
export const instoreErrors = {
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
    message: 'The withdrawal belongs to an order, which is over when it is paid; refund the payment instead',
  },
} as const satisfies Catalogue;
