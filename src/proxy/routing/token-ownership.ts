/** Whose a token is for certain: on the word of a token alone nothing counts for a merchant, and nothing of it is shown. */

import { createRecent } from '../recent.ts';
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
