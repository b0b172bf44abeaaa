/** Moves that wait for a second person, and bulk moves, on the ops door. */

import { z } from 'zod';
import { abortBulk, bulkAbort, bulkAsk, bulkStates, startBulk, viewBulk, viewBulks } from '../moves/bulk-start.ts';
import {
  approveMove,
  decision,
  declineMove,
  proposalQuery,
  proposalStates,
  viewProposal,
  viewProposals,
} from '../moves/proposals.ts';
import { merchantView } from './merchants.ts';
import { finding } from './readiness.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

const preview = z.looseObject({
  changes: z.array(z.string()),
  changes_said: z.array(said),
  units_seen: z.int(),
  units_now: z.int().describe('Units that change side at once.'),
  units_later: z.int().describe('Units that an open sale keeps where they are.'),
  units: z.array(
    z.object({
      slot: z.string(),
      to: z.enum(['orders', 'legacy']),
      when: z.enum(['now', 'later']),
      why: z.string().nullable(),
      why_said: said.nullable(),
      until: z.iso.datetime().nullable(),
    }),
  ),
  calls_a_day: z.number(),
  calls_a_day_touched: z.number(),
});

/** What was said of a move. */
export const judgementView = z.object({
  allowed: z.boolean(),
  kind: z.enum(['forward', 'back', 'same']),
  missing: z.array(finding),
  needs: z.enum(['nothing', 'approval', 'override']),
  overridden: z.boolean(),
  preview,
});

export const proposalView = z.object({
  id: z.string(),
  merchant_id: z.string(),
  move: z.record(z.string(), z.unknown()),
  reason: z.string(),
  proposed_by: z.string(),
  proposed_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  state: z.enum(proposalStates),
  decided_by: z.string().nullable(),
  decided_at: z.iso.datetime().nullable(),
});

export const proposalsView = z.object({ moves: z.array(proposalView) });

const bulkLine = z.looseObject({
  id: z.string(),
  state: z.enum(bulkStates),
  detail: z.string().describe('Why it stands still, or what it waits for.'),
  summary: z.string(),
  per_day: z.int(),
});
const bulkView = bulkLine.extend({
  items: z.array(
    z.looseObject({ merchant_id: z.string(), state: z.string(), detail: z.string(), at: z.iso.datetime().nullable() }),
  ),
});

export const moveRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/moves',
    role: 'viewer',
    summary: 'Moves that were proposed, newest first.',
    query: proposalQuery,
    answer: proposalsView,
    command: 'moves list',
    run: async ({ runtime }, { query }) => ({ moves: await viewProposals(runtime, query) }),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/moves/:id',
    role: 'viewer',
    summary: 'A proposed move, with what would be said of it now.',
    answer: proposalView.extend({ judgement: judgementView.nullable() }),
    command: 'moves show',
    run: ({ runtime }, { path, person }) => viewProposal(runtime, path.id ?? '', person),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/moves/:id/approve',
    role: 'approver',
    summary: 'Makes a move that somebody else proposed, judged again on what holds now.',
    body: decision,
    answer: merchantView,
    command: 'moves approve',
    run: ({ runtime }, { path, body, person }) => approveMove(runtime, path.id ?? '', body.reason, person),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/moves/:id/decline',
    role: 'operator',
    summary: 'Declines a proposed move; its own proposer withdraws it.',
    body: decision,
    answer: proposalView,
    command: 'moves decline',
    run: ({ runtime }, { path, body, person }) => declineMove(runtime, path.id ?? '', body.reason, person),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/bulk',
    role: 'viewer',
    summary: 'Bulk moves, newest first.',
    answer: z.object({ bulk_moves: z.array(bulkLine) }),
    command: 'bulk list',
    run: async ({ runtime }) => ({ bulk_moves: await viewBulks(runtime) }),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/bulk',
    role: 'operator',
    summary: 'Starts to move many merchants, so many a day, until the first safety stop among them.',
    body: bulkAsk,
    answer: bulkView,
    command: 'bulk start',
    run: ({ runtime }, { body, person }) => startBulk(runtime, body, person),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/bulk/:id',
    role: 'viewer',
    summary: 'A bulk move, merchant by merchant.',
    answer: bulkView,
    command: 'bulk show',
    run: ({ runtime }, { path }) => viewBulk(runtime, path.id ?? ''),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/bulk/:id/abort',
    role: 'operator',
    summary: 'Ends a bulk move at once; who is moved stays moved.',
    body: bulkAbort,
    answer: bulkView,
    command: 'bulk abort',
    run: ({ runtime }, { path, body, person }) => abortBulk(runtime, path.id ?? '', body.reason, person),
  }),
];
