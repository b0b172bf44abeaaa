/** The stage control of the merchant page: target, preview of the move, missing evidence, and the safety stop. */
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import type { Words } from '../../locales/words.ts';
import { routedKinds, stages } from '../../proxy/routing/merchant.ts';
import type { proposalView, safetyView } from '../api/moves.ts';
import { type Content, type Html, html, plainTable, says, saysAll, timeOf, typed } from '../html.ts';
import type { MerchantView } from '../merchants.ts';
import type { Judgement } from '../moves/judge.ts';
import { FOLLOW } from '../moves/target.ts';
import type { Finding, Readiness } from '../readiness/facts.ts';
import { type Fields, linkTo, merchantPath, type Visit } from './kit.ts';
import { refusal } from './layout.ts';
import { actForm, badge, field, framed, hidden, section, table } from './parts.ts';
import { acceptPath } from './sales.ts';

/** Fields of a move, as the API's preview takes them. */
const ASKED = ['stage', 'share', 'kind', 'units_in', 'units_out', 'override', 'new'] as const;

/** @param view the current merchant; its revision is the precondition of the move. */
export async function stageControl(visit: Visit, view: MerchantView): Promise<Html> {
  const { t } = visit.words;
  const target = targetIn(visit);
  const content = html`${targetForm(visit, view, target)}
<div id="preview" aria-live="polite">${target.stage === undefined ? html`<p class="hint">${t('stage.look_first')}</p>` : await preview(visit, view, target)}</div>`;
  return section('stage', t('merchant.stage'), content);
}

/** Null when none waits for a second person. */
export function waitingMoves(visit: Visit, moves: readonly z.infer<typeof proposalView>[]): Content {
  const { t } = visit.words;
  if (moves.length === 0) return null;
  const items = moves.map(
    ({ id, merchant_id, move, reason, proposed_by, expires_at }) => html`<li>
<p><strong>${targetText(visit, move)}</strong>: ${reason} · ${t('moves.by', { name: proposed_by })}, ${t('moves.until')} ${timeOf(visit.words, expires_at)}</p>
${actForm(visit, merchantPath(merchant_id, `/moves/${id}/approve`), `approve-${id}`, t('moves.approve'))}
${actForm(visit, merchantPath(merchant_id, `/moves/${id}/decline`), `decline-${id}`, t('moves.decline'), 'quiet')}
</li>`,
  );
  return section('moves', t('moves.title'), html`<ul class="findings">${items}</ul>`);
}

/** The target, from the address or a refused form; empty fields are left out. */
export function targetIn({ query, sent }: Pick<Visit, 'query' | 'sent'>): Partial<Fields> {
  const from = sent.stage === undefined ? query : sent;
  const named = ASKED.filter((name) => (from[name] ?? '') !== '').map((name) => [name, from[name]]);
  const target: Partial<Fields> = Object.fromEntries(named);
  if (target.stage === 'canary') return target;
  // Only a canary has a share and named units; the form keeps them filled while the operator tries other stages.
  const { share: _share, units_in: _in, units_out: _out, ...rest } = target;
  return rest;
}

function targetForm({ words: { t } }: Visit, view: MerchantView, target: Partial<Fields>): Html {
  const targets = [...stages, FOLLOW].map((one) => [one, t(`stage.${one}`)] as const);
  const kinds = routedKinds.map((one) => [one, t(`kind.${one}`)] as const);
  const path = merchantPath(view.id);
  const now = view.in_force.intents;
  return html`<form class="target" action="${path}#stage" method="get" hx-get="${path}" hx-trigger="change delay:200ms" hx-target="#preview" hx-select="#preview" hx-swap="outerHTML ignoreTitle:true">
${field.select('stage', t('stage.to'), targets, target.stage ?? now.intended, 'to')}
${field.select('kind', t('stage.kind'), [['', t('stage.all_kinds')], ...kinds], target.kind)}
${field.percent('share', t('stage.share'), target.share)}
${(['units_in', 'units_out'] as const).map((name) => field.input(name, t(`stage.${name}`), target[name], html` placeholder="point:…,qr:…" autocomplete="off"`))}
${field.tick('override', t('stage.override'), target.override)}
${field.tick('new', t('stage.new'), target.new)}
<p><button>${t('stage.preview')}</button></p>
</form>`;
}

/** The judgement, with the form that makes the move unless it changes nothing; or the refusal of an invalid target. */
async function preview(visit: Visit, view: MerchantView, target: Partial<Fields>): Promise<Html> {
  const { words } = visit;
  try {
    const found = await visit.ask('GET /api/merchants/:id/stage/preview', {
      path: { id: view.id },
      query: target,
    });
    const { judgement } = found;
    if (found.changes_nothing) return previewOf(words, judgement);
    const fields = Object.entries(target).map(([name, value]) => hidden(name, value ?? ''));
    const go = judgement.needs === 'approval' ? 'stage.propose' : 'stage.move';
    const kept = [...fields, hidden('revision', view.revision)];
    const form = actForm(visit, merchantPath(view.id, '/stage'), 'stage-reason', words.t(go), '', kept);
    return html`${previewOf(words, judgement)}${form}`;
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    return refusal(words, error);
  }
}

/** Such as `canary 10 %, intents`. */
function targetText({ words: { t, named } }: Visit, move: Record<string, unknown>): Content {
  const stage = typeof move.stage === 'string' ? named(`stage.${move.stage}`, move.stage) : t('stage.follow');
  const share = typeof move.share === 'number' ? ` ${move.share} %` : '';
  const kind = typeof move.kind === 'string' ? `, ${named(`kind.${move.kind}`, move.kind)}` : '';
  return html`${stage}${share}${kind}`;
}

/** Units listed; the counts include all. */
const SHOWN_UNITS = 20;

/** What a move would do, and what it lacks. */
export function previewOf(words: Words, judgement: Judgement): Html {
  const { t, number } = words;
  const { preview, missing } = judgement;
  const { changes, changes_said, notes, notes_said, calls_a_day, calls_a_day_touched } = preview;
  const units_of = { now: preview.units_now, later: preview.units_later, seen: preview.units_seen };
  return html`<p>${verdictOf(words, judgement)} ${saysAll(words, changes.join('; '), changes_said, '; ')}</p>
${notes.length === 0 ? '' : html`<p class="notice warn">${saysAll(words, notes.join(' '), notes_said)}</p>`}
${missing.length === 0 ? '' : html`<h3>${t('preview.missing')}</h3>${findingList(words, missing, judgement.allowed ? 'unproven' : 'blocked')}`}
<dl class="facts">
<dt>${t('preview.units')}</dt><dd>${t('preview.units_of', units_of)}</dd>
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
  const rows = preview.units.slice(0, SHOWN_UNITS).map(({ slot, to, when, why, why_said, until }) => ({
    unit: slot,
    to: badge(to, t(`stage.${to}`)),
    when: t(`preview.${when}`),
    why: html`${says(words, why, why_said)} ${timeOf(words, until)}`,
  }));
  return html`<details><summary>${t('preview.unit_list')}</summary>${table(words, 'preview', t('preview.unit_list'), rows)}</details>`;
}

// Readiness: blockers, unproven findings, and the next step for each.

/** The part of the page that shows the facts of a finding, by its code. */
const PLACES: Readonly<Partial<Record<string, string>>> = {
  open_difference: '#differences',
  error_difference: '#differences',
  never_seen: '#coverage',
  too_few_calls: '#coverage',
  not_used: '#coverage',
  in_doubt: '#lanes',
  legacy_open: '#lanes',
  safety_stop: '#safety',
};

/** The verdict on the next move, or, of a merchant wholly on orders, on the completion of its migration. */
export function readiness(
  words: Words,
  { about, verdict, move, move_said, blockers, unproven, acknowledged, remarks, judged_at }: Readiness,
): Html {
  const { t } = words;
  const part = (key: string, findings: readonly Finding[], kind: string): Content =>
    findings.length === 0 ? null : html`<h3>${t(key)}</h3>${findingList(words, findings, kind)}`;
  const said =
    about === 'completion'
      ? t(`completion.${verdict}`)
      : html`${says(words, move, move_said)} ${t(`readiness.${verdict}`)}`;
  const content = html`<p>${badge(verdict, t(`verdict.${verdict}`))} ${said} <span class="small">${timeOf(words, judged_at)}</span></p>
${part('readiness.blockers', blockers, 'blocked')}
${part('readiness.unproven', unproven, 'unproven')}
${acceptedList(words, acknowledged)}
${remarks.length === 0 ? '' : html`<details><summary>${t('readiness.remarks', { count: remarks.length })}</summary>${findingList(words, remarks, 'remark')}</details>`}`;
  return section('readiness', t(verdict === 'ready' ? 'board.readiness' : 'merchant.why'), content);
}

/** Sales that block nothing because a person accepted that they disagree; never folded away. */
function acceptedList(words: Words, sales: Readiness['acknowledged']): Content {
  if (sales.length === 0) return null;
  const items = sales.map(
    ({ id, what, said }) =>
      html`<li class="remark">${says(words, what, said)} <a href="${linkTo('/trace', { id })}">${words.t('finding.sale')}</a></li>`,
  );
  return html`<h3>${words.t('readiness.accepted')}</h3><ul class="findings">${items}</ul>`;
}

function findingList(words: Words, findings: readonly Finding[], kind: string): Html {
  const items = findings.map(
    (one) =>
      html`<li class="${kind}"><strong>${words.t(`finding.${one.code}`)}</strong><br>${says(words, one.what, one.said)}${nextStep(words, one)}</li>`,
  );
  return html`<ul class="findings">${items}</ul>`;
}

function nextStep({ t }: Words, { code, command, sample, said }: Finding): Content {
  const place = PLACES[code];
  const { subject } = said.facts;
  const sale = code.startsWith('mismatch_') && typeof subject === 'string' ? subject : null;
  const steps = [
    typed(command),
    place === undefined ? null : html`<a href="${place}">${t('finding.here')}</a>`,
    sample === null ? null : html`<a href="${linkTo('/trace', { id: sample })}">${t('finding.sample')}</a>`,
    sale === null ? null : html`<a href="${linkTo('/trace', { id: sale })}">${t('finding.sale')}</a>`,
    sale === null
      ? null
      : html`<form action="${acceptPath(sale)}" method="get"><button class="quiet">${t('accept.go')}</button></form>`,
  ].filter((one) => one !== null);
  return steps.length === 0
    ? null
    : html`<br><span class="small">${t('finding.next')}</span> ${steps.map((one) => html`${one} `)}`;
}

// The safety stop of a merchant: stops in force, current counts, and the manual reset.

/** Also of a merchant without a stop: the counts show how far it is from one. */
export function safety(
  visit: Visit,
  { merchant_id, mode, rules, trips, now, history, revision }: z.infer<typeof safetyView>,
): Html {
  const { words } = visit;
  const { t, named } = words;
  const stops = trips.map(
    ({
      kind,
      at,
      why,
      said,
      evidence,
    }) => html`<div class="notice bad"><p><strong>${t('safety.stands', { kind: t(`kind.${kind}`) })}</strong> ${timeOf(words, at)}</p><p>${says(words, why, said)} ${callLinks(words, evidence)}</p>
${actForm(visit, merchantPath(merchant_id, '/safety'), `reset-${kind}`, t('safety.reset'), '', [hidden('kind', kind), hidden('revision', revision)])}</div>`,
  );
  const counted = now.map(({ kind, calls, faults, slow, in_a_row, faults_left, slow_left, exchanges }) => ({
    kind: t(`kind.${kind}`),
    calls,
    faults,
    slow,
    in_a_row,
    left: t(slow_left === null ? 'safety.faults_left' : 'safety.left_of', { faults_left, slow_left: slow_left ?? 0 }),
    opened: callLinks(words, { exchanges }),
  }));
  const past = history.map(({ at, kind, stopped, why, said, exchanges }) => {
    const what = t(stopped ? 'safety.stopped' : 'safety.would');
    return [
      timeOf(words, at),
      named(`kind.${kind}`, kind),
      what,
      html`${says(words, why, said)} ${callLinks(words, { exchanges })}`,
    ];
  });
  const head = [t('safety.at'), t('safety.kind'), t('safety.what'), t('preview.why')];
  const content = html`<p>${t(`safety.${mode}`)} ${t('safety.rules', { ...rules, seconds: rules.slow_ms / 1000, minutes: rules.window_ms / 60_000 })}</p>${stops}
${table(words, 'safety', t('safety.now'), counted, t('safety.nothing'))}
${past.length === 0 ? '' : html`<details><summary>${t('safety.past', { count: past.length })}</summary>${framed(t('safety.title'), plainTable(head, past, words.number, true), '', 'cards')}</details>`}`;
  return section('safety', t('safety.title'), content);
}

function callLinks({ t }: Words, { exchanges }: { exchanges: readonly string[] }): Content {
  return exchanges.map(
    (id, nth) => html`<a href="${linkTo('/trace', { id })}">${t('safety.call', { nth: nth + 1 })}</a> `,
  );
}
