/** Reconciliation: compares open and recent links, and unmatched events, with upstream; repairs on request. */

import { z } from 'zod';
import type { Order } from '../../contract/orders.ts';
import { PuenteError, type Said } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import { type Loop, startLoop } from '../../proxy/loop.ts';
import type { InboxEvent } from '../../proxy/records/notices.ts';
import { credentialOf } from '../../proxy/routing/merchant-identity.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { type AdvanceRules, hasEndedRefund } from '../../proxy/sales/order-transition.ts';
import {
  adopt,
  findOrphan,
  judgeLink,
  judgeUnknown,
  type Known,
  type Mismatch,
  type Orphan,
} from '../../proxy/sales/orphans.ts';
import { giveUp, isGivenUp } from '../../proxy/sales/recover.ts';
import { readOrder } from '../../proxy/sales/refresh.ts';
import { advanceRules, applyOrder } from '../../proxy/sales/settle.ts';
import { PARKED_EVENTS_LIMIT } from '../../proxy/store.ts';
import { DAY_MS, HOUR_MS, iso, merchantId, reason } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { type Named, named } from '../seen.ts';
import { noteAgreement, noteMismatch } from './mismatches.ts';
import { endOnLegacy, type OnLegacy } from './on-legacy.ts';

/** Links per page; other work runs between two pages. */
const PAGE = 200;
/** Open links compared per merchant, more than a shop has; `left_out` says when there are more. */
const MOST_LIVE = 10_000;
const DEFAULT_SINCE_MS = DAY_MS;

/** The body of `POST /api/reconcile`. Without `apply` nothing is changed. */
export const reconcileAsk = z.strictObject({
  merchant: merchantId.exactOptional().describe('of this merchant alone'),
  since: z.iso
    .datetime({ offset: true })
    .exactOptional()
    .describe('links changed since (default: the last 24 hours); open ones are always compared'),
  apply: z
    .boolean()
    .default(false)
    .describe(
      'repair what is safe: read stale links, adopt orphans, give up what was not found for twenty minutes, and end sales on legacy of which legacy shows a final state (of a merchant whose new work is all on orders, or of the one named)',
    ),
  reason: reason.exactOptional().describe('why, for the audit trail; needed to apply'),
});
type ReconcileAsk = z.infer<typeof reconcileAsk>;

export type MismatchView = Named<Omit<Mismatch, 'what'>> & { what: string; said: Said };

export type ReconcileNews =
  | { news: 'mismatch'; mismatch: MismatchView; repaired: boolean }
  | ({ news: 'unread' } & Unread)
  | { news: 'progress'; checked: number; unreadable: number; mismatches: number; asked_on_legacy: number }
  | ({ news: 'done' } & Tally);

type SaleIds = Pick<Mismatch, 'merchant_id' | 'legacy_id' | 'order_id'>;
/** Without a credential, or not answered by upstream. */
export type Unread = Named<SaleIds>;

interface Tally extends OnLegacy {
  checked: number;
  unreadable: number;
  mismatches: number;
  repaired: number;
  /** True when a merchant has more open links than one run compares. */
  left_out: boolean;
}

/**
 * Yields its progress. A consumer that stops reading ends the run; repairs made until then are in the audit trail.
 * @throws PuenteError conflict while this process repairs the same merchant, or one of the two repairs is of all.
 */
export async function* reconcile(ports: Ports, ask: ReconcileAsk, who: string): AsyncGenerator<ReconcileNews> {
  const { merchant = 'all' } = ask;
  const { repairs } = ports.memory;
  if (ask.apply) {
    const other = repairs.values().find((one) => one.merchant === merchant || [one.merchant, merchant].includes('all'));
    if (other !== undefined)
      throw new PuenteError('conflict', say('refusal.repair_under_way', { ...other, started_at: iso(other.at) }));
    repairs.set(merchant, { merchant, who, at: ports.clock.now() });
  }
  const on_legacy: OnLegacy = { open_on_legacy: 0, asked_on_legacy: 0, ended_on_legacy: 0, not_asked: 0 };
  const tally: Tally = { checked: 0, unreadable: 0, mismatches: 0, repaired: 0, ...on_legacy, left_out: false };
  let is_through = false;
  try {
    yield* compareAll(ports, ask, tally);
    yield* adoptAll(ports, ask, tally);
    // The slowest is last.
    for await (const _asked of endOnLegacy(ports, ask, tally)) yield progressOf(tally);
    is_through = true;
  } finally {
    if (ask.apply) {
      repairs.delete(merchant);
      await ports.store.audit.appendAudit({
        at: ports.clock.now(),
        who,
        action: 'reconcile',
        subject: ask.merchant ?? 'all merchants',
        reason: ask.reason ?? 'repair requested',
        detail: { ...tally, is_through, merchant: ask.merchant ?? null },
      });
    }
  }
  yield { news: 'done', ...tally };
}

async function* compareAll(ports: Ports, ask: ReconcileAsk, tally: Tally): AsyncGenerator<ReconcileNews> {
  const since = ask.since === undefined ? ports.clock.now() - DEFAULT_SINCE_MS : Date.parse(ask.since);
  const seen = new Set<string>();
  const merchants =
    ask.merchant === undefined ? (await ports.store.merchants.merchants()).map(({ id }) => id) : [ask.merchant];
  for (const merchant of merchants) {
    const live = await ports.store.history.liveLinks(merchant, MOST_LIVE);
    if (live.length >= MOST_LIVE) tally.left_out = true;
    for (const link of live) {
      seen.add(link.legacy_id);
      yield* report(ports, ask, tally, link, await compare(ports, link, ask.apply));
    }
  }
  for await (const link of changedSince(ports, since, ask.merchant)) {
    if (seen.has(link.legacy_id)) continue;
    yield* report(ports, ask, tally, link, await compare(ports, link, ask.apply));
  }
}

/** Looks at each order once, however many events name it. */
async function* adoptAll(ports: Ports, ask: ReconcileAsk, tally: Tally): AsyncGenerator<ReconcileNews> {
  const looked_at = new Set<string | null>();
  for (const event of await ports.store.events.unmatchedEvents(PARKED_EVENTS_LIMIT)) {
    if (looked_at.has(event.order_id) || (ask.merchant !== undefined && event.user_id !== ask.merchant)) continue;
    looked_at.add(event.order_id);
    const orphan = await findOrphan(ports, event);
    if (orphan === null) continue;
    const about = { merchant_id: event.user_id ?? '', legacy_id: null, order_id: event.order_id };
    yield* report(ports, ask, tally, about, orphan === 'unread' ? orphan : await takeBack(ports, orphan, ask.apply));
  }
}

/** Reports an orphan before it gets its link again. */
async function takeBack(ports: Ports, orphan: Orphan, apply: boolean): Promise<Exclude<Compared, 'unread' | null>> {
  const { order: _order, link: _link, ...mismatch } = orphan;
  if (apply) await noteMismatch(ports, mismatch);
  return { mismatch, repaired: apply && (await adopt(ports, orphan)) };
}

async function* changedSince(ports: Ports, since: number, merchant?: string): AsyncGenerator<Link> {
  let after: { updated_at: number; legacy_id: string } | null = null;
  // A link that is repaired on the way changes again, and would come back for ever.
  const until = ports.clock.now();
  for (;;) {
    const page: Link[] = await ports.store.history.linksChangedSince(since, after, PAGE);
    // Links of other merchants are skipped without a call to upstream, so other work gets its turn here.
    await yieldToEventLoop();
    for (const link of page) {
      if (link.updated_at <= until && (merchant === undefined || link.merchant_id === merchant)) yield link;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE || last.updated_at > until) return;
    after = { updated_at: last.updated_at, legacy_id: last.legacy_id };
  }
}

/** Comparisons per progress message: often enough for a person, seldom enough for a terminal. */
const PROGRESS_EVERY = 50;

async function* report(
  ports: Ports,
  { apply }: ReconcileAsk,
  tally: Tally,
  { merchant_id, legacy_id, order_id }: SaleIds,
  compared: Compared,
): AsyncGenerator<ReconcileNews> {
  tally.checked++;
  if (compared === 'unread') {
    tally.unreadable++;
    for (const one of await named(ports, [{ merchant_id, legacy_id, order_id }])) yield { news: 'unread', ...one };
  } else if (compared !== null) {
    tally.mismatches++;
    if (compared.repaired) tally.repaired++;
    const { mismatch, repaired } = compared;
    if (apply && !repaired) await noteMismatch(ports, mismatch);
    const { text: what, said } = mismatch.what;
    for (const one of await named(ports, [mismatch]))
      yield { news: 'mismatch', mismatch: { ...one, what, said }, repaired };
  }
  if (tally.checked % PROGRESS_EVERY === 0) yield progressOf(tally);
}

function progressOf({ checked, unreadable, mismatches, asked_on_legacy }: Tally): ReconcileNews {
  return { news: 'progress', checked, unreadable, mismatches, asked_on_legacy };
}

/** `unread`: no credential, or no answer of upstream. Null: both agree. */
type Compared = { mismatch: Mismatch; repaired: boolean } | 'unread' | null;

/** Compares a link with its order; with `apply`, repairs it where that is safe. @param earlier may be out of date. */
export async function compare(ports: Ports, earlier: Link, apply: boolean): Promise<Compared> {
  const link = (await ports.store.links.link(earlier.legacy_id)) ?? earlier;
  const unknown = judgeUnknown(link, ports.clock.now(), ports.settings.create.replay_window_ms);
  if (unknown !== null) return finish(ports, link, { mismatch: unknown, order: null }, apply);
  if (link.order_id === null) return null;
  const token = await credentialOf(ports, link.merchant_id);
  if (token === null) return 'unread';
  const order = await readOrder(ports, token, link.order_id);
  if (order === null) return 'unread';
  // An event may have changed the link while the order was read.
  const current = (await ports.store.links.link(link.legacy_id)) ?? link;
  const known = order === 'missing' && isGivenUp(ports, current) ? 'given_up' : order;
  const mismatch = judgeLink(
    current,
    known,
    ports.tables.of(link.merchant_id),
    await rulesFor(ports, link.merchant_id),
  );
  if (mismatch !== null) return finish(ports, current, { mismatch, order: known }, apply);
  if (!apply || known === 'missing' || known === 'given_up') return null;
  await noteAgreement(ports, current);
  // Both agree on the sale: only the report counts how its refund ended.
  if (current.order !== null && hasEndedRefund(current.order, known)) await takeOver(ports, current, known);
  return null;
}

/** A failure is logged: the next comparison finds the same. */
async function takeOver(ports: Ports, link: Link, order: Order): Promise<void> {
  try {
    await ports.memory.mutex.run(link.legacy_id, () => applyOrder(ports, link, order));
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    ports.log.error('the end of a refund could not be stored', { legacy_id: link.legacy_id, cause: error.message });
  }
}

interface Found {
  mismatch: Mismatch;
  order: Known | null;
}

async function finish(ports: Ports, link: Link, found: Found, apply: boolean): Promise<Compared> {
  const { mismatch } = found;
  ports.count('reconciled', mismatch.kind);
  if (!apply || mismatch.repair === 'none') return { mismatch, repaired: false };
  try {
    // Under the lock of the sale, so never at the same time as a till's call on it.
    const repaired = await ports.memory.mutex.run(link.legacy_id, () => repair(ports, link, found));
    // A sale that is given up is not repaired for a report: it is lost.
    if (repaired && mismatch.repair === 'read') await noteMismatch(ports, mismatch, true);
    return { mismatch, repaired };
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    ports.log.error('a mismatch could not be repaired', { legacy_id: link.legacy_id, cause: error.message });
    return { mismatch, repaired: false };
  }
}

/** @returns true when it is no longer so afterwards. */
async function repair(ports: Ports, link: Link, { mismatch, order }: Found): Promise<boolean> {
  if (mismatch.repair === 'give_up') return giveUp(ports, link, say('settled.given_up', { why: mismatch.what }));
  if (mismatch.repair !== 'read' || order === null || order === 'missing' || order === 'given_up') return false;
  const after = await applyOrder(ports, link, order);
  const tables = ports.tables.of(link.merchant_id);
  // Whatever else differs then is found by the next comparison.
  return judgeLink(after, order, tables, await rulesFor(ports, link.merchant_id))?.kind !== mismatch.kind;
}

async function rulesFor(ports: Ports, merchant_id: string): Promise<AdvanceRules> {
  return { ...advanceRules(ports, await ports.store.merchants.merchant(merchant_id)), released: false };
}

const SECOND_MS = 1_000;
/** A stop waits for the poll's timer, which is a real one. */
const LONGEST_PAUSE_MS = SECOND_MS;
/** With nothing to compare, the store is read again after this long. */
const REST_MS = 60_000;

/**
 * Walks the links changed within `sweep.age_ms`, oldest first. A mismatch that only needs a read is repaired at once;
 * any other is logged, counted, and written once to the audit trail, and so is that it agrees again.
 * @param rests true while upstream asks for fewer calls.
 */
export function startSweep(ports: Ports, rests: () => boolean): Loop {
  const { per_second } = ports.settings.sweep;
  const round = createRound(ports);
  let waiting: Candidate[] = [];
  let resume_at = 0;
  const take = async (): Promise<Candidate[]> => {
    const now = ports.clock.now();
    // A clock that was set back must not stop the sweep for longer than a rest.
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
  await noteMismatch(ports, compared.mismatch);
}

async function lookAtEvent(ports: Ports, event: InboxEvent, round: Round): Promise<void> {
  const orphan = await findOrphan(ports, event);
  if (orphan === 'unread') round.leave(event);
  if (orphan === null || orphan === 'unread') return;
  await takeBack(ports, orphan, true);
}

// What the sweep compares next: new changes at once, everything recent once an hour, every unmatched event once.

/** Links read ahead from the store; the loop keeps the rate. */
const SWEEP_PAGE = 50;
/** Pages without anything to compare that one call skips. */
const MOST_PAGES = 20;
/** An unchanged link is compared again after an hour, so that a small shop's links are not read all day. */
const ROUND_MS = HOUR_MS;
/** Events taken per page of links: forged events must not displace links. */
const EVENTS_A_PAGE = 20;
/** Unmatched events that are searched for new ones; signed ones go first. */
const NEWEST_EVENTS = 1_000;

/** Needs at most one read of upstream. */
type Candidate = { kind: 'link'; link: Link } | { kind: 'event'; event: InboxEvent };

type Round = ReturnType<typeof createRound>;

function createRound(ports: Ports) {
  const { store, clock, settings } = ports;
  let after: { updated_at: number; legacy_id: string } | null = null;
  let began_at = clock.now();
  let looked_at = new Set<number>();
  const unread = new Set<number>();
  const links = async (): Promise<Link[]> => {
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const page: Link[] = await store.history.linksChangedSince(
        clock.now() - settings.sweep.age_ms,
        after,
        SWEEP_PAGE,
      );
      const last = page.at(-1);
      if (last !== undefined) after = { updated_at: last.updated_at, legacy_id: last.legacy_id };
      const comparable = page.filter(isComparable);
      if (comparable.length > 0 || page.length < SWEEP_PAGE) return comparable;
    }
    return [];
  };
  const events = async (): Promise<InboxEvent[]> => {
    const newest = await store.events.unmatchedEvents(NEWEST_EVENTS);
    const fresh = newest.filter(({ sequence }) => !looked_at.has(sequence));
    const chosen = fresh.toSorted((a, b) => Number(b.verified) - Number(a.verified)).slice(0, EVENTS_A_PAGE);
    // Events that are no longer among the newest are forgotten.
    looked_at = new Set([...newest, ...chosen].map(({ sequence }) => sequence).filter((one) => looked_at.has(one)));
    for (const { sequence } of chosen) looked_at.add(sequence);
    return chosen;
  };
  return {
    /** For an event whose order could not be read: it is looked at again in the next round. */
    leave: ({ sequence }: InboxEvent): void => void unread.add(sequence),
    async next(): Promise<Candidate[]> {
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

/** The completer checks an open link at its own pace; a link without an order has nothing to compare. */
function isComparable({ next_check_at, order_id }: Link): boolean {
  return next_check_at === null && order_id !== null;
}
