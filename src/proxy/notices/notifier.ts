/** The delivery loop: reads due notices, sends them at a bounded and fair rate, and records every attempt. */
import { PuenteError } from '../../error.ts';
import { createEntries } from '../concurrency.ts';
import type { Notice } from '../records/notices.ts';
import { type AttemptParts, attemptNotice, type NoticeDelivery } from './delivery.ts';
import type { Receiver } from './request.ts';

/** Interval of reads for notices that became due by time; new ones call `wake`. */
const POLL_MS = 1_000;
/** A stop waits this long for running attempts; those that are cut are not recorded, and sent again after the start. */
const STOP_GRACE_MS = 3_000;
/** An abort without a reason creates an error with a stack each time. */
const WOKEN = 'woken';

export interface NotifierParts extends AttemptParts {
  store: NoticeDelivery;
  /** Called for every attempt, because a merchant may change its URL while notices wait (F121). */
  receiver: (notice: Notice) => Promise<Receiver>;
  /** Running attempts, over all receivers. */
  concurrency: number;
  /** Running attempts to one host, so that a slow receiver can't occupy all. */
  per_host: number;
}

/**
 * Sends one notice of a topic and id at a time. An attempt is recorded after its end, so a crash in between causes a
 * second delivery with the same request id, never a lost one (F119).
 */
export function startNotifier(parts: NotifierParts) {
  const stopping = new AbortController();
  const in_flight = createEntries<{ id: string; ended: Promise<void> }>();
  const attempts = countByHost();
  const served = new Map<string, number>();
  const places = createPlaces(POLL_MS);
  const backlog = createBacklog(parts.store, parts);
  let turn = 0;
  let bell = new AbortController();
  const wake = (): void => bell.abort(WOKEN);

  function begin(notice: Notice, receiver: Receiver | null, host: string | null): void {
    served.set(notice.merchant_id, ++turn);
    backlog.began(notice);
    const kind = kindOf(notice);
    const ended = attemptNotice(parts, notice, receiver, stopping.signal).finally(() => {
      in_flight.delete(kind);
      attempts.add(host, -1);
      backlog.ended();
      wake();
    });
    in_flight.set(kind, { id: notice.id, ended });
    attempts.add(host, 1);
  }

  /** Starts attempts, merchants in turns; false when no place is left. */
  async function startSome(due: Notice[], underWay: UnderWay, look: Look): Promise<boolean> {
    for (const notice of inTurns(due, (id) => served.get(id) ?? 0)) {
      if (in_flight.size >= parts.concurrency || stopping.signal.aborted) return false;
      if (look.isHeld(notice)) continue;
      const kind = kindOf(notice);
      // A redelivered notice and a newer one of its topic and id can both be due.
      if (underWay.has(kind) || in_flight.has(kind)) continue;
      const receiver = await lookUp(parts, notice);
      const host = hostOf(receiver?.url ?? null);
      if (host === null || look.hasPlace(notice, host, receiver?.is_merchants)) begin(notice, receiver, host);
    }
    return true;
  }

  async function startDue(): Promise<void> {
    const now = parts.clock.now();
    const look = places.look((host) => attempts.to(host) >= parts.per_host, now);
    // Copied before the store reads: a notice whose attempt ends during the read is still due in the answer.
    const copied = (): UnderWay => new Map(in_flight.keys().map((kind) => [kind, in_flight.get(kind)?.id]));
    let underWay = copied();
    for await (const due of backlog.pages(now, look, underWay)) {
      if (!(await startSome(due, underWay, look))) return;
      underWay = copied();
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
    /** Reads due notices now; called after a commit that wrote some. @param merchant_id their merchant; without it, any. */
    wake(merchant_id?: string): void {
      backlog.grew(merchant_id);
      wake();
    },
    /** Starts no more attempts, and waits up to 3 s for running ones. */
    async stop(): Promise<void> {
      stopping.abort();
      wake();
      await running;
      const patience = new AbortController();
      const ended = Promise.all(in_flight.values().map((one) => one.ended));
      await Promise.race([ended, parts.clock.sleep(STOP_GRACE_MS, patience.signal)]);
      patience.abort();
    },
  };
}

/**
 * One notice of each merchant, then the second of each, and so on; merchants with the lowest turn first.
 * @param turnOf when a merchant was last served, as a rising number; 0: never.
 */
export function inTurns<N extends Pick<Notice, 'merchant_id'>>(
  notices: N[],
  turnOf: (merchant_id: string) => number,
): N[] {
  const byMerchant = Map.groupBy(notices, (notice) => notice.merchant_id);
  const queues = [...byMerchant].sort(([one], [other]) => turnOf(one) - turnOf(other)).map(([, queue]) => queue);
  const rounds = Math.max(0, ...queues.map((queue) => queue.length));
  const ordered: N[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const queue of queues) {
      const notice = queue[round];
      if (notice !== undefined) ordered.push(notice);
    }
  }
  return ordered;
}

/** Notices of one kind are delivered one after the other. */
function kindOf({ legacy_id, form, topic, subject }: Notice): string {
  return `${legacy_id} ${form} ${topic} ${subject}`;
}

/** The notices of running attempts: ids by kind. */
type UnderWay = ReadonlyMap<string, string | undefined>;

/** Null for unusable settings: other merchants' notices continue. @throws PuenteError store_failed; all stay due. */
async function lookUp(parts: NotifierParts, notice: Notice): Promise<Receiver | null> {
  try {
    return await parts.receiver(notice);
  } catch (error) {
    if (error instanceof PuenteError && error.code === 'store_failed') throw error;
    parts.onFault?.(error, notice);
    return null;
  }
}

/** Running attempts by host; those without one are not counted. */
function countByHost() {
  const running = createEntries<number>();
  const to = (host: string): number => running.get(host) ?? 0;
  return {
    to,
    add(host: string | null, by: 1 | -1): void {
      if (host === null) return;
      if (to(host) + by === 0) running.delete(host);
      else running.set(host, to(host) + by);
    },
  };
}

function hostOf(url: string | null): string | null {
  return url === null ? null : (URL.parse(url)?.host ?? null);
}

/** Four times the attempts in flight, so that running notices do not hide later ones. */
const BATCH_FACTOR = 4;
/** Pages of merchants in one look; the next look starts after them. */
const MOST_PAGES = 4;
/** Interval of reads behind waiting notices, which cost reads per merchant. */
const WALK_EVERY_MS = 1_000;
/**
 * Age up to which the oldest notices are taken from the last read, if no commit has added any since or they are many, and
 * merchants are not read in turns again while enough of each one's are among those: each attempt that ends looks for more.
 */
const OLDEST_KEPT_MS = 200;

/** Merchants whose notices have no place now; both sets may grow while the pages are read. */
interface Held {
  /** Their Point notices have no place: the next turns leave them out. */
  merchants: ReadonlySet<string>;
  /** Some of their notices have no place. */
  some_of: ReadonlySet<string>;
}

/**
 * Reads the oldest due notices, and of a large backlog those of each merchant in turns: no backlog hides other notices,
 * and a look costs the same with a hundred as with a hundred thousand (`test/faults/README.md` F120). Behind notices
 * that wait for a busy host, the others of their merchant are read a batch at a time.
 */
function createBacklog(store: NoticeDelivery, { concurrency, per_host }: NotifierParts) {
  const batch = BATCH_FACTOR * concurrency;
  const oldest = createOldest(store, batch);
  const walk = createWalk(store, batch);
  let walked_at = Number.NEGATIVE_INFINITY;
  /** Where the next turn of merchants starts; empty: at the first. */
  let after_merchant = '';
  /** All merchants with due notices, as the last read in turns found them; null when it did not come to its end. */
  let supplied: { merchants: ReadonlySet<string> | null; at: number } = { merchants: null, at: 0 };
  /** True while a read in turns would find nothing earlier: enough of each merchant's notices are kept. */
  const isSupplied = (now: number): boolean => {
    const { merchants, at } = supplied;
    if (merchants === null || Math.abs(now - at) >= OLDEST_KEPT_MS) return false;
    const waiting = Map.groupBy(oldest.kept(), ({ merchant_id }) => merchant_id);
    return [...merchants].every((merchant_id) => (waiting.get(merchant_id)?.length ?? 0) >= per_host);
  };
  return {
    began: oldest.began,
    ended: oldest.ended,
    /** Called after a commit of notices: of a merchant that has a backlog already, they are behind it. */
    grew(merchant_id?: string): void {
      oldest.grew();
      if (merchant_id === undefined || supplied.merchants?.has(merchant_id) !== true)
        supplied = { merchants: null, at: 0 };
    },
    /** @param now epoch ms. */
    async *pages(now: number, held: Held, underWay: UnderWay): AsyncGenerator<Notice[]> {
      const { notices: first, are_more } = await oldest.read(now, underWay);
      if (!are_more) {
        yield first;
        return;
      }
      if (isSupplied(now)) yield first;
      else {
        const whole = after_merchant === '' ? new Set(held.merchants) : null;
        supplied = { merchants: null, at: now };
        for (let page = 0; page < MOST_PAGES; page++) {
          const except_merchants = [...held.merchants];
          const turn = { now, after_merchant, merchants: concurrency, each: per_host, except_merchants };
          const { notices, last_merchant } = await store.dueNoticesInTurn(turn);
          after_merchant = last_merchant ?? '';
          for (const { merchant_id } of notices) whole?.add(merchant_id);
          yield page === 0 ? distinct([...first, ...notices]) : notices;
          if (last_merchant === null) {
            supplied.merchants = whole;
            break;
          }
        }
      }
      if (Math.abs(now - walked_at) < WALK_EVERY_MS) return;
      walked_at = now;
      yield await walk(now, new Set([...held.merchants, ...held.some_of]));
    },
  };
}

/** Reads the oldest due notices, and keeps those that no attempt has begun for. */
function createOldest(store: NoticeDelivery, batch: number) {
  let kept = new Map<string, Notice>();
  let kept_since = Number.NEGATIVE_INFINITY;
  /** The last read had as many as it may have: there are more. */
  let is_large = false;
  /** Notices may be due that the last read does not have. */
  let has_grown = true;
  /** One that is not kept waits for the end of an attempt of its kind. */
  let has_behind = false;
  return {
    kept: () => kept.values(),
    /** Called after a commit of notices. */
    grew(): void {
      has_grown = true;
    },
    /** Called when an attempt begins: others of its kind may be superseded by its end. */
    began(notice: Notice): void {
      const kind = kindOf(notice);
      kept.delete(notice.id);
      for (const one of kept.values()) {
        if (kindOf(one) !== kind) continue;
        kept.delete(one.id);
        has_behind = true;
      }
    },
    /** Called when an attempt is recorded. */
    ended(): void {
      has_grown ||= has_behind;
    },
    /**
     * `are_more`: there is more than a batch, so merchants are read in turns, too.
     * @param underWay as it was before the read; such a notice may have been sent when the read ends.
     */
    async read(now: number, underWay: UnderWay): Promise<{ notices: Notice[]; are_more: boolean }> {
      const is_enough = is_large ? kept.size > batch / 2 : !has_grown;
      if (is_enough && Math.abs(now - kept_since) < OLDEST_KEPT_MS)
        return { notices: [...kept.values()], are_more: is_large };
      kept.clear();
      kept_since = Number.NEGATIVE_INFINITY; // should the read fail
      has_grown = false;
      has_behind = true; // until the read has ended: an attempt may end before it
      const notices = await store.dueNotices(now, batch);
      kept_since = now;
      is_large = notices.length === batch;
      has_behind = notices.some((one) => (underWay.get(kindOf(one)) ?? one.id) !== one.id);
      kept = new Map(notices.filter((one) => !underWay.has(kindOf(one))).map((one) => [one.id, one]));
      return { notices, are_more: is_large && kept.size > 0 };
    },
  };
}

/** Continues after the last notice read of each merchant, and starts again at the end. */
function createWalk(
  store: NoticeDelivery,
  batch: number,
): (now: number, merchants: ReadonlySet<string>) => Promise<Notice[]> {
  /** The last notice read of each; least recently read first. */
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

interface Look extends Held {
  /** No place, as known without a look-up of its receiver. */
  isHeld(notice: Notice): boolean;
  /** @param is_merchants as in `Receiver`. */
  hasPlace(notice: Notice, host: string, is_merchants: boolean | undefined): boolean;
}

/** Sales that are known to have no URL of their own; all are forgotten where there are more. */
const MOST_SALES = 10_000;

/**
 * Caches the hosts of merchants and sales, so that a thousand notices of one busy host are not looked up each time. The
 * notices that go to the merchant's URL share a host, so one that waits holds the others; a sale may have a URL of its own.
 * @param kept_ms hosts are forgotten after this time, because a merchant may have changed its URL.
 */
function createPlaces(kept_ms: number) {
  const hosts_of_merchants = new Map<string, string>();
  const hosts_of_sales = new Map<string, string>();
  /** Sales without a URL of their own, which they never get. */
  const without_own = new Set<string>();
  let since = Number.NEGATIVE_INFINITY;
  const isShared = ({ form, legacy_id }: Notice): boolean => form === 'point' || without_own.has(legacy_id);
  return {
    /** @param isFull whether a host has no place. @param now epoch ms. */
    look(isFull: (host: string) => boolean, now: number): Look {
      if (Math.abs(now - since) >= kept_ms) {
        hosts_of_merchants.clear();
        hosts_of_sales.clear();
        if (without_own.size > MOST_SALES) without_own.clear();
        since = now;
      }
      const held = [...hosts_of_merchants].filter(([, host]) => isFull(host));
      const merchants = new Set(held.map(([merchant_id]) => merchant_id));
      const some_of = new Set<string>();
      /** Hosts where a sale's notice waits: a place that becomes free is for the oldest, in the next look, as for merchants. */
      const crowded = new Set<string>();
      const findPlace = (notice: Notice, host: string): boolean => {
        const { merchant_id, legacy_id } = notice;
        const is_shared = isShared(notice);
        if (is_shared) hosts_of_merchants.set(merchant_id, host);
        else hosts_of_sales.set(legacy_id, host);
        const has_waiting = is_shared ? merchants.has(merchant_id) : crowded.has(host);
        if (!isFull(host) && !has_waiting) return true;
        some_of.add(merchant_id);
        if (is_shared) merchants.add(merchant_id);
        else crowded.add(host);
        return false;
      };
      return {
        merchants,
        some_of,
        isHeld(notice) {
          const { merchant_id, legacy_id } = notice;
          const host = isShared(notice) ? hosts_of_merchants.get(merchant_id) : hosts_of_sales.get(legacy_id);
          return host !== undefined && !findPlace(notice, host);
        },
        hasPlace(notice, host, is_merchants) {
          if (is_merchants === true && notice.form !== 'point') without_own.add(notice.legacy_id);
          return findPlace(notice, host);
        },
      };
    },
  };
}
