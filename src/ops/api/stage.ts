/** Moves on the ops door: preview, move, roll back, and what is still open. */

import { z } from 'zod';
import { viewDrain } from '../moves/drain.ts';
import { moveStage, previewAsk, previewStage, stageChange } from '../moves/move.ts';
import { rollBack, rollbackAsk } from '../moves/rollback.ts';
import { merchantView } from './merchants.ts';
import { judgementView, proposalView } from './moves.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

const openUnit = z.object({
  unit: z.string().describe('`point:<terminal>` or `qr:<point of sale>`'),
  open: z.int(),
  oldest_at: z.iso.datetime().nullable(),
  latest_end_at: z.iso.datetime().nullable(),
  in_doubt: z.int().describe('Creates whose outcome nobody knows yet.'),
});
const openSide = openUnit.omit({ unit: true });

/** What is still open on both sides. */
export const drainView = z.looseObject({
  merchant_id: z.string(),
  at: z.iso.datetime(),
  in_force: z.record(z.string(), z.unknown()),
  orders: openSide.extend({
    notices_pending: z.int(),
    units: z.array(openUnit.extend({ notices_pending: z.int() })),
  }),
  legacy: openSide.extend({ units: z.array(openUnit) }),
  safe_to_close_at: z.iso.datetime().nullable().describe('Null while a sale lives on beyond its lifetime.'),
  says: z.string(),
  said: z.array(said),
});

export const previewView = z.object({ merchant_id: z.string(), revision: z.int(), judgement: judgementView });

/** Moved at once, or proposed to a second person. */
export const moveView = z.union([
  merchantView.extend({ result: z.literal('moved'), judgement: judgementView }),
  z.object({ result: z.literal('proposed'), proposed: proposalView, judgement: judgementView }),
]);

export const stageRoutes: OpsRoute[] = [
  opsRoute({
    method: 'PUT',
    path: '/api/merchants/:id/stage',
    role: 'operator',
    summary: 'Moves a merchant, or one kind of its work; with a second approver asked for, proposes the move.',
    body: stageChange,
    answer: moveView,
    command: 'stage',
    run: ({ runtime }, { path, body, person }) => moveStage(runtime, path.id ?? '', body, person),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/merchants/:id/stage/preview',
    role: 'viewer',
    summary: 'What a move would be told and touch: allowed or not, what is missing, units, calls a day, open work.',
    query: previewAsk,
    answer: previewView,
    command: 'stage --dry-run',
    run: ({ runtime }, { path, query, person }) => previewStage(runtime, path.id ?? '', query, person),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/merchants/:id/rollback',
    role: 'operator',
    summary: 'Takes a merchant back to legacy now, all kinds of work, whatever else is going on.',
    body: rollbackAsk,
    answer: drainView,
    command: 'rollback',
    run: ({ runtime }, { path, body, person }) => rollBack(runtime, path.id ?? '', body.reason, person),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/merchants/:id/drain',
    role: 'viewer',
    summary: 'What is still open on each side, unit by unit, and when it is over at the latest.',
    answer: drainView,
    command: 'drain',
    run: ({ runtime }, { path }) => viewDrain(runtime, path.id ?? ''),
  }),
];
