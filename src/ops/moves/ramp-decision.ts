/** Whether a merchant of a ramp goes on to its next step, waits, or goes back: pure. */
import type { Sentence, Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { BulkItem, RampPlan } from '../../proxy/records/routing.ts';
import type { RoutedKind } from '../../proxy/routing/merchant.ts';
import { iso, rounded } from '../fields.ts';
import type { Route } from './target.ts';

/** What one merchant of a ramp has shown since its step began. A missing part has not been read. */
export interface RampEvidence {
  /** What the judgement of the next move lacks, and findings that nobody has judged or repaired. */
  open?: readonly Spoken[];
  /** Paid sales that were made on orders; counted up to what the plan needs. Null: none can come, no unit is there. */
  sales?: number | null;
  calls?: RampCalls;
}

export interface RampCalls {
  /** Calls on orders, and those of them with a fault of Puente or upstream. */
  calls: number;
  faults: number;
  /** Creates of each lane that were answered 2xx. */
  orders_creates: number;
  legacy_creates: number;
  /** 95th percentile of those, ms; null: too few to measure. */
  orders_p95_ms: number | null;
  legacy_p95_ms: number | null;
}

export interface RampStop {
  kind: RoutedKind;
  why: Sentence;
}

export interface RampFacts {
  plan: Pick<RampPlan, 'steps' | 'soak_ms' | 'min_sales'>;
  /** Place in the plan's steps; -1 before the first. */
  step: number;
  /** The place at which the ramp took the merchant up; it goes no further back. */
  start: number;
  /** Epoch ms at which the step began. */
  since: number;
  /** Epoch ms. */
  now: number;
  /** A safety stop in force. */
  stop: RampStop | null;
  /** A stop has tripped since the step began, also one that was reset, and the merchant has not stepped back for it. */
  is_tripped: boolean;
  /** Where the merchant is when somebody else has moved it; null: where the ramp left it. */
  elsewhere: Spoken | null;
  evidence: RampEvidence;
  /** Percent of faults at which the safety stop trips, and the time from which a call is slow for it. */
  stop_share: number;
  slow_ms: number;
  /** Fewer creates of a lane are not measured. */
  min_sample: number;
}

export type RampDecision =
  | { do: 'advance' | 'back'; to: number }
  | { do: 'hold' | 'leave'; why: Spoken }
  /** A stop that no further step back answers: the whole ramp waits for a person. */
  | { do: 'pause'; why: Spoken }
  /** This part of the evidence is needed for a decision. */
  | { do: 'look'; at: keyof RampEvidence }
  | { do: 'done' };

export const rampConditions = ['stop', 'time', 'findings', 'sales', 'faults', 'latency'] as const;

/** One thing that a step waits for, and how near it is. */
interface RampCondition {
  name: (typeof rampConditions)[number];
  is_met: boolean;
  what: Spoken;
}

/** A ramp goes on well below the share at which the safety stop trips: it must not be the one that trips it. */
const OF_STOP_SHARE = 0.5;
/** Orders takes a translation and another network more than legacy; a till waits 10 s before it gives up. */
const LATENCY_TIMES = 2;
const LATENCY_SPARE_MS = 500;

/** A stop and another person's move come first; then the conditions, the first that is not met holds the merchant. */
export function decideRamp(facts: RampFacts): RampDecision {
  const { plan, step, start, is_tripped, elsewhere } = facts;
  if (elsewhere !== null) return { do: 'leave', why: say('ramp.elsewhere', { where: elsewhere }) };
  if (is_tripped && step > start) return { do: 'back', to: step - 1 };
  for (const one of conditionsOf(facts)) {
    if ('look' in one) return { do: 'look', at: one.look };
    if (!one.is_met) return { do: one.name === 'stop' ? 'pause' : 'hold', why: one.what };
  }
  return step === plan.steps.length - 1 ? { do: 'done' } : { do: 'advance', to: step + 1 };
}

/** In the order of what they cost to know: the traffic of a step is read only when all else would let it go on. */
export function* conditionsOf(facts: RampFacts): Generator<RampCondition | { look: keyof RampEvidence }> {
  const { plan, step, since, now, stop, evidence } = facts;
  if (stop !== null) yield { name: 'stop', is_met: false, what: say('ramp.stop', { kind: stop.kind, why: stop.why }) };
  if (step >= 0) {
    const until = since + plan.soak_ms;
    yield { name: 'time', is_met: now >= until, what: say('ramp.soaks', { until_at: iso(until) }) };
  }
  if (evidence.open === undefined) return yield { look: 'open' };
  if (evidence.open.length === 0) yield { name: 'findings', is_met: true, what: say('ramp.no_findings', {}) };
  for (const what of evidence.open) yield { name: 'findings', is_met: false, what };
  if (step >= 0) {
    if (evidence.sales === undefined) return yield { look: 'sales' };
    const { sales } = evidence;
    const { min_sales } = plan;
    if (sales === null) yield { name: 'sales', is_met: true, what: say('ramp.no_unit', {}) };
    else if (sales >= min_sales) yield { name: 'sales', is_met: true, what: say('ramp.enough_sales', { min_sales }) };
    else yield { name: 'sales', is_met: false, what: say('ramp.few_sales', { sales, min_sales }) };
  }
  if (evidence.calls === undefined) return yield { look: 'calls' };
  if (!isUntouched(facts)) yield faultsOf(facts, evidence.calls);
  yield latencyOf(facts, evidence.calls);
}

/** Before the first step only pilots are on orders, and none on a share that is no unit. */
function isUntouched({ step, evidence }: RampFacts): boolean {
  return step < 0 || evidence.sales === null;
}

function faultsOf({ stop_share }: RampFacts, { calls, faults }: RampCalls): RampCondition {
  const share = stop_share * OF_STOP_SHARE;
  const is_met = faults === 0 || faults * 100 < calls * share;
  return { name: 'faults', is_met, what: say('ramp.faults', { faults, calls, share: rounded(share, 2) }) };
}

/**
 * Too little to compare is a reason to wait. Where all units are on orders nothing comes on legacy any more: there the
 * measure is what the safety stop calls slow.
 */
function latencyOf(facts: RampFacts, calls: RampCalls): RampCondition {
  const { slow_ms, min_sample } = facts;
  const { orders_p95_ms, legacy_p95_ms, orders_creates: orders, legacy_creates: legacy } = calls;
  const found = (is_met: boolean, what: Spoken): RampCondition => ({ name: 'latency', is_met, what });
  if (isUntouched(facts) && legacy_p95_ms !== null) return found(true, say('ramp.measured', { legacy_p95_ms }));
  if (orders_p95_ms === null) return found(false, say('ramp.no_latency', { orders, legacy, min_sample }));
  if (legacy_p95_ms === null)
    return found(orders_p95_ms <= slow_ms, say('ramp.slow_alone', { orders_p95_ms, most_ms: slow_ms }));
  const most_ms = legacy_p95_ms * LATENCY_TIMES + LATENCY_SPARE_MS;
  return found(orders_p95_ms <= most_ms, say('ramp.slow', { orders_p95_ms, legacy_p95_ms, most_ms }));
}

export type RampPlace = NonNullable<BulkItem['ramp']>;

/** Where a step puts a merchant: 100 percent is stage `orders`. At its start it stays where it was. */
export function routeAt(
  steps: readonly number[],
  step: number,
  { start, from }: { start: number; from: Route },
): Route {
  const share = steps[step];
  if (share === undefined || step <= start) return from;
  return share === 100 ? { stage: 'orders', share: 0 } : { stage: 'canary', share };
}
