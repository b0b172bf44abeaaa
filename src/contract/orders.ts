/** The orders API, `type: point`. Source: `interface.md` Order, `orders-api.md` §1–3. QR fields join with the QR operations. */
import { z } from 'zod';
import { DURATION, digits, ORDER_ID, ORDER_REFERENCE, POINT_AMOUNT, TERMINAL_ID } from './identifiers.ts';

export const orderStatuses = [
  'created',
  'at_terminal',
  'processed',
  'failed',
  'action_required',
  'canceled',
  'expired',
  'refunded',
] as const;

/** What a create of a Point order may carry; strict, because the service refuses unknown properties. */
export const createPointOrder = z.strictObject({
  type: z.literal('point'),
  external_reference: z.string().regex(ORDER_REFERENCE),
  description: z.string().max(150).optional(),
  expiration_time: z.string().regex(DURATION).optional(),
  transactions: z.strictObject({
    payments: z.array(z.strictObject({ amount: z.string().regex(POINT_AMOUNT) })).length(1),
  }),
  config: z.strictObject({
    point: z.strictObject({
      terminal_id: z.string().regex(TERMINAL_ID),
      print_on_terminal: z.enum(['seller_ticket', 'no_ticket']).optional(),
      ticket_number: z.string().optional(),
    }),
    payment_method: z
      .strictObject({
        default_type: z.enum(['credit_card', 'debit_card', 'qr']).optional(),
        default_installments: z.int().min(1).optional(),
        default_installments_cost: z.enum(['seller', 'buyer']).optional(),
      })
      .optional(),
  }),
  integration_data: z
    .strictObject({
      platform_id: z.string().optional(),
      integrator_id: z.string().optional(),
      sponsor: z.strictObject({ id: z.string() }).optional(),
    })
    .optional(),
});

export const createOrderCall = z.object({ body: createPointOrder });
export const getOrderCall = z.object({ path: z.object({ order_id: z.string().regex(ORDER_ID) }) });
export const cancelOrderCall = z.object({
  path: z.object({ order_id: z.string().regex(ORDER_ID) }),
  headers: z.object({ 'x-allow-cancelable-status': z.literal('at_terminal').optional() }),
});

/** Number where a string is documented and the reverse is accepted when lossless (`reliability.md` F26). */
const text = z.union([z.string(), z.number().transform(String)]);

export const orderPayment = z.object({
  id: z.string().optional(),
  amount: text.optional(),
  status: z.string().optional(),
  status_detail: z.string().optional(),
  reference_id: text.optional(),
  paid_amount: text.optional(),
  refunded_amount: text.optional(),
  tip_amount: text.optional(),
  payment_method: z
    .object({
      type: z.string().optional(),
      id: z.string().optional(),
      installments: z
        .union([
          z.int(),
          z
            .string()
            .regex(/^\d{1,3}$/)
            .transform(Number),
        ])
        .optional(),
    })
    .optional(),
});

/** An order as the service answers it. Unknown keys are dropped, unknown statuses survive as text (`reliability.md` F25). Card digits are never read. */
export const order = z.object({
  id: z.string().regex(ORDER_ID),
  type: z.string().optional(),
  user_id: digits.optional(),
  external_reference: z.string().optional(),
  description: z.string().optional(),
  expiration_time: z.string().optional(),
  country_code: z.string().optional(),
  currency: z.string().optional(),
  status: z.string(),
  status_detail: z.string().optional(),
  created_date: z.string().optional(),
  last_updated_date: z.string().optional(),
  integration_data: z.object({ application_id: text.optional() }).optional(),
  config: z
    .object({
      point: z
        .object({
          terminal_id: z.string().optional(),
          print_on_terminal: z.string().optional(),
          ticket_number: text.optional(),
        })
        .optional(),
    })
    .optional(),
  transactions: z.object({ payments: z.array(orderPayment).optional() }).optional(),
});
export type Order = z.infer<typeof order>;

/** The two error envelopes of the service: a list, or flat for token errors (`orders-api.md` §1.5). */
export const ordersError = z.union([
  z.object({
    errors: z
      .array(z.object({ code: z.string(), message: z.string().optional(), details: z.array(z.string()).optional() }))
      .min(1),
  }),
  z.object({ code: z.string(), message: z.string().optional() }),
]);

/** Every documented [status, code], plus live spellings, per upstream call. Sources: `interface.md` Errors, `orders-api.md` §1.6, §2, §3, §5. */
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
export type UpstreamCallName = keyof typeof upstreamErrorCodes;

/** Where each upstream call goes; parameters as in Express. Source: `interface.md` Endpoints. */
export const upstreamRoutes: Readonly<Record<UpstreamCallName, { method: 'GET' | 'POST' | 'PATCH'; path: string }>> = {
  create: { method: 'POST', path: '/v1/orders' },
  get: { method: 'GET', path: '/v1/orders/:order_id' },
  cancel: { method: 'POST', path: '/v1/orders/:order_id/cancel' },
  refund: { method: 'POST', path: '/v1/orders/:order_id/refund' },
  terminals_list: { method: 'GET', path: '/terminals/v1/list' },
  terminals_setup: { method: 'PATCH', path: '/terminals/v1/setup' },
};
