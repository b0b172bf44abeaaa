/** `puente replay`: what today's tables would do with captured calls, against what was done then. */
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { loadTables } from '../../mapping/load.ts';
import { redactValue } from '../../proxy/evidence/redact.ts';
import { readCapture } from '../capture/read.ts';
import { type Replay, replayOf } from '../capture/replay.ts';
import { bytesOf } from './assess.ts';
import { exitCodes, type Output, print } from './output.ts';
import { tableOf } from './table.ts';

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
