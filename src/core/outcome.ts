/** What the outcome of one create attempt means (`reliability.md` §3.5): pure. */
import { type Order, order as orderSchema } from '../contract/orders.ts';
import { ordersError } from '../contract/upstream.ts';
import type { UpstreamOutcome } from './upstream.ts';

export type CreateVerdict =
  /** The order exists and is ours. */
  | { kind: 'success'; order: Order }
  /** Refused for sure; nothing exists. */
  | { kind: 'definite'; status: number; body: unknown }
  /** Refused unexecuted by a rate limit. */
  | { kind: 'not_executed'; status: number; body: unknown; retry_after_ms: number | null }
  /** Proved that no byte left. */
  | { kind: 'not_sent'; cause: string; kept_back?: boolean }
  /** The order may or may not exist. `retry`: the same key and bytes may be sent again now. */
  | { kind: 'ambiguous'; cause: string; retry: boolean; busy: boolean };

export interface CreateExpectation {
  /** The reference that was sent; an answer with another is foreign. */
  reference: string;
  merchant_id: string;
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
  if (status === 429) return { kind: 'not_executed', status, body, retry_after_ms: outcome.retry_after_ms };
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
  if (order.external_reference !== expected.reference) return ambiguous('order with a foreign reference', true);
  if (order.user_id !== undefined && order.user_id !== expected.merchant_id) {
    return ambiguous('order of another merchant', true);
  }
  return { kind: 'success', order };
}

/** The first error code of either envelope (`orders-api.md` §1.5); null when there is none. */
export function errorCode(body: unknown): string | null {
  const parsed = ordersError.safeParse(body);
  if (!parsed.success) return null;
  return 'errors' in parsed.data ? parsed.data.errors[0].code : parsed.data.code;
}

function ambiguous(cause: string, retry: boolean): Extract<CreateVerdict, { kind: 'ambiguous' }> {
  return { kind: 'ambiguous', cause, retry, busy: false };
}
