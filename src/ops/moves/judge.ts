/** Judges a move: is it allowed, what is missing, who must agree, what it touches (`docs/architecture.md` A move). */
import { z } from 'zod';
import { say } from '../../locales/message.ts';
import type { MerchantSettings, RoutedKind, Stage } from '../../proxy/routing/merchant.ts';
import { isEnough } from '../api/person.ts';
import { iso } from '../fields.ts';
import { NO_NOTICE_URL, stopFinding } from '../readiness/blockers.ts';
import { type Finding, finding, findingView } from '../readiness/facts.ts';
import { holdsBackOrders } from '../readiness/unproven.ts';
import { previewAnswer, previewMove } from './preview.ts';
import { type Direction, directionOf, routingOf, type Situation, settingsAfter } from './target.ts';
import { isOpen, nextOpening, parseWindow } from './window.ts';

export const judgementView = z.object({
  allowed: z.boolean(),
  kind: z.enum(['forward', 'back', 'same']),
  missing: z.array(findingView).describe('also of an allowed move: by an override, or because the gate only advises'),
  needs: z
    .enum(['nothing', 'approval', 'override'])
    .describe("a second person's approval before it is made; or it is refused without an approver's override"),
  overridden: z.boolean().describe('an approver waived what is missing'),
  preview: previewAnswer,
});
export type Judgement = z.infer<typeof judgementView>;

/**
 * A move back is allowed at any time, without evidence, approver or window. A move forward needs one stage after the
 * other, no safety stop, an open window, and evidence. For canary: no hard blocker, enough translated calls and a
 * notice URL. For orders: a verdict that is ready, and enough of everything on the orders lane. Shadow changes no
 * answer and needs no evidence.
 * @throws PuenteError bad_request for a target that is incomplete, or contradicts itself.
 */
export function judgeMove(situation: Situation): { judgement: Judgement; after: MerchantSettings } {
  const { rules, merchant, target, facts } = situation;
  const after = settingsAfter(rules, merchant.settings, target);
  const preview = previewMove(rules, merchant, after, facts);
  const direction = directionOf(routingOf(rules, merchant.settings), routingOf(rules, after));
  if (direction.kind === 'forward') return { judgement: { ...judgeForward(situation, direction), preview }, after };
  const missing = moverFindings(situation);
  const allowed = missing.length === 0;
  return { judgement: { allowed, kind: direction.kind, missing, needs: 'nothing', overridden: false, preview }, after };
}

function judgeForward(situation: Situation, direction: Direction): Omit<Judgement, 'preview'> {
  const { settings, target } = situation;
  const fixed = standingInTheWay(situation, direction.forward);
  const blockers = blockersOf(situation, direction.forward);
  const evidence = missingEvidence(situation, direction);
  const missing = [...fixed, ...blockers, ...evidence];
  const advises = settings.gate === 'advise';
  const overridden = target.override && evidence.length > 0 && !advises;
  const stopped = fixed.length > 0 || (blockers.length > 0 && !advises);
  const allowed = !stopped && (evidence.length === 0 || advises || overridden);
  const needs = allowed ? (settings.second_approver ? 'approval' : 'nothing') : stopped ? 'nothing' : 'override';
  return { allowed, kind: 'forward', missing, needs, overridden: allowed && overridden };
}

// What a move forward lacks, each with the command that would give it: pure.

type Forward = Direction['forward'];

/** What no role can waive: the role itself, the window, and a safety stop in force. */
function standingInTheWay(situation: Situation, forward: Forward): Finding[] {
  const { person, target, merchant } = situation;
  const found = [...moverFindings(situation), ...stopFindings(situation, forward), ...windowFindings(situation)];
  if (!target.override || isEnough(person.role, 'approver')) return found;
  const { name, role } = person;
  return [finding('role', say('role.override', { name, role }), `puente can-migrate ${merchant.id}`), ...found];
}

/** The only condition of a move back. */
function moverFindings({ person }: Situation): Finding[] {
  if (isEnough(person.role, 'operator')) return [];
  return [finding('role', say('role.move', { name: person.name, role: person.role }), null)];
}

/** Hard blockers of the readiness verdict; a move to shadow changes no answer, so they don't count there. */
function blockersOf({ readiness }: Situation, forward: Forward): Finding[] {
  const kinds = kindsTo(forward, ['canary', 'orders']);
  if (kinds.length === 0) return [];
  // A safety stop blocks every move forward; `stopFindings` reports it.
  return readiness.blockers.filter((one) => one.code !== 'safety_stop' && concerns(kindOf(one, readiness), kinds));
}

/** Evidence that an approver may waive, and skipped stages. */
function missingEvidence(situation: Situation, { forward, skipped }: Direction): Finding[] {
  return [
    ...skippedFindings(situation, skipped),
    ...sampleFindings(situation, kindsTo(forward, ['canary']), 'canary'),
    ...sampleFindings(situation, kindsTo(forward, ['orders']), 'orders'),
    ...noticeFindings(situation, kindsTo(forward, ['canary'])),
    ...verdictFindings(situation, kindsTo(forward, ['orders'])),
  ];
}

function stopFindings({ merchant }: Situation, forward: Forward): Finding[] {
  return forward.flatMap(({ kind }) => {
    const trip = merchant.trips[kind];
    return trip === undefined ? [] : [stopFinding(merchant.id, kind, trip)];
  });
}

function windowFindings({ settings, now }: Situation): Finding[] {
  if (settings.window === null) return [];
  const window = parseWindow(settings.window);
  if (isOpen(window, now)) return [];
  const opening = nextOpening(window, now);
  const sentence =
    opening === null
      ? say('outside_window.closed', { window: window.text })
      : say('outside_window.opens', { window: window.text, opens_at: iso(opening) });
  return [finding('outside_window', sentence, null)];
}

function skippedFindings({ merchant, target }: Situation, skipped: readonly Stage[]): Finding[] {
  const [first] = skipped;
  if (first === undefined) return [];
  const kind = target.kind === undefined ? '' : ` --kind ${target.kind}`;
  const share = first === 'canary' ? ' --share 5' : '';
  const command = `puente stage ${merchant.id} ${first}${share}${kind} --reason …`;
  return [finding('skipped_stage', { stages: skipped }, command)];
}

/**
 * Enough calls, per kind. Lists of devices name no unit, so a canary leaves them on legacy: they are proven in shadow,
 * and count only where devices are moved alone. A kind without any call has nothing to lose.
 */
function sampleFindings(situation: Situation, kinds: readonly RoutedKind[], to: 'canary' | 'orders'): Finding[] {
  const { facts, settings, target, merchant, readiness } = situation;
  const judged = kinds.filter((kind) => kind !== 'devices' || target.kind === 'devices');
  const seen = judged.filter((kind) => facts.samples[kind].seen > 0 || target.kind === kind);
  if (judged.length > 0 && seen.length === 0) {
    if (to === 'orders' && readiness.verdict !== 'ready') return []; // the verdict says so itself
    const sentence = say('never_seen.kinds', { merchant: merchant.id, kinds: judged });
    return [finding('never_seen', sentence, `puente coverage ${merchant.id}`)];
  }
  return seen.flatMap((kind) => {
    const { shadow, orders } = facts.samples[kind];
    const served = to === 'orders' && kind !== 'devices';
    const count = served ? orders : shadow + orders;
    if (count >= settings.min_sample) return [];
    const { min_sample } = settings;
    const sentence = say(served ? 'too_few_calls.served' : 'too_few_calls.translated', { count, kind, min_sample });
    const stage = served ? 'canary' : 'shadow';
    // A merchant that is there already needs traffic; the coverage shows of what.
    const there = (merchant.settings.kinds[kind]?.stage ?? merchant.settings.stage) === stage;
    const move = `puente stage ${merchant.id} ${served ? 'canary --share 5' : 'shadow'} --kind ${kind} --reason …`;
    return [finding('too_few_calls', sentence, there ? `puente coverage ${merchant.id}` : move)];
  });
}

/** A missing notice URL can't be tried on a canary without harm: the merchant would not be notified of its sales. */
function noticeFindings({ readiness }: Situation, kinds: readonly RoutedKind[]): Finding[] {
  return readiness.unproven.filter(
    (one) => one.code === NO_NOTICE_URL && kinds.length > 0 && concerns(kindOf(one, readiness), kinds),
  );
}

function verdictFindings({ readiness, merchant }: Situation, kinds: readonly RoutedKind[]): Finding[] {
  if (kinds.length === 0) return [];
  const unproven = readiness.unproven.filter((one) => holdsBackOrders(one) && concerns(kindOf(one, readiness), kinds));
  if (unproven.length > 0 || readiness.verdict === 'ready') return unproven;
  const open = readiness.operations.filter((one) => one.verdict !== 'ready' && concerns(one.kind, kinds));
  if (open.length === 0) return [];
  const operations = open.map(({ operation }) => operation).join(', ');
  return [finding('not_ready', { operations }, `puente can-migrate ${merchant.id}`)];
}

function kindsTo(forward: Forward, stages: readonly Stage[]): RoutedKind[] {
  return forward.filter(({ to }) => stages.includes(to)).map(({ kind }) => kind);
}

/** Payments follow their sale, and a finding without an operation concerns every kind. */
function concerns(kind: RoutedKind | 'payments' | null, kinds: readonly RoutedKind[]): boolean {
  return kind === null || kind === 'payments' || kinds.includes(kind);
}

function kindOf(one: Finding, readiness: Situation['readiness']): RoutedKind | 'payments' | null {
  return readiness.operations.find(({ operation }) => operation === one.operation)?.kind ?? null;
}
