/** A QR order at its till: what a buyer who scans the code can do with it. Source: `interface.md` States, `orders-api.md` §3. */
import { PuenteError } from '../error.ts';
import type { BuyerAction, BuyerOptions } from './cast.ts';
import { type AtTill, type Order, totalMinor } from './order.ts';
import { approve, type Desk, expire, methodOf, openOrder, touch } from './order-states.ts';

/** A new order shows on its till or in its own code, and starts its expiry. */
export function showOrder(desk: Desk, order: Order, place: AtTill, lifetime_ms: number): void {
  const { world } = desk;
  world.payables.set(order.id, {
    kind: 'order',
    id: order.id,
    merchant_id: order.merchant.user_id,
    pos: place.pos,
    on_pos: place.mode !== 'dynamic',
    act: (action, options) => outcomes[action](desk, order, place, options),
  });
  openOrder(desk, order, lifetime_ms);
}

type Outcome = (desk: Desk, order: Order, place: AtTill, options: BuyerOptions) => void;

/** Rejected attempts leave no trace in the order, which waits for an approved one (`interface.md` States). */
const outcomes: Readonly<Record<BuyerAction, Outcome>> = {
  pay,
  decline: unlock,
  abandon: unlock,
  lock,
  unlock,
};

function pay(desk: Desk, order: Order, place: AtTill, options: BuyerOptions): void {
  const { installments = defaultInstallments(order), ...rest } = options;
  const method = methodOf({ ...rest, installments }, WALLET);
  const discount_minor = methodDiscount(order, place, method.type) + categoryDiscount(order, place, options);
  if (discount_minor > 0) place.discount_type = method.type;
  approve(desk, order, method, order.transaction.amount_minor - discount_minor, 0);
}

/** What buyers pay with who say nothing else: the money in their account. */
const WALLET = 'account_money';

function defaultInstallments(order: Order): number {
  const wanted = order.payment_method?.default_installments;
  return typeof wanted === 'number' ? wanted : 1;
}

/** Minor units that paying by this method takes off. */
function methodDiscount(order: Order, place: AtTill, method_type: string): number {
  const found = place.discounts?.payment_methods.find(({ type }) => type === method_type);
  return found === undefined ? 0 : totalMinor(order) - found.new_total_minor;
}

/** Categories are told to the service outside this API, so the buyer's options say what they take off. */
function categoryDiscount(order: Order, place: AtTill, options: BuyerOptions): number {
  const { category_discount_minor = 0 } = options;
  if (category_discount_minor === 0) return 0;
  if (!(place.items ?? []).some((item) => (item.external_categories ?? []).length > 0)) {
    throw new PuenteError('refused', `No item of order ${order.id} has a category, so no category discount applies.`);
  }
  if (category_discount_minor > order.transaction.amount_minor) {
    throw new PuenteError('refused', `The discount is more than order ${order.id} costs.`);
  }
  return category_discount_minor;
}

function lock(desk: Desk, order: Order, place: AtTill, options: BuyerOptions): void {
  place.is_locked = true;
  if (options.in_review === true) showDetail(desk, order, 'in_review');
}

function unlock(desk: Desk, order: Order, place: AtTill): void {
  place.is_locked = false;
  if (order.transaction.status_detail === 'in_review') showDetail(desk, order, 'ready_to_process');
  if (place.is_expiry_due) expire(desk, order);
}

function showDetail(desk: Desk, order: Order, status_detail: string): void {
  order.transaction.status_detail = status_detail;
  touch(desk.world, order);
}
