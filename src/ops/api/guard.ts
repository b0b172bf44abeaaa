/** What keeps foreign web pages off the ops door: which host names it answers to, where a call may come from, and strict headers. */
import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';

/** Nothing of this door may run, be framed, be kept, or be read by another origin (`reliability.md` F126). */
export const GUARD_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * Sets the headers on every answer, and refuses a host name that is not ours: a page whose name was turned to our address
 * (DNS rebinding) still names itself. An IP address can't be turned so (F125).
 * @param hosts names beside `localhost` under which operators reach the door, lower case.
 */
export function doorGuard(hosts: readonly string[]): RequestHandler {
  const own = new Set(['localhost', ...hosts.map((host) => host.toLowerCase())]);
  return (request, response, next) => {
    response.set(GUARD_HEADERS);
    const { host } = request.headers;
    const name = hostName(host);
    // Every browser names a host; a probe that speaks HTTP/1.0 need not.
    if (host !== undefined && isIP(name) === 0 && !own.has(name))
      throw new PuenteError('forbidden', say('refusal.host', { host: name === '' ? null : name.slice(0, 60) }));
    next();
  };
}

/** For the API: a call that a browser made for another site is refused, whatever it carries (F125). */
export const sameOriginOnly: RequestHandler = (request, _response, next) => {
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  const is_foreign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (is_foreign || (origin !== undefined && !isOwnOrigin(origin, request)))
    throw new PuenteError('forbidden', say('refusal.other_origin', {}));
  next();
};

function isOwnOrigin(origin: string, request: Request): boolean {
  return URL.parse(origin)?.host === request.headers.host?.toLowerCase();
}

/** The name in a Host header, without port and brackets; '' for none, or for what is no name. */
function hostName(header: string | undefined): string {
  const name = URL.parse(`http://${header ?? ''}`)?.hostname ?? '';
  return name.replace(/^\[(.*)\]$/, '$1');
}
