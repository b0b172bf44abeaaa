/** What stands hard in the way of a merchant's move, each with the command that shows or mends it: pure. */
import type { Operation } from '../../mapping/tables.ts';
import { type RoutedKind, routedKinds } from '../merchant.ts';
import type { DifferenceGroup } from '../records/evidence.ts';
import { usedKinds } from './areas.ts';
import { DAY_MS, RECENT_DAYS, type ReadinessFacts, type ReadinessRules, type Seen } from './facts.ts';
import type { Finding } from './verdict.ts';
import { saidOf, sumOf, times } from './words.ts';

export function blockersOf(seen: Seen, facts: ReadinessFacts, rules: ReadinessRules): Finding[] {
  return [
    ...refusalFindings(seen),
    ...differenceFindings(seen),
    ...stopFindings(facts),
    ...credentialFindings(seen, facts),
    ...unknownFindings(seen, facts),
    ...faultFindings(seen, facts, rules),
  ];
}

/** Orders that would be refused where legacy took the sale, by the exact code; what both refuse changes nothing for a till. */
function refusalFindings({ differences }: Seen): Finding[] {
  return differences.filter((one) => one.state === 'new' && isRefusal(one)).map(refusalFinding);
}

function refusalFinding(one: DifferenceGroup): Finding {
  const what = `${one.operation}: legacy took it ${times(one.count)}, and ${saidOf(one.orders)}`;
  return { code: 'predicted_refusal', what, command: showOf(one), operation: one.operation, sample: one.sample };
}

/** What both sides refuse, and tell differently, is a remark. */
function differenceFindings({ differences }: Seen): Finding[] {
  return differences
    .filter((one) => one.state === 'new' && !isSharedRefusal(one) && !isRefusal(one))
    .map((one) => {
      const { operation, sample } = one;
      return { code: 'open_difference', what: differenceText(one), command: showOf(one), operation, sample };
    });
}

/** Both sides have refused the call, and the till is told another error. */
export function isSharedRefusal({ what, legacy, orders }: DifferenceGroup): boolean {
  return what === 'error' && !isAnswer(legacy) && !isAnswer(orders);
}

/** As a double read tells it: the class of the status. */
function isAnswer(said: string): boolean {
  return said.startsWith('2xx');
}

function differenceText({ operation, what, path, count, legacy, orders }: DifferenceGroup): string {
  if (what === 'error' && isAnswer(legacy))
    return `${operation}: legacy answered it ${times(count)}, and orders refused it: ${orders}`;
  if (what === 'error') return `${operation}: orders answered it ${times(count)}, and legacy refused it: ${legacy}`;
  if (what === 'verdict')
    return `${operation}: legacy refused it ${times(count)} (${legacy}), and orders would take it`;
  const where = path === '' ? '' : ` at ${path}`;
  return `${operation} differs${where}, ${times(count)}: legacy says ${legacy}, orders ${orders}`;
}

function isRefusal(one: DifferenceGroup): boolean {
  return one.what === 'verdict' && one.orders !== 'accepted';
}

export function showOf({ merchant_id, signature }: DifferenceGroup): string {
  return `puente differences show ${merchant_id} ${signature}`;
}

function stopFindings({ trips, merchant_id, operations }: ReadinessFacts): Finding[] {
  return routedKinds.flatMap((kind) => {
    const trip = trips?.[kind];
    if (trip === undefined) return [];
    const since = new Date(trip.at).toISOString();
    return [
      {
        code: 'safety_stop',
        what: `The safety stop of ${kind} stands since ${since}: ${trip.why}`,
        command: `puente safety reset ${merchant_id} --kind ${kind} --reason …`,
        operation: anyOf(operations, kind),
        sample: trip.evidence.sample,
      },
    ];
  });
}

/** On legacy no token is kept, and nobody needs one: the shadow learns it from the merchant's own calls. */
function credentialFindings(seen: Seen, { credential, merchant_id, operations, stage }: ReadinessFacts): Finding[] {
  if (credential !== false || stage === 'legacy' || usedKinds(operations, seen).length === 0) return [];
  const what =
    'No token is known for work after the call (events, recovery): none is configured, and none was seen lately.';
  const command = `PUENTE_CREDENTIAL=… puente merchants set ${merchant_id} --credential --reason …`;
  return [{ code: 'no_credential', what, command, operation: null, sample: null }];
}

/** What no table knows, where the merchant's policy refuses it. */
function unknownFindings({ unknowns }: Seen, { unknown, merchant_id }: ReadinessFacts): Finding[] {
  if (unknown === null) return [];
  return unknowns
    .filter(({ what }) => unknown[what] === 'refuse')
    .map(({ what, name, count }) => ({
      code: 'unknown_refused',
      what: `The ${what} ${name} came ${times(count)}; no table knows it, and it would be refused.`,
      command: `puente merchants set ${merchant_id} --unknown-${what} note --reason …`,
      operation: null,
      sample: null,
    }));
}

function faultFindings({ traffic }: Seen, facts: ReadinessFacts, { min_sample }: ReadinessRules): Finding[] {
  const { fault_share, now, merchant_id, operations, reset_at } = facts;
  if (fault_share === null) return [];
  return routedKinds.flatMap((kind) => {
    // Sums are by day, so the day of a reset is left out as a whole: the safety stop itself watches the rest of it.
    const before = Math.max(Math.floor(now / DAY_MS) - RECENT_DAYS, Math.floor((reset_at[kind] ?? 0) / DAY_MS));
    const rows = traffic.filter((row) => row.kind === kind && row.lane === 'orders' && row.day > before);
    const calls = sumOf(rows);
    const faults = sumOf(rows.filter(({ outcome }) => outcome === 'fault'));
    if (calls < min_sample || faults * 100 < calls * fault_share) return [];
    const what = `${faults} of ${calls} calls of ${kind} on orders in ${RECENT_DAYS} days were faults; ${fault_share} % is too many.`;
    const command = `puente stage ${merchant_id} shadow --kind ${kind} --reason …`;
    return [{ code: 'faults', what, command, operation: anyOf(operations, kind), sample: null }];
  });
}

/** The operation that stands for a kind: its create, where it has one. */
export function anyOf(operations: readonly Operation[], kind: RoutedKind): string | null {
  const own = operations.filter((one) => one.kind === kind);
  return (own.find(({ upstream }) => upstream === 'create') ?? own[0])?.name ?? null;
}
