/** Brown-outs: the windows there were and will be, the form that schedules one, and ending one at once. */
import { brownoutsView } from '../api/moves.ts';
import { type Html, html, timeOf } from '../html.ts';
import type { BrownoutView } from '../moves/brownouts.ts';
import { type Form, instantOf, linkTo, merchantPath, type Page, type Visit } from './kit.ts';
import { badge, changeForm, reasonField, section, table } from './parts.ts';

export const brownoutPage: Page = {
  path: '/brownouts',
  async show(visit) {
    const { words, sent } = visit;
    const { t } = words;
    const { brownouts } = await visit.ask('GET /api/brownouts', brownoutsView);
    const rows = brownouts.map((one) => ({
      from: html`<a href="${linkTo('/refused', { id: one.id })}">${timeOf(words, one.from)}</a>`,
      until: timeOf(words, one.until),
      state: badge(one.state === 'running' ? 'warn' : 'shadow', t(`brownout.${one.state}`)),
      merchants: one.merchants.map((id) => html`<a href="${merchantPath(id)}">${id}</a> `),
      reason: one.reason,
      end: endForm(visit, one),
    }));
    const content = html`<p class="lead">${t('brownouts.lead')}</p>
${table(words, 'brownouts', t('brownouts.title'), rows, t('brownouts.none'))}
${section(
  'schedule',
  t('brownouts.schedule'),
  changeForm(
    visit,
    '/brownouts',
    html`<div class="target"><p><label for="merchants">${t('brownouts.whom')}</label><textarea id="merchants" name="merchants" rows="2" required>${sent.merchants ?? ''}</textarea></p>
<p><label for="from">${t('form.since')}</label><input id="from" name="from" type="datetime-local" required value="${sent.from ?? ''}"></p>
<p><label for="until">${t('form.until')}</label><input id="until" name="until" type="datetime-local" required value="${sent.until ?? ''}"></p></div>
${reasonField(visit, 'brownout-reason')}<button>${t('brownouts.go')}</button>`,
  ),
  t('brownouts.schedule_lead'),
)}`;
    return { title: t('brownouts.title'), content };
  },
};

function endForm(visit: Visit, { id, state }: BrownoutView): Html | null {
  const { t } = visit.words;
  if (state !== 'running' && state !== 'scheduled') return null;
  return html`<details><summary>${t('brownouts.abort')}</summary>${changeForm(visit, `/brownouts/${id}/abort`, html`${reasonField(visit, `abort-${id}`)}<button class="danger">${t('brownouts.abort')}</button>`)}</details>`;
}

export const brownoutForms: readonly Form[] = [
  {
    path: '/brownouts',
    page: brownoutPage,
    async send({ tell }, { merchants = '', from = '', until = '', reason }) {
      const named = merchants.split(/[\s,;]+/).filter((one) => one !== '');
      const body = { merchants: named, from: instantOf(from), until: instantOf(until), reason };
      await tell('POST /api/brownouts', { body });
      return '/brownouts?done=scheduled';
    },
  },
  {
    path: '/brownouts/:id/abort',
    page: brownoutPage,
    async send({ tell, path }, { reason }) {
      await tell('POST /api/brownouts/:id/abort', { path: { id: path.id ?? '' }, body: { reason } });
      return '/brownouts?done=aborted';
    },
  },
];
