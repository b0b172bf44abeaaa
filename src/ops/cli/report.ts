/** `puente report`: a period of one merchant or of all, as JSON, CSV or one HTML file; and what changed between two. */
import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import { languages } from '../../locales/words.ts';
import { diffReports, type ReportDiff, readReport } from '../report/diff.ts';
import { reportParts } from '../report/report.ts';
import { warnOfBrokenChain } from './fleet.ts';
import { callOps, streamOps } from './ops-client.ts';
import { common, type Output, print, save, startProgress, tableOf } from './output.ts';

interface ReportOptions extends Output {
  since?: string;
  until?: string;
  format: 'json' | 'csv' | 'html';
  part: string;
  language: string;
  output?: string;
}

interface CompareOptions extends Output {
  since?: string;
  until?: string;
  beforeSince?: string;
  beforeUntil?: string;
}

export function addReportCommands(program: Command): void {
  const report = common(
    program
      .command('report')
      .argument('[merchant]', 'one merchant; all of them without')
      .description(
        'what happened in a period: traffic, losses, differences, notices, incidents, decisions, the verdict',
      ),
  )
    .option('--since <instant>', 'from (default: seven days before the end)')
    .option('--until <instant>', 'to, not included (default: now)')
    .addOption(new Option('--format <form>', 'form of the file').choices(['json', 'csv', 'html']).default('json'))
    .addOption(
      new Option('--part <list>', 'with csv: which list').choices(['exchanges', ...reportParts]).default('traffic'),
    )
    .addOption(
      new Option('--language <code>', 'with html: in which language people read it').choices(languages).default('en'),
    )
    .option('--output <file>', 'write to a file instead of standard output')
    .addHelpText(
      'after',
      `
The audit chain is checked with every report.

Examples:
  puente report 700100200 --format html --output report.html
  puente report 700100200 --format html --language es --output informe.html
  puente report --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z --format csv --part losses
  puente report diff before.json after.json`,
    );
  report.action((merchant: string | undefined, options: ReportOptions) => fetchReport(merchant, options));
  report
    .command('diff <before> <after>')
    .description('what changed between two reports made with --format json')
    .addHelpText('after', '\nExample:\n  puente report diff last-week.json this-week.json')
    .action((before: string, after: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<Output>();
      const found = diffReports(readReport(readText(before), before), readReport(readText(after), after));
      print(options, found, diffText(found));
    });
  common(report.command('compare').argument('[merchant]', 'one merchant; all of them without'))
    .description('what changed from one period to another, as it is known today')
    .option('--since <instant>', 'the later period: from (default: seven days before its end)')
    .option('--until <instant>', 'to, not included (default: now)')
    .option('--before-since <instant>', 'the earlier period: from (default: as long as the later one)')
    .option('--before-until <instant>', 'to, not included (default: where the later one begins)')
    .addHelpText(
      'after',
      '\nExample:\n  puente report compare 700100200 --since 2026-01-08T00:00:00Z --until 2026-01-15T00:00:00Z',
    )
    .action((merchant: string | undefined, _options: unknown, command: Command) =>
      compare(merchant, command.optsWithGlobals<CompareOptions>()),
    );
}

async function compare(merchant: string | undefined, options: CompareOptions): Promise<void> {
  const { since, until, beforeSince: before_since, beforeUntil: before_until } = options;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ merchant, since, until, before_since, before_until }))
    if (value !== undefined) query.set(name, value);
  const found = (await callOps(options, 'GET', `/api/report/compare?${query}`, undefined, {
    long: true,
  })) as ReportDiff; // the API's own shape
  print(options, found, diffText(found));
}

async function fetchReport(merchant: string | undefined, options: ReportOptions): Promise<void> {
  const { since, until, format, part, language, output } = options;
  const of_form = { json: {}, csv: { part }, html: { language } }[format];
  const asked: Record<string, string | undefined> = { merchant, since, until, format, ...of_form };
  const named = Object.entries(asked).filter((one): one is [string, string] => one[1] !== undefined);
  const progress = startProgress(options, 'report');
  const pieces = streamOps(options, 'GET', `/api/report?${new URLSearchParams(named)}`);
  const started_at = Date.now();
  // Nothing comes before everything is summed up.
  const waiting = setInterval(() => progress.tell(`${Math.round((Date.now() - started_at) / 1000)} s`), 1_000);
  try {
    await save(stopping(pieces, waiting), output ?? null, progress);
  } finally {
    clearInterval(waiting);
  }
  if (output !== undefined) process.stderr.write(`${output} is written.\n`);
  await warnOfBrokenChain(options);
}

/** From the first piece on it is told how much has come. */
async function* stopping(pieces: AsyncIterable<string>, waiting: NodeJS.Timeout): AsyncGenerator<string> {
  for await (const piece of pieces) {
    clearInterval(waiting);
    yield piece;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new PuenteError('bad_request', `${file} can't be read: give the path of a report made with --format json.`, {
      cause: error,
    });
  }
}

function diffText({ a, b, verdict, tables_revision, changes, decisions, incidents }: ReportDiff): string {
  const head = [
    `${a.period.since} to ${a.period.until}, then ${b.period.since} to ${b.period.until}`,
    `tables: ${tables_revision.before}${tables_revision.before === tables_revision.after ? ', the same' : ` → ${tables_revision.after}`}`,
    ...(verdict.after === null && verdict.before === null
      ? []
      : [`verdict: ${verdict.before ?? 'none'} → ${verdict.after ?? 'none'}`]),
  ];
  const table = tableOf(
    ['part', 'line', 'before', 'after'],
    changes.map(({ part, line, before, after }) => [part, line, before ?? 'none', after ?? 'none']),
  );
  const told = [...decisions, ...incidents].map(
    ({ at, who, action, subject, reason }) => `  ${at} ${who}: ${action} of ${subject}, ${reason}`,
  );
  return [
    ...head,
    changes.length === 0 ? 'Nothing changed.' : table,
    ...(told.length === 0 ? [] : ['Decided and noticed in between:', ...told]),
  ].join('\n');
}
