/** Who was refused in brown-outs: each window, and of the chosen one each unit with when and how often. */
import { brownoutRefusals, brownoutsView } from '../api/moves.ts';
import { html, timeOf } from '../html.ts';
import { linkTo, merchantPath, type Page } from './kit.ts';
import { section, table } from './parts.ts';

export const refusedPage: Page = {
  path: '/refused',
  async show({ words, query, ask }) {
    const { t } = words;
    const { brownouts } = await ask('GET /api/brownouts', brownoutsView);
    const windows = brownouts.map(({ id, from, until, reason, merchants }) => ({
      from: html`<a href="${linkTo('/refused', { id })}">${timeOf(words, from)}</a>`,
      until: timeOf(words, until),
      reason,
      merchants: words.list(merchants),
    }));
    const content = html`<p class="lead">${t('refused_in.lead')}</p>
${table(words, 'refused_in', t('refused_in.title'), windows, t('refused_in.no_window'))}`;
    if (query.id === undefined) return { title: t('refused_in.title'), content };
    const { refused } = await ask('GET /api/brownouts/:id', brownoutRefusals, { path: { id: query.id } });
    const rows = refused.map(({ merchant, unit, operation, calls, first_at, last_at }) => ({
      merchant: html`<a href="${merchantPath(merchant)}">${merchant}</a>`,
      unit: unit ?? t('refused_in.no_unit'),
      operation,
      calls,
      first: timeOf(words, first_at),
      last: timeOf(words, last_at),
    }));
    const found = table(words, 'refused_in', t('refused_in.units'), rows, t('refused_in.nobody'));
    return {
      title: t('refused_in.title'),
      content: html`${content}${section('refused', t('refused_in.units'), found)}`,
    };
  },
};
