/** The limits of items in a QR order, and what becomes of a sale that has more than ten (`orders-api.md` §1.2). */
import { decimalText, minorUnits } from '../amount.ts';
import { type Converted, cutText, NOTHING } from './converter.ts';

/** Longest title and longest description (`interface.md`, Order). */
export const MAX_TITLE = 150;
/** Longest measure (`interface.md`, Order). */
export const MAX_MEASURE = 10;
/** Longest code (`orders-api.md` §1.2). */
export const MAX_CODE = 30;
/** Most items of an order (`orders-api.md` §1.2). */
const MAX_ITEMS = 10;

/** An item as this table writes it. */
interface OrderItem {
  title: string;
  unit_price: string;
  quantity: number;
}

/** Never refuses a sale for its length, and never changes its sum: what is beyond nine becomes one item of quantity 1. */
export function foldItems(value: unknown, exponent: number): Converted {
  const items = value as OrderItem[]; // rows of the same table have just made them
  if (items.length === 0) return NOTHING;
  if (items.length <= MAX_ITEMS) return { value: items };
  const kept = items.slice(0, MAX_ITEMS - 1);
  const rest = items.slice(MAX_ITEMS - 1);
  const minor = rest.reduce((sum, item) => sum + (minorUnits(item.unit_price, exponent) ?? 0) * item.quantity, 0);
  const { value: title } = cutText(rest[0]?.title, MAX_TITLE - SUFFIX_ROOM);
  const folded = {
    title: `${title} +${rest.length - 1}`,
    unit_price: decimalText(minor, exponent),
    quantity: 1,
    unit_measure: 'unit',
  };
  const loss = `orders take ${MAX_ITEMS} items; the last ${rest.length} of ${items.length} became one`;
  return { value: [...kept, folded], loss };
}

/** ` +` and a number of items that a body of 64 KiB can't outgrow. */
const SUFFIX_ROOM = 8;
