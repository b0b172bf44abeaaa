/** Notices for operators: look them up and redeliver them, each time with a reason and an audit line. */

import { z } from 'zod';
import { PuenteError, type Said } from '../error.ts';
import { readStored, say } from '../locales/message.ts';
import { noticeTopics } from '../mapping/schema.ts';
import { OTHERS } from '../mapping/tables.ts';
import { yieldToEventLoop } from '../proxy/concurrency.ts';
import { type Sender, sendOnce } from '../proxy/notices/delivery.ts';
import { receiverFinder } from '../proxy/notices/request.ts';
import type { Attempt, AttemptSum, LoggedNotice, Notice } from '../proxy/records/notices.ts';
import {
  DAY_MS,
  defined,
  HOUR_MS,
  instant,
  iso,
  listLimit,
  merchantId,
  reason,
  refuseEmptyWindow,
  rounded,
  type Shown,
  shown,
  time,
  type Whose,
  whose,
} from './fields.ts';
import type { Ports } from './ports.ts';
import { named, refuseUnseen } from './seen.ts';
import { isOf, listedOf, namedOf, ofEach, onlyOf } from './whose.ts';

const DEFAULT_LIMIT = 50;
/** More rows than an operator reads at once; `until` reaches the older ones. */
const MOST_LISTED = 500;
/** Notices that one call redelivers: bounds the commit, and what a typing mistake can send. */
const MOST_REDELIVERED = 10_000;

export const noticeStates = [
  'pending',
  'delivered',
  'dead',
  'superseded',
] as const satisfies readonly Notice['state'][];

const since = instant.describe('made then or later, such as 2026-01-31T09:00:00Z');
const until = instant.describe('made before then');
const topic = z.enum(noticeTopics).describe('of this topic');

/** The query of `GET /api/notices`, for notices made in [since, until). */
export const noticeQuery = z.strictObject({
  merchant: whose.exactOptional(),
  state: z.enum(noticeStates).exactOptional().describe('only in this state'),
  topic: topic.exactOptional(),
  since: since.exactOptional(),
  until: until.exactOptional(),
  limit: listLimit(DEFAULT_LIMIT, MOST_LISTED, 'input.limit_notices').describe('at most so many'),
});

/** The body of `POST /api/notices/replay`; without `states`, of notices that were not delivered. */
export const redeliverMany = z.strictObject({
  merchant: merchantId.exactOptional(),
  topic: topic.exactOptional(),
  since,
  until,
  states: z.array(z.enum(noticeStates)).min(1).default(['pending', 'dead']).describe('only in these states'),
  reason,
  dry_run: z.boolean().default(false).describe('only count them'),
  expected: z
    .int()
    .min(0)
    .exactOptional()
    .describe('what the dry run counted; refused when there are not as many by now'),
});

/** The query of `GET /api/notices/receivers`. */
export const receiversQuery = z.strictObject({
  merchant: whose.exactOptional(),
  since: instant.exactOptional().describe('of notices made then or later; a day ago by default'),
  until: until.exactOptional(),
});

/** The body of `POST /api/notices/test`. */
export const testNotice = z.strictObject({ merchant: merchantId, reason });

/** A notice as it is answered; its URL without path and query. */
export type NoticeView = ReturnType<typeof viewOf>;

export type AttemptView = Shown<Attempt> & { said: Said | null };

/** Newest first. @throws PuenteError as `refuseUnseenRead`. */
export async function viewNotices(
  ports: Ports,
  query: z.infer<typeof noticeQuery>,
  signal: AbortSignal | null = null,
): Promise<NoticeView[]> {
  const { merchant, state, limit, ...others } = query;
  const filter = defined({ ...others, states: state && [state] });
  const rows = await ofEach(
    merchant,
    (merchant_id) => ports.store.notices.notices(defined({ ...filter, merchant_id }), limit),
    signal,
    { limit, newest: ({ created_at }) => created_at },
  );
  const found = await namedOf(ports, merchant, rows);
  return found.map(({ merchant_name, ...one }) => viewOf(one, merchant_name));
}

/** The store counts a slice of an hour in a few ms; only a period of more than two years has longer ones. */
const MOST_SLICES = 20_000;
/** No Puente ran before this date. */
const FIRST_INSTANT = Date.UTC(2026, 0, 1);
/** Tills name receivers of their own; the attempts at further ones are counted under one name. */
const MOST_RECEIVERS = 5_000;

const count = z.int().min(0);
/** Attempts at a receiver, in the order of a report's columns. */
export const receiverSums = {
  delivered: count.describe('attempts that were acknowledged'),
  late: count.describe('of these, those acknowledged more than 15 minutes after their notice was made'),
  refused: count.describe('attempts that were refused, broken or not answered in time'),
  held: count.describe('attempts that Puente held back: no address, a refused address, no secret'),
  success_rate: z.number().nullable().describe('percent of the attempts that reached for the receiver'),
  last_delivered_at: time.nullable(),
  last_refused_at: time.nullable(),
};

/** Attempts at the notices made in [since, until) (epoch ms) by receiver, the worst first. */
export async function receiverLines(
  ports: Pick<Ports, 'store' | 'clock'>,
  { merchant, since, until }: { merchant?: Whose; since: number; until: number },
  signal: AbortSignal | null = null,
) {
  const receivers = new Map<string, ReceiverSums>();
  const isMeant = isOf(merchant);
  for (const [from, to] of slicesOf(ports, { since, until })) {
    signal?.throwIfAborted();
    const slice = { since: from, until: to, merchant_id: onlyOf(merchant) };
    for (const sum of await ports.store.notices.sumAttempts(defined(slice)))
      if (isMeant(sum.merchant_id)) add(receivers, sum);
    await yieldToEventLoop();
  }
  const lines = [...receivers.values()].map(({ theirs: refused, ours: held, delivered, ...one }) => {
    const tried = delivered + refused;
    // One refused attempt among thousands is no success of 100 %.
    const highest = refused === 0 ? 100 : 99.9;
    const success_rate = tried === 0 ? null : Math.min(highest, rounded((100 * delivered) / tried, 1));
    return { ...one, delivered, refused, held, success_rate };
  });
  const rank = (rate: number | null): number => rate ?? Number.POSITIVE_INFINITY;
  return lines.toSorted((one, other) => rank(one.success_rate) - rank(other.success_rate));
}

/** [from, to) one after the other, epoch ms; none has both fresh and older notices, or parts of two UTC days. */
export function* slicesOf(
  { clock }: Pick<Ports, 'clock'>,
  period: { since: number; until: number },
  fresh_since = Number.POSITIVE_INFINITY,
): Generator<[number, number]> {
  const [since, until] = [Math.max(period.since, FIRST_INSTANT), Math.min(period.until, clock.now() + HOUR_MS)];
  const size = Math.max(HOUR_MS, Math.ceil((until - since) / MOST_SLICES));
  for (let from = since; from < until; ) {
    const next = Math.min(until, from + size, (Math.floor(from / DAY_MS) + 1) * DAY_MS);
    const to = from < fresh_since && fresh_since < next ? fresh_since : next;
    yield [from, to];
    from = to;
  }
}

interface ReceiverSums extends Record<Attempt['outcome'] | 'late', number> {
  merchant: string;
  /** Without path and query; null for notices that Puente held back itself. */
  url: string | null;
  /** Epoch ms. */
  last_delivered_at: number | null;
  last_refused_at: number | null;
}

function add(receivers: Map<string, ReceiverSums>, sum: AttemptSum): void {
  const { outcome, count, late, last_at } = sum;
  const none = { delivered: 0, late: 0, theirs: 0, ours: 0, last_delivered_at: null, last_refused_at: null };
  // What Puente held back itself reached no receiver.
  const own = { merchant: sum.merchant_id, url: outcome === 'ours' ? null : sum.url };
  const is_full = receivers.size >= MOST_RECEIVERS && !receivers.has(keyOf(own));
  const receiver = is_full ? { merchant: OTHERS, url: OTHERS } : own;
  const sums = receivers.get(keyOf(receiver)) ?? { ...receiver, ...none };
  receivers.set(keyOf(receiver), sums);
  sums[outcome] += count;
  if (outcome === 'delivered') {
    sums.late += late;
    sums.last_delivered_at = Math.max(sums.last_delivered_at ?? 0, last_at);
  }
  if (outcome === 'theirs') sums.last_refused_at = Math.max(sums.last_refused_at ?? 0, last_at);
}

function keyOf({ merchant, url }: Pick<ReceiverSums, 'merchant' | 'url'>): string {
  return `${merchant} ${url ?? ''}`;
}

const MOST_DAYS = 31;

/** Of at most `MOST_DAYS`. @throws PuenteError as `refuseUnseenRead` and, of the days that are counted, `refuseEmptyWindow`. */
export async function viewReceivers(
  ports: Ports,
  query: z.infer<typeof receiversQuery>,
  signal: AbortSignal | null = null,
) {
  const { until = ports.clock.now() + 1, merchant } = query;
  const since = Math.max(query.since ?? until - DAY_MS, until - MOST_DAYS * DAY_MS);
  refuseEmptyWindow(since, until, ports.clock.now());
  const period = defined({ since, until, merchant });
  const receivers = await listedOf(ports, merchant, await receiverLines(ports, period, signal));
  const lines = await named(
    ports,
    receivers.map(({ merchant, ...one }) => ({ merchant_id: merchant, ...shown(one) })),
  );
  const shown_lines = lines.map(({ merchant_id, ...one }) => ({ merchant: merchant_id, ...one }));
  return { since: iso(since), until: iso(until), receivers: shown_lines };
}

/**
 * Sends a notice of an intent that does not exist to a merchant's receiver, in its dialect and signed as its notices
 * are, past the same outbound guard. It is no notice of the log, and is not retried.
 * @throws PuenteError not_found: a merchant that was never seen.
 */
export async function tryReceiver(
  ports: Ports,
  sender: Pick<Sender, 'send'>,
  { merchant, reason: why }: z.infer<typeof testNotice>,
  who: string,
): Promise<AttemptView> {
  await refuseUnseen(ports, [merchant], null);
  const now = ports.clock.now();
  const legacy_id = ports.memory.ids.legacyId(now);
  const body = { id: legacy_id, state: 'OPEN', amount: 0, additional_info: { external_reference: 'puente-test' } };
  const one: Notice = {
    id: ports.memory.ids.legacyId(now),
    legacy_id,
    merchant_id: merchant,
    topic: 'point',
    form: 'point',
    subject: legacy_id,
    body: JSON.stringify(body),
    sequence: 1,
    state: 'pending',
    attempts: 0,
    created_at: now,
    next_attempt_at: now,
  };
  const receiver = await receiverFinder(ports)(one);
  const audit = {
    at: now,
    who,
    action: 'test notice',
    subject: merchant,
    reason: why,
    detail: { id: legacy_id },
  } as const;
  await ports.store.audit.appendAudit(audit);
  // A Point notice contains no address of Puente.
  const { attempt } = await sendOnce({ clock: ports.clock, sender, public_url: '' }, one, receiver);
  return attemptOf(attempt);
}

/** @throws PuenteError not_found. */
export async function viewNotice(ports: Ports, id: string): Promise<NoticeView & { tries: AttemptView[] }> {
  const found = await ports.store.notices.notice(id);
  if (found === null) throw noSuchNotice(id);
  return { ...(await viewNamed(ports, found.notice)), tries: found.attempts.map(attemptOf) };
}

/** Makes one notice due now, delivered or not: the same bytes, the same request id. @throws PuenteError not_found. */
export async function redeliverNotice(ports: Ports, id: string, why: string, who: string): Promise<NoticeView> {
  const found = await ports.store.notices.notice(id);
  if (found === null) throw noSuchNotice(id);
  const { legacy_id, topic, form, subject, state } = found.notice;
  const now = ports.clock.now();
  await ports.store.notices.redeliverNotices([id], now, {
    at: now,
    who,
    action: 'replay notice',
    subject: legacy_id,
    reason: why,
    detail: { notice: id, topic, form, about: subject, state },
  });
  const again = await ports.store.notices.notice(id);
  ports.memory.wakeups.notices.wake();
  return viewNamed(ports, (again ?? found).notice);
}

/**
 * Makes every notice of a window due now; a dry run only counts.
 * @returns how many, and how many delivered ones of the window are left out.
 * @throws PuenteError refused: too many for one call; conflict: not the expected number;
 * not_found: a merchant that was never seen.
 */
export async function redeliverWindow(
  ports: Ports,
  window: z.infer<typeof redeliverMany>,
  who: string,
): Promise<{ notices: number; dry_run: boolean; delivered_left_out: number }> {
  const { reason: why, dry_run, expected, ...selection } = window;
  const [since_at, until_at] = [iso(selection.since), iso(selection.until)];
  const { merchant, ...named } = selection;
  if (merchant !== undefined) await refuseUnseen(ports, [merchant], null);
  const filter = defined({ ...named, merchant_id: merchant });
  const delivered_left_out = selection.states.includes('delivered')
    ? 0
    : await ports.store.notices.countNotices({ ...filter, states: ['delivered'] });
  if (dry_run) return { notices: await ports.store.notices.countNotices(filter), dry_run, delivered_left_out };
  const found = await ports.store.notices.notices(filter, MOST_REDELIVERED + 1);
  if (found.length > MOST_REDELIVERED)
    throw new PuenteError('refused', say('refusal.too_many_notices', { most: MOST_REDELIVERED }));
  if (expected !== undefined && found.length !== expected) {
    const facts = { expected, notices: found.length };
    throw new PuenteError('conflict', say('refusal.other_count', facts), { facts });
  }
  if (found.length === 0) return { notices: 0, dry_run, delivered_left_out };
  const now = ports.clock.now();
  const detail = { ...selection, since: since_at, until: until_at, notices: found.length };
  await ports.store.notices.redeliverNotices(
    found.map(({ id }) => id),
    now,
    { at: now, who, action: 'replay notices', subject: merchant ?? 'all merchants', reason: why, detail },
  );
  ports.memory.wakeups.notices.wake();
  return { notices: found.length, dry_run, delivered_left_out };
}

/** With the name of its merchant, which alone is read. */
async function viewNamed({ store }: Ports, notice: LoggedNotice): Promise<NoticeView> {
  return viewOf(notice, (await store.merchants.merchant(notice.merchant_id))?.settings.name ?? null);
}

function viewOf(notice: LoggedNotice, merchant_name: string | null) {
  const { id, merchant_id: merchant, legacy_id, topic, form, subject, sequence, state, replayed, tries } = notice;
  const { created_at, next_attempt_at, last_attempt } = notice;
  return {
    id,
    merchant,
    merchant_name,
    legacy_id,
    topic,
    form,
    subject,
    sequence,
    state,
    replayed,
    attempts: tries,
    created_at: iso(created_at),
    next_attempt_at: state === 'pending' ? iso(next_attempt_at) : null,
    last_attempt: last_attempt && attemptOf(last_attempt),
  };
}

function attemptOf(attempt: Attempt): AttemptView {
  const { text: detail, said } = readStored(attempt.detail);
  return { ...shown(attempt), detail, said };
}

function noSuchNotice(id: string): PuenteError {
  return new PuenteError('not_found', say('refusal.no_notice', { id: id.slice(0, 40) }));
}
