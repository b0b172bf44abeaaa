/** Makes the link of a sale: applies the request table once, chooses the reference, seals private data. */
import { hash } from 'node:crypto';
import { durationMs } from '../../contract/duration.ts';
import { ORDER_REFERENCE } from '../../contract/identifiers.ts';
import { isObject, stringifyJson } from '../../contract/json.ts';
import type { LegacyErrorName } from '../../contract/legacy-errors.ts';
import { PuenteError } from '../../error.ts';
import type { LinkFamily, Loss, MappingContext } from '../../mapping/tables.ts';
import { minorUnits } from '../../mapping/values.ts';
import { type Answered, type LegacyCall, merchantContext } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { type HeldFields, type Link, slotOf } from './link.ts';

/**
 * The link of a new sale, and the exact bytes of its order.
 * @param own_reference the till's own, not known to be used; null: derive one from the new link's id.
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
    legacy_state: sale.family === 'qr' ? 'payment_required' : 'OPEN',
    expires_at: now + (durationMs(order.expiration_time, now) ?? ports.settings.create.default_lifetime_ms),
  };
  return { link, body: bytes, losses: translated.losses };
}

/** A link without its sale, under a new idempotency key. */
export function blankLink(ports: Ports, now: number) {
  const { deadline_ms, attempt_timeout_ms } = ports.settings.create;
  return {
    lane: 'orders',
    idempotency_key: ports.memory.ids.idempotencyKey(),
    tables_revision: ports.tables.revision,
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
    known_by: null,
    // Recovery starts only when this call can't act any more.
    next_check_at: now + deadline_ms + attempt_timeout_ms,
    created_at: now,
    updated_at: now,
    revision: 1,
  } as const;
}

interface OrderBody {
  expiration_time?: string;
  total_amount?: string;
  transactions: { payments?: { amount: string }[] };
}

/** The whole amount in minor units: the total of a QR order, the one payment of a Point order. */
function amountOf(order: OrderBody, exponent: number): number {
  const minor = minorUnits(order.total_amount ?? order.transactions.payments?.[0]?.amount, exponent);
  if (minor === undefined) throw new PuenteError('bad_tables', 'the request table wrote no valid amount');
  return minor;
}

/** The till's reference if it fits and is not known to be used; `LinkStore.openLink` decides whether it is used. */
export function usableReference({ memory }: Ports, merchant_id: string, { client_reference }: Sale): string | null {
  if (client_reference === null || !fitsUpstream(client_reference)) return null;
  return memory.sales.spent.get(`${merchant_id} ${client_reference}`) === true ? null : client_reference;
}

/** Remembers a reference as used: a till with one reference for all sales then costs one refused insert only. */
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
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {}; // no body has a key that reaches a prototype (`contract/json.ts`)
  for (const key of Object.keys(value).sort()) copy[key] = sorted(value[key]);
  return copy;
}

// References upstream: the till's own when it fits and is new, else a derived one (`docs/architecture.md` Decision 5).

/** Prefix of derived references, by which a restored database recognises its own orders (`docs/protocol.md` §3.2). */
const PREFIX = 'pnt';

/** True when the till's reference, if unused, may be sent upstream unchanged. */
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

/** A new sale as the till requested it. */
export interface Sale {
  family: LinkFamily;
  unit: string;
  /** False for a dynamic QR: any number may be live at one point of sale. */
  holds_unit: boolean;
  client_reference: string | null;
  held: HeldFields;
  notice_url: string | null;
  /** Further context of the request table. */
  context: MappingContext;
  /** The error while another sale holds the unit or is in doubt. */
  busy_error: LegacyErrorName;
  /** Called when another live sale holds the unit: frees the unit (`freed`), or returns the refusal. */
  freeUnit(holder: Link, deadline: number): Promise<'freed' | Answered>;
  /** The answer for a created order whose link is committed. */
  created(link: Link): Answered;
}

// Disk space for new work: the last of it is reserved for sales in flight (`test/faults/README.md` F44, F45).

/** Called before new work is written. @throws PuenteError refused (`unavailable`) while the disk is low or full. */
export function needRoom(ports: Pick<Ports, 'store' | 'count'>): void {
  if (!hasRoom(ports)) throw noRoom(ports);
}

/** False while the disk is low or full. */
export function hasRoom({ store }: Pick<Ports, 'store'>): boolean {
  return store.upkeep.room().level === 'enough';
}

/** The refusal for a sale that finds no room on the disk; counts it. */
export function noRoom({ count }: Pick<Ports, 'count'>): PuenteError {
  count('creates', 'no_room');
  return new PuenteError('refused', 'The disk is nearly full: no new sale is opened until there is room again.', {
    facts: { error: 'unavailable' },
  });
}
