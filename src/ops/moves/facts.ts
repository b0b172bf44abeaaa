/** What is known of a merchant when a move is judged: units, traffic, open work and evidence, gathered before and handed in. */

import type { SeenUnit, VerdictRow } from '../../proxy/records/evidence.ts';
import type { Merchant, RoutedKind } from '../../proxy/routing/merchant.ts';
import type { RoutingRules } from '../../proxy/routing/stage.ts';
import type { CoreSettings } from '../../proxy/runtime.ts';
import type { Person } from '../api/person.ts';
import type { Readiness } from '../readiness/verdict.ts';
import type { MoveTarget } from './target.ts';

/** A sale that is open on one side, and keeps its unit there. */
export interface OpenSale {
  side: 'orders' | 'legacy';
  legacy_id: string | null;
  /** Null: it holds no unit. */
  slot: string | null;
  /** Epoch ms after which it is over at the latest. */
  ends_at: number;
}

/** Calls of one kind that prove something. */
export interface Sample {
  /** Taken by legacy and translated on paper, or read from both sides. */
  shadow: number;
  /** Served by the orders API, and well. */
  orders: number;
  /** All that came, whatever the lane. */
  seen: number;
  /** A day, over the last seven; fewer for a merchant that is newer. */
  calls_a_day: number;
}

export interface Facts {
  samples: Record<RoutedKind, Sample>;
  units: readonly Pick<SeenUnit, 'slot' | 'calls'>[];
  open: readonly OpenSale[];
  /** The worst difference that nobody has explained or accepted, in words; null when there is none. */
  worst_difference: string | null;
  /** What the shadow says that orders would refuse. */
  predicted_refusals: readonly Pick<VerdictRow, 'operation' | 'code' | 'error' | 'detail' | 'count'>[];
  /** Newest exchange that the evidence rests on; 0 when there is none. */
  exchange_sequence: number;
}

/** Everything that decides a move. */
export interface Situation {
  merchant: Merchant;
  target: MoveTarget;
  person: Person;
  /** Epoch ms. */
  now: number;
  rules: RoutingRules;
  settings: Pick<CoreSettings['moves'], 'gate' | 'second_approver' | 'window' | 'min_sample'>;
  readiness: Readiness;
  facts: Facts;
}
