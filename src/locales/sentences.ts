/** Every sentence that operators are told by the ops API, by its code: the one list that all languages are held against. */
import type { Fact, Sentence, Spoken } from '../error.ts';
import { lengthOf, placesIn } from './form.ts';
import { addressWordings } from './sentences/addresses.ts';
import { findingSentences } from './sentences/findings.ts';
import { inputSentences, inputWordings } from './sentences/input.ts';
import { moveSentences } from './sentences/moves.ts';
import { doorRefusals, manyRefusals, refusalSentences } from './sentences/refusals.ts';
import { storageSentences } from './sentences/storage.ts';
import { ownForms, storedSentences } from './sentences/stored.ts';
import { tableSentences } from './sentences/tables.ts';
import { traceSentences } from './sentences/trace.ts';

export const sentences = {
  ...addressWordings,
  ...doorRefusals,
  ...findingSentences,
  ...inputSentences,
  ...manyRefusals,
  ...moveSentences,
  ...refusalSentences,
  ...storageSentences,
  ...storedSentences,
  ...tableSentences,
  ...traceSentences,
};

export type SentenceCode = keyof typeof sentences;
export type StoredCode = keyof typeof storedSentences;
type FactsOf<Code extends SentenceCode> =
  Parameters<(typeof sentences)[Code]> extends [infer Facts] ? Facts : Record<string, never>;

/** @returns the sentence in English, with what it takes to say it in another language. */
export function say<Code extends SentenceCode>(code: Code, facts: FactsOf<Code>): Spoken {
  const write = sentences[code] as (facts: FactsOf<Code>) => string; // each sentence takes the facts of its own code
  return { text: write(facts), said: { code, facts: facts as Record<string, Fact> } };
}

/** A text without a code: a person's own words, or those of a table. */
export function quoted(text: string): Sentence {
  return { text, said: null };
}

/** A text that was kept, with its code and facts; without them when it has no form of ours. Counts are told as numbers, ids are not. */
export function heard(text: string): Sentence {
  return recognised(text, storedForms());
}

/** What a schema says of a wrong value, with its code and facts; without them when it is no message that ours make. */
export function heardOfInput(text: string): Sentence {
  return recognised(text, inputForms());
}

/** Why a notice may not go to an address, with its code and facts. */
export function heardOfAddress(text: string): Sentence {
  return recognised(text, addressForms());
}

/** How a sentence is recognised as it is written. */
interface Written {
  code: SentenceCode;
  /** What stands for each of its facts, by name; null for a text of another form. */
  read(text: string): Record<string, string | undefined> | null;
  length: number;
  /** One of its facts is a whole sentence. */
  is_around: boolean;
}

function recognised(text: string, forms: readonly Written[]): Sentence {
  for (const { code, read } of forms) {
    const found = read(text);
    if (found !== null) return { text, said: { code, facts: factsOf(found) } };
  }
  return quoted(text);
}

/** A count that is not named is none. */
function factsOf(found: Record<string, string | undefined>): Record<string, Fact> {
  return Object.fromEntries(
    Object.entries(found).map(([name, value = '0']): [string, Fact] => {
      if (name === 'why') return [name, heard(value)];
      if (name === 'cause') return [name, heardOfAddress(value)];
      return [name, /^\d{1,8}(\.\d+)?$/.test(value) ? Number(value) : value];
    }),
  );
}

let ofStored: readonly Written[] | null = null;
let ofInput: readonly Written[] | null = null;
let ofAddress: readonly Written[] | null = null;

function storedForms(): readonly Written[] {
  ofStored ??= formsOf(storedSentences);
  return ofStored;
}

function inputForms(): readonly Written[] {
  ofInput ??= formsOf(inputWordings);
  return ofInput;
}

function addressForms(): readonly Written[] {
  ofAddress ??= formsOf(addressWordings);
  return ofAddress;
}

/**
 * First those that hold a whole sentence, whose words a fact of another form would swallow to its last full stop; then the
 * longest, because a form may be the beginning of another one.
 */
function formsOf(group: Readonly<Record<string, unknown>>): readonly Written[] {
  return Object.entries(group)
    .map(([code, write]) => writtenAs(code as SentenceCode, write as (facts: object) => string))
    .toSorted((one, other) => Number(other.is_around) - Number(one.is_around) || other.length - one.length);
}

function writtenAs(code: SentenceCode, write: (facts: object) => string): Written {
  const own = ownForms[code];
  if (own !== undefined) {
    const read: Written['read'] = (text) => own.exec(text)?.groups ?? null;
    return { code, read, length: own.source.length, is_around: false };
  }
  const marks = new Proxy({}, { get: (_target, name) => `\u0000${String(name)}\u0000` });
  const parts = write(marks).split('\u0000');
  const form = parts.filter((_part, index) => index % 2 === 0);
  const names = parts.filter((_part, index) => index % 2 === 1);
  return {
    code,
    length: lengthOf(form),
    is_around: names.includes('why'),
    read(text) {
      const places = placesIn(form, text);
      return places === null ? null : Object.fromEntries(names.map((name, index) => [name, places[index]]));
    },
  };
}
