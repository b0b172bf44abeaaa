/** The delivery log on the ops API: list, show, and replay. */
import { z } from 'zod';
import { said, time } from '../fields.ts';
import {
  noticeQuery,
  noticeStates,
  replayMany,
  replayNotice,
  replayWindow,
  viewNotice,
  viewNotices,
} from '../notices.ts';
import { reasonAlone } from './person.ts';
import { type OpsRoute, opsRoute } from './route.ts';

const attempt = z.object({
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
export const noticeView = notice.extend({ tries: z.array(attempt) });
export const replayedView = z.object({ notices: z.int(), dry_run: z.boolean(), delivered_left_out: z.int() });

export const noticeRoutes: OpsRoute[] = [
  opsRoute('viewer', 'GET /api/notices', {
    summary: 'The delivery log, newest first.',
    query: noticeQuery,
    answer: noticesView,
    command: 'notices list',
    run: async ({ ports }, { query }) => ({ notices: await viewNotices(ports, query) }),
  }),
  opsRoute('operator', 'POST /api/notices/replay', {
    summary: 'Sends every notice of a window again; a dry run counts them.',
    body: replayMany,
    answer: replayedView,
    command: 'notices replay',
    run: ({ ports }, { body, person }) => replayWindow(ports, body, person.name),
  }),
  opsRoute('viewer', 'GET /api/notices/:id', {
    summary: 'One notice with all its attempts.',
    answer: noticeView,
    command: 'notices show',
    run: ({ ports }, { path }) => viewNotice(ports, path.id ?? ''),
  }),
  opsRoute('operator', 'POST /api/notices/:id/replay', {
    summary: 'Sends one notice again, now.',
    body: reasonAlone,
    answer: notice,
    command: 'notices replay',
    run: ({ ports }, { path, body, person }) => replayNotice(ports, path.id ?? '', body.reason, person.name),
  }),
];
