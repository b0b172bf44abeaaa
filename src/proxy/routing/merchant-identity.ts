/** Whose token this is: known only once the upstream has accepted it (`docs/glossary.md` Merchant). */
import { z } from 'zod';
import { USER_ID } from '../../contract/identifiers.ts';
import type { CommonErrorName } from '../../contract/legacy-errors.ts';
import { userMe } from '../../contract/upstream.ts';
import type { Ports } from '../ports.ts';
import { Secret } from '../vault.ts';
import type { Merchant, MerchantWithToken } from './merchant.ts';

export type Identity =
  | { kind: 'accepted'; merchant: Merchant; fingerprint: string }
  | { kind: 'refused'; error: CommonErrorName };

/**
 * The merchant behind a token. An accepted fingerprint is remembered until its expiry; otherwise the upstream is asked
 * once (`GET /users/me`), whatever the token looks like, so an invented token with a victim's id learns nothing.
 * A token accepted before stays good while the upstream can't be reached: the upstream judges it on the call itself.
 * @param seen the merchant that the token claims, when it was just read with the token: it is not read again.
 */
export async function identify(ports: Ports, token: Secret, seen: MerchantWithToken | null = null): Promise<Identity> {
  const fingerprint = ports.vault.fingerprint(token);
  if (seen !== null && seen.accepted_until !== null && seen.accepted_until > ports.clock.now())
    return { kind: 'accepted', merchant: seen.merchant, fingerprint };
  const known = await acceptedMerchant(ports, fingerprint, ports.clock.now());
  if (known !== null) return { kind: 'accepted', merchant: known, fingerprint };
  const for_payment = await isPaymentOfKnown(ports, fingerprint);
  // A payment doesn't stand in line behind what a look of the same till has asked.
  return ports.memory.mutex.run(`token${for_payment ? ' for payment' : ''}:${fingerprint}`, async () => {
    const meanwhile = await acceptedMerchant(ports, fingerprint, ports.clock.now());
    if (meanwhile !== null) return { kind: 'accepted', merchant: meanwhile, fingerprint };
    return askUpstream(ports, token, fingerprint, for_payment);
  });
}

/** With a token that was accepted before: invented ones must not go first, whatever they ask for. */
async function isPaymentOfKnown(ports: Ports, fingerprint: string): Promise<boolean> {
  return ports.exchange?.is_payment === true && (await ports.store.merchants.token(fingerprint)) !== null;
}

/** The user id a token claims: its last segment (`APP_USR-…-<user id>`). Good for choosing a lane, proves nothing. */
export function claimedMerchant(token: Secret): string | null {
  const last = token.reveal().split('-').at(-1) ?? '';
  return token.reveal().includes('-') && USER_ID.test(last) ? last : null;
}

/** Whose a token was when the upstream last accepted it, however long ago; for choosing a lane alone. */
export async function rememberedMerchant(ports: Ports, token: Secret): Promise<string | null> {
  const known = await ports.store.merchants.token(ports.vault.fingerprint(token));
  return known?.merchant_id ?? null;
}

/**
 * The upstream said 401: the token is asked about again on its next call. It is kept for work after the call, because
 * one wrong 401 must not leave events and recovery without a credential.
 */
export async function distrust(ports: Ports, token: Secret): Promise<void> {
  const known = await ports.store.merchants.token(ports.vault.fingerprint(token));
  if (known !== null && known.accepted_until > 0)
    await ports.store.merchants.acceptToken({ ...known, accepted_until: 0 }, null);
}

/**
 * The merchant's token for work after the call has ended: the configured credential, else the token seen last
 * (`docs/architecture.md` Decision 9); null when there is none.
 */
export async function credentialOf(ports: Ports, merchant_id: string): Promise<Secret | null> {
  const merchant = await ports.store.merchants.merchant(merchant_id);
  if (merchant?.sealed_credential) {
    return new Secret(ports.vault.open(merchant.sealed_credential, 'credential').toString('utf8'));
  }
  const token = await ports.store.merchants.latestToken(merchant_id);
  if (token === null || token.seen_at + ports.settings.tokens.kept_for_ms < ports.clock.now()) return null;
  return new Secret(ports.vault.open(token.sealed_token, 'token').toString('utf8'));
}

async function acceptedMerchant(ports: Ports, fingerprint: string, at: number): Promise<Merchant | null> {
  const token = await ports.store.merchants.token(fingerprint);
  if (token === null || token.accepted_until <= at) return null;
  return await ports.store.merchants.merchant(token.merchant_id);
}

async function askUpstream(ports: Ports, token: Secret, fingerprint: string, for_payment: boolean): Promise<Identity> {
  const outcome = await ports.upstreams.orders.send({
    name: 'users_me',
    method: 'GET',
    path: '/users/me',
    token,
    for_payment,
    timeout_ms: ports.settings.reads.timeout_ms,
  });
  if (outcome.kind === 'answered' && (outcome.status === 401 || outcome.status === 403)) {
    await ports.store.merchants.forgetToken(fingerprint);
    return { kind: 'refused', error: 'unauthorized' };
  }
  const user = outcome.kind === 'answered' && outcome.status === 200 ? userMe.safeParse(outcome.body) : null;
  if (user?.success) return accept(ports, token, fingerprint, user.data);
  const before = await acceptedMerchant(ports, fingerprint, 0);
  if (before !== null) return { kind: 'accepted', merchant: before, fingerprint };
  const limited = outcome.kind === 'answered' && outcome.status === 429;
  return { kind: 'refused', error: limited ? 'too_many_requests' : 'unavailable' };
}

async function accept(
  ports: Ports,
  token: Secret,
  fingerprint: string,
  user: { id: string; site_id?: string | undefined },
): Promise<Identity> {
  const now = ports.clock.now();
  await ports.store.merchants.acceptToken(
    {
      fingerprint,
      merchant_id: user.id,
      sealed_token: ports.vault.seal(token.reveal(), 'token'),
      accepted_until: now + ports.settings.tokens.accepted_for_ms,
      seen_at: now,
    },
    user.site_id ?? null,
  );
  const merchant = await ports.store.merchants.merchant(user.id);
  if (merchant === null) return { kind: 'refused', error: 'unavailable' };
  return { kind: 'accepted', merchant, fingerprint };
}

/** The seller's public name, as the account says it. */
const account = z.looseObject({ nickname: z.string().default('') });

/** No answer is worth more of a till's time than this for a name that nobody pays by. */
const NICKNAME_WAIT_MS = 1_000;
/** While it can't be learned it is asked for once a minute, not at every poll. */
const FAILURE_KEPT_MS = 60_000;

/**
 * Asked for as seldom as what a till's number stands for; empty while it can't be learned. Waits for half of what is
 * left of the call's time at most, so that what the call is about keeps the other half.
 */
export async function nicknameOf(
  ports: Ports,
  call: { merchant: Pick<Merchant, 'id'>; token: Secret; received_at: number },
): Promise<string> {
  const { reads, create } = ports.settings;
  const now = ports.clock.now();
  const ask = async (): Promise<string | null> => {
    const outcome = await ports.upstreams.orders.send({
      name: 'users_me',
      method: 'GET',
      path: '/users/me',
      token: call.token,
      timeout_ms: Math.min(NICKNAME_WAIT_MS, reads.timeout_ms),
    });
    const known = outcome.kind === 'answered' && outcome.status === 200 ? account.safeParse(outcome.body) : null;
    return known?.success ? known.data.nickname : null;
  };
  const key = `nickname ${call.merchant.id}`;
  const asked = ports.memory.cache.get(key, now, reads.pos_fresh_ms, ask, (one) =>
    one === null ? FAILURE_KEPT_MS : true,
  );
  const wait_ms = (call.received_at + create.deadline_ms - now) / 2;
  if (wait_ms >= NICKNAME_WAIT_MS) return (await asked) ?? '';
  return (await Promise.race([asked, ports.clock.sleep(Math.max(wait_ms, 0))])) ?? '';
}
