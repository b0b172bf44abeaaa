/** Who may use the ops door: names, roles and tokens from the settings, and who a call comes from. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../../proxy/secret.ts';
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
 * Whose token it is; null for nobody's. Digests are compared, each with each, so that the time says nothing of a token, its
 * length or its owner (`reliability.md` F124).
 * @param now epoch ms; a token that has ended is nobody's.
 */
export function memberOf(members: readonly Member[], token: string, now: number): Member | null {
  const given = digestOf(token);
  let found: Member | null = null;
  for (const member of members) if (timingSafeEqual(given, member.digest)) found = member;
  return found === null || hasEnded(found, now) ? null : found;
}

/** The person behind an `Authorization` header; null for nobody. @param now epoch ms. */
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
