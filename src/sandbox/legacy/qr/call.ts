/** One call of the legacy QR and merchant-order API in parts, its answer, and its refusals in the family's words. */
import { EXTERNAL_ID } from '../../../contract/identifiers.ts';
import { type Json, parseJson, stringifyJson } from '../../../contract/json.ts';
import { decodeText } from '../../../contract/legacy-body.ts';
import { errorBody, type LegacyErrorName, legacyError } from '../../../contract/legacy-errors.ts';
import { PuenteError } from '../../../error.ts';
import type { Merchant, PointOfSale } from '../../cast.ts';
import { isObject } from '../call.ts';
import type { QrState } from './state.ts';

/** `qr_v1` and `qr` tell `causes`, merchant orders tell `cause` (`docs/field-notes.md` QR §1.1, §2). */
export type QrFamily = 'qr_v1' | 'qr' | 'merchant_orders';

export interface QrCall {
  state: QrState;
  family: QrFamily;
  /** The owner of the token. */
  merchant: Merchant;
  /** A named part of the path; empty when the route has none of that name. */
  path(name: string): string;
  query: URLSearchParams;
  /** Value of a request header, by lower-case name. */
  header(name: string): string | undefined;
  /** Raw bytes; empty on GET and DELETE, whose bodies the old service ignored. */
  body: Uint8Array;
}

export interface QrReply {
  status: number;
  /** Missing for an answer without a body. */
  body?: unknown;
}

export type QrHandler = (call: QrCall) => QrReply;

/**
 * A refusal in the family's words; its facts are the status and the JSON text of the answer.
 * @param detail fills `{}`.
 * @param error another error code for the same text, where one code covers several fields.
 */
export function refuse(family: QrFamily, name: LegacyErrorName, detail = '', error?: string): PuenteError {
  const found = legacyError(family, name);
  if (found === null) throw new Error(`The catalogue of ${family} has no error ${name}`);
  const entry = error === undefined ? found : { ...found, error };
  const body = errorBody(family, entry, detail);
  return new PuenteError('refused', String(body.message), {
    facts: { status: entry.status, body: stringifyJson(body) },
  });
}

/** @throws PuenteError refused: in v1 every body that is no object is an `invalid_preference_body` (`docs/field-notes.md` QR §1.1). */
export function objectBody({ family, body }: QrCall): { [key: string]: Json } {
  let value: Json;
  try {
    value = parseJson(decodeText(body));
  } catch {
    throw refuse(family, 'bad_json');
  }
  if (!isObject(value)) throw refuse(family, 'bad_json');
  return value;
}

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
  const { world } = call.state;
  const external_id = call.path('till');
  if (call.family === 'qr' && !EXTERNAL_ID.test(external_id)) {
    throw refuse(call.family, 'invalid_property', 'externalPosId');
  }
  const till = [...world.points_of_sale.values()].find(
    (pos) => pos.merchant_id === call.merchant.user_id && pos.external_id === external_id,
  );
  const store = call.path('store');
  const elsewhere = store !== '' && till !== undefined && world.stores.get(till.store_id)?.external_id !== store;
  if (till === undefined || elsewhere) throw refuse(call.family, 'pos_not_found');
  return till;
}

/** The till of a path that has nothing but its internal number (`docs/field-notes.md` QR §1.1).
 * @throws PuenteError refused.
 */
export function numberedTill(call: QrCall): PointOfSale {
  const { world } = call.state;
  const text = call.path('number');
  const till = /^\d{1,15}$/.test(text) ? world.points_of_sale.get(Number(text)) : undefined;
  if (till?.merchant_id !== call.merchant.user_id) throw refuse(call.family, 'pos_not_found');
  const refused = till.external_id === null && world.settings.legacy_qr_nameless_till === 'refused';
  if (refused) throw refuse(call.family, 'pos_not_found');
  return till;
}

// The `legacy_qr` part of `GET /_sandbox/state`: people read it, tests assert on it.

/** After a load test there are too many to print; the newest are shown, and the counts are whole. */
const SHOWN = 1000;

export function legacyQrView(state: QrState): object {
  return {
    counts: { orders: state.orders.size, merchant_orders: state.merchant_orders.size },
    orders: [...state.orders.values()].slice(-SHOWN).map((order) => ({
      id: order.id,
      mode: order.mode,
      merchant_id: order.merchant.user_id,
      pos_id: order.pos.id,
      external_pos_id: order.pos.external_id,
      state: order.state,
      locked: order.locked,
      external_reference: order.external_reference,
      total_minor: order.total_minor,
      cash_out_minor: order.cash_out_minor,
      confirmation: order.confirmation,
      notification_url: order.notification_url,
      merchant_order_id: order.merchant_order_id,
      payment_ids: order.payment_ids,
      created_at: new Date(order.created_at_ms).toISOString(),
      expires_at: new Date(order.expires_at_ms).toISOString(),
    })),
  };
}
