/** Times as the legacy Point API writes them. */

/** Epoch milliseconds to `2023-09-13T18:22:30Z` (`legacy-point.md` §1.6); undefined when it is no time. */
export function instant(at: unknown): string | undefined {
  return typeof at === 'number' && Number.isFinite(at) ? `${new Date(at).toISOString().slice(0, 19)}Z` : undefined;
}

/** Epoch milliseconds to `2026-01-31 17:10:37` in UTC (`legacy-point.md` §3.1); undefined when it is no time. */
export function dateTime(at: unknown): string | undefined {
  return instant(at)?.slice(0, 19).replace('T', ' ');
}
