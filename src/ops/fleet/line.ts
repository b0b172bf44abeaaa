/** One merchant as the fleet board shows it: pure. */
import type { Said } from '../../error.ts';
import { heard } from '../../locales/sentences.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import type { OpenCount } from '../../proxy/records/routing.ts';
import { type Merchant, type RoutedKind, routedKinds, type Stage, type Trip } from '../../proxy/routing/merchant.ts';
import { type RoutingRules, stageInForce } from '../../proxy/routing/stage.ts';
import type { LanePulses } from './pulse.ts';

/** What a readiness verdict comes to, and when it was made. */
export interface Judged {
  verdict: Verdict;
  blockers: number;
  /** The first blocker, or else the first thing that is not proven; null when there is none. */
  first: string | null;
  first_said: Said | null;
  /** RFC 3339. */
  at: string;
}

export interface Incident {
  /** RFC 3339. */
  at: string;
  /** The audit line's action, as `safety stop`. */
  what: string;
  why: string;
  said: Said | null;
}

export interface FleetLine {
  merchant_id: string;
  site: string | null;
  revision: number;
  /** The merchant's own stage in force; a kind of work may have another. */
  stage: Stage;
  /** As the operator set it. */
  intended: Stage;
  /** Percent of the units, on canary. */
  share: number;
  /** Kinds of work whose stage in force is not the merchant's. */
  apart: { kind: RoutedKind; stage: Stage; share: number }[];
  /** Kinds that a safety stop holds. */
  stopped: RoutedKind[];
  health: LanePulses;
  /** Open sales by lane of birth, creates in doubt, and notices that wait. */
  open: Omit<OpenCount, 'merchant_id'>;
  /** Open sales on the lane that new work has left; null while both lanes get new work, or nothing is left behind. */
  draining: { lane: 'legacy' | 'orders'; open: number } | null;
  /** Null: not judged yet. */
  readiness: Judged | null;
  /** Of the last thirty days. */
  last_incident: Incident | null;
  /** Moves that wait for a second person. */
  waiting_moves: number;
}

/** What is known of a merchant beside its row. */
export interface Beside {
  health: LanePulses;
  open: OpenCount | undefined;
  readiness: Judged | null;
  last_incident: Incident | null;
  waiting_moves: number;
}

export function fleetLine(rules: RoutingRules, merchant: Merchant, beside: Beside): FleetLine {
  const own = stageInForce(rules, merchant, null);
  const kinds = routedKinds.map((kind) => ({ kind, ...stageInForce(rules, merchant, kind) }));
  const stopped = kinds.filter(({ trip }) => trip !== null);
  const { orders = 0, legacy = 0, in_doubt = 0, notices_pending = 0 } = beside.open ?? {};
  return {
    merchant_id: merchant.id,
    site: merchant.site,
    revision: merchant.revision,
    stage: own.stage,
    intended: own.intended,
    share: own.intended === 'canary' ? own.share : 0,
    apart: kinds.filter((one) => differs(one, own)).map(({ kind, stage, share }) => ({ kind, stage, share })),
    stopped: stopped.map(({ kind }) => kind),
    health: beside.health,
    open: { orders, legacy, in_doubt, notices_pending },
    draining: drainOf(
      kinds.map(({ stage }) => stage),
      { orders, legacy },
    ),
    readiness: beside.readiness,
    last_incident: beside.last_incident ?? newestStop(stopped),
    waiting_moves: beside.waiting_moves,
  };
}

interface Placed {
  stage: Stage;
  share: number;
  trip: Trip | null;
}

function differs(one: Placed, own: Placed): boolean {
  return one.stage !== own.stage || (one.stage === 'canary' && one.share !== own.share);
}

/** What new work of every kind has left drains; a canary leaves neither lane. */
function drainOf(stages: readonly Stage[], open: { orders: number; legacy: number }): FleetLine['draining'] {
  const is_off_orders = stages.every((stage) => stage === 'legacy' || stage === 'shadow');
  if (is_off_orders && open.orders > 0) return { lane: 'orders', open: open.orders };
  const is_off_legacy = stages.every((stage) => stage === 'orders');
  return is_off_legacy && open.legacy > 0 ? { lane: 'legacy', open: open.legacy } : null;
}

/** A reason with its code; one that a person gave has none. */
export function whyOf(why: string): Pick<Incident, 'why' | 'said'> {
  return { why, said: heard(why).said };
}

/** A stop that stands for longer than incidents are looked for is one all the same. */
function newestStop(stopped: readonly Placed[]): Incident | null {
  const trips = stopped.flatMap(({ trip }) => trip ?? []);
  const [newest] = trips.toSorted((one, other) => other.at - one.at);
  return newest === undefined
    ? null
    : { at: new Date(newest.at).toISOString(), what: 'safety stop', ...whyOf(newest.why) };
}
