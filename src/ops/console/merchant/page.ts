/** The merchant page: what is asked most stands first; every part can be reached by a link. */
import { PuenteError } from '../../../error.ts';
import { auditView } from '../../api/audit.ts';
import { differencesView } from '../../api/differences.ts';
import { coverageView, lossesView } from '../../api/evidence.ts';
import { fleetView } from '../../api/fleet.ts';
import { merchantView } from '../../api/merchants.ts';
import { proposalsView } from '../../api/moves.ts';
import { noticesView } from '../../api/notices.ts';
import { readinessView } from '../../api/readiness.ts';
import { safetyView } from '../../api/safety.ts';
import { drainView } from '../../api/stage.ts';
import type { FleetLine } from '../board-row.ts';
import { chartSlot, merchantCharts } from '../charts.ts';
import { decisionTable } from '../decisions.ts';
import { type Html, html } from '../html.ts';
import { noticeTable } from '../notices.ts';
import { section } from '../parts.ts';
import { linkTo, type Page, type Visit } from '../visit.ts';
import { coverage, differences, losses } from './evidence.ts';
import { facts } from './facts.ts';
import { lanes } from './lanes.ts';
import { readiness } from './readiness.ts';
import { safety } from './safety.ts';
import { stageControl, waitingMoves } from './stage.ts';

/** Of lists that grow: the newest, and a link to all. */
const SHOWN = 15;

export const merchantPage: Page = {
  path: '/merchants/:id',
  async show(visit) {
    const { words, path } = visit;
    const { t } = words;
    const id = path.id ?? '';
    const known = await allOf(visit, id);
    const { view, verdict, line, drain, stop, moves, found } = known;
    const content = html`${onward(visit)}
${facts(visit, view, line)}
${chartSlot(words, merchantCharts(id))}
<div class="grid">${await stageControl(visit, view)}${readiness(words, verdict)}</div>
${waitingMoves(visit, moves.moves)}
${lanes(visit, line, drain)}
${safety(visit, stop)}
${losses(words, found.losses.losses)}
${differences(visit, found.differences.differences)}
${coverage(words, found.coverage.cells)}
${section('notices', t('nav.notices'), html`${noticeTable(words, found.notices.notices)}<p><a href="${linkTo('/notices', { merchant: id })}">${t('merchant.all_notices')}</a></p>`)}
${section('decisions', t('merchant.decisions'), html`${decisionTable(words, found.audit.lines)}<p><a href="${linkTo('/audit', { subject: id })}">${t('merchant.all_decisions')}</a></p>`)}`;
    return { title: t('merchant.title', { id }), content };
  },
};

/** What changes by itself, for whoever watches a drain: a part of the page above, under a path of its own. */
export const merchantLanes: Page = {
  path: '/merchants/:id/lanes',
  async show(visit) {
    const id = visit.path.id ?? '';
    const drain = await visit.ask('GET /api/merchants/:id/drain', drainView, { path: { id } });
    const content = lanes(visit, await lineOf(visit, id), drain);
    return { title: visit.words.t('merchant.title', { id }), content };
  },
};

/** Everything that is known of a merchant, asked for together. */
async function allOf(visit: Visit, id: string) {
  const path = { id };
  const query = { merchant: id };
  const newest = { limit: SHOWN };
  const [view, verdict, line, drain, stop, moves, ...rest] = await Promise.all([
    visit.ask('GET /api/merchants/:id', merchantView, { path }),
    visit.ask('GET /api/merchants/:id/readiness', readinessView, { path }),
    lineOf(visit, id),
    visit.ask('GET /api/merchants/:id/drain', drainView, { path }),
    visit.ask('GET /api/merchants/:id/safety', safetyView, { path }),
    visit.ask('GET /api/moves', proposalsView, { query: { ...query, state: 'waiting' } }),
    visit.ask('GET /api/losses', lossesView, { query }),
    visit.ask('GET /api/differences', differencesView, { query }),
    visit.ask('GET /api/merchants/:id/coverage', coverageView, { path }),
    visit.ask('GET /api/notices', noticesView, { query: { ...query, ...newest } }),
    visit.ask('GET /api/audit', auditView, { query: { subject: id, ...newest } }),
  ]);
  const [losses, differences, coverage, notices, audit] = rest;
  return { view, verdict, line, drain, stop, moves, found: { losses, differences, coverage, notices, audit } };
}

/** As the board shows it; null for a merchant that nobody has seen yet. */
async function lineOf(visit: Visit, id: string): Promise<FleetLine | null> {
  const { merchants } = await visit
    .ask('GET /api/fleet', fleetView, { query: { search: id, sort: 'merchant', per_page: 500 } })
    .catch((error: unknown) => {
      if (error instanceof PuenteError) return { merchants: [] };
      throw error;
    });
  return merchants.find(({ merchant_id }) => merchant_id === id) ?? null;
}

function onward({ words: { t }, path }: Visit): Html {
  const parts = [
    ['stage', 'merchant.stage'],
    ['readiness', 'merchant.why'],
    ['charts', 'charts.title'],
    ['lanes', 'merchant.lanes'],
    ['losses', 'merchant.losses'],
    ['differences', 'merchant.differences'],
    ['coverage', 'merchant.coverage'],
    ['notices', 'nav.notices'],
    ['decisions', 'merchant.decisions'],
  ] as const;
  const links = parts.map(([id, key]) => html`<li><a href="#${id}">${t(key)}</a></li>`);
  const report = html`<li><a href="${linkTo('/reports', { merchant: path.id })}">${t('merchant.report')}</a></li>`;
  return html`<nav aria-label="${t('merchant.parts')}"><ul class="onward">${links}${report}</ul></nav>`;
}
