/** Bulk moves: the list, one of them merchant by merchant, and the forms that start and abort one. */
import type { z } from 'zod';
import type { Words } from '../../locales/words.ts';
import { verdicts } from '../../proxy/records/evidence.ts';
import { routedKinds, stages } from '../../proxy/routing/merchant.ts';
import type { bulkMovesView } from '../api/moves.ts';
import { defined } from '../fields.ts';
import { type Html, html, recorded, says, saysAll, timeOf } from '../html.ts';
import { bulkItems } from '../moves/typed-lists.ts';
import { type Fields, type Form, given, linkTo, type Page, reasonForm, type Visit } from './kit.ts';
import {
  actForm,
  badge,
  changeForm,
  field,
  merchantLink,
  olderPages,
  reasonField,
  section,
  table,
  unlessUnseen,
  whoseForm,
} from './parts.ts';

type Line = z.infer<typeof bulkMovesView>['bulk_moves'][number];

/** Bulk moves on a page of the list. */
const PER_PAGE = 20;

export const bulkList: Page = {
  path: '/bulk',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const { merchant, before } = query;
    const filter = given({ merchant, before, limit: PER_PAGE });
    const list = await unlessUnseen(words, visit.ask('GET /api/bulk', { query: filter }), ({ bulk_moves }) => {
      const last = bulk_moves.length < PER_PAGE ? undefined : bulk_moves.at(-1)?.id;
      const rows = bulk_moves.map((one) => ({
        started: html`<a href="/bulk/${one.id}">${timeOf(words, one.created_at)}</a>`,
        who: one.who,
        state: stateOf(visit, one),
        merchants: says(words, one.summary, one.summary_said),
        per_day: one.per_day,
        reason: one.reason,
      }));
      return html`${table(words, 'bulk', t('bulk.title'), rows, t('bulk.none'))}${olderPages(words, '/bulk', query, last)}`;
    });
    const content = html`<p class="lead">${t('bulk.lead')}</p>
${whoseForm(words, '/bulk', query)}${list}
${section('start', t('bulk.start'), startForm(visit), t('bulk.start_lead'))}`;
    return { title: t('bulk.title'), content };
  },
};

/** Refreshed while the bulk move runs, with the form that aborts it; that stands first, so that nothing moves it. */
export const bulkPage: Page = {
  path: '/bulk/:id',
  async show(visit) {
    const { words } = visit;
    const { t } = words;
    const { skip } = visit.query;
    const request = { path: visit.path, query: given({ skip }) };
    const one = await visit.ask('GET /api/bulk/:id', request);
    const path = `/bulk/${encodeURIComponent(one.id)}`;
    const next = one.next === null ? null : linkTo(path, { skip: one.next });
    const rows = one.items.map(({ merchant_id, merchant_name, state, at, detail, detail_said }) => ({
      merchant: merchantLink(merchant_id, merchant_name),
      state: badge(ITEM_BADGES[state] ?? 'shadow', words.named(`bulk.${state}`, state)),
      at: timeOf(words, at),
      why: detail_said === null ? recorded(words, detail) : saysAll(words, detail, [detail_said], ''),
    }));
    const again =
      one.state === 'running'
        ? html` hx-get="${linkTo(path, { skip })}" hx-trigger="every 5s" hx-select="#items" hx-swap="outerMorph"`
        : '';
    const abort = actForm(visit, `${path}/abort`, 'abort-reason', t('bulk.abort'), 'danger');
    const content = html`<section id="items"${again}>
${one.state === 'running' ? html`<div id="abort">${abort}<p class="hint">${t('bulk.abort_lead')}</p></div>` : ''}<p>${stateOf(visit, one)} ${says(words, one.summary, one.summary_said)}</p>
<p>${one.detail === one.summary ? null : says(words, one.detail, one.detail_said)}</p>
<p class="lead">${timeOf(words, one.created_at)}, ${one.who}: <span>${one.reason}</span></p>
${table(words, 'bulk', t('bulk.title'), rows)}${next === null ? null : html`<p><a href="${next}">${t('board.later')}</a></p>`}</section>
<p><a href="/bulk">${t('bulk.title')}</a></p>`;
    return { title: t('bulk.one'), content };
  },
};

const ITEM_BADGES: Readonly<Record<string, string>> = { moved: 'good', proposed: 'warn', refused: 'bad' };
const STATE_BADGES: Readonly<Record<Line['state'], string>> = {
  running: 'warn',
  stopped: 'bad',
  done: 'good',
  aborted: 'shadow',
};

function stateOf({ words }: Visit, { state }: Pick<Line, 'state'>): Html {
  return badge(STATE_BADGES[state], words.t(`bulk.${state}`));
}

function startForm(visit: Visit): Html {
  const { words, sent } = visit;
  const { t } = words;
  const ofStages = stages.map((one) => [one, t(`stage.${one}`)] as const);
  const kinds = routedKinds.map((one) => [one, t(`kind.${one}`)] as const);
  return changeForm(
    visit,
    '/bulk',
    html`<div class="target">${whomFields(words, stages, sent, '700100200, 700100300\n700100400 canary 5')}</div>
<div class="target">${field.select('stage', t('stage.to'), [['', t('bulk.own')], ...ofStages], sent.stage)}
${field.select('kind', t('stage.kind'), [['', t('stage.all_kinds')], ...kinds], sent.kind)}
${field.percent('share', t('stage.share'), sent.share)}
${field.input('per_day', t('bulk.per_day'), sent.per_day, html` type="number" min="1"`)}
${field.tick('override', t('stage.override'), sent.override)}</div>
${reasonField(visit, 'bulk-reason')}<button>${t('bulk.go')}</button>`,
  );
}

/** Whom a form is for: merchants listed, conditions that they meet, or both. @param example of the list. */
export function whomFields(
  words: Words,
  from: readonly (typeof stages)[number][],
  sent: Fields,
  example = '700100200, 700100300',
): Html {
  const { t } = words;
  return html`<p><label for="merchants">${t('bulk.list')}</label><textarea id="merchants" name="merchants" rows="3" placeholder="${example}">${sent.merchants ?? ''}</textarea></p>
${field.filter(words, 'from_stage', t('bulk.from_stage'), from, (one) => t(`stage.${one}`), sent.from_stage)}
${field.filter(words, 'verdict', t('bulk.verdict'), verdicts, (one) => t(`verdict.${one}`), sent.verdict)}
${field.input('site', t('bulk.site'), sent.site, html` placeholder="MLA" maxlength="3"`)}
${field.input('tag', t('bulk.tag'), sent.tag, html` maxlength="40"`)}`;
}

export const bulkForms: readonly Form[] = [
  {
    path: '/bulk',
    page: bulkList,
    async send({ ask }, sent) {
      const { id } = await ask('POST /api/bulk', { body: bodyOf(sent) });
      return `/bulk/${id}?done=started`;
    },
  },
  reasonForm('/bulk/:id/abort', bulkPage, 'POST /api/bulk/:id/abort', ({ id = '' }) => {
    return `/bulk/${encodeURIComponent(id)}?done=aborted`;
  }),
];

/** Without a list and without a condition neither is sent, and the API refuses: nobody moves the fleet by an empty form. */
export function whomOf({ merchants, from_stage, verdict, site, tag }: Fields) {
  const where = given({ stage: from_stage, verdict, site, tag });
  return { ...given({ merchants }), ...(Object.keys(where).length === 0 ? {} : { where }) };
}

/** A list whose lines have targets of their own is one of items. */
function bodyOf({ stage, share, kind, override, per_day, reason, ...sent }: Fields) {
  const items = bulkItems(sent.merchants ?? '');
  const is_plain = items.every((one) => Object.keys(one).length === 1);
  const { per_day: moves, share: percent, ...target } = given({ per_day, share, stage, kind });
  return {
    target: {
      ...target,
      ...defined({ share: percent === undefined ? undefined : Number(percent) }),
      override: override === 'true',
    },
    ...whomOf({ ...sent, merchants: is_plain ? items.map(({ merchant_id }) => merchant_id).join() : '' }),
    ...(is_plain ? {} : { items }),
    ...(moves === undefined ? {} : { per_day: Number(moves) }),
    reason,
  };
}
