/** What tables, settings and the register say in English, in Spanish and Portuguese: each beside the English text it was made from. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** The files in `words/`, by what their texts are of. */
export const textLists = ['limitations'] as const;
export type TextList = (typeof textLists)[number];

const sentence = z.string().min(1);
const texts = z.array(z.strictObject({ en: sentence, es: sentence, pt: sentence })).superRefine((all, context) => {
  const seen = new Set<string>();
  for (const [index, { en }] of all.entries()) {
    if (seen.has(en)) context.addIssue({ code: 'custom', path: [index, 'en'], message: 'it stands here twice' });
    seen.add(en);
  }
});
export type Text = z.infer<typeof texts>[number];

/** @param list names the file in an error. @throws TypeError that says which text is not as it should be. */
export function readTexts(list: string, written: string): Text[] {
  const read = texts.safeParse(parse(written));
  if (!read.success) throw new TypeError(`words/${list}.yaml does not hold: ${z.prettifyError(read.error)}`);
  return read.data;
}

/** The texts of a file, in its order. @throws TypeError as above. */
export function textsOf(list: TextList): Text[] {
  return readTexts(list, readFileSync(join(import.meta.dirname, 'words', `${list}.yaml`), 'utf8'));
}

/**
 * All texts of a language by the English one. A text that was changed, or is an operator's own, has none: it is shown in
 * English, rather than as it once was.
 */
export function textsIn(all: readonly Text[], language: 'es' | 'pt'): ReadonlyMap<string, string> {
  return new Map(all.map((text) => [text.en, text[language]]));
}
