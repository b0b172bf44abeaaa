/** A receiver's URL as people may see it: names of its parameters, never their values, which may be keys. */

/** Stands for a value. */
const HIDDEN = '…';

/** Scheme, host, path and the names of the parameters. Credentials are left out, and a parameter without a name is a value. */
export function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'not a URL';
  const parts = url.search.slice(1).split('&');
  const query = parts.map((part) => (part.includes('=') ? `${part.slice(0, part.indexOf('='))}=${HIDDEN}` : HIDDEN));
  return `${url.protocol}//${url.host}${url.pathname}${url.search === '' ? '' : `?${query.join('&')}`}`;
}
