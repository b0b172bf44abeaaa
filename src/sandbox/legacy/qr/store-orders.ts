/** v2: attended orders, which are put, got as they were sent, and deleted; and dynamic and hybrid codes. Source: `legacy-qr.md` §1.2, §1.3. */
import { qrData } from '../../qr-code.ts';
import { demandOwner, namedTill, type QrHandler, refuse } from './call.ts';
import { openOrder } from './lifecycle.ts';
import type { QrMode } from './state.ts';
import { readStoreOrder } from './store-order-body.ts';
import { takeOff } from './take-off.ts';

/** `PUT …/pos/{external_pos_id}/orders`, with or without the store: 204 without a body. */
export const putStoreOrder: QrHandler = (call) => {
  demandOwner(call);
  const content = readStoreOrder(call, false);
  openOrder(call, content, namedTill(call), 'attended');
  return { status: 204 };
};

/** `GET …/orders`: the order as it was sent. */
export const getStoreOrder: QrHandler = (call) => {
  demandOwner(call);
  const order = call.state.shown.get(namedTill(call).id);
  if (order === undefined) throw refuse('qr', 'order_not_found');
  return { status: 200, body: order.sent };
};

/** `DELETE …/orders`: 204. */
export const deleteStoreOrder: QrHandler = (call) => {
  demandOwner(call);
  return takeOff(call, namedTill(call));
};

/** `POST …/qrs`: a code of its own, beside what the till shows; nobody can fetch or delete it. */
export const createDynamic: QrHandler = (call) => createCode(call, 'dynamic');

/** `PUT …/qrs`: a code of its own that the till shows too. */
export const createHybrid: QrHandler = (call) => createCode(call, 'hybrid');

function createCode(call: Parameters<QrHandler>[0], mode: QrMode): ReturnType<QrHandler> {
  demandOwner(call);
  const content = readStoreOrder(call, mode === 'dynamic');
  const { id, merchant, total_minor } = openOrder(call, content, namedTill(call), mode);
  return {
    status: call.state.world.settings.legacy_qr_code_status,
    body: { in_store_order_id: id, qr_data: qrData(merchant.site, id, total_minor, merchant.nickname) },
  };
}
