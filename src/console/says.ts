/** Says in the page's language what the API says in English: by its code, with its facts, or as a known text. What is neither stays English, and says so. */

import { printable } from '../chart/draw.ts';
import type { Fact, Said, Sentence } from '../http/ops/said.ts';
import { type Content, type Html, html } from './html.ts';
import type { Arguments, Words } from './words.ts';

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

/** @param text the API's sentence. @param said its code; null when it has none. */
export function says(words: Words, text: string | null, said: Said | null): Content {
  if (text === null) return '';
  if (said === null) return written(words, text);
  return words.language === 'en' ? text : spoken(words, said);
}

/** A text of several sentences. @param between what stands between two of them. */
export function saysAll(words: Words, text: string, said: readonly Said[], between = ' '): Content {
  if (said.length === 0) return written(words, text);
  if (words.language === 'en') return text;
  return html`${said.map((one, index) => html`${index === 0 ? '' : between}${spoken(words, one)}`)}`;
}

/** What a table, a setting or the register says. A screen reader reads as English what nobody has translated. */
export function written(words: Words, text: string): Content {
  return words.written(text) ?? html`<span lang="en">${text}</span>`;
}

/** What a line of the audit trail says was done; in the line's own word where an older build wrote it. */
export function actionOf(words: Words, action: string): string {
  return words.named(`action.${action.replaceAll(/[^a-z]/g, '_')}`, action);
}

/**
 * A sentence within the sentence is put in afterwards, because it may be marked as another language. Facts come from tills,
 * too: the character that marks its place is shown as a replacement character in them.
 */
function spoken(words: Words, { code, facts }: Said): Html {
  const within: Content[] = [];
  const values = Object.entries(facts).map(([name, fact]): [string, string | number] => {
    if (!isSentence(fact)) {
      const told = shown(words, name, fact);
      return [name, typeof told === 'string' ? printable(told) : told];
    }
    within.push(says(words, fact.text, fact.said));
    return [name, `\u0000${within.length - 1}\u0000`];
  });
  const parts = words.said(code, Object.fromEntries(values)).split('\u0000');
  return html`${parts.map((part, index) => html`${index % 2 === 0 ? part : within.slice(Number(part)).shift()}`)}`;
}

function isSentence(fact: Fact): fact is Sentence {
  return typeof fact === 'object' && fact !== null && 'text' in fact;
}

/** As a message takes it: an instant as the language writes it, a word by its name, and nothing as `none`. */
function shown(words: Words, name: string, fact: Exclude<Fact, Sentence>): Arguments[string] & (string | number) {
  if (fact === null) return 'none';
  if (typeof fact === 'boolean') return fact ? 'yes' : 'no';
  if (typeof fact === 'number') return fact;
  const namedBy = (one: string): string => {
    const group = NAMED[name];
    return group === undefined ? one : words.named(`${group}.${one}`, one);
  };
  if (name === 'action') return actionOf(words, String(fact));
  if (typeof fact !== 'string') return words.list(fact.map(namedBy));
  return name.endsWith('_at') ? words.time(fact) : namedBy(fact);
}
