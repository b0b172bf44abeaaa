/** A call to the orders API and what may come of it; the interface that `outbound/upstream` keeps. */
import { ordersError, type UpstreamCallName, upstreamRoutes } from '../../contract/upstream.ts';
import type { Secret } from '../secret.ts';

/** Reads outside of the orders API that Puente makes by itself; their errors are not documented, and have no rows. */
export type LegacyReadName =
  | 'users_me'
  | 'pos'
  | 'payment'
  | 'payment_search'
  | 'merchant_order_search'
  | 'legacy_intent'
  | 'legacy_till'
  | 'legacy_events'
  | 'legacy_read';

export interface UpstreamCall {
  name: UpstreamCallName | LegacyReadName;
  method: 'GET' | 'POST' | 'PATCH';
  /** Absolute path, ids already checked against their pattern. */
  path: string;
  query?: Record<string, string>;
  /** Beyond authorization, accept, content type and idempotency key, which the client sets. */
  headers?: Record<string, string>;
  /** Exact bytes of a JSON body. */
  body?: Uint8Array;
  token: Secret;
  idempotency_key?: string;
  timeout_ms: number;
  /**
   * A read that a payment, a cancel or a refund waits for: it goes before those of tills that only look. Unset it is told
   * by the call that is being served; false keeps it behind.
   */
  for_payment?: boolean;
}

/**
 * `answered`: a complete answer. `not_sent`: proved that no byte of the request left (`reliability.md` §3.5).
 * `broken`: bytes left and no complete, valid answer came; the effect is unknown.
 */
export type UpstreamOutcome =
  | { kind: 'answered'; status: number; retry_after_ms: number | null; body: unknown }
  /** `kept_back`: by ourselves, because nothing works upstream; another try at once is kept back too. */
  | { kind: 'not_sent'; cause: string; kept_back?: boolean }
  | { kind: 'broken'; cause: string };

export interface Upstream {
  /** Sends once: no retry, no redirect. Never throws for what the network does. */
  send(call: UpstreamCall): Promise<UpstreamOutcome>;
  /** True while a call of this method with this token would be kept back; a client without it keeps nothing back. */
  isShut?(method: UpstreamCall['method'], token: Secret): boolean;
}

/**
 * Name, method and path of a documented call.
 * @param order_id already checked against its pattern, so that it can't change the path (`reliability.md` §0.4).
 */
export function routeOf(name: UpstreamCallName, order_id = ''): Pick<UpstreamCall, 'name' | 'method' | 'path'> {
  const { method, path } = upstreamRoutes[name];
  return { name, method, path: path.replace(':order_id', order_id) };
}

/** The first error code of either envelope (`orders-api.md` §1.5); null when there is none. */
export function errorCode(body: unknown): string | null {
  const parsed = ordersError.safeParse(body);
  if (!parsed.success) return null;
  return 'errors' in parsed.data ? parsed.data.errors[0].code : parsed.data.code;
}
