/** What stands hard in the way of a merchant's move, each with the command that shows or mends it: pure. */

import type { Spoken } from '../../error.ts';
import { sideOf } from '../../locales/sentences/facts.ts';
import { heard, say } from '../../locales/sentences.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { DifferenceGroup } from '../../proxy/records/evidence.ts';
import { type RoutedKind, routedKinds } from '../../proxy/routing/merchant.ts';
import { usedKinds } from './areas.ts';
import { DAY_MS, RECENT_DAYS, type ReadinessFacts, type ReadinessRules, type Seen } from './facts.ts';
import { type Finding, finding } from './verdict.ts';
import { sumOf } from './words.ts';

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
  const { operation, count, sample } = one;
  const sentence = say('predicted_refusal', { operation, count, ...sideOf(one.orders) });
  return finding('predicted_refusal', sentence, showOf(one), { operation, sample });
}

/** What both sides refuse, and tell differently, is a remark. */
function differenceFindings({ differences }: Seen): Finding[] {
  return differences
    .filter((one) => one.state === 'new' && !isSharedRefusal(one) && !isRefusal(one))
    .map((one) => {
      const { operation, sample } = one;
      return finding('open_difference', differenceSaid(one), showOf(one), { operation, sample });
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

function differenceSaid({ operation, what, path, count, legacy, orders }: DifferenceGroup): Spoken {
  const counted = { operation, count };
  if (what === 'error' && isAnswer(legacy)) return say('difference.legacy_answered', { ...counted, detail: orders });
  if (what === 'error') return say('difference.orders_answered', { ...counted, detail: legacy });
  if (what === 'verdict') return say('difference.legacy_refused', { ...counted, detail: legacy });
  if (path === '') return say('difference.whole', { ...counted, legacy, orders });
  return say('difference.at', { ...counted, path, legacy, orders });
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
    const since_at = new Date(trip.at).toISOString();
    const sentence = say('safety_stop', { kind, since_at, why: heard(trip.why) });
    const command = `puente safety reset ${merchant_id} --kind ${kind} --reason …`;
    const of = { operation: anyOf(operations, kind), sample: trip.evidence.sample };
    return [finding('safety_stop', sentence, command, of)];
  });
}

/** On legacy no token is kept, and nobody needs one: the shadow learns it from the merchant's own calls. */
function credentialFindings(seen: Seen, { credential, merchant_id, operations, stage }: ReadinessFacts): Finding[] {
  if (credential !== false || stage === 'legacy' || usedKinds(operations, seen).length === 0) return [];
  const command = `PUENTE_CREDENTIAL=… puente merchants set ${merchant_id} --credential --reason …`;
  return [finding('no_credential', say('no_credential', {}), command)];
}

/** What no table knows, where the merchant's policy refuses it. */
function unknownFindings({ unknowns }: Seen, { unknown, merchant_id, isCarried }: ReadinessFacts): Finding[] {
  if (unknown === null) return [];
  return unknowns
    .filter((one) => unknown[one.what] === 'refuse' || (unknown.write === 'refuse' && isSalesWrite(one, isCarried)))
    .map(({ what, name, count }) => {
      const command =
        unknown[what] === 'refuse'
          ? `puente merchants set ${merchant_id} --unknown-${what} note --reason …`
          : 'PUENTE_MERCHANTS_UNKNOWN_WRITE=carry npm start';
      return finding('unknown_refused', say('unknown_refused', { what, name, count }), command);
    });
}

/** A write at a path of sales, which `merchants.unknown_write` refuses for units on orders unless the tables say to carry it. */
function isSalesWrite(
  { what, name }: Pick<Seen['unknowns'][number], 'what' | 'name'>,
  isCarried: ReadinessFacts['isCarried'],
): boolean {
  const [, method = '', path = ''] =
    /^(?!GET |HEAD |OPTIONS )([A-Z]+) (\/(?:point|instore|mpmobile)\/.*)$/.exec(name) ?? [];
  return what === 'endpoint' && method !== '' && !isCarried(method, path);
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
    const sentence = say('faults', { faults, calls, kind, days: RECENT_DAYS, share: fault_share });
    const command = `puente stage ${merchant_id} shadow --kind ${kind} --reason …`;
    return [finding('faults', sentence, command, { operation: anyOf(operations, kind) })];
  });
}

/** The operation that stands for a kind: its create, where it has one. */
export function anyOf(operations: readonly Operation[], kind: RoutedKind): string | null {
  const own = operations.filter((one) => one.kind === kind);
  return (own.find(({ upstream }) => upstream === 'create') ?? own[0])?.name ?? null;
}
