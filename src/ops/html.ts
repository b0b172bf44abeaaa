/** HTML from templates, for console pages, reports and charts: a value is escaped unless it is a template itself. */
import type { Said } from '../error.ts';
import { type Part, partsOf, printable, say, writtenPart } from '../locales/message.ts';
import type { Words } from '../locales/words.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './fields.ts';
import { sideOf } from './readiness/side.ts';

/** Escaped markup. Only `html` makes one, so that no text from outside can pass for it. */
class Markup {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
}
export type Html = Markup;
export type Content = Html | string | number | null | readonly Content[];

/** A template tag: every value is escaped, except markup that this tag made. Null becomes nothing. */
export function html(pieces: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Markup(String.raw({ raw: pieces }, ...values.map(escaped)));
}

/** Control characters, which could drive a terminal that prints the file, are replaced (`test/faults/README.md` F132). */
function escaped(value: Content): string {
  if (value === null) return '';
  if (value instanceof Markup) return String(value);
  if (typeof value === 'object') return value.map(escaped).join('');
  return printable(String(value)).replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

// Sentences in the reader's language. A text without a translation is marked as English, for screen readers.

/** @param text the API's sentence. @param said its code; null when it has none. */
export function says(words: Words, text: string | null, said: Said | null): Content {
  const shown = said === null ? plain : withCode;
  return text === null || text === '' ? null : partsOf(words, text, said).map((part) => marked(words, part, shown));
}

/** A text of several sentences, in English as the API wrote it. @param between separates two of them. */
export function saysAll(words: Words, text: string, said: readonly Said[], between = ' '): Content {
  return words.language === 'en' && said.length > 0 ? withCode(text) : saysEach(words, text, said, between);
}

/**
 * Sentences that are made anew in each language, also in English: their times are in the one form that people read.
 * @param between separates two of them.
 */
export function saysEach(words: Words, text: string, said: readonly Said[], between: string): Content {
  if (said.length === 0) return written(words, text);
  const sentences = said.map((one) => partsOf(words, text, one).map((part) => marked(words, part, withCode)));
  return sentences.map((sentence, nth) => [nth === 0 ? null : between, sentence]);
}

/** A text of the tables, the settings or the limitations. */
export function written(words: Words, text: string): Content {
  return marked(words, writtenPart(words, text), withCode);
}

/** A side of a difference: a refusal in words, an answer as it is. */
export function answered(words: Words, side: string): Content {
  const facts = sideOf(side);
  if (facts.by === 'itself') return code(side);
  const { text, said } = say('side', facts);
  return says(words, text, said);
}

/** Recorded facts: names and values of programs have no translation. */
export function recorded(words: Words, text: string): Content {
  return text === '' ? null : marked(words, { english: text });
}

const plain = (text: string): Content => text;

function marked({ language }: Words, part: Part, shown = plain): Content {
  if (typeof part === 'string') return shown(part);
  return language === 'en' ? shown(part.english) : html`<span lang="en">${shown(part.english)}</span>`;
}

/** Makes code of the text between backticks, as in Markdown: names of settings, commands and paths. */
export function withCode(text: string): Content {
  return text.split(/`([^`]+)`/).map((piece, nth) => (nth % 2 === 0 ? piece : typed(piece)));
}

/** A command as it is typed; no line ends between the hyphens of an option. */
export function typed(command: string | null): Content {
  if (command === null) return null;
  const words = command
    .split(' ')
    .map((word) => (word.startsWith('--') ? html`<span class="whole">${word}</span>` : word));
  return html`<code>${words.map((word, nth) => [nth === 0 ? null : ' ', word])}</code>`;
}

/** Nothing for an empty text. */
export function code(text: string | null): Content {
  return text === null || text === '' ? null : html`<code>${text}</code>`;
}

/** @param at RFC 3339; null becomes nothing. */
export function timeOf(words: Words, at: string | null): Content {
  return at === null ? null : html`<time datetime="${at}">${words.time(at)}</time>`;
}

/** An amount in one form on every page, such as `1,250.00 ARS`; null where it is not known. */
export function moneyOf(words: Words, { amount, currency }: Record<'amount' | 'currency', string | null>): Html | null {
  return amount === null ? null : html`${MONEY}${words.decimal(amount)} ${currency}</span>`;
}

const MONEY = html`<span class="money">`;

/** Symbols of the SI, which are the same in each language. */
const LONG_UNITS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
] as const;

/** In whole milliseconds; from 10 s on in seconds, or in the largest unit that makes a whole number. */
export function durationOf(words: Words, duration_ms: number): string {
  if (duration_ms < 10_000) return `${words.number(Math.round(duration_ms))} ms`;
  const [unit_ms, symbol] = LONG_UNITS.find(([length_ms]) => duration_ms % length_ms === 0) ?? [1000, 's'];
  return `${words.number(duration_ms / unit_ms)} ${symbol}`;
}

/** The value of a setting that is a duration; null for any other. */
export function durationIn(words: Words, name: string, value: string): string | null {
  return name.endsWith('_ms') && value !== 'null' ? durationOf(words, Number(value)) : null;
}

// Tables: the first cell of a row is its header; numbers and amounts are right-aligned, as the language writes them.

export type Row = Readonly<Record<string, Content>>;

/** A table of rows with the same columns; null without rows. @param prefix of the keys of the columns' names. */
export function tableOf(words: Words, prefix: string, rows: readonly Row[], is_named = false): Html | null {
  const head = Object.keys(rows[0] ?? {}).map((name) => words.t(`${prefix}.${name}`));
  return plainTable(head, rows.map(Object.values<Content>), words.number, is_named);
}

/** Each cell has its column's name, for narrow screens. @param number formats a number. @param is_named of console cards. */
export function plainTable(
  head: readonly string[],
  rows: readonly (readonly Content[])[],
  number: (value: number) => string = String,
  is_named = false,
): Html | null {
  if (rows.length === 0) return null;
  const isNumeric = (column: number): boolean => rows.every((row) => isFigure(row[column] ?? null));
  const shown = (cell: Content | undefined): Content =>
    typeof cell === 'number' ? number(cell) : typeof cell === 'string' && is_named ? breakable(cell) : (cell ?? null);
  const kindOf = (cell: Content): Html | null => (isFigure(cell) ? NUMBER : isLong(cell) ? TEXT : null);
  const titles = head.map((name, nth) => html`<th scope="col"${isNumeric(nth) ? NUMBER : null}>${name}</th>`);
  const inside = (cell: Content): Content => (is_named ? html`<div>${shown(cell)}</div>` : shown(cell));
  const cellOf = (cell: Content, nth: number): Html =>
    html`<td data-name="${head[nth + 1] ?? ''}"${kindOf(cell)}>${inside(cell)}</td>`;
  const lines = rows.map(
    ([name, ...cells]) => html`<tr><th scope="row">${shown(name)}</th>${cells.map(cellOf)}</tr>\n`,
  );
  return html`<table><thead><tr>${titles}</tr></thead>\n<tbody>${lines}</tbody></table>`;
}

function isFigure(cell: Content): boolean {
  return typeof cell === 'number' || (cell instanceof Markup && String(cell).startsWith(String(MONEY)));
}

/** A name of a program may break behind an underscore, so that a narrow screen breaks none in mid-word. */
function breakable(name: string): Content {
  return name.split(/(?<=_)(?=[^_])/).map((piece, nth) => html`${nth === 0 ? null : html`<wbr>`}${piece}`);
}

const NUMBER = html` class="number"`;
const TEXT = html` class="text"`;
/** Characters beyond which a text is prose or a value, not a name: the longest operation and UUIDs are shorter. */
const LONGEST_NAME = 40;

/** Long texts may break anywhere, short ones only between words. */
function isLong(cell: Content): boolean {
  return escaped(cell).replaceAll(/<[^>]*>|&#?\w+;/g, (tag) => (tag.startsWith('&') ? 'x' : '')).length > LONGEST_NAME;
}
