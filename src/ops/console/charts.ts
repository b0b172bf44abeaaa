/** The charts of a merchant or the fleet: a part of other pages that is asked for by itself, because it takes longer than they do. */
import type { z } from 'zod';
import type { Words } from '../../locales/words.ts';
import { figuresView } from '../api/report.ts';
import { chartWords } from '../charts/chart-words.ts';
import { type Chart, type ChartName, chartNames, chartsOf } from '../charts/charts.ts';
import { isEmpty } from '../charts/draw.ts';
import { type Content, type Html, html, raw } from './html.ts';
import { row, section, table, timeOf } from './parts.ts';
import { merchantPath, type Page, type Visit } from './visit.ts';

type Figures = z.infer<typeof figuresView>;

/** Drawn twice, so that letters keep their size: the style sheet shows the one that the screen has room for. Pixels. */
const WIDTHS = { wide: 620, narrow: 300 } as const;

/** Stands in the page until the charts come; without scripts it leads to them. @param path of their own page. */
export function chartSlot({ t }: Words, path: string): Html {
  return html`<section id="charts" aria-labelledby="charts-title" hx-get="${path}" hx-trigger="load" hx-select="#charts" hx-swap="outerHTML">
<h2 id="charts-title">${t('charts.title')}</h2><p><a href="${path}">${t('charts.show')}</a></p></section>`;
}

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

/** @param asked `merchant`, `since` and `until` as the API takes them. */
export async function charts({ words, ask, signal }: Visit, asked: Record<string, string>): Promise<Html> {
  const { t } = words;
  const figures = await ask('GET /api/report/figures', figuresView, { query: asked, signal });
  const drawn = chartsOf(figures, chartWords(words));
  const shown: Html[] = [];
  for (const name of chartNames) shown.push(await figure(words, name, drawn[name]));
  return section('charts', t('charts.title'), html`<div class="charts">${shown}</div>`, lead(words, figures));
}

/** Of which time, and since when calls and verdicts are kept where that is later. */
function lead(words: Words, { period, calls_since, readiness_since }: Figures): Content {
  const { t } = words;
  const later = (key: string, since: string | null): Content =>
    since === null || since <= period.since ? null : html` ${t(key)} ${timeOf(words, since)}.`;
  const verdicts_since = readiness_since === null ? null : `${readiness_since}T00:00:00.000Z`;
  return html`${timeOf(words, period.since)} – ${timeOf(words, period.until)}.${later('charts.kept', calls_since)}${later('charts.judged', verdicts_since)}`;
}

/** A picture with its caption, and the table that says the same; a sentence where there is nothing to draw. */
async function figure(
  { t, number }: Words,
  name: ChartName,
  { data, table: { head, rows }, draw }: Chart,
): Promise<Html> {
  if (isEmpty(data))
    return html`<figure id="chart-${name}"><figcaption><h3>${data.title}</h3></figcaption><p class="none">${data.none}</p></figure>`;
  const cells = rows.map(([first = '', ...rest]) =>
    row(first, ...rest.map((cell) => (typeof cell === 'number' ? number(cell) : cell))),
  );
  const pictures = [
    html`<div class="wide">${raw(await draw(WIDTHS.wide))}</div>`,
    html`<div class="narrow">${raw(await draw(WIDTHS.narrow))}</div>`,
  ];
  return html`<figure id="chart-${name}"><figcaption><h3>${data.title}</h3><p class="small">${data.summary}</p></figcaption>
${pictures}
<details><summary>${t('charts.figures')}<span class="unseen">: ${data.title}</span></summary>${table(data.title, head, cells, '')}</details></figure>`;
}
