/** Submits a stored create for requests and recovery, and commits its outcome (`docs/protocol.md` §3.5, §3.6). */
import { type Order, order as orderSchema } from '../../contract/orders.ts';
import type { Ports } from '../ports.ts';
import type { Flight, Sent } from '../process-memory.ts';
import type { Merchant } from '../routing/merchant.ts';
import { errorCode, isNotReady, routeOf, sendUntilReady, type UpstreamOutcome } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import { acknowledging, noteAnswered } from './known-to-till.ts';
import { type Link, type LinkChange, wasCanceledByUs } from './link.ts';
import { readOrder, refreshLink } from './refresh.ts';
import {
  applyOrder,
  type Contradiction,
  changeLink,
  contradictionIn,
  type Decision,
  isContradicted,
  reportContradiction,
  type SaleTerms,
  unclaimed,
} from './settle.ts';

/** How a stored create is sent; `deadline` is epoch ms. */
export interface SendPlan {
  token: Secret;
  deadline: number;
  /** The bytes, when this call wrote the row; null: the stored bytes are sent. */
  body: Uint8Array | null;
  /** Set when this call wrote the row, which checked the merchant's revision; otherwise the merchant is read. */
  merchant?: Merchant | undefined;
  /** False when no till waits for the answer (recovery); true by default. */
  for_client?: boolean;
}

/**
 * Sends a link's create until it has an outcome, committed before the till is answered (`docs/protocol.md` §3.3 e). Must be called
 * inside `ports.memory.mutex` for this link.
 * @param fresh the link, when it can't have changed since its row was written; otherwise it is read.
 */
export async function sendLink(
  ports: Ports,
  legacy_id: string,
  plan: SendPlan,
  fresh: Link | null = null,
): Promise<Sent> {
  const stored = fresh ?? (await ports.store.links.link(legacy_id));
  if (stored === null) throw new Error(`the link ${legacy_id} was written just now and is missing`);
  const link = mayBeCanceled(stored) ? await seenSinceCancel(ports, stored, plan) : stored;
  if (link === null) return { kind: 'in_doubt', link: stored, busy: false };
  if (link.state === 'LIVE') return await commitAnswer(ports, link, plan);
  // A retry is the same sale in any state, paid included: a second order would charge twice (`docs/protocol.md` §3.9).
  if (link.state === 'DONE' && !wasCanceledByUs(link)) return await commitAnswer(ports, link, plan);
  if (link.state !== 'SENDING' && link.state !== 'IN_DOUBT') return { kind: 'terminal', link };
  // By another process, by an earlier call, or by a call of this process that could not commit the outcome.
  const sent_before =
    link.boot_id !== ports.memory.ids.boot || link.attempts > 0 || ports.memory.sales.unsettled.has(legacy_id);
  if (sent_before && !mayRepeat(ports, link)) return { kind: 'in_doubt', link, busy: true };
  // Retries that waited for the mutex must not each add an attempt after the deadline.
  if (sent_before && ports.clock.now() >= plan.deadline) return { kind: 'in_doubt', link, busy: false };
  const body = plan.body ?? storedBody(ports, link);
  ports.memory.sales.unsettled.set(legacy_id, true);
  const merchant = plan.merchant ?? (await ports.store.merchants.merchant(link.merchant_id));
  const result = await attemptCreate(ports, {
    link,
    body,
    token: plan.token,
    deadline: plan.deadline,
    sent_before,
    exponent: ports.tables.site(merchant?.site ?? null).exponent,
    // Recovery makes one attempt now, and the next one at its own pace (F11, F12).
    attempts: plan.for_client === false ? 1 : ports.settings.create.attempts,
    waits_until_ready: plan.for_client !== false,
  });
  return await settle(ports, link, result, plan);
}

type Ordered = Link & { order_id: string };

/** An unclaimed order whose cancel was marked, and which nobody has read since: upstream may have executed the cancel. */
function mayBeCanceled(link: Link): link is Ordered {
  return link.state === 'LIVE' && link.cancel !== null && link.order_id !== null && unclaimed(link);
}

/**
 * Reads the order before a retry is answered with it (`docs/protocol.md` §3.8); null when it can't be read, or while the
 * cancel of another process may be on its way.
 */
async function seenSinceCancel(ports: Ports, link: Ordered, plan: SendPlan): Promise<Link | null> {
  const { order_id } = link;
  const reads_before = ports.memory.sales.reads.number(order_id);
  const latest = await refreshLink(ports, link, plan.token, { force: true, deadline: plan.deadline });
  if (ports.memory.sales.reads.number(order_id) <= reads_before) return null;
  const marked_at = Math.max(link.updated_at, latest.updated_at);
  const is_on_its_way = ports.clock.now() - marked_at < ports.settings.create.attempt_timeout_ms;
  return is_on_its_way && latest.order?.status === 'created' ? null : latest;
}

/** Whether an idempotent repeat is still safe: the same key and bytes (`docs/protocol.md` §3.5, retry rules). */
export function mayRepeat(ports: Ports, link: Link): boolean {
  const now = ports.clock.now();
  if (link.sealed_body === null || link.first_sent_at === null || now < link.first_sent_at) return false;
  const window_ms = Math.min(ports.settings.create.replay_window_ms, link.expires_at - link.created_at);
  return now - link.first_sent_at < window_ms;
}

async function settle(ports: Ports, link: Link, result: AttemptResult, plan: SendPlan): Promise<Sent> {
  const { verdict } = result;
  const attempts = link.attempts + result.attempts;
  if (verdict.kind === 'success') {
    const fresh = result.is_repeat ? await readOrder(ports, plan.token, verdict.order.id, plan.deadline) : null;
    return await settleSuccess(
      ports,
      link,
      fresh === null || fresh === 'missing' ? verdict.order : fresh,
      attempts,
      plan,
    );
  }
  const answered = answeredWithError(link, attempts, plan);
  if (verdict.kind === 'ambiguous') return await settleDoubt(ports, link, answered, verdict.busy);
  const state = verdict.kind === 'definite' ? 'REJECTED' : 'NOT_SENT';
  // Another process that has sent the same row meanwhile may know better, as while this one stood still.
  const isUntouched = (current: Link): boolean => current.order_id === null && current.attempts === link.attempts;
  const saved = await changeLink(ports, link, (current) =>
    isUntouched(current) ? { change: { ...answered, state, sealed_body: null, next_check_at: null } } : null,
  );
  ports.memory.sales.unsettled.delete(link.legacy_id);
  if (saved.order_id !== null) return await sendLink(ports, link.legacy_id, plan);
  if (saved.state === 'IN_DOUBT') return { kind: 'in_doubt', link: saved, busy: false };
  if (verdict.kind === 'not_sent') return { kind: 'not_sent', link: saved };
  const retry_after_ms = verdict.kind === 'not_executed' ? verdict.retry_after_ms : null;
  return { kind: 'refused', link: saved, status: verdict.status, body: verdict.body, retry_after_ms };
}

/** The till was or will be answered an error, unless it may have been answered 2xx before a backup was restored. */
function answeredWithError(link: Link, attempts: number, plan: SendPlan): LinkChange {
  const is_undelivered = plan.for_client !== false && link.client_answer !== 'maybe';
  return is_undelivered ? { attempts, client_answer: 'error' } : { attempts };
}

async function settleDoubt(ports: Ports, link: Link, answered: LinkChange, busy: boolean): Promise<Sent> {
  const saved = await changeLink(ports, link, (current) => ({
    change: {
      ...answered,
      ...(current.order_id === null ? { state: 'IN_DOUBT' } : {}),
      next_check_at: nextRepeat(ports, current),
    },
  }));
  ports.memory.sales.unsettled.delete(link.legacy_id);
  return { kind: 'in_doubt', link: saved, busy };
}

/** Commits order id, state, the delivered answer and notices in one transaction (`docs/protocol.md` §3.3, step 3). */
async function settleSuccess(ports: Ports, link: Link, order: Order, attempts: number, plan: SendPlan): Promise<Sent> {
  const at = plan.for_client === false ? null : (link.acknowledged_at ?? acknowledging(ports, link));
  const extra = (current: Link): Decision => ({
    change: { order_id: order.id, attempts, sealed_body: null, ...(at === null ? {} : answeredAt(current, at)) },
  });
  const saved = await applyOrder(ports, link, order, { extra, merchant: plan.merchant });
  // Only an order that was read after a repeat can contradict its sale here.
  if (isContradicted(ports, link)) {
    return await settleDoubt(ports, saved, answeredWithError(saved, attempts, plan), false);
  }
  ports.memory.sales.unsettled.delete(link.legacy_id);
  if (plan.for_client !== false && link.acknowledged_at === null) noteAnswered(ports, saved);
  ports.memory.failpoint('create.settled');
  return { kind: 'created', link: saved };
}

/** The order is known: only that its answer is delivered is left to commit. */
async function commitAnswer(ports: Ports, link: Link, plan: SendPlan): Promise<Sent> {
  if (plan.for_client === false || link.acknowledged_at !== null) return { kind: 'created', link };
  const at = acknowledging(ports, link);
  // A cancel that another process has marked since the row was read may be on its way (`docs/protocol.md` §3.8).
  const isWithdrawn = (current: Link): boolean =>
    unclaimed(current) && current.cancel !== null && current.revision !== link.revision;
  const saved = await changeLink(ports, link, (current) =>
    isWithdrawn(current) ? null : { change: answeredAt(current, at) },
  );
  if (isWithdrawn(saved)) return { kind: 'in_doubt', link: saved, busy: false };
  noteAnswered(ports, saved);
  return { kind: 'created', link: saved };
}

/** Committed before each 2xx, and taken back if none leaves whole; `acknowledged_at` is the time of the first that did. */
function answeredAt({ acknowledged_at }: Link, at: number): LinkChange {
  return { client_answer: 'maybe', acknowledged_at: acknowledged_at ?? at };
}

function storedBody(ports: Ports, link: Link): Uint8Array {
  if (link.sealed_body === null) throw new Error(`the link ${link.legacy_id} has no body to repeat`);
  return ports.vault.open(link.sealed_body, 'body');
}

/** When recovery tries next: after 1, 2, 4, 8, 15, 30 s … and up to two fifths more (`docs/protocol.md` §3.7, F12). */
function nextRepeat(ports: Ports, link: Link): number {
  const pauses_ms = [1_000, 2_000, 4_000, 8_000, 15_000];
  // Attempts beyond those of the till's own call.
  const rounds = Math.max(0, link.attempts - ports.settings.create.attempts + 1);
  const base_ms = pauses_ms[rounds] ?? 30_000;
  return ports.clock.now() + Math.round(base_ms * (1 + 0.4 * ports.memory.ids.random()));
}

/**
 * Runs a link's create after those in flight. When upstream refused the sale meanwhile, a retry gets the same refusal
 * (`docs/protocol.md` §3.9): its own attempt would be refused too, and many would use up the retry budget.
 */
export async function sendInTurn(ports: Ports, link: Link, plan: SendPlan): Promise<Sent> {
  const { mutex, sales } = ports.memory;
  const { legacy_id } = link;
  // This call has just written the row, and no other work on it is queued.
  const fresh = plan.body !== null && !mutex.busy(legacy_id) ? link : null;
  const earlier = sales.in_flight.get(legacy_id);
  const sent = mutex.run(legacy_id, () => sendLink(ports, legacy_id, plan, fresh));
  if (earlier === undefined) sales.in_flight.set(legacy_id, { token: plan.token, sent });
  try {
    const own = await sent;
    return own.kind === 'terminal' && earlier !== undefined ? await refusalOf(ports, earlier, plan.token, own) : own;
  } finally {
    if (earlier === undefined) sales.in_flight.delete(legacy_id);
  }
}

/** The earlier create's refusal, if it had the same token: another token may be accepted. */
async function refusalOf(ports: Ports, earlier: Flight, token: Secret, own: Sent): Promise<Sent> {
  const fingerprint = (one: Secret): string => ports.vault.fingerprint(one);
  if (fingerprint(earlier.token) !== fingerprint(token)) return own;
  const result = await earlier.sent.catch(() => own);
  return result.kind === 'refused' || result.kind === 'not_sent' ? result : own;
}

/** The longest random pause before the second attempt, and before later ones (`docs/protocol.md` §3.5). */
const FIRST_PAUSE_MS = 300;
const LATER_PAUSE_MS = 1_500;
/** A shorter attempt would be cut, and leave a doubt. */
const SHORTEST_ATTEMPT_MS = 250;

/** What all attempts of one create share. */
export interface AttemptPlan {
  link: Link;
  body: Uint8Array;
  token: Secret;
  /** Epoch ms after which no attempt starts. */
  deadline: number;
  /** True when an earlier process or call may have sent this row already. */
  sent_before: boolean;
  attempts: number;
  /** Whether an attempt is repeated while upstream is not ready: for a till that waits; recovery tries again later. */
  waits_until_ready: boolean;
  /** Decimals of the merchant's currency. */
  exponent: number;
}

interface AttemptResult {
  verdict: CreateVerdict;
  attempts: number;
  /** A repeat succeeded: its answer may be an old one, so the order is read. */
  is_repeat: boolean;
}

/**
 * Sends one stored create until its outcome is known (`docs/protocol.md` §3.5): same key and bytes, inside the deadline
 * and the retry budget. After an ambiguous attempt only a success ends the doubt.
 */
export async function attemptCreate(ports: Ports, plan: AttemptPlan): Promise<AttemptResult> {
  let maybe_sent = plan.sent_before;
  let doubt: CreateVerdict | null = null;
  let attempts = 0;
  // Only the first attempt of a sale adds to the retry budget.
  if (!plan.sent_before) ports.memory.retries.earn();
  for (;;) {
    const verdict = await attemptOnce(ports, plan, maybe_sent);
    attempts++;
    if (verdict.kind === 'success') return { verdict, attempts, is_repeat: maybe_sent };
    if (verdict.kind === 'definite') return { verdict, attempts, is_repeat: false };
    if (verdict.kind === 'ambiguous') {
      maybe_sent = true;
      doubt = verdict;
      if (!verdict.retry) return { verdict, attempts, is_repeat: false };
    }
    const wait_ms = pause(ports, attempts, verdict);
    const late = ports.clock.now() + wait_ms + SHORTEST_ATTEMPT_MS > plan.deadline;
    const kept_back = verdict.kind === 'not_sent' && verdict.kept_back === true;
    if (attempts >= plan.attempts || late || kept_back || !ports.memory.retries.spend()) {
      return { verdict: doubt ?? keepDoubt(verdict, plan), attempts, is_repeat: false };
    }
    await ports.clock.sleep(wait_ms);
  }
}

async function attemptOnce(ports: Ports, plan: AttemptPlan, is_repeat: boolean): Promise<CreateVerdict> {
  const { create } = ports.settings;
  const timeLeft = (): number => plan.deadline - ports.clock.now();
  const patient_until = plan.waits_until_ready ? plan.deadline : 0;
  ports.memory.failpoint('create.before_send');
  const outcome = await sendUntilReady(ports, patient_until, () =>
    ports.upstreams.orders.send({
      ...routeOf('create'),
      body: plan.body,
      token: plan.token,
      idempotency_key: plan.link.idempotency_key,
      timeout_ms: Math.max(SHORTEST_ATTEMPT_MS, Math.min(create.attempt_timeout_ms, timeLeft())),
    }),
  );
  ports.memory.failpoint('create.answer_read');
  const verdict = judgeCreate(outcome, { sale: plan.link, exponent: plan.exponent, is_repeat });
  if (verdict.kind === 'ambiguous' || verdict.kind === 'not_sent') {
    ports.log.warn(`create: ${verdict.kind}`, { legacy_id: plan.link.legacy_id, cause: verdict.cause });
  }
  const contradicts = verdict.kind === 'ambiguous' ? verdict.contradicts : undefined;
  if (contradicts !== undefined) {
    await reportContradiction(ports, plan.link, contradicts.order_id, contradicts.contradiction);
  }
  return verdict;
}

/** Verdicts that another attempt may change. */
type Undecided = Exclude<CreateVerdict, { kind: 'success' | 'definite' }>;

/** A row that may have been sent before stays in doubt, although this attempt was not sent or not executed. */
function keepDoubt(verdict: Undecided, plan: AttemptPlan): CreateVerdict {
  if (!plan.sent_before) return verdict;
  const cause = verdict.kind === 'not_executed' ? `status ${verdict.status}` : verdict.cause;
  return { kind: 'ambiguous', cause, retry: true, busy: false };
}

function pause(ports: Ports, attempts: number, verdict: CreateVerdict): number {
  if (verdict.kind === 'not_executed' && verdict.retry_after_ms !== null) return verdict.retry_after_ms;
  return Math.ceil((attempts === 1 ? FIRST_PAUSE_MS : LATER_PAUSE_MS) * ports.memory.ids.random());
}

// What the outcome of one create attempt means (`docs/protocol.md` §3.5): pure.

type CreateVerdict =
  /** The order exists and is this sale's. */
  | { kind: 'success'; order: Order }
  /** Refused for sure; nothing exists. */
  | { kind: 'definite'; status: number; body: unknown }
  /** Refused unexecuted: by a rate limit, or because it can't be done yet. */
  | { kind: 'not_executed'; status: number; body: unknown; retry_after_ms: number | null }
  /** Proved that no byte left. */
  | { kind: 'not_sent'; cause: string; kept_back?: boolean }
  /** The order may exist. `retry`: the same key and bytes may be sent again now. `busy`: the till is answered busy. */
  | { kind: 'ambiguous'; cause: string; retry: boolean; busy: boolean; contradicts?: Contradicting };

/** The order of an answer that contradicts its sale. */
interface Contradicting {
  order_id: string;
  contradiction: Contradiction;
}

interface CreateExpectation {
  /** What was sent; an order with other terms is not this sale's. */
  sale: SaleTerms;
  /** Decimals of the merchant's currency. */
  exponent: number;
  /** True when an earlier attempt of this row may have reached upstream. */
  is_repeat: boolean;
}

/** Classifies one attempt. A 2xx is a success only if its order has the reference and contradicts no term. */
export function judgeCreate(outcome: UpstreamOutcome, expected: CreateExpectation): CreateVerdict {
  if (outcome.kind === 'not_sent') return outcome;
  if (outcome.kind === 'broken') return ambiguous(outcome.cause, true);
  const { status, body } = outcome;
  if (status === 200 || status === 201) return judgeOrder(body, expected);
  if (status >= 200 && status < 300) return ambiguous(`unexpected status ${status}`, true);
  if (status === 429 || isNotReady(outcome))
    return { kind: 'not_executed', status, body, retry_after_ms: outcome.retry_after_ms };
  if (status >= 300 && status < 400) return ambiguous(`redirect ${status}`, false);
  if (status >= 500 || status === 408) return ambiguous(`status ${status}`, true);
  const code = errorCode(body);
  if (code === 'idempotency_key_already_used') return ambiguous(code, false);
  if (!expected.is_repeat) return { kind: 'definite', status, body };
  if (code?.startsWith('already_queued_order')) return { ...ambiguous(code, false), busy: true };
  // 400 and 404 on a repeat contradict the first attempt; 401 and 403 mean that the token is no longer valid.
  return ambiguous(`status ${status} on a repeat`, false);
}

function judgeOrder(body: unknown, expected: CreateExpectation): CreateVerdict {
  const parsed = orderSchema.safeParse(body);
  if (!parsed.success) return ambiguous('success without a readable order', true);
  const order = parsed.data;
  if (order.external_reference === undefined) return ambiguous('order without a reference', true);
  const contradiction = contradictionIn(expected.sale, order, expected.exponent);
  if (contradiction !== null) return contradicting(order.id, contradiction);
  return { kind: 'success', order };
}

function ambiguous(cause: string, retry: boolean): Extract<CreateVerdict, { kind: 'ambiguous' }> {
  return { kind: 'ambiguous', cause, retry, busy: false };
}

/** Retried with the same key and bytes: the answer may be wrong, and not the order. */
function contradicting(order_id: string, contradiction: Contradiction): CreateVerdict {
  const { what } = contradiction;
  return { ...ambiguous(`order with another ${what}`, true), contradicts: { order_id, contradiction } };
}
