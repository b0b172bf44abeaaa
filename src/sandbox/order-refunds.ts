/** What a refund does to an order and to the payment behind it. Source: `orders-api.md` §2. */
import { newUlid } from './ids.ts';
import type { Order, Refund } from './order.ts';
import { type Desk, markRefunded, touch, undoRefunded } from './order-states.ts';
import type { Payment, PaymentRefund } from './payment.ts';
import type { World } from './world.ts';

/**
 * Refunds a part of the payment in minor units, or with null whatever is left, the withdrawn cash included. The caller
 * has checked that it may.
 * @returns a node for the payment, and one for the cash.
 */
export function refund(desk: Desk, order: Order, part_minor: number | null): Refund[] {
  const { world } = desk;
  const nodes = shares(order, part_minor).map((share) => {
    share.receipt.refunded_minor += share.amount_minor;
    return giveBack(desk, order, share, part_minor === null ? world.settings.total_refund_status : 'processed');
  });
  const isAllBack = shares(order, null).length === 0;
  if (isAllBack) markRefunded(desk, order);
  else {
    order.status_detail = 'partially_refunded';
    touch(world, order);
    if (world.settings.partial_refund_action !== 'none') desk.announce(order, world.settings.partial_refund_action);
  }
  return nodes;
}

interface Share {
  transaction_id: string;
  amount_minor: number;
  /** Where the refunded sum is kept. */
  receipt: { refunded_minor: number };
}

function shares({ transaction, place }: Order, part_minor: number | null): Share[] {
  const { id: transaction_id } = transaction;
  if (part_minor !== null) return [{ transaction_id, amount_minor: part_minor, receipt: transaction }];
  const left_minor = (transaction.paid_minor ?? transaction.amount_minor) - transaction.refunded_minor;
  const whole: Share[] = [{ transaction_id, amount_minor: left_minor, receipt: transaction }];
  const cash = place.type === 'qr' ? place.withdrawal : null;
  if (cash !== null) {
    whole.push({ transaction_id: cash.id, amount_minor: cash.amount_minor - cash.refunded_minor, receipt: cash });
  }
  return whole.filter((share) => share.amount_minor > 0);
}

/** Makes the node of the order and the refund of the payment behind it, which carry the same number. */
function giveBack(desk: Desk, order: Order, share: Share, status: 'processing' | 'processed'): Refund {
  const { world } = desk;
  const { transaction_id, amount_minor } = share;
  const number = world.nextRefundId();
  const node: Refund = {
    id: `REF${newUlid(world)}`,
    transaction_id,
    reference_id: String(number),
    amount_minor,
    status,
  };
  order.refunds.push(node);
  const payment = world.payments.get(order.transaction.reference_id ?? 0);
  const made: PaymentRefund = { id: number, amount_minor, status: 'approved', created_at_ms: world.clock.now() };
  payment?.refunds.push(made);
  if (payment !== undefined) countRefund(world, payment, amount_minor);
  if (status === 'processing') {
    world.clock.schedule(world.settings.simulated_step_ms, () => {
      node.status = world.settings.processing_refund_ends;
      if (node.status === 'processed') return;
      share.receipt.refunded_minor -= amount_minor;
      undoRefunded(desk, order);
      made.status = 'rejected';
      if (payment !== undefined) countRefund(world, payment, -amount_minor);
    });
  }
  return node;
}

/** @param more_minor minor units; fewer than none when a refund has failed. */
function countRefund(world: World, payment: Payment, more_minor: number): void {
  payment.refunded_minor += more_minor;
  payment.updated_at_ms = world.clock.now();
  const isWhole = payment.refunded_minor >= payment.amount_minor + payment.tip_minor;
  if (isWhole) payment.status = 'refunded';
  else if (payment.status === 'refunded') payment.status = 'approved';
  if (isWhole) payment.status_detail = 'refunded';
  else payment.status_detail = payment.refunded_minor > 0 ? 'partially_refunded' : 'accredited';
  world.paymentChanged(payment);
}
