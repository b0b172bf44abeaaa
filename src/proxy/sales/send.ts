/** From a stored create to its committed outcome; the request path and the completer share it. */
import type { Order } from '../../contract/orders.ts';
import type { Merchant } from '../routing/merchant.ts';
import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import { type AttemptResult, attemptCreate } from './attempt.ts';
import { applyOrder, changeLink, type Decision, unclaimed } from './change.ts';
import { isContradicted } from './contradiction.ts';
import type { Link, LinkChange } from './link.ts';
import { wasCanceledByUs } from './link.ts';
import { readOrder, refreshLink } from './refresh.ts';

export type Sent =
  | { kind: 'created'; link: Link }
  /** Upstream refused: for sure (REJECTED), or unexecuted by a rate limit (NOT_SENT). */
  | { kind: 'refused'; link: Link; status: number; body: unknown; retry_after_ms: number | null }
  | { kind: 'not_sent'; link: Link }
  | { kind: 'in_doubt'; link: Link; busy: boolean }
  /** The row had ended before; there was nothing to send. */
  | { kind: 'over'; link: Link };

export interface SendPlan {
  token: Secret;
  deadline: number;
  /** The body when this call wrote the row; null when it joins a row or finishes it: then the stored bytes go. */
  body: Uint8Array | null;
  /** The merchant as it was when this call wrote the row, which says so; otherwise it is read. */
  merchant?: Merchant | undefined;
  /** Who waits for the answer: a client (default), or nobody. */
  for_client?: boolean;
}

/**
 * Runs a link's create to a committed outcome. Must be called inside `runtime.serial` for this link.
 * What the client may be told is committed before it is told (`reliability.md` §3.3 e).
 * @param fresh the link, where nobody can have changed it since it was written; otherwise it is read.
 */
export async function sendLink(
  runtime: Runtime,
  legacy_id: string,
  plan: SendPlan,
  fresh: Link | null = null,
): Promise<Sent> {
  const stored = fresh ?? (await runtime.store.link(legacy_id));
  if (stored === null) throw new Error(`the link ${legacy_id} was just written and is gone`);
  const link = isUnseen(stored) ? await seenSinceCancel(runtime, stored, plan) : stored;
  if (link === null) return { kind: 'in_doubt', link: stored, busy: false };
  if (link.state === 'LIVE') return await acknowledge(runtime, link, plan);
  // A retry is the same sale whatever became of it, paid included: a second order would charge twice (`reliability.md` §3.9).
  if (link.state === 'DONE' && !wasCanceledByUs(link)) return await acknowledge(runtime, link, plan);
  if (link.state !== 'SENDING' && link.state !== 'IN_DOUBT') return { kind: 'over', link };
  const sent_before = link.boot_id !== runtime.boot_id || link.attempts > 0 || runtime.unsettled.has(legacy_id);
  if (sent_before && !mayReplay(runtime, link)) return { kind: 'in_doubt', link, busy: true };
  // Ten retries that waited in line must not each add an attempt of their own after the deadline.
  if (sent_before && runtime.clock.now() >= plan.deadline) return { kind: 'in_doubt', link, busy: false };
  const body = plan.body ?? storedBody(runtime, link);
  runtime.unsettled.set(legacy_id, true);
  const merchant = plan.merchant ?? (await runtime.store.merchant(link.merchant_id));
  const result = await attemptCreate(runtime, {
    link,
    body,
    token: plan.token,
    deadline: plan.deadline,
    sent_before,
    exponent: runtime.tables.site(merchant?.site ?? null).exponent,
    // Nobody waits for what recovery sends: one try now, the next one at its own pace (F11, F12).
    attempts: plan.for_client === false ? 1 : runtime.settings.create.attempts,
  });
  return await settle(runtime, link, result, plan);
}

type Ordered = Link & { order_id: string };

/** Its cancel may have been done. */
function isUnseen(link: Link): link is Ordered {
  return link.state === 'LIVE' && link.cancel !== null && link.order_id !== null && unclaimed(link);
}

/**
 * An order that nobody was told of, and whose cancel was sent by a process that has died since, is looked at before a retry
 * is told that it is there (`reliability.md` §3.8).
 * @returns the link as it is by now; null when its order can't be read.
 */
async function seenSinceCancel(runtime: Runtime, link: Ordered, plan: SendPlan): Promise<Link | null> {
  const { order_id } = link;
  const before = runtime.reads.number(order_id);
  const seen = await refreshLink(runtime, link, plan.token, { force: true, deadline: plan.deadline });
  return runtime.reads.number(order_id) > before ? seen : null;
}

/**
 * True while the same key and bytes may be sent again: inside the replay window, before the order's own end, and
 * only when the wall clock can be believed (`reliability.md` §3.5, retry rules).
 */
export function mayReplay(runtime: Runtime, link: Link): boolean {
  const now = runtime.clock.now();
  if (link.sealed_body === null || link.first_sent_at === null || now < link.first_sent_at) return false;
  const window_ms = Math.min(runtime.settings.create.replay_window_ms, link.expires_at - link.created_at);
  return now - link.first_sent_at < window_ms;
}

async function settle(runtime: Runtime, link: Link, result: AttemptResult, plan: SendPlan): Promise<Sent> {
  const { verdict } = result;
  const attempts = link.attempts + result.attempts;
  if (verdict.kind === 'success') {
    const fresh = result.replayed ? await readOrder(runtime, plan.token, verdict.order.id, plan.deadline) : null;
    return await settleSuccess(
      runtime,
      link,
      fresh === null || fresh === 'missing' ? verdict.order : fresh,
      attempts,
      plan,
    );
  }
  const told = toldOfFailure(link, attempts, plan);
  if (verdict.kind === 'ambiguous') return await settleDoubt(runtime, link, told, verdict.busy);
  const state = verdict.kind === 'definite' ? 'REJECTED' : 'NOT_SENT';
  const saved = await changeLink(runtime, link, () => ({
    change: { ...told, state, sealed_body: null, next_check_at: null },
  }));
  runtime.unsettled.delete(link.legacy_id);
  if (verdict.kind === 'not_sent') return { kind: 'not_sent', link: saved };
  const retry_after_ms = verdict.kind === 'not_executed' ? verdict.retry_after_ms : null;
  return { kind: 'refused', link: saved, status: verdict.status, body: verdict.body, retry_after_ms };
}

/** The client was or will be told of an error; one that may have been told of a success, before a restore that lost it, was. */
function toldOfFailure(link: Link, attempts: number, plan: SendPlan): LinkChange {
  const is_untold = plan.for_client !== false && link.client_answer !== 'maybe';
  return is_untold ? { attempts, client_answer: 'error' } : { attempts };
}

async function settleDoubt(runtime: Runtime, link: Link, told: LinkChange, busy: boolean): Promise<Sent> {
  const saved = await changeLink(runtime, link, (current) => ({
    change: {
      ...told,
      ...(current.order_id === null ? { state: 'IN_DOUBT' } : {}),
      next_check_at: nextReplay(runtime, current),
    },
  }));
  runtime.unsettled.delete(link.legacy_id);
  return { kind: 'in_doubt', link: saved, busy };
}

/** Order id, state, what the client will be told, and any notice: one transaction (`reliability.md` §3.3, step 3). */
async function settleSuccess(
  runtime: Runtime,
  link: Link,
  order: Order,
  attempts: number,
  plan: SendPlan,
): Promise<Sent> {
  const extra = (): Decision => ({
    change: {
      order_id: order.id,
      attempts,
      sealed_body: null,
      ...(plan.for_client === false ? {} : acknowledgement(runtime, link)),
    },
  });
  const saved = await applyOrder(runtime, link, order, { extra, merchant: plan.merchant });
  // What was read after a replay is not what was asked for.
  if (isContradicted(runtime, link)) {
    return await settleDoubt(runtime, saved, toldOfFailure(saved, attempts, plan), false);
  }
  runtime.unsettled.delete(link.legacy_id);
  runtime.failpoint('create.settled');
  return { kind: 'created', link: saved };
}

/** The order is known already: only what the client is told is left to commit. */
async function acknowledge(runtime: Runtime, link: Link, plan: SendPlan): Promise<Sent> {
  if (plan.for_client === false || link.acknowledged_at !== null) return { kind: 'created', link };
  const saved = await changeLink(runtime, link, (current) => ({ change: acknowledgement(runtime, current) }));
  return { kind: 'created', link: saved };
}

/** Its till is about to be answered a 2xx, for the first time or again. */
function acknowledgement({ clock }: Runtime, { acknowledged_at }: Link): LinkChange {
  return { client_answer: 'maybe', acknowledged_at: acknowledged_at ?? clock.now() };
}

function storedBody(runtime: Runtime, link: Link): Uint8Array {
  if (link.sealed_body === null) throw new Error(`the link ${link.legacy_id} has no body to replay`);
  return runtime.vault.open(link.sealed_body, 'body');
}

/** When the completer tries next: 1, 2, 4, 8, 15, 30 s … and up to two fifths more, never sooner (`reliability.md` §3.5, F12). */
function nextReplay(runtime: Runtime, link: Link): number {
  const pauses_ms = [1_000, 2_000, 4_000, 8_000, 15_000];
  const rounds = Math.max(0, link.attempts - runtime.settings.create.attempts + 1);
  const base_ms = pauses_ms[rounds] ?? 30_000;
  return runtime.clock.now() + Math.round(base_ms * (1 + 0.4 * runtime.random()));
}
