/** The fleet and the audit trail on the ops API. */
import { z } from 'zod';
import { auditQuery, chainView, namedLine, verifyQuery, viewAudit, viewChain } from '../audit.ts';
import { fleetQuery, fleetView } from '../fleet/line.ts';
import { opsRoute } from './route.ts';

export const auditView = z.object({ lines: z.array(namedLine) });

export const fleetRoutes = [
  opsRoute('viewer', 'GET /api/fleet', {
    summary: 'Every merchant with stage, health of both lanes, drain, blockers, readiness and last incident, in pages.',
    query: fleetQuery,
    answer: fleetView,
    command: 'fleet',
    run: ({ fleet }, { query }) => fleet.view(query),
  }),
  opsRoute('viewer', 'GET /api/audit', {
    summary: 'Decisions, newest first: who, when, why, what was before and after.',
    query: auditQuery,
    answer: auditView,
    command: 'audit list',
    run: async ({ ports }, { query, signal }) => ({ lines: await viewAudit(ports, query, signal) }),
  }),
  opsRoute('viewer', 'GET /api/audit/verify', {
    summary: 'Checks the complete chain of decisions, and that a head stored elsewhere is still in it.',
    query: verifyQuery,
    answer: chainView,
    command: 'audit verify',
    run: ({ ports }, { query }) => viewChain(ports, query),
  }),
];
