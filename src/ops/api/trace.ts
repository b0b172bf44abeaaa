/** Trace on the ops door: one sale in one story, by any id. */

import { z } from 'zod';
import { outcomes } from '../../proxy/evidence/exchange.ts';
import { capturedMessages } from '../capture/format.ts';
import { merchantId } from '../fields.ts';
import { idKinds, traceOf, viewCall } from '../trace/trace.ts';
import { said } from './errors.ts';
import { type OpsRoute, opsRoute } from './router.ts';

const step = z.object({
  at: z.iso.datetime(),
  kind: z.enum(['till', 'upstream', 'shadow', 'state', 'event', 'notice', 'refund', 'loss', 'decision']),
  what: z.string(),
  said: z.array(said),
  id: z.string().nullable(),
});

const sale = z.object({
  merchant: z.string(),
  lane: z.enum(['legacy', 'orders']),
  family: z.string(),
  unit: z.string(),
  legacy_id: z.string().nullable(),
  order_id: z.string().nullable(),
  payment_id: z.string().nullable(),
  merchant_order_id: z.number().nullable(),
  client_reference: z.string().nullable(),
  reference_sent: z.string().nullable(),
  amount: z.string().nullable().describe('decimal text'),
  currency: z.string(),
  legacy_state: z.string().nullable(),
  state: z.string(),
  born_at: z.iso.datetime(),
  ends_at: z.iso.datetime().nullable(),
  tables_revision: z.string().nullable(),
});

const trace = z.object({
  found_as: z.enum(idKinds),
  sale: sale.nullable().describe('null for calls that belong to no known sale'),
  promise: z.string(),
  promise_said: said,
  steps: z.array(step),
  rules: z.array(z.object({ row: z.string(), says: z.string(), says_said: said, why: z.string() })),
  tables_changed: z.boolean(),
});

export const callView = z.looseObject({
  id: z.string(),
  at: z.iso.datetime(),
  merchant_id: z.string().nullable(),
  operation: z.string().nullable(),
  lane: z.enum(['legacy', 'orders']),
  stage: z.string(),
  status: z.int(),
  error: z.string().nullable(),
  outcome: z.enum(outcomes),
  duration_ms: z.number(),
  messages: capturedMessages.nullable().describe('redacted; null unless the merchant was captured'),
});

export const tracesView = z.object({ traces: z.array(trace) });

export const traceRoutes: OpsRoute[] = [
  opsRoute('viewer', 'GET /api/trace', {
    summary:
      'One sale in one story, by any id: legacy id, order, payment, merchant order, reference, refund, notice, exchange.',
    query: z.strictObject({
      id: z.string().min(1).max(256).describe('any id or reference that somebody has of a sale'),
      merchant: merchantId.exactOptional().describe('of this merchant alone, where a reference is used by many'),
    }),
    answer: tracesView,
    command: 'trace',
    run: async ({ ports }, { query }) => ({ traces: await traceOf(ports, query.id, query.merchant) }),
  }),
  opsRoute('viewer', 'GET /api/exchanges/:id', {
    summary:
      'One call as it was kept, with its messages when they were captured: till, answer, upstream and what came back.',
    answer: callView,
    command: 'capture show',
    run: ({ ports }, { path }) => viewCall(ports, path.id ?? ''),
  }),
];
