/** A legacy QR call part by part: its till, and the fields of its body one by one, so that each refusal names the field in its family's code. */
import { EXTERNAL_ID, isWithinCharacters } from '../../../contract/identifiers.ts';
import { type Json, plainNumber } from '../../../contract/json.ts';
import { decimalOf, quantityOf } from '../../../contract/legacy-amount.ts';
import type { PuenteError } from '../../../error.ts';
import { refuse } from '../../answer.ts';
import type { Call, Handler, JsonObject } from '../../call.ts';
import { minorOf } from '../../money.ts';
import type { PointOfSale, QrOrder } from '../../records.ts';
import type { Site } from '../../sites.ts';

/** `qr_v1` and `qr` have `causes` in their refusals, merchant orders have `cause` (`docs/field-notes.md` QR §1.1, §2). */
export type QrFamily = 'qr_v1' | 'qr' | 'merchant_orders';
export type QrCall = Call<QrFamily>;
export type QrHandler = Handler<QrFamily>;

/** Builds the refusal of a field. */
export type RefuseField = (fault: 'missing_property' | 'invalid_property', name: string) => PuenteError;

export interface FieldReader {
  /** A text of 1 to `max` characters that must be there. */
  text(name: string, max: number): string;
  /** A text of at most `max` characters; null when it is missing or null. */
  optionalText(name: string, max: number): string | null;
  /** A text or a whole number, told as text; null when missing (samples show both, `docs/field-notes.md` QR §1.1). */
  optionalId(name: string, max: number): string | null;
  /** Minor units and the decimal text as sent; more decimals than the currency has are refused, unless they are zeros. */
  amount(name: string): { minor: number; text: string };
  optionalAmount(name: string): { minor: number; text: string } | null;
}

/** @throws PuenteError from `refuse`, at the field that does not hold. */
export function fieldsOf(object: JsonObject, site: Site, refuse: RefuseField): FieldReader {
  const given = (name: string): Json | null => object[name] ?? null;
  const reader: FieldReader = {
    text(name, max) {
      const value = reader.optionalText(name, max);
      if (value === null) throw refuse('missing_property', name);
      if (value === '') throw refuse('invalid_property', name);
      return value;
    },
    optionalText(name, max) {
      const value = given(name);
      if (value === null) return null;
      if (typeof value !== 'string' || !isWithinCharacters(value, max)) throw refuse('invalid_property', name);
      return value;
    },
    optionalId(name, max) {
      const value = plainNumber(given(name));
      if (typeof value === 'number' && value >= 0) return String(value); // only whole numbers come as numbers
      return reader.optionalText(name, max);
    },
    amount(name) {
      const value = reader.optionalAmount(name);
      if (value === null) throw refuse('missing_property', name);
      return value;
    },
    optionalAmount(name) {
      const value = given(name);
      if (value === null) return null;
      const text = decimalOf(value);
      const minor = minorOf(value, site);
      if (text === null || minor === null) throw refuse('invalid_property', name);
      return { minor, text };
    },
  };
  return reader;
}

export const MAX_TEXT = 256;
export const MAX_URL = 500;
/** Item ids have no documented limit; a reference's does. */
export const MAX_ITEM_ID = 256;
/** Item descriptions and pictures have none either. */
export const MAX_ITEM_TEXT = 2000;

/** The reference of a sale must be there and say something. */
export function readReference(fields: FieldReader, refuseField: RefuseField): string {
  const reference = fields.optionalId('external_reference', MAX_TEXT);
  if (reference === null) throw refuseField('missing_property', 'external_reference');
  if (reference === '') throw refuseField('invalid_property', 'external_reference');
  return reference;
}

/** A whole number; fractions are refused as the old service did (`docs/field-notes.md` QR §8). */
export function readQuantity(value: Json | undefined, refuseField: RefuseField): number {
  if (value === undefined || value === null) throw refuseField('missing_property', 'quantity');
  const quantity = quantityOf(value);
  if (quantity === null) throw refuseField('invalid_property', 'quantity');
  return quantity;
}

// The integrator that an order names: a user id, and not the seller's own. Source: `docs/field-notes.md` QR §1.1 errors.

/**
 * Integrators are not in the cast, so any other number passes; a merchant of the cast must be of the same site.
 * @returns null when none is named.
 * @throws PuenteError refused.
 */
export function readSponsor({ family, merchant, world }: QrCall, value: Json): number | null {
  if (value === null || value === '') return null;
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  const known = world.merchants.get(text);
  const foreign = known !== undefined && known.site.site_id !== merchant.site.site_id;
  if (!/^[1-9]\d{0,14}$/.test(text) || text === merchant.user_id || foreign) throw refuse(family, 'invalid_sponsor');
  return Number(text);
}

// The path of a call.

/** @throws PuenteError refused, unless the path's user is a number and the owner of the token (`docs/field-notes.md` QR §1.2, §6). */
export function demandOwner(call: QrCall): void {
  const user_id = call.path('user');
  if (!/^\d+$/.test(user_id)) throw refuse(call.family, 'invalid_collector');
  if (user_id !== call.merchant.user_id) throw refuse(call.family, 'foreign_collector');
}

/** The till of the path, by external id and, where the path has one, the store's external id.
 * @throws PuenteError refused: 404 also for an internal number where the external id belongs (`docs/field-notes.md` QR §1.2).
 */
export function namedTill(call: QrCall): PointOfSale {
  const { world } = call;
  const external_id = call.path('till');
  if (call.family === 'qr' && !EXTERNAL_ID.test(external_id)) {
    throw refuse(call.family, 'invalid_property', 'externalPosId');
  }
  const till = world.tillNamed(call.merchant.user_id, external_id);
  const store = call.path('store');
  const elsewhere = store !== '' && till !== undefined && world.stores.get(till.store_id)?.external_id !== store;
  if (till === undefined || elsewhere) throw refuse(call.family, 'pos_not_found');
  return till;
}

/** The till of a path that has nothing but its internal number (`docs/field-notes.md` QR §1.1).
 * @throws PuenteError refused.
 */
export function numberedTill(call: QrCall): PointOfSale {
  const { world } = call;
  const text = call.path('number');
  const till = /^\d{1,15}$/.test(text) ? world.points_of_sale.get(Number(text)) : undefined;
  if (till?.merchant_id !== call.merchant.user_id) throw refuse(call.family, 'pos_not_found');
  const refused = till.external_id === null && world.settings.legacy_qr_nameless_till === 'refused';
  if (refused) throw refuse(call.family, 'pos_not_found');
  return till;
}

// What orders of every family are called by.

/** Nobody sells through a marketplace here. */
export const MARKETPLACE = 'NONE';

/** The `id` of the v1 answer and `preference_id` of a merchant order: `<collector>-<uuid>` (`docs/field-notes.md` QR §1.1). */
export function preferenceId(order: QrOrder): string {
  return `${order.merchant_id}-${order.id}`;
}
