/** Judges a move: may it be made, what is missing, who has to agree, and what it would touch: pure (DESIGN, A toggle). */

import type { MerchantSettings } from '../../proxy/routing/merchant.ts';
import type { Finding } from '../readiness/verdict.ts';
import { type Direction, directionOf } from './direction.ts';
import type { Situation } from './facts.ts';
import { blockersOf, missingEvidence, moverFindings, standingInTheWay } from './needed.ts';
import { type Preview, previewMove } from './preview.ts';
import { routingOf, settingsAfter } from './target.ts';

export interface Judgement {
  allowed: boolean;
  kind: Direction['kind'];
  /** Told even when the move is allowed: by an override, or because the gate only advises. */
  missing: Finding[];
  /** `approval`: a second person's, before it is made. `override`: it is refused without an approver's. */
  needs: 'nothing' | 'approval' | 'override';
  /** An approver waived what is missing. */
  overridden: boolean;
  preview: Preview;
}

/**
 * Going back is allowed at any time, without evidence, approver or window. Going forward needs one stage after the other,
 * no safety stop, the window, and evidence: for canary no hard blocker, enough calls on paper and somewhere to tell its
 * sales; for orders a verdict that is ready, and enough of everything on the orders lane. Shadow changes no answer and needs no evidence.
 * @returns the settings after the move beside the judgement.
 * @throws PuenteError bad_request for a target that says too little, or contradicts itself.
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
