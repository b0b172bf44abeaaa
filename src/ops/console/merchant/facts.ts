/** The head of the merchant page: where it stands now, kind by kind. */
import type { z } from 'zod';
import type { Words } from '../../../locales/words.ts';
import type { merchantView } from '../../api/merchants.ts';
import type { FleetLine } from '../board-row.ts';
import { type Content, type Html, html } from '../html.ts';
import { badge, timeOf } from '../parts.ts';
import type { Visit } from '../visit.ts';

type MerchantView = z.infer<typeof merchantView>;

const KINDS = ['devices', 'intents', 'qr'] as const;

export function facts({ words }: Visit, view: MerchantView, line: FleetLine | null): Html {
  const { t } = words;
  const seen = line === null ? html`<p class="notice warn">${t('merchant.unseen')}</p>` : '';
  const set = (value: 'set' | 'not set'): string => t(value === 'set' ? 'merchant.set' : 'merchant.not_set');
  return html`${seen}<dl class="facts">
${KINDS.map((kind) => html`<dt>${t(`kind.${kind}`)}</dt><dd>${stageOf(words, view, kind)}</dd>`)}
<dt>${t('merchant.site')}</dt><dd>${view.site ?? t('merchant.not_known')}</dd>
<dt>${t('merchant.revision')}</dt><dd>${view.revision}${view.updated_at === null ? '' : html`, ${timeOf(words, view.updated_at)}`}</dd>
<dt>${t('merchant.notice_url')}</dt><dd>${shown(view.settings.notice_url?.value) ?? t('merchant.not_set')}</dd>
<dt>${t('merchant.credential')}</dt><dd>${set(view.credential)}</dd>
</dl>`;
}

/** What holds, and what was meant where a safety stop lies over it. */
function stageOf({ t, number }: Words, { in_force }: MerchantView, kind: (typeof KINDS)[number]): Content {
  const { stage, intended, share } = in_force[kind];
  const name = stage === 'canary' ? `${t('stage.canary')} ${number(share)} %` : t(`stage.${stage}`);
  const meant =
    stage === intended ? '' : html` ${badge('bad', t('merchant.stopped_at', { stage: t(`stage.${intended}`) }))}`;
  return html`${badge(stage, name)}${meant}`;
}

function shown(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
