/** Messages: a code with its facts. English text for logs, commands and API answers is made from them here. */
import type { Fact, Said, Sentence, Spoken } from '../error.ts';
import { partsOf } from './localize.ts';
import { olderText } from './older-texts.ts';
import { type Words, wordsOf } from './words.ts';

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
