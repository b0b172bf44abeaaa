/** `puente migrate-store`: carries an installation from its file to a PostgreSQL server. */
import { type Command, Option } from 'commander';
import { print, startProgress, tableOf } from './output.ts';

interface MigrateStoreOptions {
  ahead?: boolean;
  json?: boolean;
}

/** How far it is. */
export interface MigrateStoreNews {
  step: 'copying' | 'comparing';
  table: string;
  rows: number;
  of_rows: number;
}

interface MigratedTable {
  table: string;
  rows: number;
  changed: number;
  missing: number;
  extra: number;
  sha256: string;
}

/** What it did; `proved` is null as long as it only went ahead. */
export interface MigrateStoreOutcome {
  from: string;
  to: string;
  is_resumed: boolean;
  copied: number;
  proved: { rows: number; tables: MigratedTable[]; links: Record<string, number>; audit_lines: number } | null;
}

/** Only `src/cli.ts` touches files and servers. */
export type MigrateStore = (order: {
  is_ahead: boolean;
  tell: (news: MigrateStoreNews) => void;
}) => Promise<MigrateStoreOutcome>;

const HELP = `
Settings are those of this shell: PUENTE_DATA_DIR names the file's directory, PUENTE_POSTGRES_URL an empty database, and
PUENTE_SECRET_KEY is the key of before. First with --ahead, while Puente runs: it copies and changes nothing. Then stop
Puente and run it without --ahead: it copies the rest, takes over what changed, reads every row back and compares it, and
proves the chain of decisions. Then start Puente with PUENTE_POSTGRES_URL; on the file it does not start any more. A run
that was cut off is repeated, and goes on where it was.

Example:
  puente migrate-store --from sqlite --to postgres --ahead
  puente migrate-store --from sqlite --to postgres`;

export function addMigrateStoreCommands(program: Command, migrateStore: MigrateStore): void {
  program
    .command('migrate-store')
    .description('carry the database from the file to a PostgreSQL server, every row compared')
    .addOption(new Option('--from <engine>', 'where the rows are').choices(['sqlite']).makeOptionMandatory())
    .addOption(new Option('--to <engine>', 'where they go').choices(['postgres']).makeOptionMandatory())
    .option('--ahead', 'copy while Puente runs, so that the stop is short')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async ({ ahead, json }: MigrateStoreOptions) => {
      const output = json === true ? { json } : {};
      const progress = startProgress(output, 'migrate-store');
      const tell = ({ step, table, rows, of_rows }: MigrateStoreNews): void =>
        progress.tell(`${step} ${table}, ${rows} of ${of_rows} rows`);
      const outcome = await migrateStore({ is_ahead: ahead === true, tell }).finally(() => progress.end());
      print(output, outcome, outcomeText(outcome));
    });
}

function outcomeText({ from, to, is_resumed, copied, proved }: MigrateStoreOutcome): string {
  const begun = is_resumed ? 'An earlier run was gone on with. ' : '';
  if (proved === null)
    return `${begun}${copied} rows were copied from ${from} to ${to}. Now stop Puente and run: puente migrate-store --from sqlite --to postgres`;
  const rows = proved.tables.map((one) => [
    one.table,
    one.rows,
    one.changed,
    one.missing,
    one.extra,
    one.sha256.slice(0, 16),
  ]);
  return [
    tableOf(['table', 'rows, all equal', 'had changed', 'were new', 'had gone', 'SHA-256'], rows),
    `${begun}${proved.rows} rows of ${from} are in ${to}, each read back and compared; ${proved.audit_lines} decisions in one chain.`,
    'Start Puente with this PUENTE_POSTGRES_URL and the same PUENTE_SECRET_KEY; the file is kept as it is, and no start serves it.',
  ].join('\n');
}
