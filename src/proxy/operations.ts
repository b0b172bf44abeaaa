/** The function that serves each operation on orders: the names that `mappings/operations.yaml` may use. */
import type { Story } from './http/call.ts';
import { getCollection, searchCollections } from './payments/collection.ts';
import { createRefund, refundCollection } from './payments/create-refund.ts';
import { getPayment } from './payments/read.ts';
import { getRefund, listRefunds } from './payments/refund-list.ts';
import { searchPayments } from './payments/search.ts';
import { cancelIntent, cancelWithoutDevice } from './point/cancel.ts';
import { createIntent } from './point/create.ts';
import { changeMode, listDevices } from './point/devices.ts';
import { listEvents } from './point/events.ts';
import { getIntent, lastStatus } from './point/read.ts';
import { refundIntent } from './point/refund-intent.ts';
import { cancelPointOfSale } from './qr/cancel.ts';
import { confirmWithdrawal } from './qr/confirm.ts';
import { createDynamicCode, createHybridCode, createPreference, createStoreOrder } from './qr/create.ts';
import { getMerchantOrder } from './qr/merchant-order.ts';
import { searchMerchantOrders } from './qr/merchant-order-search.ts';
import { getPointOfSale } from './qr/read.ts';

export const stories: Readonly<Record<string, Story>> = {
  list_devices: listDevices,
  change_mode: changeMode,
  create_intent: createIntent,
  get_intent: getIntent,
  cancel_intent: cancelIntent,
  cancel_without_device: cancelWithoutDevice,
  list_events: listEvents,
  last_status: lastStatus,
  refund_intent: refundIntent,
  create_preference: createPreference,
  create_store_order: createStoreOrder,
  create_dynamic_code: createDynamicCode,
  create_hybrid_code: createHybridCode,
  cancel_point_of_sale: cancelPointOfSale,
  confirm_withdrawal: confirmWithdrawal,
  get_point_of_sale: getPointOfSale,
  get_merchant_order: getMerchantOrder,
  search_merchant_orders: searchMerchantOrders,
  search_payments: searchPayments,
  get_payment: getPayment,
  search_collections: searchCollections,
  get_collection: getCollection,
  create_refund: createRefund,
  list_refunds: listRefunds,
  get_refund: getRefund,
  refund_collection: refundCollection,
};
