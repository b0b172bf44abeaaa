/** `puente check` proves the mapping tables, `explain` shows what they make of one message, `tables` those in force. */
import { existsSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { ExplainedKind } from '../../mapping/explain-input.ts';
import type { Laid } from '../../mapping/tables.ts';
import { SETTINGS_VARIABLES, withManual } from './help.ts';
import { MAPPINGS, namedAs, print, readInput, wholeNumber } from './output.ts';
import type { Faces } from './rows.ts';

/** The folder of tables of one's own, as the settings name it (`mappings.folder`); null for none. */
export type FolderInSettings = () => Promise<string | null>;

interface TableOptions {
  mappings: string;
  folder?: string;
  json?: boolean;
}

function tableOptions(command: Command): Command {
  return command
    .addOption(new Option('--mappings <directory>', 'the shipped tables').default(MAPPINGS, 'those of this build'))
    .option('--folder <directory>', 'tables of your own to lay over them (mappings.folder)');
}

/**
 * `check`, `explain`: they read tables from disk, and call no Puente. @param folderInSettings asked only without
 * `--folder`.
 */
export function addMappingCommands(program: Command, folderInSettings: FolderInSettings): void {
  const folderOf = async ({ folder }: TableOptions): Promise<string | null> => folder ?? (await folderInSettings());
  const check = tableOptions(program.command('check'))
    .description('prove the mapping tables, as a start does; prints what fails with file, line and row')
    .option('--json', 'print JSON')
    .action(async (options: TableOptions) => runCheck(options, await folderOf(options)));
  withManual(check, {
    notes: `
Rows of your own lie in a folder, in files named as the shipped ones: point/create.request.yaml for every merchant,
merchants/700100200/point/create.request.yaml for one. Without --folder it is the folder of the settings.`,
    examples: ['puente check', 'puente check --folder tables'],
    exits: { done: 'all proofs hold', failed: 'a proof fails' },
    variables: SETTINGS_VARIABLES,
  });
  const message =
    'HTTP as text, or JSON: a legacy request, or an answer, an error or an event of upstream; - is standard input';
  const explain = tableOptions(program.command('explain').argument('[file]', message, '-'))
    .description('show what the tables make of one message, row by row: a request, an answer, a notice or an error')
    .addOption(new Option('--as <kind>', 'what the message is, where its form does not say it').choices(KINDS))
    .option('--operation <name>', 'the call that it answers, such as point.create_intent')
    .addOption(new Option('--status <status>', "upstream's status, where the text has none").argParser(wholeNumber))
    .option('--merchant <id>', "with this merchant's tables")
    .addOption(new Option('--site <site>', "the merchant's site").default('MLA'))
    .addOption(
      new Option('--voucher <policy>', "the merchant's voucher policy").choices(['refuse', 'drop']).default('refuse'),
    )
    .addOption(
      new Option('--declined <state>', "how the merchant's declined payments are shown")
        .choices(['error', 'finished'])
        .default('error'),
    )
    .option('--json', 'print JSON')
    .action(async (file: string, options: ExplainOptions) => runExplain(file, options, await folderOf(options)));
  withManual(explain, {
    notes: `
A request is answered with the order that goes upstream, the rows that fire and what is lost; upstream's answer with what the
till gets; an event or an order with --as notice with what receivers are notified of; an error with the legacy error.
request.http, where the directory has none, is the example of this build (config/request.http).`,
    examples: [
      'puente explain request.http',
      'puente explain order.json --operation point.get_intent',
      'puente explain order.json --as notice',
      'puente explain error.json --operation point.create_intent --status 409',
      `echo '{"method":"POST","path":"/point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents","body":{"amount":1500}}' | puente explain`,
    ],
    exits: { done: 'explained', failed: 'refused, as the till would be; or not understood' },
    variables: SETTINGS_VARIABLES,
  });
}

/** As `explainedKinds`, whose module is loaded when it is needed. */
const KINDS: readonly ExplainedKind[] = ['request', 'answer', 'notice', 'error'];

interface ExplainOptions extends TableOptions {
  as?: ExplainedKind;
  operation?: string;
  status?: number;
  merchant?: string;
  site: string;
  voucher: string;
  declined: string;
}

export const tableFaces: Faces = {
  tables: {
    examples: ['puente tables'],
    text: ({ revision, shipped_revision, folder, laid, merchants }) =>
      [
        `Revision ${revision}${revision === shipped_revision ? ', the tables of this build' : `; those of this build are ${shipped_revision}`}.`,
        folder === null ? 'No tables of your own (mappings.folder).' : `Tables of your own: ${folder}`,
        ...laid.map(laidText),
        ...merchants.flatMap((one) => [
          `Merchant ${namedAs(one.merchant_id, one.merchant_name)}, revision ${one.revision}:`,
          ...one.laid.map(laidText),
        ]),
      ].join('\n'),
  },
};

async function runCheck(options: TableOptions, folder: string | null): Promise<void> {
  const [{ printFailures }, { proverOf }] = await Promise.all([
    import('../../mapping/check.ts'),
    import('../../mapping/load.ts'),
  ]);
  const { sets, failures } = proverOf(options.mappings)(folder);
  const { tables, operations, revision } = sets.common.documents;
  const merchants = [...sets.merchants].map(([merchant_id, { documents, laid }]) => {
    return { merchant_id, revision: documents.revision, laid };
  });
  const { laid } = sets.common;
  const text = [
    `All proofs hold: ${tables.length} tables, ${operations.length} operations, revision ${revision}.`,
    ...(laid.length === 0 ? [] : [`Rows of your own, for all merchants, from ${folder}:`, ...laid.map(laidText)]),
    ...merchants.flatMap((one) => [
      `Merchant ${one.merchant_id}, revision ${one.revision}:`,
      ...one.laid.map(laidText),
    ]),
  ];
  const found = { revision, folder, laid, merchants, failures };
  print(options, found, failures.length > 0 ? printFailures(failures) : text.join('\n'));
  if (failures.length > 0) process.exitCode = 1;
}

function laidText({ row, replaces, removes }: Laid): string {
  if (removes) return `  ${row} removes ${replaces.join(' and ')}`;
  return replaces.length === 0 ? `  ${row} is added` : `  ${row} stands for ${replaces.join(' and ')}`;
}

const EXAMPLE = 'request.http';

/** The example comes with every installation, so that the first try needs no file. */
function shippedUnlessHere(file: string): string {
  return file === EXAMPLE && !existsSync(file) ? join(MAPPINGS, '..', 'config', EXAMPLE) : file;
}

async function runExplain(file: string, options: ExplainOptions, folder: string | null): Promise<void> {
  const [{ stringifyJson }, { explain }, { loadTables }] = await Promise.all([
    import('../../contract/json.ts'),
    import('../../mapping/explain.ts'),
    import('../../mapping/load.ts'),
  ]);
  const { as: kind = null, operation = null, status = null, site, voucher, declined } = options;
  const tables = loadTables(options.mappings, getCompileCacheDir() ?? null, folder).of(options.merchant ?? null);
  const message = readInput(shippedUnlessHere(file), 'give the path of a file, or - for standard input');
  const given = { site, voucher, declined, received_at: Date.now() };
  const { text, ...found } = explain(tables, message, given, { kind, operation, status });
  process.stdout.write(options.json ? `${stringifyJson(found)}\n` : text);
  if (found.refusal !== null) process.exitCode = 1;
}
