/** A circuit breaker for calls to an upstream, which closes again slowly (`docs/protocol.md` P12, F31, F32). */
import { claimedMerchant } from '../routing/merchant-identity.ts';
import type { Secret } from '../vault.ts';
import { NO_FREE_CONNECTION, type UpstreamClient } from './client.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from './upstream.ts';

/**
 * Failures further apart are no outage but bad luck of a quiet shop. After this time without a failure it is unknown
 * whether an outage continues, because while calls are made, probes fail every second.
 */
const RUN_LONGEST_MS = 30_000;
/** A shorter run is a fault that breaks every connection at once, and ends before a breaker is of use. */
const RUN_SHORTEST_MS = 1_000;
/** In a trial, calls are sent this many times as often as probes. */
const TRIAL_PACE = 10;
/** Failures in a row that end a trial; a single one may concern a single order. */
const TRIAL_FAILURES = 3;
/** Successes that a trial needs. */
const TRIAL_SUCCESSES = 3;

interface BreakerSettings {
  /** Failures in a row that open the breaker; 0 never opens it. */
  failures: number;
  /** While open, one call in this time is sent as a probe. */
  probe_ms: number;
  /** How long calls must succeed before all are sent again. */
  steady_ms: number;
}

export type BreakerState = 'closed' | 'open' | 'trial';
type CallResult = 'success' | 'failure' | 'neutral';

type Breaker = ReturnType<typeof createBreaker>;

/**
 * `closed` sends all calls; a run of failures opens it. `open` sends one probe in `probe_ms`; a success starts a
 * `trial`, in which calls are paced. A trial in which calls succeed for `steady_ms` closes it, so that an upstream that
 * flaps faster is probed at a steady pace instead of being flooded each time (F32). Failures of one merchant only stop
 * that merchant's calls, until a call of another one fails too (F99). A breaker that opened before a quiet night is
 * closed by the first call of the morning.
 * `who`: the merchant of the call.
 * @param now monotonic, ms.
 */
export function createBreaker(
  settings: BreakerSettings,
  now: () => number,
  onChange: (state: BreakerState) => void = () => undefined,
) {
  let state: BreakerState = 'closed';
  /** Number of the current state; failures of calls that began in an earlier one do not count. */
  let epoch = 0;
  let since = 0;
  let let_through_at = Number.NEGATIVE_INFINITY;
  /** When the current run of failures began, and its last failures. */
  let run_began = 0;
  let run: { at: number; who: string }[] = [];
  let failed_at = 0;
  let successes = 0;
  /** The only merchant whose calls failed; null for several, and while closed. */
  let blamed: string | null = null;

  const enter = (next: BreakerState): void => {
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
    if (state === 'open') enter('trial');
    else if (state === 'trial' && ++successes >= TRIAL_SUCCESSES && now() - since >= settings.steady_ms)
      enter('closed');
  };
  const failed = (who: string): void => {
    if (isOthers(who)) blamed = null;
    failed_at = now();
    if (run.length === 0) run_began = now();
    run = [...run, { at: now(), who }].slice(-Math.max(settings.failures, TRIAL_FAILURES));
    if (state === 'trial' && run.length >= TRIAL_FAILURES) enter('open');
    if (state !== 'closed' || settings.failures === 0 || run.length < settings.failures) return;
    const age_ms = now() - (run[0]?.at ?? 0);
    if (age_ms <= RUN_LONGEST_MS && now() - run_began >= RUN_SHORTEST_MS) enter('open');
  };
  return {
    /** True when a call made now would be refused; changes nothing. */
    isShut,
    /** True when no call of this merchant is refused. */
    isClosed,
    /** @returns a function for the result of an admitted call; null when the call is refused. */
    admit(who = ''): ((result: CallResult) => void) | null {
      if (isShut(who)) return null;
      if (isForgotten()) enter('closed');
      if (!isOthers(who)) let_through_at = now();
      const began = epoch;
      return (result) => {
        if (result === 'success') succeeded(who);
        else if (result === 'failure' && began === epoch) failed(who);
      };
    },
    state: (): BreakerState => state,
  };
}

function onlyOne(failures: readonly { who: string }[]): string | null {
  const [first] = failures;
  return first !== undefined && failures.every(({ who }) => who === first.who) ? first.who : null;
}

/**
 * The same client behind two breakers, for writes and for reads, so that neither refuses calls because of the other. A
 * refused call is proved unsent. A read for a payment is refused only while writes are refused too; its result never
 * counts for writes, and not for reads when their breaker had refused it.
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
    const report = breakerOf(method).admit(who);
    const goes_anyway = report === null && method === 'GET' && for_payment === true && writes.isClosed(who);
    return goes_anyway ? () => undefined : report;
  };
  return {
    async send(call) {
      const report = admit(call);
      if (report === null) return { kind: 'not_sent', cause: 'kept back: upstream is failing', kept_back: true };
      let result: CallResult = 'neutral';
      try {
        const outcome = await client.send(call);
        result = resultOf(outcome);
        return outcome;
      } finally {
        report(result);
      }
    },
    isShut: (method, token) => breakerOf(method).isShut(whoseIs(token)),
    close: () => client.close(),
  };
}

/** As the token claims; all tokens without a claim count as one merchant. */
function whoseIs(token: Secret): string {
  return claimedMerchant(token) ?? '';
}

/** Any answer below 500 shows that upstream works; a gateway's page and a lack of Puente's own sockets show nothing. */
function resultOf(outcome: UpstreamOutcome): CallResult {
  if (outcome.kind === 'answered') return outcome.status < 500 ? 'success' : 'failure';
  if (outcome.kind === 'broken' && outcome.page !== undefined) return 'neutral';
  return outcome.kind === 'not_sent' && outcome.cause === NO_FREE_CONNECTION ? 'neutral' : 'failure';
}
