/** Whether a merchant of a ramp goes on to its next step, waits, or goes back: pure. */
import type { Sentence, Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { BulkItem, RampPlan } from '../../proxy/records/routing.ts';
import type { RoutedKind } from '../../proxy/routing/merchant.ts';
import { iso, rounded } from '../fields.ts';
import type { Route } from './target.ts';

/** What one merchant of a ramp has shown since its step began. */
export interface RampEvidence {
  /** Sales made on orders. */
  sales: number;
  /** Calls on orders, and those of them with a fault of Puente or upstream. */
  calls: number;
  faults: number;
  /** 95th percentile of creates on each lane, ms; null: too few to compare. */
  orders_p95_ms: number | null;
  legacy_p95_ms: number | null;
  /** What the judgement of the next move lacks, and findings that nobody has judged or repaired. */
  open: readonly Spoken[];
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
  stop: { kind: RoutedKind; why: Sentence } | null;
  /** Where the merchant is when somebody else has moved it; null: where the ramp left it. */
  elsewhere: string | null;
  /** Null: not read yet. */
  evidence: RampEvidence | null;
  /** Percent of faults at which the safety stop trips. */
  stop_share: number;
}

export type RampDecision =
  | { do: 'advance' | 'back'; to: number }
  | { do: 'hold' | 'leave'; why: Spoken }
  /** A stop that no step back answers: the whole ramp waits for a person. */
  | { do: 'pause'; why: Spoken }
  /** The evidence is needed for a decision. */
  | { do: 'look' }
  | { do: 'done' };

/** A ramp goes on well below the share at which the safety stop trips: it must not be the one that trips it. */
const OF_STOP_SHARE = 0.5;
/** Orders takes a translation and another network more than legacy; a till waits 10 s before it gives up. */
const LATENCY_TIMES = 2;
const LATENCY_SPARE_MS = 500;

/** A stop and another person's move come first; then the cheap conditions, so that evidence is read only when due. */
export function decideRamp(facts: RampFacts): RampDecision {
  const { plan, step, start, since, now, stop, elsewhere, evidence } = facts;
  if (elsewhere !== null) return { do: 'leave', why: say('ramp.elsewhere', { where: elsewhere }) };
  if (stop !== null) {
    if (step > start) return { do: 'back', to: step - 1 };
    return { do: 'pause', why: say('ramp.stop', { kind: stop.kind, why: stop.why }) };
  }
  if (step >= 0 && now < since + plan.soak_ms)
    return { do: 'hold', why: say('ramp.soaks', { until_at: iso(since + plan.soak_ms) }) };
  if (evidence === null) return { do: 'look' };
  const why = shortOf(facts, evidence) ?? evidence.open[0] ?? null;
  if (why !== null) return { do: 'hold', why };
  return step === plan.steps.length - 1 ? { do: 'done' } : { do: 'advance', to: step + 1 };
}

/** What the step's own traffic lacks; null for nothing. Too little to compare is a reason to wait, too. */
function shortOf({ plan, step, stop_share }: RampFacts, evidence: RampEvidence): Spoken | null {
  const { sales, calls, faults, orders_p95_ms, legacy_p95_ms } = evidence;
  // Before the first step nothing is on orders; but later steps may leave too little on legacy to measure it.
  if (step < 0) return legacy_p95_ms === null ? say('ramp.no_latency', {}) : null;
  if (sales < plan.min_sales) return say('ramp.few_sales', { sales, min_sales: plan.min_sales });
  const share = stop_share * OF_STOP_SHARE;
  if (faults > 0 && faults * 100 >= calls * share)
    return say('ramp.faults', { faults, calls, share: rounded(share, 2) });
  if (orders_p95_ms === null || legacy_p95_ms === null) return say('ramp.no_latency', {});
  const most_ms = legacy_p95_ms * LATENCY_TIMES + LATENCY_SPARE_MS;
  return orders_p95_ms > most_ms ? say('ramp.slow', { orders_p95_ms, legacy_p95_ms, most_ms }) : null;
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
