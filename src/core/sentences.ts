/** Every sentence that operators are told by the ops API, by its code: the one list that all languages are held against. */
import type { Fact, Sentence, Spoken } from '../said.ts';
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

type Forms = readonly (readonly [SentenceCode, RegExp])[];

function recognised(text: string, forms: Forms): Sentence {
  for (const [code, form] of forms) {
    const found = form.exec(text);
    if (found !== null) return { text, said: { code, facts: factsOf({ ...found.groups }) } };
  }
  return quoted(text);
}

/** A group without anything in it counts none. */
function factsOf(groups: Record<string, string | undefined>): Record<string, Fact> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, value = '0']): [string, Fact] => {
      if (name === 'why') return [name, heard(value)];
      if (name === 'cause') return [name, heardOfAddress(value)];
      return [name, /^\d{1,8}(\.\d+)?$/.test(value) ? Number(value) : value];
    }),
  );
}

let ofStored: Forms | null = null;
let ofInput: Forms | null = null;
let ofAddress: Forms | null = null;

function storedForms(): Forms {
  ofStored ??= formsOf(storedSentences);
  return ofStored;
}

function inputForms(): Forms {
  ofInput ??= formsOf(inputWordings);
  return ofInput;
}

function addressForms(): Forms {
  ofAddress ??= formsOf(addressWordings);
  return ofAddress;
}

/**
 * First those that hold a whole sentence, whose words a fact of another form would swallow to its last full stop; then the
 * longest, because a form may be the beginning of another one.
 */
function formsOf(group: Readonly<Record<string, unknown>>): Forms {
  return Object.entries(group)
    .map(
      ([code, write]) => [code as SentenceCode, ownForms[code] ?? formOf(write as (facts: object) => string)] as const,
    )
    .toSorted(([, one], [, other]) => rank(other) - rank(one) || other.source.length - one.source.length);
}

function rank(form: RegExp): number {
  return Number(form.source.includes('(?<why>'));
}

/** The sentence with a group of its name in the place of each fact. */
function formOf(write: (facts: object) => string): RegExp {
  const names = new Proxy({}, { get: (_target, name) => `\u0000${String(name)}\u0000` });
  const source = write(names)
    .split('\u0000')
    .map((part, index) => (index % 2 === 1 ? `(?<${part}>.+?)` : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`^${source.join('')}$`, 's');
}
