/** Spanish and Portuguese texts of tables, settings and the register, each beside the English text it was made from. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files beside this one, named for the source of their texts. */
export const textLists = ['limitations', 'reasons', 'assumptions', 'predictions'] as const;
export type TextList = (typeof textLists)[number];

type Text = Record<'en' | 'es' | 'pt', string>;

/** In the order of the file. */
export function textsOf(list: TextList): Text[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, `${list}.json`), 'utf8')) as Text[]; // a test reads each one
}

/** Null for a text without an exact translation. */
type Translator = (english: string) => string | null;

/** Of all lists, read for the first text: English never needs them. */
export function lateTranslator(language: 'es' | 'pt'): Translator {
  let known: Translator | null = null;
  return (english) => {
    known ??= translator(textLists.flatMap(textsOf), language);
    return known(english);
  };
}

/** Changed or own texts stay English. A text inside a sentence is also found without its full stop. */
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

/** Marks in a text a part that differs from case to case. */
const PLACE = '{}';

function filled(text: string, values: readonly string[]): string {
  return text
    .split(PLACE)
    .map((part, index) => part + (values[index] ?? ''))
    .join('');
}

// A text with places for variable parts, matched in time linear in the text.

/** The text around the places: one more than there are places. */
type Form = readonly string[];

/** Shortest texts, never empty; null for another form. A regular expression would take minutes for a crafted text. */
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

/** Fixed characters of a form: the longer form is tried first, because one may be the beginning of another. */
export function lengthOf(form: Form): number {
  return form.reduce((sum, part) => sum + part.length, 0);
}
