/** The forms of ids and amounts that both APIs use; anything else never reaches a path or a row. */
import { z } from 'zod';

/** `ORD` and 26 letters and digits of any kind (`docs/field-notes.md` Spec Order); test credentials give `ORDTST` (`docs/field-notes.md` Orders §1.4). */
export const ORDER_ID = /^ORD(?:TST)?[0-9A-Za-z]{26}$/;
/** `{terminal_type}__{terminal_serial}`; the allow-list of `test/faults/README.md` F76. */
export const TERMINAL_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Point Pro 2 and 3 by the types in their ids: the specification has the names alone (`docs/field-notes.md` Spec Order), so these are from ids that merchants show in public. */
export const POINT_PRO_ID = /^(?:GERTEC_MP35P|PAX_Q92)__/;
/** The integrator's own id of a store or a point of sale; the same allow-list (`docs/field-notes.md` QR §4). */
export const EXTERNAL_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** A legacy intent id is a lower-case UUID (`docs/field-notes.md` Point §1.3); upper case is accepted on the way in. */
export const INTENT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Rule of `docs/field-notes.md` Spec Order, external_reference. */
export const ORDER_REFERENCE = /^[A-Za-z0-9_-]{1,64}$/;
/** As orders take it: two decimals or none (`docs/field-notes.md` Spec Order); Point was seen to take one too (`docs/field-notes.md` Orders §11). */
export const ORDER_AMOUNT = /^\d{1,12}(?:\.\d{2})?$/;
/** An ISO 8601 duration of hours, minutes and seconds, as Puente writes one; any form is read (`duration.ts`). */
export const DURATION = /^PT(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?$/;
export const USER_ID = /^\d{1,20}$/;

/** An id that one side writes as a number and the other as a string; read as text, only when nothing is lost. */
export const digits = z.union([z.string().regex(/^\d+$/), z.int().nonnegative().transform(String)]);

// Lengths as people count them: in characters (Unicode code points), not in the UTF-16 units of JavaScript.

/** How many characters the text has: `🧾` is one. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _character of text) count++;
  return count;
}

/** Whether it has at most so many. */
export function isWithinCharacters(text: string, most: number): boolean {
  return text.length <= most || (text.length <= 2 * most && characterCount(text) <= most);
}

/** Its first characters, none of them halved. */
export function firstCharacters(text: string, most: number): string {
  return [...text].slice(0, most).join('');
}

// The URL that a till names for its notices, in a form that can be called: legacy took nearly every text and called
// it.

/** Longer ones are no address but a payload; the guard of outgoing calls takes little more, and notices add their parameters. */
const LONGEST_CHARACTERS = 1_900;
const SCHEME = /^([a-z][a-z\d+.-]*):\/\//i;
/** Without two slashes a colon may stand before a port or a password; these name a scheme all the same. */
const OTHER_SCHEME = /^(?:mailto|tel|javascript|data|file|ftp|ws|wss|urn|about|blob):/i;

/** `shop..example`: a name that no resolver takes. One dot at the end is the root. */
const EMPTY_LABEL = /^\.|\.\./;

/**
 * Everything but printable ASCII is percent-encoded, an international host gets its xn-- form, a fragment is left out (no
 * client ever sends one). A user name and a password stay in the URL.
 * @param scheme of a text that names none (`www.…` in samples of the vendor, `docs/field-notes.md` QR §1.1).
 * @returns null for a text that no URL can be made of; undefined for an empty one, which names no URL.
 */
export function callableUrl(text: string, scheme: 'http' | 'https'): string | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const url = URL.parse(SCHEME.test(trimmed) || /^https?:/i.test(trimmed) ? trimmed : `${scheme}://${trimmed}`);
  if (url === null || OTHER_SCHEME.test(trimmed) || /^[^?#]*\\/.test(trimmed)) return null;
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null;
  if (EMPTY_LABEL.test(url.hostname)) return null;
  url.hash = '';
  url.search = url.search.replaceAll('\\', '%5C'); // in a path it would be read as a slash by some
  return url.href.length > LONGEST_CHARACTERS ? null : url.href;
}
