/** The stage control: choose where to go, see what would be touched and what is missing, then say why and go. */
import type { z } from 'zod';
import { PuenteError } from '../../../error.ts';
import type { merchantView } from '../../api/merchants.ts';
import type { proposalView } from '../../api/moves.ts';
import { previewView } from '../../api/stage.ts';
import { type Content, type Html, html } from '../html.ts';
import { refusal } from '../layout.ts';
import { changeForm, hidden, options, reasonField, section, timeOf } from '../parts.ts';
import { type Fields, merchantPath, type Visit } from '../visit.ts';
import { previewOf } from './preview.ts';

type MerchantView = z.infer<typeof merchantView>;
type ProposalView = z.infer<typeof proposalView>;

const STAGES = ['legacy', 'shadow', 'canary', 'orders'] as const;
const KINDS = ['devices', 'intents', 'qr'] as const;
/** What a move is asked for with, as the API's preview takes it. */
const ASKED = ['stage', 'share', 'kind', 'units_in', 'units_out', 'override'] as const;

/** @param view the merchant as it is; its revision is the precondition of what is sent from here. */
export async function stageControl(visit: Visit, view: MerchantView): Promise<Html> {
  const { t } = visit.words;
  const asked = targetIn(visit);
  const content = html`${targetForm(visit, view, asked)}
<div id="preview" aria-live="polite">${asked.stage === undefined ? html`<p class="hint">${t('stage.look_first')}</p>` : await preview(visit, view, asked)}</div>
<h3>${t('rollback.title')}</h3>
<p class="lead">${t('rollback.lead')}</p>
${changeForm(visit, merchantPath(view.id, '/rollback'), html`${reasonField(visit, 'rollback-reason')}<button class="danger">${t('rollback.go')}</button>`)}`;
  return section('stage', t('merchant.stage'), content);
}

/** Moves that wait for a second person; nothing when none does. */
export function waitingMoves(visit: Visit, moves: readonly ProposalView[]): Content {
  const { t } = visit.words;
  if (moves.length === 0) return null;
  const items = moves.map(
    ({ id, merchant_id, move, reason, proposed_by, expires_at }) => html`<li>
<p><strong>${targetText(visit, move)}</strong>: ${reason} · ${t('moves.by', { name: proposed_by })}, ${t('moves.until')} ${timeOf(visit.words, expires_at)}</p>
${changeForm(visit, merchantPath(merchant_id, `/moves/${id}/approve`), html`${reasonField(visit, `approve-${id}`)}<button>${t('moves.approve')}</button>`)}
${changeForm(visit, merchantPath(merchant_id, `/moves/${id}/decline`), html`${reasonField(visit, `decline-${id}`)}<button class="quiet">${t('moves.decline')}</button>`)}
</li>`,
  );
  return section('moves', t('moves.title'), html`<ul class="findings">${items}</ul>`);
}

/** The target that was asked for, in the address or in a form that was refused; without the fields that are empty. */
export function targetIn({ query, sent }: Pick<Visit, 'query' | 'sent'>): Partial<Fields> {
  const from = sent.stage === undefined ? query : sent;
  const named = ASKED.filter((name) => (from[name] ?? '') !== '').map((name) => [name, from[name]]);
  const asked: Partial<Fields> = Object.fromEntries(named);
  if (asked.stage === 'canary') return asked;
  // A share and named units belong to a canary alone; the fields keep theirs while another stage is tried.
  const { share: _share, units_in: _in, units_out: _out, ...rest } = asked;
  return rest;
}

function targetForm({ words: { t } }: Visit, view: MerchantView, asked: Partial<Fields>): Html {
  const stages = [...STAGES, 'follow'].map((one) => [one, t(`stage.${one}`)] as const);
  const kinds = KINDS.map((one) => [one, t(`kind.${one}`)] as const);
  const path = merchantPath(view.id);
  const now = view.in_force.intents;
  return html`<form class="target" action="${path}#stage" method="get" hx-get="${path}" hx-trigger="change delay:200ms" hx-target="#preview" hx-select="#preview" hx-swap="outerHTML">
<p><label for="to">${t('stage.to')}</label><select id="to" name="stage">${options(stages, asked.stage ?? now.intended)}</select></p>
<p><label for="kind">${t('stage.kind')}</label><select id="kind" name="kind">${options([['', t('stage.all_kinds')], ...kinds], asked.kind ?? '')}</select></p>
<p><label for="share">${t('stage.share')}</label><input id="share" name="share" type="number" min="0" max="100" step="0.01" inputmode="decimal" value="${asked.share ?? ''}"></p>
<p><label for="units_in">${t('stage.units_in')}</label><input id="units_in" name="units_in" type="text" placeholder="point:…,qr:…" value="${asked.units_in ?? ''}" autocomplete="off"></p>
<p><label for="units_out">${t('stage.units_out')}</label><input id="units_out" name="units_out" type="text" placeholder="point:…,qr:…" value="${asked.units_out ?? ''}" autocomplete="off"></p>
<p class="tick"><input id="override" name="override" type="checkbox" value="true"${asked.override === 'true' ? html` checked` : ''}><label for="override">${t('stage.override')}</label></p>
<p><button>${t('stage.preview')}</button></p>
</form>`;
}

/** What the move would be told and touch, and the form that makes it; a target that makes no sense is told here. */
async function preview(visit: Visit, view: MerchantView, asked: Partial<Fields>): Promise<Html> {
  const { words } = visit;
  try {
    const { judgement } = await visit.ask('GET /api/merchants/:id/stage/preview', previewView, {
      path: { id: view.id },
      query: asked,
    });
    const fields = Object.entries(asked).map(([name, value]) => hidden(name, value ?? ''));
    const go = judgement.needs === 'approval' ? 'stage.propose' : 'stage.move';
    const form = changeForm(
      visit,
      merchantPath(view.id, '/stage'),
      html`${fields}${hidden('revision', view.revision)}${reasonField(visit, 'stage-reason')}<button>${words.t(go)}</button>`,
    );
    return html`${previewOf(words, judgement)}${form}`;
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    return refusal(words, error);
  }
}

/** `canary 10 %, intents` of a proposed move. */
function targetText({ words: { t, named } }: Visit, move: Record<string, unknown>): Content {
  const stage = typeof move.stage === 'string' ? named(`stage.${move.stage}`, move.stage) : t('stage.follow');
  const share = typeof move.share === 'number' ? ` ${move.share} %` : '';
  const kind = typeof move.kind === 'string' ? `, ${named(`kind.${move.kind}`, move.kind)}` : '';
  return html`${stage}${share}${kind}`;
}
