/** Access to the ops listener: roles, tokens, console sessions, a limit on wrong tokens, and guards against pages. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { PuenteError, type Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Clock } from '../../proxy/clock.ts';
import type { Log } from '../../proxy/log.ts';
import type { Secret, Vault } from '../../proxy/vault.ts';
import { iso } from '../fields.ts';
import { type Person, SOLE_OWNER } from './person.ts';

/** The settings `ops.token` and `ops.tokens`. */
export interface OpsTokens {
  token: Secret | null;
  tokens: Readonly<Record<string, Readonly<{ role: Person['role']; token: Secret; expires_at: number | null }>>>;
}

/** A person with a token; only the token's digest is kept. */
interface Member {
  person: Person;
  digest: Buffer;
  /** Epoch ms; null: the token never expires. */
  expires_at: number | null;
}

/** The owner of `ops.token`, where it is set, and those of `ops.tokens`. Holds digests of the tokens only. */
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
 * The member with this token, expired or not; null for an unknown one. The digests of all members are compared, so that
 * the time reveals nothing of a token, its length or its owner (`test/faults/README.md` F124).
 */
function ownerOf(members: readonly Member[], token: string): Member | null {
  const given = digestOf(token);
  let found: Member | null = null;
  for (const member of members) if (timingSafeEqual(given, member.digest)) found = member;
  return found;
}

/** The person of an `Authorization` header; null without a valid token. @param now epoch ms. */
export function personOf(members: readonly Member[], header: string | undefined, now: number): Person | null {
  const member = ownerOf(members, bearerOf(header));
  return member === null || hasEnded(member, now) ? null : member.person;
}

/** Empty without a token. */
function bearerOf(header: string | undefined): string {
  return /^Bearer (.+)$/i.exec(header ?? '')?.[1] ?? '';
}

/** @param now epoch ms. */
function hasEnded({ expires_at }: Member, now: number): boolean {
  return expires_at !== null && expires_at <= now;
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

// Sign-in to the ops API, with a limit on the wrong tokens that are answered and logged.

/** An operator who looks for the right token needs a few tries; a program that guesses needs billions. */
const WRONG_TOKENS_PER_WINDOW = 60;
const WINDOW_MS = 60_000;
/** Characters of a path in the log; no operator types a longer path. */
const SHOWN_PATH = 100;

export interface SignIn {
  /** Refuses requests without a known token. */
  handler: RequestHandler;
  /** @throws PuenteError unauthorized for a request that `handler` has not let through. */
  personOf(request: Request): Person;
  /** @param path for the log. @throws PuenteError unauthorized; too_many after many wrong tokens. */
  memberOf(token: string, path: string): Member;
}

/**
 * Wrong tokens are counted for the whole door, because a caller can change an address or a header at will. A right
 * token always passes: a flood of wrong ones must not keep operators from a rollback.
 */
export function createSignIn(members: readonly Member[], clock: Pick<Clock, 'now'>, log: Log): SignIn {
  const people = new WeakMap<Request, Person>();
  let window = { from: Number.NEGATIVE_INFINITY, wrong: 0 };
  /** Only who holds an expired token learns that it was one. */
  const sentenceOf = (token: string, owner: Member | null): Spoken => {
    if (token === '') return say('refusal.token', {});
    if (owner === null) return say('refusal.token_wrong', {});
    return say('refusal.token_expired', { name: owner.person.name, expired_at: iso(owner.expires_at ?? 0) });
  };
  const refusal = (token: string, owner: Member | null, path: string, now: number): PuenteError => {
    if (now < window.from || now >= window.from + WINDOW_MS) window = { from: now, wrong: 0 };
    window.wrong += 1;
    if (window.wrong > WRONG_TOKENS_PER_WINDOW) {
      const retry_after_s = Math.ceil((window.from + WINDOW_MS - now) / 1000);
      const sentence = say('refusal.wrong_tokens', { most: WRONG_TOKENS_PER_WINDOW, seconds: retry_after_s });
      return new PuenteError('too_many', sentence, { facts: { retry_after_s } });
    }
    log.warn('ops call without a known token', { path: path.slice(0, SHOWN_PATH), count: window.wrong });
    return new PuenteError('unauthorized', sentenceOf(token, owner));
  };
  const memberOf = (token: string, path: string): Member => {
    const now = clock.now();
    const owner = ownerOf(members, token);
    if (owner === null || hasEnded(owner, now)) throw refusal(token, owner, path, now);
    return owner;
  };
  return {
    handler: (request, _response, next) => {
      const token = bearerOf(request.headers.authorization);
      people.set(request, memberOf(token, request.baseUrl + request.path).person);
      next();
    },
    personOf(request) {
      const person = people.get(request);
      if (person === undefined) throw new PuenteError('unauthorized', say('refusal.not_signed_in', {}));
      return person;
    },
    memberOf,
  };
}

// Console sessions: a signed cookie instead of the ops token, so that the token is in no page and on no disk.

/** A working day: an operator who goes home signed in is signed out by the next morning. */
export const SESSION_MS = 12 * 60 * 60_000;
const VERSION = 'v1';
/** Hexadecimal digits, enough to tell apart the installations on one host. */
const MARK_DIGITS = 12;

export interface Sessions {
  /** The cookie's name: one per installation, because a browser sends cookies to every port of a host. */
  cookie: string;
  /** The signed cookie value of a member whose token was checked: a name, an expiry, and no secret. */
  open(member: Member): string;
  /**
   * The person of a cookie's value; null for a forged, changed or expired one. Token and role are read from the
   * settings each time: a changed or removed token ends its sessions, and a changed role holds at once.
   */
  personOf(value: string): Person | null;
  /** Every form of a session contains this token, so that no other page can send the form. */
  formToken(value: string): string;
  /** Compared in constant time. */
  isFormToken(value: string, given: string): boolean;
}

/** Signed with the installation's key: all its processes accept the same sessions, and a restart ends none. */
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

// Protection from foreign web pages: accepted host names, accepted origins, and strict headers.

/** No script, no framing, no caching, no read by another origin (`test/faults/README.md` F126). */
export const GUARD_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * Sets the headers on every answer and refuses foreign host names: a page whose name was pointed at our address (DNS
 * rebinding) still sends its own name. An IP address can't be rebound (F125).
 * @param hosts names beside `localhost` under which operators reach the door.
 */
export function doorGuard(hosts: readonly string[]): RequestHandler {
  const own = new Set(['localhost', ...hosts.map((host) => host.toLowerCase())]);
  return (request, response, next) => {
    response.set(GUARD_HEADERS);
    const { host } = request.headers;
    const name = hostName(host);
    // Every browser sends a Host header; a probe that speaks HTTP/1.0 need not.
    if (host !== undefined && isIP(name) === 0 && !own.has(name))
      throw new PuenteError('forbidden', say('refusal.host', { host: name === '' ? null : name.slice(0, 60) }));
    next();
  };
}

/** For the API: refuses every call that a browser made for another site (F125). */
export const sameOriginOnly: RequestHandler = (request, _response, next) => {
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  const is_foreign = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (is_foreign || (origin !== undefined && URL.parse(origin)?.host !== request.headers.host?.toLowerCase()))
    throw new PuenteError('forbidden', say('refusal.other_origin', {}));
  next();
};

/** The name in a Host header, without port and brackets; '' for none, or for an invalid one. */
function hostName(header: string | undefined): string {
  const name = URL.parse(`http://${header ?? ''}`)?.hostname ?? '';
  return name.replace(/^\[(.*)\]$/, '$1');
}
