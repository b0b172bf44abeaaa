/** Messages: a code with its facts. English text for logs, commands and API answers is made from them here. */
import type { Fact, Said, Sentence, Spoken } from '../error.ts';
import { olderText } from './older-texts.ts';
import { type Language, type Words, wordsOf } from './words.ts';

/** A message; its English text is made when it is read. A test holds codes and names of facts against the catalogue. */
export function say(code: string, facts: Readonly<Record<string, Fact>>): Spoken {
  const said = { code, facts };
  return {
    get text() {
      return englishText(said);
    },
    said,
  };
}

/** A text without a code: a person's own words, or those of a table. */
export function quoted(text: string): Sentence {
  return { text, said: null };
}

/** As it is stored: a message as JSON of its code and facts, a text without a code as it is. */
export function encoded({ text, said }: Sentence): string {
  if (said === null) return text;
  // The text of a message within it is made again when it is read.
  return JSON.stringify(said, (_name, value: Fact | Said) => (isMessage(value) ? { said: value.said } : value));
}

/** A stored message, a text that an older build stored, or words of a person. */
export function readStored(text: string): Sentence {
  return decoded(text) ?? olderText(text);
}

/** Null for a text that is no encoded message of this version: it is shown as it is. */
export function decoded(text: string): Spoken | null {
  if (!text.startsWith('{"code":')) return null;
  const revive = (_name: string, value: unknown): unknown =>
    isMessage(value) ? say(value.said.code, value.said.facts) : value;
  try {
    const { code, facts } = JSON.parse(text, revive) as Partial<Said>; // judged below
    if (typeof code !== 'string' || facts === undefined) return null;
    const message = say(code, facts);
    return message.text === '' ? null : message;
  } catch {
    return null; // cut short, or a message that this version does not have
  }
}

function isMessage(value: unknown): value is Spoken {
  return typeof value === 'object' && value !== null && 'said' in value && value.said !== null;
}

function englishText(said: Said): string {
  exact ??= exactWords();
  return partsOf(exact, '', said)
    .map((part) => (typeof part === 'string' ? part : part.english))
    .join('');
}

let exact: Words | null = null;

/** English for programs as well as people: instants stay RFC 3339, amounts as they are, and lists are separated by commas. */
function exactWords(): Words {
  return {
    ...wordsOf('en'),
    time: (instant) => instant,
    decimal: (text) => text,
    list: (items) => items.join(', '),
  };
}

// Makes the text of a message in a language from its code and facts. A text without a translation stays English, and is marked as such.

/** A piece of a text: in the reader's language, or in English, to be marked so that a screen reader reads it as what it is. */
export type Part = string | { english: string };

/** Facts that are words themselves, with the beginning of the key that names them. */
const NAMED: Readonly<Partial<Record<string, string>>> = {
  kind: 'kind',
  kinds: 'kind',
  stage: 'stage',
  stages: 'stage',
  from: 'stage',
  to: 'stage',
  lane: 'stage',
  role: 'role',
  needed: 'role',
  area: 'area',
  unknown: 'unknown',
  mismatch: 'mismatch',
};

/** @param text in English. @param said its code; null when it has none. */
export function partsOf(words: Words, text: string, said: Said | null): readonly Part[] {
  return said === null ? [writtenPart(words, text)] : spoken(words, said);
}

/** A text of a table, a setting or the register: the one place where its translation is looked up. */
export function writtenPart(words: Words, text: string): Part {
  return words.written(text) ?? { english: text };
}

/** The action of a line of the audit trail; in the line's own word where an older build wrote it. */
export function actionOf(words: Words, action: string): string {
  return words.named(`action.${action.replaceAll(/[^a-z]/g, '_')}`, action);
}

/** The fact that is a text of another party, or of a table: mostly English. */
const DETAIL = 'detail';

/**
 * A sentence within the sentence is put in afterwards, because it may be in another language. Facts come from tills, too:
 * the character that marks its place is shown as a replacement character in them.
 */
function spoken(words: Words, { code, facts }: Said): readonly Part[] {
  const within: (readonly Part[])[] = [];
  const values = Object.entries(facts).map(([name, fact]): [string, string | number] => {
    const sentence = name === DETAIL && typeof fact === 'string' ? { text: printable(fact), said: null } : fact;
    if (!isSentence(sentence)) {
      const told = shown(words, name, sentence);
      return [name, typeof told === 'string' ? printable(told) : told];
    }
    within.push(partsOf(words, sentence.text, sentence.said));
    return [name, `\u0000${within.length - 1}\u0000`];
  });
  const parts = words.said(code, Object.fromEntries(values)).split('\u0000');
  return parts.flatMap((part, index) =>
    index % 2 === 0 ? [part] : within.slice(Number(part), Number(part) + 1).flat(),
  );
}

function isSentence(fact: Fact): fact is Sentence {
  return typeof fact === 'object' && fact !== null && 'text' in fact;
}

/** As a message takes it: an instant as the language writes it, a word by its name, and nothing as `none`. */
function shown(words: Words, name: string, fact: Exclude<Fact, Sentence>): string | number {
  if (fact === null) return 'none';
  if (typeof fact === 'boolean') return fact ? 'yes' : 'no';
  if (typeof fact === 'number') return fact;
  if (isTranslated(fact)) return fact[words.language];
  const namedBy = (one: string): string => {
    const group = NAMED[name];
    return group === undefined ? one : words.named(`${group}.${one}`, one);
  };
  if (name === 'action') return actionOf(words, String(fact));
  if (name === 'sum') return String(fact).replace(/^\d+(\.\d+)?/, words.decimal);
  if (typeof fact !== 'string') return words.list(fact.map(namedBy));
  return name.endsWith('_at') ? words.time(fact) : namedBy(fact);
}

function isTranslated(fact: Exclude<Fact, Sentence>): fact is Readonly<Record<Language, string>> {
  return typeof fact === 'object' && fact !== null && 'en' in fact;
}

/** Labels come from tills, too: what XML can't hold is shown as a replacement character. */
export function printable(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\t\r\n]|[\ufffe\uffff]/gu, '\ufffd');
}
