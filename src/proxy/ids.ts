/** Ids that Puente makes: legacy ids (UUID v7), random bytes, and synthetic numbers where legacy had one and the orders API has none. */
import { randomFillSync } from 'node:crypto';
import type { Order } from '../contract/orders.ts';
import type { Link } from './sales/link.ts';

/** What one takes; the version and the variant overwrite six bits of it. */
export const RANDOM_BYTES = 10;

/**
 * A UUID version 7: time-ordered, so that the index stays dense, and a lower-case UUID as legacy ids are.
 * @param now epoch ms; @param random `RANDOM_BYTES` of them; of more the first are used.
 */
export function uuidV7(now: number, random: Uint8Array): string {
  // In two parts: the engine writes small integers in half the time.
  const high = Math.floor(now / LOW);
  const low = now - high * LOW;
  const at = (index: number): string => HEX[random[index] ?? 0] as string; // of every byte
  const version = HEX[((random[0] ?? 0) & 0x0f) | 0x70];
  const variant = HEX[((random[2] ?? 0) & 0x3f) | 0x80];
  const node = at(4) + at(5) + at(6) + at(7) + at(8) + at(9);
  return `${hex(high, 8)}-${hex(low, 4)}-${version}${at(1)}-${variant}${at(3)}-${node}`;
}

/** The time has 48 bits, of which 16 stand in a part of their own. */
const LOW = 0x1_00_00;

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** Every call has an id: from this list one is made in a third of the time that a buffer takes. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

// Random bytes for ids and nonces, which every call takes several of: asking the system for a few at a time costs
// more than they do.

const POOL_BYTES = 4_096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Bytes of the system's generator, each handed out once. For what is shown or stored beside what it protects, never for a
 * key: what was taken stays in memory until the pool is filled again.
 * @param count at most a pool, 4096.
 */
export function takeRandom(count: number): Uint8Array {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return pool.slice(used - count, used);
}

// Numbers that Puente mints where legacy had one and the orders API has none; real ones are far below (`docs/field-notes.md`
// QR finding 5).

/**
 * Minted merchant orders start here. Real numbers have eleven or twelve digits and grow by a few thousand million a
 * year; 16 digits still fit a 64-bit integer and a double exactly, which typed clients and JavaScript need.
 */
const FIRST_MERCHANT_ORDER_ID = 8_000_000_000_000_000;
/** Payments that the service gives no number stand so far below the merchant order of the same sale. */
const PAYMENT_OFFSET = 1_000_000_000_000_000;
/** 2026-01-01; ids count milliseconds from here, with room for a thousand in each, until 2057. */
const EPOCH_MS = 1_767_225_600_000;
const PER_MILLISECOND = 1_000;

/** A source of numbers that rise and never repeat in this process; another process is told apart by the unique index. */
export function createMint(): (now: number) => number {
  let last = 0;
  return (now) => {
    last = Math.max(last + 1, FIRST_MERCHANT_ORDER_ID + Math.max(0, now - EPOCH_MS) * PER_MILLISECOND);
    return last;
  };
}

/** True for a number that only Puente can have given out; real ones of 19 digits, which no double holds, are none. */
export function isMintedMerchantOrder(id: number): boolean {
  return id >= FIRST_MERCHANT_ORDER_ID && id <= Number.MAX_SAFE_INTEGER;
}

/** True for the number of a payment that only Puente can have given out: upstream has none under it. */
export function isMintedPayment(payment_id: string): boolean {
  return Number(payment_id) >= FIRST_MERCHANT_ORDER_ID - PAYMENT_OFFSET;
}

/** The merchant order of the sale whose payment was given this minted number; null for a real one. */
export function merchantOrderOfPayment(payment_id: string): number | null {
  return isMintedPayment(payment_id) ? Number(payment_id) + PAYMENT_OFFSET : null;
}

/** The number of a paid QR sale's payment when the service gives none that is numeric; null while there is no payment. */
export function mintedPaymentId(link: Link, order: Order): string | null {
  const paid = order.status === 'processed' || order.status === 'refunded';
  return paid && link.merchant_order_id !== null ? String(link.merchant_order_id - PAYMENT_OFFSET) : null;
}

/** Numbers of orders that are derived from a payment's number begin here: 18 digits, which a 64-bit integer holds. */
const FIRST_DERIVED_ORDER = 900_000_000_000_000_000n;
const LARGEST_INTEGER = 2n ** 63n - 1n;

/**
 * The number that a payment's `order` names, as text (`docs/field-notes.md` Point finding 13): the merchant order of a QR sale; of a
 * Point sale upstream's own, or one that follows from the payment's number, so that it is always the same.
 * @param real_id `order.id` of the real payment; undefined where there is none.
 */
export function orderNumberOf({ merchant_order_id, payment_id }: Link, real_id?: unknown): string {
  if (merchant_order_id !== null) return String(merchant_order_id);
  const said = String(real_id);
  if (/^\d{1,19}$/.test(said) && BigInt(said) <= LARGEST_INTEGER) return said;
  return String(FIRST_DERIVED_ORDER + BigInt(payment_id ?? 0));
}
