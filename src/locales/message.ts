/** Messages: a code with its facts, and the English text made from them for logs, commands and API answers. */
import type { Fact, Said, Sentence, Spoken } from '../error.ts';
import { olderText } from './older-texts.ts';
import { type Language, type Words, wordsOf } from './words.ts';

/** A message; reading it makes its English text. A test compares codes and fact names with the catalogue. */
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

/** The stored form: a message as JSON of its code and facts, a text without a code unchanged. */
export function encoded(sentence: Sentence): string {
  const { said } = sentence;
  if (said === null) return sentence.text;
  // The text of a nested message is made again when it is read.
  return JSON.stringify(said, (_name, value: Fact | Said) => (isMessage(value) ? { said: value.said } : value));
}

/** A stored message, a text that an older build stored, or a person's words. */
export function readStored(text: string): Sentence {
  return decoded(text) ?? olderText(text);
}

/** Null for a text that is no encoded message of this version, which is shown unchanged. */
export function decoded(text: string): Spoken | null {
  if (!text.startsWith('{"code":')) return null;
  const revive = (_name: string, value: unknown): unknown =>
    isMessage(value) ? say(value.said.code, value.said.facts) : value;
  try {
    const { code, facts } = JSON.parse(text, revive) as Partial<Said>; // checked below
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

/** English for programs too: instants stay RFC 3339, amounts unchanged, and lists are separated by commas. */
function exactWords(): Words {
  return {
    ...wordsOf('en'),
    time: (instant) => instant,
    decimal: (text) => text,
    list: (items) => items.join(', '),
  };
}

// Texts of messages by language, code and facts. A text without a translation stays English, and is marked so.

/** A piece of a text: in the reader's language, or in English and marked for screen readers. */
export type Part = string | { english: string };

/** Facts whose values are words, with the prefix of the key that names them. */
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
  mismatches: 'mismatch',
  incident: 'incident_kind',
  setting: 'setting',
};

/** @param text in English. @param said null for a text without a code. */
export function partsOf(words: Words, text: string, said: Said | null): readonly Part[] {
  return said === null ? [writtenPart(words, text)] : spoken(words, said);
}

/** A text of a table, a setting or the register. The only place that looks up its translation. */
export function writtenPart(words: Words, text: string): Part {
  return words.written(text) ?? { english: text };
}

/** The action of a line of the audit trail; unchanged where an older build wrote it. */
export function actionOf(words: Words, action: string): string {
  return words.named(`action.${action.replaceAll(/[^a-z]/g, '_')}`, action);
}

/** A fact with a text of another party, or of a table: mostly English. */
const DETAIL = 'detail';

/**
 * Nested sentences are inserted last: they may be in another language. Facts of tills can't contain the place marks. A fact that has
 * a name, as `merchant` has `merchant_name`, is spoken with it; in a command, between backticks, without.
 */
function spoken(words: Words, { code, facts }: Said): readonly Part[] {
  const within: (readonly Part[])[] = [];
  const named: { place: string; id: string; with_name: string }[] = [];
  const values = Object.entries(facts).map(([name, fact]): [string, string | number] => {
    const its_name = facts[`${name}_name`];
    if (typeof fact === 'string' && typeof its_name === 'string') {
      const place = `\u0001${name}\u0001`;
      // Backticks of a name would make a command of it.
      named.push({ place, id: fact, with_name: printable(`${fact} (${its_name.replaceAll('`', "'")})`) });
      return [name, place];
    }
    const sentence = name === DETAIL && typeof fact === 'string' ? { text: printable(fact), said: null } : fact;
    if (!isSentence(sentence)) {
      const value = shown(words, name, sentence);
      return [name, typeof value === 'string' ? printable(value) : value];
    }
    within.push(partsOf(words, sentence.text, sentence.said));
    return [name, `\u0000${within.length - 1}\u0000`];
  });
  let text = words.said(code, Object.fromEntries(values));
  for (const { place, id, with_name } of named)
    text = text.replace(/`[^`]*`/g, (command) => command.replaceAll(place, id)).replaceAll(place, () => with_name);
  return text
    .split('\u0000')
    .flatMap((part, index) => (index % 2 === 0 ? [part] : within.slice(Number(part), Number(part) + 1).flat()));
}

function isSentence(fact: Fact): fact is Sentence {
  return typeof fact === 'object' && fact !== null && 'text' in fact;
}

/** A fact in a message: an instant in the language's form, a word by its name, null as `none`. */
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

/** Labels come from tills, too: a character that XML can't hold becomes a replacement character. */
export function printable(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\t\r\n]|[\ufffe\uffff]/gu, '\ufffd');
}

// A fact of the audit chain as text for people; scripts read the JSON.

/** `verdict ready, samples 120, target (stage orders, share none)`; '' for nothing. */
export function factText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return plain(value);
  return factParts(value).join(', ');
}

function factParts(value: object): string[] {
  if (Array.isArray(value)) return value.map(inside);
  return Object.entries(value).map(([name, part]) => `${name.replaceAll('_', ' ')} ${inside(part)}`);
}

function inside(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value !== 'object') return plain(value) || 'empty';
  const parts = factParts(value);
  return parts.length === 0 ? 'none' : `(${parts.join(', ')})`;
}

function plain(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? String(Math.round(value * 100) / 100) : String(value);
}
