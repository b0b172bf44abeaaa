/** The merchant page: the most used parts come first, and every part has a link. */
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import type { Words } from '../../locales/words.ts';
import { routedKinds } from '../../proxy/routing/merchant.ts';
import type { coverageView, differencesView, lossesView } from '../api/evidence.ts';
import { defined } from '../fields.ts';
import type { FleetLine } from '../fleet/line.ts';
import { answered, type Content, code, type Html, html, says, saysAll, timeOf, written } from '../html.ts';
import type { MerchantView } from '../merchants.ts';
import type { DrainView } from '../moves/preview.ts';
import { judgements } from '../readiness/differences.ts';
import type { Readiness } from '../readiness/facts.ts';
import { namedAs } from '../seen.ts';
import { pulse } from './board.ts';
import { type Fields, type Form, linkTo, listIn, merchantPath, type Page, type Visit } from './kit.ts';
import { noticeTable } from './notices.ts';
import {
  badge,
  changeForm,
  decisionTable,
  hidden,
  noneIfUnseen,
  options,
  section,
  table,
  tagLinks,
  unlessUnseen,
} from './parts.ts';
import { ramps } from './ramps.ts';
import { chartSlot, merchantCharts } from './reports.ts';
import { readiness, safety, stageControl, targetIn, waitingMoves } from './stage-control.ts';

/** Newest entries of growing lists; a link leads to all. */
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
<div class="grid">${await stageControl(visit, view)}${readiness(words, verdict)}</div>
${waitingMoves(visit, moves.moves)}
${ramps(visit, id, known.open.ramps)}
${lanes(visit, line, drain)}
${safety(visit, stop)}
${chartSlot(words, merchantCharts(id))}
${section('losses', t('merchant.losses'), found.losses, t('losses.lead'))}
${section('differences', t('merchant.differences'), found.differences, t('differences.lead'))}
${section('coverage', t('merchant.coverage'), found.coverage, t('coverage.lead'))}
${section('notices', t('nav.notices'), html`${found.notices}<p><a href="${linkTo('/notices', { merchant: id })}">${t('merchant.all_notices')}</a></p>`)}
${section('decisions', t('merchant.decisions'), html`${decisionTable(words, found.audit.lines)}<p><a href="${linkTo('/audit', { subject: id })}">${t('merchant.all_decisions')}</a></p>`)}`;
    return { title: t('merchant.title', { id }), bar: bar(visit, view, verdict.verdict), content };
  },
};

/** The parts of the page above that refresh themselves, under their own path. */
export const merchantLanes: Page = {
  path: '/merchants/:id/lanes',
  async show(visit) {
    const id = visit.path.id ?? '';
    const [view, drain, line] = await Promise.all([
      visit.ask('GET /api/merchants/:id', { path: { id } }),
      visit.ask('GET /api/merchants/:id/drain', { path: { id } }),
      lineOf(visit, id),
    ]);
    const content = html`<p>${stagesNow(visit.words, view)}</p>${lanes(visit, line, drain)}`;
    return { title: visit.words.t('merchant.title', { id }), content };
  },
};

/** All API reads of the page, in parallel. */
async function allOf(visit: Visit, id: string) {
  const { words } = visit;
  const path = { id };
  const query = { merchant: id };
  const newest = { limit: SHOWN };
  const [view, verdict, line, drain, stop, moves, ...rest] = await Promise.all([
    visit.ask('GET /api/merchants/:id', { path }),
    visit.ask('GET /api/merchants/:id/readiness', { path }),
    lineOf(visit, id),
    visit.ask('GET /api/merchants/:id/drain', { path }),
    visit.ask('GET /api/merchants/:id/safety', { path }),
    noneIfUnseen(visit.ask('GET /api/moves', { query: { ...query, state: 'waiting' } }), { moves: [] }),
    unlessUnseen(words, visit.ask('GET /api/losses', { query }), ({ losses }) => lossTable(words, losses)),
    unlessUnseen(words, visit.ask('GET /api/differences', { query }), ({ differences }) =>
      differenceTable(visit, differences),
    ),
    unlessUnseen(words, visit.ask('GET /api/merchants/:id/coverage', { path }), ({ cells }) => coverage(words, cells)),
    unlessUnseen(words, visit.ask('GET /api/notices', { query: { ...query, ...newest } }), ({ notices }) =>
      noticeTable(words, notices),
    ),
    visit.ask('GET /api/audit', { query: { subject: id, ...newest } }),
    noneIfUnseen(visit.ask('GET /api/ramps', { query: { ...query, open: 'true' } }), { ramps: [] }),
  ]);
  const [losses, differences, covered, notices, audit, open] = rest;
  const found = { losses, differences, coverage: covered, notices, audit };
  return { view, verdict, line, drain, stop, moves, open, found };
}

/** The merchant's line on the board; null without any call, or when the API refuses. */
async function lineOf(visit: Visit, id: string): Promise<FleetLine | null> {
  const { merchants } = await visit
    .ask('GET /api/fleet', { query: { search: id, sort: 'merchant', per_page: 500 } })
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
    ['ramps', 'ramps.title'],
    ['lanes', 'merchant.lanes'],
    ['charts', 'charts.title'],
    ['losses', 'merchant.losses'],
    ['differences', 'merchant.differences'],
    ['coverage', 'merchant.coverage'],
    ['notices', 'nav.notices'],
    ['decisions', 'merchant.decisions'],
  ] as const;
  const links = parts.map(([id, key]) => html`<li><a href="#${id}">${t(key)}</a></li>`);
  const report = html`<li><a href="${linkTo('/reports', { merchant: path.id })}">${t('merchant.report')}</a></li>
<li><a href="${merchantPath(path.id ?? '', '/decommission')}">${t('nav.decommission')}</a></li>`;
  const settings = html`<li><a href="${merchantPath(path.id ?? '', '/settings')}">${t('merchant.settings')}</a></li>`;
  const erase = html`<li><a href="${merchantPath(path.id ?? '', '/erase')}">${t('merchant.erase')}</a></li>`;
  return html`<nav aria-label="${t('merchant.parts')}"><ul class="onward">${links}${settings}${report}${erase}</ul></nav>`;
}

// Forms of the merchant page: each is one operation of the API.

export const merchantForms: readonly Form[] = [
  form('/stage', async (visit, path, fields) => {
    const body = { ...targetOf(visit, fields), reason: fields.reason, revision: Number(fields.revision) };
    return (await visit.ask('PUT /api/merchants/:id/stage', { path, body })).result;
  }),
  form('/rollback', async ({ ask }, path, { reason }) => {
    const { result, before } = await ask('POST /api/merchants/:id/rollback', { path, body: { reason } });
    const was_there = Object.values(before).every(({ intended }) => intended === 'legacy');
    return result === 'rolled_back' && was_there ? 'withdrawn' : result;
  }),
  form('/safety', async ({ ask }, path, { kind, reason, revision }) => {
    await ask('POST /api/merchants/:id/safety/reset', { path, body: { kind, reason, revision: Number(revision) } });
    return 'reset';
  }),
  form('/differences/:signature', async (visit, { id }, { state, until = '', note, revision }) => {
    const accepted_until = state === 'accepted' && until !== '' ? `${until}T00:00:00Z` : null;
    const { result } = await visit.ask('PUT /api/differences/:merchant/:signature', {
      path: { merchant: id, signature: visit.path.signature ?? '' },
      body: { state, accepted_until, note, revision: Number(revision) },
    });
    return result;
  }),
  ...(['approve', 'decline'] as const).map((act) =>
    form(`/moves/:move/${act}`, async ({ ask, path }, _of, { reason }) => {
      await ask(`POST /api/moves/:id/${act}`, { path: { id: path.move ?? '' }, body: { reason } });
      return `${act}d`;
    }),
  ),
];

/** @param send returns the message key of its success (`done.…`). */
function form(below: string, send: (visit: Visit, path: { id: string }, fields: Fields) => Promise<string>): Form {
  return {
    path: `/merchants/:id${below}`,
    page: merchantPage,
    async send(visit, fields) {
      const id = visit.path.id ?? '';
      return `${merchantPath(id)}?done=${await send(visit, { id }, fields)}`;
    },
  };
}

/** The body of a move, from the same fields as its preview. */
function targetOf({ query }: Visit, sent: Fields): Record<string, unknown> {
  const { stage, share, kind, units_in, units_out, override, new: made } = targetIn({ query, sent });
  return defined({
    stage: stage === 'follow' ? null : stage,
    share: share === undefined ? undefined : Number(share),
    kind,
    units_in: units_in === undefined ? undefined : listIn(units_in),
    units_out: units_out === undefined ? undefined : listIn(units_out),
    override: override === 'true',
    new: made === 'true',
  });
}

/**
 * Stage, verdict and roll back, in view however far the page is scrolled. Nothing that loads or refreshes moves the
 * button: the form has its own column, and on a phone its own line above the stage.
 */
function bar(visit: Visit, view: MerchantView, verdict: Readiness['verdict']): Html {
  const { words, sent } = visit;
  const { t } = words;
  const roll = html`<input name="reason" id="rollback-reason" type="text" minlength="3" maxlength="500" required value="${sent.reason ?? ''}" autocomplete="off" placeholder="${t('bulk.reason')}" aria-label="${t('form.reason')}">
<button class="danger" title="${t('rollback.lead')}">${t('rollback.go')}</button>`;
  return html`<div class="bar"><p><strong>${namedAs(view.id, view.name)}</strong> ${stagesNow(words, view)} <span>${t('board.readiness')}: ${badge(verdict, t(`verdict.${verdict}`))}</span></p>
${changeForm(visit, merchantPath(view.id, '/rollback'), roll)}</div>`;
}

/** One stage when all kinds of work share it, else one for each kind. */
function stagesNow(words: Words, view: MerchantView): Html {
  const each = routedKinds.map((kind) => [words.t(`kind.${kind}`), stageOf(words, view, kind)] as const);
  const is_one = new Set(each.map(([, stage]) => String(stage))).size === 1;
  const stages = is_one ? each[0]?.[1] : each.map(([kind, stage]) => html`<span>${kind}: ${stage}</span> `);
  return html`<span id="now">${stages ?? null}</span>`;
}

function facts({ words }: Visit, view: MerchantView, line: FleetLine | null): Html {
  const { t } = words;
  const seen = line === null ? html`<p class="notice warn">${t('merchant.unseen')}</p>` : '';
  const set = (value: 'set' | 'not set'): string => t(value === 'set' ? 'merchant.set' : 'merchant.not_set');
  return html`${seen}<dl class="facts">
${view.tags.length === 0 ? '' : html`<dt>${t('board.tag')}</dt><dd>${tagLinks(view.tags)}</dd>`}
<dt>${t('merchant.site')}</dt><dd>${view.site ?? t('merchant.not_known')}</dd>
<dt>${t('merchant.revision')}</dt><dd>${view.revision}${view.updated_at === null ? '' : html`, ${timeOf(words, view.updated_at)}`}</dd>
<dt>${t('merchant.notice_url')}</dt><dd>${shown(view.settings.notice_url?.value) ?? t('merchant.not_set')}</dd>
<dt>${t('merchant.credential')}</dt><dd>${set(view.credential)}</dd>
</dl>`;
}

/** The stage in force, and the intended one while a safety stop overrides it. */
function stageOf({ t, number }: Words, { in_force }: MerchantView, kind: keyof MerchantView['in_force']): Html {
  const { stage, intended, share } = in_force[kind];
  const name = stage === 'canary' ? `${t('stage.canary')} ${number(share)} %` : t(`stage.${stage}`);
  const meant =
    stage === intended ? '' : html` ${badge('bad', t('merchant.stopped_at', { stage: t(`stage.${intended}`) }))}`;
  return html`${badge(stage, name)}${meant}`;
}

function shown(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

// Both lanes of a merchant: health, and open sales by unit; refreshed while the page is open.

function lanes({ words, path }: Visit, line: FleetLine | null, drain: DrainView): Html {
  const { t } = words;
  const { orders, legacy, safe_to_close_at } = drain;
  const unitRow = (lane: 'orders' | 'legacy', unit: DrainView['legacy']['units'][number], notices: number | null) => ({
    unit: unit.unit,
    lane: badge(lane, t(`stage.${lane}`)),
    open: unit.open,
    oldest: timeOf(words, unit.oldest_at),
    latest_end: timeOf(words, unit.latest_end_at),
    in_doubt: unit.in_doubt === 0 ? 0 : badge('warn', String(unit.in_doubt)),
    notices,
  });
  const rows = [
    ...orders.units.map((unit) => unitRow('orders', unit, unit.notices_pending)),
    ...legacy.units.map((unit) => unitRow('legacy', unit, null)),
  ];
  // A sale that is open beyond its lifetime has no known end.
  const end =
    safe_to_close_at === null
      ? saysAll(words, drain.says, drain.said)
      : orders.open === 0
        ? null
        : html`${t('lanes.safe')} ${timeOf(words, safe_to_close_at)}.`;
  return html`<section id="lanes" aria-labelledby="lanes-title" hx-get="${merchantPath(path.id ?? '', '/lanes')}" hx-trigger="every 5s" hx-select="#lanes" hx-select-oob="#now" hx-swap="outerMorph ignoreTitle:true">
<h2 id="lanes-title">${t('merchant.lanes')}</h2>
<div class="two"><div><h3>${t('board.legacy')}</h3>${pulse(words, 'legacy', line?.health.legacy ?? null)}</div>
<div><h3>${t('board.orders')}</h3>${pulse(words, 'orders', line?.health.orders ?? null)}</div></div>
<h3>${t('lanes.open_now')}</h3>
<p>${t('lanes.counts', { orders: orders.open, legacy: legacy.open })} ${end}</p>
${rows.length === 0 ? null : table(words, 'lanes', t('lanes.open_now'), rows)}
</section>`;
}

// Evidence of a merchant: losses, differences, coverage.

type Loss = z.infer<typeof lossesView>['losses'][number];
type Difference = z.infer<typeof differencesView>['differences'][number];
type Cell = z.infer<typeof coverageView>['cells'][number];

const STATES = ['equal', 'different', 'seen', 'unchecked', 'never_seen'] as const;

function lossTable(words: Words, found: readonly Loss[]): Html {
  const { t } = words;
  const rows = found.map(
    ({ field, operation, weight, real_count, would_be_count, last_at, why, advice, advice_said }) => ({
      field: code(field),
      weight: badge(weight === 'other' ? 'shadow' : 'warn', t(`weight.${weight}`)),
      operation,
      real: real_count,
      paper: would_be_count,
      last: timeOf(words, last_at),
      why: html`${written(words, why)}<details><summary>${t('losses.advice')}</summary>${says(words, advice, advice_said)}</details>`,
    }),
  );
  return table(words, 'losses', t('merchant.losses'), rows, t('losses.none'));
}

function differenceTable(visit: Visit, found: readonly Difference[]): Html {
  const { words } = visit;
  const { t } = words;
  const rows = found.map((one) => {
    const { operation, path, legacy, orders, state, count, last_at, note, sample, accepted_until } = one;
    return {
      where: html`${operation}<br>${code(path === '' ? t('differences.whole') : path)}`,
      sides: html`<div class="lines"><span>${t('stage.legacy')}: <code>${legacy}</code></span><span>${t('stage.orders')}: ${answered(words, orders)}</span></div>`,
      count: html`${count}<br><a href="${linkTo('/trace', { id: sample })}">${t('finding.sample')}</a>`,
      last: timeOf(words, last_at),
      state: html`${badge(state === 'new' ? 'bad' : 'good', t(`difference.${state}`))} ${timeOf(words, accepted_until)} ${note}`,
      judge: judgeForm(visit, one),
    };
  });
  return table(words, 'differences', t('merchant.differences'), rows, t('differences.none'));
}

function judgeForm(visit: Visit, { merchant_id, signature, revision, operation }: Difference): Html {
  const { t } = visit.words;
  const states = judgements.map((one) => [one, t(`difference.${one}`)] as const);
  const name = (field: string): string => `${field}-${signature}`;
  const path = merchantPath(merchant_id, `/differences/${encodeURIComponent(signature)}`);
  return html`<details><summary>${t('differences.judge')}<span class="unseen"> ${operation}</span></summary>${changeForm(
    visit,
    path,
    html`${hidden('revision', revision)}
<label for="${name('state')}">${t('differences.state')}</label><select id="${name('state')}" name="state">${options(states, 'explained')}</select>
<label for="${name('until')}">${t('differences.until')}</label><input id="${name('until')}" name="until" type="date">
<label for="${name('note')}">${t('differences.note')}</label><input id="${name('note')}" name="note" type="text" minlength="3" maxlength="500" required>
<button>${t('differences.save')}</button>`,
  )}</details>`;
}

/** Grouped by operation: a merchant may have hundreds of fields. */
function coverage(words: Words, cells: readonly Cell[]): Content {
  const { t } = words;
  const operations = [...new Set(cells.map(({ operation }) => operation))];
  const parts = operations.map((name) => {
    const own = cells.filter(({ operation }) => operation === name);
    const counts = STATES.map((state) => [state, own.filter((one) => one.state === state).length] as const);
    const rows = own.map(({ field, state, equal, different, last_at }) => {
      return {
        field: code(field),
        state: badge(state, t(`coverage.${state}`)),
        equal,
        different,
        last: timeOf(words, last_at),
      };
    });
    const sums = counts
      .filter(([, count]) => count > 0)
      .map(([state, count]) => html` ${badge(state, `${t(`coverage.${state}`)} ${count}`)}`);
    return html`<details><summary><strong>${name}</strong>${sums}</summary>${table(words, 'coverage', name, rows)}</details>`;
  });
  return parts.length === 0 ? html`<p class="none">${t('coverage.none')}</p>` : parts;
}
