/** Safety stops on the ops door: what stands, what is counted, and the reset by hand. */

import { z } from 'zod';
import { routedKinds, safetyModes } from '../../proxy/routing/merchant.ts';
import { resetAsk, resetStop, viewSafety, viewStops } from '../safety/reset.ts';
import { merchantView } from './merchants.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

const trip = z.object({
  kind: z.enum(routedKinds),
  at: z.iso.datetime(),
  why: z.string(),
  said: said.nullable(),
  evidence: z.object({
    calls: z.int(),
    faults: z.int(),
    slow: z.int(),
    in_a_row: z.int().exactOptional().describe('Faults since the last good call.'),
    window_ms: z.int(),
    sample: z.string().nullable().describe('An exchange that shows it.'),
  }),
  intended: z.string().describe("The operator's stage, which holds again after the reset."),
});

export const safetyView = z.object({
  merchant_id: z.string(),
  revision: z.int(),
  mode: z.enum(safetyModes),
  trips: z.array(trip),
  now: z.array(
    z.looseObject({ kind: z.enum(routedKinds), calls: z.int(), faults: z.int(), slow: z.int(), in_a_row: z.int() }),
  ),
  history: z.array(
    z.object({ at: z.iso.datetime(), kind: z.string(), stopped: z.boolean(), why: z.string(), said: said.nullable() }),
  ),
});

export const safetyRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/safety',
    role: 'viewer',
    summary: 'Every safety stop that stands.',
    answer: z.object({ stops: z.array(trip.extend({ merchant_id: z.string() })) }),
    command: 'safety show',
    run: async ({ runtime }) => ({ stops: await viewStops(runtime) }),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/merchants/:id/safety',
    role: 'viewer',
    summary:
      'The safety stop of one merchant: its mode, what stands, what is counted now, and what it did or would have done.',
    answer: safetyView,
    command: 'safety show',
    run: ({ runtime }, { path }) => viewSafety(runtime, path.id ?? ''),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/merchants/:id/safety/reset',
    role: 'operator',
    summary: "Takes a safety stop away: new work of the kind follows the operator's stage again.",
    body: resetAsk,
    answer: merchantView,
    command: 'safety reset',
    run: ({ runtime }, { path, body, person }) => resetStop(runtime, path.id ?? '', body, person.name),
  }),
];
