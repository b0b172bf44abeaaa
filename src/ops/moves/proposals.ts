/** Moves that wait for a second person: proposed, approved, declined, withdrawn or expired. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import type { AuditAction, AuditEntry, AuditLine } from '../../proxy/audit.ts';
import type { BulkChange, Proposal } from '../../proxy/records/routing.ts';
import { BY_ITSELF, isEnough, type Person } from '../api/person.ts';
import { defined, type Shown, shown, whose } from '../fields.ts';
import { merchantView } from '../merchants.ts';
import type { Ports } from '../ports.ts';
import { inAnyCase, merchantOf, type Named } from '../seen.ts';
import { ofEach } from '../whose.ts';
import type { Judgement } from './judge.ts';
import { isNothing, judgeFor, type Moved, makeMove, refuseUnlessAllowed } from './judged.ts';
import { type MoveTarget, moveTarget } from './target.ts';

/** More than an operator reads at once. */
const MOST_LISTED = 500;

export const proposalStates = [
  'waiting',
  'approved',
  'declined',
  'expired',
  'withdrawn',
] as const satisfies readonly Proposal['state'][];

export const proposalQuery = z.strictObject({
  merchant: whose.exactOptional(),
  state: z.enum(proposalStates).exactOptional().describe('only in this state'),
});

export type ProposalView = Shown<Proposal>;

/**
 * Stores a move that was judged and is allowed once a second person agrees. Of two processes that propose it one does.
 * @param seen the newest audit line about the merchant before it was read (`newestOf`): a rollback since then, which finds
 * no proposal to withdraw, refuses this one. @param extra further facts for the audit line.
 * @param bulkWith the bulk move that proposes it, and what it is after this step: both are written, or neither.
 * @throws PuenteError refused when the same move of the merchant already waits, conflict when anything was decided about
 * the merchant since `seen`, or the bulk move was changed.
 */
export async function propose(
  ports: Ports,
  merchant_id: string,
  target: MoveTarget,
  why: string,
  person: Person,
  seen: number,
  extra: Record<string, unknown> = {},
  bulkWith?: (id: string) => BulkChange,
): Promise<ProposalView> {
  await refuseTwice(ports, merchant_id, target);
  const now = ports.clock.now();
  const proposal: Proposal = {
    id: ports.memory.ids.legacyId(now),
    merchant_id,
    move: target,
    reason: why,
    proposed_by: person.name,
    proposed_at: now,
    expires_at: now + ports.settings.moves.proposal_kept_ms,
    state: 'waiting',
    decided_by: null,
    decided_at: null,
  };
  const line = audit(ports, proposal, 'move proposed', person.name, why);
  const entry = { ...line, detail: { ...line.detail, ...extra } };
  try {
    await ports.store.moves.saveProposal(proposal, entry, seen, bulkWith?.(proposal.id));
  } catch (error) {
    // Another process may have proposed it: that is said first.
    await refuseTwice(ports, merchant_id, target);
    throw error;
  }
  return view(ports, proposal);
}

async function refuseTwice(ports: Ports, merchant: string, target: MoveTarget): Promise<void> {
  const first = await waitingFor(ports, merchant, target);
  if (first === undefined) return;
  const { id, proposed_by: name, expires_at: until_at } = first;
  throw new PuenteError('refused', say('refusal.proposed', { merchant, name, until_at, id }));
}

/** The same move of the merchant, if it waits already. */
export async function waitingFor(
  ports: Ports,
  merchant: string,
  target: MoveTarget,
): Promise<ProposalView | undefined> {
  const wanted = JSON.stringify(moveTarget.parse(target));
  const open = await viewProposals(ports, { merchant: [merchant], state: 'waiting' });
  return open.find(({ move }) => JSON.stringify(moveTarget.parse(move)) === wanted);
}

/** Newest first. */
export async function viewProposals(
  ports: Ports,
  { merchant, state }: z.infer<typeof proposalQuery>,
  signal: AbortSignal | null = null,
): Promise<ProposalView[]> {
  // A proposal expires by the clock; its row may still say waiting.
  const stored = state === 'expired' ? undefined : state;
  const rows = await ofEach(
    merchant,
    (merchant_id) => ports.store.moves.proposals(defined({ merchant_id, state: stored }), MOST_LISTED),
    signal,
    { limit: MOST_LISTED, newest: ({ proposed_at }) => proposed_at },
  );
  const all = rows.map((proposal) => view(ports, proposal));
  return state === undefined ? all : all.filter((proposal) => proposal.state === state);
}

/** A waiting one is judged anew, for this person; `judgement` is null otherwise. @throws PuenteError not_found. */
export async function viewProposal(
  ports: Ports,
  id: string,
  person: Person,
): Promise<Named<ProposalView> & { judgement: Judgement | null }> {
  const proposal = view(ports, await found(ports, id));
  const merchant = await merchantOf(ports, proposal.merchant_id);
  const shown = { ...proposal, merchant_name: merchant.settings.name };
  if (proposal.state !== 'waiting') return { ...shown, judgement: null };
  const { judgement } = await judgeFor(ports, merchant, moveTarget.parse(proposal.move), person);
  return { ...shown, judgement };
}

/**
 * Judges the proposed move again, and makes it: the move and the approval are written together, or neither.
 * @throws PuenteError forbidden for the proposer or a lower role, refused when ended or not allowed, not_found.
 */
export function approveMove(ports: Ports, id: string, why: string, person: Person): Promise<Moved> {
  return ports.memory.mutex.run(`proposal ${id}`, async () => {
    const { merchant_id } = await found(ports, id);
    // Read first: a rollback before it is found by `waiting`, a later one makes the move a conflict.
    const merchant = await merchantOf(ports, merchant_id);
    const proposal = await waiting(ports, id);
    refuseUnlessApprover(person);
    if (proposal.proposed_by === person.name)
      throw new PuenteError(
        'forbidden',
        say('refusal.own_proposal', { name: person.name, command: 'moves decline', id }),
      );
    const judged = await judgeFor(ports, merchant, moveTarget.parse(proposal.move), person);
    refuseUnlessAllowed(judged);
    const { proposed_by, reason: proposed_because } = proposal;
    const extra = { proposal: id, proposed_by, proposed_because, ...(await fileOf(ports, proposal)) };
    const approved = decided(ports, proposal, 'approved', person.name);
    try {
      if (!isNothing(judged)) return await makeMove(ports, judged, why, person, extra, { proposal: approved });
      // Somebody has made it meanwhile.
      await ports.store.moves.saveProposal(approved, audit(ports, approved, 'move approved', person.name, why));
      return { ...merchantView(ports, merchant), judgement: judged.judgement };
    } catch (error) {
      // Another process may have decided it: that is said first.
      await waiting(ports, id);
      throw error;
    }
  });
}

/** The file of merchants that proposed it, as the line of the proposal names it; empty without one. */
async function fileOf(ports: Ports, proposal: Proposal): Promise<Record<string, unknown>> {
  const { file, sha256, plan } = (await lineOf(ports, proposal))?.detail ?? {};
  return defined({ file, sha256, plan });
}

async function lineOf({ store }: Ports, { id, merchant_id }: Proposal): Promise<AuditLine | undefined> {
  const lines = await store.audit.auditsOf({ subject: merchant_id, action: 'move proposed' }, MOST_LISTED);
  return lines.find(({ detail }) => detail.proposal === id);
}

/** Declines a move; its proposer withdraws it. @throws PuenteError forbidden for others without the role approver. */
export function declineMove(ports: Ports, id: string, why: string, person: Person): Promise<ProposalView> {
  return ports.memory.mutex.run(`proposal ${id}`, async () => {
    const proposal = await waiting(ports, id);
    const own = proposal.proposed_by === person.name;
    if (!own) refuseUnlessApprover(person);
    return decide(ports, proposal, own ? 'withdrawn' : 'declined', person.name, why);
  });
}

/** Withdraws the waiting proposals of a merchant: none may undo its rollback. @param extra further facts for the audit lines. */
export async function withdrawAll(
  ports: Ports,
  merchant_id: string,
  why: string,
  who: string,
  extra: Record<string, unknown>,
): Promise<void> {
  for (const proposal of await ports.store.moves.proposals({ merchant_id, state: 'waiting' }, MOST_LISTED))
    await ports.memory.mutex.run(`proposal ${proposal.id}`, async () => {
      // Another process may decide it first.
      await inAnyCase(async () => {
        const now = await ports.store.moves.proposal(proposal.id);
        if (now?.state === 'waiting') await decide(ports, now, 'withdrawn', who, why, extra);
      });
    });
}

type Decision = Exclude<Proposal['state'], 'waiting'>;

function decided({ clock }: Ports, proposal: Proposal, state: Decision, who: string): Proposal {
  return { ...proposal, state, decided_by: who, decided_at: clock.now() };
}

async function decide(
  ports: Ports,
  proposal: Proposal,
  state: Decision,
  who: string,
  why: string,
  extra: Record<string, unknown> = {},
): Promise<ProposalView> {
  const after = decided(ports, proposal, state, who);
  const line = audit(ports, after, `move ${state}`, who, why);
  await ports.store.moves.saveProposal(after, { ...line, detail: { ...line.detail, ...extra } });
  return view(ports, after);
}

async function waiting(ports: Ports, id: string): Promise<Proposal> {
  const proposal = await found(ports, id);
  if (proposal.state === 'waiting' && proposal.expires_at <= ports.clock.now())
    await decide(ports, proposal, 'expired', BY_ITSELF, encoded(say('move.expired', {})));
  const { merchant_id: merchant } = proposal;
  const { state } = view(ports, proposal);
  // The process may have ended between a rollback and this withdrawal.
  const undone = state === 'waiting' ? await rollbackSince(ports, proposal) : undefined;
  if (undone !== undefined)
    await decide(ports, proposal, 'withdrawn', undone.who, undone.reason, defined({ alert: undone.detail.alert }));
  if (state === 'waiting' && undone === undefined) return proposal;
  const over = undone === undefined ? state : 'withdrawn';
  throw new PuenteError('refused', say('refusal.move_over', { id, state: over, merchant }));
}

/** By the order of audit lines, because a clock may be set back. */
async function rollbackSince(ports: Ports, proposal: Proposal): Promise<AuditLine | undefined> {
  const after = (await lineOf(ports, proposal))?.sequence ?? 0;
  return (await ports.store.audit.auditsOf({ subject: proposal.merchant_id, action: 'rollback', after }, 1))[0];
}

async function found(ports: Ports, id: string): Promise<Proposal> {
  const proposal = await ports.store.moves.proposal(id);
  if (proposal === null) throw new PuenteError('not_found', say('refusal.no_move', { id: id.slice(0, 60) }));
  return proposal;
}

function refuseUnlessApprover(person: Person): void {
  if (isEnough(person.role, 'approver')) return;
  const { name, role } = person;
  throw new PuenteError('forbidden', say('refusal.second_role', { name, role }));
}

function audit(ports: Ports, proposal: Proposal, action: AuditAction, who: string, why: string): AuditEntry {
  const { id, merchant_id, move, proposed_by } = proposal;
  const detail = { proposal: id, target: move, proposed_by };
  return { at: ports.clock.now(), who, action, subject: merchant_id, reason: why, detail };
}

function view(ports: Ports, proposal: Proposal): ProposalView {
  const over = proposal.state === 'waiting' && proposal.expires_at <= ports.clock.now();
  return shown({ ...proposal, state: over ? 'expired' : proposal.state });
}
