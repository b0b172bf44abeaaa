/** What the sweep looks at next: new changes as they come, everything recent once an hour, every unmatched event once. */

import type { Runtime } from '../../proxy/runtime.ts';
import type { Link } from '../../proxy/sales/link.ts';
import type { InboxEvent } from '../../proxy/store.ts';

/** Read ahead from the store; the rate is kept by whoever takes them. */
const PAGE = 50;
/** Pages without anything to compare that are passed in one go. */
const MOST_PAGES = 20;
/** What was compared and has not changed since is left alone for an hour, so that a small shop's is not read all day. */
const ROUND_MS = 60 * 60_000;
/** Events taken between two pages of links: forged ones must not take the place of links. */
const EVENTS_A_PAGE = 20;
/** Unmatched events that are looked through for new ones; the signed ones of them go first. */
const NEWEST_EVENTS = 1_000;

/** One read of the upstream at most. */
export type Candidate = { kind: 'link'; link: Link } | { kind: 'event'; event: InboxEvent };

export interface Round {
  /** Empty: nothing now. */
  next(): Promise<Candidate[]>;
  /** Its order could not be read: it is looked at again in the next round. */
  leave(event: InboxEvent): void;
}

export function createRound(runtime: Runtime): Round {
  const { store, clock, settings } = runtime;
  let after: { updated_at: number; legacy_id: string } | null = null;
  let began_at = clock.now();
  let looked_at = new Set<number>();
  const unread = new Set<number>();
  const links = async (): Promise<Link[]> => {
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const page: Link[] = await store.linksChangedSince(clock.now() - settings.sweep.age_ms, after, PAGE);
      const last = page.at(-1);
      if (last !== undefined) after = { updated_at: last.updated_at, legacy_id: last.legacy_id };
      const comparable = page.filter(isComparable);
      if (comparable.length > 0 || page.length < PAGE) return comparable;
    }
    return [];
  };
  const events = async (): Promise<InboxEvent[]> => {
    const newest = await store.unmatchedEvents(NEWEST_EVENTS);
    const fresh = newest.filter(({ sequence }) => !looked_at.has(sequence));
    const chosen = fresh.toSorted((a, b) => Number(b.verified) - Number(a.verified)).slice(0, EVENTS_A_PAGE);
    // What is not among the newest any more need not be remembered.
    looked_at = new Set([...newest, ...chosen].map(({ sequence }) => sequence).filter((one) => looked_at.has(one)));
    for (const { sequence } of chosen) looked_at.add(sequence);
    return chosen;
  };
  return {
    leave: ({ sequence }) => void unread.add(sequence),
    async next() {
      if (Math.abs(clock.now() - began_at) >= ROUND_MS) {
        after = null;
        began_at = clock.now();
        for (const sequence of unread) looked_at.delete(sequence);
        unread.clear();
      }
      return [
        ...(await links()).map((link): Candidate => ({ kind: 'link', link })),
        ...(await events()).map((event): Candidate => ({ kind: 'event', event })),
      ];
    },
  };
}

/** An open link is looked after by the completer, which knows its pace; one without an order has nothing to compare. */
function isComparable({ next_check_at, order_id }: Link): boolean {
  return next_check_at === null && order_id !== null;
}
