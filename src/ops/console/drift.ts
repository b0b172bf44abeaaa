/** Drift: merchants that were changed by hand since a file of merchants was applied to them. */
import { html, timeOf, withCode } from '../html.ts';
import type { Page } from './kit.ts';
import { linesOf, merchantLink, table } from './parts.ts';

export const driftPage: Page = {
  path: '/drift',
  async show({ words, ask }) {
    const { t } = words;
    const { drifted } = await ask('GET /api/plan/drift');
    const rows = drifted.map(({ merchant_id, name, file, applied_at, drift, drift_said }) => ({
      merchant: merchantLink(merchant_id, name),
      file,
      applied: timeOf(words, applied_at),
      what: linesOf(words, drift, drift_said),
    }));
    const content = html`<p class="lead">${withCode(t('drift.lead'))}</p>${table(words, 'drift', t('drift.title'), rows, t('drift.none'))}`;
    return { title: t('drift.title'), content };
  },
};
