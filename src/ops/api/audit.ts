/** The audit trail on the ops door: read it, and prove that nobody changed it. */

import { z } from 'zod';
import { auditActions } from '../../proxy/audit.ts';
import { auditQuery, verifyQuery, viewAudit, viewChain } from '../audit/audit-trail.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

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
  opsRoute({
    method: 'GET',
    path: '/api/audit',
    role: 'viewer',
    summary: 'Decisions, newest first: who, when, why, what was before and after.',
    query: auditQuery,
    answer: auditView,
    command: 'audit list',
    run: async ({ runtime }, { query }) => ({ lines: await viewAudit(runtime, query) }),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/audit/verify',
    role: 'viewer',
    summary: 'Checks the whole chain of decisions, and that a line noted elsewhere is still in it.',
    query: verifyQuery,
    answer: chainReport,
    command: 'audit verify',
    run: ({ runtime }, { query }) => viewChain(runtime, query),
  }),
];
