/** The stage in force, whether a unit belongs to the canary, and brown-outs of the legacy lane; pure functions. */
import { createHash } from 'node:crypto';
import type { Operation } from '../../mapping/tables.ts';
import type { OperationKind } from '../evidence/exchange.ts';
import { type Brownout, type Merchant, type RoutedKind, routedKinds, type Stage, type Trip } from './merchant.ts';

/** The settings that routing uses. */
export interface RoutingRules {
  merchants: { stage: Stage };
  routing: { canary_salt: string };
}

interface StageInForce {
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

/** @param kind payments follow the merchant's own stage; null for a call of no kind. */
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
 * True when the stage alone assigns a unit's new work to orders; live work on the unit may override it.
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

/** True when its legacy work is also translated on paper (`docs/glossary.md` Stage). */
export function isShadowed(stage: Stage): boolean {
  return stage === 'shadow' || stage === 'canary';
}

/** 0 to 9999, always the same for a unit: raising a share only ever adds units. */
export function bucketOf(salt: string, merchant_id: string, slot: string): number {
  const hash = createHash('sha256').update(`${salt}\n${merchant_id}\n${slot}`).digest();
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * BUCKETS);
}

/** @param slot `point:<terminal>` or `qr:<point of sale>`. */
export function kindOfSlot(slot: string): RoutedKind {
  return slot.startsWith('qr:') ? 'qr' : 'intents';
}

// Brown-outs: windows in which the legacy lane refuses a merchant's new work, as a drill before it ends for good.

/** New work and pure listings. Existing sales, payments and merchant orders go on, so that no money is stranded. */
const REFUSED_STORIES: ReadonlySet<string> = new Set([
  'list_devices',
  'change_mode',
  'list_events',
  'create_intent',
  'create_preference',
  'create_store_order',
  'create_dynamic_code',
  'create_hybrid_code',
]);

/** Longest `Retry-After`, because a window can be aborted at any moment. */
const LONGEST_WAIT_S = 60;

/** The window that refuses this call on the legacy lane at `now` (epoch ms). Only a proven token may learn of it. */
export function brownoutOf(merchant: Merchant | null, operation: Operation, now: number): Brownout | null {
  if (merchant === null || operation.kind === 'payments' || !REFUSED_STORIES.has(operation.story)) return null;
  return (
    merchant.settings.brownouts.find(
      ({ from, until, aborted_at }) => aborted_at === null && from <= now && now < until,
    ) ?? null
  );
}

/** Seconds for `Retry-After`: until the window ends, at least one. @param now epoch ms. */
export function brownoutWait_s(window: Brownout, now: number): number {
  return Math.min(LONGEST_WAIT_S, Math.max(1, Math.ceil((window.until - now) / 1000)));
}
