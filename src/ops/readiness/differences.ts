/** Differences for operators: view and judge; each judgement has a note and an audit line, an acceptance has an end. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { type DifferenceGroup, differenceStates } from '../../proxy/records/evidence.ts';
import { DAY_MS, defined, instant, iso, listLimit, reason, shown, time, whose } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { merchant_name, merchantOf, type Named } from '../seen.ts';
import { ofEach } from '../whose.ts';
import type { EvidenceSource } from './readiness.ts';

/** Longest acceptance: a quarter; a difference that is still there then deserves another look. */
const MOST_ACCEPTED_DAYS = 90;
const DEFAULT_LIMIT = 100;
/** More groups than an operator reads at once; the filters reach the others. */
const MOST_LISTED = 1_000;

export const differenceKinds = ['verdict', 'error', 'value'] as const satisfies readonly DifferenceGroup['what'][];
/** A person's judgements. A difference becomes `new` when it is seen again, or when an acceptance has ended. */
export const judgements = ['explained', 'accepted', 'fixed'] as const satisfies readonly DifferenceGroup['state'][];

export const differenceQuery = z.strictObject({
  merchant: whose.exactOptional(),
  state: z.enum(differenceStates).exactOptional().describe('only in this state'),
  what: z.enum(differenceKinds).exactOptional().describe('verdict, error, or a value of an answer'),
  operation: z.string().min(1).max(100).exactOptional().describe('of this operation, such as point.create_intent'),
  limit: listLimit(DEFAULT_LIMIT, MOST_LISTED).describe('at most so many'),
});

export const differenceJudgement = z.strictObject({
  state: z.enum(judgements),
  accepted_until: instant
    .nullable()
    .default(null)
    .describe('when it becomes new again; needed for accepted, at most 90 days away'),
  note: reason,
  revision: z.int().nonnegative().describe('refuse unless it is still at this revision'),
});
type DifferenceJudgement = z.infer<typeof differenceJudgement>;

export const difference = z.object({
  merchant_id: z.string(),
  signature: z.string().describe('the same for the same finding, with any values'),
  operation: z.string(),
  what: z.enum(differenceKinds),
  path: z.string().describe('in the legacy answer; empty for the whole'),
  legacy: z.string(),
  orders: z.string(),
  state: z.enum(differenceStates),
  accepted_until: time.nullable(),
  note: z.string(),
  who: z.string().nullable(),
  count: z.int(),
  first_at: time,
  last_at: time,
  sample: z.string(),
  tables_revision: z.string(),
  revision: z.int(),
});
export type DifferenceView = z.infer<typeof difference>;

export const namedDifference = difference.extend({ merchant_name });

export const judgedDifference = namedDifference.extend({
  result: z.enum(['judged', 'unchanged']).describe('unchanged: it has this judgement already, and nothing is written'),
});
export type JudgedDifference = z.infer<typeof judgedDifference>;

/** New ones first, then by count. */
export async function viewDifferences(
  ports: EvidenceSource,
  query: z.infer<typeof differenceQuery>,
  signal: AbortSignal | null = null,
): Promise<DifferenceView[]> {
  const { merchant, state, what, operation, limit } = query;
  const now = ports.clock.now();
  const groups = await ofEach(
    merchant,
    (merchant_id) => ports.store.evidence.differences(defined({ merchant_id, states: state && [state] }), now),
    signal,
    { newest: ({ last_at }) => last_at },
  );
  return groups
    .filter(
      (one) => (what === undefined || one.what === what) && (operation === undefined || one.operation === operation),
    )
    .toSorted((one, other) => rank(one) - rank(other) || other.count - one.count)
    .slice(0, limit)
    .map(shown);
}

/** @throws PuenteError not_found. */
export async function viewDifference(
  ports: Ports,
  merchant_id: string,
  signature: string,
): Promise<Named<DifferenceView>> {
  return namedView(ports, await groupOf(ports, merchant_id, signature));
}

async function namedView(ports: Ports, group: DifferenceGroup): Promise<Named<DifferenceView>> {
  return { ...shown(group), merchant_name: (await merchantOf(ports, group.merchant_id)).settings.name };
}

/**
 * Stores a judgement, unless it stands already with the same note. `accepted` becomes `new` at its end, `fixed` when the difference is seen again.
 * @throws PuenteError not_found; conflict (revision); bad_request for an end that is missing, past or too far.
 */
export async function judgeDifference(
  ports: Ports,
  merchant_id: string,
  signature: string,
  judgement: DifferenceJudgement,
  who: string,
): Promise<JudgedDifference> {
  const now = ports.clock.now();
  const { state, note, revision } = judgement;
  const accepted_until = checkedEnd(judgement, now);
  const before = await groupOf(ports, merchant_id, signature);
  if (before.state === state && before.accepted_until === accepted_until && before.note === note) {
    refuseOtherRevision(before, revision);
    return { ...(await namedView(ports, before)), result: 'unchanged' };
  }
  const change = { state, accepted_until, note, who };
  const saved = await ports.store.evidence.saveDifference(merchant_id, signature, change, revision, {
    at: now,
    who,
    action: 'judge difference',
    subject: merchant_id,
    reason: note,
    detail: {
      signature,
      operation: before.operation,
      what: before.what,
      path: before.path,
      seen: before.count,
      before: { state: before.state, accepted_until: iso(before.accepted_until) },
      after: { state, accepted_until: iso(accepted_until) },
    },
  });
  return { ...(await namedView(ports, saved)), result: 'judged' };
}

/** @throws PuenteError conflict. */
function refuseOtherRevision({ merchant_id: merchant, signature, revision }: DifferenceGroup, expected: number): void {
  if (revision === expected) return;
  throw new PuenteError('conflict', say('refusal.difference_changed', { merchant, signature, expected }));
}

function checkedEnd({ state, accepted_until }: DifferenceJudgement, now: number): number | null {
  if (state !== 'accepted') {
    if (accepted_until === null) return null;
    throw new PuenteError('bad_request', say('refusal.end_not_accepted', { state }));
  }
  if (accepted_until === null) throw new PuenteError('bad_request', say('refusal.no_end', {}));
  if (accepted_until <= now) throw new PuenteError('bad_request', say('refusal.end_over', {}));
  if (accepted_until > now + MOST_ACCEPTED_DAYS * DAY_MS)
    throw new PuenteError('bad_request', say('refusal.end_far', { days: MOST_ACCEPTED_DAYS }));
  return accepted_until;
}

async function groupOf(ports: Ports, merchant_id: string, signature: string): Promise<DifferenceGroup> {
  const groups = await ports.store.evidence.differences({ merchant_id }, ports.clock.now());
  const group = groups.find((one) => one.signature === signature);
  if (group !== undefined) return group;
  const named = { merchant: merchant_id.slice(0, 20), signature: signature.slice(0, 20) };
  throw new PuenteError('not_found', say('refusal.no_difference', named));
}

function rank({ state }: DifferenceGroup): number {
  return differenceStates.indexOf(state);
}
