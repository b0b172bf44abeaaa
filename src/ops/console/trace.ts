/** The trace page: the steps of one sale, found by any id, with the captured messages of its calls. */
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import type { Words } from '../../locales/words.ts';
import type { callView, tracesView } from '../api/trace.ts';
import { type Content, durationOf, type Html, html, moneyOf, says, saysEach, timeOf, written } from '../html.ts';
import { given, linkTo, type Page, type Visit } from './kit.ts';
import { badge, merchantLink, messageBox, section } from './parts.ts';
import { acceptPath, refundOf, stateBadge } from './sales.ts';

type Trace = z.infer<typeof tracesView>['traces'][number];
type Sale = NonNullable<Trace['sale']>;
type Call = z.infer<typeof callView>;

const SHOWN_MERCHANTS = 10;
/** Of the fleet's search. */
const LONGEST_SEARCH = 64;
/** Calls shown with messages; a till that polls makes hundreds. */
const SHOWN_CALLS = 12;
/** Facts of a sale that are shown unchanged, in this order. */
const IDS = [
  'legacy_id',
  'order_id',
  'payment_id',
  'merchant_order_id',
  'client_reference',
  'reference_sent',
  'tables_revision',
] as const;

export const tracePage: Page = {
  path: '/trace',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const { id = '', merchant } = query;
    if (id.trim() === '') return { title: t('trace.title'), content: html`<p class="lead">${t('trace.hint')}</p>` };
    const merchants = await merchantsLike(visit, id);
    const { traces } = await visit.ask('GET /api/trace', { query: given({ id, merchant }) }).catch((error: unknown) => {
      if (error instanceof PuenteError && error.code === 'not_found' && merchants !== null) return { traces: [] };
      throw error;
    });
    const stories = await Promise.all(traces.map((trace, nth) => story(visit, trace, nth)));
    const several = traces.length > 1 ? html`<p class="lead">${t('trace.several', { count: traces.length })}</p>` : '';
    return { title: t('trace.title'), content: html`${merchants}${several}${stories}` };
  },
};

/** Merchants whose id, name or tag contains what is searched; null without any. */
async function merchantsLike(visit: Visit, search: string): Promise<Content> {
  if (search.length > LONGEST_SEARCH) return null;
  const query = { search, sort: 'merchant', per_page: SHOWN_MERCHANTS };
  const { merchants, found } = await visit.ask('GET /api/fleet', { query });
  if (found === 0) return null;
  const items = merchants.map(({ merchant_id, name }) => html`<li>${merchantLink(merchant_id, name)}</li>`);
  const all =
    found > merchants.length
      ? html`<p><a href="${linkTo('/', { search })}">${visit.words.t('trace.all_merchants', { count: found })}</a></p>`
      : null;
  return section('merchants', visit.words.t('board.title'), html`<ul>${items}</ul>${all}`);
}

async function story(visit: Visit, trace: Trace, nth: number): Promise<Html> {
  const { words } = visit;
  const { t } = words;
  const { sale, trouble, promise, promise_said, steps, rules, tables_changed, found_as } = trace;
  const calls = await callsOf(visit, trace);
  const lines = steps.map(
    ({ at, kind, what, said, id }) =>
      html`<li><time datetime="${at}">${words.moment(at)}</time><span>${badge(`step-${kind}`, t(`step.${kind}`))}</span><span>${saysEach(words, what, said, '; ')}${stepLink(words, kind, id)}</span></li>`,
  );
  const said = rules.map(
    (rule) =>
      html`<li><code>${rule.row}</code> ${says(words, rule.says, rule.says_said)}<br><span class="small">${written(words, rule.why)}</span></li>`,
  );
  const changed = tables_changed ? html`<p class="notice warn">${t('trace.tables_changed')}</p>` : '';
  return html`<p>${t('trace.found_as')} ${words.t(`found.${found_as.replace(' ', '_')}`)}</p>
${sale === null ? '' : saleFacts(words, sale)}
${trouble === null ? '' : html`<div class="notice ${trouble.state === 'lost' ? 'bad' : 'warn'}" role="alert"><p>${stateBadge(words, trouble.state)} ${saysEach(words, trouble.what, trouble.said === null ? [] : [trouble.said], '')}</p>${accepting(words, trace)}</div>`}
<p class="notice${trouble === null ? ' good' : ''}">${says(words, promise, promise_said)}</p>
${section(`story-${nth}`, t('trace.story'), html`<ol class="story">${lines}</ol>`)}
${section(`messages-${nth}`, t('trace.messages'), messagesOf(words, calls), t('trace.messages_lead'))}
${section(`rules-${nth}`, t('trace.rules', { count: rules.length }), html`${changed}<details><summary>${t('trace.show_rules')}</summary><ul class="findings">${said}</ul></details>`)}`;
}

function accepting({ t }: Words, { sale, trouble }: Trace): Content {
  const id = sale?.legacy_id ?? null;
  if (id === null || trouble?.state !== 'lost') return null;
  return html`<form action="${acceptPath(id)}" method="get"><button>${t('accept.go')}</button></form>`;
}

function saleFacts(words: Words, sale: Sale): Html {
  const { t } = words;
  const { merchant, merchant_name, family, unit, lane, created_at, state, legacy_state, ends_at } = sale;
  const ids = IDS.filter((name) => sale[name] !== null).map(
    (name) => html`<dt>${t(`sale.${name}`)}</dt><dd><code>${sale[name]}</code></dd>`,
  );
  return html`<dl class="facts">
<dt>${t('board.merchant')}</dt><dd>${merchantLink(merchant, merchant_name)}, ${t(`family.${family}`)} ${unit}</dd>
<dt>${t('sale.amount')}</dt><dd>${moneyOf(words, sale) ?? t('sale.no_amount')}</dd>
<dt>${t('sale.created_on')}</dt><dd>${badge(lane, t(`stage.${lane}`))} ${timeOf(words, created_at)}</dd>
<dt>${t('sale.state')}</dt><dd>${words.named(`sale_state.${state}`, state)} <code>${state}</code>${legacy_state === null ? '' : html` · ${t('sale.till_sees', { state: legacy_state })}`}${sale.refund === null ? '' : html` · ${refundOf(words, sale)}`}</dd>
${ends_at === null ? '' : html`<dt>${t('lanes.latest_end')}</dt><dd>${timeOf(words, ends_at)}</dd>`}
${ids}
</dl>`;
}

/** The first calls of the till; calls that are too old to be stored are left out. */
async function callsOf(visit: Visit, { steps }: Trace): Promise<Call[]> {
  const ids = [...new Set(steps.flatMap(({ kind, id }) => (kind === 'till' && id !== null ? [id] : [])))];
  const found = ids.slice(0, SHOWN_CALLS).map((id) =>
    visit.ask('GET /api/exchanges/:id', { path: { id } }).catch((error: unknown) => {
      if (error instanceof PuenteError && error.code === 'not_found') return null;
      throw error;
    }),
  );
  return (await Promise.all(found)).filter((call) => call !== null);
}

function messagesOf(words: Words, calls: readonly Call[]): Content {
  const { t } = words;
  if (calls.length === 0) return html`<p class="none">${t('trace.no_calls')}</p>`;
  return html`${calls.map(({ id, at, operation, lane, status, duration_ms, messages }) => {
    const name = html`${timeOf(words, at)} <strong>${operation ?? t('trace.unknown_call')}</strong> ${badge(lane, t(`stage.${lane}`))} ${status} · ${durationOf(words, duration_ms)}`;
    const explained = html`<p><a href="${linkTo('/explain', { exchange: id })}">${t('explainer.go')}</a></p>`;
    const kept =
      messages === null
        ? html`<p class="none">${t('trace.not_captured')}</p>`
        : html`${explained}${fourMessages(words, messages)}`;
    return html`<details id="call-${id}"${messages === null ? '' : html` open`}><summary>${name}</summary>${kept}</details>`;
  })}`;
}

/** The till's request, the upstream requests with their answers, and the answer to the till. */
function fourMessages({ t }: Words, { request, answer, upstream }: NonNullable<Call['messages']>): Html {
  return html`<div class="messages">
${messageBox(t('trace.request'), `${request.method} ${request.target}`, request.body)}
${upstream.map(
  (one) => html`${messageBox(t('trace.upstream'), `${one.method} ${one.path}`, one.body)}
${messageBox(t('trace.upstream_answer'), one.status === null ? t('trace.no_answer') : String(one.status), one.answer)}`,
)}
${messageBox(t('trace.answer'), String(answer.status), answer.body)}
</div>`;
}

function stepLink({ t }: Words, kind: string, id: string | null): Content {
  if (id === null) return null;
  if (kind === 'notice') return html` <a href="/notices/${encodeURIComponent(id)}">${t('trace.notice')}</a>`;
  return kind === 'till' ? html` <a href="#call-${id}">${t('trace.call')}</a>` : null;
}
