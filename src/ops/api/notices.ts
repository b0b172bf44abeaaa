/** The delivery log on the ops API: list, show, and redeliver. */
import { z } from 'zod';
import { reasonAlone, said, time } from '../fields.ts';
import {
  noticeQuery,
  noticeStates,
  receiverSums,
  receiversQuery,
  redeliverMany,
  redeliverNotice,
  redeliverWindow,
  testNotice,
  tryReceiver,
  viewNotice,
  viewNotices,
  viewReceivers,
} from '../notices.ts';
import { opsRoute } from './route.ts';

export const attempt = z.object({
  at: time,
  duration_ms: z.number(),
  outcome: z.enum(['delivered', 'theirs', 'ours']),
  status: z.int().nullable(),
  detail: z.string(),
  said: said.nullable(),
  url: z.string().nullable(),
});

const notice = z.object({
  id: z.string(),
  merchant: z.string(),
  merchant_name: z.string().nullable(),
  legacy_id: z.string(),
  topic: z.string(),
  form: z.enum(['point', 'ipn', 'webhook']),
  subject: z.string(),
  sequence: z.int(),
  state: z.enum(noticeStates),
  replayed: z.boolean(),
  attempts: z.int(),
  created_at: time,
  next_attempt_at: time.nullable(),
  last_attempt: attempt.nullable(),
});

export const noticesView = z.object({ notices: z.array(notice) });
const receiver = z.object({
  merchant: z.string(),
  merchant_name: z.string().nullable(),
  url: z.string().nullable().describe('without path and query; null for notices that Puente held back itself'),
  ...receiverSums,
});
export const receiversView = z.object({ since: time, until: time, receivers: z.array(receiver) });

export const noticeRoutes = [
  opsRoute('viewer', 'GET /api/notices', {
    summary: 'The delivery log, newest first.',
    query: noticeQuery,
    answer: noticesView,
    command: 'notices list',
    run: async ({ ports }, { query, signal }) => ({ notices: await viewNotices(ports, query, signal) }),
  }),
  opsRoute('viewer', 'GET /api/notices/receivers', {
    summary: 'Attempts by receiver with their success rate, the worst first; of at most 31 days.',
    query: receiversQuery,
    answer: receiversView,
    command: 'notices receivers',
    run: ({ ports }, { query, signal }) => viewReceivers(ports, query, signal),
  }),
  opsRoute('operator', 'POST /api/notices/test', {
    summary: "Sends a test notice, of an intent that does not exist, to a merchant's receiver, and shows its answer.",
    body: testNotice,
    answer: attempt,
    command: 'notices test',
    run: ({ ports, sender }, { body, person }) => tryReceiver(ports, sender, body, person.name),
  }),
  opsRoute('operator', 'POST /api/notices/replay', {
    summary: 'Sends every notice of a window again; a dry run counts them.',
    body: redeliverMany,
    answer: z.object({ notices: z.int(), dry_run: z.boolean(), delivered_left_out: z.int() }),
    command: 'notices replay',
    run: ({ ports }, { body, person }) => redeliverWindow(ports, body, person.name),
  }),
  opsRoute('viewer', 'GET /api/notices/:id', {
    summary: 'One notice with all its attempts.',
    answer: notice.extend({ tries: z.array(attempt) }),
    command: 'notices show',
    run: ({ ports }, { path }) => viewNotice(ports, path.id),
  }),
  opsRoute('operator', 'POST /api/notices/:id/replay', {
    summary: 'Sends one notice again, now.',
    body: reasonAlone,
    answer: notice,
    command: 'notices replay',
    run: ({ ports }, { path, body, person }) => redeliverNotice(ports, path.id, body.reason, person.name),
  }),
];
