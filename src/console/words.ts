/** The console's messages in Spanish, Portuguese and English: one file for each, all with the same keys and arguments. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntlMessageFormat } from 'intl-messageformat';
import { parse } from 'yaml';
import { lateTranslator } from './texts.ts';

export const languages = ['es', 'pt', 'en'] as const;
export type Language = (typeof languages)[number];

/** What a message may be told: counts, names, dates. */
export type Arguments = Record<string, string | number | Date>;

/** The words of one language. */
export interface Words {
  language: Language;
  /** The message of a key, with its arguments in place. @throws TypeError for a key that there is not. */
  t(key: string, values?: Arguments): string;
  /** The message of a key, or the fallback where there is none: for words that come from elsewhere, such as codes. */
  named(key: string, fallback: string): string;
  /** What the API says, by its code. @throws TypeError for a code without words. */
  said(code: string, values: Arguments): string;
  /** What a table, a setting or the register says in English; null where nobody has translated it to this language. */
  written(english: string): string | null;
  /** `a, b and c`. */
  list(items: readonly string[]): string;
  /** A number as the language writes it, with two decimals at most. */
  number(value: number): string;
  /** An instant, RFC 3339, as the language writes it, in UTC: the log and the reports say UTC, too. */
  time(instant: string): string;
  /** The same to the millisecond, for what follows one another. */
  moment(instant: string): string;
}

/** Reads all languages. @throws Error for a message that is no ICU message. */
export function loadWords(): Readonly<Record<Language, Words>> {
  const [es, pt, en] = languages.map(wordsOf);
  if (es === undefined || pt === undefined || en === undefined) throw new TypeError('a language has no words');
  return { es, pt, en };
}

/** The messages of a language as they are written, by key. */
export function messagesOf(language: Language): Record<string, string> {
  return read(`${language}.yaml`);
}

/** What the API says, by its code, as it is written; English is the API's own language. */
export function saidIn(language: Exclude<Language, 'en'>): Record<string, string> {
  return read(`said-${language}.yaml`);
}

function read(name: string): Record<string, string> {
  return parse(readFileSync(join(import.meta.dirname, 'words', name), 'utf8')) as Record<string, string>; // a test reads every one
}

function wordsOf(language: Language): Words {
  const formatsOf = (messages: Record<string, string>): Map<string, IntlMessageFormat> =>
    new Map(Object.entries(messages).map(([key, text]) => [key, new IntlMessageFormat(text, language)]));
  const formats = formatsOf(messagesOf(language));
  const sentences = language === 'en' ? formats : formatsOf(saidIn(language));
  const list = new Intl.ListFormat(language);
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
  const time = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });
  const moment = new Intl.DateTimeFormat(language, {
    dateStyle: 'short',
    timeZone: 'UTC',
  });
  const from =
    (of: ReadonlyMap<string, IntlMessageFormat>) =>
    (key: string, values?: Arguments): string => {
      const format = of.get(key);
      if (format === undefined) throw new TypeError(`the console has no words for ${key}`);
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
    moment: (instant) => `${moment.format(new Date(instant))} ${instant.slice(11, 23)}`,
    time: (instant) => `${time.format(new Date(instant))} UTC`,
  };
}
