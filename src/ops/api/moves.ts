/** Moves on the ops API: preview, move, rollback, drain; proposals and bulk moves; brown-outs and safety stops. */
import { z } from 'zod';
import { routedKinds, safetyModes } from '../../proxy/routing/merchant.ts';
import { byMerchant, reasonAlone, said, time } from '../fields.ts';
import { merchantAnswer } from '../merchants.ts';
import { alertAnswer, alertAsk, alertQuery, rollBackByAlert } from '../moves/alert.ts';
import {
  abortBrownout,
  brownoutAsk,
  brownoutLine,
  brownoutPage,
  brownoutView,
  scheduleBrownout,
  viewBrownouts,
  viewRefused,
} from '../moves/brownouts.ts';
import {
  abortBulk,
  bulkAsk,
  bulkItemQuery,
  bulkQuery,
  bulkStates,
  startBulk,
  viewBulk,
  viewBulks,
} from '../moves/bulk.ts';
import { judgementView } from '../moves/judge.ts';
import { moveStage, previewAsk, previewStage, rollBack, rolledBack, stageChange } from '../moves/move.ts';
import { drainView, viewDrain } from '../moves/preview.ts';
import {
  approveMove,
  declineMove,
  proposalQuery,
  proposalStates,
  viewProposal,
  viewProposals,
} from '../moves/proposals.ts';
import {
  changeRamp,
  previewRamp,
  rampAsk,
  rampLook,
  rampPreview,
  rampQuery,
  rampView,
  startRamp,
  viewRamp,
  viewRamps,
} from '../moves/ramp.ts';
import { rampStepView, viewRampStep } from '../moves/ramp-evidence.ts';
import { resetAsk, resetStop, viewSafety, viewStops } from '../safety.ts';
import { merchant_name, reasonOrNew, unseenFields, unseenIn } from '../seen.ts';
import { namedOf } from '../whose.ts';
import { opsRoute } from './route.ts';

export const proposalView = z.object({
  id: z.string(),
  merchant_id: z.string(),
  move: z.record(z.string(), z.unknown()),
  reason: z.string(),
  proposed_by: z.string(),
  proposed_at: time,
  expires_at: time,
  state: z.enum(proposalStates),
  decided_by: z.string().nullable(),
  decided_at: time.nullable(),
});

const bulkLine = z.looseObject({
  id: z.string(),
  state: z.enum(bulkStates),
  reason: z.string(),
  who: z.string(),
  created_at: time,
  detail: z.string().describe('Why it stopped, or what it waits for.'),
  detail_said: said.nullable(),
  summary: z.string(),
  summary_said: said,
  per_day: z.int(),
});
export const bulkMovesView = z.object({ bulk_moves: z.array(bulkLine) });
const bulkMoveView = bulkLine.extend({
  items: z.array(
    z.looseObject({
      merchant_id: z.string(),
      merchant_name,
      state: z.string(),
      detail: z.string(),
      detail_said: said.nullable(),
      at: time.nullable(),
    }),
  ),
  next: z.int().nullable().describe('`skip` of the next page of its merchants; null at the end'),
});

const exchanges = z
  .array(z.string())
  .describe('Calls that were faults or slow, newest first, at most 10; a trace opens each.');
const trip = z.object({
  kind: z.enum(routedKinds),
  at: time,
  why: z.string(),
  said: said.nullable(),
  evidence: z.object({
    calls: z.int(),
    faults: z.int(),
    slow: z.int(),
    in_a_row: z.int().exactOptional().describe('Faults since the last good call.'),
    window_ms: z.int(),
    exchanges,
  }),
  intended: z.string().describe("The operator's stage, which applies again after the reset."),
});

export const safetyView = z.object({
  merchant_id: z.string(),
  merchant_name,
  ...unseenFields,
  revision: z.int(),
  mode: z.enum(safetyModes),
  trips: z.array(trip),
  rules: z
    .object({
      window_ms: z.int(),
      min_sample: z.int().describe('Fewer calls are judged by faults in a row alone.'),
      fault_share: z.number().describe('Percent of faults that trips it.'),
      slow_share: z.number().describe('Percent of slow calls that trips it.'),
      slow_ms: z.int().describe('A call that takes this long is slow.'),
      faults_in_a_row: z.int().describe('Faults without a good call between that trip it.'),
    })
    .describe('What trips it.'),
  now: z.array(
    z.object({
      kind: z.enum(routedKinds),
      calls: z.int().describe('In the window, without retries of a fault.'),
      faults: z.int().describe('Of them; a create that failed is one, with all its retries.'),
      slow: z.int(),
      in_a_row: z.int(),
      faults_left: z.int().describe('How many more faults trip it; 0: it would trip now.'),
      slow_left: z.int().nullable().describe('How many more slow calls trip it; null: no number does.'),
      exchanges,
      why: z.string().nullable().describe('Why it would trip now.'),
    }),
  ),
  history: z.array(
    z.object({ at: time, kind: z.string(), stopped: z.boolean(), why: z.string(), said: said.nullable(), exchanges }),
  ),
});

const rampChanges = [
  ['approver', 'approve', 'Approves all steps of a ramp that another person proposed, and starts it.'],
  ['operator', 'pause', 'Pauses a ramp; its merchants stay where they are.'],
  [
    ...(['operator', 'resume'] as const),
    'Resumes a paused ramp; the present steps are watched anew. Refused while a safety stop is in force.',
  ],
  ['operator', 'cancel', 'Ends a ramp, or declines a proposed one; its merchants stay where they are.'],
] as const;

export const moveRoutes = [
  opsRoute('viewer', 'GET /api/moves', {
    summary: 'Moves that were proposed, newest first.',
    query: proposalQuery,
    answer: z.object({ moves: z.array(proposalView.extend({ merchant_name })) }),
    command: 'moves list',
    run: async ({ ports }, { query, signal }) => ({
      moves: await namedOf(ports, query.merchant, await viewProposals(ports, query, signal)),
    }),
  }),
  opsRoute('viewer', 'GET /api/moves/:id', {
    summary: 'A proposed move, with its present judgement.',
    answer: proposalView.extend({ merchant_name, judgement: judgementView.nullable() }),
    command: 'moves show',
    run: ({ ports }, { path, person }) => viewProposal(ports, path.id, person),
  }),
  opsRoute('approver', 'POST /api/moves/:id/approve', {
    summary: 'Makes a move that another person proposed, judged again on the present evidence.',
    body: reasonAlone,
    answer: merchantAnswer.extend({ judgement: judgementView }),
    command: 'moves approve',
    run: ({ ports }, { path, body, person }) => approveMove(ports, path.id, body.reason, person),
  }),
  opsRoute('operator', 'POST /api/moves/:id/decline', {
    summary: 'Declines a proposed move; its own proposer withdraws it.',
    body: reasonAlone,
    answer: proposalView,
    command: 'moves decline',
    run: ({ ports }, { path, body, person }) => declineMove(ports, path.id, body.reason, person),
  }),
  opsRoute('viewer', 'GET /api/bulk', {
    summary: 'Bulk moves, newest first, in pages.',
    query: bulkQuery,
    answer: bulkMovesView,
    command: 'bulk list',
    run: async ({ ports }, { query }) => ({ bulk_moves: await viewBulks(ports, query) }),
  }),
  opsRoute('operator', 'POST /api/bulk', {
    summary: 'Starts to move many merchants, a set number per day, until a safety stop of one of them.',
    body: bulkAsk,
    answer: bulkMoveView,
    command: 'bulk start',
    run: ({ ports }, { body, person }) => startBulk(ports, body, person),
  }),
  opsRoute('viewer', 'GET /api/bulk/:id', {
    summary: 'A bulk move, merchant by merchant, in pages.',
    query: bulkItemQuery,
    answer: bulkMoveView,
    command: 'bulk show',
    run: ({ ports }, { path, query }) => viewBulk(ports, path.id, query),
  }),
  opsRoute('operator', 'POST /api/bulk/:id/abort', {
    summary: 'Ends a bulk move at once; merchants that are moved stay moved.',
    body: reasonAlone,
    answer: bulkMoveView,
    command: 'bulk abort',
    run: ({ ports }, { path, body, person }) => abortBulk(ports, path.id, body.reason, person),
  }),
  opsRoute('viewer', 'GET /api/ramps', {
    summary: 'Ramps, newest first, in pages, with the place of each merchant and what it waits for.',
    query: rampQuery,
    answer: z.object({ ramps: z.array(rampView) }),
    command: 'ramps list',
    run: async ({ ports }, { query }) => ({ ramps: await viewRamps(ports, query) }),
  }),
  opsRoute('operator', 'POST /api/ramps', {
    summary:
      'Raises merchants in steps, each when its time, sales, faults, latency and findings allow; steps back on a safety stop.',
    body: rampAsk,
    answer: rampView,
    command: 'ramp',
    run: ({ ports }, { body, person }) => startRamp(ports, body, person),
  }),
  opsRoute('viewer', 'POST /api/ramps/preview', {
    summary: 'What a ramp would do, with the judgement of its first step for each merchant; nothing is stored.',
    body: rampLook,
    answer: rampPreview,
    command: 'ramp --dry-run',
    run: ({ ports }, { body, person }) => previewRamp(ports, body, person),
  }),
  opsRoute('viewer', 'GET /api/ramps/:id', {
    summary: 'A ramp, merchant by merchant.',
    answer: rampView,
    command: 'ramps show',
    run: ({ ports }, { path }) => viewRamp(ports, path.id),
  }),
  opsRoute('viewer', 'GET /api/ramps/:id/merchants/:merchant', {
    summary: 'What the next step of a merchant waits for, and how near each condition is.',
    answer: rampStepView,
    command: 'ramps show',
    run: ({ ports }, { path }) => viewRampStep(ports, path.id, path.merchant),
  }),
  ...rampChanges.map(([role, act, summary]) =>
    opsRoute(role, `POST /api/ramps/:id/${act}`, {
      summary,
      body: reasonAlone,
      answer: rampView,
      command: `ramps ${act}`,
      run: ({ ports }, { path, body, person }) => changeRamp(ports, path.id, act, body.reason, person),
    }),
  ),
  opsRoute('operator', 'PUT /api/merchants/:id/stage', {
    summary: 'Moves a merchant, or one kind of its work; where a second approver is required, proposes the move.',
    body: stageChange,
    answer: z.union([
      merchantAnswer.extend({ result: z.enum(['moved', 'unchanged']), judgement: judgementView }),
      z.object({ result: z.literal('proposed'), merchant_name, proposed: proposalView, judgement: judgementView }),
    ]),
    command: 'stage',
    run: ({ ports }, { path, body, person }) => moveStage(ports, path.id, body, person),
  }),
  opsRoute('viewer', 'GET /api/merchants/:id/stage/preview', {
    summary: 'What a move would need and touch: allowed or not, what is missing, units, calls a day, open work.',
    query: previewAsk,
    answer: z.object({
      merchant_id: z.string(),
      merchant_name,
      revision: z.int(),
      changes_nothing: z.boolean().describe('the merchant is there already: the move would write nothing'),
      judgement: judgementView,
    }),
    command: 'stage --dry-run',
    run: ({ ports }, { path, query, person }) => previewStage(ports, path.id, query, person),
  }),
  opsRoute('operator', 'POST /api/merchants/:id/rollback', {
    summary: 'Rolls a merchant back to legacy now, with all kinds of its work, in any situation.',
    body: reasonOrNew,
    answer: rolledBack,
    command: 'rollback',
    run: ({ ports }, { path, body, person }) => rollBack(ports, path.id, body, person),
  }),
  opsRoute('rollback', 'POST /api/rollback-by-alert', {
    summary:
      'Rolls back the merchants of a filter, or of a label, while an alert fires; takes the webhook of Alertmanager.',
    query: alertQuery,
    body: alertAsk,
    answer: alertAnswer,
    command: 'rollback-by-alert',
    run: ({ ports }, { query, body, person }) => rollBackByAlert(ports, body, query, person),
  }),
  opsRoute('viewer', 'GET /api/merchants/:id/drain', {
    summary: 'What is still open on each side, unit by unit, and its latest possible end.',
    answer: drainView.extend(unseenFields),
    command: 'drain',
    run: async ({ ports }, { path }) => ({ ...(await viewDrain(ports, path.id)), ...(await unseenIn(ports, path.id)) }),
  }),
  opsRoute('viewer', 'GET /api/brownouts', {
    summary: 'Brown-outs, the latest window first, each with how many calls and units it refused.',
    query: byMerchant,
    answer: z.object({ brownouts: z.array(brownoutLine) }),
    command: 'brownout list',
    run: async ({ ports }, { query, signal }) => ({ brownouts: await viewBrownouts(ports, query.merchant, signal) }),
  }),
  opsRoute('viewer', 'GET /api/brownouts/:id', {
    summary: 'One brown-out, and who was refused in it: merchant, unit, operation, when and how often.',
    answer: brownoutPage,
    command: 'brownout show',
    run: ({ ports }, { path, signal }) => viewRefused(ports, path.id, signal),
  }),
  opsRoute('approver', 'POST /api/brownouts', {
    summary: 'Schedules a window of a day at most in which legacy refuses new work of the merchants named.',
    body: brownoutAsk,
    answer: brownoutView,
    command: 'brownout schedule',
    run: ({ ports }, { body, person }) => scheduleBrownout(ports, body, person.name),
  }),
  opsRoute('operator', 'POST /api/brownouts/:id/abort', {
    summary: 'Ends a brown-out at once, for all its merchants.',
    body: reasonAlone,
    answer: brownoutView,
    command: 'brownout abort',
    run: ({ ports }, { path, body, person }) => abortBrownout(ports, path.id, body.reason, person.name),
  }),
  opsRoute('viewer', 'GET /api/safety', {
    summary: 'Every safety stop in force.',
    query: byMerchant,
    answer: z.object({ stops: z.array(trip.extend({ merchant_id: z.string(), merchant_name })) }),
    command: 'safety show',
    run: async ({ ports }, { query: { merchant } }) => ({
      stops: await namedOf(ports, merchant, await viewStops(ports, merchant)),
    }),
  }),
  opsRoute('viewer', 'GET /api/merchants/:id/safety', {
    summary:
      'The safety stop of one merchant: its mode, the stops in force, the present counts, and earlier stops, real or observed.',
    answer: safetyView,
    command: 'safety show',
    run: ({ ports }, { path }) => viewSafety(ports, path.id),
  }),
  opsRoute('operator', 'POST /api/merchants/:id/safety/reset', {
    summary: "Resets a safety stop: new work of the kind follows the operator's stage again.",
    body: resetAsk,
    answer: merchantAnswer,
    command: 'safety reset',
    run: ({ ports }, { path, body, person }) => resetStop(ports, path.id, body, person.name),
  }),
];
