/** Evidence on the ops API: losses, coverage, unknowns, differences, readiness, captures, limitations, assumptions. */
import { z } from 'zod';
import { shadowVerdicts } from '../../proxy/evidence/exchange.ts';
import { lossWeights } from '../../proxy/records/evidence.ts';
import { capturedQuery, exchangeLines, exchangesQuery, viewCaptured } from '../capture/format.ts';
import { byMerchant, lane, merchantId, said, time } from '../fields.ts';
import {
  coverageQuery,
  coverageStates,
  lossQuery,
  viewCoverage,
  viewLosses,
  viewUnknowns,
  viewVerdicts,
} from '../readiness/coverage.ts';
import {
  decommissionView,
  fleetDecommissionView,
  viewDecommission,
  viewFleetDecommission,
} from '../readiness/decommission.ts';
import {
  differenceJudgement,
  differenceQuery,
  judgeDifference,
  judgedDifference,
  namedDifference,
  viewDifference,
  viewDifferences,
} from '../readiness/differences.ts';
import { readinessView } from '../readiness/facts.ts';
import { askedReadiness } from '../readiness/readiness.ts';
import { report } from '../report/report.ts';
import { merchant_name, refuseUnseenRead } from '../seen.ts';
import { namedOf, onlyOf } from '../whose.ts';
import { opsRoute, parsed } from './route.ts';
import type { Streamed } from './stream.ts';

const loss = z.object({
  merchant_id: z.string(),
  merchant_name,
  operation: z.string(),
  field: z.string(),
  table: z.string(),
  why: z.string(),
  weight: z.enum(lossWeights),
  count: z.int(),
  real_count: z.int(),
  would_be_count: z.int(),
  first_at: time,
  last_at: time,
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
      last_at: time.nullable(),
    }),
  ),
});

const unknown = z.object({
  merchant_id: z.string(),
  merchant_name,
  what: z.enum(['endpoint', 'field', 'header']),
  name: z.string(),
  count: z.int(),
  first_at: time,
  last_at: time,
});

const verdict = z.object({
  merchant_id: z.string(),
  merchant_name,
  operation: z.string(),
  verdict: z.enum(shadowVerdicts),
  code: z.string().nullable(),
  error: z.string().nullable(),
  detail: z.string().nullable(),
  count: z.int(),
  refused_on_legacy: z.int().describe('of count: calls that legacy refused, too'),
  last_at: time,
  sample: z.string(),
});

export const differencesView = z.object({ differences: z.array(namedDifference) });

const NDJSON = 'application/x-ndjson';

const limitation = report.shape.limitations.element.pick({ id: true, title: true, effect: true, workaround: true });
/** Newest first; `answers` are the statuses of upstream's answers, null for none. */
export const capturedCallsView = z.object({
  calls: z.array(
    z.object({
      id: z.string(),
      at: time,
      merchant_id: z.string().nullable(),
      merchant_name,
      operation: z.string().nullable(),
      lane,
      status: z.int(),
      answers: z.array(z.int().nullable()).describe('statuses of upstream’s answers'),
    }),
  ),
});

export const evidenceRoutes = [
  opsRoute('viewer', 'GET /api/losses', {
    summary: "The loss ledger, money and identity first, each row with the sentence to send to the till's maker.",
    query: lossQuery,
    answer: lossesView,
    command: 'losses',
    run: async ({ ports }, { query, signal }) => ({
      losses: await namedOf(ports, query.merchant, await viewLosses(ports, query, signal)),
    }),
  }),
  opsRoute('viewer', 'GET /api/merchants/:id/coverage', {
    summary: 'Every field of every operation that the merchant uses: equal, different, or never seen.',
    query: coverageQuery,
    answer: coverageView,
    command: 'coverage',
    async run({ ports }, { path, query }) {
      const id = parsed(merchantId, path.id);
      await refuseUnseenRead(ports, id);
      return viewCoverage(ports, id, query);
    },
  }),
  opsRoute('viewer', 'GET /api/unknowns', {
    summary: 'Endpoints, fields and headers that are in no table, each counted.',
    query: byMerchant,
    answer: z.object({ unknowns: z.array(unknown) }),
    command: 'unknowns',
    run: async ({ ports }, { query, signal }) => ({
      unknowns: await namedOf(ports, query.merchant, await viewUnknowns(ports, query, signal)),
    }),
  }),
  opsRoute('viewer', 'GET /api/verdicts', {
    summary:
      'Whether orders would have accepted the creates that legacy answered, with the exact codes; refusals first.',
    query: byMerchant,
    answer: z.object({ verdicts: z.array(verdict) }),
    command: 'verdicts',
    run: async ({ ports }, { query, signal }) => ({
      verdicts: await namedOf(ports, query.merchant, await viewVerdicts(ports, query, signal)),
    }),
  }),
  opsRoute('viewer', 'GET /api/differences', {
    summary: 'Differences between legacy and orders, grouped by signature; those not judged yet first.',
    query: differenceQuery,
    answer: differencesView,
    command: 'differences list',
    run: async ({ ports }, { query, signal }) => ({
      differences: await namedOf(ports, query.merchant, await viewDifferences(ports, query, signal)),
    }),
  }),
  opsRoute('viewer', 'GET /api/differences/:merchant/:signature', {
    summary: 'One difference, with the value of each side.',
    answer: namedDifference,
    command: 'differences show',
    run: ({ ports }, { path }) => viewDifference(ports, parsed(merchantId, path.merchant), path.signature),
  }),
  opsRoute('operator', 'PUT /api/differences/:merchant/:signature', {
    summary: 'Judges a difference: explained, accepted until a date, or fixed.',
    body: differenceJudgement,
    answer: judgedDifference,
    command: 'differences judge',
    run: ({ ports }, { path, body, person }) =>
      judgeDifference(ports, parsed(merchantId, path.merchant), path.signature, body, person.name),
  }),
  opsRoute('viewer', 'GET /api/merchants/:id/readiness', {
    summary: 'The readiness verdict: what blocks the next move, what no traffic has proven, and what would prove it.',
    answer: readinessView,
    command: 'can-migrate',
    run: ({ ports }, { path }) => askedReadiness(ports, parsed(merchantId, path.id)),
  }),
  opsRoute('viewer', 'GET /api/merchants/:id/decommission', {
    summary:
      'What still needs legacy, of a merchant: the last legacy call of each terminal and point of sale, days without one, open sales, and what may be switched off now.',
    answer: decommissionView,
    command: 'decommission',
    run: ({ ports }, { path }) => viewDecommission(ports, parsed(merchantId, path.id)),
  }),
  opsRoute('viewer', 'GET /api/decommission', {
    summary: 'What still needs legacy, one line for each merchant.',
    query: byMerchant,
    answer: fleetDecommissionView,
    command: 'decommission',
    run: ({ ports }, { query, signal }) => viewFleetDecommission(ports, query.merchant, signal),
  }),
  opsRoute('viewer', 'GET /api/exchanges', {
    summary: 'Exchanges of a merchant or the fleet as a capture file, JSON lines, redacted as they were captured.',
    query: exchangesQuery,
    answer: { streams: [NDJSON] },
    command: 'capture export',
    async run({ ports }, { query }): Promise<Streamed> {
      const only = onlyOf(query.merchant);
      await refuseUnseenRead(ports, only);
      const subject = only ?? (query.merchant === undefined ? 'all-merchants' : 'merchants');
      return {
        streamed: true,
        content_type: NDJSON,
        file_name: `puente-capture-${subject}.jsonl`,
        parts: exchangeLines(ports, query),
      };
    },
  }),
  opsRoute('viewer', 'GET /api/captured', {
    summary: 'The newest calls whose messages were kept, of a merchant or of all.',
    query: capturedQuery,
    answer: capturedCallsView,
    command: 'capture list',
    run: ({ ports }, { query, signal }) => viewCaptured(ports, query, signal),
  }),
  opsRoute('viewer', 'GET /api/limitations', {
    summary: 'Where a till sees something else than the legacy API showed it: effect and workaround of each.',
    answer: z.object({
      limitations: z.array(limitation.extend({ operations: z.array(z.string()) })),
    }),
    command: 'limitations',
    run: async ({ ports }) => ({
      limitations: ports.tables.limitations.map(({ id, title, effect, workaround, operations }) => {
        return { id, title, effect, workaround, operations };
      }),
    }),
  }),
  opsRoute('viewer', 'GET /api/assumptions', {
    summary: 'What the specification leaves open, each with its value in force and what it decides.',
    answer: report.pick({ assumptions: true }),
    command: 'assumptions',
    run: async ({ report_facts }) => ({ assumptions: report_facts.assumptions }),
  }),
];
