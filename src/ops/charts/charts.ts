/** The charts of a period: in whatever language, the same ones in the console and in reports. */
import type { Words } from '../../locales/words.ts';
import {
  type CallDay,
  callSpans,
  type Day,
  type Figures,
  type LostField,
  type NoticeDay,
  noticeSpans,
  rangeOf,
  type VerdictCounts,
  verdictSpans,
  type Waits,
} from './figures.ts';
import { type ChartData, groupedColumns, type Series, stackedColumns, stackedRows } from './svg.ts';

/** Fields that a chart shows; its table has them all. */
const MOST_FIELDS = 15;

/** Every text that the charts need. */
export type ChartText =
  | 'none'
  | 'day'
  | 'calls'
  | 'legacy'
  | 'orders'
  | 'faults'
  | 'traffic.title'
  | 'traffic.summary'
  | 'waits.title'
  | 'waits.summary'
  | 'waits.unit'
  | 'waits.range'
  | 'losses.title'
  | 'losses.summary'
  | 'losses.field'
  | 'losses.real'
  | 'losses.paper'
  | 'notices.title'
  | 'notices.summary'
  | 'notices.unit'
  | 'notices.delivered'
  | 'notices.waiting'
  | 'notices.stuck'
  | 'notices.dead'
  | 'readiness.title'
  | 'readiness.summary'
  | 'readiness.unit'
  | 'readiness.ready'
  | 'readiness.inconclusive'
  | 'readiness.blocked';

/** A reader's language. */
export interface ChartWords {
  t(text: ChartText, values?: Record<string, string | number>): string;
  number(value: number): string;
  /** @param day UTC, ISO 8601. */
  day(day: string): string;
}

/** A chart with the table that says the same in numbers. */
export interface Chart {
  data: ChartData;
  table: { head: readonly string[]; rows: readonly (readonly (string | number)[])[] };
  /** SVG text. @param width pixels. */
  draw(width?: number): string;
}

export const chartNames = ['traffic', 'waits', 'notices', 'readiness', 'losses'] as const;
export type ChartName = (typeof chartNames)[number];

export function chartsOf(figures: Figures, words: ChartWords): Record<ChartName, Chart> {
  return {
    traffic: trafficChart(callSpans(figures.days), words),
    waits: waitChart(figures.waits, words),
    notices: noticeChart(noticeSpans(figures.notice_days), words),
    readiness: readinessChart(verdictSpans(figures.readiness_days), words),
    losses: lossChart(figures.losses, words),
  };
}

function trafficChart(days: readonly CallDay[], words: ChartWords): Chart {
  const { t, number } = words;
  const sum = (of: 'legacy' | 'orders' | 'faults'): string => number(sumOf(days.map((day) => day[of])));
  const period = { since: nameOf(words, days[0]), until: nameOf(words, days.at(-1)) };
  const data = {
    ...textOf(words, 'traffic', { legacy: sum('legacy'), orders: sum('orders'), faults: sum('faults'), ...period }),
    unit: t('calls'),
    marks: days.map((day) => nameOf(words, day)),
    series: [
      { name: t('legacy'), kind: 'legacy', values: days.map(({ legacy }) => legacy) },
      { name: t('orders'), kind: 'orders', values: days.map(({ orders, faults }) => orders - faults) },
      { name: t('faults'), kind: 'fault', values: days.map(({ faults }) => faults) },
    ],
  } satisfies ChartData;
  const rows = days.map((day) => [nameOf(words, day), day.legacy, day.orders, day.faults]);
  return {
    data,
    table: tableOf([t('day'), t('legacy'), t('orders'), t('faults')], rows),
    draw: drawnBy(stackedColumns, data),
  };
}

/** Shares, because one lane may have a hundred times the calls of the other. */
function waitChart(waits: readonly Waits[], words: ChartWords): Chart {
  const { t } = words;
  const [legacy, orders] = [sumOf(waits.map((one) => one.legacy)), sumOf(waits.map((one) => one.orders))];
  const share = (calls: number, all: number): number => (all === 0 ? 0 : Math.round((calls / all) * 1_000) / 10);
  const data: ChartData = {
    ...textOf(words, 'waits', { legacy, orders }),
    unit: t('waits.unit'),
    marks: waits.map(rangeOf),
    series: [
      { name: t('legacy'), kind: 'legacy', values: waits.map((one) => share(one.legacy, legacy)) },
      { name: t('orders'), kind: 'orders', values: waits.map((one) => share(one.orders, orders)) },
    ],
  };
  const rows = waits.map((one) => [rangeOf(one), one.legacy, one.orders]);
  const head = [t('waits.range'), t('legacy'), t('orders')];
  return { data, table: tableOf(head, rows), draw: drawnBy(groupedColumns, data) };
}

function noticeChart(days: readonly NoticeDay[], words: ChartWords): Chart {
  const { t } = words;
  const delivered = sumOf(days.map((day) => day.delivered));
  const series = [
    { name: t('notices.delivered'), kind: 'good', values: days.map((day) => day.delivered) },
    { name: t('notices.waiting'), kind: 'paper', values: days.map(({ pending, stuck }) => pending - stuck) },
    { name: t('notices.stuck'), kind: 'waiting', values: days.map(({ stuck }) => stuck) },
    { name: t('notices.dead'), kind: 'bad', values: days.map(({ dead }) => dead) },
  ] satisfies Series[];
  return ofDays(days, series, words, {
    ...textOf(words, 'notices', { delivered, made: sumOf(days.map(({ made }) => made)) }),
    unit: t('notices.unit'),
  });
}

function readinessChart(days: readonly VerdictCounts[], words: ChartWords): Chart {
  const { t } = words;
  const last = days.at(-1);
  const of = (verdict: 'ready' | 'inconclusive' | 'blocked'): number => last?.[verdict] ?? 0;
  const counts = { ready: of('ready'), inconclusive: of('inconclusive'), blocked: of('blocked') };
  const series = [
    { name: t('readiness.ready'), kind: 'good', values: days.map((day) => day.ready) },
    { name: t('readiness.inconclusive'), kind: 'waiting', values: days.map((day) => day.inconclusive) },
    { name: t('readiness.blocked'), kind: 'bad', values: days.map((day) => day.blocked) },
  ] satisfies Series[];
  return ofDays(days, series, words, {
    ...textOf(words, 'readiness', { day: nameOf(words, last), ...counts }),
    unit: t('readiness.unit'),
  });
}

function lossChart(losses: readonly LostField[], words: ChartWords): Chart {
  const { t } = words;
  const shown = losses.slice(0, MOST_FIELDS);
  const data: ChartData = {
    ...textOf(words, 'losses', { more: losses.length - shown.length }),
    unit: t('calls'),
    marks: shown.map(({ operation, path }) => `${operation} ${path}`),
    series: [
      { name: t('losses.real'), kind: 'bad', values: shown.map(({ count }) => count) },
      { name: t('losses.paper'), kind: 'paper', values: shown.map(({ would_be_count }) => would_be_count) },
    ],
  };
  const rows = losses.map((one) => [`${one.operation} ${one.path}`, one.count, one.would_be_count]);
  const head = [t('losses.field'), t('losses.real'), t('losses.paper')];
  return { data, table: tableOf(head, rows), draw: drawnBy(stackedRows, data) };
}

type Text = Pick<ChartData, 'title' | 'summary' | 'none' | 'number'>;

function textOf({ t, number }: ChartWords, of: ChartName, values: Record<string, string | number>): Text {
  return { title: t(`${of}.title`), summary: t(`${of}.summary`, values), none: t('none'), number };
}

/** A chart whose table has the very series that it shows. */
function ofDays(days: readonly Day[], series: Series[], words: ChartWords, text: Text & { unit: string }): Chart {
  const marks = days.map((day) => nameOf(words, day));
  const data: ChartData = { ...text, marks, series };
  const rows = marks.map((day, nth) => [day, ...series.map(({ values }) => values[nth] ?? 0)]);
  const head = [words.t('day'), ...series.map(({ name }) => name)];
  return { data, table: tableOf(head, rows), draw: drawnBy(stackedColumns, data) };
}

/** Names that are small beside a bar begin large at the head of a column. */
function tableOf(names: readonly string[], rows: Chart['table']['rows']): Chart['table'] {
  return { head: names.map((name) => name.slice(0, 1).toUpperCase() + name.slice(1)), rows };
}

function drawnBy(form: (data: ChartData, width?: number) => string, data: ChartData): Chart['draw'] {
  return (width) => form(data, width);
}

/** '' for no day. */
function nameOf({ day: name }: ChartWords, one: Day | undefined): string {
  return one === undefined ? '' : name(one.day);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/**
 * The colours of charts, for a page's style sheet: a chart carries none inside, so that a strict policy lets it be. Neighbours in
 * a bar differ in lightness, too, so that they can be told apart on grey paper.
 */
export const CHART_STYLE = `
.chart { display: block; max-width: 100%; height: auto; margin: .6rem 0; --chart-legacy: #b08a4a; --chart-orders: #1f6f8b; --chart-fault: #8f1d17; --chart-good: #2f855a; --chart-waiting: #d9b44a; --chart-paper: #9aa5b1; }
.chart .legacy { fill: var(--chart-legacy); } .chart .orders { fill: var(--chart-orders); } .chart .fault, .chart .bad { fill: var(--chart-fault); }
.chart .good { fill: var(--chart-good); } .chart .waiting { fill: var(--chart-waiting); } .chart .paper { fill: var(--chart-paper); }
@media screen and (prefers-color-scheme: dark) { .chart { --chart-legacy: #dcbd85; --chart-orders: #3f9dbd; --chart-fault: #ff6f61; --chart-good: #3fa873; --chart-waiting: #f0d788; --chart-paper: #8793a0; } }
@media print { .chart { break-inside: avoid; print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
`;

export function chartWords({ t, number, day }: Words): ChartWords {
  return { t: (text, values) => t(`chart.${text}`, values), number, day };
}
