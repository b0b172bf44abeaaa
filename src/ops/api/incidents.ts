/** Incidents and their alerts on the ops API. */
import { z } from 'zod';
import { reason, reasonAlone } from '../fields.ts';
import { receiverView, testView } from '../incidents/alerts.ts';
import { closeIncident, incidentQuery, incidentView, viewIncidents } from '../incidents/incidents.ts';
import { opsRoute } from './route.ts';

export const receiversView = z.object({ receivers: z.array(receiverView) });
export const incidentRoutes = [
  opsRoute('viewer', 'GET /api/incidents', {
    summary: 'Incidents, newest first, each with its merchant, and whether it is open or closed.',
    query: incidentQuery,
    answer: z.object({ incidents: z.array(incidentView) }),
    command: 'incidents list',
    async run({ ports, alerting }, { query, signal }) {
      await alerting.look();
      return { incidents: await viewIncidents(ports, query, signal) };
    },
  }),
  opsRoute('operator', 'POST /api/incidents/:id/close', {
    summary: 'Closes an incident that does not close by itself, such as a mismatch that a person has examined.',
    body: reasonAlone,
    answer: incidentView,
    command: 'incidents close',
    run: ({ ports }, { path, body, person }) => closeIncident(ports, path.id, body.reason, person.name),
  }),
  opsRoute('viewer', 'GET /api/alerts', {
    summary: 'The receivers of alerts: what each is sent, what waits, and how the last alert ended.',
    answer: receiversView,
    command: 'alerts list',
    run: async ({ alerting }) => ({ receivers: await alerting.receivers() }),
  }),
  opsRoute('operator', 'POST /api/alerts/test', {
    summary: 'Sends a test alert to one receiver, or to all, now.',
    body: z.strictObject({
      receiver: z.string().min(1).max(60).exactOptional().describe('its name in the settings (without it: all)'),
      reason,
    }),
    answer: z.object({ are_acknowledged: z.boolean().describe('every one'), tests: z.array(testView) }),
    command: 'alerts test',
    async run({ alerting }, { body, person }) {
      const tests = await alerting.test(body.receiver, body.reason, person.name);
      return { are_acknowledged: tests.every(({ is_delivered }) => is_delivered), tests };
    },
  }),
];
