/** The charts of a report, in its words; the table beside each says the same in numbers. */
import { groupedColumns, stackedColumns } from '../../chart/columns.ts';
import type { ChartData } from '../../chart/draw.ts';
import { stackedRows } from '../../chart/rows.ts';
import type { DayLine, LossLine, NoticeLine, Report, WaitLine } from './report.ts';
import { type Html, raw } from './tags.ts';
import { type VerdictDay, verdictDays } from './verdict-days.ts';

/** More bars than pixels could not be told apart; then days are put together. */
const MOST_BARS = 120;
const DAY_MS = 86_400_000;
/** Fields that a chart shows; the table has them all. */
const MOST_FIELDS = 15;

type Words = Pick<ChartData, 'title' | 'summary' | 'unit'>;
const inEnglish = { none: 'Nothing to show in this period.', number: String };

/** Drawn before the page is put together, because the plotting library is loaded only when it is needed. */
export interface ReportCharts {
  traffic: Html;
  waits: Html;
  losses: Html;
  notices: Html;
  readiness: Html;
}

export async function chartsOf(report: Report): Promise<ReportCharts> {
  const { days, waits, losses, notices } = report;
  return {
    traffic: raw(await trafficChart(spansOf(days))),
    waits: raw(await waitChart(waits)),
    losses: raw(await lossChart(losses)),
    notices: raw(await noticeChart(notices)),
    readiness: raw(await readinessChart(verdictDays(report))),
  };
}

/** Days as they are drawn and listed: those without a call, too, and neighbours in one line where there are more days than bars. */
export function spansOf(seen: readonly DayLine[]): DayLine[] {
  const days = withoutGaps(seen);
  const size = Math.ceil(days.length / MOST_BARS);
  const spans: DayLine[] = [];
  for (let index = 0; index < days.length; index += size) {
    const part = days.slice(index, index + size);
    const sum = (value: (day: DayLine) => number): number => part.reduce((total, day) => total + value(day), 0);
    spans.push({
      day: part[0]?.day ?? '',
      legacy: sum(({ legacy }) => legacy),
      orders: sum(({ orders }) => orders),
      faults: sum(({ faults }) => faults),
    });
  }
  return spans;
}

function withoutGaps(days: readonly DayLine[]): DayLine[] {
  return days.flatMap((one, nth) => {
    const before = Date.parse(days[nth - 1]?.day ?? one.day);
    const empty: DayLine[] = [];
    for (let at = before + DAY_MS; at < Date.parse(one.day); at += DAY_MS)
      empty.push({ day: new Date(at).toISOString().slice(0, 10), legacy: 0, orders: 0, faults: 0 });
    return [...empty, one];
  });
}

function trafficChart(days: readonly DayLine[]): Promise<string> {
  const words: Words = {
    title: 'Calls by lane over time',
    summary: `${sumOf(days.map(({ legacy }) => legacy))} on legacy, ${sumOf(days.map(({ orders }) => orders))} on orders, of which ${sumOf(days.map(({ faults }) => faults))} faults, from ${days[0]?.day} to ${days.at(-1)?.day}.`,
    unit: 'calls',
  };
  return stackedColumns({
    ...inEnglish,
    ...words,
    marks: days.map(({ day }) => day),
    series: [
      { name: 'legacy', kind: 'legacy', values: days.map(({ legacy }) => legacy) },
      { name: 'orders', kind: 'orders', values: days.map(({ orders, faults }) => orders - faults) },
      { name: 'faults on orders', kind: 'fault', values: days.map(({ faults }) => faults) },
    ],
  });
}

/** Shares, because one lane may have a hundred times the calls of the other. */
function waitChart(waits: readonly WaitLine[]): Promise<string> {
  const [legacy, orders] = [sumOf(waits.map((one) => one.legacy)), sumOf(waits.map((one) => one.orders))];
  const share = (calls: number, all: number): number => (all === 0 ? 0 : Math.round((calls / all) * 1_000) / 10);
  const words: Words = {
    title: 'How long tills waited, by lane',
    summary: `Shares of ${legacy} calls on legacy and of ${orders} on orders, by milliseconds.`,
    unit: '% of the calls of a lane, by ms',
  };
  return groupedColumns({
    ...inEnglish,
    ...words,
    marks: waits.map(rangeOf),
    series: [
      { name: 'legacy', kind: 'legacy', values: waits.map((one) => share(one.legacy, legacy)) },
      { name: 'orders', kind: 'orders', values: waits.map((one) => share(one.orders, orders)) },
    ],
  });
}

/** Milliseconds of a class: `8–15`. */
export function rangeOf({ from_ms, up_to_ms }: WaitLine): string {
  return `${from_ms}–${up_to_ms}`;
}

function lossChart(losses: readonly LossLine[]): Promise<string> {
  const shown = losses.slice(0, MOST_FIELDS);
  const rest = losses.length - shown.length;
  const words: Words = {
    title: 'Losses by field',
    summary: rest === 0 ? 'Money first.' : `Money first; ${rest} more fields are in the table.`,
    unit: 'calls',
  };
  return stackedRows({
    ...inEnglish,
    ...words,
    marks: shown.map(({ operation, path }) => `${operation} ${path}`),
    series: [
      { name: 'lost', kind: 'bad', values: shown.map(({ count }) => count) },
      { name: 'on paper', kind: 'paper', values: shown.map(({ would_be_count }) => would_be_count) },
    ],
  });
}

function noticeChart(notices: readonly NoticeLine[]): Promise<string> {
  const words: Words = {
    title: 'Delivery of notices by topic',
    summary: `${sumOf(notices.map(({ delivered }) => delivered))} of ${sumOf(notices.map(({ made }) => made))} are delivered.`,
    unit: 'notices',
  };
  return stackedRows({
    ...inEnglish,
    ...words,
    marks: notices.map(({ topic }) => topic),
    series: [
      { name: 'delivered', kind: 'good', values: notices.map(({ delivered }) => delivered) },
      { name: 'waiting', kind: 'paper', values: notices.map(({ pending, stuck }) => pending - stuck) },
      { name: 'stuck', kind: 'waiting', values: notices.map(({ stuck }) => stuck) },
      { name: 'given up', kind: 'bad', values: notices.map(({ dead }) => dead) },
    ],
  });
}

function readinessChart(days: readonly VerdictDay[]): Promise<string> {
  const shown = days.slice(-MOST_BARS);
  const last = shown.at(-1)?.counts ?? { ready: 0, blocked: 0, inconclusive: 0 };
  const words: Words = {
    title: 'Readiness over time',
    summary: `In the last column ${last.ready} ready, ${last.inconclusive} inconclusive, ${last.blocked} blocked.`,
    unit: 'merchants',
  };
  return stackedColumns({
    ...inEnglish,
    ...words,
    marks: shown.map(({ day }) => day),
    series: [
      { name: 'ready', kind: 'good', values: shown.map(({ counts }) => counts.ready) },
      { name: 'inconclusive', kind: 'waiting', values: shown.map(({ counts }) => counts.inconclusive) },
      { name: 'blocked', kind: 'bad', values: shown.map(({ counts }) => counts.blocked) },
    ],
  });
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
