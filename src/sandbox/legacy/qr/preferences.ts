/** v1: attended orders, which answer with the object of a checkout preference. Source: `legacy-qr.md` §1.1. */
import { jsonNumber } from '../../../contract/legacy-amount.ts';
import type { PointOfSale } from '../../cast.ts';
import { amountNumber } from '../../json-amount.ts';
import { demandOwner, namedTill, numberedTill, type QrCall, type QrHandler, refuse } from './call.ts';
import { openOrder } from './lifecycle.ts';
import { MARKETPLACE } from './merchant-order.ts';
import { readPreference } from './preference-body.ts';
import { preferenceId, type QrOrder } from './state.ts';
import { takeOff } from './take-off.ts';

/** `POST` and `PUT /mpmobile/instore/qr/{user_id}/{external_id}` and `/{pos_id}`: the till shows this from now on. */
export const createPreference: QrHandler = (call) => {
  if (call.path('user') !== '') demandOwner(call);
  const content = readPreference(call);
  const order = openOrder(call, content, tillOf(call), 'attended');
  return { status: call.state.world.settings.legacy_qr_preference_status, body: renderPreference(order) };
};

/** `GET …`: what the till shows; the shape of this answer is not public (`legacy-qr.md` §11). */
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
