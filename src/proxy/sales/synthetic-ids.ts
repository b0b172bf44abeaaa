/** Numbers that Puente mints where legacy had one and the orders API has none; real ones are far below (`legacy-qr.md` §0 row 5). */
import type { Order } from '../../contract/orders.ts';
import type { Link } from './link.ts';

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
 * The number that a payment's `order` names, as text (`legacy-point.md` finding 13): the merchant order of a QR sale; of a
 * Point sale upstream's own, or one that follows from the payment's number, so that it is always the same.
 * @param real_id `order.id` of the real payment; undefined where there is none.
 */
export function orderNumberOf({ merchant_order_id, payment_id }: Link, real_id?: unknown): string {
  if (merchant_order_id !== null) return String(merchant_order_id);
  const said = String(real_id);
  if (/^\d{1,19}$/.test(said) && BigInt(said) <= LARGEST_INTEGER) return said;
  return String(FIRST_DERIVED_ORDER + BigInt(payment_id ?? 0));
}
