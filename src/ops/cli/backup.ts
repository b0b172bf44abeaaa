/** `puente backup`, `puente backups` and `puente restore`: copies of the database, and the way back. */
import type { Command } from 'commander';
import { PuenteError } from '../../error.ts';
import type { BackupManifest } from '../../proxy/records/upkeep.ts';
import { bytesText } from '../doctor/finding.ts';
import type { BackupProgress } from '../upkeep/chores.ts';
import { callOps, linesOfOps } from './ops-client.ts';
import { common, type Output, print, startProgress, tableOf } from './output.ts';

interface BackupOptions extends Output {
  reason?: string;
}

interface RestoreOptions {
  into: string;
  replace?: boolean;
  reason: string;
  json?: boolean;
}

/** What a restore did; only `src/cli.ts` touches files. */
export interface RestoreOutcome {
  path: string;
  moved_to: string | null;
  schema: number;
  links: number;
  /** Epoch ms: what was written from then on is not in it. */
  from: number;
  is_proved: boolean;
}

export type Restore = (order: {
  file: string;
  into: string;
  replace: boolean;
  reason: string;
  now: number;
}) => Promise<RestoreOutcome>;

const RESTORE_HELP = `
Stop Puente first. The backup is proved before anything is moved. What was written after it was made is not in it: sales
that carry a reference of Puente's own come back with their events; \`puente doctor\` and reports speak of the gap. Moves
and settings of merchants of that time are gone too. Start Puente with the same PUENTE_SECRET_KEY; of the sandbox, that is
the file sandbox.key of its data directory.

Example:
  puente restore data/backups/puente-1a2b3c4d-20260131T090000000Z.db --into data --replace --reason "disk failed"`;

export function addBackupCommands(program: Command, restore: Restore): void {
  common(program.command('backup').description('make a backup of a running Puente, and prove it'))
    .option('--reason <text>', 'why, for the audit trail')
    .addHelpText('after', '\nExample:\n  puente backup --reason "before the upgrade"')
    .action(backUp);
  const backups = program.command('backups').description('the backups there are');
  common(backups.command('list').description('whole backups, newest first'))
    .addHelpText('after', '\nExample:\n  puente backups list')
    .action(list);
  program
    .command('restore <file>')
    .description('put a backup where a stopped Puente finds it')
    .requiredOption('--into <directory>', 'the data directory, as `data_dir` says')
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option('--replace', 'move a database that is there aside')
    .option('--json', 'print JSON')
    .addHelpText('after', RESTORE_HELP)
    .action(async (file: string, { into, replace, reason, json }: RestoreOptions) => {
      const outcome = await restore({ file, into, replace: replace === true, reason, now: Date.now() });
      print(json === true ? { json } : {}, outcome, restoredText(outcome));
    });
}

async function backUp(options: BackupOptions): Promise<void> {
  const progress = startProgress(options, 'backup');
  const body = options.reason === undefined ? {} : { reason: options.reason };
  try {
    for await (const line of linesOfOps(options, 'POST', '/api/backup', body)) {
      const news = line as BackupProgress; // the API's own shape
      if (news.news === 'done') {
        progress.end();
        return print(options, news.backup, madeText(news.backup));
      }
      progress.tell(`${news.step}, ${bytesText(news.bytes)} of about ${bytesText(news.of_bytes)}`);
    }
  } finally {
    progress.end();
  }
  throw new PuenteError('unreachable', 'The backup ended before it was whole; the log of Puente says why.');
}

async function list(options: Output): Promise<void> {
  const { backups } = (await callOps(options, 'GET', '/api/backup')) as { backups: BackupManifest[] }; // the API's own shape
  const rows = backups.map(({ file, made_at, bytes, schema, heads }) => [
    file,
    made_at,
    bytesText(bytes),
    schema,
    heads.links,
    heads.audit_sequence,
  ]);
  const table = tableOf(['file', 'made at', 'size', 'schema', 'links', 'audit lines'], rows);
  print(options, backups, rows.length === 0 ? 'There is no backup yet: make one with puente backup.' : table);
}

function madeText({ file, bytes, sha256, heads }: BackupManifest): string {
  return `${file} is made and proved: ${bytesText(bytes)}, ${heads.links} links, ${heads.audit_sequence} audit lines.\nSHA-256 ${sha256}`;
}

function restoredText({ path, moved_to, links, schema, from, is_proved }: RestoreOutcome): string {
  return [
    `${path} is restored: ${links} links, schema ${schema}.`,
    ...(moved_to === null ? [] : [`The database of before is now ${moved_to}.`]),
    ...(is_proved
      ? []
      : ['No manifest stood beside the backup, so its bytes could not be compared with what was made.']),
    `What was written after ${new Date(from).toISOString()} is not in it, moves of merchants among it. Start Puente with the same secret key, then see: puente doctor`,
  ].join('\n');
}
