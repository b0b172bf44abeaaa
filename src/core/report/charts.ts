/** The charts of a report, each with the table that says the same in numbers. */
import { type Chart, type ChartName, chartNames, chartsOf } from '../../chart/charts.ts';
import { stackedRows } from '../../chart/rows.ts';
import { english } from './english.ts';
import type { NoticeLine, Report } from './report.ts';
import { type Html, htmlTable, raw } from './tags.ts';

export interface ShownChart {
  picture: Html;
  table: Html;
}

/** Drawn before the page is put together, because the plotting library is loaded only when it is needed. */
export interface ReportCharts extends Record<ChartName, ShownChart> {
  /** Notices by topic; the list of topics is its table. */
  topics: Html;
}

export async function drawCharts(report: Report): Promise<ReportCharts> {
  const charts = chartsOf(report, english);
  const shown: [ChartName, ShownChart][] = [];
  for (const name of chartNames) shown.push([name, await shownChart(charts[name])]);
  return { ...(Object.fromEntries(shown) as Record<ChartName, ShownChart>), topics: await topicChart(report.notices) }; // of every name
}

async function shownChart(chart: Chart): Promise<ShownChart> {
  return { picture: raw(await chart.draw()), table: htmlTable(chart.table.head, chart.table.rows) };
}

async function topicChart(notices: readonly NoticeLine[]): Promise<Html> {
  const { t, number } = english;
  const sum = (of: 'made' | 'delivered'): number => notices.reduce((total, line) => total + line[of], 0);
  const svg = await stackedRows({
    title: 'Delivery of notices by topic',
    summary: t('notices.summary', { delivered: sum('delivered'), made: sum('made') }),
    none: t('none'),
    unit: 'notices',
    number,
    marks: notices.map(({ topic }) => topic),
    series: [
      { name: t('notices.delivered'), kind: 'good', values: notices.map(({ delivered }) => delivered) },
      { name: t('notices.waiting'), kind: 'paper', values: notices.map(({ pending, stuck }) => pending - stuck) },
      { name: t('notices.stuck'), kind: 'waiting', values: notices.map(({ stuck }) => stuck) },
      { name: t('notices.dead'), kind: 'bad', values: notices.map(({ dead }) => dead) },
    ],
  });
  return raw(svg);
}
