/** `puente assess` translates captured calls on paper, `puente replay` repeats them with today's tables; offline. */
import { createReadStream, statSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import type { AssessedMerchant, AssessmentView } from '../capture/assessment.ts';
import type { Replay } from '../capture/replay.ts';
import { readinessText, VERDICT_EXIT } from './evidence.ts';
import { SETTINGS_VARIABLES, withManual } from './help.ts';
import type { FolderInSettings } from './mapping.ts';
import {
  type Columns,
  exitCodes,
  MAPPINGS,
  type Output,
  print,
  save,
  startProgress,
  table,
  wholeNumber,
} from './output.ts';

/** Equal to `moves.min_sample` in `config/default.yaml`, which a running Puente uses. */
const MIN_SAMPLE = 20;
/** Rows of a list in text output; `--json` has all. */
const MOST_ROWS = 25;

/** As of `check` and `explain`; without it `mappings.folder`. */
const OWN_FOLDER = 'tables of your own to lay over them (mappings.folder)';

interface AssessOptions extends Output {
  merchant?: string;
  site?: string;
  voucher: 'refuse' | 'drop';
  host: string[];
  minSample: number;
  output?: string;
  folder?: string;
}

/** Reads the capture and the tables; calls nothing. @param folderInSettings asked only without `--folder`. */
export function addAssessCommand(program: Command, folderInSettings: FolderInSettings): void {
  const command = program
    .command('assess <file>')
    .description('how orders would have handled a capture of legacy traffic: verdicts, losses, coverage, blockers')
    .option('--merchant <id>', 'the merchant of calls whose token and path name none')
    .option('--site <site>', "the merchants' site, such as MLA; without it as in the capture", siteCode)
    .addOption(
      new Option('--voucher <policy>', "the merchants' voucher policy").choices(['refuse', 'drop']).default('refuse'),
    )
    .option(
      '--host <name>',
      'only calls to this host are of legacy; may be repeated (usual: those of the vendor, and hosts that are called with an operation)',
      hostName,
      [],
    )
    .option('--min-sample <calls>', 'fewer calls of an operation prove nothing', wholeNumber, MIN_SAMPLE)
    .option('--folder <directory>', OWN_FOLDER)
    .option('--json', 'print JSON')
    .option('--output <file>', 'write the report as one HTML file too')
    .action(async (file: string, options: AssessOptions) => {
      await assess(file, options, options.folder ?? (await folderInSettings()));
    });
  withManual(command, {
    notes: `
FILE is a capture of Puente, a HAR export of a browser or proxy, JSON lines
  {"method":"POST","url":"https://…","headers":{…},"body":…,"status":201,"response":…,"at":"2026-01-31T09:00:00Z"}
or an access log of nginx or Apache (common, combined or vhost_combined). A log has no bodies: it shows operations, units,
statuses and what has no operation, and is never enough for a verdict. Each may be packed with gzip; - is standard input.
Calls to other hosts are left out, where the file names hosts. Nothing is sent anywhere, and no running Puente is needed. Tokens, secrets and card numbers of the
file are not in the report; references and texts that a till gave its sales are, and may name people.
Every line is counted: lines = assessed + of no operation + to other hosts + unreadable. The exit code is that of the worst merchant.`,
    examples: [
      'puente assess till.har --site MLB --output assessment.html',
      'puente assess january.jsonl --json > assessment.json',
      'puente assess /var/log/nginx/access.log.2.gz --merchant 700100200',
    ],
    exits: {
      done: 'every merchant is ready',
      blocked: 'a merchant is blocked',
      inconclusive: 'none is blocked, and of one too little was seen',
    },
    variables: SETTINGS_VARIABLES,
  });
}

async function assess(file: string, options: AssessOptions, folder: string | null): Promise<void> {
  const [{ assessmentOf }, { assessmentHtml, listsOf, viewAssessment }, { loadTables, redactValue, readCapture }] =
    await Promise.all([import('../capture/assess.ts'), import('../capture/assessment.ts'), loadTools()]);
  const tables = loadTables(MAPPINGS, getCompileCacheDir() ?? null, folder);
  const now = Date.now();
  const assessment = await assessmentOf(
    readCapture(bytesOf(file, options)),
    { tables, redact: redactValue, clock: performance, now },
    {
      merchant_id: options.merchant ?? null,
      site: options.site ?? null,
      voucher: options.voucher,
      hosts: options.host,
      min_sample: options.minSample,
    },
  );
  const view = await viewAssessment(assessment, tables, now);
  if (options.output !== undefined) {
    const page = Readable.from([assessmentHtml(view, basename(file))]);
    await save(page, options.output, startProgress(options, 'report'));
    process.stderr.write(`${options.output} is written.\n`);
  }
  print(options, view, textOf(view, listsOf));
  process.exitCode = VERDICT_EXIT[view.verdict];
}

/** Loaded by the two commands alone: other commands start in half the time without them. */
async function loadTools() {
  const [load, redact, read] = await Promise.all([
    import('../../mapping/load.ts'),
    import('../../proxy/evidence/redact.ts'),
    import('../capture/read.ts'),
  ]);
  return { loadTables: load.loadTables, redactValue: redact.redactValue, readCapture: read.readCapture };
}

/** Streams a capture; progress goes to standard error. @throws PuenteError bad_request when it can't be read. */
async function* bytesOf(file: string, options: Output): AsyncGenerator<Uint8Array, void, undefined> {
  const progress = startProgress(options, 'reading');
  let read = 0;
  try {
    const total = file === '-' ? null : statSync(file).size;
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      const bytes = chunk as Buffer; // no encoding is set on either stream
      read += bytes.length;
      progress.tell(total === null || total === 0 ? `${megabytes(read)} MB` : `${Math.floor((read / total) * 100)} %`);
      yield bytes;
    }
  } catch (error) {
    if (error instanceof PuenteError || !(error instanceof Error) || !('code' in error)) throw error;
    const message = `${file} can't be read (${String(error.code)}): give the path of a capture, or - for standard input.`;
    throw new PuenteError('bad_request', message, { cause: error });
  } finally {
    progress.end();
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

function siteCode(text: string): string {
  if (!/^M[A-Z]{2}$/.test(text)) throw new InvalidArgumentError('A site such as MLA, MLB or MLM is needed.');
  return text;
}

function hostName(text: string, before: string[]): string[] {
  const host = text.toLowerCase();
  if (!/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(host))
    throw new InvalidArgumentError('A host name such as api.mercadopago.com is needed, without scheme and port.');
  return [...before, host];
}

function textOf(
  { sums, unreadable, remarks, merchants, tables_revision }: AssessmentView,
  listsOf: (merchant: AssessedMerchant, fields: string) => { title: string; rows: Row[] }[],
): string {
  const { lines, assessed, no_operation, foreign, shadowed } = sums;
  const more = sums.unreadable - unreadable.length;
  return [
    `Lines: ${lines} = ${assessed} assessed + ${no_operation} of no operation + ${foreign} to other hosts + ${sums.unreadable} unreadable; tables ${tables_revision}.`,
    `Creates translated on paper: ${shadowed}.`,
    ...remarks,
    ...unreadable.map(({ line, why }) => `line ${line}: ${why}`),
    ...(more > 0 ? [`… and unreadable lines not listed: ${more}.`] : []),
    ...merchants.flatMap((merchant) => {
      const coverage = merchant.coverage.filter(({ state }) => state !== 'equal');
      const lists = listsOf({ ...merchant, coverage }, 'Fields not proven').filter(({ rows }) => rows.length > 0);
      return [`\n${readinessText(merchant.readiness)}`, ...lists.map(({ title, rows }) => listText(title, rows))];
    }),
  ].join('\n');
}

type Row = Record<string, string | number | null>;

function listText(title: string, rows: readonly Row[]): string {
  const more = rows.length > MOST_ROWS ? `\n… and ${rows.length - MOST_ROWS} more; --json has all of them.` : '';
  const heads = Object.keys(rows[0] ?? {});
  const columns: Columns<Row> = Object.fromEntries(heads.map((head) => [head.toLowerCase(), head]));
  return `\n${title} (${rows.length}):\n${table(columns, rows.slice(0, MOST_ROWS))}${more}`;
}

/**
 * Reads the capture and the tables; calls nothing. The exit code is that of the verdict. @param folderInSettings asked
 * only without `--folder`.
 */
export function addReplayCommand(program: Command, folderInSettings: FolderInSettings): void {
  const command = program
    .command('replay <file>')
    .description("what today's tables would do with a capture, against what was done then; only changes are printed")
    .addOption(new Option('--against <what>', 'what does the work now').choices(['tables']).makeOptionMandatory())
    .addOption(new Option('--mappings <directory>', 'the tables').default(MAPPINGS, 'those of this build'))
    .option('--folder <directory>', OWN_FOLDER)
    .option('--json', 'print JSON')
    .action(async (file: string, options: Output & { mappings: string; folder?: string }) => {
      const [{ replayOf }, { loadTables, redactValue, readCapture }] = await Promise.all([
        import('../capture/replay.ts'),
        loadTools(),
      ]);
      const tables = loadTables(options.mappings, null, options.folder ?? (await folderInSettings()));
      const parts = { tables, redact: redactValue, clock: performance };
      const found = await replayOf(readCapture(bytesOf(file, options)), parts);
      print(options, found, replayText(found));
      process.exitCode = REPLAY_EXIT[found.verdict];
    });
  withManual(command, {
    notes: `
FILE is a capture of Puente (\`puente capture export\`); - is standard input. Nothing is sent, no running Puente is needed.
Compared are would-be orders and verdicts of shadows, and of calls on orders what was sent, how it was refused, and what
the till was answered. Ids, references and times that were given out then are given again, so the result is always the same.
What can't be made again of a capture is counted with its reason.
When nothing was replayed, most calls were left out, or the file is cut or has lines that can't be read, no change was
found and none is ruled out: that is inconclusive.`,
    examples: [
      'puente replay january.jsonl --against tables',
      'puente replay january.jsonl --against tables --mappings ../next/mappings --json',
    ],
    exits: {
      done: 'no change',
      inconclusive: 'too little was replayed to rule changes out',
      changed: "today's tables would do something else",
    },
    variables: SETTINGS_VARIABLES,
  });
}

const REPLAY_EXIT = { same: exitCodes.done, changed: exitCodes.changed, inconclusive: exitCodes.inconclusive } as const;

function replayText(found: Replay): string {
  const { sums, not_replayed, not_compared, remarks, unreadable, tables_revision, revisions_then, changes } = found;
  return [
    `Lines: ${sums.lines} = ${sums.replayed} replayed + ${sums.left_out} left out + ${sums.unreadable} unreadable.`,
    `Tables now: ${tables_revision}; when the calls were made: ${revisions_then.join(', ') || 'not known'}.`,
    ...remarks,
    ...unreadable.map(({ line, why }) => `line ${line}: ${why}`),
    ...not_replayed.map(({ why, count }) => `left out, ${count}: ${why}`),
    ...not_compared.map(({ why, count }) => `not compared, ${count}: ${why}`),
    ...(changes.length === 0 ? [] : [changesText(found)]),
    ...(found.verdict === 'same' ? [`No change. Calls replayed: ${sums.replayed}.`] : []),
    ...found.doubts.map((doubt) => `${found.verdict === 'changed' ? 'Also inconclusive' : 'INCONCLUSIVE'}: ${doubt}`),
  ].join('\n');
}

function changesText({ changes, sums }: Replay): string {
  const columns: Columns<(typeof changes)[number]> = {
    operation: 'operation',
    what: 'what',
    where: 'path',
    before: 'before',
    now: 'after',
    calls: 'count',
    'shown by': 'sample',
    signature: 'signature',
  };
  return `Calls that these tables handle in another way: ${sums.changed}. Changes: ${changes.length}.\n${table(columns, changes)}`;
}
