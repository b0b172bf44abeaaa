/** Reads the messages for people, in Spanish, Portuguese and English: one file for each, all with the same keys and arguments. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntlMessageFormat } from 'intl-messageformat';
import { parse } from 'yaml';
import { lateTranslator } from './texts.ts';
import { type Arguments, type Language, languages, type Words } from './words.ts';

let loaded: Readonly<Record<Language, Words>> | null = null;

/** All languages, read once. @throws Error for a message that is no ICU message. */
export function loadWords(): Readonly<Record<Language, Words>> {
  loaded ??= readAll();
  return loaded;
}

function readAll(): Readonly<Record<Language, Words>> {
  const [es, pt, en] = languages.map(wordsOf);
  if (es === undefined || pt === undefined || en === undefined) throw new TypeError('a language has no words');
  return { es, pt, en };
}

/** The messages of a language as they are written, those of pages and those of reports, by key. */
export function messagesOf(language: Language): Record<string, string> {
  return { ...read(`${language}.yaml`), ...read(`report-${language}.yaml`) };
}

/** What the API says, by its code, as it is written; English is the API's own language. */
export function saidIn(language: Exclude<Language, 'en'>): Record<string, string> {
  return read(`said-${language}.yaml`);
}

function read(name: string): Record<string, string> {
  return parse(readFileSync(join(import.meta.dirname, name), 'utf8')) as Record<string, string>; // a test reads every one
}

function wordsOf(language: Language): Words {
  const formatsOf = (messages: Record<string, string>): Map<string, IntlMessageFormat> =>
    new Map(Object.entries(messages).map(([key, text]) => [key, new IntlMessageFormat(text, language)]));
  const formats = formatsOf(messagesOf(language));
  const sentences = language === 'en' ? formats : formatsOf(saidIn(language));
  const list = new Intl.ListFormat(language);
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
  const time = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });
  // English has days before months and after them: a name can't be taken for the other.
  const month = language === 'en' ? 'short' : '2-digit';
  const day = new Intl.DateTimeFormat(language, { day: '2-digit', month, year: 'numeric', timeZone: 'UTC' });
  const from =
    (of: ReadonlyMap<string, IntlMessageFormat>) =>
    (key: string, values?: Arguments): string => {
      const format = of.get(key);
      if (format === undefined) throw new TypeError(`there are no words for ${key}`);
      return String(format.format(values));
    };
  const t = from(formats);
  return {
    language,
    t,
    said: from(sentences),
    written: language === 'en' ? (english) => english : lateTranslator(language),
    list: (items) => list.format(items),
    named: (key, fallback) => (formats.has(key) ? t(key) : fallback),
    number: (value) => number.format(value),
    decimal: (text) => decimalIn(language, text),
    day: (one) => day.format(new Date(one)),
    moment: (instant) => `${day.format(new Date(instant))} ${instant.slice(11, 23)}`,
    time: (instant) => `${time.format(new Date(instant))} UTC`,
  };
}

/** Exact, however long: a number would round it. */
function decimalIn(language: Language, text: string): string {
  const digits = text.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return format.format(text as Intl.StringNumericLiteral); // decimal text is one
}
