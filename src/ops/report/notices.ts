/** Notices of a period, by topic and by day: sent, retried, stuck. */

import { noticeTopics } from '../../mapping/schema.ts';
import type { NoticeSum } from '../../proxy/records/notices.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import type { NoticeDay } from '../charts/figures.ts';
import type { ReportAsk } from './gather.ts';
import type { NoticeLine } from './report.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The store counts a slice of an hour in a few ms; only a period of more than two years has longer ones. */
const MOST_SLICES = 20_000;
/** No Puente has run before. */
const FIRST_INSTANT = Date.UTC(2026, 0, 1);
/** Legacy tried again after 15 minutes: what still waits then, or was refused before, is stuck. */
const STUCK_AFTER_MS = 15 * 60_000;

/** Notices delivered, by form. */
export type NoticeTotals = Record<NoticeSum['form'], number>;

/** Topics with a notice, in the order of the topics; days on which one was made; and how many of each form were delivered. */
export async function noticeLines(
  runtime: Runtime,
  ask: ReportAsk,
  signal: AbortSignal | null,
): Promise<{ lines: NoticeLine[]; days: NoticeDay[]; totals: NoticeTotals }> {
  const { since, until, merchant_id } = ask;
  const fresh_since = runtime.clock.now() - STUCK_AFTER_MS;
  const lines = new Map(noticeTopics.map((topic) => [topic, emptyLine(topic)]));
  const days = new Map<string, NoticeDay>();
  const totals: NoticeTotals = { point: 0, ipn: 0, webhook: 0 };
  const last = Math.min(until, runtime.clock.now() + HOUR_MS);
  for (const [from, to] of slices(Math.max(since, FIRST_INSTANT), last, fresh_since)) {
    signal?.throwIfAborted();
    const period = { since: from, until: to, ...(merchant_id === null ? {} : { merchant_id }) };
    for (const sum of await runtime.store.sumNotices(period)) {
      add(lines.get(sum.topic), sum, from >= fresh_since);
      addToDay(days, from, sum, from >= fresh_since);
      if (sum.state === 'delivered') totals[sum.form] += sum.count;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { lines: [...lines.values()].filter(({ made }) => made > 0), days: [...days.values()], totals };
}

function add(line: NoticeLine | undefined, { state, attempts, count }: NoticeSum, is_fresh: boolean): void {
  if (line === undefined) return;
  line.made += count;
  line[state] += count;
  if (attempts === 2) line.retried += count;
  if (isStuck({ state, attempts }, is_fresh)) line.stuck += count;
}

function addToDay(days: Map<string, NoticeDay>, at: number, sum: NoticeSum, is_fresh: boolean): void {
  const day = new Date(at).toISOString().slice(0, 10);
  const line = days.get(day) ?? { day, made: 0, delivered: 0, pending: 0, stuck: 0, dead: 0 };
  line.made += sum.count;
  line[sum.state] += sum.count;
  if (isStuck(sum, is_fresh)) line.stuck += sum.count;
  days.set(day, line);
}

function isStuck({ state, attempts }: Pick<NoticeSum, 'state' | 'attempts'>, is_fresh: boolean): boolean {
  return state === 'pending' && (attempts > 0 || !is_fresh);
}

/** [from, to) one after the other; none of them has both fresh notices and older ones, nor a part of two UTC days. */
function* slices(since: number, until: number, fresh_since: number): Generator<[number, number]> {
  const size = Math.max(HOUR_MS, (until - since) / MOST_SLICES);
  for (let from = since; from < until; ) {
    const next = Math.min(until, from + size, (Math.floor(from / DAY_MS) + 1) * DAY_MS);
    const to = from < fresh_since && fresh_since < next ? fresh_since : next;
    yield [from, to];
    from = to;
  }
}

function emptyLine(topic: string): NoticeLine {
  return { topic, made: 0, delivered: 0, retried: 0, pending: 0, stuck: 0, dead: 0 };
}
