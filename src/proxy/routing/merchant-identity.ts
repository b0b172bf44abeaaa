/** Whose token this is: known only once the upstream has accepted it (DESIGN, Words: Merchant). */
import { z } from 'zod';
import { USER_ID } from '../../contract/identifiers.ts';
import type { CommonErrorName } from '../../contract/legacy-errors.ts';
import { userMe } from '../../contract/upstream.ts';
import type { Runtime } from '../runtime.ts';
import { Secret } from '../secret.ts';
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
export async function identify(
  runtime: Runtime,
  token: Secret,
  seen: MerchantWithToken | null = null,
): Promise<Identity> {
  const fingerprint = runtime.vault.fingerprint(token);
  if (seen !== null && seen.accepted_until !== null && seen.accepted_until > runtime.clock.now())
    return { kind: 'accepted', merchant: seen.merchant, fingerprint };
  const known = await acceptedMerchant(runtime, fingerprint, runtime.clock.now());
  if (known !== null) return { kind: 'accepted', merchant: known, fingerprint };
  const for_payment = await isPaymentOfKnown(runtime, fingerprint);
  // A payment doesn't stand in line behind what a look of the same till has asked.
  return runtime.serial.run(`token${for_payment ? ' for payment' : ''}:${fingerprint}`, async () => {
    const meanwhile = await acceptedMerchant(runtime, fingerprint, runtime.clock.now());
    if (meanwhile !== null) return { kind: 'accepted', merchant: meanwhile, fingerprint };
    return askUpstream(runtime, token, fingerprint, for_payment);
  });
}

/** With a token that was accepted before: invented ones must not go first, whatever they ask for. */
async function isPaymentOfKnown(runtime: Runtime, fingerprint: string): Promise<boolean> {
  return runtime.exchange()?.is_payment === true && (await runtime.store.token(fingerprint)) !== null;
}

/** The user id a token claims: its last segment (`APP_USR-…-<user id>`). Good for choosing a lane, proves nothing. */
export function claimedMerchant(token: Secret): string | null {
  const last = token.reveal().split('-').at(-1) ?? '';
  return token.reveal().includes('-') && USER_ID.test(last) ? last : null;
}

/** Whose a token was when the upstream last accepted it, however long ago; for choosing a lane alone. */
export async function rememberedMerchant(runtime: Runtime, token: Secret): Promise<string | null> {
  const known = await runtime.store.token(runtime.vault.fingerprint(token));
  return known?.merchant_id ?? null;
}

/**
 * The upstream said 401: the token is asked about again on its next call. It is kept for work after the call, because
 * one wrong 401 must not leave events and recovery without a credential.
 */
export async function distrust(runtime: Runtime, token: Secret): Promise<void> {
  const known = await runtime.store.token(runtime.vault.fingerprint(token));
  if (known !== null && known.accepted_until > 0)
    await runtime.store.acceptToken({ ...known, accepted_until: 0 }, null);
}

/**
 * The merchant's token for work after the call has ended: the configured credential, else the token seen last
 * (DESIGN decision 9); null when there is none.
 */
export async function credentialOf(runtime: Runtime, merchant_id: string): Promise<Secret | null> {
  const merchant = await runtime.store.merchant(merchant_id);
  if (merchant?.sealed_credential) {
    return new Secret(runtime.vault.open(merchant.sealed_credential, 'credential').toString('utf8'));
  }
  const token = await runtime.store.latestToken(merchant_id);
  if (token === null || token.seen_at + runtime.settings.tokens.kept_for_ms < runtime.clock.now()) return null;
  return new Secret(runtime.vault.open(token.sealed_token, 'token').toString('utf8'));
}

async function acceptedMerchant(runtime: Runtime, fingerprint: string, at: number): Promise<Merchant | null> {
  const token = await runtime.store.token(fingerprint);
  if (token === null || token.accepted_until <= at) return null;
  return await runtime.store.merchant(token.merchant_id);
}

async function askUpstream(
  runtime: Runtime,
  token: Secret,
  fingerprint: string,
  for_payment: boolean,
): Promise<Identity> {
  const outcome = await runtime.upstream.send({
    name: 'users_me',
    method: 'GET',
    path: '/users/me',
    token,
    for_payment,
    timeout_ms: runtime.settings.reads.timeout_ms,
  });
  if (outcome.kind === 'answered' && (outcome.status === 401 || outcome.status === 403)) {
    await runtime.store.forgetToken(fingerprint);
    return { kind: 'refused', error: 'unauthorized' };
  }
  const user = outcome.kind === 'answered' && outcome.status === 200 ? userMe.safeParse(outcome.body) : null;
  if (user?.success) return accept(runtime, token, fingerprint, user.data);
  const before = await acceptedMerchant(runtime, fingerprint, 0);
  if (before !== null) return { kind: 'accepted', merchant: before, fingerprint };
  const limited = outcome.kind === 'answered' && outcome.status === 429;
  return { kind: 'refused', error: limited ? 'too_many_requests' : 'unavailable' };
}

async function accept(
  runtime: Runtime,
  token: Secret,
  fingerprint: string,
  user: { id: string; site_id?: string | undefined },
): Promise<Identity> {
  const now = runtime.clock.now();
  await runtime.store.acceptToken(
    {
      fingerprint,
      merchant_id: user.id,
      sealed_token: runtime.vault.seal(token.reveal(), 'token'),
      accepted_until: now + runtime.settings.tokens.accepted_for_ms,
      seen_at: now,
    },
    user.site_id ?? null,
  );
  const merchant = await runtime.store.merchant(user.id);
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
  runtime: Runtime,
  call: { merchant: Pick<Merchant, 'id'>; token: Secret; received_at: number },
): Promise<string> {
  const { reads, create } = runtime.settings;
  const now = runtime.clock.now();
  const ask = async (): Promise<string | null> => {
    const outcome = await runtime.upstream.send({
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
  const asked = runtime.cache.get(key, now, reads.pos_fresh_ms, ask, (one) => (one === null ? FAILURE_KEPT_MS : true));
  const wait_ms = (call.received_at + create.deadline_ms - now) / 2;
  if (wait_ms >= NICKNAME_WAIT_MS) return (await asked) ?? '';
  return (await Promise.race([asked, runtime.clock.sleep(Math.max(wait_ms, 0))])) ?? '';
}
