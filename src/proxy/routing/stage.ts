/** Which stage is in force for a kind of work, and whether a unit is in the canary: pure decisions on a merchant's row. */
import { createHash } from 'node:crypto';
import type { OperationKind } from '../evidence/exchange.ts';
import { type Merchant, type RoutedKind, routedKinds, type Stage, type Trip } from './merchant.ts';

/** What routing needs of the settings. */
export interface RoutingRules {
  merchants: { stage: Stage };
  routing: { canary_salt: string };
}

export interface StageInForce {
  /** After a safety stop: never above shadow. */
  stage: Stage;
  /** As the operator set it. */
  intended: Stage;
  /** Percent of units on canary. */
  share: number;
  trip: Trip | null;
}

/** Buckets of the canary hash: a hundredth of a percent each. */
const BUCKETS = 10_000;

/** The stage in force. @param kind a payments call follows the merchant's own stage; null is a call of no kind. */
export function stageInForce(rules: RoutingRules, merchant: Merchant | null, kind: OperationKind | null): StageInForce {
  const routed = routedKinds.find((one) => one === kind) ?? null;
  const own = routed === null ? undefined : merchant?.settings.kinds[routed];
  const intended = own?.stage ?? merchant?.settings.stage ?? rules.merchants.stage;
  const share = own?.share ?? merchant?.settings.share ?? 0;
  const trip = (routed === null ? null : merchant?.trips[routed]) ?? null;
  const stopped = trip !== null && (intended === 'canary' || intended === 'orders');
  return { stage: stopped ? 'shadow' : intended, intended, share, trip };
}

/**
 * True when a unit's new work goes to orders by stage alone; what is live on it may still keep it elsewhere.
 * @param slot `point:<terminal>` or `qr:<point of sale>`; null for work of no unit, which a canary leaves on legacy.
 */
export function isOnOrders(
  rules: RoutingRules,
  merchant: Merchant | null,
  merchant_id: string,
  kind: OperationKind | null,
  slot: string | null,
): boolean {
  const { stage, share } = stageInForce(rules, merchant, kind);
  if (stage !== 'canary') return stage === 'orders';
  if (slot === null) return false;
  if (merchant?.settings.units_out.includes(slot)) return false;
  if (merchant?.settings.units_in.includes(slot)) return true;
  return bucketOf(rules.routing.canary_salt, merchant_id, slot) < share * (BUCKETS / 100);
}

/** True when its legacy work is also translated on paper (DESIGN, Three paths). */
export function isShadowed(stage: Stage): boolean {
  return stage === 'shadow' || stage === 'canary';
}

/** 0 to 9999, always the same for a unit: raising a share only ever adds units. */
export function bucketOf(salt: string, merchant_id: string, slot: string): number {
  const hash = createHash('sha256').update(`${salt}\n${merchant_id}\n${slot}`).digest();
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * BUCKETS);
}

/** The kind that a slot's new work is of. */
export function kindOfSlot(slot: string): RoutedKind {
  return slot.startsWith('qr:') ? 'qr' : 'intents';
}
