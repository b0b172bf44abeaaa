/** Incidents on the ops door: what Puente noticed or did by itself. */

import { z } from 'zod';
import { incidentQuery, viewIncidents } from '../report/incidents.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import { said } from './said.ts';

/** A line of the audit chain, as decision or incident. */
export const incidentLine = z.object({
  sequence: z.int(),
  at: z.iso.datetime(),
  who: z.string(),
  action: z.string(),
  subject: z.string().describe('a merchant, or a sale by its legacy id'),
  reason: z.string(),
  said: said.nullable(),
  before: z.unknown(),
  after: z.unknown(),
  evidence: z.record(z.string(), z.unknown()),
});

export const incidentsView = z.object({
  incidents: z.array(incidentLine),
  left_out: z.int(),
});

export const incidentRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/incidents',
    role: 'viewer',
    summary:
      'What Puente noticed or did by itself, newest first: safety stops, settlements, mismatches, held terminals.',
    query: incidentQuery,
    answer: incidentsView,
    command: 'incidents',
    run: ({ runtime }, { query, signal }) => viewIncidents(runtime, query, signal),
  }),
];
