/** Evidence on the ops door: the loss ledger, the coverage matrix, what no table knows, what the shadow said. */
import { z } from 'zod';
import { coverageQuery, coverageStates, viewCoverage } from '../readiness/coverage.ts';
import { merchantId } from '../readiness/differences.ts';
import { lossQuery, lossWeights, viewLosses } from '../readiness/losses.ts';
import { byMerchant, viewUnknowns, viewVerdicts } from '../readiness/unknowns.ts';
import { parsed } from './parse.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

const loss = z.object({
  merchant_id: z.string(),
  operation: z.string(),
  field: z.string(),
  table: z.string(),
  why: z.string(),
  weight: z.enum(lossWeights),
  count: z.int(),
  real_count: z.int(),
  would_be_count: z.int(),
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime(),
  sample: z.string(),
  tables_revision: z.string(),
  advice: z.string().describe("the sentence to send to the till's maker"),
  advice_said: said,
});

export const lossesView = z.object({ losses: z.array(loss) });

export const coverageView = z.object({
  merchant_id: z.string(),
  tables_revision: z.string(),
  operations: z.array(z.object({ operation: z.string(), calls: z.int() })),
  cells: z.array(
    z.object({
      operation: z.string(),
      field: z.string(),
      equal: z.int(),
      different: z.int(),
      state: z.enum(coverageStates),
      last_at: z.iso.datetime().nullable(),
    }),
  ),
});

const unknown = z.object({
  merchant_id: z.string(),
  what: z.enum(['endpoint', 'field', 'header']),
  name: z.string(),
  count: z.int(),
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime(),
});

const verdict = z.object({
  merchant_id: z.string(),
  operation: z.string(),
  verdict: z.enum(['accepted', 'refused_here', 'refused_there']),
  code: z.string().nullable(),
  error: z.string().nullable(),
  detail: z.string().nullable(),
  count: z.int(),
  last_at: z.iso.datetime(),
  sample: z.string(),
});

export const evidenceRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/losses',
    role: 'viewer',
    summary: "The loss ledger, money and identity first, each row with the sentence to send to the till's maker.",
    query: lossQuery,
    answer: lossesView,
    command: 'losses',
    run: async ({ runtime }, { query }) => ({ losses: await viewLosses(runtime, query) }),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/merchants/:id/coverage',
    role: 'viewer',
    summary: 'Every field of every operation that the merchant uses: equal, different, or never seen.',
    query: coverageQuery,
    answer: coverageView,
    command: 'coverage',
    run: ({ runtime }, { path, query }) => viewCoverage(runtime, parsed(merchantId, path.id), query),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/unknowns',
    role: 'viewer',
    summary: 'Endpoints, fields and headers that no table knows, each counted.',
    query: byMerchant,
    answer: z.object({ unknowns: z.array(unknown) }),
    command: 'unknowns',
    run: async ({ runtime }, { query }) => ({ unknowns: await viewUnknowns(runtime, query) }),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/verdicts',
    role: 'viewer',
    summary: 'What would have become of legacy creates as orders, with the exact codes; refusals first.',
    query: byMerchant,
    answer: z.object({ verdicts: z.array(verdict) }),
    command: 'verdicts',
    run: async ({ runtime }, { query }) => ({ verdicts: await viewVerdicts(runtime, query) }),
  }),
];
