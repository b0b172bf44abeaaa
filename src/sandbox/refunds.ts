/** `POST /v1/orders/{id}/refund`: total without a body, partial with one. Source: `docs/field-notes.md` Orders §2. */
import { DAY_MS, HOUR_MS } from '../contract/duration.ts';
import { isObject, type Json } from '../contract/json.ts';
import type { Exponent } from '../contract/sites.ts';
import { json, type Problem, problem, refusal } from './answer.ts';
import { bodyJson, fingerprint, type Handler, idempotencyKey } from './call.ts';
import { brokenJson, findOrder, missingKey, orderNotFound, repeatAction } from './create-order.ts';
import { amountText, parseAmount } from './money.ts';
import { isOrderId, markRefunded, newUlid, touch, undoRefunded } from './order.ts';
import { problemOf } from './order-rules.ts';
import { isCard, renderRefund } from './order-view.ts';
import { refundPayment, rejectRefund } from './payments.ts';
import type { Order, Refund } from './records.ts';
import { announceOrder } from './webhooks.ts';
import type { World } from './world.ts';

/** Also QR orders; a repeat with the same key and body is answered as the setting `replay_refunds` says. */
export const refundOrder: Handler = (call) => {
  const { world, merchant } = call;
  const key = idempotencyKey(call);
  if (key === null) return refusal(missingKey);
  const id = call.path('id');
  if (!isOrderId(id, world.settings))
    return refusal(problem(400, 'invalid_path_param', 'path param order id is invalid'));
  const body = bodyJson(call.body);
  if (body !== undefined && 'broken' in body) return refusal(brokenJson);
  const mark = fingerprint(call);
  const known = world.findKey(merchant.user_id, key);
  if (known !== undefined) return repeatAction(known, mark, world.settings.replay_refunds);
  const order = findOrder(world, merchant, id);
  if (order === undefined) return refusal(isQrOfAnother(world, id) ? invalidOwner : orderNotFound);
  const { exponent } = merchant.site;
  const minorOf = (text: string) => parseAmount(text, exponent, order.place.type, world.settings.amounts);
  const part = body === undefined ? null : readPart(body.value, minorOf);
  if (part !== null && 'problem' in part) return refusal(part.problem);
  const refused = checkState(world, order) ?? (part === null ? null : checkPart(order, part, exponent));
  if (refused !== null) return refusal(refused);
  const nodes = refund(world, order, part === null ? null : part.amount_minor);
  const { status, status_detail } = order;
  const refunds = nodes.map((node) => renderRefund(node, exponent));
  const answer = json(201, { id, status, status_detail, transactions: { refunds } });
  world.storeKey(merchant.user_id, key, { fingerprint: mark, answer, order_id: order.id });
  return answer;
};

/** Only QR orders have this refusal (`docs/field-notes.md` Orders §2). */
const invalidOwner = problem(400, 'invalid_order_owner', 'The order belongs to another account');

function isQrOfAnother(world: World, id: string): boolean {
  return world.orders.get(id)?.place.type === 'qr';
}

interface Part {
  transaction_id: string;
  amount_minor: number;
}

/** `{"transactions":[{"id","amount"}]}` with exactly one element, because an order has exactly one payment. */
function readPart(body: Json, minorOf: (amount: string) => number | null): Part | { problem: Problem } {
  const fault = (code: Parameters<typeof problemOf>[0], path: string) => ({ problem: problemOf(code, [path]) });
  if (!isObject(body)) return fault('property_type', '');
  const unknown = Object.keys(body).find((name) => name !== 'transactions');
  if (unknown !== undefined) return fault('unsupported_properties', unknown);
  const { transactions } = body;
  if (transactions === undefined) return fault('required_properties', 'transactions');
  if (!Array.isArray(transactions)) return fault('property_type', 'transactions');
  if (transactions.length === 0) return fault('minimum_items', 'transactions');
  if (transactions.length > 1) return fault('maximum_items', 'transactions');
  const [only] = transactions;
  if (!isObject(only)) return fault('property_type', 'transactions[0]');
  for (const name of ['id', 'amount']) {
    if (only[name] === undefined) return fault('required_properties', `transactions[0].${name}`);
    if (typeof only[name] !== 'string') return fault('property_type', `transactions[0].${name}`);
  }
  const amount_minor = minorOf(String(only.amount));
  if (amount_minor === null) return fault('property_value', 'transactions[0].amount');
  return { transaction_id: String(only.id), amount_minor };
}

function checkState(world: World, order: Order): Problem | null {
  if (order.status === 'refunded') return problem(409, 'order_already_refunded', 'The order is already refunded');
  if (order.status === 'at_terminal' || order.status === 'action_required') {
    const message = `The action is not allowed while the order is ${order.status}`;
    return problem(409, 'action_not_allowed_for_current_state', message);
  }
  if (order.status !== 'processed' || order.paid_at_ms === null) {
    return problem(409, 'cannot_refund_order', `An order in status ${order.status} can't be refunded`);
  }
  const isLate = world.clock.now() - order.paid_at_ms > refundWindow(world, order);
  if (isLate) return order.place.type === 'qr' ? qrPeriodOver : pointPeriodOver;
  if (order.refunds.length >= world.settings.max_refunds) {
    return problem(422, 'max_refunds_exceeded', 'No more refunds are possible for this payment');
  }
  return null;
}

/** Since the payment: Point 90 days, QR 360, QR with a cash withdrawal 72 hours (`docs/field-notes.md` Spec Limits). */
function refundWindow(world: World, { place }: Order): number {
  if (place.type === 'point') return 90 * DAY_MS;
  return place.withdrawal === null ? world.settings.qr_refund_days * DAY_MS : 72 * HOUR_MS;
}

const pointPeriodOver = problem(409, 'refund_period_exceeded', 'The refund period of 90 days has ended');
/** QR has its own status and code for a late refund (`docs/field-notes.md` Orders §2). */
const qrPeriodOver = problem(400, 'in_store_payment_refund_order', 'The refund period has ended');

/** A part is less than the payment and at most the amount not yet refunded. */
function checkPart(order: Order, part: Part, exponent: Exponent): Problem | null {
  const { transaction } = order;
  const method = transaction.payment_method?.type ?? '';
  const isShown = order.place.type === 'point' || order.place.has_payment;
  if (part.transaction_id !== transaction.id || !isShown) {
    return problem(404, 'transaction_not_found', 'Transaction not found', [part.transaction_id]);
  }
  if (transaction.tip_minor > 0) {
    return problem(403, 'partial_refund_forbidden_with_tips', 'A payment with a tip is only refunded whole');
  }
  if (!isCard(method) && !walletMethods.includes(method)) {
    return problem(400, 'unsupported_partially_refunds', `Payments by ${method} are only refunded whole`);
  }
  const paid_minor = transaction.paid_minor ?? transaction.amount_minor;
  const left_minor = paid_minor - transaction.refunded_minor;
  if (part.amount_minor > left_minor) {
    return problem(
      400,
      'refund_amount_exceeds',
      `The amount exceeds the ${amountText(left_minor, exponent)} that are left`,
    );
  }
  if (part.amount_minor === 0 || part.amount_minor === paid_minor) {
    return problem(422, 'amount_not_refundable', 'A partial refund is more than nothing and less than the payment');
  }
  return null;
}

/** Wallets take partial refunds too (`docs/field-notes.md` Orders §2); the names of others are not published. */
const walletMethods = ['qr', 'account_money', 'prepaid_card', 'digital_wallet'];

// What a refund changes in an order and in its payment. Source: `docs/field-notes.md` Orders §2.

/** Null refunds all that is left, with the cash; the caller has checked it. @returns nodes of payment and cash. */
export function refund(world: World, order: Order, part_minor: number | null): Refund[] {
  const nodes = shares(order, part_minor).map((share) => {
    share.receipt.refunded_minor += share.amount_minor;
    return giveBack(world, order, share, part_minor === null ? world.settings.total_refund_status : 'processed');
  });
  const isAllBack = shares(order, null).length === 0;
  if (isAllBack) markRefunded(world, order);
  else {
    order.status_detail = 'partially_refunded';
    touch(world, order);
    if (world.settings.partial_refund_action !== 'none')
      announceOrder(world, order, world.settings.partial_refund_action);
  }
  return nodes;
}

interface Share {
  transaction_id: string;
  amount_minor: number;
  /** The record that counts the refunded sum. */
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

/** Adds a refund to the order and to its payment; both have the same number. */
function giveBack(world: World, order: Order, share: Share, status: 'processing' | 'processed'): Refund {
  const { transaction_id, amount_minor } = share;
  const payment = world.payments.get(order.transaction.reference_id ?? 0);
  if (payment === undefined) throw new Error(`Order ${order.id} was refunded without its payment.`);
  const number = refundPayment(world, payment, amount_minor).id;
  const node: Refund = {
    id: `REF${newUlid(world)}`,
    transaction_id,
    reference_id: String(number),
    amount_minor,
    status,
  };
  order.refunds.push(node);
  if (status === 'processing') {
    const { simulated_step_ms } = world.settings;
    world.clock.schedule(simulated_step_ms, { kind: 'end_order_refund', id: order.id, refund_id: node.id });
  }
  return node;
}

/** Ends a refund that was `processing`, as the setting `processing_refund_ends` says. */
export function endOrderRefund(world: World, order: Order, refund_id: string): void {
  const node = order.refunds.find(({ id }) => id === refund_id);
  if (node === undefined) return;
  node.status = world.settings.processing_refund_ends;
  if (node.status === 'processed') return;
  const { transaction, place } = order;
  const cash = place.type === 'qr' ? place.withdrawal : null;
  const receipt = cash?.id === node.transaction_id ? cash : transaction;
  receipt.refunded_minor -= node.amount_minor;
  undoRefunded(world, order);
  const payment = world.payments.get(transaction.reference_id ?? 0);
  if (payment !== undefined) rejectRefund(world, payment, Number(node.reference_id));
}
