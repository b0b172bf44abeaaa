/** Who may use the ops listener: names, roles and tokens, sessions of the console, limits on wrong tokens, and protection from foreign web pages. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Clock } from '../../proxy/clock.ts';
import type { Log } from '../../proxy/log.ts';
import type { Secret, Vault } from '../../proxy/vault.ts';
import { type Person, SOLE_OWNER } from './person.ts';

/** The settings `ops.token` and `ops.tokens`. */
export interface OpsTokens {
  token: Secret | null;
  tokens: Readonly<Record<string, Readonly<{ role: Person['role']; token: Secret; expires_at: number | null }>>>;
}

/** A person with a token; of the token only the digest is kept. */
export interface Member {
  person: Person;
  digest: Buffer;
  /** Epoch ms; null never ends. */
  expires_at: number | null;
}

/** Everybody who has a token. */
export function membersOf({ token, tokens }: OpsTokens): Member[] {
  const owner = token === null ? [] : [{ person: SOLE_OWNER, digest: digestOf(token.reveal()), expires_at: null }];
  const named = Object.entries(tokens).map(([name, entry]) => ({
    person: { name, role: entry.role },
    digest: digestOf(entry.token.reveal()),
    expires_at: entry.expires_at,
  }));
  return [...owner, ...named];
}

/**
 * The owner of a token; null for an unknown one. Digests are compared with every member's, so that the time reveals nothing
 * of a token, its length or its owner (`test/faults/README.md` F124).
 * @param now epoch ms; an expired token has no owner.
 */
export function memberOf(members: readonly Member[], token: string, now: number): Member | null {
  const given = digestOf(token);
  let found: Member | null = null;
  for (const member of members) if (timingSafeEqual(given, member.digest)) found = member;
  return found === null || hasEnded(found, now) ? null : found;
}

/** The person behind an `Authorization` header; null for none. @param now epoch ms. */
export function personOf(members: readonly Member[], header: string | undefined, now: number): Person | null {
  const token = /^Bearer (.+)$/i.exec(header ?? '')?.[1] ?? '';
  return memberOf(members, token, now)?.person ?? null;
}

/** @param now epoch ms. */
export function hasEnded({ expires_at }: Member, now: number): boolean {
  return expires_at !== null && expires_at <= now;
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

// Signing in to the ops API: who calls, and a limit on how many wrong tokens are answered and logged.

/** A person who looks for the right token needs a few tries; a program that guesses needs billions. */
const WRONG_TOKENS_PER_WINDOW = 60;
const WINDOW_MS = 60_000;
/** Of a path in the log; what is longer was not typed by anybody. */
const SHOWN_PATH = 100;

export interface SignIn {
  /** Lets only known people pass. */
  handler: RequestHandler;
  /** Who sent a request that has passed. */
  personOf(request: Request): Person;
  /**
   * Whose token it is, with the same limit on wrong ones. @param path for the log.
   * @throws PuenteError unauthorized, or too_many after many wrong ones.
   */
  memberOf(token: string, path: string): Member;
}

/**
 * Wrong tokens are counted for the whole door, because an address or a header can be changed at will. A right token always
 * passes: a flood of wrong ones must not keep operators from going back to legacy.
 */
export function createSignIn(members: readonly Member[], clock: Pick<Clock, 'now'>, log: Log): SignIn {
  const people = new WeakMap<Request, Person>();
  let window = { from: Number.NEGATIVE_INFINITY, wrong: 0 };
  const refusal = (path: string, now: number): PuenteError => {
    if (now < window.from || now >= window.from + WINDOW_MS) window = { from: now, wrong: 0 };
    window.wrong += 1;
    if (window.wrong > WRONG_TOKENS_PER_WINDOW) {
      const retry_after_s = Math.ceil((window.from + WINDOW_MS - now) / 1000);
      const sentence = say('refusal.wrong_tokens', { most: WRONG_TOKENS_PER_WINDOW, seconds: retry_after_s });
      return new PuenteError('too_many', sentence, { facts: { retry_after_s } });
    }
    log.warn('ops call without a known token', { path: path.slice(0, SHOWN_PATH), count: window.wrong });
    return new PuenteError('unauthorized', say('refusal.token', {}));
  };
  return {
    handler: (request, _response, next) => {
      const now = clock.now();
      const person = personOf(members, request.headers.authorization, now);
      if (person === null) throw refusal(request.baseUrl + request.path, now);
      people.set(request, person);
      next();
    },
    personOf(request) {
      const person = people.get(request);
      if (person === undefined) throw new PuenteError('unauthorized', say('refusal.not_signed_in', {}));
      return person;
    },
    memberOf(token, path) {
      const now = clock.now();
      const member = memberOf(members, token, now);
      if (member === null) throw refusal(path, now);
      return member;
    },
  };
}

// Sessions of the console: a signed cookie instead of the ops token, so that the token lies in no page and on no
// disk.

/** A working day: who goes home signed in is signed out by the next morning. */
export const SESSION_MS = 12 * 60 * 60_000;
const VERSION = 'v1';
/** Hexadecimal digits, enough to tell apart what runs on one host. */
const MARK_DIGITS = 12;

export interface Sessions {
  /** The cookie's name. A browser sends cookies to every port of a host: each installation has a name of its own. */
  cookie: string;
  /** The cookie's value for a member whose token was checked. It is signed and holds a name, an expiry and nothing secret. */
  open(member: Member): string;
  /**
   * Who a cookie's value stands for; null for a forged, changed or ended one. A token that was changed or taken away ends its
   * sessions, and a role that was changed holds at once: both are read from the settings each time.
   */
  personOf(value: string): Person | null;
  /** What each form of a session carries, so that no other page can send it. */
  formToken(value: string): string;
  isFormToken(value: string, given: string): boolean;
}

/** The key comes from the installation's own: any process of it knows the sessions of the others, and a restart ends none. */
export function createSessions(members: readonly Member[], vault: Vault, clock: Pick<Clock, 'now'>): Sessions {
  const sign = (text: string): string => vault.keyed('ops session', text);
  const markOf = ({ digest }: Member): string => vault.keyed('ops session member', digest.toString('hex')).slice(0, 32);
  const formToken = (value: string): string => vault.keyed('ops form', value);
  return {
    // Cookies with this prefix are never proxied upstream (`proxy/http/head.ts`).
    cookie: `puente_session_${vault.keyed('ops session cookie', VERSION).slice(0, MARK_DIGITS)}`,
    open(member) {
      const name = Buffer.from(member.person.name, 'utf8').toString('base64url');
      const text = [VERSION, name, clock.now() + SESSION_MS, markOf(member)].join('.');
      return `${text}.${sign(text)}`;
    },
    personOf(value) {
      const [version, name = '', ends_at, mark = '', signature = '', ...more] = value.split('.');
      const text = [version, name, ends_at, mark].join('.');
      if (version !== VERSION || more.length > 0 || !isSame(signature, sign(text))) return null;
      const now = clock.now();
      if (!(Number(ends_at) > now)) return null;
      const person_name = Buffer.from(name, 'base64url').toString('utf8');
      const member = members.find((one) => one.person.name === person_name && isSame(mark, markOf(one)));
      return member === undefined || hasEnded(member, now) ? null : member.person;
    },
    formToken,
    isFormToken: (value, given) => isSame(given, formToken(value)),
  };
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

// What keeps foreign web pages off the ops door: which host names it answers to, where a call may come from, and
// strict headers.

/** Nothing of this door may run, be framed, be kept, or be read by another origin (`test/faults/README.md` F126). */
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
