/** Commands with streamed answers: reports and captures as files; backups and reconciliation with progress. */
import type { Command } from 'commander';
import { PuenteError } from '../../error.ts';
import { bytesText, wordsOf } from '../../locales/words.ts';
import type { BackupManifest } from '../../proxy/records/upkeep.ts';
import type { MismatchView, ReconcileNews, Unread } from '../reconcile/reconcile.ts';
import type { ReportDiff } from '../report/diff.ts';
import type { BackupProgress } from '../upkeep/chores.ts';
import { withManual } from './help.ts';
import { captureSwitch } from './merchants.ts';
import { linesOfOps, streamOps } from './ops-client.ts';
import {
  counted,
  exitCodes,
  listed,
  merchantCell,
  namedAs,
  type Output,
  print,
  readInput,
  save,
  startProgress,
  table,
} from './output.ts';
import { type AnyFaces, callRow, type Faces, type Given, requestOf } from './rows.ts';
import { warnOfBrokenChain } from './sales.ts';

function addOutput(command: Command): void {
  command.option('--output <file>', 'write to a file instead of standard output');
}

/** Writes the answer to the file of `--output`, or to standard output. */
async function saveAnswer(
  given: Given,
  label: string,
  written: string,
  onPart: (part: string) => void = () => undefined,
): Promise<void> {
  const { options } = given;
  const file = typeof options.output === 'string' ? options.output : null;
  const progress = startProgress(options, label);
  const started_at = Date.now();
  // The API sends nothing until its sums are ready; from the first part on, `save` reports the size.
  const waiting = setInterval(() => progress.tell(`${Math.round((Date.now() - started_at) / 1000)} s`), 1_000);
  try {
    const parts = streamOps(options, requestOf(given));
    await save(
      shownTo(parts, (part) => {
        clearInterval(waiting);
        onPart(part);
      }),
      file,
      progress,
    );
  } finally {
    clearInterval(waiting);
  }
  if (file !== null) process.stderr.write(`${written.replace('FILE', file)}\n`);
}

async function* shownTo(parts: AsyncIterable<string>, onPart: (part: string) => void): AsyncGenerator<string> {
  for await (const part of parts) {
    onPart(part);
    yield part;
  }
}

/** Reads progress as JSON lines. @throws PuenteError unreachable when the answer ends without a result. */
async function newsOf<News, Result>(
  given: Given,
  label: string,
  /** @returns progress as text, or the result. */
  take: (news: News) => string | { result: Result },
): Promise<Result> {
  const progress = startProgress(given.options, label);
  try {
    for await (const line of linesOfOps(given.options, requestOf(given))) {
      const taken = take(line as News); // the API's own shape
      if (typeof taken !== 'string') return taken.result;
      progress.tell(taken);
    }
  } finally {
    progress.end();
  }
  throw new PuenteError('unreachable', `The ${label} ended before it was complete; the log of Puente says why.`);
}

const KEEP_LATER = 'puente capture on <merchant> --reason … keeps later ones.';

export const captureFaces: AnyFaces & Faces = {
  'capture on': captureSwitch(true),
  'capture off': captureSwitch(false),
  'capture show': {
    examples: ['puente capture show 0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10'],
    text({ at, operation, lane, status, error, duration_ms, messages }) {
      const head = `${at} ${operation ?? 'unknown endpoint'} on ${lane}: ${status}${error === null ? '' : ` ${error}`} after ${Number(duration_ms.toFixed(1))} ms`;
      return `${head}\n${messages === null ? `Its messages were not kept: ${KEEP_LATER}` : JSON.stringify(messages, null, 2)}`;
    },
  },
  'capture list': {
    notes: 'puente capture show <id> has the messages of one; the page Explain of the console explains them.',
    examples: ['puente capture list --merchant 700100200'],
    text: listed(`No call was captured: ${KEEP_LATER}`, {
      at: 'at',
      merchant: merchantCell,
      operation: 'operation',
      lane: 'lane',
      status: 'status',
      id: 'id',
    }),
  },
  'capture export': {
    about: 'exchanges as a file of JSON lines, for assess and replay',
    notes: `
Tokens, secrets, card numbers and fields about people (such as payers) are taken out when a call is captured.
References and texts that a till gave its sales stay, because replay needs them, and may name people.
The last line says how many exchanges there are: a file without it was cut.`,
    examples: [
      'puente capture export --merchant 700100200 --since 2026-01-01T00:00:00Z --output january.jsonl',
      'puente replay january.jsonl --against tables',
    ],
    more: addOutput,
    async ask(given) {
      let head = '';
      await saveAnswer(given, 'exporting', 'The capture is in FILE.', (part) => {
        if (!head.includes('\n')) head += part;
      });
      const { merchant } = given.fields;
      if (typeof merchant === 'string') process.stderr.write(await whoseCalls(given, merchant, head));
      return undefined;
    },
  },
};

/** Merchants of a capture that are named. */
const MOST_NAMED = 20;

/** Whom a capture was made of, by its first line: the file may be sent away, and a text may be in the name of others. */
async function whoseCalls(given: Given, typed: string, head: string): Promise<string> {
  const [first = ''] = head.split('\n', 1);
  const { merchants: taken = {} } = JSON.parse(first) as { merchants?: object }; // Puente's own
  const { merchants } = await callRow('GET /api/merchants', given, { search: typed });
  const names = merchants.filter(({ id }) => Object.hasOwn(taken, id)).map(({ id, name }) => namedAs(id, name));
  if (names.length === 0) return '';
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return `It has calls of ${names.slice(0, MOST_NAMED).join(', ')}${more} alone.\n`;
}

export const reportFaces: Faces = {
  report: {
    about:
      'what happened in a period: sums of sales and refunds, unmatched sales, findings, the verdict and its certificate, notices, traffic, losses, decisions',
    notes: 'The audit chain is checked with every report.',
    examples: [
      'puente report 700100200 --format html --output report.html',
      'puente report 700100200 --format html --language es --output informe.html',
      'puente report 700100200 --format csv',
      'puente report --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z --format csv --part losses',
      'puente report diff before.json after.json',
    ],
    exits: {
      done: 'complete, and the chain of decisions is intact',
      broken_chain: 'the decisions in the report are not proven',
    },
    args: ['merchant'],
    more: addOutput,
    async ask(given) {
      await saveAnswer(given, 'report', 'FILE is written.');
      await warnOfBrokenChain(given.options);
      return undefined;
    },
  },
  'report compare': {
    examples: ['puente report compare 700100200 --since 2026-01-08T00:00:00Z --until 2026-01-15T00:00:00Z'],
    args: ['merchant'],
    is_long: true,
    text: diffText,
  },
};

/** `puente report diff` compares two files; it needs no running Puente. */
export function addReportDiff(program: Command): void {
  const diff = program.commands
    .find((one) => one.name() === 'report')
    ?.command('diff <before> <after>')
    .description('what changed between two reports made with --format json');
  if (diff === undefined) throw new TypeError('there is no command report');
  withManual(diff, {
    notes:
      'Of what was decided it has what the later report lists: with time between the two periods, puente report compare lists that time, too.',
    examples: ['puente report diff last-week.json this-week.json'],
  });
  diff.action(async (before: string, after: string, _options: unknown, command: Command) => {
    const { diffReports, readReport } = await import('../report/diff.ts');
    const options = command.optsWithGlobals<Output>();
    const read = (file: string) =>
      readReport(readInput(file, 'give the path of a report made with --format json'), file);
    const found = diffReports(read(before), read(after));
    print(options, found, diffText(found));
  });
}

function diffText({ a, b, verdict, tables_revision: tables, changes, ...between }: ReportDiff): string {
  const { t } = wordsOf('en');
  const shown = listed<ReportDiff['changes'][number]>('Nothing changed.', {
    part: 'part',
    line: 'line',
    before: ({ before }) => before ?? 'none',
    after: ({ after }) => after ?? 'none',
  });
  const lines_between = [...between.decisions, ...between.incidents].map(
    // Reports of older builds have no change in words.
    ({ at, who, action, subject, change, reason }) =>
      `  ${at} ${who}: ${action} of ${subject}${change ? `, ${change}` : ''}, because: ${reason}`,
  );
  return [
    ...Object.entries({ before: a, after: b }).map(
      ([name, { period, deleted_before: at, lost_between: lost }]) =>
        `${name}: ${period.since} to ${period.until}${at ? `; ${t('report.deleted', { at })}` : ''}${lost ? `; ${t('report.lost', lost)}` : ''}`,
    ),
    ...Object.entries({ tables, verdict })
      .filter(([, { before, after }]) => before !== null || after !== null)
      .map(
        ([name, { before, after }]) =>
          `${name}: ${before ?? 'none'}${before === after ? ', the same' : ` → ${after ?? 'none'}`}`,
      ),
    shown(changes),
    ...(lines_between.length === 0 ? [] : ['Decisions and incidents in between:', ...lines_between]),
    ...(between.left_out === 0 ? [] : [`  ${t('report.cut', { count: between.left_out })}`]),
  ].join('\n');
}

type Done = Extract<ReconcileNews, { news: 'done' }>;

interface Reconciled {
  done: Done;
  mismatches: (MismatchView & { repaired: boolean })[];
  unread: Unread[];
}

export const reconcileFaces: Faces = {
  reconcile: {
    about: 'compare open and recent links with upstream; repair with --apply',
    notes: `
Legacy is asked about one sale a second, by all repairs together. A second repair of the same merchant, or of all, is
refused at the process of the first while that is under way, with who began it and when. A repair ends when whoever reads its
progress has gone, such as a command that is stopped or a page that is closed.`,
    examples: [
      'puente reconcile --merchant 700100200',
      'puente reconcile --since 2026-01-31T00:00:00Z --apply --reason "after the outage"',
    ],
    exits: {
      done: 'nothing differs any more',
      blocked: 'something is left that differs',
      inconclusive: 'not everything could be compared, or asked about on legacy',
    },
    ask(given) {
      const mismatches: Reconciled['mismatches'] = [];
      const unread: Unread[] = [];
      return newsOf<ReconcileNews, Reconciled>(given, 'reconciliation', (news) => {
        if (news.news === 'done') return { result: { done: news, mismatches, unread } };
        if (news.news === 'progress')
          return `${news.checked} checked, ${news.mismatches} differ${news.asked_on_legacy === 0 ? '' : `, ${counted(news.asked_on_legacy, 'sale')} asked about on legacy`}`;
        if (news.news === 'mismatch') mismatches.push({ ...news.mismatch, repaired: news.repaired });
        else unread.push(news);
        return `${mismatches.length} differ`;
      });
    },
    text: reconciledText,
    // What could not be read may differ.
    exit({ done, mismatches }: Reconciled) {
      if (mismatches.some(({ repaired }) => !repaired)) return exitCodes.blocked;
      return done.unreadable > 0 || done.left_out || done.not_asked > 0 ? exitCodes.inconclusive : exitCodes.done;
    },
  },
};

/** Lines in text output; `--json` has all. */
const MOST_UNREAD = 20;

function reconciledText(
  { done, mismatches, unread }: Reconciled,
  { fields: { apply, merchant, since } }: Given,
): string {
  const counts = `${done.checked} checked, ${done.mismatches} ${done.mismatches === 1 ? 'differs' : 'differ'}, ${done.repaired} repaired, ${done.unreadable} could not be read`;
  const more = unread.length > MOST_UNREAD ? `\n  and ${unread.length - MOST_UNREAD} more; --json names them` : '';
  const names = unread
    .slice(0, MOST_UNREAD)
    .map((one) => `\n  ${namedAs(one.merchant_id, one.merchant_name)} ${one.legacy_id ?? one.order_id}`);
  const sums =
    unread.length === 0
      ? `${counts}.`
      : `${counts}: no token of the merchant is known, or upstream did not answer (puente doctor tells which):${names.join('')}${more}`;
  const cut = done.left_out
    ? '\nA merchant has more open sales than one run compares: run it again when some have ended.'
    : '';
  const same = Object.entries({ merchant, since }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${value}`],
  );
  const command = ['puente reconcile', ...same, '--apply --reason …'].join(' ');
  const legacy = onLegacy(done, apply === true ? null : command);
  if (mismatches.length === 0) return sums + cut + legacy;
  const shown = table(
    {
      kind: 'kind',
      merchant: merchantCell,
      unit: 'unit',
      'legacy id': 'legacy_id',
      order: 'order_id',
      what: 'what',
      repair: ({ repaired, repair }) => (repaired ? 'done' : repair),
    },
    mismatches,
  );
  const open = mismatches.filter(({ repaired, repair }) => !repaired && repair !== 'none').length;
  return `${shown}\n${sums}${cut}${legacy}${apply === true || open === 0 ? '' : `\nRepair ${open} of them: ${command}`}`;
}

/** @param command that asks legacy; null when it was asked. */
function onLegacy({ open_on_legacy: open, ended_on_legacy: ended, not_asked }: Done, command: string | null): string {
  const were = (count: number): string => (count === 1 ? 'was' : 'were');
  const done = ended === 0 ? '' : `\n${counted(ended, 'sale')} on legacy ${were(ended)} ended, as legacy shows.`;
  if (open === 0) return done;
  const known = `\n${counted(open, 'sale')} on legacy ${open === 1 ? 'is' : 'are'} not known to have ended`;
  if (command !== null) return `${known}. Ask legacy: ${command}`;
  const left =
    not_asked === 0
      ? 'legacy shows no final state'
      : `${not_asked} ${were(not_asked)} not asked about (no usable token of the merchant, no answer, or too many for one run)`;
  return `${done}${known}: ${left}.`;
}

export const backupFaces: Faces = {
  backup: {
    about: 'make a backup of a running Puente, and prove it',
    examples: ['puente backup --reason "before the upgrade"'],
    ask: (given) =>
      newsOf<BackupProgress, BackupManifest>(given, 'backup', (news) =>
        news.news === 'done'
          ? { result: news.backup }
          : `${news.step}, ${bytesText(news.bytes)} of about ${bytesText(news.of_bytes)}`,
      ),
    text: ({ file, bytes, sha256, heads }) =>
      `${file} is made and proved: ${bytesText(bytes)}; links: ${heads.links}, audit lines: ${heads.audit_sequence}.\nSHA-256 ${sha256}`,
  },
  'backups list': {
    examples: ['puente backups list'],
    text: listed('There is no backup yet: make one with `puente backup`, or on PostgreSQL with its own tools.', {
      file: 'file',
      'made at': 'made_at',
      size: ({ bytes }) => bytesText(bytes),
      schema: 'schema',
      links: ({ heads }) => heads.links,
      'audit lines': ({ heads }) => heads.audit_sequence,
    }),
  },
};
