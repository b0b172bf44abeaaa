/** The charts of a period, each with a table of its numbers; the console and the reports share them. */
import type { Words } from '../../locales/words.ts';
import { DAY_MS, dayOf } from '../fields.ts';
import { type Html, html } from '../html.ts';
import type { Line, Report } from '../report/report.ts';
import { type ChartData, groupedColumns, type Series, stackedColumns, stackedRows } from './svg.ts';

/** Fields shown in a chart; its table has all. */
const MOST_FIELDS = 15;

interface Figures extends Pick<Report, 'days' | 'waits' | 'notice_days' | 'readiness_days'> {
  losses: readonly Pick<Line<'losses'>, 'operation' | 'path' | 'count' | 'would_be_count'>[];
}

export interface Chart {
  data: ChartData;
  table: { head: readonly string[]; rows: readonly (readonly (string | number)[])[] };
  /** SVG. @param width pixels. */
  draw(width?: number): Html;
}

export const chartNames = ['traffic', 'waits', 'notices', 'readiness', 'losses'] as const;
export type ChartName = (typeof chartNames)[number];

/** Also charts of nothing: whether one is drawn, its data says (`isEmpty`). */
export function chartsOf(figures: Figures, words: Words): Record<ChartName, Chart> {
  return {
    traffic: trafficChart(daySums(figures.days), words),
    waits: waitChart(figures.waits, words),
    notices: noticeChart(daySums(figures.notice_days), words),
    readiness: readinessChart(withoutGaps(figures.readiness_days).slice(-MOST_BARS), words),
    losses: lossChart(figures.losses, words),
  };
}

/** A chart in two widths (pixels), so that letters keep their size; the style sheet shows the one that fits. */
export function picturesOf({ draw }: Pick<Chart, 'draw'>, wide: number): Html {
  return html`<div class="wide">${draw(wide)}</div><div class="narrow">${draw(NARROW)}</div>`;
}

const NARROW = 300;

function trafficChart(days: Figures['days'], words: Words): Chart {
  const { t, number } = words;
  const marks = days.map(({ day }) => words.day(day));
  const sum = (name: 'legacy' | 'orders' | 'faults'): string => number(sumOf(days, name));
  const sums = { legacy: sum('legacy'), orders: sum('orders'), faults: sum('faults') };
  const facts = { ...sums, since: marks[0] ?? '', until: marks.at(-1) ?? '' };
  const data = dataOf(words, 'traffic', facts, 'chart.calls', marks, [
    seriesOf(t('chart.legacy'), 'legacy', days, (one) => one.legacy),
    seriesOf(t('chart.orders'), 'orders', days, (one) => one.orders - one.faults),
    seriesOf(t('chart.faults'), 'fault', days, (one) => one.faults),
  ]);
  const rows = days.map((one) => [words.day(one.day), one.legacy, one.orders, one.faults]);
  return chart(stackedColumns, data, t('chart.day'), rows);
}

/** In percent, because one lane may have a hundred times the calls of the other. */
function waitChart(waits: Figures['waits'], words: Words): Chart {
  const { t } = words;
  const counts = { legacy: sumOf(waits, 'legacy'), orders: sumOf(waits, 'orders') };
  const marks = waits.map(({ from_ms, up_to_ms }) => `${from_ms}–${up_to_ms}`);
  const series = (['legacy', 'orders'] as const).map((lane) => {
    const share = (calls: number): number => Math.round((calls / Math.max(1, counts[lane])) * 1_000) / 10;
    return seriesOf(t(`chart.${lane}`), lane, waits, (one) => share(one[lane]));
  });
  const data = dataOf(words, 'waits', counts, 'chart.waits.unit', marks, series);
  const rows = waits.map(({ legacy, orders }, nth) => [marks[nth] ?? '', legacy, orders]);
  return chart(groupedColumns, data, t('chart.waits.range'), rows);
}

function noticeChart(days: Figures['notice_days'], words: Words): Chart {
  const marks = days.map(({ day }) => words.day(day));
  const data = dataOf(words, 'notices', sumsOf(days), 'chart.notices.unit', marks, deliveries(words, days));
  return chart(stackedColumns, data, words.t('chart.day'));
}

/** Notices by topic; the report's list of topics serves as its table. */
export function topicChart(notices: readonly Line<'notices'>[], words: Words): Chart {
  const topics = notices.map(({ topic }) => topic);
  const data = dataOf(words, 'notices', sumsOf(notices), 'report.topics.unit', topics, deliveries(words, notices));
  return chart(stackedRows, { ...data, title: words.t('report.topics.title') }, '');
}

type Deliveries = readonly Omit<Line<'notices'>, 'topic' | 'retried'>[];

function sumsOf(lines: Deliveries): { made: number; delivered: number } {
  return { made: sumOf(lines, 'made'), delivered: sumOf(lines, 'delivered') };
}

function deliveries({ t }: Words, lines: Deliveries): Series[] {
  return [
    seriesOf(t('chart.notices.delivered'), 'good', lines, ({ delivered }) => delivered),
    seriesOf(t('chart.notices.waiting'), 'paper', lines, ({ pending, stuck }) => pending - stuck),
    seriesOf(t('chart.notices.stuck'), 'waiting', lines, ({ stuck }) => stuck),
    seriesOf(t('chart.notices.dead'), 'bad', lines, ({ dead }) => dead),
  ];
}

function readinessChart(days: Figures['readiness_days'], words: Words): Chart {
  const { t } = words;
  const { day = null, ready = 0, inconclusive = 0, blocked = 0 } = days.at(-1) ?? {};
  const facts = { day: day === null ? '' : words.day(day), ready, inconclusive, blocked };
  const marks = days.map((one) => words.day(one.day));
  const data = dataOf(words, 'readiness', facts, 'chart.readiness.unit', marks, [
    seriesOf(t('chart.readiness.ready'), 'good', days, (one) => one.ready),
    seriesOf(t('chart.readiness.inconclusive'), 'waiting', days, (one) => one.inconclusive),
    seriesOf(t('chart.readiness.blocked'), 'bad', days, (one) => one.blocked),
  ]);
  return chart(stackedColumns, data, t('chart.day'));
}

function lossChart(losses: Figures['losses'], words: Words): Chart {
  const { t } = words;
  const shown = losses.slice(0, MOST_FIELDS);
  const nameOf = ({ operation, path }: Figures['losses'][number]): string => `${operation} ${path}`;
  const data = dataOf(words, 'losses', { more: losses.length - shown.length }, 'chart.calls', shown.map(nameOf), [
    seriesOf(t('chart.losses.real'), 'bad', shown, ({ count }) => count),
    seriesOf(t('chart.losses.paper'), 'paper', shown, ({ would_be_count }) => would_be_count),
  ]);
  const rows = losses.map((one) => [nameOf(one), one.count, one.would_be_count]);
  return chart(stackedRows, data, t('chart.losses.field'), rows);
}

function seriesOf<Of>(name: string, kind: Series['kind'], lines: readonly Of[], valueIn: (line: Of) => number): Series {
  return { name, kind, values: lines.map(valueIn) };
}

/** @param unit message key of the unit of the values. */
function dataOf(
  { t, number }: Words,
  name: ChartName,
  facts: Record<string, string | number>,
  unit: string,
  marks: string[],
  series: Series[],
): ChartData {
  const [title, summary] = [t(`chart.${name}.title`), t(`chart.${name}.summary`, facts)];
  return { title, summary, none: t('chart.none'), unit: t(unit), number, marks, series };
}

/** @param first heading of the marks' column. @param rows of the table, where it has more than the chart. */
function chart(
  form: (data: ChartData, width?: number) => Html,
  data: ChartData,
  first: string,
  rows: Chart['table']['rows'] = data.marks.map((mark, nth) => [
    mark,
    ...data.series.map(({ values }) => values[nth] ?? 0),
  ]),
): Chart {
  // Series names are lower case in the legend, and capitalized in table headings.
  const head = [first, ...data.series.map(({ name }) => name)].map(
    (name) => name.slice(0, 1).toUpperCase() + name.slice(1),
  );
  return { data, table: { head, rows }, draw: (width) => form(data, width) };
}

function sumOf<Name extends string>(lines: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return lines.reduce((sum, line) => sum + line[name], 0);
}

/** More bars could not be told apart; then neighbouring days are summed. */
const MOST_BARS = 120;

/** Days without gaps. Above `MOST_BARS`, neighbours are summed under their first day. */
export function daySums<Day extends { day: string }>(days: readonly Day[]): Day[] {
  const all = withoutGaps(days);
  const size = Math.ceil(all.length / MOST_BARS);
  const spans: Day[] = [];
  for (const [nth, day] of all.entries()) {
    const sum = nth % size === 0 ? undefined : spans.pop();
    spans.push(sum === undefined ? day : withCounts(day, sum.day, (name) => Number(sum[name]) + Number(day[name])));
  }
  return spans;
}

/** Missing days count 0, so that the time axis stays linear. */
function withoutGaps<Day extends { day: string }>(days: readonly Day[]): Day[] {
  return days.flatMap((one, nth) => {
    const before = Date.parse(days[nth - 1]?.day ?? one.day);
    const between: Day[] = [];
    for (let at = before + DAY_MS; at < Date.parse(one.day); at += DAY_MS)
      between.push(withCounts(one, dayOf(at), () => 0));
    return [...between, one];
  });
}

function withCounts<Day extends { day: string }>(like: Day, day: string, of: (name: keyof Day) => number): Day {
  const counts = Object.keys(like).map((name) => [name, of(name as keyof Day)]); // a key of `like`
  return { ...like, ...Object.fromEntries(counts), day };
}

/** A style sheet, because a strict policy forbids inline style. Neighbours differ in lightness too, for grey prints. */
export const CHART_STYLE = html`
.chart { display: block; max-width: 100%; height: auto; margin: .6rem 0; --chart-legacy: #b08a4a; --chart-orders: #1f6f8b; --chart-fault: #8f1d17; --chart-good: #2f855a; --chart-waiting: #d9b44a; --chart-paper: #9aa5b1; }
.chart .legacy { fill: var(--chart-legacy); } .chart .orders { fill: var(--chart-orders); } .chart .fault, .chart .bad { fill: var(--chart-fault); }
.chart .good { fill: var(--chart-good); } .chart .waiting { fill: var(--chart-waiting); } .chart .paper { fill: var(--chart-paper); }
@media screen and (prefers-color-scheme: dark) { .chart { --chart-legacy: #dcbd85; --chart-orders: #3f9dbd; --chart-fault: #ff6f61; --chart-good: #3fa873; --chart-waiting: #f0d788; --chart-paper: #8793a0; } }
.narrow { display: none; } @media screen and (max-width: 34rem) { .wide { display: none; } .narrow { display: block; } }
@media print { .chart { break-inside: avoid; print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
`;
