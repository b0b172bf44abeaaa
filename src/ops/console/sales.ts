/** The list of sales: filters, one row a sale, and its trace behind each. */
import type { z } from 'zod';
import type { Words } from '../../locales/words.ts';
import { type Html, html, timeOf } from '../html.ts';
import { saleStates } from '../sale-state.ts';
import { salesView } from '../trace/sales.ts';
import { given, instantOf, linkTo, type Page } from './kit.ts';
import { badge, merchantLink, options, table } from './parts.ts';

type Sale = z.infer<typeof salesView>['sales'][number];

/** Text fields of the filter, in this order. */
const FIELDS = ['merchant', 'unit', 'reference', 'amount_from', 'amount_to'] as const;
const TIMES = ['since', 'until'] as const;

export const saleList: Page = {
  path: '/sales',
  async show({ words, query, ask }) {
    const { t } = words;
    const { state, before, since = '', until = '' } = query;
    const named = Object.fromEntries([...FIELDS, 'before'].map((name) => [name, query[name]]));
    const asked = given({ ...named, state, since: instantOf(since), until: instantOf(until) });
    const { sales, next, searched_to } = await ask('GET /api/sales', salesView, { query: asked });
    const states = saleStates.map((one) => [one, t(`sales.state.${one}`)] as const);
    const fields = FIELDS.map(
      (name) =>
        html`<p><label for="${name}">${t(`sales.${name}`)}</label><input id="${name}" name="${name}" value="${query[name] ?? null}" maxlength="256"></p>`,
    );
    const times = TIMES.map(
      (name) =>
        html`<p><label for="${name}">${t(`form.${name}`)}</label><input id="${name}" name="${name}" type="datetime-local" step="1" value="${query[name] ?? null}"></p>`,
    );
    const paused = searched_to === null ? null : html`<p>${t('sales.searched_to')} ${timeOf(words, searched_to)}</p>`;
    const pages = html`<nav class="pager" aria-label="${t('board.pages')}">
${before === undefined ? '' : html`<a href="${linkTo('/sales', { ...query, before: '' })}">${t('sales.newest')}</a>`}
${next === null ? '' : html`<a href="${linkTo('/sales', { ...query, before: next })}">${t('sales.older')}</a>`}</nav>`;
    const content = html`<form class="filters" action="/sales" method="get">
<p><label for="state">${t('sales.state')}</label><select id="state" name="state">${options([['', t('board.any')], ...states], state ?? '')}</select></p>
${fields}${times}<p><button>${t('board.show')}</button></p></form>
${saleTable(words, sales)}${paused}${next === null && before === undefined ? '' : pages}`;
    return { title: t('nav.sales'), content };
  },
};

function saleTable(words: Words, sales: readonly Sale[]): Html {
  const { t } = words;
  const rows = sales.map((sale) => ({
    created: timeOf(words, sale.born_at),
    sale: traceLink(sale, sale.legacy_id ?? sale.client_reference),
    merchant: merchantLink(sale.merchant, sale.merchant_name),
    unit: sale.unit,
    lane: badge(sale.lane, t(`stage.${sale.lane}`)),
    state: stateBadge(words, sale.state),
    amount: sale.amount === null ? t('sale.no_amount') : `${words.decimal(sale.amount)} ${sale.currency}`,
    reference: sale.client_reference,
  }));
  return table(words, 'sales', t('nav.sales'), rows, t('sales.none'));
}

function traceLink({ merchant }: Sale, id: string | null): Html | null {
  return id === null ? null : html`<a href="${linkTo('/trace', { id, merchant })}"><code>${id}</code></a>`;
}

/** Colours of what needs attention; the word has the meaning. */
const KINDS: Readonly<Partial<Record<Sale['state'], string>>> = { lost: 'bad', in_doubt: 'warn', paid: 'good' };

export function stateBadge({ t }: Words, state: Sale['state']): Html {
  return badge(KINDS[state] ?? '', t(`sales.state.${state}`));
}
