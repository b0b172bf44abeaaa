/** `puente moves`: moves that wait for a second person. */
import { type Command, Option } from 'commander';
import type { Judgement } from '../moves/judge.ts';
import type { Moved } from '../moves/judged.ts';
import { type ProposalView, proposalStates } from '../moves/proposals.ts';
import { judgementText } from './judgement.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print } from './output.ts';
import { movedText } from './stage.ts';
import { tableOf } from './table.ts';

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
