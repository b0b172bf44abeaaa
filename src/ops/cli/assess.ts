/** `puente assess`: the readiness report of a capture of legacy traffic, without a running Puente. */
import { createReadStream, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import { loadTables } from '../../mapping/load.ts';
import { redactValue } from '../../proxy/evidence/redact.ts';
import { assessmentOf } from '../capture/assess.ts';
import { type AssessedMerchant, type AssessmentView, assessmentHtml, viewAssessment } from '../capture/assessment.ts';
import { readCapture } from '../capture/read.ts';
import { saidOf } from '../readiness/facts.ts';
import { readinessText } from './evidence.ts';
import { exitCodes, type Output, print, save, startProgress, tableOf, wholeNumber } from './output.ts';

const MAPPINGS = join(import.meta.dirname, '../../..', 'mappings');
/** As `moves.min_sample` in `config/default.yaml`, which a running Puente goes by. */
const MIN_SAMPLE = 20;
/** Rows of a list that people read; `--json` has all of them. */
const MOST_ROWS = 25;

interface AssessOptions extends Output {
  merchant?: string;
  site?: string;
  voucher: 'refuse' | 'drop';
  minSample: number;
  output?: string;
}

export function addAssessCommands(program: Command): void {
  program
    .command('assess <file>')
    .description('what orders would have made of a capture of legacy traffic: verdicts, losses, coverage, blockers')
    .option('--merchant <id>', 'whose calls these are, where neither a token nor a path says it')
    .option('--site <site>', "the merchants' site, such as MLA; without it as the capture says", siteCode)
    .addOption(
      new Option('--voucher <policy>', "the merchants' voucher policy").choices(['refuse', 'drop']).default('refuse'),
    )
    .option('--min-sample <calls>', 'fewer calls of an operation prove nothing', wholeNumber, MIN_SAMPLE)
    .option('--json', 'print JSON')
    .option('--output <file>', 'write the report as one HTML file too')
    .addHelpText(
      'after',
      `
FILE is a capture of Puente, a HAR export of a browser or proxy, or JSON lines
  {"method":"POST","url":"https://…","headers":{…},"body":…,"status":201,"response":…,"at":"2026-01-31T09:00:00Z"}
- is standard input. Nothing is sent anywhere, and no running Puente is needed. Tokens, secrets and card numbers of the
file are not in the report; references and texts that a till gave its sales are, and may name people.
Every line is in the sums: lines = assessed + of no operation + unreadable. The exit code is that of the worst merchant.

Examples:
  puente assess till.har --site MLB --output assessment.html
  puente assess january.jsonl --json > assessment.json`,
    )
    .action(assess);
}

async function assess(file: string, options: AssessOptions): Promise<void> {
  const tables = loadTables(MAPPINGS);
  const now = Date.now();
  const assessment = await assessmentOf(
    readCapture(bytesOf(file, options)),
    { tables, redact: redactValue, clock: performance, now },
    {
      merchant_id: options.merchant ?? null,
      site: options.site ?? null,
      voucher: options.voucher,
      min_sample: options.minSample,
    },
  );
  const view = await viewAssessment(assessment, tables, now);
  if (options.output !== undefined) {
    const page = Readable.from([assessmentHtml(view, basename(file))]);
    await save(page, options.output, startProgress(options, 'report'));
  }
  print(options, view, textOf(view));
  process.exitCode = EXIT[view.verdict];
}

const EXIT = { ready: exitCodes.done, blocked: exitCodes.blocked, inconclusive: exitCodes.inconclusive } as const;

/**
 * A capture as a stream; how far it is read shows on standard error.
 * @throws PuenteError bad_request when the file can't be read.
 */
export async function* bytesOf(file: string, options: Output): AsyncGenerator<Uint8Array, void, undefined> {
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
    throw new PuenteError(
      'bad_request',
      `${file} can't be read (${String(error.code)}): give the path of a capture, or - for standard input.`,
      {
        cause: error,
      },
    );
  } finally {
    progress.end();
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

function siteCode(text: string): string {
  if (!/^M[A-Z]{2}$/.test(text)) throw new InvalidArgumentError('a site such as MLA, MLB or MLM is needed');
  return text;
}

function textOf({ sums, unreadable, remarks, merchants, tables_revision }: AssessmentView): string {
  const { lines, assessed, no_operation, shadowed } = sums;
  return [
    `${lines} lines = ${assessed} assessed + ${no_operation} of no operation + ${sums.unreadable} unreadable; tables ${tables_revision}.`,
    `${shadowed} creates were translated on paper.`,
    ...remarks,
    ...unreadable.map(({ line, why }) => `line ${line}: ${why}`),
    ...(sums.unreadable > unreadable.length
      ? [`… and ${sums.unreadable - unreadable.length} more lines that can't be read.`]
      : []),
    ...merchants.map(merchantText),
  ].join('\n');
}

function merchantText({ readiness, verdicts, losses, differences, unknowns, coverage }: AssessedMerchant): string {
  const cells = coverage.filter(({ state }) => state !== 'equal');
  return [
    `\n${readinessText(readiness)}`,
    list('Would-be orders', ['operation', 'verdict', 'code', 'rule', 'calls'], verdicts, (one) => [
      one.operation,
      one.verdict.replace('_', ' '),
      one.code ?? '',
      one.detail ?? '',
      one.count,
    ]),
    list('Differences', ['operation', 'legacy', 'orders', 'calls', 'shown by'], differences, (one) => [
      one.operation,
      one.legacy,
      saidOf(one.orders),
      one.count,
      one.sample,
    ]),
    list('Losses', ['weight', 'operation', 'field', 'calls', "for the till's maker"], losses, (one) => [
      one.weight,
      one.operation,
      one.field,
      one.count,
      one.advice,
    ]),
    list('Known to no table', ['what', 'name', 'calls'], unknowns, (one) => [one.what, one.name, one.count]),
    list('Fields not proven', ['operation', 'field', 'equal', 'different', 'state'], cells, (one) => [
      one.operation,
      one.field,
      one.equal,
      one.different,
      one.state.replace('_', ' '),
    ]),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function list<Row>(
  title: string,
  head: string[],
  rows: readonly Row[],
  cells: (row: Row) => (string | number)[],
): string {
  if (rows.length === 0) return '';
  const more = rows.length > MOST_ROWS ? `\n… and ${rows.length - MOST_ROWS} more; --json has all of them.` : '';
  return `\n${title} (${rows.length}):\n${tableOf(head, rows.slice(0, MOST_ROWS).map(cells))}${more}`;
}
