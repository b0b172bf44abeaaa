/** What the outcome of one create attempt means (`reliability.md` §3.5): pure. */
import { type Order, order as orderSchema } from '../../contract/orders.ts';
import { errorCode, type UpstreamOutcome } from '../upstream/upstream.ts';
import { type Contradiction, contradictionIn, type SaleTerms } from './contradiction.ts';
import { saysNotYet } from './not-yet.ts';

export type CreateVerdict =
  /** The order exists and is ours. */
  | { kind: 'success'; order: Order }
  /** Refused for sure; nothing exists. */
  | { kind: 'definite'; status: number; body: unknown }
  /** Refused unexecuted: by a rate limit, or because it can't be done yet. */
  | { kind: 'not_executed'; status: number; body: unknown; retry_after_ms: number | null }
  /** Proved that no byte left. */
  | { kind: 'not_sent'; cause: string; kept_back?: boolean }
  /** The order may or may not exist. `retry`: the same key and bytes may be sent again now. */
  | { kind: 'ambiguous'; cause: string; retry: boolean; busy: boolean; contradicts?: Contradicting };

/** An order that was answered, and is not the one that was asked for. */
export interface Contradicting {
  order_id: string;
  contradiction: Contradiction;
}

export interface CreateExpectation {
  /** What was sent; an order with other terms is not ours, or not what the till asked for. */
  sale: SaleTerms;
  /** Decimals of the merchant's currency. */
  exponent: number;
  /** True when an earlier attempt of this row may have reached upstream. */
  replay: boolean;
}

/** Classifies one attempt. Never calls a 2xx a success unless the order in it is provably ours. */
export function judgeCreate(outcome: UpstreamOutcome, expected: CreateExpectation): CreateVerdict {
  if (outcome.kind === 'not_sent') return outcome;
  if (outcome.kind === 'broken') return ambiguous(outcome.cause, true);
  const { status, body } = outcome;
  if (status === 200 || status === 201) return judgeOrder(body, expected);
  if (status >= 200 && status < 300) return ambiguous(`unexpected status ${status}`, true);
  if (status === 429 || saysNotYet(outcome))
    return { kind: 'not_executed', status, body, retry_after_ms: outcome.retry_after_ms };
  if (status >= 300 && status < 400) return ambiguous(`redirect ${status}`, false);
  if (status >= 500 || status === 408) return ambiguous(`status ${status}`, true);
  const code = errorCode(body);
  if (code === 'idempotency_key_already_used') return ambiguous(code, false);
  if (!expected.replay) return { kind: 'definite', status, body };
  if (code?.startsWith('already_queued_order')) return { ...ambiguous(code, false), busy: true };
  // 400 and 404 on a replay contradict the first attempt; 401 and 403 mean that the token died meanwhile.
  return ambiguous(`status ${status} on a replay`, false);
}

function judgeOrder(body: unknown, expected: CreateExpectation): CreateVerdict {
  const parsed = orderSchema.safeParse(body);
  if (!parsed.success) return ambiguous('success without a readable order', true);
  const order = parsed.data;
  if (order.external_reference === undefined) return ambiguous('order without a reference', true);
  const contradiction = contradictionIn(expected.sale, order, expected.exponent);
  if (contradiction !== null) return contradicting(order.id, contradiction);
  return { kind: 'success', order };
}

function ambiguous(cause: string, retry: boolean): Extract<CreateVerdict, { kind: 'ambiguous' }> {
  return { kind: 'ambiguous', cause, retry, busy: false };
}

/** The same key and bytes go again: the answer may be wrong and not the order. */
export function contradicting(order_id: string, contradiction: Contradiction): CreateVerdict {
  const { what } = contradiction;
  return { ...ambiguous(`order with another ${what}`, true), contradicts: { order_id, contradiction } };
}
