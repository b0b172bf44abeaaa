/** The shared log of all tills: their requests and the answers. */
import type { Answer } from '../http.ts';
import type { ReadFacts, RefundFacts, SaleFacts } from './history.ts';

export interface TillLog {
  sales: Map<string, SaleFacts>;
  reads: ReadFacts[];
  refunds: Map<string, RefundFacts>;
  canceled: Set<string>;
  /** Calls by operation; '' for a call that is no operation. */
  operations: Map<string, number>;
  answered: Map<string, Set<number>>;
  /** Calls by status; 0 for no answer. */
  statuses: Map<number, number>;
  /** Durations of calls since the last sample took them, milliseconds. */
  durations_ms: number[];
  calls: number;
}

export function newTillLog(): TillLog {
  return {
    sales: new Map(),
    reads: [],
    refunds: new Map(),
    canceled: new Set(),
    operations: new Map(),
    answered: new Map(),
    statuses: new Map(),
    durations_ms: [],
    calls: 0,
  };
}

export interface Shop {
  merchant: string;
  site: string;
  /** Decimals of its currency. */
  exponent: number;
  notice_url: string;
}

export function noteCall(log: TillLog, operation: string, status: number, duration_ms: number): void {
  log.calls++;
  log.operations.set(operation, (log.operations.get(operation) ?? 0) + 1);
  const statuses = log.answered.get(operation) ?? new Set();
  log.answered.set(operation, statuses.add(status));
  log.statuses.set(status, (log.statuses.get(status) ?? 0) + 1);
  log.durations_ms.push(duration_ms);
}

interface Said {
  operation: string;
  target: string;
  body: unknown;
  answer: Answer;
  began: number;
  ended: number;
}

export function note(log: TillLog, shop: Shop, said: Said): void {
  const { operation, target, answer, began, ended } = said;
  const fields = isObject(answer.body) ? answer.body : {};
  if (isCreate(operation)) noteSale(log, shop, said, fields);
  const isRead = answer.status === 200;
  if (isRead && READS_INTENT.has(operation))
    log.reads.push({ subject: String(fields.id), state: String(fields.state), began, ended });
  if (isRead && operation === 'merchant_orders.get')
    log.reads.push({ subject: `merchant_order:${fields.id}`, state: String(fields.order_status), began, ended });
  if (CANCELS_INTENT.has(operation)) log.canceled.add(target.split('/').at(-1) ?? '');
}

const READS_INTENT = new Set(['point.get_intent', 'point.get_intent_by_device']);
const CANCELS_INTENT = new Set(['point.cancel_intent', 'point.cancel_intent_without_device']);

export function isRefund(operation: string): boolean {
  return operation === 'payments.create_refund' || operation === 'payments.refund_collection';
}

export function isCreate(operation: string): boolean {
  return /^(point\.create_intent|qr_v1\.(create|replace)|qr\.put_order|qr\.(create|put)_code)/.test(operation);
}

function noteSale(log: TillLog, shop: Shop, said: Said, fields: Record<string, unknown>): void {
  const { operation, body, answer } = said;
  if (!isObject(body)) return;
  const isPoint = operation === 'point.create_intent';
  const named = isPoint ? body.additional_info : body;
  const reference = isObject(named) ? named.external_reference : undefined;
  if (typeof reference !== 'string' || reference === '') return;
  const key = `${shop.merchant} ${reference}`;
  const sale: SaleFacts = log.sales.get(key) ?? {
    merchant: shop.merchant,
    kind: isPoint ? 'point' : operation.startsWith('qr.create_code') ? 'dynamic' : 'static',
    reference,
    amount_minor: isPoint ? wholeOrNull(body.amount) : sumOf(body, shop.exponent),
    statuses: [],
    ids: [],
  };
  log.sales.set(key, sale);
  sale.statuses.push(answer.status);
  if (isPoint && isOk(answer.status) && !sale.ids.includes(String(fields.id))) sale.ids.push(String(fields.id));
}

/** v2 has a total; v1 is the sum of its items. Minor units; null when neither adds up. */
function sumOf(body: Record<string, unknown>, exponent: number): number | null {
  const { total_amount, items } = body;
  if (total_amount !== undefined) return wholeOrNull(minor(total_amount, exponent));
  if (!Array.isArray(items)) return null;
  return wholeOrNull(
    items.reduce((sum: number, item) => sum + minor(item.unit_price, exponent) * Number(item.quantity), 0),
  );
}

/** Records one refund that a cashier wanted, by its last answer: retries after a lost answer are the same refund. */
export function noteRefund(log: TillLog, shop: Shop, said: Pick<Said, 'operation' | 'target' | 'answer'>): void {
  const { operation, target, answer } = said;
  const fields = isObject(answer.body) ? answer.body : {};
  const payment_id = /\/(\d+)/.exec(target)?.[1] ?? '';
  const refund = log.refunds.get(payment_id) ?? { payment_id, told_minor: 0, open: 0 };
  log.refunds.set(payment_id, refund);
  const told = operation === 'payments.create_refund' ? wholeOrNull(minor(fields.amount, shop.exponent)) : null;
  if (answer.status === 201 && told !== null) refund.told_minor += told;
  else if (isOk(answer.status) || isLost(answer.status)) refund.open++;
}

function minor(amount: unknown, exponent: number): number {
  return typeof amount === 'number' ? Math.round(amount * 10 ** exponent) : Number.NaN;
}

function wholeOrNull(amount: unknown): number | null {
  return typeof amount === 'number' && Number.isSafeInteger(amount) ? amount : null;
}

export function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** No answer, or one that leaves the outcome open. */
export function isLost(status: number): boolean {
  return status === 0 || status >= 500;
}
