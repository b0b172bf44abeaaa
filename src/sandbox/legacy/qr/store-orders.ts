/** In-store QR v2: attended orders, dynamic and hybrid codes. Source: `docs/field-notes.md` QR §1.2, §1.3. */

import { isObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { json, noContent, refuse } from '../../answer.ts';
import { bodyObject, type Call, type Handler, type Rows } from '../../call.ts';
import { qrData } from '../../order-at-unit.ts';
import type { QrContent, QrItem } from '../../records.ts';
import {
  demandOwner,
  fieldsOf,
  MAX_ITEM_ID,
  MAX_ITEM_TEXT,
  MAX_TEXT,
  MAX_URL,
  namedTill,
  type RefuseField,
  readQuantity,
  readReference,
  readSponsor,
} from './fields.ts';
import { confirmCashOut, lifetimeHeader, lifetimeUntil, openOrder, takeOff } from './lifecycle.ts';

type StoreCall = Call<'qr'>;

const putStoreOrder: Handler<'qr'> = (call) => {
  demandOwner(call);
  const content = readStoreOrder(call, false);
  openOrder(call, content, namedTill(call), 'attended');
  return noContent;
};

const getStoreOrder: Handler<'qr'> = (call) => {
  demandOwner(call);
  const order = call.world.shown.get(namedTill(call).id);
  if (order === undefined) throw refuse('qr', 'order_not_found');
  return json(200, order.sent);
};

const deleteStoreOrder: Handler<'qr'> = (call) => {
  demandOwner(call);
  return takeOff(call, namedTill(call));
};

/** `POST …/qrs`: a code of its own, which no call can read or delete. `PUT …/qrs`: the till shows it too. */
const createCode =
  (mode: 'dynamic' | 'hybrid'): Handler<'qr'> =>
  (call) => {
    const { world, merchant } = call;
    demandOwner(call);
    const content = readStoreOrder(call, mode === 'dynamic');
    const { id, total_minor } = openOrder(call, content, namedTill(call), mode);
    const qr_data = qrData(merchant.site, id, total_minor, merchant.nickname);
    return json(world.settings.legacy_qr_code_status, { in_store_order_id: id, qr_data });
  };

// The body of a v2, dynamic or hybrid order: items with totals, and cash. Source: `docs/field-notes.md` QR §1.2, §1.3.

/** @param demandsUrl whether `notification_url` must be a URL; only the dynamic POST requires it. */
function readStoreOrder(call: StoreCall, demandsUrl: boolean): QrContent {
  const body = bodyObject(call);
  const fields = fieldsOf(body, call.merchant.site, refuseField);
  const external_reference = readReference(fields, refuseField);
  const title = fields.text('title', MAX_TEXT);
  fields.optionalText('description', MAX_TEXT);
  const notification_url = fields.optionalText('notification_url', MAX_URL) || null;
  if (demandsUrl && notification_url !== null && !/^https?:\/\/./.test(notification_url)) {
    throw refuseField('invalid_property', 'notification_url');
  }
  const until_ms = lifetimeUntil(call, fields.optionalText('expiration_date', MAX_TEXT));
  const total = fields.amount('total_amount');
  const cash_out_minor = readCashOut(call, body.cash_out);
  const read = readItems(call, body.items ?? [], cash_out_minor);
  const sum_minor = read.reduce((sum, { total_minor }) => sum + total_minor, cash_out_minor);
  if (total.minor !== sum_minor || total.minor <= 0) throw refuseField('invalid_property', 'total_amount');
  return {
    external_reference,
    description: title,
    notification_url,
    sponsor_id: sponsorOf(call, body.sponsor),
    items: read.map(({ item }) => item),
    total_minor: total.minor,
    cash_out_minor,
    marketplace_fee: fields.optionalAmount('marketplace_fee')?.text ?? '0',
    lifetime_ms: until_ms ?? lifetimeHeader(call),
    sent: body,
  };
}

const refuseField: RefuseField = (fault, name) => refuse('qr', fault, name);
const refuseItem: RefuseField = (fault, name) => refuseField(fault, `items.${name}`);

/** Accepts an empty object and an amount of 0, because real tills send both. */
function readCashOut(call: StoreCall, cash_out: Json | undefined): number {
  if (cash_out === undefined || cash_out === null) return 0;
  if (!isObject(cash_out)) throw refuseField('invalid_property', 'cash_out');
  const refuseCash: RefuseField = (fault, name) => refuseField(fault, `cash_out.${name}`);
  const minor = fieldsOf(cash_out, call.merchant.site, refuseCash).optionalAmount('amount')?.minor ?? 0;
  if (minor > 0 && !call.merchant.may_hand_out_cash) throw refuse('qr', 'cash_out_refused');
  return minor;
}

function sponsorOf(call: StoreCall, sponsor: Json | undefined): number | null {
  if (sponsor === undefined || sponsor === null) return null;
  if (!isObject(sponsor)) throw refuse('qr', 'invalid_sponsor');
  return readSponsor(call, sponsor.id ?? null);
}

interface ReadItem {
  item: QrItem;
  total_minor: number;
}

function readItems(call: StoreCall, items: Json, cash_out_minor: number): ReadItem[] {
  if (!Array.isArray(items)) throw refuseField('invalid_property', 'items');
  if (items.length === 0 && cash_out_minor === 0) throw refuse('qr', 'cash_out_required');
  return items.map((item) => {
    if (!isObject(item)) throw refuseField('invalid_property', 'items');
    return readItem(call, item);
  });
}

function readItem({ merchant: { site } }: StoreCall, item: JsonObject): ReadItem {
  const fields = fieldsOf(item, site, refuseItem);
  const title = fields.text('title', MAX_ITEM_TEXT);
  fields.text('unit_measure', MAX_TEXT);
  const price = fields.amount('unit_price');
  const quantity = readQuantity(item.quantity, refuseItem);
  const currency_id = fields.optionalText('currency_id', MAX_TEXT) ?? site.currency;
  if (currency_id !== site.currency) throw refuseItem('invalid_property', 'currency_id');
  const total = fields.amount('total_amount');
  if (total.minor !== price.minor * quantity) throw refuseItem('invalid_property', 'total_amount');
  return {
    total_minor: total.minor,
    item: {
      id: fields.optionalId('sku_number', MAX_ITEM_ID) ?? '',
      title,
      description: fields.optionalText('description', MAX_ITEM_TEXT) ?? '',
      category_id: fields.optionalText('category', MAX_TEXT) ?? '',
      picture_url: fields.optionalText('picture_url', MAX_ITEM_TEXT),
      currency_id,
      unit_price: price.text,
      quantity,
    },
  };
}

const collector = '/instore/qr/seller/collectors/:user';
/** One version of the guide has the singular `collector`. */
const codes = '/instore/orders/qr/seller/collector{s}/:user/pos/:till/qrs';

export const storeOrderRows: Rows<'qr'> = [
  ...[`${collector}/stores/:store/pos/:till/orders`, `${collector}/pos/:till/orders`].flatMap(
    (path): Rows<'qr'> => [
      ['put', path, putStoreOrder],
      ['get', path, getStoreOrder],
      ['delete', path, deleteStoreOrder],
    ],
  ),
  ['post', codes, createCode('dynamic')],
  ['put', codes, createCode('hybrid')],
  ['post', '/instore/orders/:merchant_order/confirmation', confirmCashOut],
];
