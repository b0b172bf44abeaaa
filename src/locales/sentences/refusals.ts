/** Why an operation of the ops door is refused, in English: what happened, and what to do next. */

import type { Sentence } from '../../error.ts';

type Someone = { name: string; role: string };

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
  }: Someone & { command: string; row: string; needed: string; note: Sentence | null }) =>
    `${name} is ${role}; \`puente ${command}\` (${row}) needs the role ${needed}${note === null ? '' : `, ${note.text}`}: ask somebody who has it, or have ops.tokens changed.`,
  'role_note.erase': () => 'because what is erased can not come back',
  'role_note.doctor': () => 'because it reads the whole database and calls the service',
  'role_note.reconcile': () => 'for a dry run too, which asks the service with the tokens of merchants',
  'refusal.no_stop': ({ kind, merchant }: { kind: string; merchant: string }) =>
    `No safety stop of ${kind} stands for ${merchant}; see puente safety show ${merchant}.`,
  'refusal.no_notice': ({ id }: { id: string }) =>
    `There is no notice ${id}; puente notices list shows which there are.`,
  'refusal.empty_window': ({ since_at, until_at }: { since_at: string; until_at: string }) =>
    `until (${until_at}) must be later than since (${since_at}): the window holds nothing`,
  'refusal.other_count': ({ expected, notices }: { expected: number; notices: number }) =>
    `There were ${expected} notices in the window when they were counted, and there are ${notices} now; none is told again before you have looked at that.`,
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
  'refusal.no_call': ({ id }: { id: string }) => `There is no call ${id}; puente trace <id> names those of a sale.`,
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
  'refusal.no_file': () => 'There is no such file; load the page again.',
};

/** Of bulk moves, of brown-outs, and of a merchant that is to be erased. */
export const manyRefusals = {
  'refusal.bulk_role': ({ name, role }: Someone) =>
    `Moving without evidence needs the role approver, and ${name} is ${role}.`,
  'refusal.bulk_over': ({ id, state, why }: { id: string; state: string; why: Sentence }) =>
    `The bulk move ${id} is ${state} already: ${why.text}`,
  'refusal.bulk_changed': ({ id, expected }: { id: string; expected: number }) =>
    `The bulk move ${id} is not at revision ${expected} any more: read it again.`,
  'refusal.no_bulk': ({ id }: { id: string }) => `There is no bulk move ${id}; see puente bulk list.`,
  'refusal.nobody_selected': () =>
    'No merchant is like that; see puente merchants list and puente can-migrate MERCHANT.',
  'refusal.named_twice': ({ merchant }: { merchant: string }) => `The merchant ${merchant} is named twice.`,
  'refusal.no_stage_for': ({ merchant }: { merchant: string }) =>
    `No stage is named for ${merchant}; name one for all, or one beside it.`,
  'refusal.proposal_decided': ({ id }: { id: string }) =>
    `The proposal ${id} was decided by somebody else: read it again.`,
  'refusal.no_brownout': ({ id }: { id: string }) => `There is no brown-out ${id}; see puente brownout list.`,
  'refusal.brownout_over': ({ id, state }: { id: string; state: string }) =>
    `The brown-out ${id} is ${state} already; see puente brownout list.`,
  'refusal.brownout_empty': () => 'until must be later than from: the window holds nothing.',
  'refusal.brownout_past': () => 'The window is over already; name one that is still to come.',
  'refusal.brownout_long': () => 'A brown-out lasts 24 hours at most; schedule one for each day.',
  'refusal.brownout_twice': (facts: { merchant: string; since_at: string; until_at: string; id: string }) =>
    `Merchant ${facts.merchant} has a brown-out from ${facts.since_at} to ${facts.until_at} already; abort it first: puente brownout abort ${facts.id} --reason …`,
  'refusal.nothing_held': ({ merchant }: { merchant: string }) => `There is nothing of a merchant ${merchant} here.`,
  'refusal.not_erased': () => 'Nothing was erased.',
  'refusal.erase_raced': () =>
    'Work of this merchant began while it was being erased: see that its tills call no more, and erase it again.',
  'held_back.links': ({ count }: { count: number }) =>
    `${count} sales on orders are open: wait until they are paid or over; \`puente reconcile\` shows them.`,
  'held_back.refunds': ({ count }: { count: number }) => `${count} refunds are under way: wait for their end.`,
  'held_back.legacy_sales': ({ count }: { count: number }) =>
    `${count} sales on legacy hold their units: wait until they are over.`,
  'held_back.notices': ({ count }: { count: number }) =>
    `${count} notices are not delivered: set its notice URL, or give them up with --drop-notices.`,
  'held_back.bulk_moves': ({ count }: { count: number }) =>
    `${count} bulk moves have it waiting for its turn: wait for their end, or abort them with \`puente bulk abort\`.`,
  'held_back.proposals': ({ count }: { count: number }) =>
    `${count} moves wait for a second person: have them approved, declined or withdrawn.`,
};

/** Of the ops door itself, whatever was asked. */
export const doorRefusals = {
  'refusal.no_body': ({ row }: { row: string }) => `${row} takes no body.`,
  'refusal.not_json': () => 'Send the body as JSON, with the content type application/json.',
  'refusal.unreadable': () => 'The body is not valid JSON, or too large',
  'refusal.head': () => 'The request line or a header is not one that this door takes.',
  'refusal.host': ({ host }: { host: string | null }) =>
    `This door does not answer to the name ${host ?? 'in the Host header'}; use its address, or add the name to ops.hosts.`,
  'refusal.other_origin': () => 'A page of another origin may not call this door.',
  'refusal.not_signed_in': () => 'This call did not sign in.',
  'refusal.no_operation': () => 'There is no such operation; GET /api/openapi.json lists them.',
  'refusal.internal': () => 'Internal error; the log says more',
};
