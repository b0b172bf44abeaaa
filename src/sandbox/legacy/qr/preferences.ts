/** In-store QR v1: attended orders, answered as checkout preferences. Source: `docs/field-notes.md` QR §1.1. */

import { isObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { jsonNumber } from '../../../contract/legacy-amount.ts';
import { json, refuse } from '../../answer.ts';
import { bodyObject, type Call, type Handler, type Rows } from '../../call.ts';
import { amountNumber } from '../../money.ts';
import type { Merchant, PointOfSale, QrContent, QrItem, QrOrder } from '../../records.ts';
import {
  demandOwner,
  fieldsOf,
  MARKETPLACE,
  MAX_ITEM_ID,
  MAX_ITEM_TEXT,
  MAX_TEXT,
  MAX_URL,
  namedTill,
  numberedTill,
  preferenceId,
  type RefuseField,
  readQuantity,
  readReference,
  readSponsor,
} from './fields.ts';
import { lifetimeHeader, openOrder, takeOff } from './lifecycle.ts';

type PreferenceCall = Call<'qr_v1'>;

const createPreference: Handler<'qr_v1'> = (call) => {
  if (call.path('user') !== '') demandOwner(call);
  const content = readPreference(call);
  const order = openOrder(call, content, tillOf(call), 'attended');
  return json(call.world.settings.legacy_qr_preference_status, renderPreference(order, call.merchant));
};

/** The shape of this answer is not public (`docs/field-notes.md` QR §11). */
const getPreference: Handler<'qr_v1'> = (call) => {
  const order = call.world.shown.get(ownTill(call).id);
  if (order === undefined) throw refuse('qr_v1', 'order_not_found');
  return json(200, renderPreference(order, call.merchant));
};

const cancelPreference: Handler<'qr_v1'> = (call) => takeOff(call, ownTill(call));

function ownTill(call: PreferenceCall): PointOfSale {
  if (call.path('user') !== '') demandOwner(call);
  return tillOf(call);
}

function tillOf(call: PreferenceCall): PointOfSale {
  return call.path('number') === '' ? namedTill(call) : numberedTill(call);
}

function renderPreference(order: QrOrder, merchant: Merchant): object {
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

/** @throws PuenteError refused, with the code of the first invalid field. */
function readPreference(call: PreferenceCall): QrContent {
  const body = bodyObject(call);
  const refuseField: RefuseField = (fault, name) => refuse('qr_v1', fault, name);
  const fields = fieldsOf(body, call.merchant.site, refuseField);
  const external_reference = readReference(fields, refuseField);
  const notification_url = fields.optionalText('notification_url', MAX_URL);
  const sponsor_id = readSponsor(call, body.sponsor_id ?? null);
  const read = readItems(call, body.items);
  const total_minor = read.reduce((sum, { price_minor, item }) => sum + price_minor * item.quantity, 0);
  // The reference counts "amount cannot be paid" as `invalid_items`.
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

/** One code covers all faults of items. */
const refuseItem: RefuseField = (fault, name) => refuse('qr_v1', fault, name, 'invalid_items');

function readItems(call: PreferenceCall, items: Json | undefined): { item: QrItem; price_minor: number }[] {
  if (items === undefined || items === null) throw refuseItem('missing_property', 'items');
  // As in a real capture: items that are an object or anything else but a list.
  if (!Array.isArray(items)) throw refuse('qr_v1', 'bad_request');
  if (items.length === 0) throw refuseItem('missing_property', 'items');
  return items.map((item) => {
    if (!isObject(item)) throw refuseItem('invalid_property', 'items');
    return readItem(call, item);
  });
}

function readItem({ merchant: { site } }: PreferenceCall, item: JsonObject): { item: QrItem; price_minor: number } {
  const fields = fieldsOf(item, site, refuseItem);
  const title = fields.text('title', MAX_ITEM_TEXT);
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

export const preferenceRows: Rows<'qr_v1'> = [
  '/mpmobile/instore/qr/:user/:till',
  '/mpmobile/instore/qr/:number',
].flatMap(
  (path): Rows<'qr_v1'> => [
    ['post', path, createPreference],
    ['put', path, createPreference],
    ['get', path, getPreference],
    ['delete', path, cancelPreference],
  ],
);
