/** Searches of the legacy API whose results are merged with Puente's own sales, and the dates in their queries. */

import { searchMoment } from '../../contract/search-moment.ts';
import type { LegacyCall } from '../http/answer.ts';
import { type Answered, answered, refused, waitOf } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { distrust } from '../routing/merchant-identity.ts';
import type { Link } from '../sales/link.ts';
import { refreshLink } from '../sales/refresh.ts';
import type { LegacyReadName, UpstreamOutcome } from '../upstream/upstream.ts';

interface LegacySearch {
  name: LegacyReadName;
  path: string;
  query: Record<string, string>;
  /** Names of parameters that are instants. */
  moments: readonly string[];
}

/** Legacy's answer and the epoch ms of its request, cached by merchant and query, because tills poll every second. */
export function searchLegacy(
  ports: Ports,
  call: LegacyCall,
  { name, path, query, moments }: LegacySearch,
): Promise<{ at: number; outcome: UpstreamOutcome }> {
  const { search_fresh_ms, timeout_ms } = ports.settings.reads;
  const at = ports.clock.now();
  const send = async () => ({
    at,
    outcome: await ports.upstreams.legacy.send({ name, method: 'GET', path, query, token: call.token, timeout_ms }),
  });
  return ports.memory.cache.get(
    `${name} ${call.merchant.id} ${searchKey(query, moments, search_fresh_ms)}`,
    at,
    search_fresh_ms,
    send,
    ({ outcome }) => outcome.kind === 'answered' && outcome.status === 200,
  );
}

/** Logs that a search lists Puente's sales only, because legacy did not answer. */
export function warnOfLegacy(ports: Ports, call: LegacyCall, outcome: UpstreamOutcome): void {
  ports.log.warn('search: legacy did not answer; only sales of Puente are listed', {
    operation: call.operation.name,
    merchant: call.merchant.id,
    cause: outcome.kind === 'answered' ? `status ${outcome.status}` : outcome.cause,
  });
}

/** Upstream's own error for the till: both sides of Puente have the same error format here. */
export async function asUpstreamSays(ports: Ports, call: LegacyCall, outcome: UpstreamOutcome): Promise<Answered> {
  const { family } = call.operation;
  if (outcome.kind === 'not_sent') return refused(family, 'bad_gateway');
  if (outcome.kind === 'broken' || outcome.status < 400) return refused(family, 'unavailable');
  const { status, body, retry_after_ms } = outcome;
  if (status === 401) await distrust(ports, call.token);
  if (body === undefined) return refused(family, 'unavailable');
  return answered(status, body, waitOf(status, retry_after_ms));
}

/** The query of the first `offset + limit` results, because a page of the merged list depends on all before it. */
export function fromTheFirst(query: Record<string, string>, offset: number, limit: number): Record<string, string> {
  const { offset: _offset, ...others } = query;
  return { ...others, limit: String(offset + limit) };
}

/** Reads live orders again, at most `most`, unless they were read within `reads.search_fresh_ms`. */
export async function refreshLive(ports: Ports, call: LegacyCall, links: Link[], most: number): Promise<Link[]> {
  const fresh_since = ports.clock.now() - ports.settings.reads.search_fresh_ms;
  const stale = links
    .filter((link) => link.state === 'LIVE' && ports.memory.sales.reads.last(link.order_id ?? '') <= fresh_since)
    .slice(0, most);
  const read = new Map<string, Link>();
  await Promise.all(stale.map(async (link) => read.set(link.legacy_id, await refreshLink(ports, link, call.token))));
  return links.map((link) => read.get(link.legacy_id) ?? link);
}

/**
 * The cache key of a search. A till that polls up to now sends another instant each time, so the instants of the named
 * parameters are rounded; the query that is sent stays unchanged.
 * @param step_ms how old a cached answer may be; 0 rounds nothing.
 */
export function searchKey(
  query: Readonly<Record<string, string>>,
  moments: readonly string[],
  step_ms: number,
): string {
  const coarse = Object.entries(query).map(([name, text]): [string, string] => {
    const at = step_ms > 0 && moments.includes(name) && !text.startsWith('NOW') ? searchMoment(text, 0) : null;
    return [name, at === null ? text : String(Math.floor(at / step_ms))];
  });
  return new URLSearchParams(coarse.sort(([one], [other]) => (one < other ? -1 : 1))).toString();
}
