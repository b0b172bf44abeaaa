/** Decommission: what still needs legacy, a line for each merchant; and one merchant with its units. */
import { html, type Row, says } from '../html.ts';
import type { FleetDecommissionView } from '../readiness/decommission.ts';
import { QUIET_DAYS } from '../readiness/legacy-use.ts';
import { unitRows } from '../report/rows.ts';
import { given, type Page } from './kit.ts';
import { badge, merchantLink, section, table, unlessUnseen, whoseForm } from './parts.ts';

export const fleetDecommissionPage: Page = {
  path: '/decommission',
  async show({ words, query, ask, signal }) {
    const { t } = words;
    const { merchant } = query;
    const rowOf = (one: FleetDecommissionView['merchants'][number]): Row => {
      const { merchant_id: id, name, stage, may_go, units, units_free } = one;
      return {
        merchant: merchantLink(id, name, '/decommission'),
        stage: badge(stage, t(`stage.${stage}`)),
        may_go: badge(may_go ? 'good' : 'warn', t(may_go ? 'decommission.yes' : 'decommission.no')),
        last_on_legacy: one.last_legacy_day === null ? t('decommission.never') : words.day(one.last_legacy_day),
        quiet_days: one.quiet_days,
        open: one.open_on_legacy,
        units_free: t('decommission.free_of', { free: units_free, all: units }),
        why: says(words, one.why, one.why_said),
      };
    };
    const list = await unlessUnseen(
      words,
      ask('GET /api/decommission', { query: given({ merchant }), signal }),
      ({ merchants }) =>
        table(words, 'report.head', t('nav.decommission'), merchants.map(rowOf), t('decommission.none')),
    );
    const content = html`<p class="lead">${t('decommission.lead', { days: QUIET_DAYS })}</p>
${whoseForm(words, '/decommission', query)}${list}`;
    return { title: t('nav.decommission'), content };
  },
};

export const decommissionPage: Page = {
  path: '/merchants/:id/decommission',
  async show({ words, ask, path: { id = '' } }) {
    const { t } = words;
    const found = await ask('GET /api/merchants/:id/decommission', { path: { id } });
    const days = QUIET_DAYS;
    const calls = found.calls.map(({ name, calls, last_day }) => ({
      operation: name,
      calls,
      last: words.day(last_day),
    }));
    const units = unitRows(words, found.units);
    const content = html`<p>${merchantLink(id, found.name)}</p>
<p>${badge(found.may_go ? 'good' : 'warn', t(found.may_go ? 'decommission.yes' : 'decommission.no'))} ${says(words, found.why, found.why_said)}</p>
${section('units', t('decommission.units'), table(words, 'report.head', t('decommission.units'), units, t('decommission.no_unit')), t('decommission.lead', { days }))}
${section('calls', t('decommission.calls', { days }), table(words, 'report.head', t('decommission.calls', { days }), calls, t('decommission.no_calls')))}`;
    return { title: t('decommission.title', { id }), content };
  },
};
