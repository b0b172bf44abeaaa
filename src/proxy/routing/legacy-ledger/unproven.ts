/** Creates in doubt whose token nobody has proved: they hold their unit until somebody says that it is no token of its merchant. */

import { createRecent } from '../../recent.ts';
import type { LegacySale } from '../../records/routing.ts';
import type { Runtime } from '../../runtime.ts';
import type { Secret } from '../../secret.ts';
import { identify } from '../merchant-identity.ts';

/** Tokens remembered at most, in memory alone; one that is forgotten leaves its sale to the hold. */
const CAPACITY = 1_000;

/** Tokens that nobody could judge, by fingerprint, so that they can be asked about again. */
export interface UnprovenTokens {
  keep(fingerprint: string, token: Secret): void;
  get(fingerprint: string): Secret | undefined;
}

export function createUnprovenTokens(): UnprovenTokens {
  const tokens = createRecent<Secret>(CAPACITY);
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
