/** The readiness verdict on the ops door: may this merchant move, and why not. */

import { z } from 'zod';
import { verdicts } from '../../proxy/records/evidence.ts';
import { merchantId } from '../readiness/differences.ts';
import { viewReadiness } from '../readiness/readiness.ts';
import { findingCodes } from '../readiness/verdict.ts';
import { parsed } from './parse.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

export const finding = z.object({
  code: z.enum(findingCodes),
  what: z.string().describe('one sentence: what, and how often'),
  said,
  command: z.string().nullable().describe('shows it, mends it, or proves it'),
  operation: z.string().nullable(),
  sample: z.string().nullable().describe('an exchange that shows it'),
});

export const readinessView = z.object({
  merchant_id: z.string(),
  verdict: z.enum(verdicts),
  blockers: z.array(finding),
  unproven: z.array(finding),
  remarks: z.array(finding),
  operations: z.array(
    z.object({
      operation: z.string(),
      kind: z.enum(['devices', 'intents', 'qr', 'payments']),
      calls: z.int(),
      outcomes: z.object({ ok: z.int(), business: z.int(), auth: z.int(), fault: z.int() }),
      verdict: z.enum(verdicts),
    }),
  ),
  judged_at: z.iso.datetime(),
  tables_revision: z.string(),
});

export const readinessRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/merchants/:id/readiness',
    role: 'viewer',
    summary: 'The readiness verdict: what blocks the next move, what no traffic has proven, and what would prove it.',
    answer: readinessView,
    command: 'can-migrate',
    run: ({ runtime }, { path }) => viewReadiness(runtime, parsed(merchantId, path.id)),
  }),
];
