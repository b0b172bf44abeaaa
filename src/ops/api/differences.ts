/** The inbox of differences on the ops door: list, show, judge. */
import { z } from 'zod';
import { differenceStates } from '../../proxy/records/evidence.ts';
import {
  differenceJudgement,
  differenceKinds,
  differenceQuery,
  judgeDifference,
  merchantId,
  viewDifference,
  viewDifferences,
} from '../readiness/differences.ts';
import { parsed } from './parse.ts';
import { type OpsRoute, opsRoute } from './route.ts';

const difference = z.object({
  merchant_id: z.string(),
  signature: z.string().describe('the same for the same finding, whatever the values'),
  operation: z.string(),
  what: z.enum(differenceKinds),
  path: z.string().describe('in the legacy answer; empty for the whole'),
  legacy: z.string(),
  orders: z.string(),
  state: z.enum(differenceStates),
  accepted_until: z.iso.datetime().nullable(),
  note: z.string(),
  who: z.string().nullable(),
  count: z.int(),
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime(),
  sample: z.string(),
  tables_revision: z.string(),
  revision: z.int(),
});

export const differencesView = z.object({ differences: z.array(difference) });

const path = '/api/differences/:merchant/:signature';

export const differencesRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/differences',
    role: 'viewer',
    summary: 'Differences between the sides, grouped by signature; those that nobody has judged first.',
    query: differenceQuery,
    answer: differencesView,
    command: 'differences list',
    run: async ({ runtime }, { query }) => ({ differences: await viewDifferences(runtime, query) }),
  }),
  opsRoute({
    method: 'GET',
    path,
    role: 'viewer',
    summary: 'One difference, with what each side said.',
    answer: difference,
    command: 'differences show',
    run: ({ runtime }, { path }) => viewDifference(runtime, parsed(merchantId, path.merchant), path.signature ?? ''),
  }),
  opsRoute({
    method: 'PUT',
    path,
    role: 'operator',
    summary: 'Says that a difference is explained, accepted until a date, or fixed.',
    body: differenceJudgement,
    answer: difference,
    command: 'differences judge',
    run: ({ runtime }, { path, body, person }) =>
      judgeDifference(runtime, parsed(merchantId, path.merchant), path.signature ?? '', body, person.name),
  }),
];
