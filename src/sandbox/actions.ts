/** Schemas of what the control door takes and logs: actions at terminals and of buyers, faults, sent lines. */
import { z } from 'zod';

/** `process`: card read, outcome unknown. `confirm_needed`: outcome is on the terminal. `error`: terminal error. */
export const terminalActions = ['pick_up', 'process', 'pay', 'decline', 'cancel', 'confirm_needed', 'error'] as const;
export type TerminalAction = (typeof terminalActions)[number];

const methodOptions = {
  payment_method_type: z.string().exactOptional(),
  payment_method_id: z.string().exactOptional(),
  installments: z.int().min(1).exactOptional(),
};

export const terminalOptions = z.strictObject({
  ...methodOptions,
  status_detail: z.string().exactOptional(),
  /** Added to the paid amount. */
  tip_minor: z.int().min(0).exactOptional(),
});
export type TerminalOptions = z.output<typeof terminalOptions>;

/** `lock`: the buyer has begun to pay, so cancels are refused; `unlock`: the buyer has left the payment. */
export const buyerActions = ['pay', 'decline', 'abandon', 'lock', 'unlock'] as const;
export type BuyerAction = (typeof buyerActions)[number];

export const buyerOptions = z.strictObject({
  ...methodOptions,
  /** With `pay`: what the seller's discount for a category takes off. Only for orders with categories. */
  category_discount_minor: z.int().min(1).exactOptional(),
  /** With `lock`: the order shows that the payment is in review. Not for legacy QR orders. */
  in_review: z.boolean().exactOptional(),
});
export type BuyerOptions = z.output<typeof buyerOptions>;

/**
 * `refuse`: the socket is destroyed before the body is read. `reset`: the connection is reset. `delay`: a real pause.
 * `error`: an answer with this status and code. `truncate`: half of the true answer, then a reset. `no_answer`: none.
 * `html`: an HTML page instead of JSON. `alter`: the true answer with the values of `set`.
 */
export const faultSchema = z.strictObject({
  method: z.string().toUpperCase().default('*'),
  /** Without query; `*` matches any text. */
  path: z.string().min(1),
  merchant: z.string().optional(),
  kind: z.enum(['refuse', 'reset', 'delay', 'error', 'truncate', 'no_answer', 'html', 'alter']),
  /** `before`: the request has no effect. `after`: it has its effect, and only the answer is damaged. */
  when: z.enum(['before', 'after']).default('before'),
  /** The first matching request that it acts on, counted from 1. */
  nth: z.int().min(1).default(1),
  /** The number of requests that it acts on. */
  times: z.union([z.int().min(1), z.literal('always')]).default(1),
  delay_ms: z.int().min(0).max(600_000).default(1000),
  status: z.int().min(200).max(599).optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  details: z.array(z.string()).optional(),
  /** For `alter`: dotted paths in the answer, such as `transactions.payments.0.amount`; null removes the value. */
  set: z.record(z.string(), z.json()).optional(),
});
export type FaultRule = z.infer<typeof faultSchema>;

export const setFaultSchema = z.strictObject({
  rule: faultSchema,
  matched: z.int(),
  acted: z.int(),
});
export type Fault = z.output<typeof setFaultSchema> & { pattern: RegExp };

export const requestLine = z.strictObject({
  at: z.string(),
  method: z.string(),
  path: z.string(),
  idempotency_key: z.string().nullable(),
  /** Null without an answer, or when the answer was never sent. */
  status: z.int().nullable(),
});
export type RequestLine = z.output<typeof requestLine>;

export const sentLine = z.strictObject({
  at: z.string(),
  url: z.string(),
  /** `order` or a legacy topic. */
  topic: z.string(),
  subject: z.string(),
  action: z.string(),
  /** Counted from 1. */
  attempt: z.int(),
  /** HTTP status of the receiver; null with a `failure`. */
  status: z.int().nullable(),
  failure: z.string().nullable(),
});
export type SentLine = z.output<typeof sentLine>;
