/** The fleet board: every merchant at a glance, kept fresh while it is looked at. */
import type { z } from 'zod';
import { fleetView } from '../api/fleet.ts';
import { boardRow, HEAD } from './board-row.ts';
import { type Content, type Html, html } from './html.ts';
import { options, table } from './parts.ts';
import { linkTo, type Page, type Visit } from './visit.ts';

type FleetView = z.infer<typeof fleetView>;

const STAGES = ['legacy', 'shadow', 'canary', 'orders'] as const;
const VERDICTS = ['ready', 'blocked', 'inconclusive', 'unjudged'] as const;
const SORTS = ['attention', 'merchant', 'stage', 'rate', 'faults', 'p99', 'open', 'readiness', 'incident'] as const;
/** What the board may be asked for, as the API's row takes it. */
const ASKED = ['search', 'stage', 'readiness', 'attention', 'sort', 'order', 'page'] as const;

export const board: Page = {
  path: '/',
  async show(visit) {
    const asked = askedOf(visit);
    const view = await visit.ask('GET /api/fleet', fleetView, { query: asked });
    const { t } = visit.words;
    const content = view.totals.merchants === 0 ? welcome(visit) : html`${filters(visit)}${live(visit, view, asked)}`;
    return { title: t('board.title'), content };
  },
};

/** Says what to do with an installation that no till has called yet; the first call shows by itself. */
function welcome({ words: { t } }: Visit): Html {
  return html`<div class="welcome" hx-get="/" hx-trigger="every 5s" hx-target="#main" hx-select="#main" hx-swap="outerMorph"><p class="lead">${t('welcome.lead')}</p>
<ol>
<li><strong>${t('welcome.point')}</strong> ${t('welcome.point.how')}</li>
<li><strong>${t('welcome.assess')}</strong> ${t('welcome.assess.how')} <code>puente assess till.har</code></li>
<li><strong>${t('welcome.shadow')}</strong> ${t('welcome.shadow.how')} <code>puente stage 700100200 shadow --reason "pilot shop"</code></li>
<li><strong>${t('welcome.doctor')}</strong> ${t('welcome.doctor.how')} <code>puente doctor</code></li>
</ol></div>`;
}

function filters({ words: { t }, query }: Visit): Html {
  const any = ['', t('board.any')] as const;
  const stage = STAGES.map((one) => [one, t(`stage.${one}`)] as const);
  const readiness = VERDICTS.map((one) => [one, t(`verdict.${one}`)] as const);
  const sort = SORTS.map((one) => [one, t(`board.sort.${one}`)] as const);
  return html`<form class="filters" action="/" method="get" hx-get="/" hx-trigger="submit, change, input delay:400ms from:#search" hx-target="#board" hx-select="#board" hx-swap="outerHTML" hx-push-url="true">
<p><label for="search">${t('board.search')}</label><input id="search" type="search" name="search" maxlength="64" inputmode="numeric" value="${query.search ?? ''}"></p>
<p><label for="stage">${t('board.stage')}</label><select id="stage" name="stage">${options([any, ...stage], query.stage ?? '')}</select></p>
<p><label for="readiness">${t('board.readiness')}</label><select id="readiness" name="readiness">${options([any, ...readiness], query.readiness ?? '')}</select></p>
<p><label for="sort">${t('board.sort')}</label><select id="sort" name="sort">${options(sort, query.sort ?? 'attention')}</select></p>
<p class="tick"><input id="attention" type="checkbox" name="attention" value="true"${query.attention === 'true' ? html` checked` : ''}><label for="attention">${t('board.attention')}</label></p>
<p><button>${t('board.show')}</button></p>
</form>`;
}

/** The part that is asked for again and again; changes are put in place, so that focus and scrolling stay. */
function live(visit: Visit, view: FleetView, asked: Record<string, string>): Html {
  const { words, query } = visit;
  const { t } = words;
  const is_paused = query.live === 'off';
  const again = linkTo('/', { ...asked, live: query.live });
  const trigger = is_paused
    ? ''
    : html` hx-get="${again}" hx-trigger="every 5s" hx-select="#board" hx-swap="outerMorph"`;
  const rows = view.merchants.map((line) => boardRow(words, line));
  return html`<div id="board"${trigger}>
${totals(visit, view)}
<p class="fresh">${t('board.at', { at: words.time(view.at) })} <a href="${linkTo('/', { ...asked, live: is_paused ? undefined : 'off' })}">${t(is_paused ? 'board.resume' : 'board.pause')}</a></p>
${table(
  t('board.title'),
  HEAD.map((key) => t(key)),
  rows,
  t('board.none'),
)}
${pager(visit, view, asked)}
</div>`;
}

function totals({ words: { t } }: Visit, { totals }: FleetView): Html {
  const { stages, readiness } = totals;
  const fact = (query: Record<string, string>, count: number, name: string, kind = ''): Html =>
    html`<li><a href="${linkTo('/', query)}"><strong>${count}</strong> <span class="${kind}">${name}</span></a></li>`;
  return html`<ul class="totals" aria-label="${t('board.totals')}">
${fact({}, totals.merchants, t('board.merchants', { count: totals.merchants }))}
${STAGES.map((one) => fact({ stage: one }, stages[one], t(`stage.${one}`), `dot ${one}`))}
${fact({ attention: 'true' }, totals.attention, t('board.to_look_at'), 'dot attention')}
${fact({ readiness: 'blocked' }, readiness.blocked, t('verdict.blocked'), 'dot blocked')}
</ul>`;
}

function pager({ words: { t } }: Visit, { page, pages, found }: FleetView, asked: Record<string, string>): Content {
  const link = (to: number, key: string): Html =>
    to < 1 || to > pages
      ? html`<span class="none">${t(key)}</span>`
      : html`<a href="${linkTo('/', { ...asked, page: to })}">${t(key)}</a>`;
  return html`<nav class="pager" aria-label="${t('board.pages')}">${link(page - 1, 'board.earlier')}
<span>${t('board.page', { page, pages, found })}</span>${link(page + 1, 'board.later')}</nav>`;
}

/** What the form leaves empty is not asked for. */
function askedOf({ query }: Visit): Record<string, string> {
  return Object.fromEntries(
    ASKED.flatMap((name): [string, string][] => {
      const value = query[name] ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}
