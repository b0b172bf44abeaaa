/** The grammar of `limitations.yaml`: differences from legacy that a till sees, and which calls have met them. */
import { z } from 'zod';

/**
 * Limitations that neither tables nor answers show: the code that applies one marks the exchange
 * (`proxy/evidence/limitation-mark.ts`). `check` proves that exactly these have a condition with `noted`.
 */
export const markedInCode = [
  'LIM-01',
  'LIM-07',
  'LIM-08',
  'LIM-09',
  'LIM-10',
  'LIM-11',
  'LIM-12',
  'LIM-14',
  'LIM-24',
  'LIM-28',
  'LIM-29',
  'LIM-37',
  'LIM-38',
  'LIM-39',
  'LIM-41',
  'LIM-42',
  'LIM-45',
  'LIM-56',
  'LIM-57',
  'LIM-59',
  'LIM-71',
  'LIM-72',
  'LIM-83',
  'LIM-90',
] as const;
export type MarkedLimitation = (typeof markedInCode)[number];

const sentence = z.string().min(12, 'say it in a sentence');
const list = z.array(z.string().min(1)).min(1);
/** Upstream calls by their name in exchanges. */
const callName = z.enum(['create', 'cancel', 'refund', 'payment_search', 'merchant_order_search', 'legacy_events']);
export type CallName = z.infer<typeof callName>;

/** Facts of a call on the orders lane, all of which must hold. */
const condition = z
  .strictObject({
    /** True: answered 2xx. False: any other answer. */
    ok: z.boolean().optional(),
    /** The till was answered one of these errors of its family's catalogue. */
    errors: list.optional(),
    /** One of these rows fired, as `table#row`. */
    rows: list.optional(),
    /** None of these rows fired. */
    without: list.optional(),
    /** The field of one of these source paths did not reach the order; `[]` is any element. */
    losses: list.optional(),
    /** Each of these calls was made upstream and answered so. */
    upstream: z
      .array(z.strictObject({ name: callName, status: z.enum(['2xx', '4xx']).optional(), codes: list.optional() }))
      .min(1)
      .optional(),
    /** None of these calls was made upstream. */
    unasked: z.array(callName).min(1).optional(),
    /** The code has marked the exchange. */
    noted: z.literal(true).optional(),
  })
  .refine((facts) => Object.keys(facts).length > 0, 'a condition needs a fact');
export type LimitationCondition = z.infer<typeof condition>;

/** Counts calls that meet a condition, or notices; or nothing, with the reason. */
const counted = z.union([
  z.array(condition).min(1),
  z.strictObject({
    /** Every notice that was delivered in this form. */
    notices: z.literal('point'),
    /** Only while `notices.user_agent` has this value. */
    agent: z.string().min(1).optional(),
  }),
  z.strictObject({
    /** Why Puente can't count it. */
    unseen: sentence,
  }),
]);
export type Counted = z.infer<typeof counted>;

/** No table, but documented and proved beside the tables. */
export const limitationsFile = z.strictObject({
  limitations: z.array(
    z.strictObject({
      id: z.string().regex(/^LIM-\d{2,}$/),
      title: sentence,
      effect: sentence,
      cause: sentence,
      workaround: sentence,
      /** Operations whose calls can meet it. */
      operations: list,
      counted,
      /** The test that shows exactly this difference, and that it is counted. */
      test: z.string().min(1),
    }),
  ),
});
export type WrittenLimitation = z.infer<typeof limitationsFile>['limitations'][number];
