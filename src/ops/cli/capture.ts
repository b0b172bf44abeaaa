/** `puente capture`: keep a merchant's exchanges with their redacted messages, and take them home as a file. */

import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { loadTables } from '../../mapping/load.ts';
import { redactValue } from '../../proxy/evidence/redact.ts';
import { readCapture } from '../capture/read.ts';
import { type Replay, replayOf } from '../capture/replay.ts';
import type { MerchantView } from '../merchants.ts';
import type { CallView } from '../trace/trace.ts';
import { bytesOf } from './assess.ts';
import { callOps, streamOps } from './ops-client.ts';
import { common, exitCodes, type Output, print, save, startProgress, tableOf } from './output.ts';

interface SwitchOptions extends Output {
  reason: string;
}

interface ExportOptions extends Output {
  merchant?: string;
  since?: string;
  until?: string;
  captured?: boolean;
  output?: string;
}

export function addCaptureCommands(program: Command): void {
  const capture = program.command('capture').description('keep exchanges with their redacted messages; take them home');
  for (const word of ['on', 'off'] as const) {
    common(
      capture
        .command(`${word} <merchant>`)
        .description(word === 'on' ? 'keep the messages of its calls from now on' : 'keep no more messages'),
    )
      .requiredOption('--reason <text>', 'why, for the audit trail')
      .addHelpText('after', `\nExample:\n  puente capture ${word} 700100200 --reason "before the move of June"`)
      .action((merchant: string, options: SwitchOptions) => switchCapture(merchant, word === 'on', options));
  }
  common(capture.command('show <exchange>').description('one call, with its messages when they were captured'))
    .addHelpText('after', '\nExample:\n  puente capture show 0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10')
    .action(showCall);
  common(capture.command('export').description('exchanges as a file of JSON lines, for assess and replay'))
    .option('--merchant <id>', 'of this merchant alone')
    .option('--since <instant>', 'of calls that came then or later, such as 2026-01-31T09:00:00Z')
    .option('--until <instant>', 'of calls that came before then')
    .option('--captured', 'only those whose messages were kept')
    .option('--output <file>', 'where to; without it standard output')
    .addHelpText(
      'after',
      `
Tokens, secrets, card numbers and fields about people (such as payers) are taken out when a call is captured.
References and texts that a till gave its sales stay, because replay needs them, and may name people.
The last line says how many exchanges there are: a file without it was cut.

Example:
  puente capture export --merchant 700100200 --since 2026-01-01T00:00:00Z --output january.jsonl
  puente replay january.jsonl --against tables`,
    )
    .action(exportCapture);
}

async function switchCapture(merchant: string, on: boolean, options: SwitchOptions): Promise<void> {
  const path = `/api/merchants/${encodeURIComponent(merchant)}`;
  const { revision } = (await callOps(options, 'GET', path)) as MerchantView; // the API's own shape
  const changed = await callOps(options, 'PUT', path, { capture: on, reason: options.reason, revision });
  const said = on
    ? `Calls of ${merchant} are captured from now on. Take them home: puente capture export --merchant ${merchant} --output FILE`
    : `Calls of ${merchant} are not captured any more; what was captured stays until it is too old (evidence.messages_kept_ms).`;
  print(options, changed, said);
}

async function showCall(id: string, options: Output): Promise<void> {
  const call = (await callOps(options, 'GET', `/api/exchanges/${encodeURIComponent(id)}`)) as CallView; // the API's own shape
  const { at, operation, lane, status, error, duration_ms, messages } = call;
  const head = `${at} ${operation ?? 'unknown endpoint'} on ${lane}: ${status}${error === null ? '' : ` ${error}`} after ${duration_ms} ms`;
  const kept = messages === null ? 'Its messages were not kept: puente capture on <merchant> keeps later ones.' : null;
  print(options, call, `${head}\n${kept ?? JSON.stringify(messages, null, 2)}`);
}

async function exportCapture(options: ExportOptions): Promise<void> {
  const { merchant, since, until, captured, output } = options;
  const asked = Object.entries({ merchant, since, until, captured }).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(asked.map(([name, value]): [string, string] => [name, String(value)]));
  const progress = startProgress(options, 'exporting');
  const pieces = streamOps(options, 'GET', `/api/exchanges?${query}`);
  await save(pieces, output ?? null, progress);
  if (output !== undefined) process.stderr.write(`The capture is in ${output}.\n`);
}

// `puente replay`: what today's tables would do with captured calls, against what was done then.

const MAPPINGS = join(import.meta.dirname, '../../..', 'mappings');

interface ReplayOptions extends Output {
  mappings: string;
}

export function addReplayCommands(program: Command): void {
  program
    .command('replay <file>')
    .description("what today's tables would do with a capture, against what was done then; only changes are printed")
    .addOption(new Option('--against <what>', 'what does the work now').choices(['tables']).makeOptionMandatory())
    .addOption(new Option('--mappings <directory>', 'the tables').default(MAPPINGS, 'those of this build'))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
FILE is a capture of Puente (puente capture export); - is standard input. Nothing is sent, no running Puente is needed.
Compared are would-be orders and verdicts of shadows, and of calls on orders what was sent, how it was refused, and what
the till was told. Ids, references and times that were given out then are given again, so the result is always the same.
What can't be made again of a capture is counted with its reason.
When nothing was replayed, most calls were left out, or the file is cut or has lines that can't be read, no change was
found and none is ruled out: that is inconclusive.

Examples:
  puente replay january.jsonl --against tables
  puente replay january.jsonl --against tables --mappings ../next/mappings --json`,
    )
    .action(async (file: string, options: ReplayOptions) => {
      const tables = loadTables(options.mappings);
      const found = await replayOf(readCapture(bytesOf(file, options)), {
        tables,
        redact: redactValue,
        clock: performance,
      });
      print(options, found, textOf(found));
      process.exitCode = EXIT[found.verdict];
    });
}

const EXIT = { same: exitCodes.done, changed: exitCodes.changed, inconclusive: exitCodes.inconclusive } as const;

function textOf(found: Replay): string {
  const { sums, not_replayed, not_compared, remarks, unreadable, tables_revision, revisions_then, changes } = found;
  return [
    `${sums.lines} lines = ${sums.replayed} replayed + ${sums.left_out} left out + ${sums.unreadable} unreadable.`,
    `Tables ${tables_revision} now; then ${revisions_then.join(', ') || 'none'}.`,
    ...remarks,
    ...unreadable.map(({ line, why }) => `line ${line}: ${why}`),
    ...not_replayed.map(({ why, count }) => `left out, ${count}: ${why}`),
    ...not_compared.map(({ why, count }) => `not compared, ${count}: ${why}`),
    ...(changes.length === 0 ? [] : [changesText(found)]),
    ...(found.verdict === 'same' ? [`No change in ${sums.replayed} calls.`] : []),
    ...found.doubts.map(
      (doubt) => `${found.verdict === 'changed' ? 'And not all was seen' : 'INCONCLUSIVE'}: ${doubt}`,
    ),
  ].join('\n');
}

function changesText({ changes, sums }: Replay): string {
  const table = tableOf(
    ['operation', 'what', 'where', 'then', 'now', 'calls', 'shown by', 'signature'],
    changes.map((one) => [
      one.operation,
      one.what,
      one.path,
      one.before,
      one.after,
      one.count,
      one.sample,
      one.signature,
    ]),
  );
  return `${sums.changed} calls would be done otherwise, in ${changes.length} ways:\n${table}`;
}
