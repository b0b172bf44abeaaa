/** Moves a merchant, with a reason, a revision and the evidence in the audit; and rolls it back to legacy at once. */
import { z } from 'zod';
import type { Said } from '../../error.ts';
import type { BulkChange } from '../../proxy/records/routing.ts';
import { type Merchant, type MerchantSettings, stages } from '../../proxy/routing/merchant.ts';
import type { Person } from '../api/person.ts';
import { newestOf } from '../audit.ts';
import { reason } from '../fields.ts';
import { inForce, merchantView, refuseOtherRevision, revision } from '../merchants.ts';
import type { Ports } from '../ports.ts';
import {
  changeInAnyCase,
  inAnyCase,
  is_new,
  merchantToChange,
  type Named,
  type OnPurpose,
  type reasonOrNew,
} from '../seen.ts';
import { OPEN } from './bulk-decision.ts';
import type { Judgement } from './judge.ts';
import { isNothing, type Judged, judgeFor, type Moved, makeMove, refuseUnlessAllowed } from './judged.ts';
import { changesSaid, drainView, viewDrain } from './preview.ts';
import { type ProposalView, propose, viewProposals, withdrawAll } from './proposals.ts';
import { FOLLOW, isThere, type MoveTarget, moveTarget, routingChange, routingOf, unitsOf } from './target.ts';

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
  | (Moved & { result: 'unchanged' })
  | { result: 'proposed'; merchant_name: string | null; proposed: ProposalView; judgement: Judgement };

/**
 * Moves a merchant: it applies to the next create; every open link stays on the lane it was created on. Of a move to where
 * the merchant is nothing is written. What is noted of the merchant before a proposal is written, as of a test notice, is
 * judged with it: only another revision refuses it.
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
  const judgeAndMove = () => judgeAndMoveOnce(ports, id, change, person, extra);
  return inAnyCase(judgeAndMove, ({ said }) => said.some(({ code }) => code === 'refusal.decided_meanwhile'));
}

async function judgeAndMoveOnce(
  ...[ports, id, change, person, extra]: Required<Parameters<typeof moveStage>>
): Promise<MoveAnswer> {
  const { reason: why, revision: expected, new: made, ...target } = change;
  const seen = await newestOf(ports, id);
  const before = await merchantToChange(ports, id, { new: made }, unitsOf(target));
  const judged = await judgeFor(ports, before, target, person);
  refuseOtherRevision(before, expected);
  refuseUnlessAllowed(judged);
  if (changesNothing(judged, made))
    return { result: 'unchanged', ...merchantView(ports, before), judgement: judged.judgement };
  if (judged.judgement.needs === 'approval') {
    const proposed = await propose(ports, id, target, why, person, seen, extra);
    return { result: 'proposed', merchant_name: before.settings.name, proposed, judgement: judged.judgement };
  }
  return { result: 'moved', ...(await makeMove(ports, judged, why, person, extra)) };
}

/** The judgement of a move, without making it. @throws PuenteError as `moveStage`, of what it names. */
export async function previewStage(
  ports: Ports,
  id: string,
  { target, purpose }: z.infer<typeof previewAsk>,
  person: Person,
): Promise<Named<{ merchant_id: string; revision: number; changes_nothing: boolean; judgement: Judgement }>> {
  const before = await merchantToChange(ports, id, purpose, unitsOf(target));
  const judged = await judgeFor(ports, before, target, person);
  const { revision } = before;
  return {
    merchant_id: id,
    merchant_name: before.settings.name,
    revision,
    changes_nothing: changesNothing(judged, purpose?.new === true),
    judgement: judged.judgement,
  };
}

/** A merchant that was never seen is made by a move to where it would be, too. */
function changesNothing(judged: Judged, made: boolean): boolean {
  return isNothing(judged) && !(made && judged.before.revision === 0);
}

// Rollback: takes a merchant back to legacy at once, in any situation; open sales stay on their lane.

export const rolledBack = drainView.extend({
  result: z
    .enum(['rolled_back', 'unchanged'])
    .describe('unchanged: it was on legacy, nothing waited, nothing is written'),
  withdrawn: z.array(z.string()).describe('moves of it that were proposed'),
  left: z.array(z.string()).describe('bulk moves and ramps, which it waited in, and which leave it where it is now'),
  before: drainView.shape.in_force,
  revision: z.int(),
});
export type RolledBack = z.infer<typeof rolledBack>;

/** With what is still open. @param extra further facts for the audit line. @throws PuenteError as `takeBack`. */
export async function rollBack(
  ports: Ports,
  id: string,
  ask: z.infer<typeof reasonOrNew>,
  person: Person,
  extra: Record<string, unknown> = {},
): Promise<RolledBack> {
  const { before, revision, waits } = await takeBack(ports, id, ask, person, extra);
  const result = revision === null ? 'unchanged' : 'rolled_back';
  const drain = await viewDrain(ports, id);
  return { ...drain, result, ...waits, before: inForce(ports, before), revision: revision ?? before.revision };
}

/**
 * Right on any revision: needs no evidence, approver or window. Nothing is written of a merchant that is on legacy and
 * waits for no move. @returns as `saveRollback`. @throws PuenteError as `merchantToChange`.
 */
export async function takeBack(
  ports: Ports,
  id: string,
  ask: z.infer<typeof reasonOrNew>,
  person: Person,
  extra: Record<string, unknown>,
): ReturnType<typeof saveRollback> {
  const made = await changeInAnyCase(ports, id, ask, (before) => saveRollback(ports, before, ask, person.name, extra));
  if (made.revision !== null) await withdrawAll(ports, id, ask.reason, person.name, extra);
  return made;
}

type Waits = Pick<RolledBack, 'withdrawn' | 'left'>;

/**
 * Reads no evidence; `withdrawAll` is to follow. @param extra.bulk the bulk move whose step it is.
 * @param bulkWith that one, and what it is after the step, by what is changed: both are written, or neither.
 * @returns the revision null when nothing is written. @throws PuenteError conflict.
 */
export async function saveRollback(
  ports: Ports,
  before: Merchant,
  ask: z.infer<typeof reasonOrNew>,
  who: string,
  extra: Record<string, unknown>,
  bulkWith?: (changes: Said[]) => BulkChange,
): Promise<{ before: Merchant; revision: number | null; waits: Waits }> {
  const { id: subject } = before;
  const waits = await waitingMoves(ports, subject, extra.bulk);
  const settings: MerchantSettings = { ...before.settings, stage: 'legacy', share: 0, units_in: [], kinds: {} };
  const is_there = isThere(ports.settings, before.settings, settings) && !(ask.new && before.revision === 0);
  if (is_there && Object.values(waits).every(({ length }) => length === 0)) return { before, revision: null, waits };
  const [from, to] = [routingOf(ports.settings, before.settings), routingOf(ports.settings, settings)];
  const detail = { ...routingChange(from, to), rollback: true, ...waits, ...extra };
  ports.memory.failpoint('stage.before_save');
  const { revision } = await ports.store.merchants.saveMerchant(
    { ...before, settings },
    before.revision,
    { at: ports.clock.now(), who, action: 'rollback', subject, reason: ask.reason, detail },
    { bulk: bulkWith?.(changesSaid(from, to).map(({ said }) => said)) },
  );
  ports.memory.failpoint('stage.saved');
  ports.log.info('rolled back', { merchant: subject, action: `${from.merchant.stage} to legacy` });
  return { before, revision, waits };
}

/** Bulk moves and ramps that are open at once, many times over. */
const MOST_OPEN = 500;

/** Ids of what would move the merchant later, and no more after a rollback. @param own the bulk move that makes it. */
async function waitingMoves(ports: Ports, id: string, own: unknown): Promise<Waits> {
  const { audit, moves } = ports.store;
  const [last] = await audit.auditsOf({ subject: id, action: 'rollback' }, 1);
  const open = await moves.bulkLines({ states: OPEN, awaited_by: id }, MOST_OPEN);
  const left = open.filter(({ id: bulk, created_at }) => bulk !== own && created_at > (last?.at ?? 0));
  const proposed = await viewProposals(ports, { merchant: [id], state: 'waiting' });
  return { withdrawn: proposed.map((one) => one.id), left: left.map((one) => one.id) };
}
