/** Which rows of the errors tables tell what no other row names: an exchange that shows one of them was told by guess. */
import { type UpstreamCallName, upstreamRoutes } from '../../contract/upstream.ts';
import type { Tables } from '../../mapping/tables.ts';

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
