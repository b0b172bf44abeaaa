/** What tables, settings and the register say in English, in Spanish and Portuguese: each beside the English text it was made from. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** The files beside this one, by what their texts are of. */
export const textLists = ['limitations', 'reasons', 'assumptions', 'predictions'] as const;
export type TextList = (typeof textLists)[number];

const sentence = z.string().min(1);
const texts = z.array(z.strictObject({ en: sentence, es: sentence, pt: sentence })).superRefine((all, context) => {
  const seen = new Set<string>();
  for (const [index, { en }] of all.entries()) {
    if (seen.has(en)) context.addIssue({ code: 'custom', path: [index, 'en'], message: 'it stands here twice' });
    seen.add(en);
  }
});
type Text = z.infer<typeof texts>[number];

/** @param list names the file in an error. @throws TypeError that says which text is not as it should be. */
export function readTexts(list: string, written: string): Text[] {
  const read = texts.safeParse(parse(written));
  if (!read.success) throw new TypeError(`locales/${list}.yaml does not hold: ${z.prettifyError(read.error)}`);
  return read.data;
}

/** The texts of a file, in its order. @throws TypeError as above. */
export function textsOf(list: TextList): Text[] {
  return readTexts(list, readFileSync(join(import.meta.dirname, `${list}.yaml`), 'utf8'));
}

/** @returns a text in the language; null for one that is not known as it stands. */
type Translator = (english: string) => string | null;

/** Of all lists. They are read with the first text that is asked for: who reads English never waits for it. */
export function lateTranslator(language: 'es' | 'pt'): Translator {
  let known: Translator | null = null;
  return (english) => {
    known ??= translator(textLists.flatMap(textsOf), language);
    return known(english);
  };
}

/**
 * A text that was changed, or is an operator's own, is not known: it is shown in English, rather than as it once was. One
 * that stands inside a sentence is known without its full stop, too.
 */
function translator(all: readonly Text[], language: 'es' | 'pt'): Translator {
  const whole = new Map(all.map((text) => [text.en, text[language]]));
  const forms = all
    .filter(({ en }) => en.includes(PLACE))
    .map((text) => [text.en.split(PLACE), text[language]] as const)
    .toSorted(([one], [other]) => lengthOf(other) - lengthOf(one));
  return (english) => {
    const known = whole.get(english) ?? whole.get(`${english}.`)?.replace(/\.$/, '');
    if (known !== undefined) return known;
    for (const [form, text] of forms) {
      const values = placesIn(form, english);
      if (values !== null) return filled(text, values);
    }
    return null;
  };
}

/** Stands in a text for what differs from case to case. */
const PLACE = '{}';

function filled(text: string, values: readonly string[]): string {
  return text
    .split(PLACE)
    .map((part, index) => part + (values[index] ?? ''))
    .join('');
}

// A text with places for what differs from case to case, recognised in time that grows with the text alone.

/** What stands around the places: one more than there are places. */
export type Form = readonly string[];

/**
 * What stands in each place, as little as there can be, and never nothing; null for a text of another form. A regular
 * expression finds the same, but a text that is made for it takes it minutes.
 */
export function placesIn([beginning = '', ...rest]: Form, text: string): string[] | null {
  const end = rest.pop();
  if (end === undefined) return text === beginning ? [] : null;
  if (!text.startsWith(beginning) || !text.endsWith(end)) return null;
  const places: string[] = [];
  let from = beginning.length;
  for (const part of rest) {
    const at = text.indexOf(part, from + 1);
    if (at === -1) return null;
    places.push(text.slice(from, at));
    from = at + part.length;
  }
  const last = text.slice(from, text.length - end.length);
  return last === '' ? null : [...places, last];
}

/** How much of it is written out: of two forms the one with more is told first, because one may be the beginning of the other. */
export function lengthOf(form: Form): number {
  return form.reduce((sum, part) => sum + part.length, 0);
}
