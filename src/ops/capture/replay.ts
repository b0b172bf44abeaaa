/** Replays captured calls: compares what today's tables would do with what was done when the calls came. */
import type { Exchange, ShadowFinding } from '../../proxy/evidence/exchange.ts';
import type { CapturedMessages } from '../../proxy/evidence/redact.ts';
import { hasShadow, isSameFinding, kindOf, shadowInput, shadowOf, wordsOf } from '../../proxy/shadow/shadow.ts';
import { type Change, type ChangeGroup, changeOf, changesIn, createChangeGroups, lossChanges } from './changes.ts';
import type { CaptureMerchant } from './format.ts';
import { type Again, type ExchangeTools, matcherOf, type ReplayTools, requestOf, taskOf } from './operation-of.ts';
import { type CallEntry, type Entry, isCall, nothingBeside } from './read.ts';
import { answerChanges, requestChanges } from './replay-call.ts';

/** `lines` is the sum of the three after it. */
interface ReplaySums {
  lines: number;
  /** Translated again and compared. */
  replayed: number;
  left_out: number;
  unreadable: number;
  /** Replayed calls with a change. */
  changed: number;
}

export interface Replay {
  /** `inconclusive`: no change was found, but too little was replayed to rule one out. */
  verdict: 'same' | 'changed' | 'inconclusive';
  /** Reasons for `inconclusive`, each one sentence; `changed` may have them too. */
  doubts: string[];
  sums: ReplaySums;
  /** Reasons why calls were left out. */
  not_replayed: { why: string; count: number }[];
  /** Parts of replayed calls that could not be compared. */
  not_compared: { why: string; count: number }[];
  unreadable: { line: number; why: string }[];
  remarks: string[];
  tables_revision: string;
  /** Revisions of the tables that answered the calls. */
  revisions_then: string[];
  changes: ChangeGroup[];
}

/** Reads the entries once, in bounded memory; the result is reproducible. @throws PuenteError of `readCapture`. */
export async function replayOf(entries: AsyncIterable<Entry>, tools: ReplayTools): Promise<Replay> {
  const work = begin(tools);
  for await (const entry of entries) take(work, entry);
  const { sums, left_out, not_compared, revisions, groups } = work;
  const { unreadable, remarks } = work.beside;
  const changes = groups.all();
  const doubts = doubtsOf(sums, remarks);
  return {
    verdict: changes.length > 0 ? 'changed' : doubts.length > 0 ? 'inconclusive' : 'same',
    doubts,
    sums,
    not_replayed: counted(left_out),
    not_compared: counted(not_compared),
    unreadable,
    remarks,
    tables_revision: tools.tables.revision,
    revisions_then: [...revisions].sort(),
    changes,
  };
}

/** Any doubt rules out `same`. @param remarks of the reader, all about a file that was cut off. */
function doubtsOf({ lines, replayed, left_out, unreadable }: ReplaySums, remarks: readonly string[]): string[] {
  return [
    ...(replayed === 0 ? ['no line was replayed'] : []),
    ...(replayed > 0 && left_out > replayed
      ? [`more lines were left out (${left_out}) than replayed (${replayed})`]
      : []),
    ...(unreadable > 0 ? [`lines that could not be read: ${unreadable} of ${lines}`] : []),
    ...(remarks.length > 0 ? ['the file is not whole'] : []),
  ].map((doubt) => `${doubt}.`);
}

type Work = ReturnType<typeof begin>;

function begin(tools: ReplayTools) {
  return {
    tools,
    match: matcherOf(tools.tables.operations),
    beside: nothingBeside(),
    sums: { lines: 0, replayed: 0, left_out: 0, unreadable: 0, changed: 0 },
    left_out: new Map<string, number>(),
    not_compared: new Map<string, number>(),
    revisions: new Set<string>(),
    groups: createChangeGroups(),
  };
}

function take(work: Work, entry: Entry): void {
  if (!isCall(work, entry)) return;
  const found = again(work, entry);
  if (found.kind === 'left_out') {
    work.sums.left_out++;
    add(work.left_out, found.why);
    return;
  }
  work.sums.replayed++;
  for (const why of found.not_compared) add(work.not_compared, why);
  if (found.changes.length > 0) work.sums.changed++;
  work.groups.add(found.exchange, found.changes);
}

function again(work: Work, entry: CallEntry): Replayed {
  if (entry.kind === 'call')
    return leftOut('not from a capture of Puente, so the earlier result is unknown (use puente assess)');
  const { exchange } = entry;
  work.revisions.add(exchange.tables_revision);
  if (exchange.operation === null) return leftOut('of no operation: proxied untouched');
  if (exchange.messages === null) return leftOut('its messages were not kept (puente capture on)');
  const merchant = work.beside.merchants.get(exchange.merchant_id ?? '') ?? null;
  const tables = work.tools.tables.of(exchange.merchant_id);
  return replayExchange({ ...work.tools, tables, match: work.match }, exchange, exchange.messages, merchant);
}

function add(counts: Map<string, number>, why: string): void {
  counts.set(why, (counts.get(why) ?? 0) + 1);
}

function counted(counts: ReadonlyMap<string, number>): { why: string; count: number }[] {
  return [...counts]
    .map(([why, count]) => ({ why, count }))
    .sort((one, other) => other.count - one.count || (one.why < other.why ? -1 : 1));
}

type Replayed =
  | { kind: 'replayed'; exchange: Exchange; changes: Change[]; not_compared: string[] }
  | { kind: 'left_out'; why: string };

/** @param merchant from the capture's header; null when it is not there. */
function replayExchange(
  tools: ExchangeTools,
  exchange: Exchange,
  messages: CapturedMessages,
  merchant: CaptureMerchant | null,
): Replayed {
  const parts = requestOf(tools.match, messages.request);
  const name = parts?.operation.name ?? 'none';
  if (name !== exchange.operation || parts === null)
    return replayed(exchange, changeOf('operation', exchange.operation ?? 'none', name));
  const request = { ...parts.request, body: bodyOf(parts.operation.body, parts.request.body) };
  // The site may have become known after the call, so a match without the site counts as well.
  const attempts = [...new Set([merchant?.site ?? null, null])].map((site) => {
    const task = taskOf(exchange, request, site, merchant?.voucher ?? 'refuse');
    const again = { tools, exchange, messages, task, input: shadowInput(tools.tables, task) };
    return exchange.lane === 'legacy' ? onLegacy(again) : onOrders(again);
  });
  const same = attempts.find((one) => one.kind === 'replayed' && one.changes.length === 0);
  return same ?? attempts[0] ?? replayed(exchange, []);
}

function replayed(exchange: Exchange, changes: Change[], not_compared: string[] = []): Replayed {
  return { kind: 'replayed', exchange, changes, not_compared };
}

function leftOut(why: string): Replayed {
  return { kind: 'left_out', why };
}

/** Repeats the shadow of a proxied call; without one there is nothing to replay. */
function onLegacy({ tools, exchange, task }: Again): Replayed {
  if (exchange.shadow === null || !hasShadow(tools.tables, task))
    return leftOut('proxied to legacy, and not translated on paper');
  const now = shadowOf(tools, task);
  const is_same = isSameFinding(tools.tables, task, exchange.shadow, now);
  return replayed(exchange, shadowChanges(exchange.shadow, now, is_same));
}

function shadowChanges(then: ShadowFinding, now: ShadowFinding, is_same: boolean): Change[] {
  return [
    ...(is_same ? [] : changeOf('verdict', wordsOf(then), wordsOf(now), `${kindOf(then)}, ${kindOf(now)}`)),
    ...(then.order === null || now.order === null ? [] : changesIn('upstream', then.order, now.order)),
    ...lossChanges(then.losses, now.losses),
  ];
}

function onOrders(again: Again): Replayed {
  const { input, task } = again;
  if (input.operation.body === 'json' && !isObject(task.request.body))
    return leftOut('refused at the door, before any table: its body is no JSON object');
  const request = input.operation.request === null ? [] : requestChanges(again);
  const { changes, not_compared } = answerChanges(again);
  return replayed(again.exchange, [...request, ...changes], not_compared);
}

function isObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** The body as the public door passes it on. */
function bodyOf(body: 'json' | 'optional' | 'dropped', sent: unknown): unknown {
  if (body === 'dropped') return undefined;
  return body === 'optional' && (sent === undefined || sent === '') ? {} : sent;
}
