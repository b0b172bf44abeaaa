/** The continuous reconciliation: recent links, and events that nobody matched, compared with the upstream one by one at a bounded rate. */
import { type Loop, startLoop } from '../../proxy/loop.ts';
import type { InboxEvent } from '../../proxy/records/notices.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { adopt, findOrphan, type Mismatch } from '../../proxy/sales/orphans.ts';
import type { Ports } from '../ports.ts';
import { compare } from './reconcile.ts';

const SECOND_MS = 1_000;
/** The poll is a real timer, which a stop has to wait for. */
const LONGEST_PAUSE_MS = SECOND_MS;
/** With nothing to compare the store is asked again after so long. */
const REST_MS = 60_000;

/**
 * Walks the links changed within `sweep.age_ms`, oldest first. What only needs a read is repaired at once; everything
 * else is told in the log, in the counters, and once in the audit trail.
 * @param rests true while the service asked for fewer calls.
 */
export function startSweep(ports: Ports, rests: () => boolean): Loop {
  const { per_second } = ports.settings.sweep;
  const round = createRound(ports);
  let waiting: Candidate[] = [];
  let resume_at = 0;
  const take = async (): Promise<Candidate[]> => {
    const now = ports.clock.now();
    // A clock that was set back must not silence it for longer than a rest.
    if (per_second === 0 || (now < resume_at && resume_at - now <= REST_MS)) return [];
    if (waiting.length === 0) waiting = await round.next();
    const candidate = waiting.shift();
    resume_at = now + (candidate === undefined ? REST_MS : SECOND_MS / per_second);
    return candidate === undefined ? [] : [candidate];
  };
  return startLoop({
    name: 'sweep',
    poll_ms: per_second === 0 ? REST_MS : Math.min(SECOND_MS / per_second, LONGEST_PAUSE_MS),
    concurrency: 1,
    rests,
    take,
    key: (candidate) => (candidate.kind === 'link' ? candidate.link.legacy_id : `event ${candidate.event.sequence}`),
    handle: (candidate) =>
      candidate.kind === 'link' ? lookAtLink(ports, candidate.link) : lookAtEvent(ports, candidate.event, round),
    log: ports.log,
  });
}

async function lookAtLink(ports: Ports, link: Link): Promise<void> {
  const compared = await compare(ports, link, true);
  if (compared === null || compared === 'unread' || compared.repaired) return;
  await report(ports, compared.mismatch);
}

async function lookAtEvent(ports: Ports, event: InboxEvent, round: Round): Promise<void> {
  const orphan = await findOrphan(ports, event);
  if (orphan === 'unread') round.leave(event);
  if (orphan === null || orphan === 'unread') return;
  await report(ports, orphan);
  await adopt(ports, orphan);
}

/** Told once for each kind and sale, however often the sweep comes by. */
async function report(ports: Ports, mismatch: Mismatch): Promise<void> {
  const { kind, legacy_id, merchant_id, order_id, what, unit } = mismatch;
  const subject = legacy_id ?? order_id ?? merchant_id;
  const told = await ports.store.audit.auditsOf({ subject, action: `mismatch ${kind}` }, 1);
  if (told.length > 0) return;
  ports.log.error(`reconciliation: ${what}`, { merchant: merchant_id, legacy_id: legacy_id ?? '', action: kind });
  await ports.store.audit.appendAudit({
    at: ports.clock.now(),
    who: 'puente',
    action: `mismatch ${kind}`,
    subject,
    reason: what,
    detail: { merchant: merchant_id, unit, order_id },
  });
}

// What the sweep looks at next: new changes as they come, everything recent once an hour, every unmatched event once.

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

export function createRound(ports: Ports): Round {
  const { store, clock, settings } = ports;
  let after: { updated_at: number; legacy_id: string } | null = null;
  let began_at = clock.now();
  let looked_at = new Set<number>();
  const unread = new Set<number>();
  const links = async (): Promise<Link[]> => {
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const page: Link[] = await store.history.linksChangedSince(clock.now() - settings.sweep.age_ms, after, PAGE);
      const last = page.at(-1);
      if (last !== undefined) after = { updated_at: last.updated_at, legacy_id: last.legacy_id };
      const comparable = page.filter(isComparable);
      if (comparable.length > 0 || page.length < PAGE) return comparable;
    }
    return [];
  };
  const events = async (): Promise<InboxEvent[]> => {
    const newest = await store.events.unmatchedEvents(NEWEST_EVENTS);
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
