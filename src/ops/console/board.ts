/** The fleet board: one row per merchant, refreshed while it is open. */
import { actionOf } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { stages } from '../../proxy/routing/merchant.ts';
import { type FleetLine, type FleetView, fleetSorts, fleetVerdicts, type LanePulse } from '../fleet/line.ts';
import { type Content, durationOf, type Html, html, type Row, says, timeOf } from '../html.ts';
import { given, linkTo, merchantPath, type Page, type Visit } from './kit.ts';
import { badge, field, spark, table, tagLinks } from './parts.ts';

/** Query fields that the board passes to the API. */
const ASKED = ['search', 'tag', 'stage', 'readiness', 'attention', 'sort', 'order', 'page'] as const;

export const board: Page = {
  path: '/',
  async show(visit) {
    const filter = given(Object.fromEntries(ASKED.map((name) => [name, visit.query[name]])));
    const view = await visit.ask('GET /api/fleet', { query: filter });
    const { t } = visit.words;
    const content = view.totals.merchants === 0 ? welcome(visit) : html`${filters(visit)}${live(visit, view, filter)}`;
    return { title: t('board.title'), content };
  },
};

/** Next steps for an installation without any call; the page refreshes until the first one. */
function welcome({ words: { t } }: Visit): Html {
  return html`<div class="welcome" hx-get="/" hx-trigger="every 5s" hx-target="#main" hx-select="#main" hx-swap="outerMorph"><p class="lead">${t('welcome.lead')}</p>
<ol>
<li><strong>${t('welcome.point')}</strong> ${t('welcome.point.how')}</li>
<li><strong>${t('welcome.assess')}</strong> ${t('welcome.assess.how')} <code>puente assess till.har</code></li>
<li><strong>${t('welcome.shadow')}</strong> ${t('welcome.shadow.how')} <code>puente stage 700100200 shadow --reason "pilot shop"</code></li>
<li><strong>${t('welcome.doctor')}</strong> ${t('welcome.doctor.how')} <code>puente doctor</code></li>
</ol></div>`;
}

function filters({ words, query }: Visit): Html {
  const { t } = words;
  const sort = fleetSorts.map((one) => [one, t(`board.sort.${one}`)] as const);
  return html`<form class="filters" action="/" method="get" hx-get="/" hx-trigger="submit, change, input delay:400ms from:#search" hx-target="#board" hx-select="#board" hx-swap="outerHTML" hx-push-url="true">
${field.input('search', t('board.search'), query.search, html` type="search" maxlength="64"`)}
${field.input('tag', t('board.tag'), query.tag, html` type="search" maxlength="40"`)}
${field.filter(words, 'stage', t('board.stage'), stages, (one) => t(`stage.${one}`), query.stage)}
${field.filter(words, 'readiness', t('board.readiness'), fleetVerdicts, (one) => t(`verdict.${one}`), query.readiness)}
${field.select('sort', t('board.sort'), sort, query.sort ?? 'attention')}
${field.tick('attention', t('board.attention'), query.attention)}
<p><button>${t('board.show')}</button></p>
</form>`;
}

/** The refreshed part; htmx changes it in place, which keeps focus and scrolling. */
function live(visit: Visit, view: FleetView, filter: Record<string, string>): Html {
  const { words, query } = visit;
  const { t } = words;
  const is_paused = query.live === 'off';
  const again = linkTo('/', { ...filter, live: query.live });
  const trigger = is_paused
    ? ''
    : html` hx-get="${again}" hx-trigger="every 5s" hx-select="#board" hx-swap="outerMorph"`;
  const rows = view.merchants.map((line) => boardRow(words, line));
  return html`<div id="board"${trigger}>
${totals(visit, view)}
<p class="fresh">${t('board.at', { at: words.time(view.at) })} <a href="${linkTo('/', { ...filter, live: is_paused ? undefined : 'off' })}">${t(is_paused ? 'board.resume' : 'board.pause')}</a></p>
${table(words, 'board', t('board.title'), rows, t('board.none'))}
${pager(visit, view, filter)}
</div>`;
}

function totals({ words: { t } }: Visit, { totals }: FleetView): Html {
  const { readiness } = totals;
  const fact = (query: Record<string, string>, count: number, name: string, kind = ''): Html =>
    html`<li><a href="${linkTo('/', query)}"><strong>${count}</strong> <span class="${kind}">${name}</span></a></li>`;
  return html`<ul class="totals" aria-label="${t('board.totals')}">
${fact({}, totals.merchants, t('board.merchants', { count: totals.merchants }))}
${stages.map((one) => fact({ stage: one }, totals.stages[one], t(`stage.${one}`), `dot ${one}`))}
${fact({ attention: 'true' }, totals.attention, t('board.to_look_at'), 'dot attention')}
${fact({ readiness: 'blocked' }, readiness.blocked, t('verdict.blocked'), 'dot blocked')}
</ul>`;
}

function pager({ words: { t } }: Visit, { page, pages, found }: FleetView, filter: Record<string, string>): Content {
  const link = (to: number, key: string): Html =>
    to < 1 || to > pages
      ? html`<span class="none">${t(key)}</span>`
      : html`<a href="${linkTo('/', { ...filter, page: to })}">${t(key)}</a>`;
  return html`<nav class="pager" aria-label="${t('board.pages')}">${link(page - 1, 'board.earlier')}
<span>${t('board.page', { page, pages, found })}</span>${link(page + 1, 'board.later')}</nav>`;
}

function boardRow(words: Words, line: FleetLine): Row {
  const { merchant_id, name, tags, site, health } = line;
  const where = site === null ? null : html` <span class="site">${site}</span>`;
  return {
    merchant: html`<a href="${merchantPath(merchant_id)}">${merchant_id}</a>${where}${name === null ? '' : html`<br>${name}`}${tags.length === 0 ? '' : html`<div class="small">${tagLinks(tags)}</div>`}`,
    stage: stageCell(words, line),
    why: attentionCell(words, line),
    legacy: pulse(words, 'legacy', health.legacy),
    orders: pulse(words, 'orders', health.orders),
    open: openCell(words, line),
    readiness: readinessCell(words, line),
    incident: incidentCell(words, line),
  };
}

/** The stage of new work, with differing kinds beside it. */
function stageCell({ t, number }: Words, { intended, share, apart }: FleetLine): Html {
  const own = intended === 'canary' ? `${t('stage.canary')} ${number(share)} %` : t(`stage.${intended}`);
  return html`${badge(intended, own)}${apart.map(
    (one) => html` <span class="apart">${t(`kind.${one.kind}`)}: ${t(`stage.${one.stage}`)}</span>`,
  )}`;
}

/** Why the merchant needs attention; each reason leads to its part of the merchant's page. */
function attentionCell({ t, number, list }: Words, line: FleetLine): Content {
  const { merchant_id, attention, stopped, health, open, readiness, waiting_moves } = line;
  const kinds = list(stopped.map((kind) => t(`kind.${kind}`)));
  const reasons: Record<FleetLine['attention'][number], readonly [part: string, shown: Html]> = {
    safety_stop: ['safety', badge('bad', t('board.stopped', { kinds }))],
    faults: ['lanes', badge('bad', t('board.faults', { share: number(health.orders?.fault_share ?? 0) }))],
    in_doubt: ['lanes', badge('warn', t('open.in_doubt', { count: open.in_doubt }))],
    blocked: ['readiness', badge('blocked', t('board.blockers', { count: readiness?.blockers ?? 0 }))],
    waiting_move: ['moves', badge('warn', t('board.waiting', { count: waiting_moves }))],
  };
  const links = attention.map((one) => {
    const [part, shown] = reasons[one];
    return html`<a href="${merchantPath(merchant_id)}#${part}">${shown}</a>`;
  });
  return links.length === 0 ? html`<span class="none">–</span>` : html`<div class="lines">${links}</div>`;
}

/** Rate, faults, latencies and trend of a lane over the last hour. */
export function pulse(words: Words, lane: 'legacy' | 'orders', found: LanePulse | null): Content {
  const { t, number } = words;
  if (found === null) return html`<span class="none">${t('pulse.none')}</span>`;
  const { calls, per_minute, faults, fault_share, p50_ms, p99_ms, trend } = found;
  const label = t('pulse.label', { calls, faults });
  return html`<div class="pulse">${spark(trend, lane, label)}<span>${t('pulse.rate', { rate: number(per_minute) })}</span>
<span class="${faults > 0 ? 'bad' : ''}">${t('pulse.faults', { share: number(fault_share) })}</span>
<span>p50 ${durationOf(words, p50_ms)}</span><span>p99 ${durationOf(words, p99_ms)}</span></div>`;
}

function openCell({ t }: Words, { open, draining }: FleetLine): Content {
  const said = [
    open.orders > 0 ? html`<span>${t('open.orders', { count: open.orders })}</span>` : null,
    open.legacy > 0 ? html`<span>${t('open.legacy', { count: open.legacy })}</span>` : null,
    open.notices_pending > 0 ? html`<span>${t('open.notices', { count: open.notices_pending })}</span>` : null,
    draining === null ? null : badge('draining', t(`drain.${draining.lane}`, { count: draining.open })),
  ].filter((one) => one !== null);
  return said.length === 0
    ? html`<span class="none">${t('open.nothing')}</span>`
    : html`<div class="lines">${said}</div>`;
}

function readinessCell(words: Words, { readiness }: FleetLine): Content {
  const { t } = words;
  if (readiness === null) return html`<span class="none">${t('verdict.unjudged')}</span>`;
  const { verdict, first, first_said } = readiness;
  return html`${badge(verdict, t(`verdict.${verdict}`))}${first === null ? '' : html`<div class="small">${says(words, first, first_said)}</div>`}`;
}

function incidentCell(words: Words, { last_incident }: FleetLine): Content {
  if (last_incident === null) return html`<span class="none">${words.t('board.no_incident')}</span>`;
  const { at, what, why, said } = last_incident;
  return html`<div class="lines">${timeOf(words, at)}<span class="small">${actionOf(words, what)}: ${says(words, why, said)}</span></div>`;
}
