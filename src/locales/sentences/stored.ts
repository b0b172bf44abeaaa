/**
 * Sentences that are kept as text (safety stops, settlements, mismatches, attempts), in English. They are recognised again
 * by their form, so none of them may bend a word for a number. A fact that is another such sentence is named `why`, and `cause`
 * one that says why a notice may not go to an address.
 */
import type { Sentence } from '../../error.ts';

type Shown = string | number;

/** Of the merchants of a bulk move, as they are counted. */
export const bulkCounts = ['moved', 'proposed', 'refused', 'skipped', 'waiting'] as const;

/** Of a sentence whose parts come and go, so that it shows no form of its own. */
export const ownForms: Readonly<Partial<Record<string, RegExp>>> = {
  'bulk.summary': new RegExp(
    `^(?=\\d)${bulkCounts.map((one) => `(?:(?<${one}>\\d+) ${one}(?:, (?=\\d)|$))?`).join('')}$`,
  ),
};

const safety = {
  'safety.in_a_row': ({ in_a_row, limit }: { in_a_row: Shown; limit: Shown }) =>
    `${in_a_row} faults in a row, with no good call between; ${limit} trip it.`,
  'safety.faults': (facts: { faults: Shown; calls: Shown; minutes: Shown; share: Shown }) =>
    `${facts.faults} of ${facts.calls} calls in ${facts.minutes} min were faults; ${facts.share} % trips it.`,
  'safety.slow': (facts: { slow: Shown; calls: Shown; minutes: Shown; slow_ms: Shown; share: Shown }) =>
    `${facts.slow} of ${facts.calls} calls in ${facts.minutes} min took ${facts.slow_ms} ms or longer; ${facts.share} % trips it.`,
  'bulk.stopped': ({ merchant, why }: { merchant: string; why: string }) =>
    `The safety stop of ${merchant} tripped: ${why}`,
  'bulk.summary': (counts: Readonly<Record<(typeof bulkCounts)[number], Shown>>) => {
    const told = bulkCounts.map((one) => [counts[one], one] as const).filter(([count]) => count !== 0);
    return told.map(([count, one]) => `${count} ${one}`).join(', ');
  },
  'brownout.halved': () => 'it could not be scheduled for all of its merchants',
  'bulk.aborted': ({ name, reason }: { name: string; reason: string }) => `Aborted by ${name}: ${reason}`,
};

const settled = {
  'settled.lost': () => 'order never resolved',
  'settled.adopted': () => 'unacknowledged order adopted',
  'settled.not_canceled': () => 'unacknowledged order not canceled yet',
  'settled.canceled': () => 'unacknowledged order canceled',
  'settled.paid': () => 'paid but unacknowledged',
  'settled.given_up': ({ why }: { why: string }) => `given up by reconciliation: ${why}`,
};

const mismatches = {
  'mismatch.amount': ({ link_minor, order_minor }: { link_minor: Shown; order_minor: Shown }) =>
    `The till asked for ${link_minor} minor units, the order says ${order_minor}.`,
  'contradiction.merchant': () => 'The order names another merchant.',
  'contradiction.reference': () => 'The order names another reference than the one that was sent.',
  'contradiction.type': () => 'The order is of another type than the one that was asked for.',
  'contradiction.unit': () => 'The order names another terminal or point of sale than the one that was asked for.',
  'contradiction.paid': ({ sale_minor, paid_minor }: { sale_minor: Shown; paid_minor: Shown }) =>
    `The order counts as paid with ${paid_minor} of ${sale_minor} minor units, and names no discount.`,
  'contradiction.refund': () =>
    'The answer to a refund names another amount or payment than the one that was asked for.',
  'held_terminal.late_order': ({ sale }: { sale: string }) =>
    `The terminal is held, perhaps by the order of sale ${sale}, which is over for its till: look at the terminal, and cancel what it shows.`,
  'held_terminal.legacy_sale': ({ sale }: { sale: string }) =>
    `The terminal is held, perhaps by sale ${sale}, which was made on legacy and whose end was not seen: look at the terminal, and cancel what it shows.`,
  'held_terminal.foreign': () =>
    "The terminal is held by something that was made without Puente, such as a sale of another program with a token of this merchant, one of the vendor's panel, or a print that was not finished: look at the terminal, and cancel what it shows.",
  'mismatch.stale': (facts: { state: string; legacy_state: string; order_status: string }) =>
    `The link is ${facts.state} and shows ${facts.legacy_state}; the order is ${facts.order_status}.`,
  'mismatch.state': (facts: { legacy_state: string; order_status: string; shows: string }) =>
    `The till sees ${facts.legacy_state} for good; the order is ${facts.order_status}, which would show as ${facts.shows}.`,
  'mismatch.unresolved': () => 'What became of the create is not known, and it can not be repeated any more.',
  'mismatch.missing': ({ state }: { state: string }) =>
    `The service does not know the order of a link that is ${state}.`,
  'mismatch.restored': ({ order_status }: { order_status: string }) =>
    `The order exists and is ${order_status}; its sale was lost when a backup was restored.`,
  'mismatch.orphan': ({ order_status, state }: { order_status: string; state: string }) =>
    `The order exists and is ${order_status}, although the create that made it counts as ${state}.`,
  'mismatch.other_order': ({ why }: { why: string }) => `${why} Its link has another order already.`,
  'mismatch.unit_taken': ({ why, holder }: { why: string; holder: string }) =>
    `${why} It may still be paid, and its unit has another sale, ${holder}: cancel the order in the vendor's panel.`,
  'log_lost.absent': () =>
    'The write-ahead log was gone at a start after a process was killed: what it had not written back is lost.',
  'log_lost.broken': () =>
    'The write-ahead log was no log any more at a start after a process was killed: what it had not written back is lost.',
  'move.expired': () => 'nobody decided in time',
};

const attempts = {
  'attempt.answered': ({ status }: { status: Shown }) => `The receiver answered ${status}.`,
  'attempt.refused': ({ status }: { status: Shown }) => `The receiver answered ${status}; 200 or 201 was expected.`,
  'attempt.redirected': ({ status }: { status: Shown }) =>
    `The receiver answered ${status}; 200 or 201 was expected. Redirects are not followed.`,
  'attempt.silent': ({ timeout_ms }: { timeout_ms: Shown }) => `The receiver did not answer within ${timeout_ms} ms.`,
  'attempt.unconnected': ({ code }: { code: string }) => `This machine could not connect (${code}).`,
  'attempt.unwritable': () => 'The notice could not be written as HTTP.',
  'attempt.broken': ({ code }: { code: string }) => `The connection to the receiver failed (${code}).`,
  'attempt.unreadable_settings': () => "The merchant's settings could not be read; the log says why.",
  'attempt.no_url': () => 'No notification URL is set for this merchant; set one and the notice goes out.',
  'attempt.no_news': () => 'What is stored of this notice is not the news of a QR sale; report it.',
  'attempt.no_secret': () =>
    'No webhook secret is set for this merchant, and its dialect is signed; set one and the notice goes out.',
  'attempt.blocked': ({ cause }: { cause: string | Sentence }) =>
    `The notification URL ${typeof cause === 'string' ? cause : cause.text}.`,
};

const chain = {
  'chain.missing': ({ line }: { line: Shown }) => `line ${line} is missing or doubled`,
  'chain.changed': ({ line }: { line: Shown }) => `line ${line} is not what was written`,
  'chain.anew': ({ line }: { line: Shown }) => `line ${line} has another hash than was noted: lines were written anew`,
  'chain.cut_one': ({ line }: { line: Shown }) => `line ${line} is gone: the chain ends before the line that was noted`,
  'chain.cut': ({ line, last }: { line: Shown; last: Shown }) =>
    `lines ${line} to ${last} are gone: the chain ends before the line that was noted`,
};

export const storedSentences = { ...safety, ...settled, ...mismatches, ...attempts, ...chain };
