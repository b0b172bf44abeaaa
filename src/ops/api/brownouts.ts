/** Brown-outs on the ops door: windows in which legacy refuses new work of chosen merchants, as a drill. */
import { z } from 'zod';
import { abortBrownout, brownoutAbort, brownoutAsk, scheduleBrownout, viewBrownouts } from '../moves/brownouts.ts';
import { type OpsRoute, opsRoute } from './route.ts';

const brownoutView = z.object({
  id: z.string(),
  from: z.iso.datetime(),
  until: z.iso.datetime(),
  reason: z.string(),
  state: z.enum(['scheduled', 'running', 'over', 'aborted']),
  aborted_at: z.iso.datetime().nullable(),
  merchants: z.array(z.string()),
});

export const brownoutRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/brownouts',
    role: 'viewer',
    summary: 'Brown-outs, the latest window first.',
    answer: z.object({ brownouts: z.array(brownoutView) }),
    command: 'brownout list',
    run: async ({ runtime }) => ({ brownouts: await viewBrownouts(runtime) }),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/brownouts',
    role: 'approver',
    summary: 'Schedules a window of a day at most in which legacy refuses new work of the merchants named.',
    body: brownoutAsk,
    answer: brownoutView,
    command: 'brownout schedule',
    run: ({ runtime }, { body, person }) => scheduleBrownout(runtime, body, person.name),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/brownouts/:id/abort',
    role: 'operator',
    summary: 'Ends a brown-out at once, for all its merchants.',
    body: brownoutAbort,
    answer: brownoutView,
    command: 'brownout abort',
    run: ({ runtime }, { path, body, person }) => abortBrownout(runtime, path.id ?? '', body.reason, person.name),
  }),
];
