/** What Puente says, on a page: what has no words in the page's language stays English, and is marked so. */
import type { Said } from '../http/ops/said.ts';
import { type Part, partsOf, writtenPart } from '../words/says.ts';
import type { Words } from '../words/words.ts';
import { type Content, html } from './html.ts';

/** @param text the API's sentence. @param said its code; null when it has none. */
export function says(words: Words, text: string | null, said: Said | null): Content {
  return text === null ? '' : html`${partsOf(words, text, said).map(content)}`;
}

/** A text of several sentences. @param between what stands between two of them. */
export function saysAll(words: Words, text: string, said: readonly Said[], between = ' '): Content {
  if (said.length === 0) return written(words, text);
  if (words.language === 'en') return text;
  return html`${said.map((one, index) => html`${index === 0 ? '' : between}${says(words, text, one)}`)}`;
}

/** What a table, a setting or the register says. A screen reader reads as English what nobody has translated. */
export function written(words: Words, text: string): Content {
  return content(writtenPart(words, text));
}

function content(part: Part): Content {
  return typeof part === 'string' ? part : html`<span lang="en">${part.english}</span>`;
}
