/** The charts of a report, each with the table that says the same in numbers. */

import type { Words } from '../../locales/words.ts';
import { chartWords } from '../charts/chart-words.ts';
import { type Chart, type ChartName, chartNames, chartsOf } from '../charts/charts.ts';
import type { ChartData } from '../charts/draw.ts';
import { stackedRows } from '../charts/rows.ts';
import type { NoticeLine, Report } from './report.ts';
import { type Html, htmlTable, raw } from './tags.ts';

/** Drawn twice, so that letters keep their size: the style sheet shows the one that the screen has room for. Pixels. */
const WIDTHS = { wide: 720, narrow: 300 } as const;

export interface ShownChart {
  picture: Html;
  table: Html;
}

/** Drawn before the page is put together, because the plotting library is loaded only when it is needed. */
export interface ReportCharts extends Record<ChartName, ShownChart> {
  /** Notices by topic; the list of topics is its table. */
  topics: Html;
}

export async function drawCharts(report: Report, words: Words): Promise<ReportCharts> {
  const charts = chartsOf(report, chartWords(words));
  const shown: [ChartName, ShownChart][] = [];
  for (const name of chartNames) shown.push([name, await shownChart(charts[name], words)]);
  const drawn = Object.fromEntries(shown) as Record<ChartName, ShownChart>; // of every name
  return { ...drawn, topics: await topicChart(report.notices, words) };
}

async function shownChart({ draw, table: { head, rows } }: Chart, { number }: Words): Promise<ShownChart> {
  return { picture: await picture(draw), table: htmlTable(head, rows, number) };
}

async function topicChart(notices: readonly NoticeLine[], words: Words): Promise<Html> {
  const { t, number } = words;
  const sum = (of: 'made' | 'delivered'): string => number(notices.reduce((total, line) => total + line[of], 0));
  const data: ChartData = {
    title: t('report.topics.title'),
    summary: t('chart.notices.summary', { delivered: sum('delivered'), made: sum('made') }),
    none: t('chart.none'),
    unit: t('report.topics.unit'),
    number,
    marks: notices.map(({ topic }) => topic),
    series: [
      { name: t('chart.notices.delivered'), kind: 'good', values: notices.map(({ delivered }) => delivered) },
      { name: t('chart.notices.waiting'), kind: 'paper', values: notices.map(({ pending, stuck }) => pending - stuck) },
      { name: t('chart.notices.stuck'), kind: 'waiting', values: notices.map(({ stuck }) => stuck) },
      { name: t('chart.notices.dead'), kind: 'bad', values: notices.map(({ dead }) => dead) },
    ],
  };
  return picture((width) => stackedRows(data, width));
}

async function picture(draw: Chart['draw']): Promise<Html> {
  const [wide, narrow] = [await draw(WIDTHS.wide), await draw(WIDTHS.narrow)];
  return raw(`<div class="wide">${wide}</div><div class="narrow">${narrow}</div>`);
}
