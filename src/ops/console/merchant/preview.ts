/** What a move would be told, and what it would touch. */
import type { z } from 'zod';
import type { Words } from '../../../locales/words.ts';
import type { judgementView } from '../../api/moves.ts';
import { type Content, type Html, html } from '../html.ts';
import { badge, row, table, timeOf } from '../parts.ts';
import { says, saysAll } from '../says.ts';
import { findingList } from './readiness.ts';

type Judgement = z.infer<typeof judgementView>;

/** Units that are named; the counts hold all. */
const SHOWN_UNITS = 20;

export function previewOf(words: Words, judgement: Judgement): Html {
  const { t, number } = words;
  const { preview, missing } = judgement;
  const { changes, changes_said, units_seen, units_now, units_later, calls_a_day, calls_a_day_touched } = preview;
  return html`<p>${verdictOf(words, judgement)} ${saysAll(words, changes.join('; '), changes_said, '; ')}</p>
${missing.length === 0 ? '' : html`<h3>${t('preview.missing')}</h3>${findingList(words, missing, judgement.allowed ? 'unproven' : 'blocked')}`}
<dl class="facts">
<dt>${t('preview.units')}</dt><dd>${t('preview.units_of', { now: units_now, later: units_later, seen: units_seen })}</dd>
<dt>${t('preview.calls')}</dt><dd>${t('preview.calls_of', { touched: number(calls_a_day_touched), all: number(calls_a_day) })}</dd>
</dl>
${units(words, judgement)}`;
}

function verdictOf({ t }: Words, { allowed, kind, needs, overridden }: Judgement): Content {
  if (!allowed) return badge('bad', t(needs === 'override' ? 'preview.needs_override' : 'preview.refused'));
  if (needs === 'approval') return badge('warn', t('preview.needs_approval'));
  if (overridden) return badge('warn', t('preview.overridden'));
  return badge('good', t(`preview.${kind}`));
}

function units(words: Words, { preview }: Judgement): Content {
  const { t } = words;
  if (preview.units.length === 0) return null;
  const rows = preview.units
    .slice(0, SHOWN_UNITS)
    .map(({ slot, to, when, why, why_said, until }) =>
      row(
        slot,
        badge(to, t(`stage.${to}`)),
        t(`preview.${when}`),
        html`${says(words, why, why_said)} ${timeOf(words, until)}`,
      ),
    );
  const head = [t('preview.unit'), t('preview.to'), t('preview.when'), t('preview.why')];
  return html`<details><summary>${t('preview.unit_list')}</summary>${table(t('preview.unit_list'), head, rows, '')}</details>`;
}
