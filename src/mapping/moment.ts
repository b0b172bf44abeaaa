/** Times as the legacy Point API writes them. */

/** Epoch milliseconds to `2023-09-13T18:22:30Z` (`legacy-point.md` §1.6); undefined when it is no time. */
export function instant(at: unknown): string | undefined {
  return typeof at === 'number' && Number.isFinite(at) ? `${new Date(at).toISOString().slice(0, 19)}Z` : undefined;
}

/** Epoch milliseconds to `2026-01-31 17:10:37` in UTC (`legacy-point.md` §3.1); undefined when it is no time. */
export function dateTime(at: unknown): string | undefined {
  return instant(at)?.slice(0, 19).replace('T', ' ');
}

/** The old APIs answer in UTC−4 whatever the site (`legacy-qr.md` §2). */
const OFFSET_MS = 4 * 3_600_000;

/** An RFC 3339 instant, or epoch milliseconds, as `2026-01-05T10:00:03.000-04:00`; undefined when it is none. */
export function offsetTime(value: unknown): string | undefined {
  const milliseconds = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(milliseconds)) return undefined;
  return new Date(milliseconds - OFFSET_MS).toISOString().replace('Z', '-04:00');
}
