/** Backups on the ops door: made while it runs, told as they grow, and listed. */
import { z } from 'zod';
import { type BackupProgress, backupAsk, makeBackup } from '../upkeep/backup.ts';
import { type OpsRoute, opsRoute, streamed } from './route.ts';

const backup = z.object({
  file: z.string().describe('File name in the backup directory; beside it stands `<file>.json`.'),
  made_at: z.iso.datetime(),
  instance_id: z.string(),
  schema: z.int(),
  bytes: z.int(),
  sha256: z.string(),
  heads: z.looseObject({ audit_sequence: z.int(), links: z.int(), newest_link_at: z.int().nullable() }),
});

export const backupRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/backup',
    role: 'viewer',
    summary: 'The whole backups there are, newest first.',
    answer: z.object({ backups: z.array(backup) }),
    command: 'backups list',
    run: async ({ runtime }) => ({ backups: await runtime.store.backups() }),
  }),
  opsRoute({
    method: 'POST',
    path: '/api/backup',
    role: 'operator',
    summary: 'Makes a backup while payments go on, and proves it; told as it grows. Who stops reading ends it.',
    body: backupAsk,
    answer: { streams: ['application/x-ndjson'] },
    command: 'backup',
    run: async ({ runtime }, { body, person }) =>
      streamed({
        content_type: 'application/x-ndjson',
        file_name: null,
        parts: linesOf(makeBackup(runtime, body, person.name)),
      }),
  }),
];

async function* linesOf(news: AsyncIterable<BackupProgress>): AsyncGenerator<string> {
  for await (const one of news) yield `${JSON.stringify(one)}\n`;
}
