/** Which story runs which operation, and what its path names: the names that `mappings/operations.yaml` may use. */
import type { Story } from './call.ts';
import { byDevice, byHistory, byIntent, byMerchant, byMerchantOrder, byPayment, byTill, type Naming } from './named.ts';
import { createRefund, refundCollection } from './payments/create-refund.ts';
import { getPayment } from './payments/read.ts';
import { getRefund, listRefunds } from './payments/refund-list.ts';
import { searchPayments } from './payments/search.ts';
import { cancelIntent, cancelWithoutDevice } from './point/cancel.ts';
import { createIntent } from './point/create.ts';
import { changeMode, listDevices } from './point/devices.ts';
import { getIntent, lastStatus, listEvents } from './point/read.ts';
import { refundIntent } from './point/refund-intent.ts';
import { cancelTill } from './qr/cancel.ts';
import { confirmWithdrawal } from './qr/confirm.ts';
import { createPreference, createQrCode, createStoreOrder } from './qr/create.ts';
import { getMerchantOrder } from './qr/merchant-order.ts';
import { searchMerchantOrders } from './qr/merchant-order-search.ts';
import { getTill } from './qr/read.ts';

interface Entry {
  run: Story;
  names: Naming;
}

export const stories: Readonly<Record<string, Entry>> = {
  list_devices: { run: listDevices, names: byMerchant },
  change_mode: { run: changeMode, names: byMerchant },
  create_intent: { run: createIntent, names: byDevice },
  get_intent: { run: getIntent, names: byIntent },
  cancel_intent: { run: cancelIntent, names: byIntent },
  cancel_without_device: { run: cancelWithoutDevice, names: byIntent },
  list_events: { run: listEvents, names: byMerchant },
  last_status: { run: lastStatus, names: byIntent },
  refund_intent: { run: refundIntent, names: byMerchant },
  create_preference: { run: createPreference, names: byTill },
  create_store_order: { run: createStoreOrder, names: byTill },
  create_qr_code: { run: createQrCode, names: byTill },
  cancel_till: { run: cancelTill, names: byTill },
  confirm_withdrawal: { run: confirmWithdrawal, names: byMerchantOrder },
  get_till: { run: getTill, names: byTill },
  get_merchant_order: { run: getMerchantOrder, names: byMerchantOrder },
  search_merchant_orders: { run: searchMerchantOrders, names: byHistory },
  search_payments: { run: searchPayments, names: byHistory },
  get_payment: { run: getPayment, names: byPayment },
  create_refund: { run: createRefund, names: byPayment },
  list_refunds: { run: listRefunds, names: byPayment },
  get_refund: { run: getRefund, names: byPayment },
  refund_collection: { run: refundCollection, names: byPayment },
};
