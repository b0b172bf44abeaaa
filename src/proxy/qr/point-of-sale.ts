/** The till of a call by its external id, looked up upstream by its number if needed (`docs/field-notes.md` QR §4). */

import { z } from 'zod';
import { EXTERNAL_ID, USER_ID } from '../../contract/identifiers.ts';
import type { Family, LegacyErrorName } from '../../contract/legacy-errors.ts';
import { type ExchangeDraft, markLimitation } from '../evidence/exchange.ts';
import { type Answered, type LegacyCall, refused } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { distrust } from '../routing/merchant-identity.ts';
import type { Secret } from '../vault.ts';

type PointOfSale = { kind: 'known'; external_pos_id: string } | { kind: 'refused'; answer: Answered };

/** Looks up an internal number. Refuses the path of another seller, as legacy did. */
export async function pointOfSaleOf(ports: Ports, call: LegacyCall): Promise<PointOfSale> {
  const { family } = call.operation;
  const { user_id, external_pos_id, pos_id } = call.path;
  if (user_id !== undefined && !USER_ID.test(user_id)) return refuse(refused(family, 'invalid_collector'));
  if (user_id !== undefined && user_id !== call.merchant.id) return refuse(refused(family, 'foreign_collector'));
  if (external_pos_id !== undefined) return named(ports, family, external_pos_id);
  const lookup = await lookUpPos(ports, call.merchant.id, call.token, pos_id ?? '');
  if (lookup.kind === 'known') return lookup;
  if (lookup.error === 'pos_without_external_id') markLimitation(ports.exchange, 'LIM-24');
  return refuse(refused(family, lookup.error));
}

/** v1 has one answer for every missing till; v2 has a code for an invalid id. */
function named(ports: Ports, family: Family, external_pos_id: string): PointOfSale {
  if (EXTERNAL_ID.test(external_pos_id)) return { kind: 'known', external_pos_id };
  markLimitation(ports.exchange, 'LIM-24');
  if (family === 'qr_v1') return refuse(refused(family, 'pos_not_found'));
  return refuse(refused(family, 'invalid_property', 'external_pos_id'));
}

function refuse(answer: Answered): PointOfSale {
  return { kind: 'refused', answer };
}

/** Answer of `GET /pos/{id}`. */
const pointOfSale = z.looseObject({ external_id: z.string().nullish() });

type PosLookup = { kind: 'known'; external_pos_id: string } | { kind: 'failed'; error: LegacyErrorName };

/** For a create that may be proxied: a till gives up after about ten seconds, and legacy needs no lookup. */
export const POS_LOOKUP_MS = 1_000;

/** Lookups of a call, each made once, even if the lane is chosen again. */
const lookups = new WeakMap<ExchangeDraft, Map<string, PosLookup>>();

/**
 * The external id of an internal number, cached for `reads.pos_fresh_ms`; a failure is cached for its call only.
 * Concurrent calls share a lookup only with the same token, because an invented token fails.
 * @param token accepted as the merchant's.
 */
export async function lookUpPos(
  ports: Ports,
  merchant_id: string,
  token: Secret,
  pos_id: string,
  timeout_ms = ports.settings.reads.timeout_ms,
): Promise<PosLookup> {
  const before = await peekPos(ports, merchant_id, pos_id);
  if (before !== null) return before;
  const key = keyOf(merchant_id, pos_id);
  const { pos_fresh_ms } = ports.settings.reads;
  const lookup = await ports.memory.cache.get(
    `${key} ${ports.vault.fingerprint(token)}`,
    ports.clock.now(),
    pos_fresh_ms,
    () => requestPos(ports, token, pos_id, timeout_ms),
    () => false,
  );
  // Upstream has accepted one of the merchant's tokens, so the number is the merchant's.
  if (lookup.kind === 'known') await ports.memory.cache.get(key, ports.clock.now(), pos_fresh_ms, async () => lookup);
  const draft = ports.exchange;
  if (draft !== null) lookups.set(draft, (lookups.get(draft) ?? new Map()).set(key, lookup));
  return lookup;
}

/** Reads the cache only; makes no network call. */
export async function peekPos(ports: Ports, merchant_id: string, pos_id: string): Promise<PosLookup | null> {
  if (!USER_ID.test(pos_id)) return { kind: 'failed', error: 'pos_not_found' };
  const key = keyOf(merchant_id, pos_id);
  const { clock, settings } = ports;
  const known = await ports.memory.cache.peek<PosLookup>(key, clock.now(), settings.reads.pos_fresh_ms);
  const draft = ports.exchange;
  return known ?? (draft === null ? null : (lookups.get(draft)?.get(key) ?? null));
}

/** True for a number that no point of sale of orders can have. */
export function isNoPosOfOrders(lookup: PosLookup): boolean {
  return lookup.kind === 'failed' && (lookup.error === 'pos_not_found' || lookup.error === 'pos_without_external_id');
}

function keyOf(merchant_id: string, pos_id: string): string {
  return `pos ${merchant_id} ${pos_id}`;
}

async function requestPos(ports: Ports, token: Secret, pos_id: string, timeout_ms: number): Promise<PosLookup> {
  const outcome = await ports.upstreams.orders.send({
    name: 'pos',
    method: 'GET',
    path: `/pos/${pos_id}`,
    token,
    timeout_ms,
  });
  if (outcome.kind !== 'answered') return { kind: 'failed', error: 'unavailable' };
  if (outcome.status === 401) {
    await distrust(ports, token);
    return { kind: 'failed', error: 'unauthorized' };
  }
  if (outcome.status === 404 || outcome.status === 403) return { kind: 'failed', error: 'pos_not_found' };
  if (outcome.status === 429) return { kind: 'failed', error: 'too_many_requests' };
  const found = outcome.status === 200 ? pointOfSale.safeParse(outcome.body) : null;
  if (!found?.success) return { kind: 'failed', error: 'unavailable' };
  const { external_id } = found.data;
  // The orders API identifies a point of sale by its external id only (LIM-24).
  if (!external_id || !EXTERNAL_ID.test(external_id)) return { kind: 'failed', error: 'pos_without_external_id' };
  return { kind: 'known', external_pos_id: external_id };
}
