/** The register on the ops door: every limitation, and every assumption with its value in force. */
import { z } from 'zod';
import { type OpsRoute, opsRoute } from './route.ts';

export const limitationsView = z.object({
  limitations: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      effect: z.string(),
      workaround: z.string(),
      operations: z.array(z.string()),
    }),
  ),
});

export const assumptionsView = z.object({
  assumptions: z.array(z.object({ name: z.string(), value: z.string(), sentence: z.string() })),
});

export const registerRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/limitations',
    role: 'viewer',
    summary: 'Where a till sees something else than the legacy API showed it: effect and workaround of each.',
    answer: limitationsView,
    command: 'limitations',
    run: async ({ runtime }) => ({
      limitations: runtime.tables.limitations.map(({ id, title, effect, workaround, operations }) => {
        return { id, title, effect, workaround, operations: [...operations] };
      }),
    }),
  }),
  opsRoute({
    method: 'GET',
    path: '/api/assumptions',
    role: 'viewer',
    summary: 'What the specification leaves open, each with its value in force and what it decides.',
    answer: assumptionsView,
    command: 'assumptions',
    run: async ({ report_facts }) => ({ assumptions: report_facts.assumptions }),
  }),
];
