/** Finds out whether a legacy sale has ended, by a read or by time, so that its unit may have work on orders. */
import { z } from 'zod';
import { INTENT_ID } from '../../contract/identifiers.ts';
import { finalIntentStates, intentStates } from '../../contract/legacy-point.ts';
import { finalMerchantOrderStates } from '../../contract/merchant-orders.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { Ports } from '../ports.ts';
import { isNoPosOfOrders, lookUpPos, POS_LOOKUP_MS } from '../qr/point-of-sale.ts';
import { ANY_POINT_OF_SALE, LATE_EFFECT_MS, type LegacySale } from '../records/routing.ts';
import { slotOf } from '../sales/link.ts';
import { SHORTEST_READ_MS, type UpstreamCall, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import { isRefusedByNow, saveWhile } from './token-ownership.ts';

/** Sales checked per call; after a burst a slot may have more, for the next call. */
const LOOKED_AT = 4;

/**
 * True while legacy may have live work on a unit. In doubt it stays on legacy: a unit never has live work on both
 * lanes, and an unknown outcome is never tried on the other one (`docs/protocol.md` §3.10, `docs/architecture.md`
 * Decision 6).
 * @param deadline epoch ms at which the caller has to answer.
 */
export async function isHeldByLegacy(
  ports: Ports,
  merchant_id: string,
  slot: string,
  token: Secret,
  deadline: number,
): Promise<boolean> {
  if (ports.memory.unrecorded.holds(merchant_id, slot, ports.clock.now())) return true;
  for (let looked = 0; looked < LOOKED_AT; looked++) {
    const sale = await ports.store.legacy_sales.heldByLegacy(merchant_id, slot, ports.clock.now());
    if (sale === null) return false;
    if (!(await hasEnded(ports, sale, token, deadline))) return true;
  }
  return true;
}

/**
 * Reads from legacy whether the sale has ended, and stores it. At most one read in `reads.fresh_ms` per token, because
 * the answer to an invented token counts for no other. A create without a clear answer is not read, since it may still
 * take effect; it ends only when its token is refused. Nor does a 404 soon after legacy accepted the sale end it: a read
 * may lag behind the create, and no source says by how much.
 * @returns true also when `narrow` found the slot of the sale: the caller looks at its own slot anew.
 */
export async function hasEnded(ports: Ports, sale: LegacySale, token: Secret, deadline: number): Promise<boolean> {
  const { clock, settings } = ports;
  if (sale.ends_at <= clock.now() || sale.state === 'ENDED' || sale.state === 'REFUSED') return true;
  const left_ms = deadline - clock.now();
  if (left_ms < SHORTEST_READ_MS) return false;
  if (sale.slot === ANY_POINT_OF_SALE && (await narrow(ports, sale, token))) return true;
  if (sale.state !== 'OPEN') return isRefusedByNow(ports, sale);
  const question = questionOf(sale);
  if (question === null) return false;
  const end = await ports.memory.cache.get(
    `legacy sale ${sale.id} ${ports.vault.fingerprint(token)}`,
    clock.now(),
    settings.reads.fresh_ms,
    async () => {
      const timeout_ms = Math.min(settings.reads.timeout_ms, left_ms);
      const outcome = await ports.upstreams.legacy.send({ ...question.call, method: 'GET', token, timeout_ms });
      return question.endIn(outcome);
    },
  );
  if (end === null || (end === 'not_found' && sale.updated_at + LATE_EFFECT_MS > clock.now())) return false;
  const end_state = end === 'not_found' ? {} : { end_state: end };
  await ports.store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED', ...end_state });
  ports.count('legacy_sales', 'ended');
  return true;
}

/** `over`: it changed meanwhile. `refused`: the token. `unanswered`: no answer, or one that asks for fewer calls. */
export type FinalState = 'ended' | 'over' | 'open' | 'refused' | 'unanswered';

/** True while a read of legacy can show a final state of the sale. */
export function mayShowFinalState({ state, family, legacy_id, merchant_id }: LegacySale): boolean {
  return state === 'OPEN' && legacy_id !== null && (family === 'point' || isPreference(merchant_id, legacy_id));
}

/**
 * Ends a sale by a final state that legacy shows, and by nothing else, for a caller whose token may be of another
 * application than the till's: a sale that such a token does not see is not over.
 */
export async function endByFinalState(ports: Ports, earlier: LegacySale, token: Secret): Promise<FinalState> {
  const { legacy_sales } = ports.store;
  const sale = await legacy_sales.legacySale(earlier.legacy_id ?? '');
  if (sale?.id !== earlier.id || !mayShowFinalState(sale)) return 'over';
  const question = questionOf(sale);
  if (question === null) return 'open';
  const { timeout_ms } = ports.settings.reads;
  const outcome = await ports.upstreams.legacy.send({ ...question.call, method: 'GET', token, timeout_ms });
  if (outcome.kind !== 'answered' || outcome.status === 429 || outcome.status >= 500) return 'unanswered';
  if (outcome.status === 401) return 'refused';
  const end_state = outcome.status === 200 ? question.endIn(outcome) : null;
  // A buyer may leave a merchant order to expire and pay by another one of the same preference.
  if (end_state === null || end_state === 'expired') return 'open';
  if (!(await saveWhile(ports, sale.id, { state: 'ENDED', end_state, only_while: 'OPEN' }))) return 'over';
  ports.count('legacy_sales', 'ended');
  return 'ended';
}

interface Question {
  call: Pick<UpstreamCall, 'name' | 'path' | 'query'>;
  /** Legacy's final state; `not_found`: legacy does not show the sale; null: not known to have ended. */
  endIn(outcome: UpstreamOutcome): string | null;
}

/** True when a read of legacy shows any end of the sale; for v1 sales it shows payment only. */
function hasEnd({ family, legacy_id, merchant_id, slot }: LegacySale): boolean {
  if (family === 'point') return legacy_id !== null;
  return slot !== null && !isPreference(merchant_id, legacy_id);
}

/** Null when legacy has no read that shows the end. */
function questionOf(sale: LegacySale): Question | null {
  const { family, work, legacy_id, merchant_id, unit } = sale;
  if (family === 'point') return legacy_id === null ? null : aboutIntent(legacy_id, work);
  if (legacy_id !== null && isPreference(merchant_id, legacy_id)) return aboutPreference(legacy_id);
  return aboutTill(merchant_id, unit);
}

const intentAnswer = z.object({ state: z.enum(intentStates) });

/** Ended: a final state, or an intent that legacy does not know (`docs/field-notes.md` Point §1.4, §1.8, §2). */
function aboutIntent(legacy_id: string, work: LegacySale['work']): Question {
  const kind = work === 'refund' ? 'refund' : 'payment-intents';
  return {
    call: { name: 'legacy_intent', path: `/point/integration-api/${kind}/${legacy_id}` },
    endIn(outcome) {
      if (outcome.kind !== 'answered') return null;
      if (outcome.status !== 200) return isNotFound(outcome) ? 'not_found' : null;
      const intent = intentAnswer.safeParse(outcome.body);
      return intent.success && finalIntentStates.includes(intent.data.state) ? intent.data.state : null;
    },
  };
}

/** The sale that a point of sale shows; 404 once it is paid, removed or expired (`docs/field-notes.md` QR §1.2). */
function aboutTill(merchant_id: string, unit: string): Question {
  return {
    call: { name: 'legacy_till', path: `/instore/qr/seller/collectors/${merchant_id}/pos/${unit}/orders` },
    endIn: (outcome) => (isNotFound(outcome) ? 'not_found' : null),
  };
}

const preferenceOrders = z.object({
  elements: z.array(z.looseObject({ preference_id: z.string(), order_status: z.string() })).nullable(),
});

/**
 * A v1 sale is searched by its merchant orders, because no source shows that the read of v2 finds it. Ended when all of
 * them are final; without one it is not known, since the payment makes one at the latest (`docs/field-notes.md` QR
 * finding 11, §2).
 */
function aboutPreference(preference_id: string): Question {
  return {
    call: { name: 'merchant_order_search', path: '/merchant_orders/search', query: { preference_id } },
    endIn(outcome) {
      if (outcome.kind !== 'answered' || outcome.status !== 200) return null;
      const found = preferenceOrders.safeParse(outcome.body);
      const orders = found.success ? (found.data.elements ?? []) : [];
      // An API that ignores the filter returns every merchant order, which proves nothing.
      if (orders.length === 0 || orders.some((order) => order.preference_id !== preference_id)) return null;
      if (!orders.every(({ order_status }) => finalMerchantOrderStates.some((state) => state === order_status)))
        return null;
      // A buyer may leave one merchant order to expire and pay by another.
      return (orders.find(({ order_status }) => order_status !== 'expired') ?? orders[0])?.order_status ?? null;
    },
  };
}

/** A 404 with legacy's error body; a 404 of a server in between proves nothing. */
function isNotFound(outcome: UpstreamOutcome): boolean {
  if (outcome.kind !== 'answered' || outcome.status !== 404) return false;
  const { body } = outcome;
  return body !== null && typeof body === 'object' && ('error' in body || 'code' in body);
}

/** True for the id of a v1 sale: `<collector>-<uuid>` (`docs/field-notes.md` QR §1.1, answer). */
export function isPreference(merchant_id: string, id: unknown): id is string {
  return typeof id === 'string' && id.startsWith(`${merchant_id}-`) && INTENT_ID.test(id.slice(merchant_id.length + 1));
}

// Finds the point of sale of a sale that was proxied by a number without a lookup.

/**
 * Replaces `ANY_POINT_OF_SALE` by the slot of the sale, or by none when orders can't have its point of sale.
 * @param token accepted as the merchant's, by orders or by legacy. @returns false while the lookup gives no result.
 */
export async function narrow(ports: Ports, sale: LegacySale, token: Secret): Promise<boolean> {
  const lookup = await lookUpPos(ports, sale.merchant_id, token, sale.unit, POS_LOOKUP_MS);
  if (lookup.kind === 'known') {
    const { external_pos_id } = lookup;
    await ports.store.legacy_sales.saveLegacySale(sale.id, {
      unit: external_pos_id,
      slot: slotOf('qr', external_pos_id),
    });
    return true;
  }
  if (!isNoPosOfOrders(lookup)) return false;
  await ports.store.legacy_sales.saveLegacySale(sale.id, { slot: null });
  return true;
}

// How long a legacy sale holds its unit when no call shows its end.

/** `X-Ttl-Store-Preference` (`docs/field-notes.md` QR §1.1). */
const TTL_SECONDS = /^[1-9]\d{0,8}$/;
/** Lifetime of v1 sales whose till sets none (`docs/field-notes.md` QR §1.1). */
const V1_LIFETIME_MS = 600_000;
/** The longest lifetime accepted from an unproven token: longer than a shop is open. */
const UNPROVEN_LIFETIME_MS = 24 * 3_600_000;
/** A sale is read at most this long: nobody pays it later, and a legacy switched off must not hold units for ever. */
const ASKED_ABOUT_FOR_MS = 30 * 86_400_000;

type CallOfSale = Pick<ProxiedCreate, 'body' | 'headers' | 'operation'>;

/** The later of `routing.legacy_hold_ms` and the lifetime that the till sets. @returns epoch ms. */
export function holdsUntil(ports: Ports, call: CallOfSale, is_proven: boolean): number {
  const now = ports.clock.now();
  const lives_until = livesUntil(call, now);
  const believed = is_proven ? lives_until : Math.min(lives_until, now + UNPROVEN_LIFETIME_MS);
  return Math.max(now + ports.settings.routing.legacy_hold_ms, believed);
}

/** The same for a sale that legacy accepted; longer when a read of legacy shows its end. */
export function holdsWhileOpen(ports: Ports, call: CallOfSale, sale: LegacySale): number {
  const held_until = holdsUntil(ports, call, true);
  return hasEnd(sale) ? Math.max(held_until, ports.clock.now() + ASKED_ABOUT_FOR_MS) : held_until;
}

/** By the header, the body or the default of v1; now without any of them. @returns epoch ms. */
function livesUntil({ body, headers, operation }: CallOfSale, now: number): number {
  const { expiration_date } = (body ?? {}) as { expiration_date?: unknown }; // any JSON value but null
  const date = Date.parse(String(expiration_date)); // NaN without one
  const ttl_s = headers['x-ttl-store-preference'] ?? '';
  const ttl_ms = TTL_SECONDS.test(ttl_s) ? Number(ttl_s) * 1_000 : null;
  const usual_ms = operation.family === 'qr_v1' ? V1_LIFETIME_MS : 0;
  return Math.max(Number.isNaN(date) ? 0 : date, now + (ttl_ms ?? usual_ms));
}

/** A proxied call. */
export interface ProxiedCall {
  /** Claimed by the token or remembered, maybe not verified; null when unknown. */
  merchant_id: string | null;
  operation: Operation;
  path: Readonly<Record<string, string>>;
  token: Secret;
}

/** A create that is about to be proxied. */
export interface ProxiedCreate extends ProxiedCall {
  /** Parsed JSON; null when missing or unreadable. */
  body: unknown;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  /** The orders API refused the token: nothing is recorded unless legacy accepts it. */
  is_token_refused: boolean;
}

/** More tries of one dynamic sale than a till makes before a person looks. */
const TRIES_AT_MOST = 20;

/** Dynamic codes requested from legacy, of this unit and reference, whose outcome is not known yet. */
export async function legacyDoubts(
  ports: Ports,
  merchant_id: string,
  unit: string,
  client_reference: string | null,
): Promise<LegacySale[]> {
  if (client_reference === null) return [];
  const sales = await ports.store.legacy_sales.legacySalesByReference(merchant_id, client_reference, TRIES_AT_MOST);
  const now = ports.clock.now();
  return sales.filter((sale) => {
    const doubtful = sale.state === 'SENDING' || sale.state === 'IN_DOUBT';
    return doubtful && sale.slot === null && sale.unit === unit && sale.ends_at > now;
  });
}
