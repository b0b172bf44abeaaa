/** Captures: the merchants whose messages are kept, the switch, and the file of their exchanges. */
import { html } from '../html.ts';
import { type Download, type Form, given, instantOf, type Page } from './kit.ts';
import { changeForm, field, merchantLink, options, reasonField, section, table, whoseForm } from './parts.ts';

export const capturePage: Page = {
  path: '/captures',
  async show(visit) {
    const { words, query, sent } = visit;
    const { t } = words;
    const { merchants } = await visit.ask('GET /api/merchants', { query: given({ search: query.merchant }) });
    const captured = merchants.filter(({ settings }) => settings.capture?.value === true);
    const rows = captured.map(({ id, name, site }) => ({ merchant: merchantLink(id, name), site }));
    const states = [
      ['true', t('captures.on')],
      ['false', t('captures.off')],
    ] as const;
    const content = html`<p class="lead">${t('captures.lead')}</p>
${whoseForm(words, '/captures', query)}${table(words, 'captures', t('captures.title'), rows, t(query.merchant ? 'board.none' : 'captures.none'))}
${section(
  'switch',
  t('captures.switch'),
  changeForm(
    visit,
    '/captures',
    html`<label for="switch-merchant">${t('board.merchant')}</label><input id="switch-merchant" name="merchant" inputmode="numeric" required value="${sent.merchant ?? ''}">
<label for="capture">${t('captures.capture')}</label><select id="capture" name="capture">${options(states, sent.capture ?? 'true')}</select>
${reasonField(visit, 'switch-reason')}<button>${t('settings.save')}</button>`,
  ),
)}
${section(
  'export',
  t('captures.export'),
  html`<form class="filters" action="/captures/file" method="get">
${field.whose(words, query.merchant, 'export-merchant')}
${field.period(words, query)}
${field.tick('captured', t('captures.only'), 'true')}
<p><button>${t('captures.save')}</button></p></form>`,
  html`${t('captures.export_lead')} <code>puente assess FILE</code>, <code>puente replay FILE --against tables</code>`,
)}`;
    return { title: t('captures.title'), content };
  },
};

export const captureFile: Download = {
  path: '/captures/file',
  page: capturePage,
  row: 'GET /api/exchanges',
  queryOf: ({ merchant, since, until, captured }) =>
    given({ merchant, since: instantOf(since), until: instantOf(until), captured }),
};

export const captureForm: Form = {
  path: '/captures',
  page: capturePage,
  async send({ ask }, { merchant = '', capture, reason }) {
    const path = { id: merchant.trim() };
    const { revision } = await ask('GET /api/merchants/:id', { path });
    const body = { capture: capture === 'true', reason, revision };
    return `/captures?done=${(await ask('PUT /api/merchants/:id', { path, body })).result}`;
  },
};
