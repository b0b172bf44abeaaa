import type { Ports } from '../ports.ts';
import type { LegacySale } from '../records/routing.ts';
import type { Secret } from '../vault.ts';
import { identify } from './merchant-identity.ts';

/**
 * The merchant of a token, without asking anybody: the upstream accepted it once and has not refused it since, or legacy
 * took it lately. Null while nobody has said so, whatever the token looks like.
 */
export async function provenMerchant(ports: Ports, token: Secret): Promise<string | null> {
  const fingerprint = ports.vault.fingerprint(token);
  const accepted = await ports.store.merchants.token(fingerprint);
  return accepted?.merchant_id ?? ports.memory.tokens.proofs.of(fingerprint, ports.clock.now());
}

/** The same, and the upstream is asked about a token that nobody knows. Null, too, when it says nothing. */
export async function askWhose(ports: Ports, token: Secret): Promise<string | null> {
  const known = await provenMerchant(ports, token);
  if (known !== null) return known;
  const identity = await identify(ports, token);
  return identity.kind === 'accepted' ? identity.merchant.id : null;
}

/**
 * Legacy has done what a call of the tables asked for. All of those need a token, so this one is a real token of whom it
 * names. A refusal proves nothing: a service may say 400, 404, 429 or 5xx before it looks at the token.
 */
export function noteTaken(ports: Ports, token: Secret, merchant_id: string): void {
  const until = ports.clock.now() + ports.settings.tokens.accepted_for_ms;
  ports.memory.tokens.proofs.note(ports.vault.fingerprint(token), merchant_id, until);
}

// Creates in doubt whose token nobody has proved: they hold their unit until somebody says that it is no token of its
// merchant.

/**
 * Asks whose the token is that a sale without an answer came with. One that orders refuse, legacy has refused too, and
 * nothing came of it; while nobody answers, the sale stays as it is.
 * @returns `proven`: the sale is its merchant's. `refused`: it is none, and that is written down.
 */
export async function judgeUnproven(
  ports: Ports,
  sale: Pick<LegacySale, 'id' | 'merchant_id'>,
  token: Secret,
): Promise<'proven' | 'refused' | 'unknown'> {
  const identity = await identify(ports, token);
  if (identity.kind === 'accepted' && identity.merchant.id === sale.merchant_id) {
    await ports.store.legacy_sales.saveLegacySale(sale.id, { unproven_token: null });
    return 'proven';
  }
  if (identity.kind === 'refused' && identity.error !== 'unauthorized') {
    ports.memory.tokens.unproven.keep(ports.vault.fingerprint(token), token);
    return 'unknown';
  }
  await ports.store.legacy_sales.saveLegacySale(sale.id, { state: 'REFUSED' });
  ports.count('legacy_sales', 'refused');
  return 'refused';
}

/** The same for a sale that is in the way, at most once in `reads.fresh_ms`; false while it may hold its unit. */
export async function isRefusedByNow(ports: Ports, sale: LegacySale): Promise<boolean> {
  const token = sale.unproven_token === null ? undefined : ports.memory.tokens.unproven.get(sale.unproven_token);
  if (token === undefined) return false;
  const { clock, settings } = ports;
  const { cache } = ports.memory;
  const key = `unproven sale ${sale.id}`;
  const judged = await cache.get(key, clock.now(), settings.reads.fresh_ms, () => judgeUnproven(ports, sale, token));
  return judged === 'refused';
}
