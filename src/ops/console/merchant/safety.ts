/** The safety stop of a merchant: what stands, what is counted, and the reset by hand. */
import type { z } from 'zod';
import type { safetyView } from '../../api/safety.ts';
import { type Html, html } from '../html.ts';
import { changeForm, hidden, reasonField, row, section, table, timeOf } from '../parts.ts';
import { says } from '../says.ts';
import { merchantPath, type Visit } from '../visit.ts';

type SafetyView = z.infer<typeof safetyView>;

export function safety(visit: Visit, { merchant_id, mode, trips, now, history, revision }: SafetyView): Html {
  const { words } = visit;
  const { t, named } = words;
  const stops = trips.map(
    ({
      kind,
      at,
      why,
      said,
    }) => html`<div class="notice bad"><p><strong>${t('safety.stands', { kind: t(`kind.${kind}`) })}</strong> ${timeOf(words, at)}</p><p>${says(words, why, said)}</p>
${changeForm(visit, merchantPath(merchant_id, '/safety'), html`${hidden('kind', kind)}${hidden('revision', revision)}${reasonField(visit, `reset-${kind}`)}<button>${t('safety.reset')}</button>`)}</div>`,
  );
  const counted = now.map(({ kind, calls, faults, slow }) => row(t(`kind.${kind}`), calls, faults, slow));
  const past = history.map(({ at, kind, stopped, why, said }) =>
    row(
      timeOf(words, at),
      named(`kind.${kind}`, kind),
      t(stopped ? 'safety.stopped' : 'safety.would'),
      says(words, why, said),
    ),
  );
  const content = html`<p>${t(`safety.${mode}`)}</p>${stops}
${table(t('safety.now'), [t('safety.kind'), t('safety.calls'), t('safety.faults'), t('safety.slow')], counted, t('safety.nothing'))}
${past.length === 0 ? '' : html`<details><summary>${t('safety.past', { count: past.length })}</summary>${table(t('safety.title'), [t('safety.at'), t('safety.kind'), t('safety.what'), t('preview.why')], past, '')}</details>`}`;
  return section('safety', t('safety.title'), content);
}
