/** Strict JSON: one parser for every door, so that no two doors read the same bytes differently. */
import { LosslessNumber, parse, stringify } from 'lossless-json';
import { z } from 'zod';

export type Json = string | number | boolean | null | LosslessNumber | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

/** Real bodies of the two APIs nest 5 levels at most; `test/faults/README.md` F67 refuses more than 32. */
const MAX_DEPTH = 32;
/** Longest integer that a double holds exactly, whatever its digits. */
const PLAIN_DIGITS = 15;
const PLAIN_INTEGER = /^-?(?:0|[1-9]\d{0,14})$/;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Integers up to 15 digits become numbers; every other number keeps its source text as a `LosslessNumber`, so that no
 * amount passes through a double (`docs/architecture.md` Decision 4).
 * @throws SyntaxError for bad JSON, a key repeated with another value, a key that reaches a prototype, or nesting over
 * 32.
 */
export function parseJson(text: string): Json {
  refuseShape(text);
  return parse(text, null, {
    parseNumber: (source) =>
      PLAIN_INTEGER.test(source) && source !== '-0' ? Number(source) : new LosslessNumber(source),
  }) as Json; // the parser only produces the shapes of Json
}

/** Makes `1500.0` and `1.5E+3` 1500, as a JSON schema reads them; fractions and longer numbers keep their text. */
export function withWholeNumbers(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof LosslessNumber) return plainNumber(value);
  const parts = value as JsonObject; // the keys of a list are its indexes
  for (const key of Object.keys(parts)) parts[key] = withWholeNumbers(parts[key] as Json);
  return value;
}

/** The same without the fields that are null, at any depth; the value itself where none is: copies cost every order. */
export function withoutNulls(value: unknown): unknown {
  if (!hasNull(value)) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  const fields = Object.entries(value as JsonObject); // nothing else has a field
  const kept = fields.filter(([, field]) => field !== null);
  return Object.fromEntries(kept.map(([name, field]) => [name, withoutNulls(field)]));
}

function hasNull(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasNull);
  if (!isObject(value)) return false;
  for (const name in value) if (value[name] === null || hasNull(value[name])) return true;
  return false;
}

/**
 * `1500.0` or `1.5E+3` as the number 1500; unchanged for a fraction, a number of more than 15 digits, and any other
 * value.
 */
export function plainNumber<Value>(value: Value): Value | number {
  return value instanceof LosslessNumber ? (wholeNumber(value.value) ?? value) : value;
}

/** An integer of a body, in any spelling: for a JSON schema each is the same number. */
export const writtenInteger = z.preprocess(plainNumber, z.int());

/** Longer than any writer makes a whole number; a longer text is not examined. */
const LONGEST_WHOLE = 64;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;

/** Moves the decimal point without rounding; undefined for a fraction, a longer number and minus zero. */
function wholeNumber(source: string): number | undefined {
  if (source.length > LONGEST_WHOLE) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  const written = (whole + fraction).replace(/^0+/, '');
  const digits = written.replace(/0+$/, '');
  if (digits === '') return sign === '' && whole !== '' ? 0 : undefined;
  const zeros = Number(exponent) - fraction.length + written.length - digits.length;
  if (zeros < 0 || digits.length + zeros > PLAIN_DIGITS) return undefined;
  return Number(sign + digits + '0'.repeat(zeros));
}

/** A `LosslessNumber` is written with its source text. */
export function stringifyJson(value: unknown): string {
  return (isPlain(value) ? JSON.stringify(value) : stringify(value)) ?? 'null';
}

/** True when the engine can write the value, in a fifth of the time: no `LosslessNumber` and no class instance. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint';
  if (Array.isArray(value)) return value.every(isPlain);
  if (!isObject(value)) return false;
  for (const key in value) if (!isPlain(value[key])) return false;
  return true;
}

/** A plain object: arrays, null and exact numbers are none. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * An object inside a body, with other keys allowed. Refuses a `LosslessNumber`, which only JavaScript takes for an
 * object; zod checks a copy of it, which keeps the mark of the class only.
 */
export function jsonObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.looseObject(shape).refine((value) => value.isLosslessNumber !== true);
}

/** Decodes UTF-8. @throws TypeError when the bytes are not UTF-8 (`test/faults/README.md` F72). */
export function decodeUtf8(bytes: Uint8Array): string {
  return strictDecoder.decode(bytes);
}
const strictDecoder = new TextDecoder('utf-8', { fatal: true });

/** True for a number that a double can't hold without rounding. */
export function isExactNumber(value: unknown): value is LosslessNumber {
  return value instanceof LosslessNumber;
}

/** Scans the text before parsing, for nesting and for keys that a parser would follow to a prototype. */
function refuseShape(text: string): void {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      const end = endOfString(text, index);
      refuseKey(text, index, end);
      index = end;
    } else if (code === 123 || code === 91) {
      depth++;
      if (depth > MAX_DEPTH) throw new SyntaxError(`JSON is nested deeper than ${MAX_DEPTH} levels`);
    } else if (code === 125 || code === 93) depth--;
  }
}

const QUOTE = 34;
const BACKSLASH = 92;

/** Index of the closing quote; the end of the text without one. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === BACKSLASH) index++;
    else if (code === QUOTE) return index;
  }
  return text.length;
}

const SHORTEST_FORBIDDEN = Math.min(...[...FORBIDDEN_KEYS].map((key) => key.length));
/** First characters of such a key, an escape included. */
const FORBIDDEN_STARTS = [BACKSLASH, ...[...FORBIDDEN_KEYS].map((key) => key.charCodeAt(0))];
const SPACE = /\s*/y;

/** A parser may drop such a key silently, so the text is searched for it, escaped spellings too. */
function refuseKey(text: string, start: number, end: number): void {
  if (end - start <= SHORTEST_FORBIDDEN || !FORBIDDEN_STARTS.includes(text.charCodeAt(start + 1))) return;
  SPACE.lastIndex = end + 1;
  SPACE.test(text);
  if (text[SPACE.lastIndex] !== ':') return;
  const written = text.slice(start + 1, end);
  const key = written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written;
  if (FORBIDDEN_KEYS.has(key)) throw new SyntaxError(`The key '${key}' is not allowed`);
}
