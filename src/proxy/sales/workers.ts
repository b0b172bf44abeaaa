import { createEntries } from '../concurrency.ts';
import { type Loop, startLoop } from '../loop.ts';
import { forExchange, openDraft, type Ports } from '../ports.ts';
import type { InboxEvent } from '../records/notices.ts';
import type { Telemetry, Worked } from '../telemetry/port.ts';
import { handleEvent } from './events.ts';
import type { Link } from './link.ts';
import { lookAfter } from './recover.ts';

const POLL_MS = 250;
/** One merchant's backlog takes a quarter of the places while others have work, and leaves a quarter free while nobody has. */
const SHARE = 4;

/** Read together, so that a backlog of thousands is not asked for once for every link of it. */
const PAGE = 64;

/**
 * @param concurrency how many links are worked on at once (`docs/protocol.md` §3.7: 8).
 * @param rests true while the service asked for fewer calls.
 */
export function startCompleter(
  ports: Ports,
  concurrency: number,
  rests: () => boolean,
  telemetry: Telemetry | null,
): Loop {
  const share = Math.max(1, Math.floor(concurrency / SHARE));
  const running = new Map<string, number>();
  const count = (merchant_id: string, change: number): void => {
    const next = (running.get(merchant_id) ?? 0) + change;
    if (next > 0) running.set(merchant_id, next);
    else running.delete(merchant_id);
  };
  const isFull = (merchant_id: string): boolean => {
    const isAlone = running.size === 0 || (running.size === 1 && running.has(merchant_id));
    return (running.get(merchant_id) ?? 0) >= (isAlone ? Math.max(share, concurrency - share) : share);
  };
  const mayStart = (link: Link): boolean => !isFull(link.merchant_id);
  const full = (): string[] => [...running.keys()].filter(isFull);
  const pages = createPages(ports, mayStart, full);
  return startLoop({
    name: 'completer',
    poll_ms: POLL_MS,
    concurrency,
    take: pages.take,
    rests,
    mayStart,
    key: (link) => link.legacy_id,
    handle: async (link) => {
      count(link.merchant_id, 1);
      pages.started(link);
      const { legacy_id, merchant_id } = link;
      try {
        await workOn(ports, telemetry, { name: 'recovery', legacy_id, merchant_id }, async (own) => {
          await lookAfter(own, link);
          return null;
        });
      } finally {
        count(link.merchant_id, -1);
        pages.ended(link);
      }
    },
    about: ({ legacy_id, merchant_id }) => ({ merchant: merchant_id, legacy_id }),
    log: ports.log,
  });
}

interface Pages {
  take(limit: number): Promise<Link[]>;
  /** It is being worked on, and no more to be given out. */
  started(link: Link): void;
  ended(link: Link): void;
}

/**
 * Gives out a page of due links before the next one is read; while nothing of it may start, it is read again once per poll.
 * A page that is a little old does no harm: whoever looks after a link reads it first, and leaves it when it is not due.
 * @param full merchants of which no more may start.
 */
function createPages(ports: Ports, mayStart: (link: Link) => boolean, full: () => string[]): Pages {
  const underWay = createEntries<true>();
  let page: Link[] = [];
  let read_at = Number.NEGATIVE_INFINITY;
  const ready = (): Link[] => page.filter(mayStart);
  return {
    async take(limit) {
      const now = ports.clock.now();
      if (ready().length === 0 && (page.length === 0 || Math.abs(now - read_at) >= POLL_MS)) {
        read_at = now;
        const due = await ports.store.links.dueLinks(now, Math.max(limit, PAGE), full());
        page = due.filter(({ legacy_id }) => !underWay.has(legacy_id));
      }
      return ready().slice(0, limit);
    },
    started(link) {
      underWay.set(link.legacy_id, true);
      page = page.filter(({ legacy_id }) => legacy_id !== link.legacy_id);
    },
    ended: (link) => underWay.delete(link.legacy_id),
  };
}

const EVENT_POLL_MS = 250;

/**
 * Events of one order are handled one after the other.
 * @param rests true while the service asked for fewer calls.
 */
export function startReconciler(
  ports: Ports,
  concurrency: number,
  rests: () => boolean,
  telemetry: Telemetry | null,
): Loop {
  return startLoop({
    rests,
    name: 'reconciler',
    poll_ms: EVENT_POLL_MS,
    concurrency,
    take: (limit) => ports.store.events.dueEvents(ports.clock.now(), limit),
    key: (event) => event.order_id ?? event.reference ?? String(event.sequence),
    about: (event) => (event.order_id === null ? {} : { order_id: event.order_id }),
    handle: (event) =>
      workOn(ports, telemetry, { name: 'event', legacy_id: null, merchant_id: event.user_id }, (own) =>
        follow(own, event),
      ),
    log: ports.log,
  });
}

/** An event that only waits for its turn came to nothing yet. */
async function follow(ports: Ports, event: InboxEvent): Promise<string | null> {
  const end = await handleEvent(ports, event);
  return end === 'in_turn' ? null : end;
}

/**
 * Runs the work with ports of its own, and tells of it when it has asked upstream or come to an end.
 * @param work resolves with how it came out; null when there was nothing to do.
 * @throws what the work throws.
 */
export async function workOn(
  ports: Ports,
  telemetry: Telemetry | null,
  about: Pick<Worked, 'name' | 'legacy_id' | 'merchant_id'>,
  work: (ports: Ports) => Promise<string | null>,
): Promise<void> {
  const at = ports.clock.now();
  const draft = openDraft(performance.now());
  draft.legacy_id = about.legacy_id;
  let outcome: string | null = 'failed';
  try {
    outcome = await work(forExchange(ports, draft));
  } finally {
    if (telemetry !== null && (outcome !== null || draft.upstream.length > 0)) {
      telemetry.worked({
        ...about,
        at,
        duration_ms: performance.now() - draft.started_tick_ms,
        legacy_id: draft.legacy_id,
        // What an event only claims counts for nobody; one that found its sale has named its merchant.
        merchant_id: draft.legacy_id === null ? null : about.merchant_id,
        upstream: [...draft.upstream],
        outcome: outcome ?? 'done',
      });
    }
  }
}
