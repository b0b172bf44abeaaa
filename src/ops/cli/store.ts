/** `puente restore` puts a backup back for a stopped Puente; `puente migrate-store` copies the file to PostgreSQL. */
import { type Command, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { withManual } from './help.ts';
import { type Columns, counted, print, startProgress, table } from './output.ts';

export interface RestoreOrder {
  file: string;
  into: string;
  /** Moves an existing database aside; without it one is refused. */
  replace: boolean;
  reason: string;
  /** Epoch ms. */
  now: number;
}

export interface RestoreOutcome {
  path: string;
  /** New path of the earlier database; null when there was none. */
  moved_to: string | null;
  schema: number;
  links: number;
  /** Epoch ms; later writes are not in the backup. */
  from: number;
  /** False without a manifest beside the backup: only the file itself could be checked. */
  is_proved: boolean;
}

/** `src/cli.ts` provides it; this module touches no files. */
export type Restore = (order: RestoreOrder) => Promise<RestoreOutcome>;

/** The reason is read as that of every other change, which masks secrets in it. */
export function addRestoreCommand(program: Command, restore: Restore): void {
  const command = program
    .command('restore <file>')
    .description('restore a backup for a stopped Puente')
    .requiredOption('--into <directory>', 'the data directory, as `data_dir` says')
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option('--replace', 'move an existing database aside')
    .option('--json', 'print JSON')
    .action(async (file: string, options: { into: string; replace?: boolean; reason: string; json?: boolean }) => {
      const { into, replace = false } = options;
      const { no_reason, reason } = await import('../fields.ts'); // it takes as long to load as a short command
      const why = reason.safeParse(options.reason);
      if (!why.success) throw new PuenteError('bad_request', say('input.at', { where: 'reason', wrong: no_reason }));
      const outcome = await restore({ file, into, replace, reason: why.data, now: Date.now() });
      print(options, outcome, restoredText(outcome));
    });
  withManual(command, {
    notes: `
Stop Puente first. The backup is verified before anything is moved. Later writes are not in it: sales that have a reference
of Puente's own come back with their events; \`puente doctor\` and reports name the gap. Later moves and settings of
merchants are lost. Start Puente with the same PUENTE_SECRET_KEY; for the sandbox, that is the file sandbox.key of its data
directory.`,
    examples: [
      'puente restore data/backups/puente-1a2b3c4d-20260131T090000000Z.db --into data --replace --reason "disk failed"',
    ],
  });
}

function restoredText({ path, moved_to, links, schema, from, is_proved }: RestoreOutcome): string {
  return [
    `${path} is restored: links: ${links}, schema ${schema}.`,
    ...(moved_to === null ? [] : [`The earlier database was moved to ${moved_to}.`]),
    ...(is_proved ? [] : ['The backup has no manifest beside it, so its bytes could not be verified.']),
    `Writes after ${new Date(from).toISOString()} are not in it, including moves of merchants. Start Puente with the same secret key, then see: puente doctor`,
  ].join('\n');
}

export interface MigrateStoreNews {
  step: 'copying' | 'comparing';
  table: string;
  rows: number;
  of_rows: number;
}

export interface MigratedTable {
  table: string;
  rows: number;
  /** Rows that changed after they were copied, were not copied yet, or were deleted from the file. */
  changed: number;
  missing: number;
  extra: number;
  /** Over all rows; equal on both sides. */
  sha256: string;
}

export interface MigrateStoreOutcome {
  from: string;
  to: string;
  /** This run continued an earlier one. */
  is_resumed: boolean;
  /** Rows copied by this run. */
  copied: number;
  /** Null with `is_ahead`, which proves nothing yet. */
  proved: { rows: number; tables: MigratedTable[]; links: Record<string, number>; audit_lines: number } | null;
}

export type MigrateStore = (order: {
  is_ahead: boolean;
  tell: (news: MigrateStoreNews) => void;
}) => Promise<MigrateStoreOutcome>;

/** Progress goes to standard error; with `--json` there is none. */
export function addMigrateStoreCommand(program: Command, migrateStore: MigrateStore): void {
  const command = program
    .command('migrate-store')
    .description('copy the database from the file to a PostgreSQL server, every row compared')
    .addOption(new Option('--from <engine>', 'where the rows are').choices(['sqlite']).makeOptionMandatory())
    .addOption(new Option('--to <engine>', 'where they go').choices(['postgres']).makeOptionMandatory())
    .option('--ahead', 'copy while Puente runs, so that the stop is short')
    .option('--json', 'print JSON')
    .action(async ({ ahead = false, ...output }: { ahead?: boolean; json?: boolean }) => {
      const progress = startProgress(output, 'migrate-store');
      const tell = ({ step, table, rows, of_rows }: MigrateStoreNews): void =>
        progress.tell(`${step} ${table}, ${rows} of ${of_rows} rows`);
      const outcome = await migrateStore({ is_ahead: ahead, tell }).finally(() => progress.end());
      print(output, outcome, outcomeText(outcome));
    });
  withManual(command, {
    notes: `
Settings are those of this shell: PUENTE_DATA_DIR names the file's directory, PUENTE_POSTGRES_URL an empty database, and
PUENTE_SECRET_KEY is the same key as before. First with --ahead, while Puente runs: it copies and changes nothing. Then stop
Puente and run it without --ahead: it copies the rest, takes over what changed, reads every row back and compares it, and
proves the chain of decisions. Then start Puente with PUENTE_POSTGRES_URL; on the file it no longer starts. A run
that was cut off is repeated, and continues where it was.`,
    examples: [
      'puente migrate-store --from sqlite --to postgres --ahead',
      'puente migrate-store --from sqlite --to postgres',
    ],
    variables: [['PUENTE_CONFIG, PUENTE_…', 'the settings of both stores, as for the start']],
  });
}

function outcomeText({ from, to, is_resumed, copied, proved }: MigrateStoreOutcome): string {
  const begun = is_resumed ? 'An earlier run was continued. ' : '';
  if (proved === null)
    return `${begun}Copied ${counted(copied, 'row')} from ${from} to ${to}. Now stop Puente and run: puente migrate-store --from sqlite --to postgres`;
  const columns: Columns<MigratedTable> = {
    table: 'table',
    'rows, all equal': 'rows',
    'had changed': 'changed',
    'were new': 'missing',
    'were deleted': 'extra',
    'SHA-256': ({ sha256 }) => sha256.slice(0, 16),
  };
  return [
    table(columns, proved.tables),
    `${begun}Copied ${counted(proved.rows, 'row')} of ${from} to ${to}, each read back and compared; the chain of decisions is whole: ${counted(proved.audit_lines, 'line')}.`,
    'Start Puente with this PUENTE_POSTGRES_URL and the same PUENTE_SECRET_KEY. The file stays as it is, and Puente no longer starts on it.',
  ].join('\n');
}
