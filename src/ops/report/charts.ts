/** The charts of a report, each with the table that says the same in numbers. */

import type { z } from 'zod';
import type { Words } from '../../locales/words.ts';
import type { Ports } from '../../proxy/ports.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import { type Chart, type ChartName, chartNames, chartsOf, chartWords } from '../charts/charts.ts';
import type { Figures } from '../charts/figures.ts';
import { type ChartData, stackedRows } from '../charts/svg.ts';
import { readinessDays, readinessSince } from '../readiness/days.ts';
import { merchantReadiness } from '../readiness/readiness.ts';
import { decisionLines } from './decisions.ts';
import { requirePeriod, tallyOf, verdictDays } from './gather.ts';
import { type Html, htmlTable, raw } from './page.ts';
import { askOf, type NoticeLine, type Report, type ReportAsk, reportQuery } from './report.ts';
import { lossLines, noticeLines } from './sections.ts';
import { dayLines, waitLines } from './tally.ts';

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

// The figures of a period that charts are drawn of: a part of the report, without what takes long to judge or to
// prove.

export const figuresQuery = reportQuery.pick({ merchant: true, since: true, until: true });
export type FiguresQuery = z.infer<typeof figuresQuery>;

export interface FiguresView extends Figures {
  /** Null: the fleet. */
  merchant_id: string | null;
  made_at: string;
  /** [since, until), ISO 8601. */
  period: { since: string; until: string };
  /** ISO 8601, the oldest call of any merchant that is still kept: nothing before it can be shown; null for none. */
  calls_since: string | null;
  /** UTC day of the first verdict that is kept; null for none. */
  readiness_since: string | null;
}

/**
 * Reports and figures wait for one another, and payments for none of them.
 * @param signal aborted when nobody waits for it any more; then it rejects with the signal's reason.
 * @throws PuenteError bad_request when the period is empty.
 */
export function viewFigures(ports: Ports, query: FiguresQuery, signal: AbortSignal): Promise<FiguresView> {
  const ask = askOf(ports, query);
  requirePeriod(ask);
  return ports.memory.mutex.run('report', () => gatherFigures(ports, ask, signal));
}

async function gatherFigures(ports: Ports, ask: ReportAsk, signal: AbortSignal): Promise<FiguresView> {
  signal.throwIfAborted();
  await ports.evidence.settled();
  const tally = await tallyOf(ports.store.exchanges, ask, signal);
  const notices = await noticeLines(ports, ask, signal);
  const { decisions } = await decisionLines(ports, ask, signal);
  const today = await verdictNow(ports, ask.merchant_id);
  const [oldest] = await ports.store.exchanges.exchanges({}, 0, 1);
  return {
    merchant_id: ask.merchant_id,
    made_at: new Date(ports.clock.now()).toISOString(),
    period: { since: new Date(ask.since).toISOString(), until: new Date(ask.until).toISOString() },
    calls_since: oldest === undefined ? null : new Date(oldest.at).toISOString(),
    readiness_since: await readinessSince(ports),
    days: dayLines(tally),
    waits: waitLines(tally),
    losses: lossLines(ports, tally).map(({ operation, path, count, would_be_count }) => {
      return { operation, path, count, would_be_count };
    }),
    notice_days: notices.days,
    readiness_days: await readinessDays(ports, ask, verdictDays(decisions.lines), today),
  };
}

/** Null for all: thousands take too long to judge while somebody waits for a page. */
async function verdictNow(ports: Ports, merchant_id: string | null): Promise<Record<Verdict, number> | null> {
  if (merchant_id === null) return null;
  return { ready: 0, blocked: 0, inconclusive: 0, [(await merchantReadiness(ports, merchant_id)).verdict]: 1 };
}
