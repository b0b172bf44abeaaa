/** Translates the shared statements from SQLite's SQL to PostgreSQL's, and their values to parameters. */
import { createHash } from 'node:crypto';
import type { Cover } from '../../proxy/vault.ts';
import type { Value } from '../engine.ts';

export interface Statement {
  /** Equal for equal text, so that a connection prepares it once. */
  name: string;
  text: string;
  /** One for each value, in order: covered, as an array for a list, and escaped where PostgreSQL can't store it. */
  parametersOf(values: readonly Value[]): Parameter[];
}

export type Parameter = Value | readonly Value[];
type Kind = 'plain' | 'cover' | 'cover_order' | 'list' | 'json';

/**
 * Hints for PostgreSQL: only a read that names the index implies its condition, spelled like this. Its own estimates read a
 * backlog whole that the statistics do not know yet.
 */
const SPELLED: Readonly<Record<string, string>> = {
  events_due: `state || '' = 'pending'`,
  notices_due: `'' || state = 'pending'`,
  notices_due_by_merchant: `state || '' = 'pending'`,
  notices_stuck: `'' || state || '' = 'pending'`,
};
const NAMED = new RegExp(`\\bINDEXED BY (${Object.keys(SPELLED).join('|')})\\b(.*?)\\bstate = 'pending'`, 'gs');
/** Hints to SQLite's planner. */
const HINT = /\b(?:INDEXED BY \w+|NOT INDEXED)\b/g;
/** Keeps SQLite from planning a statement again for every value. */
const BOXED = /\(SELECT (cover\(\?\)|\?)\)/g;
const IN_LIST = / (NOT )?IN \(SELECT value FROM json_each\(\?\)\)/g;
/** Indexes hold the first 200 characters of texts that tills wrote (`left(…, 200)`). */
const LOOKED_UP = /([\w.]+) = cover\(\?\)/g;
const VALUE = /\?list|\?::json|cover_order\(\?\)|lookup\(([\w.]+)\)|cover\(\?\)|\?/g;

/** @param sql with `?` for each value; `cover` and `cover_order` run here, because the server has no key. */
export function statementOf(sql: string, cover: Cover): Statement {
  const kinds: Kind[] = [];
  const text = sql
    .replace(NAMED, (_, index: string, between: string) => `${between}${SPELLED[index]}`)
    .replace(HINT, '')
    .replace(BOXED, '$1')
    .replace(IN_LIST, (_, not?: string) => (not === undefined ? ' = ANY (?list)' : ' <> ALL (?list)'))
    .replace(LOOKED_UP, 'lookup($1)')
    .replace(VALUE, (form, column?: string) => {
      const value = `$${kinds.length + 1}`;
      kinds.push(kindOf(form));
      if (column !== undefined) return `(left(${column}, 200) = left(${value}, 200) AND ${column} = ${value})`;
      return form.endsWith('::json') ? `${value}::json` : value;
    });
  const name = createHash('sha256').update(text).digest('hex').slice(0, 32);
  return { name, text, parametersOf: (values) => values.map((value, at) => parameterOf(kinds[at], value, cover)) };
}

function kindOf(form: string): Kind {
  if (form.startsWith('?list')) return 'list';
  if (form.startsWith('?::')) return 'json';
  if (form.startsWith('cover_order')) return 'cover_order';
  return form === '?' ? 'plain' : 'cover';
}

function parameterOf(kind: Kind | undefined, value: Value, cover: Cover): Parameter {
  if (typeof value !== 'string') return value;
  // A list of keys: ids or numbers.
  if (kind === 'list')
    return (JSON.parse(value) as Value[]).map((one) => (typeof one === 'string' ? storable(one) : one));
  if (kind === 'json') return storableJson(value);
  if (kind === 'cover') return storable(cover.text(value));
  return storable(kind === 'cover_order' ? cover.order(value) : value);
}

// Text that PostgreSQL can't store: it refuses U+0000, which JSON allows and SQLite stores.

/** A noncharacter (Unicode 23.7) that no text needs; in a text it is stored as the pair ending in 1. */
const ESCAPE = '\uFDD0';
const NUL = `${ESCAPE}0`;

/** The text with both code points escaped. */
export function storable(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', NUL);
}

/** The inverse of `storable`. */
export function restored(stored: string): string {
  if (!stored.includes(ESCAPE)) return stored;
  return stored.replaceAll(NUL, '\0').replaceAll(`${ESCAPE}1`, ESCAPE);
}

/** An escape counts only after an even number of backslashes. */
const NUL_IN_JSON = /(?<=(?:^|[^\\])(?:\\\\)*)\\u0000/g;
/** `JSON.stringify` escapes a lone surrogate, which this server refuses too; UTF-8 has U+FFFD for it. */
const HALF_PAIR_IN_JSON = /(?<=(?:^|[^\\])(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** JSON for the server to extract strings from: each as `storable` returns it. */
function storableJson(json: string): string {
  return json.replaceAll(ESCAPE, `${ESCAPE}1`).replace(NUL_IN_JSON, NUL).replace(HALF_PAIR_IN_JSON, '\uFFFD');
}
