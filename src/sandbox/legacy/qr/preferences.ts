/** v1: attended orders, which answer with the object of a checkout preference. Source: `docs/field-notes.md` QR §1.1. */

import type { Json } from '../../../contract/json.ts';
import { jsonNumber, quantityOf } from '../../../contract/legacy-amount.ts';
import type { PointOfSale } from '../../cast.ts';
import { amountNumber } from '../../money.ts';
import { isObject } from '../call.ts';
import { demandOwner, namedTill, numberedTill, objectBody, type QrCall, type QrHandler, refuse } from './call.ts';
import { fieldsOf, type JsonObject, type RefuseField } from './fields.ts';
import { lifetimeHeader, openOrder, takeOff } from './lifecycle.ts';
import { checkSponsor, MARKETPLACE } from './merchant-orders.ts';
import { preferenceId, type QrContent, type QrItem, type QrOrder } from './state.ts';

/** `POST` and `PUT /mpmobile/instore/qr/{user_id}/{external_id}` and `/{pos_id}`: the till shows this from now on. */
export const createPreference: QrHandler = (call) => {
  if (call.path('user') !== '') demandOwner(call);
  const content = readPreference(call);
  const order = openOrder(call, content, tillOf(call), 'attended');
  return { status: call.state.world.settings.legacy_qr_preference_status, body: renderPreference(order) };
};

/** `GET …`: what the till shows; the shape of this answer is not public (`docs/field-notes.md` QR §11). */
export const getPreference: QrHandler = (call) => {
  if (call.path('user') !== '') demandOwner(call);
  const order = call.state.shown.get(tillOf(call).id);
  if (order === undefined) throw refuse('qr_v1', 'order_not_found');
  return { status: 200, body: renderPreference(order) };
};

/** `DELETE …`: 204. */
export const cancelPreference: QrHandler = (call) => {
  if (call.path('user') !== '') demandOwner(call);
  return takeOff(call, tillOf(call));
};

function tillOf(call: QrCall): PointOfSale {
  return call.path('number') === '' ? namedTill(call) : numberedTill(call);
}

function renderPreference(order: QrOrder): object {
  const { merchant } = order;
  const total_amount = amountNumber(order.total_minor, merchant.site);
  return {
    id: preferenceId(order),
    collector_id: Number(merchant.user_id),
    collector: {},
    client_id: Number(merchant.application_id),
    sponsor_id: order.sponsor_id,
    items: order.items.map(({ id, title, currency_id, unit_price, quantity, description, picture_url }) => ({
      id,
      title,
      currency_id,
      unit_price: jsonNumber(unit_price),
      quantity,
      description,
      picture_url: picture_url ?? '',
    })),
    total_amount,
    amount: total_amount,
    external_reference: order.external_reference,
    operation_type: 'regular_payment',
    notification_url: order.notification_url ?? '',
    payment_methods: {
      excluded_payment_methods: [{ id: '' }],
      excluded_payment_types: [{ id: 'ticket' }, { id: 'atm' }],
    },
    marketplace: MARKETPLACE,
    marketplace_fee: jsonNumber(order.marketplace_fee),
    expires: false,
    additional_info: '',
    back_urls: { success: '', pending: '', failure: '' },
    payer: { id: 0, email: '', identification: { number: '', type: '' } },
    site_id: merchant.site.site_id,
    processing_modes: ['aggregator'],
    internal_metadata: {},
  };
}

// The body of a v1 order: items without a total. Source: `docs/field-notes.md` QR §1.1.

export const MAX_TEXT = 256;
export const MAX_URL = 500;
/** Item ids have no documented limit; a reference's does. */
export const MAX_ITEM_ID = 256;
/** Item descriptions and pictures have none either. */
export const MAX_ITEM_TEXT = 2000;

/** @throws PuenteError refused, with the code of the first field that does not hold. */
export function readPreference(call: QrCall): QrContent {
  const body = objectBody(call);
  const fields = fieldsOf(body, call.merchant.site, (fault, name) => refuse('qr_v1', fault, name));
  const external_reference = fields.optionalId('external_reference', MAX_TEXT);
  if (external_reference === null) throw refuse('qr_v1', 'missing_property', 'external_reference');
  if (external_reference === '') throw refuse('qr_v1', 'invalid_property', 'external_reference');
  const notification_url = fields.optionalText('notification_url', MAX_URL);
  const sponsor_id = checkSponsor(call, body.sponsor_id ?? null);
  const read = readItems(call, body.items);
  const total_minor = read.reduce((sum, { price_minor, item }) => sum + price_minor * item.quantity, 0);
  // "amount cannot be paid" is an `invalid_items` in the reference.
  if (total_minor <= 0 || !Number.isSafeInteger(total_minor)) throw refuseItem('invalid_property', 'amount');
  const items = read.map(({ item }) => item);
  return {
    external_reference,
    description: items[0]?.title ?? '',
    notification_url: notification_url === '' ? null : notification_url,
    sponsor_id,
    items,
    total_minor,
    cash_out_minor: 0,
    marketplace_fee: fields.optionalAmount('marketplace_fee')?.text ?? '0',
    lifetime_ms: lifetimeHeader(call),
    sent: body,
  };
}

/** One code for everything about items. */
const refuseItem: RefuseField = (fault, name) => refuse('qr_v1', fault, name, 'invalid_items');

function readItems(call: QrCall, items: Json | undefined): { item: QrItem; price_minor: number }[] {
  if (items === undefined || items === null) throw refuseItem('missing_property', 'items');
  // A real capture: items as an object, or as anything else that is no list.
  if (!Array.isArray(items)) throw refuse('qr_v1', 'bad_request');
  if (items.length === 0) throw refuseItem('missing_property', 'items');
  return items.map((item) => {
    if (!isObject(item)) throw refuseItem('invalid_property', 'items');
    return readItem(call, item);
  });
}

function readItem({ merchant: { site } }: QrCall, item: JsonObject): { item: QrItem; price_minor: number } {
  const fields = fieldsOf(item, site, refuseItem);
  const title = fields.text('title', MAX_TEXT);
  const currency_id = fields.text('currency_id', MAX_TEXT);
  if (currency_id !== site.currency) throw refuseItem('invalid_property', 'currency_id');
  const price = fields.amount('unit_price');
  return {
    price_minor: price.minor,
    item: {
      id: fields.optionalId('id', MAX_ITEM_ID) ?? '',
      title,
      description: fields.optionalText('description', MAX_ITEM_TEXT) ?? '',
      category_id: '',
      picture_url: fields.optionalText('picture_url', MAX_ITEM_TEXT),
      currency_id,
      unit_price: price.text,
      quantity: readQuantity(item.quantity, refuseItem),
    },
  };
}

/** A whole number; fractions are refused as the old service did (`docs/field-notes.md` QR §8). */
export function readQuantity(value: Json | undefined, refuseField: RefuseField): number {
  if (value === undefined || value === null) throw refuseField('missing_property', 'quantity');
  const quantity = quantityOf(value);
  if (quantity === null) throw refuseField('invalid_property', 'quantity');
  return quantity;
}
