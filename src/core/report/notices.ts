/** Notices of a period, by topic: sent, retried, stuck. */
import { noticeTopics } from '../../mapping/schema.ts';
import type { Runtime } from '../runtime.ts';
import type { NoticeSum } from '../store.ts';
import type { ReportAsk } from './gather.ts';
import type { NoticeLine } from './report.ts';

const HOUR_MS = 3_600_000;
/** The store counts a slice of an hour in a few ms; only a period of more than two years has longer ones. */
const MOST_SLICES = 20_000;
/** No Puente has run before. */
const FIRST_INSTANT = Date.UTC(2026, 0, 1);
/** Legacy tried again after 15 minutes: what still waits then, or was refused before, is stuck. */
const STUCK_AFTER_MS = 15 * 60_000;

/** Notices delivered, by form. */
export type NoticeTotals = Record<NoticeSum['form'], number>;

/** Topics with a notice, in the order of the topics; and how many of each form were delivered. */
export async function noticeLines(
  runtime: Runtime,
  ask: ReportAsk,
  signal: AbortSignal | null,
): Promise<{ lines: NoticeLine[]; totals: NoticeTotals }> {
  const { since, until, merchant_id } = ask;
  const fresh_since = runtime.clock.now() - STUCK_AFTER_MS;
  const lines = new Map(noticeTopics.map((topic) => [topic, emptyLine(topic)]));
  const totals: NoticeTotals = { point: 0, ipn: 0, webhook: 0 };
  const last = Math.min(until, runtime.clock.now() + HOUR_MS);
  for (const [from, to] of slices(Math.max(since, FIRST_INSTANT), last, fresh_since)) {
    signal?.throwIfAborted();
    const period = { since: from, until: to, ...(merchant_id === null ? {} : { merchant_id }) };
    for (const sum of await runtime.store.sumNotices(period)) {
      add(lines.get(sum.topic), sum, from >= fresh_since);
      if (sum.state === 'delivered') totals[sum.form] += sum.count;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { lines: [...lines.values()].filter(({ made }) => made > 0), totals };
}

function add(line: NoticeLine | undefined, { state, attempts, count }: NoticeSum, is_fresh: boolean): void {
  if (line === undefined) return;
  line.made += count;
  line[state] += count;
  if (attempts === 2) line.retried += count;
  if (state === 'pending' && (attempts > 0 || !is_fresh)) line.stuck += count;
}

/** [from, to) one after the other; none of them has both fresh notices and older ones. */
function* slices(since: number, until: number, fresh_since: number): Generator<[number, number]> {
  const size = Math.max(HOUR_MS, (until - since) / MOST_SLICES);
  for (let from = since; from < until; ) {
    const next = Math.min(until, from + size);
    const to = from < fresh_since && fresh_since < next ? fresh_since : next;
    yield [from, to];
    from = to;
  }
}

function emptyLine(topic: string): NoticeLine {
  return { topic, made: 0, delivered: 0, retried: 0, pending: 0, stuck: 0, dead: 0 };
}
