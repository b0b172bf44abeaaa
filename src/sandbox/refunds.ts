/** `POST /v1/orders/{id}/refund`: total without a body, partial with one. Source: `orders-api.md` §2. */
import type { Request } from 'express';
import type { Json } from '../contract/json.ts';
import { type Answer, json, type Problem, refusal } from './answer.ts';
import { bodyJson } from './body.ts';
import type { Merchant } from './cast.ts';
import { newUlid, ORDER_ID } from './ids.ts';
import { amountText, parseAmount } from './money.ts';
import { isCard, type Order, type Refund, renderRefund } from './order.ts';
import {
  findOrder,
  fingerprint,
  idempotencyKey,
  missingKey,
  orderNotFound,
  pathId,
  replayAction,
} from './order-call.ts';
import { isObject, problemOf } from './order-request.ts';
import { type Desk, markRefunded, touch } from './order-states.ts';
import type { World } from './world.ts';

/** Point: 90 days from the payment (`interface.md` Limits). */
const REFUND_WINDOW_MS = 90 * 24 * 60 * 60 * 1000;

export function refundOrder(desk: Desk, merchant: Merchant, request: Request): Answer {
  const { world } = desk;
  const key = idempotencyKey(request);
  if (key === null) return refusal(missingKey);
  const id = pathId(request);
  if (!ORDER_ID.test(id))
    return refusal({ status: 400, code: 'invalid_path_param', message: 'path param order id is invalid' });
  const body = bodyJson(request);
  if (body !== undefined && 'broken' in body) {
    return refusal({ status: 400, code: 'json_syntax_error', message: 'The body is not valid JSON' });
  }
  const mark = fingerprint(request);
  const known = world.keys.find(merchant.user_id, key);
  if (known !== undefined) return replayAction(world, known, mark);
  const order = findOrder(world, merchant, id);
  if (order === undefined) return refusal(orderNotFound);
  const part = body === undefined ? null : readPart(body.value);
  if (part !== null && 'problem' in part) return refusal(part.problem);
  const problem = checkState(world, order) ?? (part === null ? null : checkPart(order, part));
  if (problem !== null) return refusal(problem);
  const node = refund(desk, order, part === null ? null : part.amount_minor);
  const { status, status_detail } = order;
  const answer = json(201, { id, status, status_detail, transactions: { refunds: [renderRefund(node)] } });
  world.keys.store(merchant.user_id, key, { fingerprint: mark, answer, order_id: order.id });
  return answer;
}

interface Part {
  transaction_id: string;
  amount_minor: number;
}

/** `{"transactions":[{"id","amount"}]}`, exactly one element because an order has exactly one payment. */
function readPart(body: Json): Part | { problem: Problem } {
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
  const amount_minor = parseAmount(String(only.amount));
  if (amount_minor === null) return fault('property_value', 'transactions[0].amount');
  return { transaction_id: String(only.id), amount_minor };
}

function checkState(world: World, order: Order): Problem | null {
  if (order.status === 'refunded')
    return { status: 409, code: 'order_already_refunded', message: 'The order is already refunded' };
  if (order.status === 'at_terminal' || order.status === 'action_required') {
    const message = `The action is not allowed while the order is ${order.status}`;
    return { status: 409, code: 'action_not_allowed_for_current_state', message };
  }
  if (order.status !== 'processed' || order.paid_at_ms === null) {
    return {
      status: 409,
      code: 'cannot_refund_order',
      message: `An order in status ${order.status} can't be refunded`,
    };
  }
  if (world.clock.now() - order.paid_at_ms > REFUND_WINDOW_MS) {
    return { status: 409, code: 'refund_period_exceeded', message: 'The refund period of 90 days is over' };
  }
  if (order.refunds.length >= world.settings.max_refunds) {
    return { status: 422, code: 'max_refunds_exceeded', message: 'No more refunds are possible for this payment' };
  }
  return null;
}

/** A partial amount is less than the original, and no more than what is left. */
function checkPart(order: Order, part: Part): Problem | null {
  const { transaction } = order;
  const method = transaction.payment_method?.type ?? '';
  if (part.transaction_id !== transaction.id) {
    return {
      status: 404,
      code: 'transaction_not_found',
      message: 'Transaction not found',
      details: [part.transaction_id],
    };
  }
  if (transaction.tip_minor > 0) {
    return {
      status: 403,
      code: 'partial_refund_forbidden_with_tips',
      message: 'A payment with a tip is only refunded whole',
    };
  }
  if (!isCard(method) && !walletMethods.includes(method)) {
    return {
      status: 400,
      code: 'unsupported_partially_refunds',
      message: `Payments by ${method} are only refunded whole`,
    };
  }
  const left_minor = transaction.amount_minor - transaction.refunded_minor;
  if (part.amount_minor > left_minor) {
    return {
      status: 400,
      code: 'refund_amount_exceeds',
      message: `The amount exceeds the ${amountText(left_minor)} that are left`,
    };
  }
  if (part.amount_minor === 0 || part.amount_minor === transaction.amount_minor) {
    return {
      status: 422,
      code: 'amount_not_refundable',
      message: 'A partial refund is more than nothing and less than the payment',
    };
  }
  return null;
}

/** Wallets take partial refunds too (`orders-api.md` §2); the other names are not published. */
const walletMethods = ['qr', 'account_money', 'prepaid_card', 'digital_wallet'];

/** Refunds a part in minor units, or with null whatever is left; the caller has checked that it may. */
export function refund(desk: Desk, order: Order, part_minor: number | null): Refund {
  const { world } = desk;
  const { transaction } = order;
  const left_minor = (transaction.paid_minor ?? transaction.amount_minor) - transaction.refunded_minor;
  const node: Refund = {
    id: `REF${newUlid(world)}`,
    transaction_id: transaction.id,
    reference_id: String(world.nextPaymentId()),
    amount_minor: part_minor ?? left_minor,
    status: part_minor === null ? world.settings.total_refund_status : 'processed',
  };
  order.refunds.push(node);
  transaction.refunded_minor += node.amount_minor;
  refundPayment(world, order, node.amount_minor);
  if (node.status === 'processing') {
    world.clock.schedule(world.settings.simulated_step_ms, () => {
      node.status = 'processed';
    });
  }
  if (node.amount_minor === left_minor) markRefunded(desk, order);
  else {
    order.status_detail = 'partially_refunded';
    touch(world, order);
    if (world.settings.partial_refund_action !== 'none') desk.announce(order, world.settings.partial_refund_action);
  }
  return node;
}

function refundPayment(world: World, order: Order, amount_minor: number): void {
  const payment = world.payments.get(order.transaction.reference_id ?? 0);
  if (payment === undefined) return;
  payment.refunded_minor += amount_minor;
  payment.updated_at_ms = world.clock.now();
  if (payment.refunded_minor >= payment.amount_minor + payment.tip_minor) {
    payment.status = 'refunded';
    payment.status_detail = 'refunded';
  } else payment.status_detail = 'partially_refunded';
}
