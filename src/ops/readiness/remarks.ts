/** What is worth knowing and in nobody's way, each with the command that shows it: pure. */

import { sideOf } from '../../locales/sentences/facts.ts';
import { say } from '../../locales/sentences.ts';
import { SELF_SERVICE_SHOWN } from '../../mapping/converters/point.ts';
import type { LedgerRow } from '../../proxy/records/evidence.ts';
import { routedKinds } from '../../proxy/routing/merchant.ts';
import { comingCalls, usedKinds } from './areas.ts';
import { isSharedRefusal, showOf } from './blockers.ts';
import { RECENT_DAYS, type ReadinessFacts, type Seen } from './facts.ts';
import { type Finding, finding } from './verdict.ts';

/** Losses, sales that don't agree, errors that read differently, kinds tried in vain, and unknown things that are carried. */
export function remarksOf(seen: Seen, facts: ReadinessFacts): Finding[] {
  const { merchant_id, unknown } = facts;
  const losses = (['money', 'identity', 'other'] as const).flatMap((weight) =>
    lossRemark(seen.ledger, weight, merchant_id),
  );
  const errors = seen.differences
    .filter((one) => one.state === 'new' && isSharedRefusal(one))
    .map((one) => {
      const { operation, count, legacy, orders, sample } = one;
      const sentence = say('error_difference', { operation, count, legacy, ...sideOf(orders) });
      return finding('error_difference', sentence, showOf(one), { operation, sample });
    });
  const carried = seen.unknowns.filter(({ what }) => unknown === null || unknown[what] === 'carry');
  const found = [
    ...selfService(seen.ledger, merchant_id),
    ...losses,
    ...mismatchRemarks(facts),
    ...errors,
    ...refusedKinds(seen, facts),
  ];
  if (carried.length === 0) return found;
  const names = carried.slice(0, 5).map(({ what, name }) => `${what} ${name}`);
  const sentence = say('unknown_carried', { names: names.join(', '), more: carried.length - names.length });
  return [...found, finding('unknown_carried', sentence, `puente unknowns --merchant ${merchant_id}`)];
}

/** What reconciliation could not repair is about sales that exist, not about the next move. */
function mismatchRemarks({ mismatches, merchant_id }: ReadinessFacts): Finding[] {
  const kinds = Map.groupBy(mismatches, ({ kind }) => kind);
  return [...kinds].flatMap(([kind, mine]) =>
    mine.slice(0, 1).map(({ subject }) => {
      const sentence = say('mismatch', { days: RECENT_DAYS, count: mine.length, mismatch: kind, subject });
      return finding(`mismatch_${kind}`, sentence, `puente reconcile --merchant ${merchant_id}`);
    }),
  );
}

/** A kind that was only tried in vain is not judged as used. */
function refusedKinds(seen: Seen, { operations, merchant_id }: ReadinessFacts): Finding[] {
  const used = usedKinds(operations, seen);
  if (used.length === 0) return [];
  return routedKinds.flatMap((kind) => {
    const creates = operations.filter((one) => one.kind === kind && one.upstream === 'create');
    const came = comingCalls(creates, seen);
    if (came === 0 || used.includes(kind)) return [];
    return [finding('not_used', say('not_used', { calls: came, kind }), `puente coverage ${merchant_id}`)];
  });
}

/** A till that wants them for its own sales can't switch them over any more. */
function selfService(ledger: readonly LedgerRow[], merchant_id: string): Finding[] {
  return ledger
    .filter(({ why }) => why === SELF_SERVICE_SHOWN)
    .map(({ count, operation, sample }) =>
      finding('self_service', say('self_service', { count }), `puente losses --merchant ${merchant_id}`, {
        operation,
        sample,
      }),
    );
}

function lossRemark(ledger: readonly LedgerRow[], weight: LedgerRow['weight'], merchant_id: string): Finding[] {
  const rows = ledger.filter((row) => row.weight === weight);
  const [first] = rows;
  if (first === undefined) return [];
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  const fields = [...new Set(rows.map(({ path }) => path))];
  const shown = fields.slice(0, 5);
  const sentence = say('loss', { weight, count, fields: shown.join(', '), more: fields.length - shown.length });
  const { operation, sample } = first;
  return [finding(`loss_${weight}`, sentence, `puente losses --merchant ${merchant_id}`, { operation, sample })];
}
