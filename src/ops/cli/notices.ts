/** `puente notices`: the delivery log of a running Puente, and replays. */
import { type Command, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import { noticeTopics } from '../../mapping/schema.ts';
import { type AttemptView, type NoticeView, noticeStates } from '../notices.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, print, tableOf, wholeNumber } from './output.ts';

interface WindowOptions extends Output {
  merchant?: string;
  topic?: string;
  since?: string;
  until?: string;
}

interface ListOptions extends WindowOptions {
  state?: string;
  limit?: number;
}

interface ReplayOptions extends WindowOptions {
  reason: string;
  state?: string[];
  dryRun?: boolean;
  expected?: number;
}

type NoticeDetails = NoticeView & { tries: AttemptView[] };

export function addNoticeCommands(program: Command): void {
  const notices = program.command('notices').description('the delivery log of a running Puente, and replays');
  windowed(notices.command('list').description('notices, newest first'))
    .addOption(new Option('--state <state>', 'only these').choices(noticeStates))
    .option('--limit <number>', 'at most so many (default 50)', wholeNumber)
    .addHelpText('after', '\nExample:\n  puente notices list --merchant 700100200 --state pending')
    .action(list);
  common(notices.command('show <notice>').description('one notice with all its attempts'))
    .addHelpText('after', '\nExample:\n  puente notices show 3f0e6a52-9f0b-4c3e-8a51-0d5f1f0c9a77')
    .action(show);
  windowed(
    notices
      .command('replay')
      .argument('[notice]', 'one notice; without it all of a window')
      .description('tell a notice again now, or all of a window that --since and --until name'),
  )
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .addOption(
      new Option('--state <state...>', 'of a window only these (default: pending and dead)').choices(noticeStates),
    )
    .option('--dry-run', 'of a window only say how many')
    .option(
      '--expected <number>',
      'of a window what the dry run said: refused when there are not as many by now',
      wholeNumber,
    )
    .addHelpText(
      'after',
      `
Examples:
  puente notices replay 3f0e6a52-9f0b-4c3e-8a51-0d5f1f0c9a77 --reason 'the shop lost it'
  puente notices replay --since 2026-01-31T09:00:00Z --until 2026-01-31T10:00:00Z --reason 'outage' --dry-run`,
    )
    .action(replay);
}

function windowed(command: Command): Command {
  return common(command)
    .option('--merchant <id>', 'of this merchant')
    .addOption(new Option('--topic <topic>', 'of this topic').choices(noticeTopics))
    .option('--since <instant>', 'made then or later, such as 2026-01-31T09:00:00Z')
    .option('--until <instant>', 'made before then');
}

async function list(options: ListOptions): Promise<void> {
  const { merchant, state, topic, since, until, limit } = options;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ merchant, state, topic, since, until, limit })) {
    if (value !== undefined) query.set(name, String(value));
  }
  const answer = await callOps(options, 'GET', `/api/notices?${query}`);
  const { notices } = answer as { notices: NoticeView[] }; // the API's own shape
  print(options, notices, notices.length === 0 ? 'No notice is like that.' : listed(notices));
}

async function show(id: string, options: Output): Promise<void> {
  const notice = (await callOps(options, 'GET', `/api/notices/${encodeURIComponent(id)}`)) as NoticeDetails; // the API's own shape
  print(options, notice, details(notice));
}

async function replay(id: string | undefined, options: ReplayOptions): Promise<void> {
  if (id === undefined) return replayWindow(options);
  const named = ['merchant', 'topic', 'since', 'until', 'state', 'dryRun', 'expected'].filter(
    (name) => name in options,
  );
  if (named.length > 0)
    throw new PuenteError('bad_request', 'Name either one notice, or a window with --since and --until; not both.');
  const path = `/api/notices/${encodeURIComponent(id)}/replay`;
  const notice = (await callOps(options, 'POST', path, { reason: options.reason })) as NoticeView; // the API's own shape
  print(options, notice, `notice ${notice.id} is ${notice.state}, due ${notice.next_attempt_at ?? 'never'}`);
}

async function replayWindow(options: ReplayOptions): Promise<void> {
  const { merchant, topic, since, until, state: states, reason, dryRun: dry_run, expected } = options;
  if (since === undefined || until === undefined)
    throw new PuenteError('bad_request', 'Name one notice, or a window with --since and --until.');
  const body = { merchant, topic, since, until, states, reason, dry_run, expected };
  const answer = await callOps(options, 'POST', '/api/notices/replay', body);
  const told = answer as { notices: number; dry_run: boolean; delivered_left_out: number }; // the API's own shape
  const line = `notices ${told.dry_run ? 'that would be replayed' : 'due now'}: ${told.notices}`;
  const left = told.delivered_left_out;
  print(options, told, left === 0 ? line : `${line}; ${left} delivered left out, --state delivered takes them in`);
}

function listed(notices: NoticeView[]): string {
  return tableOf(
    ['notice', 'merchant', 'made', 'topic', 'about', 'state', 'attempts', 'last'],
    notices.map((notice) => [
      notice.id,
      notice.merchant,
      notice.created_at,
      `${notice.topic}${notice.form === 'webhook' ? ' (webhook)' : ''}`,
      notice.subject,
      notice.state,
      notice.attempts,
      notice.last_attempt === null ? 'none' : shortly(notice.last_attempt),
    ]),
  );
}

function details({ tries, last_attempt: _last, ...notice }: NoticeDetails): string {
  const facts = Object.entries(notice).map(([name, value]) => [name, String(value ?? 'none')]);
  const attempts = tries.map(({ at, duration_ms, outcome, status, url, detail }) => [
    at,
    duration_ms,
    outcome,
    status ?? 'none',
    url ?? 'none',
    detail,
  ]);
  const head = ['at', 'ms', 'outcome', 'status', 'url', 'detail'];
  return `${tableOf(['fact', 'value'], facts)}\n${tries.length === 0 ? 'No attempt yet.' : tableOf(head, attempts)}`;
}

function shortly({ outcome, status }: AttemptView): string {
  return status === null ? outcome : `${outcome} ${status}`;
}
