/** What is worth knowing and in nobody's way, each with the command that shows it: pure. */
import { routedKinds } from '../merchant.ts';
import type { LedgerRow } from '../records/evidence.ts';
import { comingCalls, usedKinds } from './areas.ts';
import { isSharedRefusal, showOf } from './blockers.ts';
import { RECENT_DAYS, type ReadinessFacts, type Seen } from './facts.ts';
import type { Finding } from './verdict.ts';
import { callsOf, saidOf, times } from './words.ts';

/** Losses, sales that don't agree, errors that read differently, kinds tried in vain, and unknown things that are carried. */
export function remarksOf(seen: Seen, facts: ReadinessFacts): Finding[] {
  const { merchant_id, unknown } = facts;
  const losses = (['money', 'identity', 'other'] as const).flatMap((weight) =>
    lossRemark(seen.ledger, weight, merchant_id),
  );
  const errors = seen.differences
    .filter((one) => one.state === 'new' && isSharedRefusal(one))
    .map((one) => ({
      ...finding('error_difference', errorText(one), showOf(one), one.operation),
      sample: one.sample,
    }));
  const carried = seen.unknowns.filter(({ what }) => unknown === null || unknown[what] === 'carry');
  const found = [...losses, ...mismatchRemarks(facts), ...errors, ...refusedKinds(seen, facts)];
  if (carried.length === 0) return found;
  const names = carried.slice(0, 5).map(({ what, name }) => `${what} ${name}`);
  const more = carried.length > names.length ? ` and ${carried.length - names.length} more` : '';
  const what = `No table knows ${names.join(', ')}${more}.`;
  return [...found, finding('unknown_carried', what, `puente unknowns --merchant ${merchant_id}`, null)];
}

function errorText(one: Seen['differences'][number]): string {
  return `${one.operation} is refused by both sides and told differently, ${times(one.count)}: legacy says ${one.legacy}, and ${saidOf(one.orders)}`;
}

/** What reconciliation could not repair is about sales that exist, not about the next move. */
function mismatchRemarks({ mismatches, merchant_id }: ReadinessFacts): Finding[] {
  const kinds = [...new Set(mismatches.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const mine = mismatches.filter((one) => one.kind === kind);
    const [first] = mine;
    const one = mine.length === 1 ? 'one sale does' : `${mine.length} sales do`;
    const what = `In the last ${RECENT_DAYS} days ${one} not agree with the upstream (${kind}), and could not be repaired: ${first?.subject}${mine.length > 1 ? ', …' : ''}.`;
    return finding(`mismatch_${kind}`, what, `puente reconcile --merchant ${merchant_id}`, null);
  });
}

/** A kind that was only tried in vain is not judged as used. */
function refusedKinds(seen: Seen, { operations, merchant_id }: ReadinessFacts): Finding[] {
  const used = usedKinds(operations, seen);
  if (used.length === 0) return [];
  return routedKinds.flatMap((kind) => {
    const creates = operations.filter((one) => one.kind === kind && one.upstream === 'create');
    const came = comingCalls(creates, seen);
    if (came === 0 || used.includes(kind)) return [];
    const what = `${callsOf(came)} to make a sale of ${kind} came and none went well, so ${kind} counts as not used.`;
    return [finding('not_used', what, `puente coverage ${merchant_id}`, null)];
  });
}

function lossRemark(ledger: readonly LedgerRow[], weight: LedgerRow['weight'], merchant_id: string): Finding[] {
  const rows = ledger.filter((row) => row.weight === weight);
  const [first] = rows;
  if (first === undefined) return [];
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  const fields = [...new Set(rows.map(({ path }) => path))];
  const words = { money: 'Money', identity: 'Who or what a sale was for', other: 'Other fields' }[weight];
  const what = `${words} did not reach the order ${times(count)}: ${fields.slice(0, 5).join(', ')}${fields.length > 5 ? ', …' : ''}.`;
  const command = `puente losses --merchant ${merchant_id}`;
  return [{ code: `loss_${weight}`, what, command, operation: first.operation, sample: first.sample }];
}

function finding(code: string, what: string, command: string | null, operation: string | null): Finding {
  return { code, what, command, operation, sample: null };
}
