/** Reports: a period of one merchant or the fleet to open or to take home, and compared with another one. */
import type { z } from 'zod';
import type { Words } from '../../locales/words.ts';
import { comparisonView } from '../api/report.ts';
import type { Said } from '../api/said.ts';
import { chartSlot, charts } from './charts.ts';
import { decisionTable } from './decisions.ts';
import { type Content, type Html, html } from './html.ts';
import { badge, row, section, table } from './parts.ts';
import { says } from './says.ts';
import { type Download, linkTo, type Page, type Visit } from './visit.ts';

type Comparison = z.infer<typeof comparisonView>;

const DAY_MS = 86_400_000;
/** Lists that are offered as CSV. */
const PARTS = ['traffic', 'losses', 'differences', 'notices', 'exchanges'] as const;

export const reportPage: Page = {
  path: '/reports',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const asked = periodOf(query);
    const content = html`<p class="lead">${t('reports.lead')}</p>
<form class="filters" action="/reports" method="get">
<p><label for="merchant">${t('board.merchant')}</label><input id="merchant" name="merchant" inputmode="numeric" placeholder="${t('reports.fleet')}" value="${query.merchant ?? ''}"></p>
${dateField('since', t('reports.since'), query)}
${dateField('until', t('reports.until'), query)}
${dateField('before_since', t('reports.before_since'), query)}
${dateField('before_until', t('reports.before_until'), query)}
<p><button>${t('board.show')}</button></p><p><button name="compare" value="true">${t('reports.compare')}</button></p></form>
${files(words, asked)}
${chartSlot(words, linkTo('/reports/charts', daysOf(query)))}
${query.compare === 'true' ? await comparison(visit, asked) : ''}`;
    return { title: t('nav.reports'), content };
  },
};

/** Of the period that the form names. */
export const reportChartPage: Page = {
  path: '/reports/charts',
  async show(visit) {
    const { query, words } = visit;
    const { before_since: _since, before_until: _until, ...asked } = periodOf(query);
    const back = html`<p><a href="${linkTo('/reports', daysOf(query))}">${words.t('nav.reports')}</a></p>`;
    return { title: words.t('charts.title'), content: html`${await charts(visit, asked)}${back}` };
  },
};

/** The file itself, made by the API while it is sent. */
export const reportFile: Download = {
  path: '/reports/file',
  page: reportPage,
  row: 'GET /api/report',
  queryOf: ({ merchant, since, until, format, part }, language) =>
    given({ merchant, since, until, format, part, language }),
};

function files({ t }: Words, { before_since: _since, before_until: _until, ...asked }: Record<string, string>): Html {
  const to = (format: string, part?: string): string => linkTo('/reports/file', { ...asked, format, part });
  const csv = PARTS.map((part) => html` <a href="${to('csv', part)}" download>${t(`reports.${part}`)}</a>`);
  return section(
    'files',
    t('reports.files'),
    html`<p><a href="${to('html')}" target="_blank" rel="noopener">${t('reports.open')}</a> · <a href="${to('json')}" download>JSON</a> · CSV:${csv}</p>`,
    t('reports.files_lead'),
  );
}

/** What changed, with the decisions in between. */
async function comparison({ words, ask }: Visit, asked: Record<string, string>): Promise<Html> {
  const { t } = words;
  const found: Comparison = await ask('GET /api/report/compare', comparisonView, { query: asked });
  const rows = found.changes.map(({ part, line, before, after, before_said, after_said }) =>
    row(
      html`${badge('shadow', words.named(`reports.${part}`, part))} ${line}`,
      shown(words, before, before_said),
      shown(words, after, after_said),
      difference(words, before, after),
    ),
  );
  const head = ['line', 'before', 'after', 'change'].map((key) => t(`reports.${key}`));
  const decided = [...found.decisions, ...found.incidents].map(({ before, after, evidence, ...line }) => {
    return { ...line, hash: '', detail: { before, after, ...evidence } };
  });
  const periods = t('reports.periods', {
    before_since: words.time(found.a.period.since),
    before_until: words.time(found.a.period.until),
    since: words.time(found.b.period.since),
    until: words.time(found.b.period.until),
  });
  return html`${section('comparison', t('reports.comparison'), table(t('reports.comparison'), head, rows, t('reports.same')), periods)}
${section('between', t('reports.between'), decisionTable(words, decided))}`;
}

function shown(words: Words, value: string | number | null, said: Said | null): Content {
  if (value === null) return html`<span class="none">${words.t('reports.nothing')}</span>`;
  return typeof value === 'number' ? words.number(value) : says(words, value, said);
}

function difference({ number }: Words, before: string | number | null, after: string | number | null): Content {
  if (typeof before === 'string' || typeof after === 'string') return null;
  const by = (after ?? 0) - (before ?? 0);
  return `${by > 0 ? '+' : ''}${number(by)}`;
}

function dateField(name: string, label: string, query: Visit['query']): Html {
  return html`<p><label for="${name}">${label}</label><input id="${name}" name="${name}" type="date" value="${query[name] ?? ''}"></p>`;
}

function daysOf({ merchant, since, until }: Visit['query']): Record<string, string> {
  return given({ merchant, since, until });
}

/** Days of the form as instants: a period goes from the start of its first day to the end of its last one, UTC. */
function periodOf({ merchant, since, until, before_since, before_until }: Visit['query']): Record<string, string> {
  return given({
    merchant,
    since: startOf(since, 0),
    until: startOf(until, 1),
    before_since: startOf(before_since, 0),
    before_until: startOf(before_until, 1),
  });
}

function startOf(day: string | undefined, later_days: number): string | undefined {
  const at = Date.parse(`${day ?? ''}T00:00:00Z`);
  return Number.isNaN(at) ? undefined : new Date(at + later_days * DAY_MS).toISOString();
}

function given(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]): [string, string][] =>
      value === undefined || value === '' ? [] : [[name, value]],
    ),
  );
}
