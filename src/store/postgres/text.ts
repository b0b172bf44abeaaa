/** Text that this server can't hold as it is: it refuses U+0000, which JSON allows and the embedded engine keeps. */

/** A code point that is no character (Unicode 23.7) and that no text needs; it stands itself as the pair ending in 1. */
const ESCAPE = '\uFDD0';
const NUL = `${ESCAPE}0`;

/** The text as it is stored; itself but for these two code points. */
export function storable(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', NUL);
}

/** What `storable` was given. */
export function restored(stored: string): string {
  if (!stored.includes(ESCAPE)) return stored;
  return stored.replaceAll(NUL, '\0').replaceAll(`${ESCAPE}1`, ESCAPE);
}

/** An escape is one only behind an even number of backslashes. */
const NUL_IN_JSON = /(?<=(?:^|[^\\])(?:\\\\)*)\\u0000/g;
/** `JSON.stringify` escapes half of a surrogate pair, which this server refuses too; UTF-8 has U+FFFD for it. */
const HALF_PAIR_IN_JSON = /(?<=(?:^|[^\\])(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** JSON whose strings the server will take out and store: each as `storable` has it. */
export function storableJson(json: string): string {
  return json.replaceAll(ESCAPE, `${ESCAPE}1`).replace(NUL_IN_JSON, NUL).replace(HALF_PAIR_IN_JSON, '\uFFFD');
}
