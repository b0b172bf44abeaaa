/** Why an operation of the ops door is refused, in English: what happened, and what to do next. */
import type { RoutedKind } from '../merchant.ts';
import type { Role } from '../person.ts';

type Someone = { name: string; role: Role };

export const refusalSentences = {
  'refusal.not_moved': ({ merchant }: { merchant: string }) => `${merchant} is not moved.`,
  'refusal.try': ({ command }: { command: string }) => `Try \`${command}\`.`,
  'refusal.override': () => 'An approver can do without, with --override.',
  'refusal.empty_canary': () =>
    'A canary needs units: say which share of them with --share, or name some with --unit-in.',
  'refusal.no_stage': () => 'Name a stage; only a single kind can follow the stage of its merchant.',
  'refusal.units_without_canary': () => 'A share and named units belong to stage canary alone.',
  'refusal.unit_twice': ({ unit }: { unit: string }) => `The unit ${unit} can't be both in and out.`,
  'refusal.moved_on': ({ merchant, revision, expected }: { merchant: string; revision: number; expected: number }) =>
    `Merchant ${merchant} is at revision ${revision}, not at revision ${expected}; look again with puente merchants show ${merchant}.`,
  'refusal.changed': ({ merchant, expected }: { merchant: string; expected: number }) =>
    `The merchant ${merchant} is not at revision ${expected} any more: read it again and repeat the change.`,
  'refusal.proposed': (facts: { merchant: string; name: string; until_at: string; id: string }) =>
    `This move of ${facts.merchant} waits already: ${facts.name} proposed it, until ${facts.until_at}. Another approver makes it with puente moves approve ${facts.id} --reason …`,
  'refusal.own_proposal': ({ name }: { name: string }) => `${name} proposed this move; another approver has to agree.`,
  'refusal.move_over': ({ id, state, merchant }: { id: string; state: string; merchant: string }) =>
    `The move ${id} is ${state}; propose it again with puente stage ${merchant}.`,
  'refusal.no_move': ({ id }: { id: string }) => `No move ${id} was proposed; see puente moves list.`,
  'refusal.second_role': ({ name, role }: Someone) => `${name} is ${role}; a second person needs the role approver.`,
  'refusal.role': ({
    name,
    role,
    command,
    row,
    needed,
    note,
  }: Someone & { command: string; row: string; needed: Role; note: string | null }) =>
    `${name} is ${role}; \`puente ${command}\` (${row}) needs the role ${needed}${note === null ? '' : `, ${note}`}: ask somebody who has it, or have ops.tokens changed.`,
  'refusal.no_stop': ({ kind, merchant }: { kind: RoutedKind; merchant: string }) =>
    `No safety stop of ${kind} stands for ${merchant}; see puente safety show ${merchant}.`,
  'refusal.no_notice': ({ id }: { id: string }) =>
    `There is no notice ${id}; puente notices list shows which there are.`,
  'refusal.empty_window': ({ since_at, until_at }: { since_at: string; until_at: string }) =>
    `until (${until_at}) must be later than since (${since_at}): the window holds nothing`,
  'refusal.too_many_notices': ({ most }: { most: number }) =>
    `More than ${most} notices are meant; narrow the window and replay in parts.`,
  'refusal.end_not_accepted': ({ state }: { state: string }) =>
    `accepted_until belongs to accepted alone; ${state} has no end.`,
  'refusal.no_end': () => 'accepted needs accepted_until: nothing is accepted for ever (--until).',
  'refusal.end_over': () => 'accepted_until is over already; name an instant in the future.',
  'refusal.end_far': ({ days }: { days: number }) =>
    `accepted_until is more than ${days} days away; look again by then.`,
  'refusal.no_difference': ({ merchant, signature }: { merchant: string; signature: string }) =>
    `Merchant ${merchant} has no difference ${signature}; puente differences list --merchant … shows which there are.`,
  'refusal.difference_changed': ({ signature, expected }: { signature: string; expected: number }) =>
    `The difference ${signature} is not at revision ${expected} any more: read it again.`,
  'refusal.unknown_id': ({ id }: { id: string }) =>
    `Nothing is known of ${id}. Give a legacy id, order, payment, merchant order, reference, refund, notice or exchange as it was seen.`,
  'refusal.unknown_id_of': ({ id, merchant }: { id: string; merchant: string }) =>
    `Nothing is known of ${id} of merchant ${merchant}. Give a legacy id, order, payment, merchant order, reference, refund, notice or exchange as it was seen.`,
  'refusal.empty_period': () => 'since and until: the period is empty, until must be later than since',
  'refusal.empty_audit': () => 'until must be later than since: the window holds nothing.',
  'refusal.merchant_id': ({ id }: { id: string }) =>
    `A merchant id is the vendor's user id, digits only; '${id}' is not`,
  'refusal.token': () =>
    'Send your ops token as Authorization: Bearer …; for the commands, set PUENTE_OPS_TOKEN to it.',
  'refusal.wrong_tokens': ({ most, seconds }: { most: number; seconds: number }) =>
    `More than ${most} wrong tokens in a minute; wait ${seconds} s, and send the right one.`,
  'refusal.no_page': () => 'There is no such page; the head of this one leads to all.',
  'refusal.form': () => 'This form is not of your session: look at the page again, and send it from there.',
};
