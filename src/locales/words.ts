/** What people read in Spanish, Portuguese and English, in pages and in reports: the words of one language, however they were read. */

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
  /** Decimal text, as amounts are, with all its digits. */
  decimal(text: string): string;
  /** An instant, RFC 3339, as the language writes it, in UTC: the log and the reports say UTC, too. */
  time(instant: string): string;
  /** A UTC day, ISO 8601, as the language writes it, in about ten letters. */
  day(day: string): string;
  /** An instant to the millisecond, for what follows one another. */
  moment(instant: string): string;
}
