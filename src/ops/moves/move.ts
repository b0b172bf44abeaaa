/** Moves a merchant, with a reason, a revision and the evidence in the audit; and rolls it back to legacy at once. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { type Merchant, type MerchantSettings, stages } from '../../proxy/routing/merchant.ts';
import type { Person } from '../api/person.ts';
import { reason } from '../fields.ts';
import { inForce, revision } from '../merchants.ts';
import type { Ports } from '../ports.ts';
import { changeInAnyCase, is_new, merchantToChange, type OnPurpose, type reasonOrNew } from '../seen.ts';
import type { Judgement } from './judge.ts';
import { judgeFor, type Moved, makeMove, refuseUnlessAllowed } from './judged.ts';
import { drainView, viewDrain } from './preview.ts';
import { type ProposalView, propose, withdrawAll } from './proposals.ts';
import { FOLLOW, type MoveTarget, moveTarget, routingChange, routingOf, unitsOf } from './target.ts';

export const stageChange = moveTarget.extend({ reason, revision, new: is_new });

/** A list in a query: `units_in=point:A,point:B`. */
const slots = z
  .string()
  .transform((text) => text.split(',').filter((slot) => slot !== ''))
  .pipe(moveTarget.shape.units_in.unwrap());

/** The query of `GET /api/merchants/:id/stage/preview`; `follow` stands for the stage `null` of a move. */
export const previewAsk = z
  .strictObject({
    stage: z.enum([...stages, FOLLOW]),
    share: z.coerce.number().pipe(moveTarget.shape.share.unwrap()).exactOptional(),
    units_in: slots.exactOptional(),
    units_out: slots.exactOptional(),
    kind: moveTarget.shape.kind,
    override: z.enum(['true', 'false']).default('false'),
    new: z
      .enum(['true', 'false'])
      .default('false')
      .describe(is_new.description ?? ''),
  })
  .transform(({ stage, override, new: made, ...rest }): { target: MoveTarget; purpose: OnPurpose } => {
    const target = { ...rest, stage: stage === FOLLOW ? null : stage, override: override === 'true' };
    return { target, purpose: { new: made === 'true' } };
  });

export type MoveAnswer =
  | (Moved & { result: 'moved' })
  | { result: 'proposed'; proposed: ProposalView; judgement: Judgement };

/**
 * Moves a merchant: it applies to the next create; every open link stays on the lane it was created on.
 * @param extra further facts for the audit line.
 * @throws PuenteError refused with all that is missing, conflict for another revision, bad_request for a bad target,
 * not_found for a merchant or a unit that was never seen.
 */
export async function moveStage(
  ports: Ports,
  id: string,
  change: z.infer<typeof stageChange>,
  person: Person,
  extra: Record<string, unknown> = {},
): Promise<MoveAnswer> {
  const { reason: why, revision: expected, new: made, ...target } = change;
  const before = await merchantToChange(ports, id, { new: made }, unitsOf(target));
  const judged = await judgeFor(ports, before, target, person);
  const { revision } = before;
  if (revision !== expected) {
    const sentence = say('refusal.moved_on', { merchant: id, revision, expected });
    throw new PuenteError('conflict', sentence, { facts: { revision } });
  }
  refuseUnlessAllowed(judged);
  if (judged.judgement.needs === 'approval') {
    const proposed = await propose(ports, id, target, why, person, extra);
    return { result: 'proposed', proposed, judgement: judged.judgement };
  }
  return { result: 'moved', ...(await makeMove(ports, judged, why, person, extra)) };
}

/** The judgement of a move, without making it. @throws PuenteError as `moveStage`, of what it names. */
export async function previewStage(
  ports: Ports,
  id: string,
  { target, purpose }: z.infer<typeof previewAsk>,
  person: Person,
): Promise<{ merchant_id: string; revision: number; judgement: Judgement }> {
  const before = await merchantToChange(ports, id, purpose, unitsOf(target));
  const { judgement } = await judgeFor(ports, before, target, person);
  return { merchant_id: id, revision: before.revision, judgement };
}

// Rollback: takes a merchant back to legacy at once, in any situation; open sales stay on their lane.

export const rolledBack = drainView.extend({ before: drainView.shape.in_force, revision: z.int() });
export type RolledBack = z.infer<typeof rolledBack>;

/**
 * Right on any revision: needs no evidence, approver or window. @param extra further facts for the audit line.
 * @throws PuenteError as `merchantToChange`.
 */
export async function rollBack(
  ports: Ports,
  id: string,
  ask: z.infer<typeof reasonOrNew>,
  person: Person,
  extra: Record<string, unknown> = {},
): Promise<RolledBack> {
  const { reason: why } = ask;
  const { before, revision } = await saveLegacy(ports, id, ask, person, extra);
  ports.log.info('rolled back', {
    merchant: id,
    action: `${routingOf(ports.settings, before.settings).merchant.stage} to legacy`,
  });
  await withdrawAll(ports, id, why, person.name, extra);
  return { ...(await viewDrain(ports, id)), before: inForce(ports, before), revision };
}

function saveLegacy(
  ports: Ports,
  id: string,
  ask: z.infer<typeof reasonOrNew>,
  person: Person,
  extra: Record<string, unknown>,
): Promise<{ before: Merchant; revision: number }> {
  return changeInAnyCase(ports, id, ask, async (before) => {
    const settings: MerchantSettings = { ...before.settings, stage: 'legacy', share: 0, units_in: [], kinds: {} };
    const [from, to] = [routingOf(ports.settings, before.settings), routingOf(ports.settings, settings)];
    ports.memory.failpoint('stage.before_save');
    const saved = await ports.store.merchants.saveMerchant({ ...before, settings }, before.revision, {
      at: ports.clock.now(),
      who: person.name,
      action: 'rollback',
      subject: id,
      reason: ask.reason,
      detail: { ...routingChange(from, to), rollback: true, ...extra },
    });
    ports.memory.failpoint('stage.saved');
    return { before, revision: saved.revision };
  });
}
