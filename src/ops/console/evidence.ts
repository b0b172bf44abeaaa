/** What the calls that legacy answered say about orders: whether their creates would pass, and what no table knows. */
import type { Words } from '../../locales/words.ts';
import { type Content, code, html, says, timeOf, withCode, written } from '../html.ts';
import { detailOf } from '../readiness/side.ts';
import { given, linkTo, type Page } from './kit.ts';
import { badge, field, merchantLink, section, table, unlessUnseen } from './parts.ts';

export const evidencePage: Page = {
  path: '/evidence',
  async show({ words, query, ask }) {
    const { t } = words;
    const ofMerchant = { query: given({ merchant: query.merchant }) };
    const verdicts = await unlessUnseen(words, ask('GET /api/verdicts', ofMerchant), (found) => {
      const rows = found.verdicts.map((one) => ({
        merchant: merchantLink(one.merchant_id, one.merchant_name),
        operation: one.operation,
        verdict: badge(one.verdict === 'accepted' ? 'good' : 'bad', t(`evidence.${one.verdict}`)),
        code: code(one.code),
        why: one.detail === null ? null : whyOf(words, one.detail),
        count: one.count,
        on_legacy: one.verdict === 'accepted' ? null : one.refused_on_legacy,
        last: html`<a href="${linkTo('/trace', { id: one.sample })}">${timeOf(words, one.last_at)}</a>`,
      }));
      return table(words, 'evidence', t('evidence.verdicts'), rows, t('evidence.no_verdicts'));
    });
    const unknowns = await unlessUnseen(words, ask('GET /api/unknowns', ofMerchant), (found) => {
      const rows = found.unknowns.map((one) => ({
        merchant: merchantLink(one.merchant_id, one.merchant_name),
        what: t(`evidence.${one.what}`),
        name: code(one.name),
        count: one.count,
        first: timeOf(words, one.first_at),
        last: timeOf(words, one.last_at),
      }));
      return table(words, 'evidence', t('evidence.unknowns'), rows, t('evidence.no_unknowns'));
    });
    const content = html`<form class="filters" action="/evidence" method="get">${field.merchant(words, query.merchant)}<p><button>${t('board.show')}</button></p></form>
${section('verdicts', t('evidence.verdicts'), verdicts, t('evidence.verdicts_lead'))}
${section('unknowns', t('evidence.unknowns'), unknowns, withCode(t('evidence.unknowns_lead')))}`;
    return { title: t('evidence.title'), content };
  },
};

/** As the trace has it. */
function whyOf(words: Words, stored: string): Content {
  const detail = detailOf(stored);
  return typeof detail === 'string' ? written(words, detail) : says(words, detail.text, detail.said);
}
