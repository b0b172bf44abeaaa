/** From a sale to its link: applies the request table once, chooses the reference, seals what may be private. */
import { hash } from 'node:crypto';
import { durationMs } from '../../contract/duration.ts';
import { ORDER_REFERENCE } from '../../contract/identifiers.ts';
import { stringifyJson } from '../../contract/json.ts';
import type { LegacyErrorName } from '../../contract/legacy-errors.ts';
import { PuenteError } from '../../error.ts';
import type { LinkFamily, Loss, MappingContext } from '../../mapping/tables.ts';
import { minorUnits } from '../../mapping/values.ts';
import { type Answered, type LegacyCall, merchantContext } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { type HeldFields, type Link, slotOf } from './link.ts';

/**
 * The link of a new sale, and the exact bytes of its order.
 * @param own_reference the client's own reference, not known to be used; null: derive one from the new link's id.
 * @throws PuenteError refused, for a request that the tables refuse.
 */
export function newLink(
  ports: Ports,
  call: LegacyCall,
  sale: Sale,
  own_reference: string | null,
): { link: Link; body: Uint8Array; losses: Loss[] } {
  const now = ports.clock.now();
  const legacy_id = ports.memory.ids.legacyId(now);
  const reference = own_reference ?? derivedReference(legacy_id);
  const context = { ...merchantContext(ports, call.merchant), ...sale.context, reference };
  const translated = ports.tables.request(
    call.operation,
    { path: call.path, query: call.query, headers: call.headers, body: call.body },
    context,
  );
  const order = translated.value.body as OrderBody; // the target schema has just been checked
  const bytes = Buffer.from(stringifyJson(order), 'utf8');
  const client_key = call.headers['x-idempotency-key'];
  const { vault } = ports;
  const link: Link = {
    ...blankLink(ports, now),
    legacy_id,
    merchant_id: call.merchant.id,
    family: sale.family,
    unit: sale.unit,
    slot: sale.holds_unit ? slotOf(sale.family, sale.unit) : null,
    client_key: client_key === undefined ? null : vault.keyed('client-key', client_key),
    fingerprint: fingerprintOf(call),
    reference_sent: reference,
    client_reference: sale.client_reference,
    held: sale.held,
    amount_minor: amountOf(order, ports.tables.site(call.merchant.site).exponent),
    merchant_order_id: sale.family === 'qr' ? ports.memory.ids.number(now) : null,
    sealed_notice_url: sale.notice_url === null ? null : vault.seal(sale.notice_url, 'notice-url'),
    sealed_body: vault.seal(bytes, 'body'),
    tables_revision: ports.tables.revision,
    legacy_state: sale.family === 'qr' ? 'payment_required' : 'OPEN',
    expires_at: now + (durationMs(order.expiration_time, now) ?? ports.settings.create.default_lifetime_ms),
  };
  return { link, body: bytes, losses: translated.losses };
}

/** What every new link begins with. */
function blankLink(ports: Ports, now: number) {
  const { deadline_ms, attempt_timeout_ms } = ports.settings.create;
  return {
    lane: 'orders',
    idempotency_key: ports.memory.ids.idempotencyKey(),
    state: 'SENDING',
    attempts: 0,
    first_sent_at: now,
    boot_id: ports.memory.ids.boot,
    client_answer: 'none',
    order_id: null,
    order: null,
    order_version: null,
    payment_id: null,
    legacy_state_at: now,
    cancel: null,
    acknowledged_at: null,
    heard_by: null,
    // Recovery takes over only when this call can't act any more.
    next_check_at: now + deadline_ms + attempt_timeout_ms,
    created_at: now,
    updated_at: now,
    revision: 1,
  } as const;
}

/** The fields of the order that the protocol reads. */
interface OrderBody {
  expiration_time?: string;
  total_amount?: string;
  transactions: { payments?: { amount: string }[] };
}

/** The whole amount in minor units: the total of a QR order, the one payment of a Point order. */
function amountOf(order: OrderBody, exponent: number): number {
  const minor = minorUnits(order.total_amount ?? order.transactions.payments?.[0]?.amount, exponent);
  if (minor === undefined) throw new PuenteError('bad_tables', 'the request table wrote an amount that is none');
  return minor;
}

/**
 * The client's reference when it fits the rules of orders and this process has not found it used; null otherwise. The insert of
 * the row is what decides whether it is used (`LinkStore.openLink`).
 */
export function usableReference({ memory }: Ports, merchant_id: string, { client_reference }: Sale): string | null {
  if (client_reference === null || !fitsUpstream(client_reference)) return null;
  return memory.sales.spent.get(`${merchant_id} ${client_reference}`) === true ? null : client_reference;
}

/** Remembers a reference as used, so that a till that gives all its sales one reference pays for a refused row once. */
export function spend({ memory }: Ports, merchant_id: string, reference: string): void {
  memory.sales.spent.set(`${merchant_id} ${reference}`, true);
}

/** Method, path and canonical body: what makes two calls the same request (`docs/field-notes.md` Point finding 11). */
export function fingerprintOf(call: LegacyCall): string {
  const text = `${call.operation.method} ${call.target} ${stringifyJson(sorted(call.body))}`;
  return hash('sha256', text, 'base64url');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy: Record<string, unknown> = {}; // no body has a key that reaches a prototype (`contract/json.ts`)
  for (const key of Object.keys(value).sort()) copy[key] = sorted((value as typeof copy)[key]);
  return copy;
}

// References upstream: the client's own when it fits and is new, a derived one otherwise (`docs/architecture.md` Decision 5).

/** Prefix of derived references, by which a restored database recognises its own orders (`docs/protocol.md` §3.2). */
const PREFIX = 'pnt';

/** True when the client's reference may be sent upstream unchanged, if it is unused. */
export function fitsUpstream(reference: string): boolean {
  return ORDER_REFERENCE.test(reference);
}

/** The legacy id that a reference was derived from; null for any other reference. */
export function legacyIdOf(reference: string): string | null {
  const hex = /^pnt([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(reference);
  return hex === null ? null : hex.slice(1).join('-');
}

/** 35 characters of `[A-Za-z0-9]`, unique because the legacy id is. */
export function derivedReference(legacy_id: string): string {
  return PREFIX + legacy_id.replaceAll('-', '');
}

export interface Sale {
  family: LinkFamily;
  unit: string;
  /** False for a dynamic QR: any number of them may be live on one till. */
  holds_unit: boolean;
  /** The client's own reference; null when it gave none. */
  client_reference: string | null;
  held: HeldFields;
  notice_url: string | null;
  /** Further context of the request table. */
  context: MappingContext;
  /** The error when the sale before this one is in doubt, or is in the way. */
  busy_error: LegacyErrorName;
  /** A live sale is on the unit, and this is no retry of it: make room (`freed`), or return the refusal. */
  makeRoom(holder: Link, deadline: number): Promise<'freed' | Answered>;
  /** The answer for a created order whose link is committed. */
  created(link: Link): Answered;
}

// Room on disk for new work: a disk that is nearly full is kept for sales in flight (`test/faults/README.md` F44, F45).

/**
 * Called before the row of new work is written.
 * @throws PuenteError refused, answered as `unavailable`, while the disk is low or full.
 */
export function needRoom(ports: Pick<Ports, 'store' | 'count'>): void {
  if (!hasRoom(ports)) throw noRoom(ports);
}

export function hasRoom({ store }: Pick<Ports, 'store'>): boolean {
  return store.upkeep.room().level === 'enough';
}

/** Counted, and answered as `unavailable`. */
export function noRoom({ count }: Pick<Ports, 'count'>): PuenteError {
  count('creates', 'no_room');
  return new PuenteError('refused', 'The disk is nearly full: no new sale is opened until there is room again.', {
    facts: { error: 'unavailable' },
  });
}
