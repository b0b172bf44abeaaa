/** Which notices the notifier looks at: the oldest, and beside them each merchant's in turns while there are too many to see. */
import type { DeliveryStore } from '../records/delivery.ts';
import type { Notice } from '../records/notices.ts';

/** A batch is four times what can be in flight, so that those under way don't hide the ones behind them. */
const BATCH_FACTOR = 4;
/** Pages of merchants in one look; the next look begins where this one ended. */
const MOST_PAGES = 4;
/** How often it is looked further behind notices that wait for a place: each of those costs reads. */
const WALK_EVERY_MS = 1_000;

/** What has no place in one look; both sets may grow while its pages are gone through. */
export interface Held {
  /** Merchants whose Point notices have none: they are left out of the next turns. */
  merchants: ReadonlySet<string>;
  /** Merchants of which some notice has none. */
  some_of: ReadonlySet<string>;
}

export interface Backlog {
  /** Due notices in pages. `now`: epoch ms. */
  pages(now: number, held: Held): AsyncGenerator<Notice[]>;
}

/**
 * Nobody's backlog hides the others, and nothing reads the whole of it: a look costs the same with a hundred notices and
 * with a hundred thousand (`reliability.md` F120). Nor do a merchant's notices for a crowded host hide its others: one
 * that has to wait is looked behind, a batch at a time.
 */
export function createBacklog(
  store: Pick<DeliveryStore, 'dueNotices' | 'dueNoticesInTurn' | 'dueNoticesBehind'>,
  { concurrency, per_host }: { concurrency: number; per_host: number },
): Backlog {
  const batch = BATCH_FACTOR * concurrency;
  const walk = createWalk(store, batch);
  let walked_at = Number.NEGATIVE_INFINITY;
  /** Where the walk through the merchants goes on; empty: at the beginning. */
  let after_merchant = '';
  return {
    async *pages(now, held) {
      const oldest = await store.dueNotices(now, batch);
      if (oldest.length < batch) {
        yield oldest;
        return;
      }
      for (let page = 0; page < MOST_PAGES; page++) {
        const except_merchants = [...held.merchants];
        const turn = { now, after_merchant, merchants: concurrency, each: per_host, except_merchants };
        const { notices, last_merchant } = await store.dueNoticesInTurn(turn);
        after_merchant = last_merchant ?? '';
        yield page === 0 ? distinct([...oldest, ...notices]) : notices;
        if (last_merchant === null) break;
      }
      if (Math.abs(now - walked_at) < WALK_EVERY_MS) return;
      walked_at = now;
      yield await walk(now, new Set([...held.merchants, ...held.some_of]));
    },
  };
}

/** Goes on behind what was seen of these merchants before, and begins again where it came to the end. */
function createWalk(
  store: Pick<DeliveryStore, 'dueNoticesBehind'>,
  batch: number,
): (now: number, merchants: ReadonlySet<string>) => Promise<Notice[]> {
  /** The last notice seen of each; whoever was looked behind longest ago comes first. */
  const seen = new Map<string, Notice | null>();
  return async (now, merchants) => {
    for (const merchant_id of seen.keys()) if (!merchants.has(merchant_id)) seen.delete(merchant_id);
    for (const merchant_id of merchants) if (!seen.has(merchant_id)) seen.set(merchant_id, null);
    const found: Notice[] = [];
    for (const [merchant_id, after] of [...seen].slice(0, batch)) {
      const limit = batch - found.length;
      if (limit === 0) break;
      const part = await store.dueNoticesBehind({ now, merchant_id, after, limit });
      seen.delete(merchant_id);
      seen.set(merchant_id, part.length < limit ? null : (part.at(-1) ?? null));
      found.push(...part);
    }
    return found;
  };
}

function distinct(notices: Notice[]): Notice[] {
  return [...new Map(notices.map((notice) => [notice.id, notice])).values()];
}
