/** The two background loops of sales: the completer recovers due links, the inbox handles due events. */
import { createEntries } from '../concurrency.ts';
import { type Loop, startLoop } from '../loop.ts';
import { forExchange, openDraft, type Ports } from '../ports.ts';
import type { InboxEvent } from '../records/notices.ts';
import type { Telemetry, Worked } from '../telemetry/port.ts';
import { handleEvent } from './events.ts';
import type { Link } from './link.ts';
import { lookAfter } from './recover.ts';

const POLL_MS = 250;
/** A merchant has a quarter of the places while others run, and all but a quarter while it runs alone. */
const SHARE = 4;
/** Due links of one query: a backlog of thousands is not queried once for each link. */
const PAGE = 64;

/** @param concurrency links at once (`docs/protocol.md` §3.7). @param rests true while upstream must get fewer calls. */
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
  /** Work on the link has begun: it is not given out again. */
  started(link: Link): void;
  ended(link: Link): void;
}

/**
 * Gives out a page of due links before the next one is read. A page of which no link may start is read again once per
 * poll. A stale page does no harm: `lookAfter` reads each link first, and leaves one that is not due.
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

/** Events of one order are handled in sequence. @param rests true while upstream must get fewer calls. */
export function startInbox(ports: Ports, concurrency: number, rests: () => boolean, telemetry: Telemetry | null): Loop {
  return startLoop({
    rests,
    name: 'inbox',
    poll_ms: POLL_MS,
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

/** Null for an event that is only put off. */
async function follow(ports: Ports, event: InboxEvent): Promise<string | null> {
  const end = await handleEvent(ports, event);
  return end === 'in_turn' ? null : end;
}

/** Runs the work with its own ports; reports it if it called upstream, failed, or had an outcome (not null). */
async function workOn(
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
        // The merchant that an event claims counts only when the event found its sale.
        merchant_id: draft.legacy_id === null ? null : about.merchant_id,
        upstream: [...draft.upstream],
        outcome: outcome ?? 'done',
      });
    }
  }
}
