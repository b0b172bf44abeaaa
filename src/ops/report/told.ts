/** What a report shows in its reader's language; what nobody has translated is marked as English, for whoever has it read aloud. */
import type { Said } from '../../error.ts';
import { type Part, partsOf, writtenPart } from '../../locales/says.ts';
import type { Words } from '../../locales/words.ts';
import { escaped, type Marked, raw } from './tags.ts';

/** A sentence. @param said its code; null for a text that has none, and is English. */
export function told(words: Words, text: string, said: Said | null): Marked {
  return markedOf(words, partsOf(words, text, said));
}

/** A text of tables, settings or the register. */
export function written(words: Words, text: string): Marked {
  return markedOf(words, [writtenPart(words, text)], withCode);
}

/** Facts as they were recorded: names and values of programs, which have no other language. */
export function recorded(words: Words, text: string): Marked {
  return markedOf(words, text === '' ? [] : [{ english: text }]);
}

/** An instant, RFC 3339, as the language writes it; the exact one is beside it. */
export function instant({ time }: Words, at: string): Marked {
  const text = time(at);
  return { html: raw(`<time datetime="${escaped(at)}">${escaped(text)}</time>`), letters: text.length };
}

/** What somebody may type, or what a program said. */
export function code(text: string): Marked {
  return { html: raw(text === '' ? '' : `<code>${escaped(text)}</code>`), letters: text.length };
}

/** @param shown HTML of a text; facts stay as they are, whatever is in them. */
function markedOf({ language }: Words, parts: readonly Part[], shown: (text: string) => string = escaped): Marked {
  const html = parts.map((part) => {
    if (typeof part === 'string') return shown(part);
    return language === 'en' ? shown(part.english) : `<span lang="en">${shown(part.english)}</span>`;
  });
  const letters = parts.reduce((sum, part) => sum + (typeof part === 'string' ? part : part.english).length, 0);
  return { html: raw(html.join('')), letters };
}

/** Names of settings, commands and paths stand between backticks, as in Markdown. */
function withCode(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
