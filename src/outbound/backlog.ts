/** Which notices the notifier looks at: the oldest, and beside them each merchant's in turns while there are too many to see. */
import type { DeliveryStore } from '../core/records/delivery.ts';
import type { Notice } from '../core/store.ts';

/** A batch is four times what can be in flight, so that those under way don't hide the ones behind them. */
const BATCH_FACTOR = 4;
/** Pages of merchants in one look; the next look begins where this one ended. */
const MOST_PAGES = 4;

export interface Backlog {
  /** Due notices in pages; merchants that come into `full` meanwhile are left out of the next page. `now`: epoch ms. */
  pages(now: number, full: ReadonlySet<string>): AsyncGenerator<Notice[]>;
}

/**
 * Nobody's backlog hides the others, and nothing reads the whole of it: a look costs the same with a hundred notices and
 * with a hundred thousand (`reliability.md` F120).
 */
export function createBacklog(
  store: Pick<DeliveryStore, 'dueNotices' | 'dueNoticesInTurn'>,
  { concurrency, per_host }: { concurrency: number; per_host: number },
): Backlog {
  const batch = BATCH_FACTOR * concurrency;
  /** Where the walk through the merchants goes on; empty: at the beginning. */
  let after_merchant = '';
  return {
    async *pages(now, full) {
      const oldest = await store.dueNotices(now, batch);
      if (oldest.length < batch) {
        yield oldest;
        return;
      }
      for (let page = 0; page < MOST_PAGES; page++) {
        const turn = { now, after_merchant, merchants: concurrency, each: per_host, except_merchants: [...full] };
        const { notices, last_merchant } = await store.dueNoticesInTurn(turn);
        after_merchant = last_merchant ?? '';
        yield page === 0 ? distinct([...oldest, ...notices]) : notices;
        if (last_merchant === null) return;
      }
    },
  };
}

function distinct(notices: Notice[]): Notice[] {
  return [...new Map(notices.map((notice) => [notice.id, notice])).values()];
}
