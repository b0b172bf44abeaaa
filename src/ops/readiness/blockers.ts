/** What blocks a merchant's move, and remarks; each with the command that shows or repairs it: pure. */
import type { Spoken } from '../../error.ts';
import { readStored, say } from '../../locales/message.ts';
import { SELF_SERVICE_SHOWN } from '../../mapping/converters/point.ts';
import type { Operation } from '../../mapping/tables.ts';
import { type DifferenceGroup, type LedgerRow, lossWeights } from '../../proxy/records/evidence.ts';
import { type RoutedKind, routedKinds, type Trip } from '../../proxy/routing/merchant.ts';
import { DAY_MS, iso } from '../fields.ts';
import {
  comingCalls,
  comparedCalls,
  type Finding,
  finding,
  RECENT_DAYS,
  type ReadinessFacts,
  type ReadinessRules,
  type Seen,
  sumOf,
  usedKinds,
} from './facts.ts';
import { sideOf } from './side.ts';

/** What forbids the next move; empty: nothing does. Facts that are null block nothing. */
export function blockersOf(seen: Seen, facts: ReadinessFacts, rules: ReadinessRules): Finding[] {
  return [
    ...differenceFindings(seen),
    ...stopFindings(facts),
    ...credentialFindings(seen, facts),
    ...unknownFindings(seen, facts),
    ...faultFindings(seen, facts, rules),
    ...openFindings(facts),
  ];
}

/** Refusals by orders alone come first. A call that both sides refuse changes nothing for a till: it is a remark. */
function differenceFindings({ differences }: Seen): Finding[] {
  const open = differences.filter((one) => one.state === 'new' && !isSharedRefusal(one));
  const [refusals, others] = [open.filter(isRefusal), open.filter((one) => !isRefusal(one))];
  return [
    ...refusals.map((one) => {
      const { operation, count, sample, orders } = one;
      return finding('predicted_refusal', { operation, count, ...sideOf(orders) }, showOf(one), { operation, sample });
    }),
    ...others.map((one) => {
      const { operation, sample } = one;
      return finding('open_difference', differenceSaid(one), showOf(one), { operation, sample });
    }),
  ];
}

/** Both sides refuse the call, with different errors. */
function isSharedRefusal({ what, legacy, orders }: DifferenceGroup): boolean {
  return what === 'error' && !isAnswer(legacy) && !isAnswer(orders);
}

/** A double read stores the class of the status. */
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

function showOf({ merchant_id, signature }: DifferenceGroup): string {
  return `puente differences show ${merchant_id} ${signature}`;
}

function stopFindings({ trips, merchant_id, operations }: ReadinessFacts): Finding[] {
  return routedKinds.flatMap((kind) => {
    const trip = trips?.[kind];
    if (trip === undefined) return [];
    return [
      stopFinding(merchant_id, kind, trip, {
        operation: anyOf(operations, kind),
        sample: trip.evidence.exchanges?.[0] ?? trip.evidence.sample ?? null,
      }),
    ];
  });
}

/** With the command that lifts the stop. */
export function stopFinding(
  merchant_id: string,
  kind: RoutedKind,
  { at, why }: Trip,
  of: Partial<Finding> = {},
): Finding {
  const command = `puente safety reset ${merchant_id} --kind ${kind} --reason …`;
  return finding('safety_stop', { kind, since_at: iso(at), why: readStored(why) }, command, of);
}

/** No token is kept or needed on legacy: shadow takes it from the merchant's own calls. */
function credentialFindings(seen: Seen, { credential, merchant_id, operations, stage }: ReadinessFacts): Finding[] {
  if (credential !== false || stage === 'legacy' || usedKinds(operations, seen).length === 0) return [];
  const command = `PUENTE_CREDENTIAL=… puente merchants set ${merchant_id} --credential --reason …`;
  return [finding('no_credential', {}, command)];
}

/** Unknown endpoints, fields and headers, where the merchant's policy refuses them. */
function unknownFindings({ unknowns }: Seen, { unknown, merchant_id, isProxied }: ReadinessFacts): Finding[] {
  if (unknown === null) return [];
  return unknowns
    .filter((one) => unknown[one.what] === 'refuse' || (unknown.write === 'refuse' && isSalesWrite(one, isProxied)))
    .map(({ what, name, count }) => {
      const command =
        unknown[what] === 'refuse'
          ? `puente merchants set ${merchant_id} --unknown-${what} note --reason …`
          : 'PUENTE_MERCHANTS_UNKNOWN_WRITE=allow npm start';
      return finding('unknown_refused', { what, name, count }, command);
    });
}

/** A write to a path of sales; `merchants.unknown_write` refuses it for units on orders, unless the tables proxy it. */
function isSalesWrite(
  { what, name }: Pick<Seen['unknowns'][number], 'what' | 'name'>,
  isProxied: ReadinessFacts['isProxied'],
): boolean {
  const [, method = '', path = ''] =
    /^(?!GET |HEAD |OPTIONS )([A-Z]+) (\/(?:point|instore|mpmobile)\/.*)$/.exec(name) ?? [];
  return what === 'endpoint' && method !== '' && !isProxied(method, path);
}

function faultFindings(seen: Seen, facts: ReadinessFacts, { min_sample }: ReadinessRules): Finding[] {
  const { fault_share, merchant_id, operations } = facts;
  if (fault_share === null) return [];
  return routedKinds.flatMap((kind) => {
    const { calls, faults } = faultsOf(seen, facts, kind);
    if (calls < min_sample || faults * 100 < calls * fault_share) return [];
    const counted = { faults, calls, kind, days: RECENT_DAYS, share: fault_share };
    const command = `puente stage ${merchant_id} shadow --kind ${kind} --reason …`;
    return [finding('faults', counted, command, { operation: anyOf(operations, kind) })];
  });
}

/** Of the last days. A call that failed as an earlier one for the same sale did is neither a fault nor a call. */
export function faultsOf(
  { traffic, retried_faults }: Pick<Seen, 'traffic' | 'retried_faults'>,
  facts: ReadinessFacts,
  kind: RoutedKind,
): { calls: number; faults: number } {
  const first = firstFaultDay(facts, kind);
  const rows = traffic.filter((row) => row.kind === kind && row.lane === 'orders' && row.day >= first);
  const retried = retried_faults[kind] ?? 0;
  const faults = sumOf(rows.filter(({ outcome }) => outcome === 'fault'));
  return { calls: sumOf(rows) - retried, faults: faults - retried };
}

/** Sums are by day, so the whole day of a reset is left out: the safety stop itself watches the rest of it. */
export function firstFaultDay({ now, reset_at }: ReadinessFacts, kind: RoutedKind): number {
  return Math.max(Math.floor(now / DAY_MS) - RECENT_DAYS, Math.floor((reset_at[kind] ?? 0) / DAY_MS)) + 1;
}

/** Sales that are open on legacy keep a merchant on orders from being complete; before that they hold up nothing. */
export function openFindings({
  legacy_use,
  merchant_id,
}: Pick<ReadinessFacts, 'legacy_use' | 'merchant_id'>): Finding[] {
  if (legacy_use === null || legacy_use.open_on_legacy === 0) return [];
  const { open_on_legacy: count, open_until: until_at } = legacy_use;
  return [finding('legacy_open', { count, until_at }, `puente reconcile --merchant ${merchant_id} --apply --reason …`)];
}

/** The operation that represents a kind: its create, where it has one. */
function anyOf(operations: readonly Operation[], kind: RoutedKind): string | null {
  const own = operations.filter((one) => one.kind === kind);
  return (own.find(({ upstream }) => upstream === 'create') ?? own[0])?.name ?? null;
}

// Remarks: no obstacle to a move; each with the command that shows it: pure.

/** Losses, different errors, kinds without a successful sale, and unknown names that are proxied. */
export function remarksOf(seen: Seen, facts: ReadinessFacts): Finding[] {
  const { merchant_id, unknown } = facts;
  const losses = lossWeights.flatMap((weight) => lossRemark(seen.ledger, weight, merchant_id));
  const errors = seen.differences
    .filter((one) => one.state === 'new' && isSharedRefusal(one))
    .map((one) => {
      const { operation, count, legacy, orders, sample } = one;
      const sides = { operation, count, legacy, ...sideOf(orders) };
      return finding('error_difference', sides, showOf(one), { operation, sample });
    });
  const allowed = seen.unknowns.filter(({ what }) => unknown === null || unknown[what] === 'allow');
  const found = [
    ...unacknowledged(facts),
    ...[selfService(seen.ledger, merchant_id), losses, errors, refusedKinds(seen, facts)].flat(),
  ];
  if (allowed.length === 0) return found;
  const names = allowed.slice(0, 5).map(({ what, name }) => `${what} ${name}`);
  const listed = { names: names.join(', '), more: allowed.length - names.length };
  return [...found, finding('unknown_allowed', listed, `puente unknowns --merchant ${merchant_id}`)];
}

/** Nothing has shown that the receiver of the merchant takes what Puente sends. */
function unacknowledged({ unacknowledged: count, merchant_id }: ReadinessFacts): Finding[] {
  if (count === null) return [];
  const command =
    count === 0
      ? `puente notices test ${merchant_id} --reason …`
      : `puente notices receivers --merchant ${merchant_id}`;
  return [finding('notices_unacknowledged', { count }, command)];
}

/** A kind whose creates all failed is not judged as used. */
function refusedKinds(seen: Seen, { operations, merchant_id }: ReadinessFacts): Finding[] {
  const used = usedKinds(operations, seen);
  if (used.length === 0) return [];
  return routedKinds.flatMap((kind) => {
    const creates = operations.filter((one) => one.kind === kind && one.upstream === 'create');
    const came = comingCalls(creates, seen);
    if (came === 0 || used.includes(kind)) return [];
    return [finding('not_used', { calls: came, kind }, `puente coverage ${merchant_id}`)];
  });
}

/** Terminals in SELF_SERVICE: a till that wants another mode for them can't switch them on orders (LIM-71). */
function selfService(ledger: readonly LedgerRow[], merchant_id: string): Finding[] {
  return ledger
    .filter(({ why }) => why === SELF_SERVICE_SHOWN)
    .map(({ count, operation, sample }) =>
      finding('self_service', { count }, `puente losses --merchant ${merchant_id}`, { operation, sample }),
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

/**
 * On orders Puente sends the notices itself: of intents to the merchant's URL, of a QR sale to its own URL or to that
 * one. Legacy notified by a setting of its own panel, so it is unknown whether the tills wait for notices: not proven.
 */
export function noticeFindings(seen: Seen, { notice_url, operations, merchant_id }: ReadinessFacts): Finding[] {
  if (notice_url !== false) return [];
  const needing = usedKinds(operations, seen).filter((kind) => kind !== 'qr' || !namesItsUrl(seen, operations));
  const command = `puente merchants set ${merchant_id} --notify https://… --reason …`;
  return needing.map((kind) => finding(NO_NOTICE_URL, { kind }, command, { operation: anyOf(operations, kind) }));
}

/** Holds back every move that puts work on orders, a canary too. */
export const NO_NOTICE_URL = 'no_notice_url';

/** Whether every QR create that was evaluated named its notice URL. */
function namesItsUrl({ coverage }: Seen, operations: readonly Operation[]): boolean {
  const creates = operations.filter(({ kind, upstream }) => kind === 'qr' && upstream === 'create');
  return creates.every(({ name }) => {
    const cells = coverage.filter(({ operation }) => operation === name);
    const named = cells.find(({ field }) => field === 'body.notification_url');
    const evaluated = comparedCalls(cells);
    return evaluated === 0 || (named !== undefined && named.equal + named.different >= evaluated);
  });
}
