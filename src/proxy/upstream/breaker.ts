/** Keeps calls away from an upstream at which nothing works, and lets them back slowly (`docs/protocol.md` P12, F31, F32). */
import { claimedMerchant } from '../routing/merchant-identity.ts';
import type { Secret } from '../vault.ts';
import { NO_FREE_CONNECTION, type UpstreamClient } from './client.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from './upstream.ts';

/**
 * Failures further apart than this are no outage but a quiet shop's bad luck; and so long after the last one nobody knows
 * whether there still is an outage, because while anybody calls, probes fail every second.
 */
const RUN_LONGEST_MS = 30_000;
/** A blip that breaks every connection at once is over before a breaker is of use. */
const RUN_SHORTEST_MS = 1_000;
/** While it is tried whether the upstream holds, calls leave this many times as often as probes did. */
const TRIAL_PACE = 10;
/** Failures in a row that end a trial; a single one may be a single order's. */
const TRIAL_FAILURES = 3;
/** Successes without which a trial proves nothing. */
const TRIAL_SUCCESSES = 3;

export interface BreakerSettings {
  /** Failures in a row, without one success between them, that open the breaker; 0 never opens it. */
  failures: number;
  /** While it is open, one call in this time is let through as a probe. */
  probe_ms: number;
  /** How long calls must work again before all are let through. */
  steady_ms: number;
}

export type BreakerState = 'closed' | 'open' | 'trial';
export type CallResult = 'success' | 'failure' | 'neutral';

/** `who`: the merchant that a call is of. */
export interface Breaker {
  /** True when a call made now would be refused. Takes nothing. */
  isShut(who?: string): boolean;
  /** True when nothing is kept back of this merchant. */
  isClosed(who?: string): boolean;
  /** What to tell the result of a call that may go; null when it must not. */
  admit(who?: string): ((result: CallResult) => void) | null;
  state(): BreakerState;
}

/**
 * `closed` lets all calls through; a run of failures opens it. `open` lets one probe through in `probe_ms`; any success
 * starts a `trial`, in which calls are paced. A trial in which calls work for `steady_ms` closes the breaker, so that an
 * upstream that flaps faster than that is probed at a steady pace instead of being flooded at each turn (F32).
 * One merchant's failures alone keep back that merchant alone, until a call of another one fails, too (F99). What was
 * opened before a quiet night is closed in the morning: of two tills that call then, none is told that nothing works.
 * @param now monotonic, ms.
 */
export function createBreaker(
  settings: BreakerSettings,
  now: () => number,
  onChange: (state: BreakerState) => void = () => undefined,
): Breaker {
  let state: BreakerState = 'closed';
  /** Calls that began before the last change prove nothing bad about what came after it. */
  let epoch = 0;
  let since = 0;
  let let_through_at = Number.NEGATIVE_INFINITY;
  /** Since when nothing has worked, and the last failures. */
  let run_began = 0;
  let run: { at: number; who: string }[] = [];
  let failed_at = 0;
  let successes = 0;
  /** The only merchant whose calls have failed; null when there are several, and while it is closed. */
  let blamed: string | null = null;

  const turn = (next: BreakerState): void => {
    if (next === 'open') blamed = onlyOne(run);
    else if (next === 'closed') blamed = null;
    state = next;
    epoch++;
    since = now();
    run = [];
    successes = 0;
    onChange(next);
  };
  const isOthers = (who: string): boolean => blamed !== null && who !== blamed;
  const isForgotten = (): boolean => state !== 'closed' && now() - failed_at >= RUN_LONGEST_MS;
  const isClosed = (who = ''): boolean => state === 'closed' || isOthers(who) || isForgotten();
  const isShut = (who = ''): boolean => {
    if (isClosed(who)) return false;
    const pause_ms = state === 'open' ? settings.probe_ms : settings.probe_ms / TRIAL_PACE;
    return now() - let_through_at < pause_ms;
  };
  const succeeded = (who: string): void => {
    if (isOthers(who)) return;
    run = [];
    if (state === 'open') turn('trial');
    else if (state === 'trial' && ++successes >= TRIAL_SUCCESSES && now() - since >= settings.steady_ms) turn('closed');
  };
  const failed = (who: string): void => {
    if (isOthers(who)) blamed = null;
    failed_at = now();
    if (run.length === 0) run_began = now();
    run = [...run, { at: now(), who }].slice(-Math.max(settings.failures, TRIAL_FAILURES));
    if (state === 'trial' && run.length >= TRIAL_FAILURES) turn('open');
    if (state !== 'closed' || settings.failures === 0 || run.length < settings.failures) return;
    const age_ms = now() - (run[0]?.at ?? 0);
    if (age_ms <= RUN_LONGEST_MS && now() - run_began >= RUN_SHORTEST_MS) turn('open');
  };
  return {
    isShut,
    isClosed,
    admit(who = '') {
      if (isShut(who)) return null;
      if (isForgotten()) turn('closed');
      if (!isOthers(who)) let_through_at = now();
      const began = epoch;
      return (result) => {
        if (result === 'success') succeeded(who);
        else if (result === 'failure' && began === epoch) failed(who);
      };
    },
    state: () => state,
  };
}

function onlyOne(failures: readonly { who: string }[]): string | null {
  const [first] = failures;
  return first !== undefined && failures.every(({ who }) => who === first.who) ? first.who : null;
}

/**
 * The same client behind two breakers: one for calls that change something, one for reads, so that neither sheds the
 * other. A call that is kept back is proved unsent. A read that a payment waits for is kept back only where payments are,
 * too; it proves nothing for them, and one that goes where reads are kept back proves nothing for those.
 * @param now monotonic, ms.
 */
export function withBreaker(
  client: UpstreamClient,
  settings: BreakerSettings,
  onChange: (calls: 'writes' | 'reads', state: BreakerState) => void,
  now = (): number => performance.now(),
): UpstreamClient & Required<Upstream> {
  const writes = createBreaker(settings, now, (state) => onChange('writes', state));
  const reads = createBreaker(settings, now, (state) => onChange('reads', state));
  const breakerOf = (method: UpstreamCall['method']): Breaker => (method === 'GET' ? reads : writes);
  const admit = ({ method, token, for_payment }: UpstreamCall): ReturnType<Breaker['admit']> => {
    const who = whoseIs(token);
    const tell = breakerOf(method).admit(who);
    const goes_anyway = tell === null && method === 'GET' && for_payment === true && writes.isClosed(who);
    return goes_anyway ? () => undefined : tell;
  };
  return {
    async send(call) {
      const tell = admit(call);
      if (tell === null) return { kind: 'not_sent', cause: 'kept back: nothing works upstream', kept_back: true };
      let result: CallResult = 'neutral';
      try {
        const outcome = await client.send(call);
        result = resultOf(outcome);
        return outcome;
      } finally {
        tell(result);
      }
    },
    isShut: (method, token) => breakerOf(method).isShut(whoseIs(token)),
    close: () => client.close(),
  };
}

/** On the token's word; those that name nobody count as one. */
function whoseIs(token: Secret): string {
  return claimedMerchant(token) ?? '';
}

/** An answer below 500 shows that the upstream works, whatever it says; a lack of our own sockets shows nothing. */
function resultOf(outcome: UpstreamOutcome): CallResult {
  if (outcome.kind === 'answered') return outcome.status < 500 ? 'success' : 'failure';
  return outcome.kind === 'not_sent' && outcome.cause === NO_FREE_CONNECTION ? 'neutral' : 'failure';
}
