/** How long each kind of record is kept, and one round of deleting what is older. */
import type { RetentionKind, RetentionLimits } from '../../proxy/records/upkeep.ts';
import type { Store } from '../../proxy/store.ts';

export interface RetentionSettings {
  /** Sales that are over, with their notices and refunds. */
  links_ms: number;
  /** Notices that were delivered or given up, with their attempts. */
  notices_ms: number;
  /** Sums of traffic by day. */
  sums_ms: number;
  /** Sealed tokens, after which they can't be used any more. */
  tokens_ms: number;
}

/** Events that are over: the vendor sends none again after it (`reliability.md` §3.11.2). */
export const EVENTS_KEPT_MS = 7 * 86_400_000;

/** Rows of a kind in one step: payments wait behind it for some milliseconds at most. */
const STEP_ROWS = 200;

/** @param now epoch ms, by `steadyTime`. */
export function limitsOf(settings: RetentionSettings, now: number): RetentionLimits {
  return {
    links_before: now - settings.links_ms,
    notices_before: now - settings.notices_ms,
    events_before: now - EVENTS_KEPT_MS,
    sums_before: now - settings.sums_ms,
    tokens_before: now - settings.tokens_ms,
  };
}

/**
 * Deletes step by step until nothing old is left, or `mayGoOn` says no.
 * @returns rows by kind.
 */
export async function tidyRound(
  store: Pick<Store, 'tidyOld'>,
  limits: RetentionLimits,
  mayGoOn: () => boolean,
): Promise<Record<RetentionKind, number>> {
  const sums = { links: 0, notices: 0, events: 0, sums: 0, tokens: 0 };
  while (mayGoOn()) {
    const step = await store.tidyOld(limits, STEP_ROWS);
    for (const kind of Object.keys(sums) as RetentionKind[]) sums[kind] += step[kind]; // the keys of the line above
    if (Object.values(step).every((rows) => rows < STEP_ROWS)) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return sums;
}
