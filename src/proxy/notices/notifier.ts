/** The delivery loop: takes due notices from the store, sends them at a bounded and fair pace, and records every attempt. */

import { PuenteError } from '../../error.ts';
import { createPassing, type Passing } from '../passing.ts';
import type { Notice } from '../records/notices.ts';
import type { Store } from '../store.ts';
import { type AttemptParts, attemptNotice, type Receiver } from './attempt.ts';
import { createBacklog } from './backlog.ts';
import { createPlaces, type Look } from './per-host-limit.ts';
import { inTurns } from './point-request.ts';

/** How often the store is asked for what became due by time alone; new notices ring `wake`. */
const POLL_MS = 1_000;
/** A stop waits this long for attempts under way; those cut are unrecorded and sent again after the start. */
const STOP_GRACE_MS = 3_000;
/** Given as the reason, because without one each call makes an error with a stack that nobody reads. */
const WOKEN = 'woken';

export interface NotifierParts extends AttemptParts {
  store: Pick<Store, 'dueNotices' | 'dueNoticesInTurn' | 'dueNoticesBehind' | 'recordAttempt'>;
  /**
   * Asked for every attempt, because a merchant may change its URL while notices wait (F121). Point notices of a merchant
   * have one place at a time; those of QR sales may each have their own.
   */
  receiver: (notice: Notice) => Promise<Receiver>;
  /** In flight at most, over all receivers; 50 by `reliability.md` §3.13. */
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
  const flights = createPassing<Flight>();
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

function countOf(flights: Passing<Flight>, host: string): number {
  let count = 0;
  for (const flight of flights.values()) if (flight.host === host) count++;
  return count;
}
