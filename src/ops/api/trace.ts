/** Sales on the ops API: their list, and the story of one, by any id. */
import { z } from 'zod';
import { outcomes } from '../../proxy/evidence/exchange.ts';
import { capturedMessages } from '../capture/format.ts';
import { lane, merchantId, time } from '../fields.ts';
import {
  acceptAsk,
  acceptDisagreement,
  acceptedView,
  disagreementsOf,
  disagreementsView,
} from '../reconcile/mismatches.ts';
import { salesQuery, salesView, viewSales } from '../trace/sales.ts';
import { traceOf, traceView, viewCall } from '../trace/trace.ts';
import { opsRoute } from './route.ts';

export const callView = z.looseObject({
  id: z.string(),
  at: time,
  merchant_id: z.string().nullable(),
  operation: z.string().nullable(),
  lane: lane,
  stage: z.string(),
  status: z.int(),
  error: z.string().nullable(),
  outcome: z.enum(outcomes),
  duration_ms: z.number(),
  messages: capturedMessages.nullable().describe('redacted; null unless the merchant was captured'),
});

export const tracesView = z.object({ traces: z.array(traceView) });

export const traceRoutes = [
  opsRoute('viewer', 'GET /api/sales', {
    summary: 'Sales of both lanes, newest first: by merchant, unit, state, reference, amount and time, in pages.',
    query: salesQuery,
    answer: salesView,
    command: 'sales',
    run: ({ ports }, { query }) => viewSales(ports, query),
  }),
  opsRoute('viewer', 'GET /api/sales/:id/disagreements', {
    summary: 'What differs between a sale and its order, or an order without a sale: read it before you accept.',
    answer: disagreementsView,
    command: 'sales disagreements',
    run: ({ ports }, { path }) => disagreementsOf(ports, path.id),
  }),
  opsRoute('operator', 'POST /api/sales/:id/acknowledge', {
    summary:
      'Accepts that a sale is lost, or will never agree with upstream: verdicts and certificates still name it, and it blocks them no longer.',
    body: acceptAsk,
    answer: acceptedView,
    command: 'sales acknowledge',
    run: ({ ports }, { path, body, person }) => acceptDisagreement(ports, path.id, body, person.name),
  }),
  opsRoute('viewer', 'GET /api/trace', {
    summary:
      'One sale in one story, by any id: legacy id, order, payment, merchant order, reference, refund, notice, exchange.',
    query: z.strictObject({
      id: z.string().min(1).max(256).describe('any id or reference of a sale'),
      merchant: merchantId.exactOptional().describe('of this merchant alone, where a reference is used by many'),
    }),
    answer: tracesView,
    command: 'trace',
    run: async ({ ports }, { query }) => ({ traces: await traceOf(ports, query.id, query.merchant) }),
  }),
  opsRoute('viewer', 'GET /api/exchanges/:id', {
    summary:
      'One call as it was stored, with its captured messages: of the till, the upstream requests, and both answers.',
    answer: callView,
    command: 'capture show',
    run: ({ ports }, { path }) => viewCall(ports, path.id),
  }),
];
