/** What is wrong with a value that an operator sent, in English. */
import type { Sentence } from '../../error.ts';

/**
 * Messages of the schemas that bodies and queries are read with: the words of zod, and those that stand beside a check of
 * ours. They are recognised by their form, so none of them may bend a word for a number.
 */
export const inputWordings = {
  'input.type': ({ expected, received }: { expected: string; received: string }) =>
    `Invalid input: expected ${expected}, received ${received}`,
  'input.one_of': ({ values }: { values: string }) => `Invalid option: expected one of ${values}`,
  'input.short': (facts: { expected: string; least: number; unit: string }) =>
    `Too small: expected ${facts.expected} to have >=${facts.least} ${facts.unit}`,
  'input.long': (facts: { expected: string; most: number; unit: string }) =>
    `Too big: expected ${facts.expected} to have <=${facts.most} ${facts.unit}`,
  'input.low': (facts: { expected: string; least: number }) =>
    `Too small: expected ${facts.expected} to be >=${facts.least}`,
  'input.high': (facts: { expected: string; most: number }) =>
    `Too big: expected ${facts.expected} to be <=${facts.most}`,
  'input.pattern': ({ pattern }: { pattern: string }) => `Invalid string: must match pattern ${pattern}`,
  'input.url': () => 'Invalid URL',
  'input.datetime': () => 'Invalid ISO datetime',
  'input.reason': () => 'say why, in 3 to 500 characters; it stands in the audit line',
  'input.instant': ({ example }: { example: string }) => `an instant such as ${example} is needed`,
  'input.user_id': () => "the vendor's user id is needed, digits only",
  'input.unit': () => 'a unit is written point:<terminal> or qr:<point of sale>',
  'input.share': () => 'a share is a percentage from 0 to 100',
  'input.share_decimals': () => 'a share has two decimals at most',
  'input.limit': ({ most }: { most: number }) => `a whole number from 1 to ${most} is needed`,
  'input.limit_lines': ({ most }: { most: number }) =>
    `a whole number from 1 to ${most} is needed; reach older lines with until`,
  'input.limit_notices': ({ most }: { most: number }) =>
    `a whole number from 1 to ${most} is needed; reach older notices with until`,
  'input.line_hash': () => 'the hash of a line is needed, 64 hex digits',
  'input.line_noted': () => 'expect_sequence and expect_hash belong together: a line that was noted elsewhere',
  'input.items_or_where': () => 'name either items or where, not both',
  'input.sunset': () => 'the sunset must not be before the deprecation (RFC 9745)',
};

export const inputSentences = {
  ...inputWordings,
  'input.at': ({ where, wrong }: { where: string; wrong: Sentence }) => `${where}: ${wrong.text}`,
  'input.whole': ({ wrong }: { wrong: Sentence }) => wrong.text,
  'input.missing': ({ where, expected }: { where: string; expected: string }) =>
    `${where} is missing; ${expected} is needed`,
  'input.unknown': (facts: { fields: readonly string[]; count: number; allowed: readonly string[] | null }) =>
    `${facts.fields.join(', ')} ${facts.count === 1 ? 'is not a known field' : 'are not known fields'}${facts.allowed === null ? '' : `; allowed is ${facts.allowed.join(', ')}`}`,
  'input.none_taken': ({ fields, count }: { fields: readonly string[]; count: number }) =>
    `${fields.join(', ')} ${count === 1 ? 'is not a known field' : 'are not known fields'}; nothing is taken here`,
  'input.repair_reason': () => 'say why it is repaired; look first without apply',
};
