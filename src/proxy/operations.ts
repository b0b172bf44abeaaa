/** Which story runs which operation, and what its path names: the names that `mappings/operations.yaml` may use. */
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
import {
  atPointOfSale,
  byDevice,
  byDeviceSetting,
  byDynamicCode,
  byHistory,
  byIntent,
  byMerchant,
  byMerchantOrder,
  byPayment,
  byPointOfSale,
  type Naming,
} from './routing/named.ts';

interface Entry {
  run: Story;
  names: Naming;
}

export const stories: Readonly<Record<string, Entry>> = {
  list_devices: { run: listDevices, names: byMerchant },
  change_mode: { run: changeMode, names: byDeviceSetting },
  create_intent: { run: createIntent, names: byDevice },
  get_intent: { run: getIntent, names: byIntent },
  cancel_intent: { run: cancelIntent, names: byIntent },
  cancel_without_device: { run: cancelWithoutDevice, names: byIntent },
  list_events: { run: listEvents, names: byHistory },
  last_status: { run: lastStatus, names: byIntent },
  // Whose payment it is stands in the body: its story looks, for whoever has had sales on orders.
  refund_intent: { run: refundIntent, names: byHistory },
  create_preference: { run: createPreference, names: byPointOfSale },
  create_store_order: { run: createStoreOrder, names: byPointOfSale },
  create_dynamic_code: { run: createDynamicCode, names: byDynamicCode },
  create_hybrid_code: { run: createHybridCode, names: byPointOfSale },
  cancel_point_of_sale: { run: cancelPointOfSale, names: atPointOfSale },
  confirm_withdrawal: { run: confirmWithdrawal, names: byMerchantOrder },
  get_point_of_sale: { run: getPointOfSale, names: atPointOfSale },
  get_merchant_order: { run: getMerchantOrder, names: byMerchantOrder },
  search_merchant_orders: { run: searchMerchantOrders, names: byHistory },
  search_payments: { run: searchPayments, names: byHistory },
  get_payment: { run: getPayment, names: byPayment },
  search_collections: { run: searchCollections, names: byHistory },
  get_collection: { run: getCollection, names: byPayment },
  create_refund: { run: createRefund, names: byPayment },
  list_refunds: { run: listRefunds, names: byPayment },
  get_refund: { run: getRefund, names: byPayment },
  refund_collection: { run: refundCollection, names: byPayment },
};
