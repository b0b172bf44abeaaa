/** Brown-outs: windows in which the legacy lane refuses a merchant's new work, as a drill before it ends for good. */
import type { Operation } from '../../mapping/tables.ts';
import type { Brownout, Merchant } from './merchant.ts';

/**
 * Stories of new work and of pure listings. What is about a sale that exists (reads, cancels, refunds), and everything of
 * payments and merchant orders, goes on, so that no money is stranded in a window.
 */
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

/** A window can be aborted at any moment, so nobody is told to stay away for longer than this. */
const LONGEST_WAIT_S = 60;

/**
 * The window that refuses this call on the legacy lane; null when it may pass. @param now epoch ms; a window holds from
 * `from` until just before `until`. Only a call whose token is proven to be the merchant's may be told of it.
 */
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
