/** The readiness verdict on a merchant's next move: blocked, ready or inconclusive; never ready by default. */
import type { Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Tables } from '../../mapping/tables.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import { targetOf } from '../../proxy/notices/request.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import { type RoutedKind, routedKinds } from '../../proxy/routing/merchant.ts';
import { credentialOf } from '../../proxy/routing/merchant-identity.ts';
import { stageInForce } from '../../proxy/routing/stage.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { approvalFault } from '../../proxy/sales/order-transition.ts';
import type { MismatchKind } from '../../proxy/sales/orphans.ts';
import { DAY_MS, iso, pagesOf } from '../fields.ts';
import { openSales } from '../open-sales.ts';
import type { EvidenceReader, Ports, SalePage, SalePlace } from '../ports.ts';
import {
  type AcceptedDisagreement,
  acceptedFrom,
  covers,
  hasItsOrder,
  type StandingMismatches,
  standingMismatches,
} from '../reconcile/mismatches.ts';
import { RESET } from '../safety.ts';
import { nearUnseen } from '../seen.ts';
import { blockersOf, faultsOf, firstFaultDay, remarksOf } from './blockers.ts';
import {
  areasOf,
  type Finding,
  finding,
  judgedCalls,
  OLD_AFTER_DAYS,
  type Readiness,
  type ReadinessFacts,
  type ReadinessRules,
  readSeen,
  type Seen,
  sumOf,
} from './facts.ts';
import { isAllOnOrders, legacyUseOf } from './legacy-use.ts';
import { holdsBack, unprovenOf } from './unproven.ts';

export type { ReadinessFacts, ReadinessRules } from './facts.ts';

/** Audit lines read per kind: more than a healthy fleet writes in a week. */
const MOST_LINES = 1_000;

/** @param reader the store, or a file of calls. @param facts null where not known, which counts as unproven. */
export async function readinessOf(
  reader: EvidenceReader,
  facts: ReadinessFacts,
  rules: ReadinessRules,
): Promise<Readiness> {
  const seen = await readSeen(reader, facts.merchant_id, facts.now);
  return judge({ ...seen, retried_faults: await retriedFaults(reader, seen, facts) }, facts, rules);
}

/** Calls read at once. */
const PAGE = 500;

/** Reads calls only where their sums alone are too many faults. A sale's create that is retried has its legacy id. */
async function retriedFaults(
  { exchanges }: EvidenceReader,
  seen: Seen,
  facts: ReadinessFacts,
): Promise<Seen['retried_faults']> {
  const { fault_share, merchant_id } = facts;
  const creates = new Map(
    facts.operations.flatMap(({ upstream, name, kind }) => (upstream === 'create' ? [[name, kind]] : [])),
  );
  const found: Seen['retried_faults'] = {};
  for (const kind of routedKinds) {
    const { calls, faults } = faultsOf(seen, facts, kind);
    if (fault_share === null || faults < 2 || faults * 100 < calls * fault_share) continue;
    const since = firstFaultDay(facts, kind) * DAY_MS;
    const filter = { merchant_id, since, lane: 'orders', outcome: 'fault' } as const;
    const failed = new Set<string>();
    for await (const page of pagesOf((after, size) => exchanges.calls(filter, after, size), PAGE))
      for (const { legacy_id, operation } of page) {
        if (legacy_id === null || creates.get(operation ?? '') !== kind) continue;
        if (failed.has(legacy_id)) found[kind] = (found[kind] ?? 0) + 1;
        failed.add(legacy_id);
      }
  }
  return found;
}

/** The verdict on a merchant; inconclusive without a call. @param mismatches shared where many merchants are judged. */
export async function merchantReadiness(
  ports: Ports,
  merchant_id: string,
  mismatches = mismatchesOnce(ports),
): Promise<Readiness> {
  const { store, settings } = ports;
  const facts = await factsOf(ports, merchant_id, mismatches);
  return readinessOf(store, facts, { min_sample: settings.moves.min_sample });
}

/** The verdict for a person, who may have mistyped the id: one that was never seen is the first finding. */
export async function askedReadiness(ports: Ports, merchant_id: string): Promise<Readiness> {
  const readiness = await merchantReadiness(ports, merchant_id);
  const near = await nearUnseen(ports, merchant_id);
  if (near === null) return readiness;
  const sentence =
    near.length === 0 ? say('not_seen.alone', { merchant_id }) : say('not_seen.near', { merchant_id, near });
  const never = finding('not_seen', sentence, `puente merchants set ${merchant_id} --name … --new --reason …`);
  return { ...readiness, unproven: [never, ...readiness.unproven.filter(({ code }) => code !== 'no_creates')] };
}

async function factsOf(ports: Ports, merchant_id: string, mismatchesOf: Mismatches): Promise<ReadinessFacts> {
  const { store, settings, clock } = ports;
  const tables = ports.tables.of(merchant_id);
  const now = clock.now();
  const today = Math.floor(now / DAY_MS);
  const [merchant, credential, open, shed, reset_at, standing] = await Promise.all([
    store.merchants.merchant(merchant_id),
    credentialOf(ports, merchant_id),
    openSales(ports, merchant_id),
    store.exchanges.shed(today - OLD_AFTER_DAYS, today + 1),
    resetsOf(ports, merchant_id),
    mismatchesOf(merchant_id),
  ]);
  const [own, usual] = [merchant?.settings, settings.merchants];
  const stageOf = (kind: RoutedKind | null) => stageInForce(settings, merchant, kind).intended;
  const on_orders = routedKinds.filter((kind) => ['canary', 'orders'].includes(stageOf(kind)));
  const is_whole = merchant !== null && isAllOnOrders(settings, merchant);
  return {
    merchant_id,
    merchant_name: own?.name ?? null,
    now,
    tables_revision: tables.revision,
    operations: tables.operations,
    isProxied: tables.isProxied,
    stage: stageInForce(settings, merchant, null).stage,
    on_orders,
    unknown: {
      endpoint: own?.unknown_endpoint ?? usual.unknown_endpoint,
      field: own?.unknown_field ?? usual.unknown_field,
      header: own?.unknown_header ?? usual.unknown_header,
      write: usual.unknown_write,
    },
    notice_url: targetOf(ports, null, merchant) !== null,
    unacknowledged: on_orders.length === 0 ? null : await unacknowledgedOf(ports, merchant_id),
    credential: credential !== null,
    trips: merchant?.trips ?? {},
    in_doubt: open.filter(({ state }) => state === 'IN_DOUBT').length,
    shed,
    fault_share: settings.safety.fault_share,
    reset_at,
    ...standing,
    legacy_use: is_whole ? await legacyUseOf(ports, merchant, open, standing.mismatches) : null,
  };
}

/** The newest notices: so few that a verdict reads them each time. */
const NEWEST_NOTICES = 50;

async function unacknowledgedOf({ store }: Ports, merchant_id: string): Promise<number | null> {
  const newest = await store.notices.notices({ merchant_id }, NEWEST_NOTICES);
  return newest.some(({ state }) => state === 'delivered') ? null : newest.length;
}

/** Epoch ms of the last reset of each kind's safety stop. */
async function resetsOf({ store }: Ports, merchant_id: string): Promise<ReadinessFacts['reset_at']> {
  const lines = await store.audit.auditsOf({ subject: merchant_id, action: RESET }, MOST_LINES); // newest first
  return Object.fromEntries(lines.map(({ detail, at }) => [String(detail.kind), at] as const).toReversed());
}

/** What stands against the sales of a merchant, `MOST_LINES` of a kind at most, lost sales among them, whatever their age. */
export type Mismatches = (merchant_id: string) => Promise<Pick<ReadinessFacts, 'mismatches' | 'accepted'>>;

/**
 * One read for all merchants that are judged together, because their audit lines are mixed. A failed read is retried.
 * @param fresh_ms how long one read serves, for callers that judge continuously.
 */
export function mismatchesOnce(ports: Ports, fresh_ms = Number.POSITIVE_INFINITY): Mismatches {
  let read: Promise<StandingMismatches> | null = null;
  let read_at = 0;
  return async (merchant_id) => {
    const now = ports.clock.now();
    if (read === null || now - read_at >= fresh_ms) {
      read = standingMismatches(ports);
      read_at = now;
    }
    const reading = read;
    try {
      return await mismatchesOf(ports, merchant_id, await reading);
    } catch (error) {
      if (read === reading) read = null;
      throw error;
    }
  };
}

/** A lost sale is one that upstream does not know: a mismatch, whether or not a comparison reported it. */
async function mismatchesOf({ store, clock }: Ports, merchant_id: string, standing: StandingMismatches) {
  const found: { kind: MismatchKind; subject: string; unit: string | null; is_accepted: boolean }[] = [];
  // Open ones first: accepted or repaired ones must not take their places.
  const own = standing.mismatches.filter((one) => one.merchant_id === merchant_id);
  for (const one of own.toSorted((a, b) => Number(a.is_accepted) - Number(b.is_accepted)))
    if (found.length < MOST_LINES && !hasItsOrder(one, await store.links.link(one.subject))) found.push(one);
  // An accepted difference of another kind says nothing of the loss.
  const named = new Set(
    found.filter((one) => one.kind === 'missing' || !one.is_accepted).map(({ subject }) => subject),
  );
  const lost = { open: 0, accepted: 0 };
  const filter = { merchant_id, state: 'lost', now: clock.now() } as const;
  let place: SalePlace | null = null;
  do {
    const page: SalePage<Link> = await store.history.listLinks(filter, place, MOST_LINES);
    for (const { legacy_id: subject, unit } of page.rows.filter((one) => !named.has(one.legacy_id))) {
      const is_accepted = covers(standing.accepted.get(subject) ?? null, 'missing');
      if (lost[is_accepted ? 'accepted' : 'open']++ < MOST_LINES)
        found.push({ kind: 'missing', subject, unit, is_accepted });
    }
    place = page.next;
    await yieldToEventLoop();
  } while (place !== null && lost.open < MOST_LINES);
  // No line names a sale that an earlier version stored without exactly one approval.
  const lined = new Set(found.flatMap(({ kind, subject }) => (kind === 'approvals' ? [subject] : [])));
  for (const [subject, line] of standing.accepted) {
    if (line.detail.merchant !== merchant_id || !covers(line, 'approvals') || lined.has(subject)) continue;
    const link = await store.links.link(subject);
    if (link !== null && approvalFault(link) !== null)
      found.push({ kind: 'approvals', subject, unit: link.unit, is_accepted: true });
  }
  const open = found.filter((one) => !one.is_accepted);
  const open_sales = new Set(open.map(({ subject }) => subject));
  const accepted = new Map<string, AcceptedDisagreement>();
  for (const { subject } of found) {
    const line = standing.accepted.get(subject);
    if (line !== undefined && !open_sales.has(subject)) accepted.set(subject, acceptedFrom(line));
  }
  return {
    mismatches: open.map(({ kind, subject, unit }) => ({ kind, subject, unit })),
    accepted: [...accepted.values()],
  };
}

function judge(seen: Seen, facts: ReadinessFacts, rules: ReadinessRules): Readiness {
  const blockers = blockersOf(seen, facts, rules);
  const unproven = unprovenOf(seen, facts, rules);
  const { text: move, said: move_said } = judgedMove(facts);
  return {
    merchant_id: facts.merchant_id,
    merchant_name: facts.merchant_name,
    about: facts.legacy_use === null ? 'next_move' : 'completion',
    verdict: blockers.length > 0 ? 'blocked' : unproven.some(holdsBack) ? 'inconclusive' : 'ready',
    move,
    move_said,
    blockers,
    unproven,
    acknowledged: [...facts.accepted],
    remarks: remarksOf(seen, facts),
    operations: operationsOf(seen, facts, rules, { blockers, unproven }),
    judged_at: iso(facts.now),
    tables_revision: facts.tables_revision,
  };
}

/** A file of calls has no stage, and is judged as on legacy. A move to shadow changes no answer and needs no evidence. */
function judgedMove({ stage, on_orders }: ReadinessFacts): Spoken {
  if (on_orders.length === 0) return say('judged.canary', { stage: stage ?? 'legacy' });
  if (on_orders.length < routedKinds.length) return say('judged.kinds', { kinds: on_orders });
  return say(stage === 'orders' ? 'judged.none' : 'judged.orders', {});
}

/** Every operation that was called, and those that a finding names. */
function operationsOf(
  seen: Seen,
  { operations }: ReadinessFacts,
  { min_sample }: ReadinessRules,
  { blockers, unproven }: { blockers: readonly Finding[]; unproven: readonly Finding[] },
): Readiness['operations'] {
  const named = new Set([...seen.traffic, ...blockers, ...unproven].map(({ operation }) => operation));
  const unsure = unproven.filter(holdsBack);
  const areas = areasOf(operations, seen);
  return operations
    .filter(({ name }) => named.has(name))
    .map((one) => {
      const rows = seen.traffic.filter(({ operation }) => operation === one.name);
      const count = (outcome: string): number => sumOf(rows.filter((row) => row.outcome === outcome));
      const counts = { ok: count('ok'), business: count('business'), auth: count('auth'), fault: count('fault') };
      const area = areas.find((some) => some.operations.includes(one));
      const few = area === undefined ? counts.ok < min_sample : judgedCalls(area, seen) < min_sample;
      const isUnsure = few || has(unsure, one.name);
      const verdict: Verdict = has(blockers, one.name) ? 'blocked' : isUnsure ? 'inconclusive' : 'ready';
      return { operation: one.name, kind: one.kind, calls: sumOf(rows), outcomes: counts, verdict };
    });
}

function has(findings: readonly Finding[], name: string): boolean {
  return findings.some(({ operation }) => operation === name);
}

// The source of views of evidence: a running Puente, or a file that `puente assess` has read.

/** A `Ports` is one. */
export interface EvidenceSource {
  store: EvidenceReader & {
    merchants: {
      /** Null for an unknown merchant. */
      merchant(id: string): Promise<{ site: string | null } | null>;
    };
  };
  tables: Tables;
  /** Epoch ms. */
  clock: { now(): number };
}
