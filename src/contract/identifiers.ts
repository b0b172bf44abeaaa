/** The forms of ids and amounts that both APIs use; no other form reaches a path or a row. */
import { z } from 'zod';

/** `ORD` and 26 letters and digits (`docs/field-notes.md` Spec Order); `ORDTST` with test credentials (Orders §1.4). */
export const ORDER_ID = /^ORD(?:TST)?[0-9A-Za-z]{26}$/;
/** `{terminal_type}__{terminal_serial}`; the allow-list of `test/faults/README.md` F76. */
export const TERMINAL_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Point Pro 2 and 3, by ids in public; the specification has only names (`docs/field-notes.md` Spec Order). */
export const POINT_PRO_ID = /^(?:GERTEC_MP35P|PAX_Q92)__/;
/** The integrator's own id of a store or a point of sale; the same allow-list (`docs/field-notes.md` QR §4). */
export const EXTERNAL_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** A legacy intent id is a lower-case UUID (`docs/field-notes.md` Point §1.3); requests may have upper case. */
export const INTENT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** `docs/field-notes.md` Spec Order, external_reference. */
export const ORDER_REFERENCE = /^[A-Za-z0-9_-]{1,64}$/;
/** Two decimals or none, as orders take them (`docs/field-notes.md` Spec Order); Point also took one (Orders §11). */
export const ORDER_AMOUNT = /^\d{1,12}(?:\.\d{2})?$/;
/** A duration of hours, minutes and seconds, as Puente writes it; any ISO 8601 form is read (`duration.ts`). */
export const DURATION = /^PT(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?$/;
export const USER_ID = /^\d{1,20}$/;

/** An id that is a number on one side and a string on the other; read as text, when no digit is lost. */
export const digits = z.union([z.string().regex(/^\d+$/), z.int().nonnegative().transform(String)]);

// Lengths in characters (Unicode code points), not in the UTF-16 units of JavaScript.

/** `🧾` counts as one. */
function characterCount(text: string): number {
  let count = 0;
  for (const _character of text) count++;
  return count;
}

/** Counts code points, and not at all where the length in UTF-16 units already decides. */
export function isWithinCharacters(text: string, most: number): boolean {
  return text.length <= most || (text.length <= 2 * most && characterCount(text) <= most);
}

/** Never cuts a character in half. */
export function firstCharacters(text: string, most: number): string {
  return [...text].slice(0, most).join('');
}

// The URL of a till's notices, in a form that can be called: legacy accepted and called nearly every text.

/** Longer texts are no addresses; the guard of outgoing calls accepts little more, and notices add their parameters. */
const LONGEST_CHARACTERS = 1_900;
const SCHEME = /^([a-z][a-z\d+.-]*):\/\//i;
/** A colon without two slashes may precede a port or a password; these texts name a scheme. */
const OTHER_SCHEME = /^(?:mailto|tel|javascript|data|file|ftp|ws|wss|urn|about|blob):/i;

/** `shop..example`: a name that no resolver takes. One dot at the end is the root. */
const EMPTY_LABEL = /^\.|\.\./;

/**
 * Percent-encodes all but printable ASCII, gives an international host its xn-- form, and drops a fragment, which no
 * client sends. A user name and a password stay in the URL.
 * @param scheme for a text without one (`www.…` in samples of the vendor, `docs/field-notes.md` QR §1.1).
 * @returns null for a text that is no URL; undefined for an empty text.
 */
export function callableUrl(text: string, scheme: 'http' | 'https'): string | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const url = URL.parse(SCHEME.test(trimmed) || /^https?:/i.test(trimmed) ? trimmed : `${scheme}://${trimmed}`);
  if (url === null || OTHER_SCHEME.test(trimmed) || /^[^?#]*\\/.test(trimmed)) return null;
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null;
  if (EMPTY_LABEL.test(url.hostname)) return null;
  url.hash = '';
  url.search = url.search.replaceAll('\\', '%5C'); // some clients read it in a path as a slash
  return url.href.length > LONGEST_CHARACTERS ? null : url.href;
}
