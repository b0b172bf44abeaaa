/** The list of sales: filters, one row a sale, and its trace behind each. */
import type { z } from 'zod';
import type { Words } from '../../locales/words.ts';
import { type Html, html, moneyOf, says, timeOf } from '../html.ts';
import { saleStates } from '../sale-state.ts';
import type { salesView } from '../trace/sales.ts';
import { type Form, given, instantOf, linkTo, merchantPath, type Page } from './kit.ts';
import { actForm, badge, field, hidden, merchantLink, olderPages, table, unlessUnseen } from './parts.ts';

type Sale = z.infer<typeof salesView>['sales'][number];

/** Text fields of the filter, in this order. */
const FIELDS = ['merchant', 'search', 'tag', 'unit', 'reference', 'amount_from', 'amount_to', 'currency'] as const;
const TIMES = ['since', 'until'] as const;

const saleList: Page = {
  path: '/sales',
  async show({ words, query, ask }) {
    const { t } = words;
    const { state, lane, family, since, until } = query;
    const named = Object.fromEntries([...FIELDS, 'before'].map((name) => [name, query[name]]));
    const filter = given({ ...named, state, lane, family, since: instantOf(since), until: instantOf(until) });
    const fields = FIELDS.map((name) => field.input(name, t(`sales.${name}`), query[name], html` maxlength="256"`));
    // A move is known to the millisecond, and so are the sums that link to this list.
    const step = (value = ''): Html => html` step="${value.includes('.') ? '0.001' : '1'}"`;
    const times = TIMES.map((name) => field.time(name, t(`form.${name}`), query[name], step(query[name])));
    const list = await unlessUnseen(words, ask('GET /api/sales', { query: filter }), ({ sales, next, searched_to }) => {
      const paused = searched_to === null ? null : html`<p>${t('sales.searched_to')} ${timeOf(words, searched_to)}</p>`;
      return html`${saleTable(words, sales)}${paused}${olderPages(words, '/sales', query, next ?? undefined)}`;
    });
    const content = html`<form class="filters" action="/sales" method="get">
${field.filter(words, 'state', t('sales.state'), saleStates, (one) => t(`sales.state.${one}`), state)}
${field.filter(words, 'lane', t('sales.lane'), ['legacy', 'orders'], (one) => t(`stage.${one}`), lane)}
${field.filter(words, 'family', t('sales.family'), ['point', 'qr'], (one) => t(`family.${one}`), family)}
${fields}${times}<p><button>${t('board.show')}</button></p></form>
${list}`;
    return { title: t('nav.sales'), content };
  },
};

/** The page on which a person accepts a disagreement that nobody can repair. */
export function acceptPath(id: string): string {
  return `/sales/${encodeURIComponent(id)}/acknowledge`;
}

const acceptPage: Page = {
  path: '/sales/:id/acknowledge',
  async show(visit) {
    const { words, path, ask } = visit;
    const { t } = words;
    const { id = '' } = path;
    const seen = await ask('GET /api/sales/:id/disagreements', { path: { id } });
    const { disagreements, newest, in_the_way, in_the_way_said } = seen;
    const items = disagreements.map(
      ({ kind, what, said }) => html`<li><b>${t(`mismatch.${kind}`)}</b> ${says(words, what, said)}</li>`,
    );
    const form =
      in_the_way === null
        ? actForm(visit, acceptPath(id), 'accept-reason', t('accept.go'), '', hidden('expected', newest))
        : html`<p class="notice" role="status">${says(words, in_the_way, in_the_way_said)}</p>`;
    const content = html`<p class="lead">${t('accept.lead')}</p>
<p>${t('accept.sale')} <a href="${linkTo('/trace', { id })}"><code>${id}</code></a>, ${moneyOf(words, seen) ?? t('sale.no_amount')}</p>
${items.length === 0 ? null : html`<ul class="findings">${items}</ul>`}
${form}`;
    return { title: t('accept.title'), content };
  },
};

export const acceptForm: Form = {
  path: '/sales/:id/acknowledge',
  page: acceptPage,
  async send({ ask, path: { id = '' } }, { reason, expected }) {
    const request = { path: { id }, body: { reason, expected } };
    const { merchant_id } = await ask('POST /api/sales/:id/acknowledge', request);
    return `${merchantPath(merchant_id)}?done=accepted#readiness`;
  },
};

export const salePages: readonly Page[] = [saleList, acceptPage];

function saleTable(words: Words, sales: readonly Sale[]): Html {
  const { t } = words;
  const rows = sales.map((sale) => ({
    created: timeOf(words, sale.created_at),
    sale: traceLink(sale, sale.legacy_id ?? sale.client_reference),
    merchant: merchantLink(sale.merchant, sale.merchant_name),
    unit: sale.unit,
    lane: badge(sale.lane, t(`stage.${sale.lane}`)),
    state: html`${stateBadge(words, sale.state)} ${refundOf(words, sale)}`,
    amount: moneyOf(words, sale) ?? t('sale.no_amount'),
    reference: sale.client_reference,
  }));
  return table(words, 'sales', t('nav.sales'), rows, t('sales.none'));
}

function traceLink({ merchant }: Sale, id: string | null): Html | null {
  return id === null ? null : html`<a href="${linkTo('/trace', { id, merchant })}"><code>${id}</code></a>`;
}

/** How much of a sale was refunded; null: nothing that is known. */
export function refundOf(words: Words, { refund, refunded, currency }: Pick<Sale, 'refund' | 'refunded' | 'currency'>) {
  if (refund === null) return null;
  return html`${words.t(`sales.refund.${refund}`)} ${moneyOf(words, { amount: refunded, currency })}`;
}

/** Colours of what needs attention; the word has the meaning. */
const KINDS: Readonly<Partial<Record<Sale['state'], string>>> = { lost: 'bad', in_doubt: 'warn', paid: 'good' };

/** The colour repeats the word, and says nothing more. */
export function stateBadge({ t }: Words, state: Sale['state']): Html {
  return badge(KINDS[state] ?? '', t(`sales.state.${state}`));
}
