/** Whether a token is known to belong to its merchant. The id inside a token proves nothing: until upstream or legacy has accepted it, nothing is recorded for the merchant. */
import { createRecent } from '../lru.ts';
import type { LegacySale } from '../records/routing.ts';
import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import { identify } from './merchant-identity.ts';

/** Tokens remembered at most; a forgotten one is proven again by its next call that works. */
const CAPACITY = 20_000;

/** Tokens that legacy has taken. In memory alone, and never a credential: the upstream was not asked about them. */
export interface Proofs {
  /** @param until epoch ms. */
  note(fingerprint: string, merchant_id: string, until: number): void;
  /** @returns null for a token that legacy has not taken lately. */
  of(fingerprint: string, now: number): string | null;
}

export function createProofs(): Proofs {
  const taken = createRecent<{ merchant_id: string; until: number }>(CAPACITY);
  return {
    note: (fingerprint, merchant_id, until) => taken.set(fingerprint, { merchant_id, until }),
    of(fingerprint, now) {
      const known = taken.get(fingerprint);
      if (known === undefined) return null;
      if (known.until > now) return known.merchant_id;
      taken.delete(fingerprint);
      return null;
    },
  };
}

/**
 * The merchant of a token, without asking anybody: the upstream accepted it once and has not refused it since, or legacy
 * took it lately. Null while nobody has said so, whatever the token looks like.
 */
export async function provenMerchant(runtime: Runtime, token: Secret): Promise<string | null> {
  const fingerprint = runtime.vault.fingerprint(token);
  const accepted = await runtime.store.token(fingerprint);
  return accepted?.merchant_id ?? runtime.proofs.of(fingerprint, runtime.clock.now());
}

/** The same, and the upstream is asked about a token that nobody knows. Null, too, when it says nothing. */
export async function askWhose(runtime: Runtime, token: Secret): Promise<string | null> {
  const known = await provenMerchant(runtime, token);
  if (known !== null) return known;
  const identity = await identify(runtime, token);
  return identity.kind === 'accepted' ? identity.merchant.id : null;
}

/**
 * Legacy has done what a call of the tables asked for. All of those need a token, so this one is a real token of whom it
 * names. A refusal proves nothing: a service may say 400, 404, 429 or 5xx before it looks at the token.
 */
export function noteTaken(runtime: Runtime, token: Secret, merchant_id: string): void {
  const until = runtime.clock.now() + runtime.settings.tokens.accepted_for_ms;
  runtime.proofs.note(runtime.vault.fingerprint(token), merchant_id, until);
}

// Creates in doubt whose token nobody has proved: they hold their unit until somebody says that it is no token of its
// merchant.

/** Tokens remembered at most, in memory alone; one that is forgotten leaves its sale to the hold. */
const UNPROVEN_CAPACITY = 1_000;

/** Tokens that nobody could judge, by fingerprint, so that they can be asked about again. */
export interface UnprovenTokens {
  keep(fingerprint: string, token: Secret): void;
  get(fingerprint: string): Secret | undefined;
}

export function createUnprovenTokens(): UnprovenTokens {
  const tokens = createRecent<Secret>(UNPROVEN_CAPACITY);
  return {
    keep: (fingerprint, token) => tokens.set(fingerprint, token),
    get: (fingerprint) => tokens.get(fingerprint),
  };
}

/**
 * Asks whose the token is that a sale without an answer came with. One that orders refuse, legacy has refused too, and
 * nothing came of it; while nobody answers, the sale stays as it is.
 * @returns `proven`: the sale is its merchant's. `refused`: it is none, and that is written down.
 */
export async function judgeUnproven(
  runtime: Runtime,
  sale: Pick<LegacySale, 'id' | 'merchant_id'>,
  token: Secret,
): Promise<'proven' | 'refused' | 'unknown'> {
  const identity = await identify(runtime, token);
  if (identity.kind === 'accepted' && identity.merchant.id === sale.merchant_id) {
    await runtime.store.saveLegacySale(sale.id, { unproven_token: null });
    return 'proven';
  }
  if (identity.kind === 'refused' && identity.error !== 'unauthorized') {
    runtime.unproven_tokens.keep(runtime.vault.fingerprint(token), token);
    return 'unknown';
  }
  await runtime.store.saveLegacySale(sale.id, { state: 'REFUSED' });
  runtime.count('legacy_sales', 'refused');
  return 'refused';
}

/** The same for a sale that is in the way, at most once in `reads.fresh_ms`; false while it may hold its unit. */
export async function isRefusedByNow(runtime: Runtime, sale: LegacySale): Promise<boolean> {
  const token = sale.unproven_token === null ? undefined : runtime.unproven_tokens.get(sale.unproven_token);
  if (token === undefined) return false;
  const { cache, clock, settings } = runtime;
  const key = `unproven sale ${sale.id}`;
  const judged = await cache.get(key, clock.now(), settings.reads.fresh_ms, () => judgeUnproven(runtime, sale, token));
  return judged === 'refused';
}
