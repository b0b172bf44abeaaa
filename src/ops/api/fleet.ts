/** The fleet on the ops door: every merchant with its stage, the health of both lanes, what drains, and what is in its way. */

import { z } from 'zod';
import { verdicts } from '../../proxy/records/evidence.ts';
import { routedKinds, stages } from '../../proxy/routing/merchant.ts';
import { fleetQuery } from '../fleet/select.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

const lanePulse = z.object({
  calls: z.int(),
  per_minute: z.number(),
  faults: z.int().describe("5xx, timeouts, outcomes in doubt: ours or the service's, never a shop's or a card's"),
  fault_share: z.number().describe('percent of the calls'),
  p50_ms: z.number(),
  p99_ms: z.number(),
  trend: z.array(z.int()).describe('calls in each three minutes, oldest first'),
});

const fleetLine = z.object({
  merchant_id: z.string(),
  site: z.string().nullable(),
  revision: z.int(),
  stage: z.enum(stages).describe("the merchant's own, in force"),
  intended: z.enum(stages),
  share: z.number(),
  apart: z.array(z.object({ kind: z.enum(routedKinds), stage: z.enum(stages), share: z.number() })),
  stopped: z.array(z.enum(routedKinds)).describe('kinds that a safety stop holds'),
  health: z.object({ legacy: lanePulse.nullable(), orders: lanePulse.nullable() }).describe('of the last hour'),
  open: z.object({ orders: z.int(), legacy: z.int(), in_doubt: z.int(), notices_pending: z.int() }),
  draining: z.object({ lane: z.enum(['legacy', 'orders']), open: z.int() }).nullable(),
  readiness: z
    .object({
      verdict: z.enum(verdicts),
      blockers: z.int(),
      first: z.string().nullable(),
      first_said: said.nullable(),
      at: z.iso.datetime(),
    })
    .nullable()
    .describe('null while it was not judged yet'),
  last_incident: z
    .object({ at: z.iso.datetime(), what: z.string(), why: z.string(), said: said.nullable() })
    .nullable(),
  waiting_moves: z.int(),
});

export const fleetView = z.object({
  at: z.iso.datetime(),
  totals: z.object({
    merchants: z.int(),
    stages: z.record(z.enum(stages), z.int()),
    readiness: z.record(z.enum([...verdicts, 'unjudged']), z.int()),
    stopped: z.int(),
    attention: z.int(),
  }),
  found: z.int(),
  page: z.int(),
  pages: z.int(),
  merchants: z.array(fleetLine),
});

export const fleetRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/fleet',
    role: 'viewer',
    summary: 'Every merchant with stage, health of both lanes, drain, blockers, readiness and last incident, in pages.',
    query: fleetQuery,
    answer: fleetView,
    command: 'fleet',
    run: ({ fleet }, { query }) => fleet.view(query),
  }),
];
