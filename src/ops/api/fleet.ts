/** The fleet, its incidents and the audit trail on the ops API. */
import { z } from 'zod';
import { auditActions } from '../../proxy/audit.ts';
import { verdicts } from '../../proxy/records/evidence.ts';
import { routedKinds, stages } from '../../proxy/routing/merchant.ts';
import { auditQuery, verifyQuery, viewAudit, viewChain } from '../audit.ts';
import { fleetQuery } from '../fleet/line.ts';
import { incidentQuery, viewIncidents } from '../report/decisions.ts';
import { said } from './errors.ts';
import { type OpsRoute, opsRoute } from './router.ts';

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
  opsRoute('viewer', 'GET /api/fleet', {
    summary: 'Every merchant with stage, health of both lanes, drain, blockers, readiness and last incident, in pages.',
    query: fleetQuery,
    answer: fleetView,
    command: 'fleet',
    run: ({ fleet }, { query }) => fleet.view(query),
  }),
];

// Incidents on the ops door: what Puente noticed or did by itself.

/** A line of the audit chain, as decision or incident. */
export const incidentLine = z.object({
  sequence: z.int(),
  at: z.iso.datetime(),
  who: z.string(),
  action: z.string(),
  subject: z.string().describe('a merchant, or a sale by its legacy id'),
  reason: z.string(),
  said: said.nullable(),
  before: z.unknown(),
  after: z.unknown(),
  evidence: z.record(z.string(), z.unknown()),
});

export const incidentsView = z.object({
  incidents: z.array(incidentLine),
  left_out: z.int(),
});

export const incidentRoutes: OpsRoute[] = [
  opsRoute('viewer', 'GET /api/incidents', {
    summary:
      'What Puente noticed or did by itself, newest first: safety stops, settlements, mismatches, held terminals.',
    query: incidentQuery,
    answer: incidentsView,
    command: 'incidents',
    run: ({ ports }, { query, signal }) => viewIncidents(ports, query, signal),
  }),
];

// The audit trail on the ops door: read it, and prove that it is unchanged.

const auditLine = z.object({
  sequence: z.int(),
  at: z.iso.datetime(),
  who: z.string(),
  action: z.string(),
  subject: z.string(),
  reason: z.string(),
  said: said.nullable(),
  detail: z.record(z.string(), z.unknown()),
  hash: z.string(),
});

const chainMark = z.object({ sequence: z.int(), hash: z.string() });

/** What the query's `action` may name. */
export { auditActions };

export const auditView = z.object({ lines: z.array(auditLine) });

export const chainReport = z.object({
  intact: z.boolean(),
  lines: z.int(),
  head: chainMark.nullable(),
  expected: chainMark.nullable(),
  broken: z.object({ sequence: z.int(), reason: z.string(), said: said.nullable() }).nullable(),
});

export const auditRoutes: OpsRoute[] = [
  opsRoute('viewer', 'GET /api/audit', {
    summary: 'Decisions, newest first: who, when, why, what was before and after.',
    query: auditQuery,
    answer: auditView,
    command: 'audit list',
    run: async ({ ports }, { query }) => ({ lines: await viewAudit(ports, query) }),
  }),
  opsRoute('viewer', 'GET /api/audit/verify', {
    summary: 'Checks the complete chain of decisions, and that a head stored elsewhere is still in it.',
    query: verifyQuery,
    answer: chainReport,
    command: 'audit verify',
    run: ({ ports }, { query }) => viewChain(ports, query),
  }),
];
