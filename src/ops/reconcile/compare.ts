/** One link against its order: judged on what is stored now, and repaired only while that still holds. */
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import { credentialOf } from '../../proxy/routing/merchant-identity.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { judgeLink, judgeUnknown, type Known, type Mismatch } from '../../proxy/sales/mismatch.ts';
import type { AdvanceRules } from '../../proxy/sales/order-transition.ts';
import { giveUp, isGone } from '../../proxy/sales/recover.ts';
import { readOrder } from '../../proxy/sales/refresh.ts';
import { advanceRules, applyOrder } from '../../proxy/sales/settle.ts';

/** `unread`: nobody could ask, or nobody answered. Null: both agree. */
export type Compared = { mismatch: Mismatch; repaired: boolean } | 'unread' | null;

/** Compares one link with its order, and repairs it when asked to and when that is safe. @param earlier may be of a moment ago. */
export async function compare(runtime: Runtime, earlier: Link, apply: boolean): Promise<Compared> {
  const link = (await runtime.store.link(earlier.legacy_id)) ?? earlier;
  const unknown = judgeUnknown(link, runtime.clock.now(), runtime.settings.create.replay_window_ms);
  if (unknown !== null) return finish(runtime, link, { mismatch: unknown, order: null }, apply);
  if (link.order_id === null) return null;
  const token = await credentialOf(runtime, link.merchant_id);
  if (token === null) return 'unread';
  const order = await readOrder(runtime, token, link.order_id);
  if (order === null) return 'unread';
  // An event may have moved it while the order was being read.
  const current = (await runtime.store.link(link.legacy_id)) ?? link;
  const known = order === 'missing' && isGone(runtime, current) ? 'gone' : order;
  const mismatch = judgeLink(current, known, runtime.tables, await rulesFor(runtime, link.merchant_id));
  return mismatch === null ? null : finish(runtime, current, { mismatch, order: known }, apply);
}

interface Found {
  mismatch: Mismatch;
  order: Known | null;
}

async function finish(runtime: Runtime, link: Link, found: Found, apply: boolean): Promise<Compared> {
  const { mismatch } = found;
  runtime.count('reconciled', mismatch.kind);
  if (!apply || mismatch.repair === 'none') return { mismatch, repaired: false };
  try {
    // Never beside a till's own call on the same sale.
    const repaired = await runtime.serial.run(link.legacy_id, () => repair(runtime, link, found));
    return { mismatch, repaired };
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    runtime.log.error('a mismatch could not be repaired', { legacy_id: link.legacy_id, cause: error.message });
    return { mismatch, repaired: false };
  }
}

/** @returns true when both agree afterwards. */
async function repair(runtime: Runtime, link: Link, { mismatch, order }: Found): Promise<boolean> {
  if (mismatch.repair === 'give_up') return giveUp(runtime, link, say('settled.given_up', { why: mismatch.what }).text);
  if (mismatch.repair !== 'read' || order === null || order === 'missing' || order === 'gone') return false;
  const after = await applyOrder(runtime, link, order);
  return judgeLink(after, order, runtime.tables, await rulesFor(runtime, link.merchant_id)) === null;
}

async function rulesFor(runtime: Runtime, merchant_id: string): Promise<AdvanceRules> {
  return { ...advanceRules(runtime, await runtime.store.merchant(merchant_id)), released: false };
}
