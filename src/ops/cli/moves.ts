/** Commands and text output of moves: stages, proposals, bulk moves, brown-outs and open sales. */
import { type Command, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import type { Answers } from '../api/api.ts';
import type { BrownoutLine, BrownoutView } from '../moves/brownouts.ts';
import type { BulkView } from '../moves/bulk.ts';
import type { Judgement } from '../moves/judge.ts';
import type { Moved } from '../moves/judged.ts';
import type { MoveAnswer, RolledBack } from '../moves/move.ts';
import type { DrainView, Preview } from '../moves/preview.ts';
import type { ProposalView } from '../moves/proposals.ts';
import type { FOLLOW } from '../moves/target.ts';
import { bulkItems } from '../moves/typed-lists.ts';
import type { Named } from '../seen.ts';
import { stagesText } from './merchants.ts';
import {
  type Columns,
  counted,
  exitCodes,
  facts,
  listed,
  merchantCell,
  namedAs,
  ofOneMerchant,
  percent,
  readInput,
  startProgress,
  table,
  withName,
} from './output.ts';
import { call, callRow, choicesOf, type Faces, type Fields, type Given } from './rows.ts';

const WATCH_PAUSE_MS = 1000;
export const MOVE = '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10';

export const stageFaces: Faces = {
  stage: {
    about: 'move a merchant: new payments follow, open ones stay',
    notes: `
Stages, in the order of a migration:
  legacy   proxied untouched
  shadow   proxied, and translated on paper: nothing changes for the till
  canary   a share of the units, or named units, is on orders
  orders   everything is on orders
  follow   with --kind: the kind follows its merchant's stage again

Forward it goes one stage at a time, with evidence; back at any time. Open sales stay where they were created.
Where a second approver is needed, a move forward is proposed and nothing is moved: text and JSON say so (result).`,
    examples: [
      'puente stage 700100200 shadow --reason "first look"',
      'puente stage 700100200 canary --share 5 --dry-run',
      'puente stage 700100200 canary --share 5 --unit-in point:PAX_A910__SMARTPOS0000000001 --reason "week 1"',
      'puente stage 700100200 orders --kind qr --reason "QR is proven"',
    ],
    exits: { done: 'moved, or proposed to a second person', failed: 'refused: something is missing' },
    args: ['stage'],
    none: 'follow' satisfies typeof FOLLOW,
    flags: { units_in: 'unit-in', units_out: 'unit-out' },
    text: moveText,
  },
  rollback: {
    examples: ['puente rollback 700100200 --reason "tills report errors"'],
    exits: { done: 'on legacy; also when it was there already' },
    text: rollbackText,
  },
  'rollback-by-alert': {
    notes: `
The rollback that an alert makes through the ops door, as a command: for a script, and to try a filter. A token with the role rollback may
do this and nothing else. A stage is here that of any kind of work. Without merchants and conditions it is refused.`,
    examples: [
      'puente rollback-by-alert TillsFail 700100200,700100300',
      'puente rollback-by-alert TillsFail --where stage=canary',
    ],
    args: ['alert', 'merchants'],
    exits: {
      done: 'the merchants are on legacy',
      failed: 'some of those named were never seen; the others are on legacy',
    },
    text: ({ rolled_back, untouched, unknown, near, names }) =>
      facts({
        'rolled back': rolled_back.map((id) => namedAs(id, names[id] ?? null)),
        untouched: untouched.map((id) => namedAs(id, names[id] ?? null)),
        'never seen': unknown,
        ...(near.length === 0 ? {} : { 'near those never seen': near }),
      }),
    exit: ({ unknown }) => (unknown.length > 0 ? exitCodes.failed : exitCodes.done),
  },
  drain: {
    examples: ['puente drain 700100200 --watch'],
    more: (drain) => void drain.option('--watch', 'repeat until nothing is open on orders'),
    ask: (given) =>
      watched<Answers['GET /api/merchants/:id/drain']>(given, 'draining', ({ orders, says }) =>
        given.options.watch !== true || orders.open === 0 ? null : says,
      ),
    text: ({ unseen, ...drain }) => unseen ?? drainText(drain),
    ...ofOneMerchant,
  },
};

/** Polls `look`. @param newsOf the progress; null at the end. */
async function watched<View>(
  given: Given,
  label: string,
  newsOf: (seen: View) => string | null,
  look: () => Promise<unknown> = () => call(given),
): Promise<View> {
  const progress = startProgress(given.options, label);
  for (;;) {
    const seen = (await look()) as View; // the API's own shape
    const news = newsOf(seen);
    if (news === null) {
      progress.end();
      return seen;
    }
    progress.tell(news);
    await new Promise((resolve) => setTimeout(resolve, WATCH_PAUSE_MS));
  }
}

function moveText(answer: MoveAnswer | Named<{ merchant_id: string; judgement: Judgement }>): string {
  const judged = judgementText(answer.judgement);
  if ('id' in answer) return answer.result === 'unchanged' ? movedText(answer) : `${movedText(answer)}\n${judged}`;
  const { merchant_id } = 'result' in answer ? answer.proposed : answer;
  const stays = `not moved: merchant ${namedAs(merchant_id, answer.merchant_name)} stays as it is`;
  if (!('result' in answer)) return `dry run, ${stays}\n${judged}`;
  const { id, expires_at } = answer.proposed;
  const next = `Another approver can approve it until ${expires_at}: puente moves approve ${id} --reason …`;
  return `proposed, ${stays}\n${next}\n${judged}`;
}

/** One line; `puente merchants show` prints the settings. */
function movedText(moved: Moved & { result?: 'moved' | 'unchanged' }): string {
  const { id, name, revision, in_force, judgement, result } = moved;
  const said = judgement.kind === 'same' ? 'stays where it is' : 'is moved';
  return `${result === 'unchanged' ? 'nothing to change: ' : ''}merchant ${namedAs(id, name)} ${said}: stage ${stagesText(in_force)}, revision ${revision}`;
}

function rollbackText(answer: RolledBack): string {
  const { merchant_id, merchant_name, result, withdrawn, left, before } = answer;
  const merchant = namedAs(merchant_id, merchant_name);
  const drain = drainText(answer);
  if (result === 'unchanged')
    return `nothing to change: merchant ${merchant} is on legacy already, and waits for no move\n${drain}`;
  const was_there = Object.values(before).every(({ intended }) => intended === 'legacy');
  return [
    `merchant ${merchant} ${was_there ? 'was' : 'is'} on legacy${was_there ? ' already' : ''}: new payments go there now, open ones stay where they were created`,
    ...(withdrawn.length === 0 ? [] : [`withdrawn, as proposed moves: ${withdrawn.join(', ')}`]),
    ...(left.length === 0 ? [] : [`left alone from now on by bulk moves and ramps: ${left.join(', ')}`]),
    drain,
  ].join('\n');
}

function drainText({ orders, legacy, says }: DrainView): string {
  const units = [
    ...orders.units.map((unit) => ({ on: 'orders', ...unit })),
    ...legacy.units.map((unit) => ({ on: 'legacy', notices_pending: '', ...unit })),
  ];
  const columns: Columns<(typeof units)[number]> = {
    'open on': 'on',
    unit: 'unit',
    open: 'open',
    oldest: 'oldest_at',
    'latest possible end': 'latest_end_at',
    'in doubt': 'in_doubt',
    'notices waiting': 'notices_pending',
  };
  return units.length === 0 ? says : `${table(columns, units)}\n${says}`;
}

export const moveFaces: Faces = {
  'moves list': {
    examples: ['puente moves list --state waiting'],
    text: listed('No move matches.', {
      move: 'id',
      merchant: merchantCell,
      to: targetText,
      'proposed by': 'proposed_by',
      reason: 'reason',
      state: 'state',
      until: 'expires_at',
    }),
  },
  'moves show': {
    examples: [`puente moves show ${MOVE}`],
    text: ({ judgement, merchant_name, ...move }) =>
      facts({ ...move, merchant_id: namedAs(move.merchant_id, merchant_name), move: targetText(move) }) +
      (judgement === null ? '' : `\n${judgementText(judgement)}`),
  },
  'moves approve': {
    notes: 'It is judged again on the present evidence. Its proposer can not approve it.',
    examples: [`puente moves approve ${MOVE} --reason "looked at the preview with the shop"`],
    // The second person has just approved it.
    text: (moved) => `${movedText(moved)}\n${judgementText({ ...moved.judgement, needs: 'nothing' })}`,
  },
  'moves decline': {
    examples: [`puente moves decline ${MOVE} --reason "not before the holidays"`],
    text: ({ id, state }) => `move ${id} is ${state}`,
  },
};

function targetText({ move: { stage, share, kind } }: Pick<ProposalView, 'move'>): string {
  const to = stage === null ? 'follow its merchant' : String(stage);
  return `${to}${share === undefined ? '' : ` ${share} %`}${kind === undefined ? '' : `, ${kind} alone`}`;
}

/** Rows in text output; `--json` has more. */
const SHOWN_UNITS = 20;
const SHOWN_REFUSALS = 5;

/** English, for a terminal: the verdict, the changes, and what is missing with the command that gives it. */
export function judgementText({ allowed, kind, missing, needs, overridden, preview }: Judgement): string {
  const verdict = allowed ? (needs === 'approval' ? 'allowed, once a second person approves' : 'allowed') : 'refused';
  const lacks = table({ missing: 'code', what: 'what', command: 'command' }, missing);
  return [
    `${kind === 'same' ? 'no move' : `move ${kind}`}: ${verdict}${overridden ? ', by override' : ''}`,
    ...preview.changes.map((change) => `  ${change}`),
    ...preview.notes,
    previewText(preview),
    ...(missing.length > 0 ? [lacks] : []),
    ...(needs === 'override' ? ['An approver can override what is missing, with --override.'] : []),
  ].join('\n');
}

function previewText(preview: Preview): string {
  const touched: [string, string | number][] = [
    ['units seen', preview.units_seen],
    ['units that change lanes now', preview.units_now],
    ['units that change lanes later', preview.units_later],
    ['calls a day', preview.calls_a_day],
    ['calls a day that change lanes', preview.calls_a_day_touched],
    ['open on orders', preview.open_on_orders],
    ['open on legacy', preview.open_on_legacy],
    ['worst known difference', preview.worst_difference ?? 'none'],
    ['predicted refusals', refusals(preview)],
  ];
  const sums = table({ touches: 0, '': 1 }, touched);
  if (preview.units.length === 0) return sums;
  const units = preview.units.slice(0, SHOWN_UNITS);
  const count = preview.units_now + preview.units_later - units.length;
  const rest = count > 0 ? `\n${counted(count, 'more unit')}; --json has all` : '';
  const columns = { unit: 'slot', to: 'to', when: 'when', why: 'why', 'at the latest': 'until' } as const;
  return `${sums}\n${table(columns, units)}${rest}`;
}

function refusals({ predicted_refusals: all }: Preview): string {
  const text = all
    .slice(0, SHOWN_REFUSALS)
    .map(
      ({ operation, code, error, count, refused_on_legacy: both }) =>
        `${operation}: ${code ?? error ?? 'refused'}, ${counted(count, 'call')}${both > 0 ? ` (and ${both} that legacy refused, too)` : ''}`,
    );
  return text.join('\n') || 'none';
}

export const bulkFaces: Faces = {
  'bulk start': {
    about: 'start to move many merchants: those named, those that meet conditions, or those of a file',
    notes: `
The file has a merchant a line, alone or with its own target; # starts a remark:
  700100200
  700100300 canary 5
Each merchant is judged like a single move; the ones that are refused are listed with what is missing.`,
    examples: [
      'puente bulk start 700100200,700100300 --stage shadow --reason "wave 2"',
      'puente bulk start --file monday.txt --stage shadow --reason "wave 3"',
      'puente bulk start --where stage=shadow --where verdict=ready --stage canary --share 5 --per-day 20 --reason "wave 4" --follow',
    ],
    exits: { done: 'started; with --follow all are moved', failed: 'refused; with --follow some are not moved' },
    args: ['merchants'],
    made: ['target', 'items'],
    more: addBulkOptions,
    input: bulkOf,
    async ask(given) {
      const started = (await call(given, true)) as BulkView; // the API's own shape
      return given.options.follow === true ? followed(given, started) : started;
    },
    text: bulkText,
    exit: bulkExit,
  },
  'bulk list': {
    examples: ['puente bulk list --json'],
    text: listed('No bulk move matches; `puente bulk start --help` says how to start one.', {
      'bulk move': 'id',
      started: 'created_at',
      by: 'who',
      state: 'state',
      merchants: 'summary',
      'a day': 'per_day',
      reason: 'reason',
    }),
  },
  'bulk show': {
    examples: [`puente bulk show ${MOVE}`],
    exits: { done: 'shown; with --follow all are moved', failed: 'failed; with --follow some are not moved' },
    more: (show) => void show.option('--follow', 'wait until it ends'),
    ask: async (given) =>
      given.options.follow === true ? followed(given, { id: given.path.id ?? '' }) : ((await call(given)) as BulkView), // the API's own shape
    text: bulkText,
    exit: bulkExit,
  },
  'bulk abort': {
    examples: [`puente bulk abort ${MOVE} --reason "a till of the chain was updated"`],
    text: bulkText,
  },
};

function addBulkOptions(start: Command): void {
  start
    .option('--file <path>', 'merchants, one a line, each with a target of its own or none; - reads the input')
    .addOption(
      new Option('--stage <stage>', 'where to, for all that name no stage').choices(choicesOf('stage', 'stage')),
    )
    .option('--share <percent>', 'percent of the units, on canary', percent)
    .addOption(new Option('--kind <kind>', 'move this kind of work alone').choices(choicesOf('stage', 'kind')))
    .option('--override', 'as an approver, override missing evidence')
    .option('--follow', 'wait until it ends');
}

function bulkOf({ fields, options }: Given): Fields {
  const { file, stage, share, kind, override } = options;
  if ((file === undefined) === (fields.merchants === undefined && fields.where === undefined))
    throw new PuenteError('bad_request', 'Name merchants, --where, or a --file alone; see `puente bulk start --help`.');
  const whom = typeof file === 'string' && { items: bulkItems(readInput(file, 'name a file with a merchant a line')) };
  return { ...fields, target: { stage, share, kind, override }, ...whom };
}

function followed(given: Given, { id }: Pick<BulkView, 'id'>): Promise<BulkView> {
  const newsOf = ({ state, summary, detail }: BulkView): string | null =>
    state !== 'running' ? null : detail === summary ? summary : `${summary}; ${detail}`;
  return watched(given, 'moving', newsOf, () => callRow('GET /api/bulk/:id', { ...given, path: { id } }));
}

function bulkText({ id, state, summary, detail, per_day, items, next }: BulkView): string {
  const head = `bulk move ${id}: ${state}, ${summary}, at most ${per_day} a day`;
  const why = detail === summary ? '' : `\n${detail}`;
  const rows = table({ merchant: merchantCell, state: 'state', at: 'at', what: 'detail' }, items);
  return `${head}${why}\n${rows}${next === null ? '' : `\nThere are more: puente bulk show ${id} --skip ${next}`}`;
}

/** Of the moves, where they are followed; the command itself has done what it was for. */
function bulkExit({ state, summary_said: { facts } }: BulkView, { options }: Given): number {
  if (options.follow !== true) return exitCodes.done;
  return state === 'stopped' || state === 'aborted' || facts.refused !== 0 ? exitCodes.failed : exitCodes.done;
}

const brownouts: Columns<BrownoutView> = {
  'brown-out': 'id',
  from: 'from',
  until: 'until',
  state: 'state',
  merchants: ({ merchants, names }) => merchants.map((id) => withName(id, names[id] ?? null)).join('\n'),
  reason: 'reason',
};
const counted_brownouts: Columns<BrownoutLine> = {
  ...brownouts,
  'calls refused': ({ calls_refused: calls }) => calls ?? 'deleted by age',
  'units refused': ({ units_refused: units, has_more_units }) =>
    units === null ? 'deleted by age' : has_more_units ? `at least ${units}` : units,
};

export const brownoutFaces: Faces = {
  'brownout schedule': {
    notes: `
In the window new work and listings (devices, events) on legacy are refused with an error that tills know; reads, cancels
and refunds of existing sales go on, and so does everything on orders.
It lasts 24 hours at most, and \`puente brownout abort\` ends it at once.`,
    examples: [
      'puente brownout schedule 700100200 700100300 --from 2026-01-31T09:00:00Z --until 2026-01-31T10:00:00Z --reason "drill 1"',
    ],
    args: ['merchants'],
    text: (made) => `${table(brownouts, [made])}\nIt can be ended at once: puente brownout abort ${made.id} --reason …`,
  },
  'brownout list': {
    examples: ['puente brownout list --json'],
    text: listed('No brown-out matches.', counted_brownouts),
  },
  'brownout show': {
    examples: [`puente brownout show ${MOVE}`],
    text: ({ refused, left_out, ...window }) =>
      `${table(counted_brownouts, [window])}\n${listed<(typeof refused)[number]>('No unit was refused.', {
        merchant: ({ merchant, merchant_name }) => withName(merchant, merchant_name),
        unit: ({ unit }) => unit ?? 'none named',
        operation: 'operation',
        calls: 'calls',
        first: 'first_at',
        last: 'last_at',
      })(refused)}${left_out === 0 ? '' : `\n${counted(left_out, 'call')} not in a row of the list`}`,
  },
  'brownout abort': {
    examples: [`puente brownout abort ${MOVE} --reason "a shop called"`],
    text: ({ id, merchants, names }) =>
      `brown-out ${id} is aborted for ${merchants.map((one) => namedAs(one, names[one] ?? null)).join(', ')}`,
  },
};
