/** The parts of a world: collections of records, counters, and timer jobs. */
import { z } from 'zod';
import { requestLine, sentLine, setFaultSchema, terminalOptions } from './actions.ts';
import {
  chargebackSchema,
  grantSchema,
  integratorSchema,
  intentSchema,
  invoiceSchema,
  keySchema,
  merchantSchema,
  noticeTargetSchema,
  orderSchema,
  payableSchema,
  paymentSchema,
  pointOfSaleSchema,
  qrOrderSchema,
  refundIntentSchema,
  storeSchema,
  terminalSchema,
  tokenSchema,
} from './records.ts';

/** The next number of each kind. */
export const countersSchema = z.strictObject({
  payment: z.int(),
  merchant_order: z.int(),
  refund: z.int(),
  chargeback: z.int(),
  store: z.int(),
  point_of_sale: z.int(),
  event: z.int(),
});
export type Counters = z.output<typeof countersSchema>;

/** Each collection: the schema of a record, and its key in the map. */
export const collections = {
  merchants: collection(merchantSchema, ({ user_id }) => user_id),
  tokens: collection(tokenSchema, ({ hash }) => hash),
  grants: collection(grantSchema, ({ code }) => code),
  stores: collection(storeSchema, ({ id }) => id),
  points_of_sale: collection(pointOfSaleSchema, ({ id }) => id),
  terminals: collection(terminalSchema, ({ merchant_id, id }) => `${merchant_id}/${id}`),
  orders: collection(orderSchema, ({ id }) => id),
  payables: collection(payableSchema, ({ id }) => id),
  payments: collection(paymentSchema, ({ id }) => id),
  chargebacks: collection(chargebackSchema, ({ id }) => id),
  invoices: collection(invoiceSchema, ({ id }) => id),
  intents: collection(intentSchema, ({ id }) => id),
  refund_intents: collection(refundIntentSchema, ({ id }) => id),
  integrators: collection(integratorSchema, ({ merchant_id }) => merchant_id),
  notice_targets: collection(noticeTargetSchema, ({ merchant_id }) => merchant_id),
  qr_orders: collection(qrOrderSchema, ({ id }) => id),
  keys: collection(keySchema, ({ name }) => name),
};
export type CollectionName = keyof typeof collections;
/** Each map is in order of creation. */
export type Collections = {
  readonly [Name in CollectionName]: Map<
    ReturnType<(typeof collections)[Name]['keyOf']>,
    z.output<(typeof collections)[Name]['schema']>
  >;
};

function collection<Schema extends z.ZodType, Key extends string | number>(
  schema: Schema,
  keyOf: (record: z.output<Schema>) => Key,
) {
  return { schema, keyOf };
}

export const listSchemas = {
  faults: z.array(setFaultSchema),
  requests: z.array(requestLine),
  sent: z.array(sentLine),
};

// Timer jobs.

const letterSchema = z.strictObject({
  url: z.string(),
  /** For the log: the topic, the order, intent or payment notified, and its change. */
  topic: z.string(),
  subject: z.string(),
  action: z.string(),
  body: z.string(),
  user_agent: z.string(),
  /** `order`: by the settings of order webhooks. `merchant`: with the merchant's secret. `random`: with no key. */
  signing: z.discriminatedUnion('by', [
    z.strictObject({ by: z.literal('order'), is_qr: z.boolean(), is_forged: z.boolean() }),
    z.strictObject({ by: z.literal('merchant'), merchant_id: z.string(), unit: z.enum(['ms', 'setting']) }),
    z.strictObject({ by: z.literal('random'), request_id: z.string(), v1: z.string() }),
  ]),
});
export type Letter = z.output<typeof letterSchema>;

export const simulatedStatuses = ['processed', 'failed', 'canceled', 'expired', 'action_required'] as const;

const jobSchema = z.discriminatedUnion('kind', [
  jobOf('expire_order'),
  jobOf('confirm_cancel'),
  jobOf('abandon_intent'),
  jobOf('expire_qr_order'),
  z.strictObject({
    kind: z.literal('simulate'),
    id: z.string(),
    status: z.enum(simulatedStatuses),
    options: terminalOptions,
  }),
  z.strictObject({ kind: z.literal('end_order_refund'), id: z.string(), refund_id: z.string() }),
  z.strictObject({ kind: z.literal('end_payment_refund'), payment_id: z.int(), refund_id: z.int() }),
  /** `attempt` is counted from 0. */
  z.strictObject({ kind: z.literal('deliver'), letter: letterSchema, attempt: z.int() }),
]);
export type Job = z.output<typeof jobSchema>;
export const timerSchema = z.strictObject({ due_at_ms: z.int(), job: jobSchema });

function jobOf<const Kind extends string>(kind: Kind) {
  return z.strictObject({ kind: z.literal(kind), id: z.string() });
}
