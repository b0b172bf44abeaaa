/** What a move is told, in English: what is missing, what changes, what keeps a unit, and what is still open. */
import { type KindFact, stageText } from './facts.ts';

type Mover = { name: string; role: string };
type Sample = KindFact & { count: number; min_sample: number };
type Change = KindFact & { from: string; from_share: number; to: string; to_share: number };

export const moveSentences = {
  'role.override': ({ name, role }: Mover) => `Doing without evidence needs the role approver, and ${name} is ${role}.`,
  'role.move': ({ name, role }: Mover) => `Moving a merchant needs the role operator, and ${name} is ${role}.`,
  'outside_window.opens': ({ window, opens_at }: { window: string; opens_at: string }) =>
    `Moves forward are made in ${window}; it opens next at ${opens_at}.`,
  'outside_window.closed': ({ window }: { window: string }) =>
    `Moves forward are made in ${window}; it does not open in the next two weeks.`,
  skipped_stage: ({ stages }: { stages: readonly string[] }) =>
    `A migration goes one stage at a time; this move skips ${stages.join(' and ')}.`,
  'never_seen.kinds': ({ merchant, kinds }: { merchant: string; kinds: readonly string[] }) =>
    `No call of ${merchant} for ${kinds.join(' or ')} was seen, so nothing is proven.`,
  'too_few_calls.served': ({ count, kind, min_sample }: Sample) =>
    `${count} ${kind} calls were served by orders on a canary; fewer than ${min_sample} prove nothing.`,
  'too_few_calls.translated': ({ count, kind, min_sample }: Sample) =>
    `${count} ${kind} calls were translated on paper or served by orders; fewer than ${min_sample} prove nothing.`,
  not_ready: ({ operations }: { operations: string }) => `The readiness verdict is not ready for ${operations}.`,
  'change.stage': ({ kind, from, from_share, to, to_share }: Change) =>
    `${kind}: ${stageText(from, from_share)} to ${stageText(to, to_share)}`,
  'change.units_in': ({ gained, left }: { gained: number; left: number }) =>
    `units named in: ${gained} more, ${left} fewer`,
  'change.units_out': ({ gained, left }: { gained: number; left: number }) =>
    `units kept out: ${gained} more, ${left} fewer`,
  'held.orders': ({ id }: { id: string | null }) => `an order is open there${id === null ? '' : ` (${id})`}`,
  'held.legacy': ({ id }: { id: string | null }) => `a sale on legacy is open there${id === null ? '' : ` (${id})`}`,
  'drain.nothing': () => 'Nothing is open on orders.',
  'drain.overdue': ({ open }: { open: number }) => `${openText(open)}, beyond the lifetime: see puente reconcile.`,
  'drain.closes': ({ open, minutes, closes_at }: { open: number; minutes: number; closes_at: string }) =>
    `${openText(open)}; safe to close in ${minutes} min, at ${closes_at}.`,
  'drain.notices': ({ count }: { count: number }) =>
    `${count} ${count === 1 ? 'notice waits' : 'notices wait'} for delivery; see puente notices list.`,
};

function openText(open: number): string {
  return `${open} ${open === 1 ? 'sale is' : 'sales are'} open on orders`;
}
