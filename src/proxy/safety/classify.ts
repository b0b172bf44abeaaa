/** What one exchange says of the orders lane, for the safety stop; nothing a shop does ever counts: pure. */

import { type UpstreamCallName, upstreamRoutes } from '../../contract/upstream.ts';
import type { Tables } from '../../mapping/tables.ts';
import { type Exchange, TILL_LEFT } from '../evidence/exchange.ts';
import type { RoutedKind } from '../routing/merchant.ts';
import { kindOfSlot } from '../routing/stage.ts';
import { isNotYet } from '../sales/not-yet.ts';

/** `fault`: ours or the service's. `slow`: right, but so late that tills give up. `fine`: right, and in time. */
export type Class = 'fault' | 'slow' | 'fine';

/** What the classifier looks at. */
export type Judged = Pick<
  Exchange,
  'merchant_id' | 'operation' | 'kind' | 'lane' | 'stage' | 'unit' | 'status' | 'outcome' | 'upstream' | 'duration_ms'
> & {
  /** An upstream error that no row names by itself was told by a default row. */
  default_row: boolean;
};

/**
 * The class of an exchange, and the kind it counts for; null for one that counts for nothing: what is not on the orders
 * lane of a moved merchant, what a shop or a card did (declines, bad requests, busy terminals, unknown ids), tokens that
 * were not accepted, rate limits, and tills that went away. Those are no proof of health either, so that a flood of
 * busy terminals never waters faults down.
 * @param slow_ms from when on a call is slow.
 */
export function classify(
  exchange: Judged,
  slow_ms: number,
): { merchant_id: string; kind: RoutedKind; is: Class } | null {
  const { merchant_id, lane, stage } = exchange;
  const kind = kindOf(exchange);
  if (merchant_id === null || kind === null || lane !== 'orders') return null;
  if (stage !== 'canary' && stage !== 'orders') return null;
  const is = classOf(exchange, slow_ms);
  return is === null ? null : { merchant_id, kind, is };
}

function classOf({ status, outcome, upstream, duration_ms, default_row }: Judged, slow_ms: number): Class | null {
  if (status === TILL_LEFT || outcome === 'auth') return null;
  if (status === 429 || wasPutOff(upstream)) return null;
  if (outcome === 'fault' || status >= 500) return 'fault';
  if (outcome === 'business') return default_row && isOurs(upstream) ? 'fault' : null;
  return duration_ms >= slow_ms ? 'slow' : 'fine';
}

/** By HTTP itself about the payment, about a thing that is not there, or about its state: a shop's affair by any code. */
const SHOPS_AFFAIRS = [402, 404, 409];

/**
 * A refusal that no row names: the service does not take what we make of the call, and the till was told something that
 * may not be so.
 */
function isOurs(upstream: Exchange['upstream']): boolean {
  const status = upstream.at(-1)?.status ?? null;
  return status !== null && !SHOPS_AFFAIRS.includes(status);
}

/** The service refused for its rate limit, or can't do it yet; what the till was told of it is no fault. */
function wasPutOff(upstream: Exchange['upstream']): boolean {
  const last = upstream.findLast(({ name }) => name !== 'get');
  return upstream.at(-1)?.status === 429 || (last?.status != null && isNotYet(last.status, last.code));
}

/** Payments count for the kind of their sale, where the call says whose unit it was; what is of no operation for nothing. */
function kindOf({ kind, unit }: Judged): RoutedKind | null {
  if (kind !== 'payments') return kind;
  return unit === null ? null : kindOfSlot(unit);
}

// Which rows of the errors tables tell what no other row names: an exchange that shows one of them was told by guess.

/** No row names these by themselves, and no body says more: a refusal, a failure, and what is neither. */
const UNNAMED_STATUSES = [418, 599, 302];

/** Row ids, as exchanges carry them in `fired`. */
export function defaultRows(tables: Tables): ReadonlySet<string> {
  const rows = new Set<string>();
  const calls = Object.keys(upstreamRoutes) as UpstreamCallName[]; // the record's own keys
  // A family whose calls are all answered from the map has no errors of the service.
  const translated = tables.operations.filter((operation) => operation.upstream !== null);
  for (const family of new Set(translated.map((operation) => operation.family)))
    for (const call of calls)
      for (const status of UNNAMED_STATUSES) {
        const row = tables.error(family, call, status, {}, {});
        if (row.default) rows.add(row.row);
      }
  return rows;
}
