/** A receiver's URL as people and the disk may see it: where it goes, without its path and query, which may be keys. */

/** Stands for what is left out. */
const HIDDEN = '…';

/** Scheme, host and port, and whether a path and a query follow: hooks keep their key in either. Credentials are left out. */
export function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'not a URL';
  const path = url.pathname === '/' || url.pathname === '' ? '/' : `/${HIDDEN}`;
  return `${url.protocol}//${url.host}${path}${url.search === '' ? '' : `?${HIDDEN}`}`;
}
