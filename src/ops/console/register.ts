/** The register: where a till sees something else than before, and what is taken for granted. */
import { assumptionsView, limitationsView } from '../api/register.ts';
import { html } from './html.ts';
import { row, table } from './parts.ts';
import { written } from './says.ts';
import type { Page } from './visit.ts';

export const limitationPage: Page = {
  path: '/limitations',
  async show({ words, ask }) {
    const { t } = words;
    const { limitations } = await ask('GET /api/limitations', limitationsView);
    const rows = limitations.map(({ id, title, effect, workaround, operations }) =>
      row(
        html`<span class="whole" id="${id}">${id}</span>`,
        html`<strong>${written(words, title)}</strong><br>${written(words, effect)}`,
        written(words, workaround),
        html`<details><summary>${operations.length}</summary><span class="small">${operations.join(', ')}</span></details>`,
      ),
    );
    const head = ['id', 'effect', 'workaround', 'operations'].map((key) => t(`limitation.${key}`));
    const content = html`<p class="lead">${t('limitation.lead')}</p>${table(t('nav.limitations'), head, rows, t('limitation.none'))}`;
    return { title: t('nav.limitations'), content };
  },
};

export const assumptionPage: Page = {
  path: '/assumptions',
  async show({ words, ask }) {
    const { t } = words;
    const { assumptions } = await ask('GET /api/assumptions', assumptionsView);
    const rows = assumptions.map(({ name, value, sentence: why }) =>
      row(html`<code>${name}</code>`, html`<code>${value}</code>`, written(words, why)),
    );
    const head = ['name', 'value', 'why'].map((key) => t(`assumption.${key}`));
    const content = html`<p class="lead">${t('assumption.lead')}</p>${table(t('nav.assumptions'), head, rows, t('assumption.none'))}`;
    return { title: t('nav.assumptions'), content };
  },
};
