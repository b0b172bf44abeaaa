/** What Puente says, on a page: what has no words in the page's language stays English, and is marked so. */

import { type Part, partsOf, writtenPart } from '../../locales/says.ts';
import type { Words } from '../../locales/words.ts';
import type { Said } from '../api/said.ts';
import { type Content, html } from './html.ts';

/** @param text the API's sentence. @param said its code; null when it has none. */
export function says(words: Words, text: string | null, said: Said | null): Content {
  return text === null ? '' : html`${partsOf(words, text, said).map((part) => content(part))}`;
}

/** A text of several sentences. @param between what stands between two of them. */
export function saysAll(words: Words, text: string, said: readonly Said[], between = ' '): Content {
  if (said.length === 0) return written(words, text);
  if (words.language === 'en') return text;
  return html`${said.map((one, index) => html`${index === 0 ? '' : between}${says(words, text, one)}`)}`;
}

/** What a refusal says, with the command that repairs it. */
export function refuses(words: Words, text: string, said: readonly Said[]): Content {
  if (said.length === 0) return written(words, text);
  if (words.language === 'en') return withCode(text);
  const parts = said.map((one) => partsOf(words, text, one));
  return html`${parts.map((each, index) => html`${index === 0 ? '' : ' '}${each.map((part) => content(part, withCode))}`)}`;
}

/** What a table, a setting or the register says. A screen reader reads as English what nobody has translated. */
export function written(words: Words, text: string): Content {
  return content(writtenPart(words, text), withCode);
}

/** @param shown what becomes of a text; facts that a till sent stay as they are, whatever is in them. */
function content(part: Part, shown: (text: string) => Content = (text) => text): Content {
  return typeof part === 'string' ? shown(part) : html`<span lang="en">${shown(part.english)}</span>`;
}

/** Names of settings, commands and paths stand between backticks, as in Markdown. */
function withCode(text: string): Content {
  const pieces = text.split(/`([^`]+)`/);
  return html`${pieces.map((piece, index) => (index % 2 === 0 ? piece : html`<code>${piece}</code>`))}`;
}
