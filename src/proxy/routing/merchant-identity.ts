/** The merchant of a token, known only once upstream has accepted the token (`docs/glossary.md` Merchant). */
import { z } from 'zod';
import { USER_ID } from '../../contract/identifiers.ts';
import type { CommonErrorName } from '../../contract/legacy-errors.ts';
import { userMe } from '../../contract/upstream.ts';
import { tickOf } from '../clock.ts';
import type { Ports } from '../ports.ts';
import { Secret } from '../vault.ts';
import type { AcceptedToken, Merchant, MerchantWithToken } from './merchant.ts';

type Identity =
  | { kind: 'accepted'; merchant: Merchant; fingerprint: string }
  | { kind: 'refused'; error: CommonErrorName };

/**
 * The merchant of a token. An accepted fingerprint is cached until it expires; otherwise one `GET /users/me` verifies
 * the token, whatever it claims, so that an invented token with a merchant's id gets nothing. While upstream can't be
 * reached, a token accepted before stays good: upstream judges it on the call itself.
 * @param stored the claimed merchant, when it was just read with the token.
 */
export async function identify(
  ports: Ports,
  token: Secret,
  stored: MerchantWithToken | null = null,
): Promise<Identity> {
  const fingerprint = ports.vault.fingerprint(token);
  if (stored !== null && stored.accepted_until !== null && stored.accepted_until > ports.clock.now())
    return { kind: 'accepted', merchant: stored.merchant, fingerprint };
  const known = await acceptedMerchant(ports, fingerprint, ports.clock.now());
  if (known !== null) return { kind: 'accepted', merchant: known, fingerprint };
  const for_payment = await isPaymentOfKnown(ports, fingerprint);
  // Payments have their own key: they do not wait behind a read of the same till.
  return ports.memory.mutex.run(`token${for_payment ? ' for payment' : ''}:${fingerprint}`, async () => {
    const meanwhile = await acceptedMerchant(ports, fingerprint, ports.clock.now());
    if (meanwhile !== null) return { kind: 'accepted', merchant: meanwhile, fingerprint };
    return requestIdentity(ports, token, fingerprint, for_payment);
  });
}

/** True for a payment with a token accepted before; invented tokens must not get priority. */
async function isPaymentOfKnown(ports: Ports, fingerprint: string): Promise<boolean> {
  return ports.exchange?.is_payment === true && (await ports.store.merchants.token(fingerprint)) !== null;
}

/** The user id that a token claims: its last segment (`APP_USR-…-<user id>`). Chooses a lane, proves nothing. */
export function claimedMerchant(token: Secret): string | null {
  const last = token.reveal().split('-').at(-1) ?? '';
  return token.reveal().includes('-') && USER_ID.test(last) ? last : null;
}

/** The last owner of a token, however long ago upstream accepted it; for choosing a lane only. */
export async function rememberedMerchant(ports: Ports, token: Secret): Promise<string | null> {
  const known = await ports.store.merchants.token(ports.vault.fingerprint(token));
  return known?.merchant_id ?? null;
}

/** After a 401: verified again on its next call, but kept for events and recovery, because one 401 may be wrong. */
export async function distrust(ports: Ports, token: Secret): Promise<void> {
  const known = await ports.store.merchants.token(ports.vault.fingerprint(token));
  if (known !== null && known.accepted_until > 0)
    await ports.store.merchants.acceptToken({ ...known, accepted_until: 0 }, null);
}

/** Token for work after a call: the configured one, else the last seen; or null (`docs/architecture.md` Decision 9). */
export async function credentialOf(ports: Ports, merchant_id: string): Promise<Secret | null> {
  const merchant = await ports.store.merchants.merchant(merchant_id);
  if (merchant?.sealed_credential) {
    return new Secret(ports.vault.open(merchant.sealed_credential, 'credential').toString('utf8'));
  }
  const token = await ports.store.merchants.latestToken(merchant_id);
  if (token === null || tokenAge(ports, token) > ports.settings.tokens.kept_for_ms) return null;
  // Retention goes by the stored date alone.
  if (token.sealed_token.length === 0) return null;
  return new Secret(ports.vault.open(token.sealed_token, 'token').toString('utf8'));
}

/**
 * For how many ms a token has been known, by the wall or the monotonic clock, whichever is smaller: one that was stored
 * while the clock was slow is no old one when it is put right (`test/faults/README.md` F47).
 */
export function tokenAge(
  { clock, memory }: Pick<Ports, 'clock' | 'memory'>,
  { fingerprint, seen_at }: Pick<AcceptedToken, 'fingerprint' | 'seen_at'>,
): number {
  const wall_ms = clock.now() - seen_at;
  const accepted_at = memory.tokens.accepted.get(fingerprint);
  return accepted_at === undefined ? wall_ms : Math.min(wall_ms, tickOf(clock) - accepted_at);
}

async function acceptedMerchant(ports: Ports, fingerprint: string, at: number): Promise<Merchant | null> {
  const token = await ports.store.merchants.token(fingerprint);
  if (token === null || token.accepted_until <= at) return null;
  return await ports.store.merchants.merchant(token.merchant_id);
}

async function requestIdentity(
  ports: Ports,
  token: Secret,
  fingerprint: string,
  for_payment: boolean,
): Promise<Identity> {
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
  ports.memory.tokens.accepted.set(fingerprint, tickOf(ports.clock));
  const merchant = await ports.store.merchants.merchant(user.id);
  if (merchant === null) return { kind: 'refused', error: 'unavailable' };
  return { kind: 'accepted', merchant, fingerprint };
}

/** The seller's public name. */
const account = z.looseObject({ nickname: z.string().default('') });

/** Longest wait for the name, which no payment needs. */
const NICKNAME_WAIT_MS = 1_000;
/** A failed read is repeated after this time, not at every poll. */
const FAILURE_KEPT_MS = 60_000;

/** Empty when the name can't be read. Cached as long as points of sale; waits for half of the call's time at most. */
export async function nicknameOf(
  ports: Ports,
  call: { merchant: Pick<Merchant, 'id'>; token: Secret; received_at: number },
): Promise<string> {
  const { reads, create } = ports.settings;
  const now = ports.clock.now();
  const request = async (): Promise<string | null> => {
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
  const answer = ports.memory.cache.get(key, now, reads.pos_fresh_ms, request, (one) =>
    one === null ? FAILURE_KEPT_MS : true,
  );
  const wait_ms = (call.received_at + create.deadline_ms - now) / 2;
  if (wait_ms >= NICKNAME_WAIT_MS) return (await answer) ?? '';
  return (await Promise.race([answer, ports.clock.sleep(Math.max(wait_ms, 0))])) ?? '';
}
