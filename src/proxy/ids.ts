/** Makes legacy ids (UUID v7), and synthetic numbers for legacy numbers that the orders API lacks. */
import { randomUUID } from 'node:crypto';
import type { Order } from '../contract/orders.ts';
import type { Link } from './sales/link.ts';

/** A lower-case UUID v7, time-ordered for a dense index. Node keeps random bytes of v4 in store; a request for 16 costs ten times as much. @param now epoch ms. */
export function uuidV7(now: number): string {
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

// Synthetic numbers, where the orders API lacks one; real ones are far below (`docs/field-notes.md` QR finding 5).

/**
 * The first synthetic merchant order. Real numbers have 11 or 12 digits and grow by a few thousand million a year; 16
 * digits fit a 64-bit integer and a double exactly, as typed clients and JavaScript need.
 */
const FIRST_MERCHANT_ORDER_ID = 8_000_000_000_000_000;
/** A synthetic payment number is the sale's merchant order minus this. */
const PAYMENT_OFFSET = 1_000_000_000_000_000;
/** 2026-01-01: synthetic numbers count milliseconds from here, a thousand in each, until 2057. */
const EPOCH_MS = 1_767_225_600_000;
const PER_MILLISECOND = 1_000;

/** Makes numbers that rise and never repeat in this process; between processes the unique index decides. */
export function createSyntheticNumbers(): (now: number) => number {
  let last = 0;
  return (now) => {
    last = Math.max(last + 1, FIRST_MERCHANT_ORDER_ID + Math.max(0, now - EPOCH_MS) * PER_MILLISECOND);
    return last;
  };
}

/** True for a synthetic number; false for real ones of 19 digits, which a double can't hold. */
export function isSyntheticMerchantOrder(id: number): boolean {
  return id >= FIRST_MERCHANT_ORDER_ID && id <= Number.MAX_SAFE_INTEGER;
}

/** True for a number that Puente made for a payment without one. @param payment_id digits. */
export function isSyntheticPayment(payment_id: string): boolean {
  return Number(payment_id) >= FIRST_MERCHANT_ORDER_ID - PAYMENT_OFFSET;
}

/** The merchant order of the sale with this synthetic payment number; null for a real one. */
export function merchantOrderOfPayment(payment_id: string): number | null {
  return isSyntheticPayment(payment_id) ? Number(payment_id) + PAYMENT_OFFSET : null;
}

/** The payment number of a paid QR sale to which upstream gave no numeric one; null without a payment. */
export function syntheticPaymentId(link: Link, order: Order): string | null {
  const paid = order.status === 'processed' || order.status === 'refunded';
  return paid && link.merchant_order_id !== null ? String(link.merchant_order_id - PAYMENT_OFFSET) : null;
}

/** Order numbers derived from a payment number begin here: 18 digits, which a 64-bit integer holds. */
const FIRST_DERIVED_ORDER = 900_000_000_000_000_000n;
const LARGEST_INTEGER = 2n ** 63n - 1n;

/**
 * The number in a payment's `order`, as text (`docs/field-notes.md` Point finding 13). QR: the merchant order. Point:
 * upstream's own, else one derived from the payment number, so that it is always the same.
 * @param real_id `order.id` of the real payment; undefined without one.
 */
export function orderNumberOf({ merchant_order_id, payment_id }: Link, real_id?: unknown): string {
  if (merchant_order_id !== null) return String(merchant_order_id);
  const text = String(real_id);
  if (/^\d{1,19}$/.test(text) && BigInt(text) <= LARGEST_INTEGER) return text;
  return String(FIRST_DERIVED_ORDER + BigInt(payment_id ?? 0));
}
