/** The calls of the orders API: routes and documented errors. Source: `docs/field-notes.md` Spec Endpoints, Errors. */
import { z } from 'zod';
import { digits } from './identifiers.ts';

/**
 * Documented [status, code], plus live spellings. Source: `docs/field-notes.md` Spec Errors, Orders §1.6, §2, §3, §5.
 */
export const upstreamErrorCodes = {
  create: [
    [400, 'required_properties'],
    [400, 'property_value'],
    [400, 'property_type'],
    [400, 'json_syntax_error'],
    [400, 'unsupported_properties'],
    [400, 'empty_required_header'],
    [400, 'minimum_properties'],
    [400, 'minimum_items'],
    [400, 'maximum_items'],
    [400, 'unsupported_site'],
    [400, 'bad_request'],
    [400, 'marketplace_not_valid'],
    [400, 'sponsor_id_not_valid'],
    [400, 'seller_configuration'],
    [401, 'unauthorized'],
    [403, 'forbidden_checking_terminal_owner'],
    [403, 'forbidden_checking_device_owner'],
    [404, 'pos_not_found'],
    [404, 'marketplace_fee_not_allowed'],
    [409, 'already_queued_order_for_terminal'],
    [409, 'already_queued_order_on_terminal'],
    [409, 'idempotency_key_already_used'],
    [500, 'internal_error'],
    [500, '500'],
    [500, 'idempotency_validation_failed'],
  ],
  get: [
    [400, 'invalid_path_param'],
    [400, 'bad_request'],
    [401, 'unauthorized'],
    [404, 'order_not_found'],
    [500, 'internal_error'],
    [500, '500'],
  ],
  cancel: [
    [400, 'empty_required_header'],
    [400, 'invalid_path_param'],
    [400, 'bad_request'],
    [401, 'unauthorized'],
    [403, 'forbidden_checking_terminal_owner'],
    [403, 'forbidden_checking_device_owner'],
    [404, 'order_not_found'],
    [409, 'cannot_cancel_order'],
    [409, 'order_already_canceled'],
    [409, 'idempotency_key_already_used'],
    [409, 'instore_order_locked_error'],
    [500, 'idempotency_validation_failed'],
    [500, 'internal_error'],
    [500, '500'],
  ],
  refund: [
    [400, 'empty_required_header'],
    [400, 'invalid_path_param'],
    [400, 'unsupported_partially_refunds'],
    [400, 'refund_amount_exceeds'],
    [400, 'invalid_order_owner'],
    [400, 'in_store_payment_refund_order'],
    [401, 'unauthorized'],
    [401, 'user_not_authorized'],
    [403, 'partial_refund_forbidden_with_tips'],
    [404, 'order_not_found'],
    [404, 'transaction_not_found'],
    [409, 'idempotency_key_already_used'],
    [409, 'order_already_refunded'],
    [409, 'cannot_refund_order'],
    [409, 'refund_period_exceeded'],
    [409, 'action_not_allowed_for_current_state'],
    [409, 'refund_in_progress'],
    [409, 'movement_operations_pending'],
    [422, 'payment_not_refundable'],
    [422, 'amount_not_refundable'],
    [422, 'max_refunds_exceeded'],
    [425, 'order_payment_not_yet_enabled_for_refund'],
    [428, 'insufficient_money_for_refund'],
    [500, 'idempotency_validation_failed'],
    [500, 'internal_error'],
    [500, '500'],
  ],
  terminals_list: [
    [401, 'unauthorized'],
    [500, 'internal_error'],
    [500, '500'],
  ],
  terminals_setup: [
    [400, 'unsupported_site'],
    [400, 'required_properties'],
    [400, 'unsupported_properties'],
    [400, 'invalid_payload'],
    [400, 'property_value'],
    [401, 'unauthorized'],
    [403, 'store_pos_not_found'],
    [403, 'terminal_not_allowed_action'],
    [404, 'not_found'],
    [412, ''], // the only error without a code string
    [500, 'internal_error'],
    [500, '500'],
  ],
} as const satisfies Record<string, readonly (readonly [number, string])[]>;

/**
 * [status, code] of refusals that mean "not yet": the same call works later, mostly within seconds. Null: the status
 * alone means it (RFC 8470). Sources: `docs/field-notes.md` Orders §2; the undocumented codes were seen with refunds
 * and cancels of money that was just paid.
 */
export const notYetErrors: readonly (readonly [number, string | null])[] = [
  [425, null],
  [409, 'movement_operations_pending'],
  [409, 'post_processing_operation_pending'],
  [409, 'processor_communication_error'],
  [409, 'refund_in_progress'],
  [422, 'unprocessable_entity'],
];

export type UpstreamCallName = keyof typeof upstreamErrorCodes;

/** Parameters as in Express. Source: `docs/field-notes.md` Spec Endpoints. */
export const upstreamRoutes: Readonly<Record<UpstreamCallName, { method: 'GET' | 'POST' | 'PATCH'; path: string }>> = {
  create: { method: 'POST', path: '/v1/orders' },
  get: { method: 'GET', path: '/v1/orders/:order_id' },
  cancel: { method: 'POST', path: '/v1/orders/:order_id/cancel' },
  refund: { method: 'POST', path: '/v1/orders/:order_id/refund' },
  terminals_list: { method: 'GET', path: '/terminals/v1/list' },
  terminals_setup: { method: 'PATCH', path: '/terminals/v1/setup' },
};

// `GET /users/me`: the owner of a token, and the site.

export const userMe = z.object({ id: digits, site_id: z.string().optional() });
