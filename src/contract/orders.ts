/** The orders API, `type: point` and `type: qr`. Source: `docs/field-notes.md` Spec Order and Orders §1–3. */
import { LosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { DURATION, digits, EXTERNAL_ID, ORDER_AMOUNT, ORDER_ID, ORDER_REFERENCE, TERMINAL_ID } from './identifiers.ts';
import { withoutNulls } from './json.ts';

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

const orderAmount = z.string().regex(ORDER_AMOUNT);

/** The builder of the integration; both types of order take it. */
const integrationData = z.strictObject({
  platform_id: z.string().optional(),
  integrator_id: z.string().optional(),
  sponsor: z.strictObject({ id: z.string() }).optional(),
});

/** Strict, because upstream refuses unknown properties. */
export const createPointOrder = z.strictObject({
  type: z.literal('point'),
  external_reference: z.string().regex(ORDER_REFERENCE),
  description: z.string().max(150).optional(),
  expiration_time: z.string().regex(DURATION).optional(),
  transactions: z.strictObject({
    payments: z.array(z.strictObject({ amount: orderAmount })).length(1),
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
  integration_data: integrationData.optional(),
});

/** `static` on the till's own code, `dynamic` one code for the sale, `hybrid` both. */
export const qrModes = ['static', 'dynamic', 'hybrid'] as const;
export type QrMode = (typeof qrModes)[number];

/** `total_amount` includes `cash_outs` (docs/field-notes.md Spec Order; reference qr-code-ca/orders/create-order). */
export const createQrOrder = z.strictObject({
  type: z.literal('qr'),
  external_reference: z.string().regex(ORDER_REFERENCE),
  description: z.string().max(150).optional(),
  expiration_time: z.string().regex(DURATION).optional(),
  total_amount: orderAmount,
  marketplace_fee: orderAmount.optional(),
  transactions: z.strictObject({
    payments: z
      .array(z.strictObject({ amount: orderAmount }))
      .length(1)
      .optional(),
    cash_outs: z
      .array(z.strictObject({ amount: orderAmount }))
      .length(1)
      .optional(),
  }),
  config: z.strictObject({
    qr: z.strictObject({ external_pos_id: z.string().regex(EXTERNAL_ID), mode: z.enum(qrModes) }),
  }),
  items: z
    .array(
      z.strictObject({
        title: z.string().max(150),
        unit_price: orderAmount,
        quantity: z.int().positive(),
        unit_measure: z.string().max(10),
        external_code: z.string().max(30).optional(),
        external_categories: z
          .array(z.strictObject({ id: z.string() }))
          .max(10)
          .optional(),
      }),
    )
    .max(10)
    .optional(),
  discounts: z
    .strictObject({
      payment_methods: z
        .array(
          z.strictObject({
            new_total_amount: orderAmount,
            type: z.enum(['debit_card', 'credit_card', 'account_money', 'prepaid_card']),
          }),
        )
        .max(4),
    })
    .optional(),
  integration_data: integrationData.optional(),
});

export const createOrderCall = z.object({ body: createPointOrder });
export const createQrOrderCall = z.object({ body: createQrOrder });
/** Whole payment: no body. A part: one element with the id of the transaction (`docs/field-notes.md` Orders §2). */
export const refundOrderCall = z.object({
  path: z.object({ order_id: z.string().regex(ORDER_ID) }),
  body: z
    .strictObject({
      transactions: z.array(z.strictObject({ id: z.string(), amount: orderAmount })).length(1),
    })
    .optional(),
});
export const getOrderCall = z.object({ path: z.object({ order_id: z.string().regex(ORDER_ID) }) });
export const cancelOrderCall = z.object({
  path: z.object({ order_id: z.string().regex(ORDER_ID) }),
  headers: z.object({ 'x-allow-cancelable-status': z.literal('at_terminal').optional() }),
});

/** A plain decimal that JSON wrote as a number, by its source text. */
const decimal = z
  .custom<LosslessNumber>((value) => value instanceof LosslessNumber && /^-?\d{1,15}(?:\.\d{1,6})?$/.test(value.value))
  .transform((value) => value.value);
/** A number for a documented string, and the reverse, is accepted when lossless (`test/faults/README.md` F26). */
const text = z.union([z.string(), z.number().transform(String), decimal]);

/** An object by Spec Order, a list of them by the SDKs for Node and .NET (`docs/field-notes.md` Orders §3.2). */
const discount = z.object({ type: z.string().optional() });

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
  discounts: z.union([discount, z.array(discount).transform(([first]) => first)]).optional(),
});

export const orderRefund = z.object({
  id: z.string().optional(),
  transaction_id: z.string().optional(),
  reference_id: text.optional(),
  amount: text.optional(),
  status: z.string().optional(),
});

/** The answer to a refund: state and new refund, not the whole order (`docs/field-notes.md` Orders §2). */
export const refundedOrder = read({
  id: z.string().regex(ORDER_ID),
  status: z.string(),
  status_detail: z.string().optional(),
  transactions: z.object({ refunds: z.array(orderRefund).min(1) }),
});

/** Unknown keys are dropped, unknown statuses stay text (`test/faults/README.md` F25). Card digits are never read. */
export const order = read({
  id: z.string().regex(ORDER_ID),
  type: z.string().optional(),
  user_id: digits.optional(),
  external_reference: z.string().optional(),
  description: z.string().optional(),
  expiration_time: z.string().optional(),
  total_amount: text.optional(),
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
      qr: z.object({ external_pos_id: z.string().optional(), mode: z.string().optional() }).optional(),
    })
    .optional(),
  type_response: z.object({ qr_data: z.string().optional() }).optional(),
  transactions: z
    .object({ payments: z.array(orderPayment).optional(), refunds: z.array(orderRefund).optional() })
    .optional(),
});
export type Order = z.infer<typeof order>;

/** An answer of upstream; a field that is null counts as absent, because an unreadable order leaves its sale in doubt. */
function read<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(withoutNulls, z.object(shape));
}
