/** What no traffic has shown, and what would show it: pure. */
import type { Operation } from '../../mapping/tables.ts';
import { type Area, areasOf, comingCalls, judgedCalls, provenCalls, usedKinds } from './areas.ts';
import { DAY_MS, OLD_AFTER_DAYS, type ReadinessFacts, type ReadinessRules, type Seen } from './facts.ts';
import { noticeFindings } from './notice-url.ts';
import type { Finding } from './verdict.ts';
import { callsOf, times } from './words.ts';

/** Nothing of it is in the way of a canary, which is where it is proven; of a move to orders it is. */
const LEGACY_ONLY = 'legacy_only';
/** Told with the rest, but they hold no verdict back: what was seen is a sample, and enough of it. */
const SOFT: readonly string[] = ['shed', 'unknown_noted', LEGACY_ONLY];

/** True for what is in the way of the next move. */
export function holdsBack({ code }: Finding): boolean {
  return !SOFT.includes(code);
}

/** True for what is in the way of a move to orders, whatever the next one is. */
export function holdsBackOrders(one: Finding): boolean {
  return holdsBack(one) || one.code === LEGACY_ONLY;
}

export function unprovenOf(seen: Seen, facts: ReadinessFacts, rules: ReadinessRules): Finding[] {
  return [
    ...areaFindings(seen, facts, rules),
    ...ageFindings(seen, facts),
    ...tableFindings(seen, facts),
    ...doubtFindings(facts),
    ...noticeFindings(seen, facts),
    ...fileFindings(facts),
    ...shedFindings(facts),
    ...notedFindings(seen, facts),
  ];
}

/** Honest emptiness: what was never seen is not proven, however well the rest went. */
function areaFindings(seen: Seen, facts: ReadinessFacts, { min_sample }: ReadinessRules): Finding[] {
  const { operations, merchant_id } = facts;
  if (usedKinds(operations, seen).length === 0) {
    const command = shadowCommand(facts) ?? `puente coverage ${merchant_id}`;
    return [finding('no_creates', noSaleText(seen, operations), command, null)];
  }
  return areasOf(operations, seen).flatMap((area) => areaFinding(area, seen, facts, min_sample));
}

/** Unused, used for other things, and used in vain are three things. */
function noSaleText(seen: Seen, operations: readonly Operation[]): string {
  const creates = comingCalls(
    operations.filter(({ upstream }) => upstream === 'create'),
    seen,
  );
  if (creates > 0) return `${callsOf(creates)} to make a sale came and none went well, so nothing is proven.`;
  const calls = comingCalls(operations, seen);
  if (calls > 0) return `${callsOf(calls)} of this merchant came and none to make a sale, so nothing is proven.`;
  return 'No call of this merchant was seen: either it does not come through Puente, or it is not in use.';
}

function areaFinding(area: Area, seen: Seen, facts: ReadinessFacts, min_sample: number): Finding[] {
  const calls = provenCalls(area.operations, seen);
  const judged = judgedCalls(area, seen);
  if (judged >= min_sample) return ordersFinding(area, seen, facts, min_sample);
  const operation = busiest(area, seen);
  const coverage = `puente coverage ${facts.merchant_id}`;
  if (calls === 0 && judged === 0) {
    const came = comingCalls(area.operations, seen);
    const seen_so_far =
      came === 0
        ? `No ${area.says} was ever seen`
        : `${callsOf(came)} of ${area.says} came, and none shows one that went well (refusals and what a search finds on legacy don't count)`;
    const what = `${seen_so_far}: it is proven by ${needed(min_sample)} from a till of this merchant.`;
    return [finding('never_seen', what, coverage, operation)];
  }
  if (judged < calls) {
    const what = `${callsOf(calls)} of ${area.says} came, and the tables have judged ${judged}; fewer than ${min_sample} prove nothing.`;
    return [finding('not_judged', what, shadowCommand(facts) ?? coverage, operation)];
  }
  const what = `${callsOf(judged)} of ${area.says} went well: fewer than ${min_sample} prove nothing.`;
  return [finding('too_few_calls', what, shadowCommand(facts) ?? coverage, operation)];
}

function needed(min_sample: number): string {
  return min_sample === 1 ? 'one that goes well' : `${min_sample} that go well`;
}

/**
 * Reads, cancels and refunds are not done on paper, so on shadow they are seen on legacy alone. Creates are judged on paper
 * and counted on orders by the move itself, and lists of devices are compared on both sides.
 */
function ordersFinding(area: Area, seen: Seen, facts: ReadinessFacts, min_sample: number): Finding[] {
  const { id, kind, operations, says } = area;
  const served = provenCalls(operations, seen, 'orders');
  if (id === 'create' || id === 'devices' || served >= min_sample) return [];
  const { merchant_id, on_orders } = facts;
  const isNext = kind === 'payments' ? on_orders.length > 0 : on_orders.some((one) => one === kind);
  const on_legacy = callsOf(provenCalls(operations, seen) - served);
  const operation = busiest(area, seen);
  const coverage = `puente coverage ${merchant_id}`;
  if (isNext) {
    const what = `${callsOf(served)} of ${says} went well on orders, ${on_legacy} on legacy: fewer than ${min_sample} on orders prove nothing.`;
    return [finding('not_on_orders', what, coverage, operation)];
  }
  const what = `${on_legacy} of ${says} went well, on legacy alone: on orders only a canary proves it.`;
  return [finding(LEGACY_ONLY, what, coverage, operation)];
}

/** The operation that shows the area; null where none of it was seen, because its tills may use any of them. */
function busiest({ operations }: Area, seen: Seen): string | null {
  const ranked = operations.toSorted((one, other) => provenCalls([other], seen) - provenCalls([one], seen));
  const [first] = ranked;
  return first === undefined || provenCalls([first], seen) === 0 ? null : first.name;
}

/** On legacy nothing is translated on paper; any later stage does it by itself. */
function shadowCommand({ stage, merchant_id }: ReadinessFacts): string | null {
  return stage === 'legacy' ? `puente stage ${merchant_id} shadow --reason …` : null;
}

/** Calls that were refused for their token, or that failed, are no proof, and keep none young. */
function ageFindings({ traffic }: Seen, { now, merchant_id }: ReadinessFacts): Finding[] {
  const proven = traffic.filter(({ outcome }) => outcome === 'ok' || outcome === 'business');
  const last_day = Math.max(0, ...proven.map(({ day }) => day));
  const age_days = Math.floor(now / DAY_MS) - last_day;
  if (last_day === 0 || age_days <= OLD_AFTER_DAYS) return [];
  const what = `The last call was ${age_days} days ago; evidence of more than ${OLD_AFTER_DAYS} days says little of the tills of today.`;
  return [finding('old_evidence', what, `puente coverage ${merchant_id}`, null)];
}

function tableFindings({ judged_by }: Seen, { tables_revision, merchant_id }: ReadinessFacts): Finding[] {
  if (judged_by === null || judged_by === tables_revision) return [];
  const what = `The tables are at revision ${tables_revision}, and the newest evidence is of ${judged_by}: no call was judged by them yet.`;
  return [finding('tables_changed', what, `puente coverage ${merchant_id}`, null)];
}

function doubtFindings({ in_doubt, merchant_id }: ReadinessFacts): Finding[] {
  if (in_doubt === null || in_doubt === 0) return [];
  const what = `${in_doubt === 1 ? 'One create has' : `${in_doubt} creates have`} an outcome that nobody knows yet.`;
  return [finding('in_doubt', what, `puente drain ${merchant_id}`, null)];
}

/** A file of calls says nothing about the merchant's settings here. */
function fileFindings(facts: ReadinessFacts): Finding[] {
  const asked = {
    'notice URL': facts.notice_url,
    credential: facts.credential,
    'safety stops': facts.trips,
    'creates in doubt': facts.in_doubt,
  };
  const missing = Object.entries(asked).filter(([, value]) => value === null);
  if (missing.length === 0) return [];
  const what = `Not known from calls alone: ${missing.map(([name]) => name).join(', ')}.`;
  return [finding('not_known', what, `puente can-migrate ${facts.merchant_id}`, null)];
}

function shedFindings({ shed, merchant_id }: ReadinessFacts): Finding[] {
  if (shed === null || shed.shadow + shed.evidence === 0) return [];
  const what = `In the last ${OLD_AFTER_DAYS} days ${callsOf(shed.shadow)} of all merchants went without a shadow and ${callsOf(shed.evidence)} without a record, because too much waited.`;
  return [finding('shed', what, `puente coverage ${merchant_id}`, null)];
}

function notedFindings({ unknowns }: Seen, { unknown, merchant_id }: ReadinessFacts): Finding[] {
  return unknowns
    .filter(({ what }) => unknown?.[what] === 'note')
    .map(({ what, name, count }) => {
      const said = `The ${what} ${name} came ${times(count)}, and no table knows it.`;
      return finding('unknown_noted', said, `puente unknowns --merchant ${merchant_id}`, null);
    });
}

function finding(code: string, what: string, command: string | null, operation: Operation['name'] | null): Finding {
  return { code, what, command, operation, sample: null };
}
