/** Backups, the doctor and reconciliation on the ops API. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { examine } from '../doctor/doctor.ts';
import { doctorFinding, findingLevels, settingInForce } from '../doctor/finding.ts';
import { type ReconcileNews, reconcile, reconcileAsk } from '../reconcile/reconcile.ts';
import { refuseUnseenRead } from '../seen.ts';
import { type BackupProgress, backupAsk, makeBackup } from '../upkeep/chores.ts';
import { opsRoute } from './route.ts';
import type { Streamed } from './stream.ts';

const backup = z.object({
  file: z.string().describe('File name in the backup directory; its manifest is `<file>.json`.'),
  made_at: z.iso.datetime(),
  instance_id: z.string(),
  schema: z.int(),
  bytes: z.int(),
  sha256: z.string(),
  heads: z.looseObject({ audit_sequence: z.int(), links: z.int(), newest_link_at: z.int().nullable() }),
});

export const upkeepRoutes = [
  opsRoute('viewer', 'GET /api/backup', {
    summary: 'The complete backups, newest first.',
    answer: z.object({ backups: z.array(backup) }),
    command: 'backups list',
    run: async ({ ports }) => ({ backups: await ports.store.upkeep.backups() }),
  }),
  opsRoute('operator', 'POST /api/backup', {
    summary:
      'Makes a backup while payments continue, and proves it; streams its progress, and ends when the client disconnects.',
    body: backupAsk,
    answer: { streams: ['application/x-ndjson'] },
    command: 'backup',
    run: async ({ ports }, { body, person }) => newsLines(makeBackup(ports, body, person.name)),
  }),
  opsRoute('operator', 'GET /api/doctor', {
    role_note: say('role_note.doctor', {}),
    summary:
      'Settings in force, assumptions, schema, integrity, disk, clock, upstreams, tokens, backups: each finding with its repair.',
    answer: z.object({
      level: z.enum(findingLevels).describe('The worst of the findings.'),
      versions: z.object({ puente: z.string(), node: z.string(), store: z.string() }),
      findings: z.array(doctorFinding),
      settings: z.array(settingInForce),
      assumptions: z.array(z.looseObject({ name: z.string(), value: z.string() })),
    }),
    command: 'doctor',
    run: ({ ports, installation, alerting, checkUrl }) =>
      ports.memory.mutex.run('doctor', async () =>
        examine(ports, installation, { checkUrl }, await alerting.receivers()),
      ),
  }),
  opsRoute('operator', 'POST /api/reconcile', {
    role_note: say('role_note.reconcile', {}),
    summary:
      'Compares open and recent links, and unmatched events, with upstream; repairs what is safe when `apply` is set.',
    body: reconcileAsk,
    answer: { streams: ['application/x-ndjson'] },
    command: 'reconcile',
    run: async ({ ports }, { body, person }) => {
      if (body.apply && body.reason === undefined) {
        throw new PuenteError(
          'bad_request',
          say('input.at', { where: 'reason', wrong: say('input.repair_reason', {}) }),
        );
      }
      await refuseUnseenRead(ports, body.merchant);
      return newsLines(reconcile(ports, body, person.name));
    },
  }),
];

function newsLines(news: AsyncIterable<BackupProgress | ReconcileNews>): Streamed {
  const lines = async function* (): AsyncGenerator<string> {
    for await (const one of news) yield `${JSON.stringify(one)}\n`;
  };
  return { streamed: true, content_type: 'application/x-ndjson', file_name: null, parts: lines() };
}
