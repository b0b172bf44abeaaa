/** Parts of a legacy QR call: its till and the fields of its body, each refused in its family's code. */
import { EXTERNAL_ID, isWithinCharacters } from '../../../contract/identifiers.ts';
import { type Json, type JsonObject, plainNumber } from '../../../contract/json.ts';
import { decimalOf, quantityOf } from '../../../contract/legacy-amount.ts';
import type { Site } from '../../../contract/sites.ts';
import type { PuenteError } from '../../../error.ts';
import { refuse } from '../../answer.ts';
import type { Call, Handler } from '../../call.ts';
import { minorOf } from '../../money.ts';
import type { PointOfSale, QrOrder } from '../../records.ts';

/** Refusals of `qr_v1` and `qr` have `causes`, those of merchant orders `cause` (`docs/field-notes.md` QR §1.1, §2). */
type QrFamily = 'qr_v1' | 'qr' | 'merchant_orders';
export type QrCall = Call<QrFamily>;
export type QrHandler = Handler<QrFamily>;

export type RefuseField = (fault: 'missing_property' | 'invalid_property', name: string) => PuenteError;

interface FieldReader {
  /** Required, 1 to `max` characters. */
  text(name: string, max: number): string;
  /** At most `max` characters; null when missing or null. */
  optionalText(name: string, max: number): string | null;
  /** Text or a whole number, as text; null when missing (samples show both, `docs/field-notes.md` QR §1.1). */
  optionalId(name: string, max: number): string | null;
  /** Minor units and the decimal text as sent. Refuses more decimals than the currency has, except zeros. */
  amount(name: string): { minor: number; text: string };
  /** As `amount`; null when missing or null. */
  optionalAmount(name: string): { minor: number; text: string } | null;
}

/** @throws PuenteError from `refuse`, for an invalid field. */
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
      if (typeof value === 'number' && value >= 0) return String(value); // a number is always whole here
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
/** Item ids have no documented limit; references do. */
export const MAX_ITEM_ID = 256;
/** Neither do item titles, descriptions and pictures. */
export const MAX_ITEM_TEXT = 2000;

/** Required and not empty. */
export function readReference(fields: FieldReader, refuseField: RefuseField): string {
  const reference = fields.optionalId('external_reference', MAX_TEXT);
  if (reference === null) throw refuseField('missing_property', 'external_reference');
  if (reference === '') throw refuseField('invalid_property', 'external_reference');
  return reference;
}

/** Refuses fractions, as the real API did (`docs/field-notes.md` QR §8). */
export function readQuantity(value: Json | undefined, refuseField: RefuseField): number {
  if (value === undefined || value === null) throw refuseField('missing_property', 'quantity');
  const quantity = quantityOf(value);
  if (quantity === null) throw refuseField('invalid_property', 'quantity');
  return quantity;
}

// The integrator of an order: a user id other than the seller's. Source: `docs/field-notes.md` QR §1.1 errors.

/** Integrators are not in the cast, so unknown ids pass. @returns null without one. @throws PuenteError refused. */
export function readSponsor({ family, merchant, world }: QrCall, value: Json): number | null {
  if (value === null || value === '') return null;
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  const known = world.merchants.get(text);
  const foreign = known !== undefined && known.site.site_id !== merchant.site.site_id;
  if (!/^[1-9]\d{0,14}$/.test(text) || text === merchant.user_id || foreign) throw refuse(family, 'invalid_sponsor');
  return Number(text);
}

// The path of a call.

/** @throws PuenteError refused, unless the path's user is the token's owner (`docs/field-notes.md` QR §1.2, §6). */
export function demandOwner(call: QrCall): void {
  const user_id = call.path('user');
  if (!/^\d+$/.test(user_id)) throw refuse(call.family, 'invalid_collector');
  if (user_id !== call.merchant.user_id) throw refuse(call.family, 'foreign_collector');
}

/** @throws PuenteError refused: 404 also for an internal number as the external id (`docs/field-notes.md` QR §1.2). */
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

/** The till by internal number (`docs/field-notes.md` QR §1.1). @throws PuenteError refused. */
export function numberedTill(call: QrCall): PointOfSale {
  const { world } = call;
  const text = call.path('number');
  const till = /^\d{1,15}$/.test(text) ? world.points_of_sale.get(Number(text)) : undefined;
  if (till?.merchant_id !== call.merchant.user_id) throw refuse(call.family, 'pos_not_found');
  const refused = till.external_id === null && world.settings.legacy_qr_nameless_till === 'refused';
  if (refused) throw refuse(call.family, 'pos_not_found');
  return till;
}

// Values that orders of every family have.

/** The sandbox has no marketplaces. */
export const MARKETPLACE = 'NONE';

/** The `id` of the v1 answer and `preference_id` of a merchant order (`docs/field-notes.md` QR §1.1). */
export function preferenceId(order: QrOrder): string {
  return `${order.merchant_id}-${order.id}`;
}
