/** `puente bulk`: move many merchants, so many a day, until the first safety stop among them. */
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import { routedKinds, stages } from '../../proxy/routing/merchant.ts';
import type { BulkView } from '../moves/bulk.ts';
import { callOps } from './ops-client.ts';
import { common, exitCodes, type Output, print, startProgress, tableOf, wholeNumber } from './output.ts';
import { percent } from './stage.ts';

/** Between two looks at a bulk move that is followed. */
const FOLLOW_PAUSE_MS = 1000;

interface StartOptions extends Output {
  reason: string;
  file?: string;
  where?: [string, string][];
  stage?: string;
  share?: number;
  kind?: string;
  override?: boolean;
  perDay?: number;
  follow?: boolean;
}

interface Item {
  merchant_id: string;
  stage?: string;
  share?: number;
}

const START_HELP = `
The file has a merchant a line, alone or with its own target; # starts a remark:
  700100200
  700100300 canary 5
Conditions of --where, all of which must hold: stage=…, verdict=ready|blocked|inconclusive, site=MLA.
Each merchant is judged like a single move; the ones that are refused are listed with what is missing.

Examples:
  puente bulk start --file monday.txt --stage shadow --reason "wave 3"
  puente bulk start --where stage=shadow --where verdict=ready --stage canary --share 5 --per-day 20 --reason "wave 4" --follow`;

export function addBulkCommands(program: Command): void {
  const bulk = program.command('bulk').description('move many merchants with a daily budget');
  common(bulk.command('start').description('start to move the merchants of a file, or those that are like something'))
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option('--file <path>', 'merchants, one a line, each with a target of its own or none; - reads the input')
    .option('--where <condition>', 'merchants like this, such as verdict=ready; may be repeated', condition)
    .addOption(new Option('--stage <stage>', 'where to, for all that name no stage').choices(stages))
    .option('--share <percent>', 'of the units, on canary', percent)
    .addOption(new Option('--kind <kind>', 'move this kind of work alone').choices(routedKinds))
    .option('--override', 'as an approver, do without the evidence that is missing')
    .option('--per-day <number>', 'moves a UTC day (default: the setting moves.bulk_per_day)', wholeNumber)
    .option('--follow', 'stay until it is over')
    .addHelpText('after', START_HELP)
    .action(start);
  common(bulk.command('list').description('bulk moves, newest first')).action(list);
  common(bulk.command('show <bulk>').description('a bulk move, merchant by merchant'))
    .option('--follow', 'stay until it is over')
    .action(show);
  common(bulk.command('abort <bulk>').description('end a bulk move at once; who is moved stays moved'))
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .action(abort);
}

async function start(options: StartOptions): Promise<void> {
  const { reason, file, where, stage, share, kind, override, perDay: per_day } = options;
  if ((file === undefined) === (where === undefined))
    throw new PuenteError(
      'bad_request',
      'Name the merchants with --file, or with --where; see puente bulk start --help.',
    );
  const target = known({ stage, share, kind, override });
  const whom = file === undefined ? { where: Object.fromEntries(where ?? []) } : { items: itemsOf(file) };
  const body = { target, ...whom, ...known({ per_day }), reason };
  const started = (await callOps(options, 'POST', '/api/bulk', body, { long: true })) as BulkView; // the API's own shape
  const bulk = options.follow ? await follow(started, options) : started;
  tell(bulk, options);
}

async function list(options: Output): Promise<void> {
  const answer = await callOps(options, 'GET', '/api/bulk');
  const { bulk_moves: all } = answer as { bulk_moves: Omit<BulkView, 'items'>[] }; // the API's own shape
  const rows = all.map((one) => [one.id, one.created_at, one.who, one.state, one.summary, one.per_day, one.reason]);
  const table = tableOf(['bulk move', 'started', 'by', 'state', 'merchants', 'a day', 'reason'], rows);
  print(options, all, all.length === 0 ? 'No bulk move yet; start one with puente bulk start.' : table);
}

async function show(id: string, options: Output & { follow?: boolean }): Promise<void> {
  const bulk = (await callOps(options, 'GET', bulkPath(id))) as BulkView; // the API's own shape
  tell(options.follow ? await follow(bulk, options) : bulk, options);
}

async function abort(id: string, options: Output & { reason: string }): Promise<void> {
  const answer = await callOps(options, 'POST', `${bulkPath(id)}/abort`, { reason: options.reason });
  print(options, answer, text(answer as BulkView)); // the API's own shape
}

async function follow(bulk: BulkView, options: Output): Promise<BulkView> {
  const progress = startProgress(options, 'moving');
  let seen = bulk;
  while (seen.state === 'running') {
    progress.tell(seen.detail === seen.summary ? seen.summary : `${seen.summary}; ${seen.detail}`);
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_PAUSE_MS));
    seen = (await callOps(options, 'GET', bulkPath(bulk.id))) as BulkView; // the API's own shape
  }
  progress.end();
  return seen;
}

/** A bulk move that was stopped, or refused a merchant, has failed for a script. */
function tell(bulk: BulkView, options: Output): void {
  print(options, bulk, text(bulk));
  if (bulk.state === 'stopped' || bulk.items.some(({ state }) => state === 'refused'))
    process.exitCode = exitCodes.failed;
}

function text(bulk: BulkView): string {
  const rows = bulk.items.map(({ merchant_id, state, detail, at }) => [merchant_id, state, at ?? '', detail]);
  const head = `bulk move ${bulk.id}: ${bulk.state}, ${bulk.summary}, at most ${bulk.per_day} a day`;
  const why = bulk.detail === bulk.summary ? '' : `\n${bulk.detail}`;
  return `${head}${why}\n${tableOf(['merchant', 'state', 'at', 'what'], rows)}`;
}

/** @throws PuenteError bad_request with the line that can't be read. */
function itemsOf(file: string): Item[] {
  const lines = contentOf(file).split('\n');
  return lines.flatMap((line, index) => {
    const [merchant_id, stage, share, ...rest] = line
      .replace(/#.*/, '')
      .trim()
      .split(/[\s,;]+/);
    if (merchant_id === undefined || merchant_id === '') return [];
    if (rest.length > 0 || !/^\d+$/.test(merchant_id) || (share !== undefined && !/^\d{1,3}(\.\d{1,2})?$/.test(share)))
      throw new PuenteError(
        'bad_request',
        `Line ${index + 1} of ${file} can't be read: write MERCHANT, or MERCHANT STAGE SHARE.`,
      );
    return [{ merchant_id, ...known({ stage, share: share === undefined ? undefined : Number(share) }) }];
  });
}

function contentOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new PuenteError('bad_request', `${file} can't be read; name a file with a merchant a line.`, {
      cause: error,
    });
  }
}

function condition(text: string, before: [string, string][] = []): [string, string][] {
  const match = /^([a-z]+)=(.+)$/.exec(text);
  if (match === null) throw new InvalidArgumentError('write it as stage=shadow, verdict=ready or site=MLA');
  return [...before, [match[1] ?? '', match[2] ?? '']];
}

type Known<Value> = { [Name in keyof Value]?: Exclude<Value[Name], undefined> };

function known<Value extends object>(value: Value): Known<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Known<Value>; // the same, fewer
}

function bulkPath(id: string): string {
  return `/api/bulk/${encodeURIComponent(id)}`;
}
