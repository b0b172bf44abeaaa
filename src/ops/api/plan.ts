/** Merchants as a file on the ops API: its plan, its apply, and the file to begin with. */
import { applyAsk, applyFile, applyView } from '../plan/apply.ts';
import { driftView, viewDrift } from '../plan/drift.ts';
import { exportFile, exportQuery, exportView } from '../plan/export.ts';
import { planAsk, planView, viewPlan } from '../plan/plan.ts';
import { opsRoute } from './route.ts';

export const planRoutes = [
  opsRoute('viewer', 'POST /api/plan', {
    summary: 'What a file of merchants would change, what has drifted from it, and what would be refused.',
    body: planAsk,
    answer: planView,
    command: 'plan',
    run: (parts, { body, person }) => viewPlan(parts, body, person),
  }),
  opsRoute('viewer', 'GET /api/plan/drift', {
    summary: 'Merchants that people, ramps or bulk moves changed since a file was last applied to them.',
    answer: driftView,
    command: 'plan drift',
    run: ({ ports }) => viewDrift(ports),
  }),
  opsRoute('viewer', 'GET /api/plan/export', {
    summary: 'A file of merchants as they are now.',
    query: exportQuery,
    answer: exportView,
    command: 'plan export',
    run: ({ ports }, { query }) => exportFile(ports, query),
  }),
  opsRoute('operator', 'POST /api/plan/apply', {
    summary: 'Makes the changes of a plan, each as by hand; refused when anything has changed since the plan.',
    body: applyAsk,
    answer: applyView,
    command: 'apply',
    run: (parts, { body, person }) => applyFile(parts, body, person),
  }),
];
