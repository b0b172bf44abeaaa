/** Reconciliation: a comparison of sales with upstream, and the repair of what is safe to repair. */
import { type Content, type Html, html, says } from '../html.ts';
import type { ReconcileNews, Unread } from '../reconcile/reconcile.ts';
import { type Fields, type Form, given, instantOf, linkTo, type Page, type Visit } from './kit.ts';
import { actForm, badge, field, hidden, merchantLink, section, table } from './parts.ts';

/** Mismatches shown; the counts include all. */
const SHOWN = 200;

export const reconcilePage: Page = {
  path: '/reconcile',
  async show(visit) {
    const { words, query, sent } = visit;
    const { t } = words;
    const fields: Fields = { ...query, ...sent };
    const content = html`<p class="lead">${t('reconcile.lead')}</p>
<form class="filters" action="/reconcile" method="get"><input type="hidden" name="compare" value="true">
${field.merchant(words, fields.merchant, 'merchant', t('reports.fleet'))}
${field.time('since', t('reconcile.since'), fields.since)}
<p><button>${t('reconcile.compare')}</button></p></form>
${fields.compare === 'true' ? await comparison(visit, fields) : ''}`;
    return { title: t('reconcile.title'), content };
  },
};

/** Compares again after the repair, so that the page shows what is left. */
export const reconcileForm: Form = {
  path: '/reconcile',
  page: reconcilePage,
  async send(visit, { merchant = '', since = '', reason }) {
    const { ended_on_legacy: ended, not_asked } = (await run(visit, { merchant, since }, { apply: true, reason })).done;
    const asked = ended + not_asked === 0 ? {} : { ended: String(ended), not_asked: String(not_asked) };
    return linkTo('/reconcile', { compare: 'true', merchant, since, done: 'reconciled', ...asked });
  },
};

async function comparison(visit: Visit, { merchant = '', since = '', ended, not_asked }: Fields): Promise<Html> {
  const { words } = visit;
  const { t } = words;
  const { mismatches, unread, done } = await run(visit, { merchant, since }, {});
  const rows = mismatches.map(({ kind, merchant_id, merchant_name, legacy_id, order_id, what, said, repair }) => ({
    what: html`<strong>${t(`mismatch.${kind}`)}</strong><br>${says(words, what, said)}`,
    merchant: merchantLink(merchant_id, merchant_name),
    sale: saleLink({ legacy_id, order_id }),
    repair: badge(repair === 'none' ? 'warn' : 'good', t(repair === 'none' ? 'reconcile.by_hand' : 'reconcile.safe')),
  }));
  const { checked, unreadable, mismatches: count, open_on_legacy, left_out } = done;
  const fields = html`${hidden('compare', 'true')}${hidden('merchant', merchant)}${hidden('since', since)}`;
  const form = actForm(visit, '/reconcile', 'repair-reason', t('reconcile.repair'), '', fields);
  const unread_rows = unread.map((one) => ({
    merchant: merchantLink(one.merchant_id, one.merchant_name),
    sale: saleLink(one),
  }));
  const asked =
    ended === undefined
      ? null
      : html`<p>${t('reconcile.asked_legacy', { ended: Number(ended), not_asked: Number(not_asked) })}</p>`;
  const is_repairable = open_on_legacy > 0 || mismatches.some(({ repair }) => repair !== 'none');
  return section(
    'mismatches',
    t('reconcile.found'),
    html`${asked}<p>${t('reconcile.checked', { checked, count, unreadable })} ${left_out ? t('reconcile.left_out') : null} ${open_on_legacy > 0 ? t('reconcile.on_legacy', { count: open_on_legacy }) : null}</p>
${table(words, 'reconcile', t('reconcile.found'), rows, t('reconcile.none'))}${is_repairable ? form : null}
${unread.length === 0 ? null : html`<h3>${t('reconcile.unread')}</h3>${table(words, 'reconcile', t('reconcile.unread'), unread_rows)}`}`,
  );
}

function saleLink({ legacy_id, order_id }: Pick<Unread, 'legacy_id' | 'order_id'>): Content {
  return legacy_id === null ? order_id : html`<a href="${linkTo('/trace', { id: legacy_id })}">${legacy_id}</a>`;
}

type News<Kind> = Extract<ReconcileNews, { news: Kind }>;

/** @returns at most `SHOWN` of each list, and the counts. @throws PuenteError as the API refuses. */
async function run(
  { ask, signal }: Visit,
  { merchant = '', since = '' }: Fields,
  apply: { apply?: boolean; reason?: string | undefined },
) {
  const body = { ...given({ merchant, since: instantOf(since) }), ...apply };
  const made = await ask('POST /api/reconcile', { body, signal });
  const mismatches: News<'mismatch'>['mismatch'][] = [];
  const unread: Unread[] = [];
  for await (const line of made.parts) {
    signal.throwIfAborted();
    const news = JSON.parse(line) as ReconcileNews; // each part is one line of the API's own news
    if (news.news === 'mismatch' && mismatches.length < SHOWN) mismatches.push(news.mismatch);
    if (news.news === 'unread' && unread.length < SHOWN) unread.push(news);
    if (news.news === 'done') return { mismatches, unread, done: news };
  }
  throw new TypeError('the reconciliation did not end');
}
