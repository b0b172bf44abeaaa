/** Reports: a period of one merchant or the fleet, to view, download, or compare with another period. */
import type { z } from 'zod';
import type { Said } from '../../error.ts';
import type { Words } from '../../locales/words.ts';
import { type Chart, type ChartName, chartNames, chartsOf, picturesOf } from '../charts/charts.ts';
import { isEmpty } from '../charts/svg.ts';
import { DAY_MS } from '../fields.ts';
import {
  type Content,
  code,
  durationIn,
  type Html,
  html,
  plainTable,
  type Row,
  says,
  timeOf,
  written,
} from '../html.ts';
import type { FiguresView, sumsView } from '../report/gather.ts';
import { moveSumRow, sumRow } from '../report/rows.ts';
import { type Download, given, linkTo, merchantPath, type Page, type Visit } from './kit.ts';
import { badge, decisionTable, field, framed, merchantLink, section, table, unlessUnseen } from './parts.ts';

/** Offered as CSV. */
const PARTS = [
  'sales',
  'sums',
  'move_sums',
  'unmatched',
  'approvals',
  'completion',
  'units',
  'traffic',
  'losses',
  'differences',
  'notices',
  'receivers',
  'exchanges',
] as const;

const DAYS = ['since', 'until', 'before_since', 'before_until'] as const;

export const reportPage: Page = {
  path: '/reports',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const filter = periodOf(query);
    const content = html`<p class="lead">${t('reports.lead')}</p>
<form class="filters" action="/reports" method="get">
${field.merchant(words, query.merchant, 'merchant', t('reports.fleet'))}
${DAYS.map((name) => field.input(name, t(`reports.${name}`), query[name], html` type="date"`))}
<p><button>${t('board.show')}</button></p><p><button name="compare" value="true">${t('reports.compare')}</button></p></form>
${query.compare === 'true' ? await comparison(visit, filter) : ''}
${files(words, filter)}
${sumsSlot(words, linkTo('/reports/sums', daysOf(query)))}
${chartSlot(words, linkTo('/reports/charts', daysOf(query)))}`;
    return { title: t('nav.reports'), content };
  },
};

/** Loaded after the page, because it takes longer, and below what can be pressed; without scripts a link. */
function sumsSlot({ t }: Words, path: string): Html {
  return html`<section id="sums" aria-labelledby="sums-title" hx-get="${path}" hx-trigger="load" hx-select="#sums" hx-swap="outerHTML ignoreTitle:true">
<h2 id="sums-title">${t('report.section.sums')}</h2><p class="lead"><a href="${path}">${t('reports.show_sums')}</a></p></section>`;
}

export const reportSumPage: Page = {
  path: '/reports/sums',
  async show({ words, query, ask, signal }) {
    const { t } = words;
    const { before_since: _since, before_until: _until, ...filter } = periodOf(query);
    const { sums, move_sums, period, left_out, ...gaps } = await ask('GET /api/report/sums', {
      query: filter,
      signal,
    });
    const of = { merchant: filter.merchant, ...period };
    const rows = sums.map((sum) => ({ ...sumRow(words, sum), opens: sumLinks(words, of, sum) }));
    const spans = move_sums.slice(0, MOST_MOVE_SUMS).map(({ merchant_id: merchant, merchant_name, ...one }) => ({
      merchant: merchantLink(merchant, merchant_name),
      ...moveSumRow(words, { merchant_id: merchant, ...one }),
      opens: sumLinks(words, { merchant, since: one.since, until: one.until }, one),
    }));
    const count = left_out.move_sums + move_sums.length - spans.length;
    const lead = html`${timeOf(words, period.since)} – ${timeOf(words, period.until)}.${gapsIn(words, gaps)} ${t('report.lead.sums')}`;
    const more = html`${t('report.lead.move_sums')}${count === 0 ? null : html` ${t('report.cut', { count })}`}`;
    const listed = (name: 'sums' | 'move_sums', lines: Row[]): Html =>
      table(words, 'report.head', t(`report.section.${name}`), lines, t('report.none'));
    // In one element, which the page of reports loads whole.
    const content = section(
      'sums',
      t('report.section.sums'),
      html`${listed('sums', rows)}<h3>${t('report.section.move_sums')}</h3><p class="lead">${more}</p>${listed('move_sums', spans)}`,
      lead,
    );
    const back = html`<p><a href="${linkTo('/reports', daysOf(query))}">${t('nav.reports')}</a></p>`;
    return { title: t('report.section.sums'), content: html`${content}${back}` };
  },
};

/** Between moves, on the page; the file and the report have more. */
const MOST_MOVE_SUMS = 500;

/** The list of the sales of a sum, and its rows as a file. Of calls on payments legacy alone has the rows. */
function sumLinks(
  { t }: Words,
  { merchant, since, until }: { merchant: string | undefined; since: string; until: string },
  { what, lane, family, currency, outcome }: z.infer<typeof sumsView>['sums'][number],
): Content {
  if (currency === null) return t('reports.calls_alone');
  const field = (at: string): string => at.replace(/(\.000)?Z$/, '');
  const of = { merchant, lane, family, currency };
  const list = linkTo('/sales', { ...of, state: outcome, since: field(since), until: field(until) });
  const file = linkTo('/reports/file', { ...of, format: 'csv', part: 'sales', what, outcome, since, until });
  return html`${what === 'sale' ? html`<a href="${list}">${t('reports.list')}</a> · ` : null}<a href="${file}" download>CSV</a>`;
}

export const reportChartPage: Page = {
  path: '/reports/charts',
  async show(visit) {
    const { query, words } = visit;
    const { before_since: _since, before_until: _until, ...filter } = periodOf(query);
    const back = html`<p><a href="${linkTo('/reports', daysOf(query))}">${words.t('nav.reports')}</a></p>`;
    return { title: words.t('charts.title'), content: html`${await charts(visit, filter)}${back}` };
  },
};

/** Streamed by the API. */
export const reportFile: Download = {
  path: '/reports/file',
  page: reportPage,
  row: 'GET /api/report',
  queryOf: ({ merchant, since, until, format, part, what, lane, family, currency, outcome }, language) =>
    given({ merchant, since, until, format, part, what, lane, family, currency, outcome, language }),
};

function files({ t }: Words, { before_since: _since, before_until: _until, ...filter }: Record<string, string>): Html {
  const to = (format: string, part?: string): string => linkTo('/reports/file', { ...filter, format, part });
  const csv = PARTS.map((part) => html` <a href="${to('csv', part)}" download>${t(`reports.${part}`)}</a>`);
  return section(
    'files',
    t('reports.files'),
    html`<p><a href="${to('html')}" target="_blank" rel="noopener">${t('reports.open')}</a> · <a href="${to('json')}" download>JSON</a> · CSV:${csv}</p>`,
    t('reports.files_lead'),
  );
}

/** @param line `what lane family currency outcome`, as `diffReports` names a sum. */
function sumLine({ named }: Words, line: string): string {
  const [what = '', lane = '', family = '', currency = '', outcome = ''] = line.split(' ');
  const said = [
    named(`money.${what}`, what),
    named(`stage.${lane}`, lane),
    named(`family.${family}`, family),
    currency,
  ];
  return [...said, named(`outcome.${outcome}`, outcome)].filter((word) => word !== '').join(', ');
}

async function comparison({ words, ask }: Visit, filter: Record<string, string>): Promise<Html> {
  const { t } = words;
  const found = await ask('GET /api/report/compare', { query: filter });
  const rows = found.changes.map(({ part, line, before, after, before_said, after_said }) => ({
    line: html`${badge('shadow', words.named(`reports.${part}`, part))} ${part === 'sums' ? sumLine(words, line) : line}`,
    before: shown(words, before, before_said),
    after: shown(words, after, after_said),
    change: difference(words, before, after),
  }));
  const decided = [...found.decisions, ...found.incidents].map(({ before, after, evidence, ...line }) => {
    return { ...line, hash: '', detail: { before, after, ...evidence } };
  });
  const periods = t('reports.periods', {
    before_since: words.time(found.a.period.since),
    before_until: words.time(found.a.period.until),
    since: words.time(found.b.period.since),
    until: words.time(found.b.period.until),
  });
  const { a, b, left_out: count } = found;
  const cut = count === 0 ? undefined : t('report.cut', { count });
  const gaps = gapsIn(words, {
    deleted_before: a.deleted_before ?? b.deleted_before,
    lost_between: a.lost_between ?? b.lost_between,
  });
  return html`${section('comparison', t('reports.comparison'), table(words, 'reports', t('reports.comparison'), rows, t('reports.same')), html`${periods}${gaps}`)}
${section('between', t('reports.between'), decisionTable(words, decided), cut)}`;
}

/** What the numbers of a period lack. */
function gapsIn(words: Words, gaps: Pick<z.infer<typeof sumsView>, 'deleted_before' | 'lost_between'>): Content {
  const { t, time } = words;
  const { deleted_before: at, lost_between: lost } = gaps;
  const deleted = at === null ? null : html` ${t('report.deleted', { at: time(at) })}`;
  return [deleted, lost && html` ${t('report.lost', { since: time(lost.since), until: time(lost.until) })}`];
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

function daysOf({ merchant, since, until }: Visit['query']): Record<string, string> {
  return given({ merchant, since, until });
}

/** Days of the form as instants, UTC: from the start of the first day to the end of the last. */
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

// The charts of a merchant or the fleet: loaded after the page, because they take longer.

/** Pixels, on a wide page. */
const CHART_WIDTH = 620;

/** As high as the charts, until they load; without scripts a link. @param path of the charts' own page. */
export function chartSlot({ t }: Words, path: string): Html {
  const places = chartNames.map((name) => html`<figure><h3>${t(`chart.${name}.title`)}</h3></figure>`);
  return html`<section id="charts" aria-labelledby="charts-title" hx-get="${path}" hx-trigger="load" hx-select="#charts" hx-swap="outerHTML ignoreTitle:true">
<h2 id="charts-title">${t('charts.title')}</h2><p class="lead"><a href="${path}">${t('charts.show')}</a></p><div class="charts">${places}</div></section>`;
}

/** The path of the charts alone, which the merchant's page loads after itself. */
export function merchantCharts(id: string): string {
  return merchantPath(id, '/charts');
}

export const merchantChartPage: Page = {
  path: '/merchants/:id/charts',
  async show(visit) {
    const id = visit.path.id ?? '';
    const back = html`<p><a href="${merchantPath(id)}">${visit.words.t('merchant.title', { id })}</a></p>`;
    const content = html`${await charts(visit, { merchant: id })}${back}`;
    return { title: visit.words.t('charts.of', { id }), content };
  },
};

/** @param filter the API's `merchant`, `since` and `until`. */
async function charts({ words, ask, signal }: Visit, filter: Record<string, string>): Promise<Html> {
  const { t } = words;
  const figures = ask('GET /api/report/figures', { query: filter, signal });
  const shown = await unlessUnseen(words, figures, (found) => {
    const drawn = chartsOf(found, words);
    const each = chartNames.map((name) => figure(words, name, drawn[name]));
    return html`<p class="lead">${lead(words, found)}</p><div class="charts">${each}</div>`;
  });
  return section('charts', t('charts.title'), shown);
}

/** The period, and the start of stored calls and verdicts where that is later. */
function lead(words: Words, { period, calls_since, readiness_since }: FiguresView): Content {
  const { t } = words;
  const later = (key: string, since: string | null): Content =>
    since === null || since <= period.since ? null : html` ${t(key)} ${timeOf(words, since)}.`;
  const verdicts_since = readiness_since === null ? null : `${readiness_since}T00:00:00.000Z`;
  return html`${timeOf(words, period.since)} – ${timeOf(words, period.until)}.${later('charts.kept', calls_since)}${later('charts.judged', verdicts_since)}`;
}

/** A chart with caption and equivalent table, or a sentence when it is empty. */
function figure({ t, number }: Words, name: ChartName, { data, table: { head, rows }, draw }: Chart): Html {
  if (isEmpty(data))
    return html`<figure id="chart-${name}"><figcaption><h3>${data.title}</h3></figcaption><p class="none">${data.none}</p></figure>`;
  return html`<figure id="chart-${name}"><figcaption><h3>${data.title}</h3><p class="small">${data.summary}</p></figcaption>
${picturesOf({ draw }, CHART_WIDTH)}
<details><summary>${t('charts.figures')}<span class="unseen">: ${data.title}</span></summary>${framed(data.title, plainTable(head, rows, number, true), '', 'cards')}</details></figure>`;
}

// The registers of limitations and assumptions.

export const limitationPage: Page = {
  path: '/limitations',
  async show({ words, ask }) {
    const { t } = words;
    const { limitations } = await ask('GET /api/limitations');
    const rows = limitations.map(({ id, title, effect, workaround, operations }) => ({
      id: html`<span class="whole" id="${id}">${id}</span>`,
      effect: html`<strong>${written(words, title)}</strong><br>${written(words, effect)}`,
      workaround: written(words, workaround),
      operations: html`<details><summary>${operations.length}</summary><span class="small">${operations.join(', ')}</span></details>`,
    }));
    const content = html`<p class="lead">${t('limitation.lead')}</p>${table(words, 'limitation', t('nav.limitations'), rows, t('limitation.none'))}`;
    return { title: t('nav.limitations'), content };
  },
};

export const assumptionPage: Page = {
  path: '/assumptions',
  async show({ words, ask }) {
    const { t } = words;
    const { assumptions } = await ask('GET /api/assumptions');
    const rows = assumptions.map(({ name, value, sentence }) => ({
      name: code(name),
      value: durationIn(words, name, value) ?? code(value),
      why: written(words, sentence),
    }));
    const content = html`<p class="lead">${t('assumption.lead')}</p>${table(words, 'assumption', t('nav.assumptions'), rows, t('assumption.none'))}`;
    return { title: t('nav.assumptions'), content };
  },
};
