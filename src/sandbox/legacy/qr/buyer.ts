/** What a buyer does with a legacy QR order: pay, be declined, begin, go back. Source: `legacy-qr.md` §2, finding 12. */
import { PuenteError } from '../../../error.ts';
import type { BuyerAction, BuyerOptions } from '../../cast.ts';
import type { Payment } from '../../world.ts';
import { announceMerchantOrder, bearMerchantOrder } from './notices.ts';
import type { QrOrder, QrState } from './state.ts';

/** @throws PuenteError refused, when the order is over, or `unlock` finds nobody paying. */
export function actAsBuyer(state: QrState, order: QrOrder, action: BuyerAction, options: BuyerOptions): void {
  const impossible =
    order.state !== 'open' || (action === 'lock' && order.locked) || (action === 'unlock' && !order.locked);
  if (impossible) {
    const now = order.state === 'open' && order.locked ? 'being paid' : order.state;
    throw new PuenteError('refused', `QR order ${order.id} is ${now}; the action ${action} is not possible.`);
  }
  order.locked = action === 'lock';
  if (action === 'pay') pay(state, order, options);
  if (action === 'decline') decline(state, order, options);
}

function pay(state: QrState, order: QrOrder, options: BuyerOptions): void {
  const isNew = bearMerchantOrder(state, order);
  order.state = 'paid';
  recordPayment(state, order, options, 'approved', 'accredited');
  announceMerchantOrder(state, order, isNew ? 'created' : 'updated');
}

/** The order stays open for another attempt; the rejected payment is seen in the opened merchant order. */
function decline(state: QrState, order: QrOrder, options: BuyerOptions): void {
  const isNew = bearMerchantOrder(state, order);
  recordPayment(state, order, options, 'rejected', `cc_rejected_${state.world.settings.failed_status_detail}`);
  if (isNew) announceMerchantOrder(state, order, 'created');
}

function recordPayment(
  { world }: QrState,
  order: QrOrder,
  options: BuyerOptions,
  status: Payment['status'],
  status_detail: string,
): void {
  const now_ms = world.clock.now();
  const payment_type_id = options.payment_method_type ?? 'account_money';
  const payment: Payment = {
    id: world.nextPaymentId(),
    merchant_id: order.merchant.user_id,
    status,
    status_detail,
    amount_minor: order.total_minor,
    tip_minor: 0,
    refunded_minor: 0,
    external_reference: order.external_reference,
    description: order.description,
    payment_type_id,
    payment_method_id: options.payment_method_id ?? usualMethods[payment_type_id] ?? payment_type_id,
    installments: options.installments ?? 1,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    refunds: [],
    pos: order.pos,
    origin: { kind: 'legacy_qr', id: order.id },
    merchant_order_id: order.merchant_order_id,
  };
  order.payment_ids.push(payment.id);
  order.updated_at_ms = now_ms;
  world.payments.set(payment.id, payment);
  world.paymentChanged(payment);
}

/** What is used when the buyer names a kind of payment alone. */
const usualMethods: Readonly<Record<string, string>> = { credit_card: 'master', debit_card: 'debmaster' };
