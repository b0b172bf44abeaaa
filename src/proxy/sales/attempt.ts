/** Sends one stored create until its outcome is known or the deadline is over (`reliability.md` §3.5). */

import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import { routeOf } from '../upstream/upstream.ts';
import { reportContradiction } from './contradiction.ts';
import type { Link } from './link.ts';
import { sendUntilReady } from './not-yet.ts';
import { type CreateVerdict, judgeCreate } from './outcome.ts';

/** Before the second attempt, and before every further one, full jitter (`reliability.md` §3.5). */
const FIRST_PAUSE_MS = 300;
const LATER_PAUSE_MS = 1_500;
/** An attempt with less time than this left would only turn a known outcome into an unknown one. */
const SHORTEST_ATTEMPT_MS = 250;

export interface AttemptPlan {
  link: Link;
  body: Uint8Array;
  token: Secret;
  /** Epoch ms after which nothing new is started. */
  deadline: number;
  /** True when an earlier process or call may have sent this row already. */
  sent_before: boolean;
  attempts: number;
  /** Decimals of the merchant's currency. */
  exponent: number;
}

export interface AttemptResult {
  verdict: CreateVerdict;
  attempts: number;
  /** The success came on a repeat: the answer may be a stored one, so the order has to be read. */
  replayed: boolean;
}

/**
 * Same key, same bytes, at most `attempts` times inside the deadline and the process-wide retry budget.
 * Once an attempt was ambiguous the whole stays ambiguous, unless a later one succeeds.
 */
export async function attemptCreate(runtime: Runtime, plan: AttemptPlan): Promise<AttemptResult> {
  let maybe_sent = plan.sent_before;
  let doubt: CreateVerdict | null = null;
  let attempts = 0;
  // What recovery repeats was paid for by its first attempt.
  if (!plan.sent_before) runtime.budget.earn();
  for (;;) {
    const verdict = await attemptOnce(runtime, plan, maybe_sent);
    attempts++;
    if (verdict.kind === 'success') return { verdict, attempts, replayed: maybe_sent };
    if (verdict.kind === 'definite') return { verdict, attempts, replayed: false };
    if (verdict.kind === 'ambiguous') {
      maybe_sent = true;
      doubt = verdict;
      if (!verdict.retry) return { verdict, attempts, replayed: false };
    }
    const wait_ms = pause(runtime, attempts, verdict);
    const late = runtime.clock.now() + wait_ms + SHORTEST_ATTEMPT_MS > plan.deadline;
    const kept_back = verdict.kind === 'not_sent' && verdict.kept_back === true;
    if (attempts >= plan.attempts || late || kept_back || !runtime.budget.spend()) {
      return { verdict: doubt ?? hold(verdict, plan), attempts, replayed: false };
    }
    await runtime.clock.sleep(wait_ms);
  }
}

async function attemptOnce(runtime: Runtime, plan: AttemptPlan, replay: boolean): Promise<CreateVerdict> {
  const { create } = runtime.settings;
  const timeLeft = (): number => plan.deadline - runtime.clock.now();
  // Nobody waits for what recovery sends: it comes back by itself.
  const patient_until = plan.attempts > 1 ? plan.deadline : 0;
  runtime.failpoint('create.before_send');
  const outcome = await sendUntilReady(runtime, patient_until, () =>
    runtime.upstream.send({
      ...routeOf('create'),
      body: plan.body,
      token: plan.token,
      idempotency_key: plan.link.idempotency_key,
      timeout_ms: Math.max(SHORTEST_ATTEMPT_MS, Math.min(create.attempt_timeout_ms, timeLeft())),
    }),
  );
  runtime.failpoint('create.answer_read');
  const verdict = judgeCreate(outcome, { sale: plan.link, exponent: plan.exponent, replay });
  if (verdict.kind === 'ambiguous' || verdict.kind === 'not_sent') {
    runtime.log.warn(`create: ${verdict.kind}`, { legacy_id: plan.link.legacy_id, cause: verdict.cause });
  }
  const contradicts = verdict.kind === 'ambiguous' ? verdict.contradicts : undefined;
  if (contradicts !== undefined) {
    await reportContradiction(runtime, plan.link, contradicts.order_id, contradicts.contradiction);
  }
  return verdict;
}

/** What another attempt may change. */
type Undecided = Exclude<CreateVerdict, { kind: 'success' | 'definite' }>;

/** A row that may have been sent earlier is never "not sent" because this attempt was not. */
function hold(verdict: Undecided, plan: AttemptPlan): CreateVerdict {
  if (!plan.sent_before) return verdict;
  const cause = verdict.kind === 'not_executed' ? `status ${verdict.status}` : verdict.cause;
  return { kind: 'ambiguous', cause, retry: true, busy: false };
}

function pause(runtime: Runtime, attempts: number, verdict: CreateVerdict): number {
  if (verdict.kind === 'not_executed' && verdict.retry_after_ms !== null) return verdict.retry_after_ms;
  return Math.ceil((attempts === 1 ? FIRST_PAUSE_MS : LATER_PAUSE_MS) * runtime.random());
}
