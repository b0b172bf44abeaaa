/** Whether a merchant's notices would have somewhere to go on orders: pure. */

import { say } from '../../locales/sentences.ts';
import type { Operation } from '../../mapping/tables.ts';
import { usedKinds } from './areas.ts';
import { anyOf } from './blockers.ts';
import type { ReadinessFacts, Seen } from './facts.ts';
import { type Finding, finding } from './verdict.ts';

/**
 * On orders Puente tells the merchant itself: intents by the merchant's URL, a QR sale by the URL it came with, or by that.
 * Legacy told them by a setting of its own panel, so nobody here knows whether the tills wait for notices: not proven.
 */
export function noticeFindings(seen: Seen, { notice_url, operations, merchant_id }: ReadinessFacts): Finding[] {
  if (notice_url !== false) return [];
  const needing = usedKinds(operations, seen).filter((kind) => kind !== 'qr' || !namesItsUrl(seen, operations));
  const command = `puente merchants set ${merchant_id} --notify https://… --reason …`;
  return needing.map((kind) =>
    finding(NO_NOTICE_URL, say('no_notice_url', { kind }), command, { operation: anyOf(operations, kind) }),
  );
}

/** Holds back every move that puts work on orders, a canary too. */
export const NO_NOTICE_URL = 'no_notice_url';

/** Every QR sale that was evaluated said where its notices go. */
function namesItsUrl({ coverage }: Seen, operations: readonly Operation[]): boolean {
  const creates = operations.filter(({ kind, upstream }) => kind === 'qr' && upstream === 'create');
  return creates.every(({ name }) => {
    const cells = coverage.filter(({ operation }) => operation === name);
    const named = cells.find(({ field }) => field === 'body.notification_url');
    const evaluated = cells.reduce((most, { equal, different }) => Math.max(most, equal + different), 0);
    return evaluated === 0 || (named !== undefined && named.equal + named.different >= evaluated);
  });
}
