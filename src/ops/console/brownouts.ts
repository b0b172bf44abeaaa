/** Brown-outs: the windows there were and will be, who was refused in one, the form that schedules one, and ending one at once. */

import type { Words } from '../../locales/words.ts';
import { stages } from '../../proxy/routing/merchant.ts';
import { type Html, html, timeOf } from '../html.ts';
import type { BrownoutLine, BrownoutView } from '../moves/brownouts.ts';
import { whomFields, whomOf } from './bulk.ts';
import { type Form, given, instantOf, type Page, reasonForm, type Visit } from './kit.ts';
import {
  actForm,
  badge,
  changeForm,
  field,
  merchantLink,
  reasonField,
  section,
  table,
  unlessUnseen,
  whoseForm,
} from './parts.ts';

const windowList: Page = {
  path: '/brownouts',
  async show(visit) {
    const { words, query, sent } = visit;
    const { t } = words;
    const { merchant } = query;
    const answer = visit.ask('GET /api/brownouts', { query: given({ merchant }), signal: visit.signal });
    const list = await unlessUnseen(words, answer, ({ brownouts }) => {
      const rows = brownouts.map((one) => ({
        from: html`<a href="/brownouts/${one.id}">${timeOf(words, one.from)}</a>`,
        until: timeOf(words, one.until),
        state: stateOf(visit, one),
        merchants: html`<div class="lines">${one.merchants.map((id) => merchantLink(id, one.names[id] ?? null))}</div>`,
        calls_refused: one.calls_refused ?? t('brownouts.deleted'),
        units_refused: unitsOf(words, one),
        reason: one.reason,
        end: endForm(visit, one),
      }));
      return table(words, 'brownouts', t('brownouts.title'), rows, t('brownouts.none'));
    });
    const content = html`<p class="lead">${t('brownouts.lead')}</p>
${whoseForm(words, '/brownouts', query)}${list}
${section(
  'schedule',
  t('brownouts.schedule'),
  changeForm(
    visit,
    '/brownouts',
    html`<div class="target">${whomFields(words, stages, sent)}</div><div class="target">
${field.time('from', t('form.since'), sent.from, html` required`)}
${field.time('until', t('form.until'), sent.until, html` required`)}</div>
${reasonField(visit, 'brownout-reason')}<button>${t('brownouts.go')}</button>`,
  ),
  t('brownouts.schedule_lead'),
)}`;
    return { title: t('brownouts.title'), content };
  },
};

/** Each unit that was refused, with when and how often. */
const windowPage: Page = {
  path: '/brownouts/:id',
  async show(visit) {
    const { words, path, ask, signal } = visit;
    const { t, number } = words;
    const shown = (count: string | number): string => (typeof count === 'number' ? number(count) : count);
    const request = { path, signal };
    const { refused, left_out, calls_refused, ...window } = await ask('GET /api/brownouts/:id', request);
    const rows = refused.map(({ merchant, merchant_name, unit, operation, calls, first_at, last_at }) => ({
      merchant: merchantLink(merchant, merchant_name),
      unit: unit ?? t('refused_in.no_unit'),
      operation,
      calls,
      first: timeOf(words, first_at),
      last: timeOf(words, last_at),
    }));
    const more =
      left_out === 0 ? null : html`<p class="notice warn">${t('refused_in.left_out', { count: left_out })}</p>`;
    const content = html`<p>${stateOf(visit, window)} ${timeOf(words, window.from)} – ${timeOf(words, window.until)}: <span>${window.reason}</span></p>
<dl class="facts"><dt>${t('brownouts.calls_refused')}</dt><dd>${shown(calls_refused ?? t('brownouts.deleted'))}</dd>
<dt>${t('brownouts.units_refused')}</dt><dd>${shown(unitsOf(words, window))}</dd></dl>
${section('refused', t('refused_in.units'), html`${table(words, 'refused_in', t('refused_in.units'), rows, t('refused_in.nobody'))}${more}`, t('refused_in.lead'))}
<p><a href="/brownouts">${t('brownouts.title')}</a></p>`;
    return { title: t('refused_in.title'), content };
  },
};

export const brownoutPages: readonly Page[] = [windowList, windowPage];

function unitsOf({ t, number }: Words, one: Pick<BrownoutLine, 'units_refused' | 'has_more_units'>): string | number {
  const { units_refused: units, has_more_units } = one;
  if (units === null) return t('brownouts.deleted');
  return has_more_units ? t('brownouts.at_least', { count: number(units) }) : units;
}

function stateOf({ words }: Visit, { state }: Pick<BrownoutView, 'state'>): Html {
  return badge(state === 'running' ? 'warn' : 'shadow', words.t(`brownout.${state}`));
}

function endForm(visit: Visit, { id, state }: BrownoutView): Html | null {
  const { t } = visit.words;
  if (state !== 'running' && state !== 'scheduled') return null;
  return html`<details><summary>${t('brownouts.abort')}</summary>${actForm(visit, `/brownouts/${id}/abort`, `abort-${id}`, t('brownouts.abort'), 'danger')}</details>`;
}

export const brownoutForms: readonly Form[] = [
  {
    path: '/brownouts',
    page: windowList,
    async send({ ask }, { from, until, reason, ...sent }) {
      const body = { ...whomOf(sent), from: instantOf(from), until: instantOf(until), reason };
      await ask('POST /api/brownouts', { body });
      return '/brownouts?done=scheduled';
    },
  },
  reasonForm('/brownouts/:id/abort', windowList, 'POST /api/brownouts/:id/abort', () => '/brownouts?done=aborted'),
];
