/** What no traffic has shown, and what would show it: pure. */
import type { Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Operation } from '../../mapping/tables.ts';
import { DAY_MS } from '../fields.ts';
import { noticeFindings } from './blockers.ts';
import {
  type Area,
  areasOf,
  comingCalls,
  type Finding,
  finding,
  judgedCalls,
  OLD_AFTER_DAYS,
  provenCalls,
  type ReadinessFacts,
  type ReadinessRules,
  type Seen,
  usedKinds,
} from './facts.ts';
import { type LegacyUse, QUIET_DAYS } from './legacy-use.ts';

/** Seen on legacy alone: no obstacle to a canary, which is where it is proven, but to a move to orders. */
const LEGACY_ONLY = 'legacy_only';
/** Reported, but they hold no verdict back: what was seen is a large enough sample. */
const SOFT: readonly string[] = ['shed', 'unknown_noted', LEGACY_ONLY];

/** True for an obstacle to the next move. */
export function holdsBack({ code }: Finding): boolean {
  return !SOFT.includes(code);
}

/** True for an obstacle to a move to orders, whatever the next move is. */
export function holdsBackOrders(one: Finding): boolean {
  return holdsBack(one) || one.code === LEGACY_ONLY;
}

/**
 * What is still to be shown before the next move; empty: everything is. It forbids nothing by itself, unlike
 * `blockersOf`.
 */
export function unprovenOf(seen: Seen, facts: ReadinessFacts, rules: ReadinessRules): Finding[] {
  const open = [...doubtFindings(facts), ...mismatchFindings(facts)];
  // All its work is on orders: no next move needs proof, and what it still uses of legacy counts.
  if (facts.legacy_use !== null) return [...useFindings(facts.legacy_use, facts), ...open];
  return [
    ...areaFindings(seen, facts, rules),
    ...ageFindings(seen, facts),
    ...tableFindings(seen, facts),
    ...open,
    ...noticeFindings(seen, facts),
    ...fileFindings(facts),
    ...shedFindings(facts),
    ...notedFindings(seen, facts),
  ];
}

/** What was never seen is not proven, however well the rest went. */
function areaFindings(seen: Seen, facts: ReadinessFacts, { min_sample }: ReadinessRules): Finding[] {
  const { operations, merchant_id } = facts;
  if (usedKinds(operations, seen).length === 0) {
    const command = shadowCommand(facts) ?? `puente coverage ${merchant_id}`;
    return [finding('no_creates', noSaleSaid(seen, operations), command)];
  }
  return areasOf(operations, seen).flatMap((area) => areaFinding(area, seen, facts, min_sample));
}

function noSaleSaid(seen: Seen, operations: readonly Operation[]): Spoken {
  const creates = comingCalls(
    operations.filter(({ upstream }) => upstream === 'create'),
    seen,
  );
  if (creates > 0) return say('no_creates.in_vain', { calls: creates });
  const calls = comingCalls(operations, seen);
  return calls > 0 ? say('no_creates.other_work', { calls }) : say('no_creates.unseen', {});
}

function areaFinding(area: Area, seen: Seen, facts: ReadinessFacts, min_sample: number): Finding[] {
  const calls = provenCalls(area.operations, seen);
  const judged = judgedCalls(area, seen);
  if (judged >= min_sample) return ordersFinding(area, seen, facts, min_sample);
  const operation = busiest(area, seen);
  const coverage = `puente coverage ${facts.merchant_id}`;
  if (calls === 0 && judged === 0) {
    const came = comingCalls(area.operations, seen);
    const wanted = { area: area.word, min_sample };
    const sentence =
      came === 0 ? say('never_seen.unseen', wanted) : say('never_seen.in_vain', { calls: came, ...wanted });
    return [finding('never_seen', sentence, coverage, { operation })];
  }
  const command = shadowCommand(facts) ?? coverage;
  if (judged < calls) {
    return [finding('not_judged', { calls, area: area.word, judged, min_sample }, command, { operation })];
  }
  const sentence = say('too_few_calls.area', { calls: judged, area: area.word, min_sample });
  return [finding('too_few_calls', sentence, command, { operation })];
}

/**
 * Shadow does not repeat reads, cancels and refunds, so it sees them on legacy alone. Creates are judged in shadow and
 * counted on orders by the move itself; lists of devices are compared on both sides.
 */
function ordersFinding(area: Area, seen: Seen, facts: ReadinessFacts, min_sample: number): Finding[] {
  const { id, kind, operations, word } = area;
  const served = provenCalls(operations, seen, 'orders');
  if (id === 'create' || id === 'devices' || served >= min_sample) return [];
  const { merchant_id, on_orders } = facts;
  const isNext = kind === 'payments' ? on_orders.length > 0 : on_orders.some((one) => one === kind);
  const on_legacy = provenCalls(operations, seen) - served;
  const operation = busiest(area, seen);
  const coverage = `puente coverage ${merchant_id}`;
  if (isNext) {
    return [finding('not_on_orders', { calls: served, area: word, on_legacy, min_sample }, coverage, { operation })];
  }
  return [finding(LEGACY_ONLY, { calls: on_legacy, area: word }, coverage, { operation })];
}

/** The area's most used operation; null where none was seen, because its tills may use any of them. */
function busiest({ operations }: Area, seen: Seen): string | null {
  const ranked = operations.toSorted((one, other) => provenCalls([other], seen) - provenCalls([one], seen));
  const [first] = ranked;
  return first === undefined || provenCalls([first], seen) === 0 ? null : first.name;
}

/** On legacy no call is translated on paper; every later stage does it. */
function shadowCommand({ stage, merchant_id }: ReadinessFacts): string | null {
  return stage === 'legacy' ? `puente stage ${merchant_id} shadow --reason …` : null;
}

/** Refused tokens and faults prove nothing, and make no evidence newer. */
function ageFindings({ traffic }: Seen, { now, merchant_id }: ReadinessFacts): Finding[] {
  const proven = traffic.filter(({ outcome }) => outcome === 'ok' || outcome === 'business');
  const last_day = proven.reduce((last, { day }) => Math.max(last, day), 0);
  const age_days = Math.floor(now / DAY_MS) - last_day;
  if (last_day === 0 || age_days <= OLD_AFTER_DAYS) return [];
  const days = { days: age_days, most_days: OLD_AFTER_DAYS };
  return [finding('old_evidence', days, `puente coverage ${merchant_id}`)];
}

function tableFindings({ judged_by }: Seen, { tables_revision, merchant_id }: ReadinessFacts): Finding[] {
  if (judged_by === null || judged_by === tables_revision) return [];
  return [finding('tables_changed', { revision: tables_revision, judged_by }, `puente coverage ${merchant_id}`)];
}

function doubtFindings({ in_doubt, merchant_id }: ReadinessFacts): Finding[] {
  if (in_doubt === null || in_doubt === 0) return [];
  return [finding('in_doubt', { count: in_doubt }, `puente drain ${merchant_id}`)];
}

/**
 * Sales of which upstream says otherwise, and nothing since that they agree. A comparison may find nothing to compare in
 * such a sale: that it is lost, or that it changed too long ago. Its disagreements say what takes it out of the verdict.
 */
function mismatchFindings({ mismatches }: ReadinessFacts): Finding[] {
  const kinds = Map.groupBy(mismatches, ({ kind }) => kind);
  return [...kinds].flatMap(([kind, mine]) =>
    mine.slice(0, 1).map(({ subject }) => {
      const sentence = say('mismatch', { count: mine.length, mismatch: kind, subject });
      return finding(`mismatch_${kind}`, sentence, `puente sales disagreements ${subject}`);
    }),
  );
}

/** Calls without a record may have gone to legacy. */
function useFindings(
  { quiet_days, last_legacy_day, watched_days: watched, calls }: LegacyUse,
  { merchant_id, shed }: ReadinessFacts,
): Finding[] {
  const command = `puente decommission ${merchant_id}`;
  const lost = shed?.evidence ?? 0;
  const unrecorded = { count: lost, days: OLD_AFTER_DAYS };
  const recent = quiet_days !== null && quiet_days < QUIET_DAYS;
  const called = { day: last_legacy_day, quiet: quiet_days, days: QUIET_DAYS, names: calls.map(({ name }) => name) };
  return [
    ...(recent ? [finding('legacy_calls', called, command)] : []),
    ...(!recent && watched < QUIET_DAYS ? [finding('watched_short', { watched, days: QUIET_DAYS }, command)] : []),
    ...(lost > 0 ? [finding('legacy_unrecorded', unrecorded, command)] : []),
  ];
}

/** A file of calls does not contain the merchant's settings here. */
function fileFindings(facts: ReadinessFacts): Finding[] {
  const { notice_url, credential, trips: safety_stops, in_doubt } = facts;
  const looked_up = Object.entries({ notice_url, credential, safety_stops, in_doubt });
  const unknown = looked_up.filter(([, value]) => value === null).map(([name]) => name);
  return unknown.length === 0 ? [] : [finding('not_known', { unknown }, `puente can-migrate ${facts.merchant_id}`)];
}

function shedFindings({ shed, merchant_id }: ReadinessFacts): Finding[] {
  if (shed === null || shed.shadow + shed.evidence === 0) return [];
  const { shadow, evidence } = shed;
  return [finding('shed', { days: OLD_AFTER_DAYS, shadow, evidence }, `puente coverage ${merchant_id}`)];
}

function notedFindings({ unknowns }: Seen, { unknown, merchant_id }: ReadinessFacts): Finding[] {
  return unknowns
    .filter(({ what }) => unknown?.[what] === 'note')
    .map(({ what, name, count }) =>
      finding('unknown_noted', { what, name, count }, `puente unknowns --merchant ${merchant_id}`),
    );
}
