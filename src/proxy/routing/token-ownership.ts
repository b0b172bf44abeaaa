/** Proof that a token is its merchant's, from upstream or legacy, and creates in doubt whose token lacks it. */
import { PuenteError } from '../../error.ts';
import type { Ports } from '../ports.ts';
import type { LegacySale, LegacySaleChange } from '../records/routing.ts';
import type { Secret } from '../vault.ts';
import { identify } from './merchant-identity.ts';

/**
 * The proven merchant of a token, without a network call: upstream accepted the token and has not refused it since, or
 * legacy accepted it lately. Null otherwise, whatever the token claims.
 */
export async function provenMerchant(ports: Ports, token: Secret): Promise<string | null> {
  const fingerprint = ports.vault.fingerprint(token);
  const accepted = await ports.store.merchants.token(fingerprint);
  return accepted?.merchant_id ?? ports.memory.tokens.proofs.of(fingerprint, ports.clock.now());
}

/** The same, and verifies an unknown token at upstream. Null also while upstream gives no answer. */
export async function verifiedMerchant(ports: Ports, token: Secret): Promise<string | null> {
  const known = await provenMerchant(ports, token);
  if (known !== null) return known;
  const identity = await identify(ports, token);
  return identity.kind === 'accepted' ? identity.merchant.id : null;
}

/**
 * Notes that legacy has executed a call of the tables. All of these need a token, so this one belongs to the merchant
 * that it names. A refusal proves nothing: legacy may answer 400, 404, 429 or 5xx before it checks the token.
 */
export function noteTaken(ports: Ports, token: Secret, merchant_id: string): void {
  const until = ports.clock.now() + ports.settings.tokens.accepted_for_ms;
  ports.memory.tokens.proofs.note(ports.vault.fingerprint(token), merchant_id, until);
}

// Creates in doubt with an unproven token: they hold their unit until the token is found not to be the merchant's.

/**
 * Verifies the token of a sale without an answer. A token that the orders API refuses was refused by legacy too, so
 * nothing came of the sale; while upstream gives no answer, the sale stays as it is.
 * @param sale with the state that was stored last: in another one, or once a proven token asked for it too, it shows more
 * by now than a refused token does.
 * @returns `proven`: the sale is its merchant's. `refused`: it is not, and that is stored.
 */
export async function judgeUnproven(
  ports: Ports,
  sale: Pick<LegacySale, 'id' | 'merchant_id' | 'state'>,
  token: Secret,
): Promise<'proven' | 'refused' | 'unknown'> {
  const identity = await identify(ports, token);
  if (identity.kind === 'accepted' && identity.merchant.id === sale.merchant_id) {
    await ports.store.legacy_sales.saveLegacySale(sale.id, { unproven_token: null });
    return 'proven';
  }
  if (identity.kind === 'refused' && identity.error !== 'unauthorized') {
    ports.memory.tokens.unproven.set(ports.vault.fingerprint(token), token);
    return 'unknown';
  }
  const refusal = { state: 'REFUSED', only_while: sale.state, only_unproven: true } as const;
  if (!(await saveWhile(ports, sale.id, refusal))) return 'unknown';
  ports.count('legacy_sales', 'refused');
  return 'refused';
}

/** @returns false when the sale is no longer in the state that `only_while` names: nothing was changed. */
export async function saveWhile(ports: Ports, id: string, change: LegacySaleChange): Promise<boolean> {
  try {
    await ports.store.legacy_sales.saveLegacySale(id, change);
    return true;
  } catch (error) {
    if (change.only_while !== undefined && error instanceof PuenteError && error.code === 'not_found') return false;
    throw error;
  }
}

/** The same as `judgeUnproven` for a sale that holds a unit, at most once in `reads.fresh_ms`; false while it may hold on. */
export async function isRefusedByNow(ports: Ports, sale: LegacySale): Promise<boolean> {
  const token = sale.unproven_token === null ? undefined : ports.memory.tokens.unproven.get(sale.unproven_token);
  if (token === undefined) return false;
  const { clock, settings } = ports;
  const { cache } = ports.memory;
  const key = `unproven sale ${sale.id}`;
  const judged = await cache.get(key, clock.now(), settings.reads.fresh_ms, () => judgeUnproven(ports, sale, token));
  return judged === 'refused';
}
