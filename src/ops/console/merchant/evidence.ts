/** What evidence says of a merchant: the loss ledger, the inbox of differences, the coverage matrix. */
import type { z } from 'zod';
import type { Words } from '../../../locales/words.ts';
import type { differencesView } from '../../api/differences.ts';
import type { coverageView, lossesView } from '../../api/evidence.ts';
import { type Html, html } from '../html.ts';
import { badge, changeForm, hidden, options, row, section, table, timeOf } from '../parts.ts';
import { says, written } from '../says.ts';
import { merchantPath, type Visit } from '../visit.ts';

type Loss = z.infer<typeof lossesView>['losses'][number];
type Difference = z.infer<typeof differencesView>['differences'][number];
type Cell = z.infer<typeof coverageView>['cells'][number];

const JUDGEMENTS = ['explained', 'accepted', 'fixed'] as const;
const STATES = ['equal', 'different', 'seen', 'carried', 'never_seen'] as const;

export function losses(words: Words, found: readonly Loss[]): Html {
  const { t } = words;
  const rows = found.map(
    ({ field, operation, weight, real_count, would_be_count, last_at, why, advice, advice_said }) =>
      row(
        html`<code>${field}</code>`,
        badge(weight === 'other' ? 'shadow' : 'warn', t(`weight.${weight}`)),
        operation,
        real_count,
        would_be_count,
        timeOf(words, last_at),
        html`${written(words, why)}<details><summary>${t('losses.advice')}</summary>${says(words, advice, advice_said)}</details>`,
      ),
  );
  const head = ['field', 'weight', 'operation', 'real', 'paper', 'last', 'why'].map((key) => t(`losses.${key}`));
  return section(
    'losses',
    t('merchant.losses'),
    table(t('merchant.losses'), head, rows, t('losses.none')),
    t('losses.lead'),
  );
}

export function differences(visit: Visit, found: readonly Difference[]): Html {
  const { words } = visit;
  const { t } = words;
  const rows = found.map((one) => {
    const { operation, path, legacy, orders, state, count, last_at, note, sample, accepted_until } = one;
    return row(
      html`${operation}<br><code>${path === '' ? t('differences.whole') : path}</code>`,
      html`<div class="lines"><span>${t('stage.legacy')}: <code>${legacy}</code></span><span>${t('stage.orders')}: <code>${orders}</code></span></div>`,
      html`${count}<br><a href="/trace?id=${encodeURIComponent(sample)}">${t('finding.sample')}</a>`,
      timeOf(words, last_at),
      html`${badge(state === 'new' ? 'bad' : 'good', t(`difference.${state}`))} ${timeOf(words, accepted_until)} ${note}`,
      judgeForm(visit, one),
    );
  });
  const head = ['where', 'sides', 'count', 'last', 'state', 'judge'].map((key) => t(`differences.${key}`));
  const shown = table(t('merchant.differences'), head, rows, t('differences.none'));
  return section('differences', t('merchant.differences'), shown, t('differences.lead'));
}

function judgeForm(visit: Visit, { merchant_id, signature, revision, operation }: Difference): Html {
  const { t } = visit.words;
  const states = JUDGEMENTS.map((one) => [one, t(`difference.${one}`)] as const);
  const name = (field: string): string => `${field}-${signature}`;
  const path = merchantPath(merchant_id, `/differences/${encodeURIComponent(signature)}`);
  return html`<details><summary>${t('differences.judge')}<span class="unseen"> ${operation}</span></summary>${changeForm(
    visit,
    path,
    html`${hidden('revision', revision)}
<label for="${name('state')}">${t('differences.state')}</label><select id="${name('state')}" name="state">${options(states, 'explained')}</select>
<label for="${name('until')}">${t('differences.until')}</label><input id="${name('until')}" name="until" type="date">
<label for="${name('note')}">${t('differences.note')}</label><input id="${name('note')}" name="note" type="text" minlength="3" maxlength="500" required>
<button>${t('differences.save')}</button>`,
  )}</details>`;
}

/** Operation by operation, so that a merchant with hundreds of fields stays readable. */
export function coverage(words: Words, cells: readonly Cell[]): Html {
  const { t } = words;
  const operations = [...new Set(cells.map(({ operation }) => operation))];
  const head = ['field', 'state', 'equal', 'different', 'last'].map((key) => t(`coverage.${key}`));
  const parts = operations.map((name) => {
    const own = cells.filter(({ operation }) => operation === name);
    const counts = STATES.map((state) => [state, own.filter((one) => one.state === state).length] as const);
    const rows = own.map(({ field, state, equal, different, last_at }) =>
      row(html`<code>${field}</code>`, badge(state, t(`coverage.${state}`)), equal, different, timeOf(words, last_at)),
    );
    const sums = counts
      .filter(([, count]) => count > 0)
      .map(([state, count]) => html` ${badge(state, `${t(`coverage.${state}`)} ${count}`)}`);
    return html`<details><summary><strong>${name}</strong>${sums}</summary>${table(name, head, rows, '')}</details>`;
  });
  const content = parts.length === 0 ? html`<p class="none">${t('coverage.none')}</p>` : html`${parts}`;
  return section('coverage', t('merchant.coverage'), content, t('coverage.lead'));
}
