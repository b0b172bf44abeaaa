/** The function of each operation on orders, by the names that `mappings/operations.yaml` uses. */
import type { Story } from './http/answer.ts';
import { getPayment, getRefund, listRefunds } from './payments/read.ts';
import { createRefund, refundCollection } from './payments/refund.ts';
import { getCollection, searchCollections, searchPayments } from './payments/search.ts';
import { cancelIntent, cancelWithoutDevice } from './point/cancel.ts';
import { createIntent } from './point/create.ts';
import { changeMode, listDevices } from './point/devices.ts';
import { listEvents } from './point/events.ts';
import { getIntent, lastStatus, refundIntent } from './point/read.ts';
import { cancelPointOfSale } from './qr/cancel.ts';
import {
  confirmWithdrawal,
  createDynamicCode,
  createHybridCode,
  createPreference,
  createStoreOrder,
} from './qr/create.ts';
import { getMerchantOrder, searchMerchantOrders } from './qr/merchant-orders.ts';
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
