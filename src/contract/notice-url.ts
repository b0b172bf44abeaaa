/** The URL that a till names for its notices, in a form that can be called: legacy took nearly every text and called it. */

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
 * @param scheme of a text that names none (`www.…` in samples of the vendor, `legacy-qr.md` §1.1).
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
