/** A move judged on what the store knows, refused with what is missing, or written with the evidence in its audit line. */
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { AuditEntry } from '../../proxy/audit.ts';
import type { Merchant, MerchantSettings } from '../../proxy/routing/merchant.ts';
import type { Person } from '../api/person.ts';
import { type MerchantView, merchantToChange, merchantView } from '../merchants.ts';
import type { Ports } from '../ports.ts';
import { type Judgement, judgeMove } from './judge.ts';
import { situationOf } from './situation.ts';
import { type MoveTarget, routingChange, routingOf, type Situation } from './target.ts';

/** A move that was judged, on the merchant as it was then. */
export interface Judged {
  before: Merchant;
  situation: Situation;
  judgement: Judgement;
  after: MerchantSettings;
}

/** The merchant after a move, with what was said of it. */
export type Moved = MerchantView & { judgement: Judgement };

export async function judgeFor(ports: Ports, id: string, target: MoveTarget, person: Person): Promise<Judged> {
  const before = await merchantToChange(ports, id);
  const situation = await situationOf(ports, before, target, person);
  return { before, situation, ...judgeMove(situation) };
}

/** @throws PuenteError refused: one sentence for each thing that is missing, with the command that gives it. */
export function refuseUnlessAllowed({ before, judgement }: Pick<Judged, 'before' | 'judgement'>): void {
  if (judgement.allowed) return;
  const missing = judgement.missing.flatMap(({ what, said, command }) => [
    { text: what, said },
    ...(command === null ? [] : [say('refusal.try', { command })]),
  ]);
  const hint = judgement.needs === 'override' ? [say('refusal.override', {})] : [];
  const sentences = [say('refusal.not_moved', { merchant: before.id }), ...missing, ...hint];
  throw new PuenteError('refused', sentences, {
    facts: { missing: judgement.missing.map(({ code }) => code).join(' '), needs: judgement.needs },
  });
}

/**
 * Writes an allowed move. The crash test's failpoints stand around the one commit.
 * @param extra further facts for the audit line, such as who proposed it.
 * @throws PuenteError conflict when the merchant changed since it was judged.
 */
export async function makeMove(
  ports: Ports,
  judged: Judged,
  why: string,
  person: Person,
  extra: Record<string, unknown> = {},
): Promise<Moved> {
  const { before, after, judgement } = judged;
  ports.memory.failpoint('stage.before_save');
  const saved = await ports.store.merchants.saveMerchant(
    { ...before, settings: after },
    before.revision,
    moveAudit(ports, judged, why, person.name, extra),
  );
  ports.memory.failpoint('stage.saved');
  ports.log.info('stage moved', { merchant: before.id, action: judgement.preview.changes.join(', ') || 'no change' });
  return { ...merchantView(ports, saved), judgement };
}

/** Who, why, before and after, what was said of it, and the evidence that it rests on. */
function moveAudit(
  ports: Ports,
  { before, situation, judgement, after }: Judged,
  why: string,
  who: string,
  extra: Record<string, unknown>,
): AuditEntry {
  const { rules, readiness, facts, target, settings } = situation;
  const [from, to] = [routingOf(rules, before.settings), routingOf(rules, after)];
  const { kind, missing, overridden, preview } = judgement;
  return {
    at: ports.clock.now(),
    who,
    action: 'stage',
    subject: before.id,
    reason: why,
    detail: {
      ...routingChange(from, to),
      target,
      judgement: { kind, gate: settings.gate, overridden, missing: missing.map(({ code, what }) => ({ code, what })) },
      evidence: {
        verdict: readiness.verdict,
        samples: facts.samples,
        exchange_sequence: facts.exchange_sequence,
        tables_revision: ports.tables.revision,
      },
      touched: {
        units_now: preview.units_now,
        units_later: preview.units_later,
        calls_a_day: preview.calls_a_day_touched,
      },
      ...extra,
    },
  };
}
