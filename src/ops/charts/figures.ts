/** What the charts of a period are made of, and its days as they are drawn and listed. */

/** Calls of a day. */
export interface CallDay extends Day {
  legacy: number;
  orders: number;
  /** Of those on orders. */
  faults: number;
}

/** Calls that took so long, whole ms, both ends among them. */
export interface Waits {
  from_ms: number;
  up_to_ms: number;
  legacy: number;
  orders: number;
}

/** A field that did not reach the order. */
export interface LostField {
  operation: string;
  path: string;
  count: number;
  /** On paper. */
  would_be_count: number;
}

/** Notices that were made on a day, as they stand now. */
export interface NoticeDay extends Day {
  made: number;
  delivered: number;
  pending: number;
  /** Of the pending. */
  stuck: number;
  dead: number;
}

/** Merchants by their verdict. */
export interface VerdictCounts extends Day {
  ready: number;
  inconclusive: number;
  blocked: number;
}

export interface Figures {
  days: readonly CallDay[];
  waits: readonly Waits[];
  losses: readonly LostField[];
  notice_days: readonly NoticeDay[];
  readiness_days: readonly VerdictCounts[];
}

/** Days of calls as they are drawn and listed. */
export function callSpans(days: readonly CallDay[]): CallDay[] {
  return spansOf(withoutGaps(days, { legacy: 0, orders: 0, faults: 0 }), (sum, { legacy, orders, faults }) => ({
    day: sum.day,
    legacy: sum.legacy + legacy,
    orders: sum.orders + orders,
    faults: sum.faults + faults,
  }));
}

/** Days of notices as they are drawn and listed. */
export function noticeSpans(days: readonly NoticeDay[]): NoticeDay[] {
  const empty = { made: 0, delivered: 0, pending: 0, stuck: 0, dead: 0 };
  return spansOf(withoutGaps(days, empty), (sum, { made, delivered, pending, stuck, dead }) => ({
    day: sum.day,
    made: sum.made + made,
    delivered: sum.delivered + delivered,
    pending: sum.pending + pending,
    stuck: sum.stuck + stuck,
    dead: sum.dead + dead,
  }));
}

/** Days of verdicts as they are drawn and listed: a merchant that was counted twice would be two. */
export function verdictSpans(days: readonly VerdictCounts[]): readonly VerdictCounts[] {
  return newest(withoutGaps(days, { ready: 0, inconclusive: 0, blocked: 0 }));
}

/** Milliseconds of a class: `8–15`. */
export function rangeOf({ from_ms, up_to_ms }: Waits): string {
  return `${from_ms}–${up_to_ms}`;
}

// Days as they are drawn and listed.

const DAY_MS = 86_400_000;
/** More bars than pixels could not be told apart; then days are put together. */
const MOST_BARS = 120;

/** Numbers of a UTC day, ISO 8601. */
export interface Day {
  day: string;
}

/** Those without anything, too, so that time keeps its measure. @param empty what such a day has. */
export function withoutGaps<Line extends Day>(days: readonly Line[], empty: Omit<Line, 'day'>): Line[] {
  return days.flatMap((one, nth) => {
    const before = Date.parse(days[nth - 1]?.day ?? one.day);
    const between: Line[] = [];
    for (let at = before + DAY_MS; at < Date.parse(one.day); at += DAY_MS)
      between.push({ ...empty, day: new Date(at).toISOString().slice(0, 10) } as Line); // an empty one with its day
    return [...between, one];
  });
}

/** Neighbours in one line where there are more days than bars: each by its first day, with the sums of its numbers. */
export function spansOf<Line extends Day>(days: readonly Line[], add: (sum: Line, day: Line) => Line): Line[] {
  const size = Math.ceil(days.length / MOST_BARS);
  const spans: Line[] = [];
  for (const [nth, day] of days.entries()) {
    const sum = nth % size === 0 ? undefined : spans.pop();
    spans.push(sum === undefined ? day : add(sum, day));
  }
  return spans;
}

/** The newest days of which each has a bar of its own. */
export function newest<Line extends Day>(days: readonly Line[]): readonly Line[] {
  return days.slice(-MOST_BARS);
}
