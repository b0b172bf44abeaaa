/** Reconciliation: open and recent links, and events that nobody matched, against the upstream; dry first, then repaired. */
import { z } from 'zod';
import { USER_ID } from '../../contract/identifiers.ts';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import { credentialOf } from '../../proxy/routing/merchant-identity.ts';
import type { Link } from '../../proxy/sales/link.ts';
import type { AdvanceRules } from '../../proxy/sales/order-transition.ts';
import { adopt, findOrphan, judgeLink, judgeUnknown, type Known, type Mismatch } from '../../proxy/sales/orphans.ts';
import { giveUp, isGone } from '../../proxy/sales/recover.ts';
import { readOrder } from '../../proxy/sales/refresh.ts';
import { advanceRules, applyOrder } from '../../proxy/sales/settle.ts';
import { PARKED_EVENTS_LIMIT } from '../../proxy/store.ts';
import { reason } from '../api/person.ts';
import type { Ports } from '../ports.ts';

/** A page of links; between two pages others have their turn. */
const PAGE = 200;
/** Open links of one merchant that are looked at; more than a shop has, and `left_out` tells when it has more. */
const MOST_LIVE = 10_000;
const DEFAULT_SINCE_MS = 24 * 3_600_000;

/** The body of `POST /api/reconcile`. Without `apply` nothing is changed. */
export const reconcileAsk = z.strictObject({
  merchant: z
    .string()
    .regex(USER_ID, "the vendor's user id is needed, digits only")
    .exactOptional()
    .describe('of this merchant alone'),
  since: z.iso
    .datetime({ offset: true })
    .exactOptional()
    .describe('links changed since (default: the last 24 hours); open ones are always looked at'),
  apply: z
    .boolean()
    .default(false)
    .describe('repair what is safe: read stale links, adopt orphans, give up what was not found for twenty minutes'),
  reason: reason.exactOptional().describe('why, for the audit trail; needed to apply'),
});
export type ReconcileAsk = z.infer<typeof reconcileAsk>;

/** What is told while it runs, and at the end. */
export type ReconcileNews =
  | { news: 'mismatch'; mismatch: Mismatch; repaired: boolean }
  | { news: 'progress'; checked: number; unreadable: number; mismatches: number }
  | ({ news: 'done' } & Tally);

/** Sums of one run. */
interface Tally {
  checked: number;
  unreadable: number;
  mismatches: number;
  repaired: number;
  /** True when a merchant has more open links than are looked at in one run. */
  left_out: boolean;
}

/**
 * Runs one reconciliation, telling as it goes; a consumer that stops reading ends it, and what was repaired until then is
 * in the audit trail all the same.
 */
export async function* reconcile(ports: Ports, ask: ReconcileAsk, who: string): AsyncGenerator<ReconcileNews> {
  const tally: Tally = { checked: 0, unreadable: 0, mismatches: 0, repaired: 0, left_out: false };
  let is_through = false;
  try {
    yield* compareAll(ports, ask, tally);
    yield* adoptAll(ports, ask, tally);
    is_through = true;
  } finally {
    if (ask.apply) await noteRun(ports, ask, { ...tally, is_through }, who);
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
      yield* told(tally, await compare(ports, link, ask.apply));
    }
  }
  for await (const link of changedSince(ports, since, ask.merchant)) {
    if (!seen.has(link.legacy_id)) yield* told(tally, await compare(ports, link, ask.apply));
  }
}

/** Each order once, however many events tell of it. */
async function* adoptAll(ports: Ports, ask: ReconcileAsk, tally: Tally): AsyncGenerator<ReconcileNews> {
  const looked_at = new Set<string | null>();
  for (const event of await ports.store.events.unmatchedEvents(PARKED_EVENTS_LIMIT)) {
    if (looked_at.has(event.order_id) || (ask.merchant !== undefined && event.user_id !== ask.merchant)) continue;
    looked_at.add(event.order_id);
    const orphan = await findOrphan(ports, event);
    if (orphan === 'unread') yield* told(tally, 'unread');
    else if (orphan !== null) {
      const repaired = ask.apply && (await adopt(ports, orphan));
      const { order: _order, link: _link, ...mismatch } = orphan;
      yield* told(tally, { mismatch, repaired });
    }
  }
}

async function* changedSince(ports: Ports, since: number, merchant?: string): AsyncGenerator<Link> {
  let after: { updated_at: number; legacy_id: string } | null = null;
  // What is repaired on the way changes again and would come back for ever.
  const until = ports.clock.now();
  for (;;) {
    const page: Link[] = await ports.store.history.linksChangedSince(since, after, PAGE);
    // Somebody else's links are passed over without a wait for the upstream.
    await new Promise((resolve) => setImmediate(resolve));
    for (const link of page) {
      if (link.updated_at <= until && (merchant === undefined || link.merchant_id === merchant)) yield link;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE || last.updated_at > until) return;
    after = { updated_at: last.updated_at, legacy_id: last.legacy_id };
  }
}

/** How often progress is told: often enough for a person, seldom enough for a terminal. */
const PROGRESS_EVERY = 50;

function* told(tally: Tally, compared: Compared): Generator<ReconcileNews> {
  tally.checked++;
  if (compared === 'unread') tally.unreadable++;
  else if (compared !== null) {
    tally.mismatches++;
    if (compared.repaired) tally.repaired++;
    yield { news: 'mismatch', ...compared };
  }
  const { checked, unreadable, mismatches } = tally;
  if (checked % PROGRESS_EVERY === 0) yield { news: 'progress', checked, unreadable, mismatches };
}

async function noteRun(
  ports: Ports,
  ask: ReconcileAsk,
  sums: Tally & { is_through: boolean },
  who: string,
): Promise<void> {
  await ports.store.audit.appendAudit({
    at: ports.clock.now(),
    who,
    action: 'reconcile',
    subject: ask.merchant ?? 'all merchants',
    reason: ask.reason ?? 'repair asked for',
    detail: { ...sums, merchant: ask.merchant ?? null },
  });
}

// One link against its order: judged on what is stored now, and repaired only while that still holds.

/** `unread`: nobody could ask, or nobody answered. Null: both agree. */
export type Compared = { mismatch: Mismatch; repaired: boolean } | 'unread' | null;

/** Compares one link with its order, and repairs it when asked to and when that is safe. @param earlier may be of a moment ago. */
export async function compare(ports: Ports, earlier: Link, apply: boolean): Promise<Compared> {
  const link = (await ports.store.links.link(earlier.legacy_id)) ?? earlier;
  const unknown = judgeUnknown(link, ports.clock.now(), ports.settings.create.replay_window_ms);
  if (unknown !== null) return finish(ports, link, { mismatch: unknown, order: null }, apply);
  if (link.order_id === null) return null;
  const token = await credentialOf(ports, link.merchant_id);
  if (token === null) return 'unread';
  const order = await readOrder(ports, token, link.order_id);
  if (order === null) return 'unread';
  // An event may have moved it while the order was being read.
  const current = (await ports.store.links.link(link.legacy_id)) ?? link;
  const known = order === 'missing' && isGone(ports, current) ? 'gone' : order;
  const mismatch = judgeLink(current, known, ports.tables, await rulesFor(ports, link.merchant_id));
  return mismatch === null ? null : finish(ports, current, { mismatch, order: known }, apply);
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
    // Never beside a till's own call on the same sale.
    const repaired = await ports.memory.mutex.run(link.legacy_id, () => repair(ports, link, found));
    return { mismatch, repaired };
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    ports.log.error('a mismatch could not be repaired', { legacy_id: link.legacy_id, cause: error.message });
    return { mismatch, repaired: false };
  }
}

/** @returns true when both agree afterwards. */
async function repair(ports: Ports, link: Link, { mismatch, order }: Found): Promise<boolean> {
  if (mismatch.repair === 'give_up') return giveUp(ports, link, say('settled.given_up', { why: mismatch.what }).text);
  if (mismatch.repair !== 'read' || order === null || order === 'missing' || order === 'gone') return false;
  const after = await applyOrder(ports, link, order);
  return judgeLink(after, order, ports.tables, await rulesFor(ports, link.merchant_id)) === null;
}

async function rulesFor(ports: Ports, merchant_id: string): Promise<AdvanceRules> {
  return { ...advanceRules(ports, await ports.store.merchants.merchant(merchant_id)), released: false };
}
