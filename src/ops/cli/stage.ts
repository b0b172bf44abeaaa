/** `puente stage`, `puente rollback` and `puente drain`: move a merchant, take it back, and see what is still open. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { routedKinds, stages } from '../../proxy/routing/merchant.ts';
import type { MerchantView } from '../merchants.ts';
import type { Judgement } from '../moves/judge.ts';
import type { Moved } from '../moves/judged.ts';
import type { MoveAnswer, RolledBack } from '../moves/move.ts';
import type { DrainView, Preview } from '../moves/preview.ts';
import { type ProposalView, proposalStates } from '../moves/proposals.ts';
import { FOLLOW } from '../moves/target.ts';
import { stagesText } from './merchants.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print, startProgress, tableOf, wholeNumber } from './output.ts';

/** Between two looks at what is open. */
const WATCH_PAUSE_MS = 1000;

interface StageOptions extends Output {
  reason?: string;
  revision?: number;
  share?: number;
  unitIn?: string[];
  unitOut?: string[];
  kind?: string;
  override?: boolean;
  dryRun?: boolean;
}

const STAGE_HELP = `
Stages, in the order of a migration:
  legacy   carried untouched
  shadow   carried, and translated on paper: nothing changes for the till
  canary   a share of the units, or named units, is on orders
  orders   everything is on orders
  follow   with --kind: the kind follows its merchant's stage again

Forward it goes one stage at a time, with evidence; back at any time. Open sales stay where they were born.
Where a second approver is asked for, a move forward is proposed and nothing is moved: text and JSON say so (result).

Examples:
  puente stage 700100200 shadow --reason "first look"
  puente stage 700100200 canary --share 5 --dry-run
  puente stage 700100200 canary --share 5 --unit-in point:PAX_A910__SMARTPOS0000000001 --reason "week 1"
  puente stage 700100200 orders --kind qr --reason "QR is proven"`;

export function addStageCommands(program: Command): void {
  const stage: Command = common(
    program
      .command('stage <merchant>')
      .addArgument(new Argument('<stage>', 'where to').choices([...stages, FOLLOW]))
      .description('move a merchant: new payments follow, open ones stay'),
  )
    .option('--reason <text>', 'why, for the audit trail')
    .option(
      '--revision <number>',
      'refuse unless the merchant is at this revision (default: the current one)',
      wholeNumber,
    )
    .option('--share <percent>', 'of the units, on canary', percent)
    .option('--unit-in <slot...>', 'units that are on orders whatever the share, such as point:<terminal> or qr:<pos>')
    .option('--unit-out <slot...>', 'units that are not, whatever the share')
    .addOption(new Option('--kind <kind>', 'move this kind of work alone').choices(routedKinds))
    .option('--override', 'as an approver, do without the evidence that is missing')
    .option('--dry-run', 'only say what would be touched, and what is missing')
    .addHelpText('after', STAGE_HELP);
  stage.action(async (id: string, to: string, options: StageOptions) => {
    if (options.dryRun) return preview(id, to, options);
    if (options.reason === undefined) stage.error("error: required option '--reason <text>' not specified");
    await move(id, to, options);
  });
  common(program.command('rollback <merchant>').description('take a merchant back to legacy now, all kinds of work'))
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .addHelpText('after', '\nExample:\n  puente rollback 700100200 --reason "tills report errors"')
    .action(rollBack);
  common(program.command('drain <merchant>').description('what is still open on each side, and until when'))
    .option('--watch', 'look again until nothing is open on orders')
    .addHelpText('after', '\nExample:\n  puente drain 700100200 --watch')
    .action(drain);
}

async function preview(id: string, stage: string, options: StageOptions): Promise<void> {
  const { share, unitIn, unitOut, kind, override } = options;
  const named = { stage, share, units_in: unitIn?.join(','), units_out: unitOut?.join(','), kind, override };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(named)) if (value !== undefined) query.set(name, String(value));
  const answer = await callOps(options, 'GET', `${merchantPath(id)}/stage/preview?${query}`);
  const told = answer as { judgement: Judgement }; // the API's own shape
  print(options, told, `would be, merchant ${id}\n${judgementText(told.judgement)}`);
}

async function move(id: string, stage: string, options: StageOptions): Promise<void> {
  const { reason, share, unitIn: units_in, unitOut: units_out, kind, override } = options;
  const revision = options.revision ?? (await merchantOf(id, options)).revision;
  const named = { share, units_in, units_out, kind, override };
  const target = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  const body = { stage: stage === FOLLOW ? null : stage, ...target, reason, revision };
  const answer = await callOps(options, 'PUT', `${merchantPath(id)}/stage`, body);
  const told = answer as MoveAnswer; // the API's own shape
  const judged = judgementText(told.judgement);
  if (told.result === 'moved') return print(options, told, `${movedText(told)}\n${judged}`);
  const { id: move_id, expires_at } = told.proposed;
  const next = `Another approver makes it until ${expires_at}: puente moves approve ${move_id} --reason …`;
  print(options, told, `proposed, not moved: merchant ${id} stays as it is\n${next}\n${judged}`);
}

async function rollBack(id: string, options: Output & { reason: string }): Promise<void> {
  const answer = await callOps(options, 'POST', `${merchantPath(id)}/rollback`, { reason: options.reason });
  const told = answer as RolledBack; // the API's own shape
  print(
    options,
    told,
    `merchant ${id} is on legacy: new payments go there now, open ones stay where they were born\n${drainText(told)}`,
  );
}

async function drain(id: string, options: Output & { watch?: boolean }): Promise<void> {
  const look = async (): Promise<DrainView> =>
    (await callOps(options, 'GET', `${merchantPath(id)}/drain`)) as DrainView; // the API's own shape
  const progress = startProgress(options, 'draining');
  let view = await look();
  while (options.watch === true && view.orders.open > 0) {
    progress.tell(view.says);
    await new Promise((resolve) => setTimeout(resolve, WATCH_PAUSE_MS));
    view = await look();
  }
  progress.end();
  print(options, view, drainText(view));
}

function drainText({ orders, legacy, says }: DrainView): string {
  const rows = [
    ...orders.units.map((unit) => [
      'orders',
      unit.unit,
      unit.open,
      unit.oldest_at ?? '',
      unit.latest_end_at ?? '',
      unit.in_doubt,
      unit.notices_pending,
    ]),
    ...legacy.units.map((unit) => [
      'legacy',
      unit.unit,
      unit.open,
      unit.oldest_at ?? '',
      unit.latest_end_at ?? '',
      unit.in_doubt,
      '',
    ]),
  ];
  const head = ['open on', 'unit', 'open', 'oldest', 'latest possible end', 'in doubt', 'notices waiting'];
  return rows.length === 0 ? says : `${tableOf(head, rows)}\n${says}`;
}

async function merchantOf(id: string, options: Output): Promise<MerchantView> {
  return (await callOps(options, 'GET', merchantPath(id))) as MerchantView; // the API's own shape
}

function merchantPath(id: string): string {
  return `/api/merchants/${encodeURIComponent(id)}`;
}

/** What has just become of a merchant, in one line; its settings are shown by `puente merchants show`. */
export function movedText({ id, revision, in_force, judgement }: Moved): string {
  const said = judgement.kind === 'same' ? 'was there already' : 'is moved';
  return `merchant ${id} ${said}: stage ${stagesText(in_force)}, revision ${revision}`;
}

/** `5`, `2.5`; the door says what is allowed. */
export function percent(text: string): number {
  if (!/^\d{1,3}(\.\d{1,2})?%?$/.test(text)) throw new InvalidArgumentError('a percentage such as 5 or 2.5 is needed');
  return Number(text.replace('%', ''));
}

// `puente moves`: moves that wait for a second person.

type Reasoned = Output & { reason: string };

export function addMoveCommands(program: Command): void {
  const moves = program
    .command('moves')
    .description('moves that wait for a second person (setting moves.second_approver)');
  common(moves.command('list').description('proposed moves, newest first'))
    .option('--merchant <id>', 'of this merchant')
    .addOption(new Option('--state <state>', 'only these').choices(proposalStates))
    .addHelpText('after', '\nExample:\n  puente moves list --state waiting')
    .action(list);
  common(moves.command('show <move>').description('a proposed move, and what would be said of it now')).action(show);
  common(moves.command('approve <move>').description('as another approver, make a proposed move'))
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .addHelpText('after', '\nIt is judged again on what holds now. Nobody approves a move of their own.')
    .action(approve);
  common(moves.command('decline <move>').description('decline a proposed move, or withdraw your own'))
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .action(decline);
}

async function list({ merchant, state, ...options }: Output & { merchant?: string; state?: string }): Promise<void> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ merchant, state })) if (value !== undefined) query.set(name, value);
  const { moves } = (await callOps(options, 'GET', `/api/moves?${query}`)) as { moves: ProposalView[] }; // the API's own shape
  const rows = moves.map((one) => [
    one.id,
    one.merchant_id,
    targetText(one),
    one.proposed_by,
    one.reason,
    one.state,
    one.expires_at,
  ]);
  const table = tableOf(['move', 'merchant', 'to', 'proposed by', 'reason', 'state', 'until'], rows);
  print(options, moves, moves.length === 0 ? 'No move is like that.' : table);
}

async function show(id: string, options: Output): Promise<void> {
  const answer = await callOps(options, 'GET', movePath(id));
  const move = answer as ProposalView & { judgement: Judgement | null }; // the API's own shape
  const { judgement, ...facts } = move;
  const rows = Object.entries({ ...facts, move: targetText(move) }).map(([name, value]) => [
    name,
    String(value ?? 'none'),
  ]);
  const judged = judgement === null ? '' : `\n${judgementText(judgement)}`;
  print(options, move, `${tableOf(['fact', 'value'], rows)}${judged}`);
}

async function approve(id: string, options: Reasoned): Promise<void> {
  const answer = await callOps(options, 'POST', `${movePath(id)}/approve`, { reason: options.reason });
  const moved = answer as Moved; // the API's own shape
  print(options, moved, `${movedText(moved)}\n${judgementText(moved.judgement)}`);
}

async function decline(id: string, options: Reasoned): Promise<void> {
  const answer = await callOps(options, 'POST', `${movePath(id)}/decline`, { reason: options.reason });
  const move = answer as ProposalView; // the API's own shape
  print(options, move, `move ${move.id} is ${move.state}`);
}

function targetText({ move }: ProposalView): string {
  const { stage, share, kind } = move;
  const to = stage === null ? 'follow its merchant' : String(stage);
  return `${to}${share === undefined ? '' : ` ${share} %`}${kind === undefined ? '' : `, ${kind} alone`}`;
}

function movePath(id: string): string {
  return `/api/moves/${encodeURIComponent(id)}`;
}

// A judged move as people read it: what changes, what it touches, and what is missing with the command that gives it.

/** Units that are shown; `--json` has more. */
const SHOWN_UNITS = 20;
const SHOWN_REFUSALS = 5;

export function judgementText({ allowed, kind, missing, needs, overridden, preview }: Judgement): string {
  const verdict = allowed ? (needs === 'approval' ? 'allowed, once a second person agrees' : 'allowed') : 'refused';
  const lines = [
    `${kind === 'same' ? 'no move' : `move ${kind}`}: ${verdict}${overridden ? ', by override' : ''}`,
    ...preview.changes.map((change) => `  ${change}`),
    previewText(preview),
  ];
  if (missing.length > 0)
    lines.push(
      tableOf(
        ['missing', 'what', 'command'],
        missing.map(({ code, what, command }) => [code, what, command ?? '']),
      ),
    );
  if (needs === 'override') lines.push('An approver can do without what is missing, with --override.');
  return lines.join('\n');
}

export function previewText(preview: Preview): string {
  const facts: [string, string | number][] = [
    ['units seen', preview.units_seen],
    ['units that change side now', preview.units_now],
    ['units that change side later', preview.units_later],
    ['calls a day', preview.calls_a_day],
    ['calls a day that change side', preview.calls_a_day_touched],
    ['open on orders', preview.open_on_orders],
    ['open on legacy', preview.open_on_legacy],
    ['worst known difference', preview.worst_difference ?? 'none'],
    ['predicted refusals', refusals(preview)],
  ];
  const table = tableOf(['touches', ''], facts);
  if (preview.units.length === 0) return table;
  const units = preview.units.slice(0, SHOWN_UNITS);
  const rows = units.map(({ slot, to, when, why, until }) => [slot, to, when, why ?? '', until ?? '']);
  const count = preview.units_now + preview.units_later - units.length;
  const rest = count > 0 ? `\n${count} more units; --json names them` : '';
  return `${table}\n${tableOf(['unit', 'to', 'when', 'why', 'at the latest'], rows)}${rest}`;
}

function refusals({ predicted_refusals: all }: Preview): string {
  if (all.length === 0) return 'none';
  const shown = all.slice(0, SHOWN_REFUSALS);
  return shown
    .map(({ operation, code, error, count }) => `${operation}: ${code ?? error ?? 'refused'}, ${count} times`)
    .join('\n');
}
