/** The words of one language, from its file beside this one: messages by code, pages and reports by key. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntlMessageFormat } from 'intl-messageformat';
import { lateTranslator } from './texts.ts';

/** ISO 639-1 codes, which also name the files; pages offer the languages in this order. */
export const languages = ['es', 'pt', 'en'] as const;
export type Language = (typeof languages)[number];

/** The values of a text, by the names of its places. */
export type Arguments = Record<string, string | number | Date>;

/** The words of one language, and its forms of numbers, lists and times. */
export interface Words {
  language: Language;
  /** The text of a page or a report by its key. @throws TypeError for an unknown key. */
  t(key: string, values?: Arguments): string;
  /** The text of a key, or the fallback without one: for words from elsewhere, such as codes. */
  named(key: string, fallback: string): string;
  /** A message by its code. @throws TypeError for an unknown code. */
  said(code: string, values: Arguments): string;
  /** The translation of an English text of a table, a setting or the register; null without one. */
  written(english: string): string | null;
  /** `a, b and c`. */
  list(items: readonly string[]): string;
  /** A number as the language writes it, with two decimals at most. */
  number(value: number): string;
  /** Decimal text, as amounts are, with all its digits. */
  decimal(text: string): string;
  /** An instant, RFC 3339, as people read it (`timeText`). */
  time(instant: string): string;
  /** A UTC day, ISO 8601, in the form of times. */
  day(day: string): string;
  /** An instant to the millisecond, for lists in order of time. */
  moment(instant: string): string;
}

/** The parts of a language's file; keys of one part are unique in it. */
export const parts = ['messages', 'pages', 'reports'] as const;
export type Catalogue = Record<(typeof parts)[number], Record<string, string>>;

/**
 * The file of a language. JSON, because every process reads it at its start: YAML took 100 ms. A test compares the keys and arguments
 * of the three.
 */
export function catalogueOf(language: Language): Catalogue {
  return JSON.parse(readFileSync(join(import.meta.dirname, `${language}.json`), 'utf8')) as Catalogue; // a test reads each one
}

const loaded = new Map<Language, Words>();

/** The words of all languages, read now. @throws Error when a file is missing or is not JSON. */
export function loadWords(): Readonly<Record<Language, Words>> {
  return { es: wordsOf('es'), pt: wordsOf('pt'), en: wordsOf('en') };
}

/** The words of one language; its file is read once per process. @throws Error when it is missing or is not JSON. */
export function wordsOf(language: Language): Words {
  const words = loaded.get(language) ?? readWords(language);
  loaded.set(language, words);
  return words;
}

function readWords(language: Language): Words {
  const { messages, pages, reports } = catalogueOf(language);
  const said = formatter(language, messages);
  const texts = { ...pages, ...reports };
  const t = formatter(language, texts);
  // Each made for its first use: they take 30 ms, and most processes format nothing.
  const list = late(() => new Intl.ListFormat(language));
  const number = late(() => new Intl.NumberFormat(language, { maximumFractionDigits: 2 }));
  return {
    language,
    t,
    said,
    written: language === 'en' ? (english) => english : lateTranslator(language),
    list: (items) => list().format(items),
    named: (key, fallback) => (Object.hasOwn(texts, key) ? t(key) : fallback),
    number: (value) => number().format(value),
    decimal: (text) => decimalIn(language, text),
    day: (one) => one.slice(0, 10),
    moment: (instant) => timeText(instant, 'milliseconds'),
    time: (instant) => timeText(instant),
  };
}

/**
 * The one form of times that people read, on pages, in reports and in commands: `2026-01-31 09:00:05 UTC`. Equal in all
 * languages and in the order of time, so that what one person reads another finds.
 * @param instant RFC 3339. @param to `milliseconds` in stories, whose steps follow each other closely.
 */
export function timeText(instant: string, to: 'seconds' | 'milliseconds' = 'seconds'): string {
  const text = new Date(instant).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, to === 'seconds' ? 19 : 23)} UTC`;
}

const KIB = 1024;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes for display; two digits are enough to judge by. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= KIB && unit < UNITS.length - 1) {
    value /= KIB;
    unit++;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit] ?? 'B'}`;
}

function late<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}

function formatter(language: Language, texts: Readonly<Record<string, string>>): Words['t'] {
  const formats = new Map<string, IntlMessageFormat>();
  return (key, values) => {
    const text = texts[key];
    if (text === undefined) throw new TypeError(`there are no words for ${key}`);
    const format = formats.get(key) ?? new IntlMessageFormat(text, language);
    formats.set(key, format);
    return String(format.format(values));
  };
}

/** Exact at any length: a number would round it. */
function decimalIn(language: Language, text: string): string {
  const digits = text.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return format.format(text as Intl.StringNumericLiteral); // decimal text is one
}
