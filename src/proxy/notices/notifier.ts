/** The delivery loop: takes due notices from the store, sends them at a bounded and fair pace, and records every attempt. */
import { PuenteError } from '../../error.ts';
import { createEntries, type Entries } from '../lru.ts';
import type { Notice } from '../records/notices.ts';
import { type AttemptParts, attemptNotice, type NoticeDelivery, type Receiver } from './delivery.ts';
import { inTurns } from './request.ts';

/** How often the store is asked for what became due by time alone; new notices ring `wake`. */
const POLL_MS = 1_000;
/** A stop waits this long for attempts under way; those cut are unrecorded and sent again after the start. */
const STOP_GRACE_MS = 3_000;
/** Given as the reason, because without one each call makes an error with a stack that nobody reads. */
const WOKEN = 'woken';

export interface NotifierParts extends AttemptParts {
  store: NoticeDelivery;
  /**
   * Asked for every attempt, because a merchant may change its URL while notices wait (F121). Point notices of a merchant
   * have one place at a time; those of QR sales may each have their own.
   */
  receiver: (notice: Notice) => Promise<Receiver>;
  /** In flight at most, over all receivers; 50 by `docs/protocol.md` §3.13. */
  concurrency: number;
  /** In flight at most to one host, so that a slow receiver can't take every place; 2 by the same rule. */
  per_host: number;
}

export interface Notifier {
  /** Looks for due notices now; call it after a commit that wrote some. */
  wake(): void;
  /** Starts nothing more, and waits up to 3 s for what is under way. */
  stop(): Promise<void>;
}

/**
 * Starts the loop. Of one topic and id at most one notice is in flight; an attempt is recorded after it ended, so a crash between
 * delivery and record means a second delivery with the same request id, never a lost one (F119).
 */
export function startNotifier(parts: NotifierParts): Notifier {
  const stopping = new AbortController();
  const flights = createEntries<Flight>();
  const turns = new Map<string, number>();
  const places = createPlaces(POLL_MS);
  const backlog = createBacklog(parts.store, parts);
  let turn = 0;
  let bell = new AbortController();
  const wake = (): void => bell.abort(WOKEN);

  function takeOff(notice: Notice, receiver: Receiver | null, host: string | null): void {
    turns.set(notice.merchant_id, ++turn);
    const landed = attemptNotice(parts, notice, receiver, stopping.signal).finally(() => {
      flights.delete(kindOf(notice));
      wake();
    });
    flights.set(kindOf(notice), { host, landed });
  }

  /**
   * Null when the settings can't be used, which must not stop the other merchants' notices.
   * @throws PuenteError store_failed: then nobody's can be read now, and all that is due stays due.
   */
  async function lookUp(notice: Notice): Promise<Receiver | null> {
    try {
      return await parts.receiver(notice);
    } catch (error) {
      if (error instanceof PuenteError && error.code === 'store_failed') throw error;
      parts.onFault?.(error, notice);
      return null;
    }
  }

  /** Starts what may start of these, merchants in turns; false when there is no place left. */
  async function startSome(due: Notice[], underWay: ReadonlySet<string>, look: Look): Promise<boolean> {
    const waiting = inTurns(
      due.filter((notice) => !underWay.has(kindOf(notice))),
      (id) => turns.get(id) ?? 0,
    );
    for (const notice of waiting) {
      if (flights.size >= parts.concurrency || stopping.signal.aborted) return false;
      // A replayed notice and a newer one of its topic and id can both be due.
      if (flights.has(kindOf(notice))) continue;
      if (look.isHeld(notice)) continue;
      const receiver = await lookUp(notice);
      const host = hostOf(receiver?.url ?? null);
      if (host === null || look.hasPlace(notice, host)) takeOff(notice, receiver, host);
    }
    return true;
  }

  async function startDue(): Promise<void> {
    const now = parts.clock.now();
    const look = places.look((host) => countOf(flights, host) >= parts.per_host, now);
    // Taken before the store reads, because one that lands during the read is in the answer as it was before.
    let underWay = new Set(flights.keys());
    for await (const due of backlog.pages(now, look)) {
      if (!(await startSome(due, underWay, look))) return;
      underWay = new Set(flights.keys());
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      bell = new AbortController();
      try {
        await startDue();
      } catch (error) {
        parts.onFault?.(error);
      }
      if (!stopping.signal.aborted) await parts.clock.sleep(POLL_MS, bell.signal);
    }
  }

  const running = run();
  return {
    wake,
    async stop() {
      stopping.abort();
      wake();
      await running;
      const patience = new AbortController();
      const landed = Promise.all(flights.values().map((flight) => flight.landed));
      await Promise.race([landed, parts.clock.sleep(STOP_GRACE_MS, patience.signal)]);
      patience.abort();
    },
  };
}

/** What is told one after the other: the form, the topic and the id that it is about. */
function kindOf({ legacy_id, form, topic, subject }: Notice): string {
  return `${legacy_id} ${form} ${topic} ${subject}`;
}

interface Flight {
  host: string | null;
  landed: Promise<void>;
}

function hostOf(url: string | null): string | null {
  return url === null ? null : (URL.parse(url)?.host ?? null);
}

function countOf(flights: Entries<Flight>, host: string): number {
  let count = 0;
  for (const flight of flights.values()) if (flight.host === host) count++;
  return count;
}

// Which notices the notifier looks at: the oldest, and beside them each merchant's in turns while there are too many
// to see.

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
 * with a hundred thousand (`test/faults/README.md` F120). Nor do a merchant's notices for a crowded host hide its others: one
 * that has to wait is looked behind, a batch at a time.
 */
export function createBacklog(
  store: NoticeDelivery,
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
  store: NoticeDelivery,
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

// Which notices have a place at their receiver's host, remembered for a moment, so that a thousand of one crowded
// host are not looked up each time.

/** One look at what is due. */
export interface Look extends Held {
  /** Known to have no place, without looking up where it goes. */
  isHeld(notice: Notice): boolean;
  /** There is a place for a notice that goes to this host. */
  hasPlace(notice: Notice, host: string): boolean;
}

export interface Places {
  /** @param isFull says that a host has no place. @param now epoch ms. */
  look(isFull: (host: string) => boolean, now: number): Look;
}

/**
 * Point notices of a merchant all go to one place, so one that waits keeps the others; those of QR sales may each go
 * elsewhere, and keep nobody.
 * @param kept_ms after so long all is forgotten: a merchant may have changed its URL.
 */
export function createPlaces(kept_ms: number): Places {
  const of_merchants = new Map<string, Set<string>>();
  const of_sales = new Map<string, Set<string>>();
  let since = Number.NEGATIVE_INFINITY;
  return {
    look(isFull, now) {
      if (Math.abs(now - since) >= kept_ms) {
        of_merchants.clear();
        of_sales.clear();
        since = now;
      }
      const merchants = idsAt(of_merchants, isFull);
      const sales = idsAt(of_sales, isFull);
      const some_of = new Set<string>();
      /** Where QR notices had to wait: a place that gets free meanwhile is for the oldest, in the next look. */
      const crowded = new Set<string>();
      return {
        merchants,
        some_of,
        isHeld({ form, merchant_id, legacy_id }) {
          const is_held = form === 'point' ? merchants.has(merchant_id) : sales.has(legacy_id);
          if (is_held) some_of.add(merchant_id);
          return is_held;
        },
        hasPlace({ form, merchant_id, legacy_id }, host) {
          const is_point = form === 'point';
          if (is_point) learn(of_merchants, host, merchant_id);
          else learn(of_sales, host, legacy_id);
          if (!isFull(host) && (is_point || !crowded.has(host))) return true;
          some_of.add(merchant_id);
          if (is_point) merchants.add(merchant_id);
          else {
            sales.add(legacy_id);
            crowded.add(host);
          }
          return false;
        },
      };
    },
  };
}

function learn(ids: Map<string, Set<string>>, host: string, id: string): void {
  const there = ids.get(host);
  if (there === undefined) ids.set(host, new Set([id]));
  else there.add(id);
}

function idsAt(ids: Map<string, Set<string>>, isFull: (host: string) => boolean): Set<string> {
  const hosts = [...ids].filter(([host]) => isFull(host));
  return new Set(hosts.flatMap(([, there]) => [...there]));
}
