/** Makes a report: one pass over the exchanges of the period, in pages, and the store's own sums. */
import { z } from 'zod';
import { type Verdict, verdicts } from '../../proxy/records/evidence.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import { verifyAuditStream } from '../audit.ts';
import { DAY_MS, defined, exchangePages, instant, iso, shown, time } from '../fields.ts';
import { receiverLines } from '../notices.ts';
import type { ExchangeStore, Ports } from '../ports.ts';
import { readinessDays, readinessSince } from '../readiness/days.ts';
import { decommissionOf } from '../readiness/decommission.ts';
import { isAllOnOrders } from '../readiness/legacy-use.ts';
import { type Mismatches, merchantReadiness, mismatchesOnce } from '../readiness/readiness.ts';
import { merchant_name, merchantOf, named } from '../seen.ts';
import { decisionLines } from './decisions.ts';
import { askOf, coverageOf, gapsOf, type ReportAsk } from './period.ts';
import { type Line, REPORT_SCHEMA, type Report, report, reportQuery } from './report.ts';
import { approvalPages, moneyOf, unmatchedOf } from './sales.ts';
import { assumptionsFor, differenceLines, fleetOf, limitationLines, lossLines, noticeLines } from './sections.ts';
import { addExchange, createTally, dayLines, latencyLines, type Tally, waitLines } from './tally.ts';

/** Exchanges per page: so few that payments between two pages are not delayed. */
const PAGE = 1_000;

/** Facts about the installation; handed in, because settings are not the core's. */
export interface ReportFacts {
  assumptions: Line<'assumptions'>[];
  /** `notices.user_agent`. */
  notice_agent: string;
}

/** One report at a time; payments wait for none. Rejects with the signal's reason when the client disconnects. */
export function gatherReport(
  ports: Ports,
  ask: ReportAsk,
  facts: ReportFacts,
  signal: AbortSignal | null = null,
): Promise<Report> {
  return ports.memory.mutex.run('report', () => gather(ports, ask, facts, signal));
}

async function gather(ports: Ports, ask: ReportAsk, facts: ReportFacts, signal: AbortSignal | null): Promise<Report> {
  signal?.throwIfAborted();
  await ports.evidence.settled();
  const tally = await tallyOf(ports.store.exchanges, ask, signal);
  const { store } = ports;
  const { merchant_id } = ask;
  const tables = ports.tables.of(merchant_id);
  const { incidents, decisions, moves, mismatches } = await decisionLines(ports, ask, signal);
  const { approvals, judged, unconfirmed, left_out, ...money } = await moneyOf(ports, ask, moves, tally, signal);
  const unmatched = await unmatchedOf(ports, ask, mismatches, unconfirmed);
  const differences = await differenceLines(ports, merchant_id, tally);
  const notices = await noticeLines(ports, ask, signal);
  const standing = await standingIn(ports, ask, judged, signal);
  const own = merchant_id === null ? null : await standing(merchant_id);
  const fleet = await fleetOf(ports, merchant_id, tally, own === null ? standing : async () => own, signal);
  const merchant = merchant_id === null ? null : await store.merchants.merchant(merchant_id);
  return {
    schema: REPORT_SCHEMA,
    merchant_id,
    period: { since: iso(ask.since), until: iso(ask.until) },
    ...(await gapsOf(ports, ask)),
    tables_revision: tables.revision,
    tables: [...tally.tables].map(([revision, calls]) => ({ revision, calls })),
    exchanges: {
      count: tally.count,
      first_sequence: tally.first_sequence,
      last_sequence: tally.last_sequence,
      uncounted: tally.uncounted,
      shed: await store.exchanges.shed(Math.floor(ask.since / DAY_MS), Math.ceil(ask.until / DAY_MS)),
    },
    ...money,
    approvals,
    unmatched: unmatched.lines,
    ...sumsOf({ ...ports, tables }, tally),
    limitations: limitationLines(tables.limitations, tally, {
      totals: notices.totals,
      notice_agent: facts.notice_agent,
    }),
    differences: differences.lines,
    notices: notices.lines,
    receivers: await receiversIn(ports, ask, signal),
    notice_days: notices.days,
    incidents: incidents.lines,
    decisions: decisions.lines,
    assumptions: assumptionsFor(facts.assumptions, merchant),
    merchants: fleet.merchants,
    verdicts: fleet.verdicts,
    readiness_days: await readinessDays(
      ports,
      ask,
      verdictDays(decisions.lines),
      merchant_id === null ? null : fleet.verdicts,
    ),
    findings: fleet.findings,
    left_out: {
      differences: differences.left_out,
      incidents: incidents.left_out,
      decisions: decisions.left_out,
      findings: fleet.left_out,
      move_sums: left_out.move_sums,
      approvals: left_out.approvals,
      unmatched: unmatched.left_out + left_out.unconfirmed,
    },
    ...(await provenNow(ports, ask, merchant, { ...fleet, own }, [...unmatched.lines, ...approvals])),
  };
}

/** With the findings of the period; of a merchant wholly on orders with those of its whole migration, whatever the period. */
async function standingIn(
  ports: Ports,
  ask: ReportAsk,
  approvals: Report['approvals'],
  signal: AbortSignal | null,
): Promise<Mismatches> {
  const { merchant_id } = ask;
  const is_complete = merchant_id !== null && isAllOnOrders(ports.settings, await merchantOf(ports, merchant_id));
  const is_whole = !is_complete || (await coverageOf(ports, merchant_id, ask)).whole_since === null;
  return is_whole ? withApprovals(mismatchesOnce(ports), approvals) : mismatchesOfAll(ports, signal);
}

/** As the verdict on completion has them, of all sales that are stored. @param signal aborts it when the client disconnects. */
export function mismatchesOfAll(ports: Ports, signal: AbortSignal | null): Mismatches {
  const known = mismatchesOnce(ports);
  return async (merchant) => {
    const approvals: Report['approvals'] = [];
    const ask = askOf(ports, { merchant, since: 0 });
    for await (const page of approvalPages(ports, ask, signal)) approvals.push(...page);
    return withApprovals(known, approvals)(merchant);
  };
}

/** A verdict of the report fits its own findings, also those of which no line of the audit says so yet. */
function withApprovals(known: Mismatches, approvals: Report['approvals']): Mismatches {
  const open = approvals.filter(({ state }) => state === 'open');
  return async (merchant_id) => {
    const { mismatches, accepted } = await known(merchant_id);
    const named = new Set(mismatches.flatMap(({ kind, subject }) => (kind === 'approvals' ? [subject] : [])));
    const own = open.filter((one) => one.merchant_id === merchant_id && !named.has(one.id));
    return {
      accepted,
      mismatches: [...mismatches, ...own.map(({ id, unit }) => ({ kind: 'approvals', subject: id, unit }) as const)],
    };
  };
}

/** The same lines as `puente notices receivers`. */
async function receiversIn(
  ports: Ports,
  { merchant_id, since, until }: ReportAsk,
  signal: AbortSignal | null,
): Promise<Line<'receivers'>[]> {
  const filter = defined({ since, until, merchant: merchant_id === null ? undefined : [merchant_id] });
  return (await receiverLines(ports, filter, signal)).map(({ merchant, url, ...one }) => {
    return { merchant_id: merchant, receiver: url, ...shown(one) };
  });
}

/** The audit chain, and the verdict of now; a certificate of completion needs sales that agree or whose disagreement is accepted, each approved once, and a chain that is intact. */
async function provenNow(
  ports: Ports,
  ask: ReportAsk,
  merchant: Merchant | null,
  { readiness, own }: { readiness: Report['readiness']; own: Awaited<ReturnType<Mismatches>> | null },
  found: readonly { state: Line<'unmatched'>['state'] }[],
) {
  const { store, clock } = ports;
  const head = (await store.audit.audits(1))[0];
  // The whole chain, whatever the period: a line that was changed earlier puts the later ones in doubt.
  const { expected: _expected, ...audit } = await verifyAuditStream(store.audit);
  const audit_head = { sequence: head?.sequence ?? 0, hash: head?.hash ?? '' };
  const is_about_completion = merchant !== null && readiness?.about === 'completion';
  const completion = is_about_completion
    ? await decommissionOf(ports, merchant, readiness, own?.mismatches ?? [])
    : null;
  const made_at = iso(clock.now());
  const agrees = found.every(({ state }) => state !== 'open');
  const issued = { issued_at: made_at, acknowledged: readiness?.acknowledged ?? [], audit_head };
  const certified = audit.intact && agrees ? await certificateOf(ports, ask, completion, issued) : NOT_CERTIFIED;
  return { made_at, readiness, completion, ...certified, audit_head, audit };
}

type Certified = Pick<Report, 'certificate' | 'certificate_since'>;
const NOT_CERTIFIED: Certified = { certificate: null, certificate_since: null };

async function certificateOf(
  ports: Ports,
  ask: ReportAsk,
  completion: Report['completion'],
  issued: Pick<NonNullable<Report['certificate']>, 'issued_at' | 'acknowledged' | 'audit_head'>,
): Promise<Certified> {
  if (completion === null || !completion.may_go) return NOT_CERTIFIED;
  const { merchant_id, last_legacy_day, quiet_days, units } = completion;
  const kept = units.filter(({ may_go }) => !may_go);
  // A unit is new while only its days are too few: one with a sale open on legacy, or with a finding, is not.
  const units_new = kept.filter(({ why_said }) => why_said.code === 'unit_use.watched').length;
  if (units_new < kept.length) return NOT_CERTIFIED;
  const { began_on, whole_since } = await coverageOf(ports, merchant_id, ask);
  // Sales before or after the period were not looked at.
  if (whole_since !== null) return { ...NOT_CERTIFIED, certificate_since: iso(whole_since) };
  const sign_off = (['operator', 'auditor'] as const).map((as) => ({ as, name: '', signature: '', day: '' }));
  const period = { since: iso(ask.since), until: iso(ask.until) };
  const { deleted_before } = await gapsOf(ports, ask);
  const covered = { period, began_on, deleted_before };
  const quiet = { last_legacy_day, quiet_days, units: units.length, units_new };
  return { certificate: { merchant_id, ...issued, ...covered, ...quiet, sign_off }, certificate_since: null };
}

function sumsOf(ports: Ports, tally: Tally) {
  return {
    traffic: [...tally.traffic.values()].toSorted((a, b) => b.calls - a.calls),
    latency: latencyLines(tally),
    waits: waitLines(tally),
    errors: [...tally.errors.values()].toSorted((a, b) => b.calls - a.calls),
    days: dayLines(tally),
    losses: lossLines(ports, tally),
    shadow: [...tally.shadow.values()].toSorted((a, b) => b.count - a.count),
  };
}

/** Reads up to the newest exchange at the start of the call, so that a busy shop's report has an end. */
export async function tallyOf(
  reader: Pick<ExchangeStore, 'exchanges' | 'lastExchange'>,
  ask: ReportAsk,
  signal: AbortSignal | null = null,
): Promise<Tally> {
  const tally = createTally();
  const filter = defined({ ...ask, merchant_id: ask.merchant_id ?? undefined });
  for await (const page of await exchangePages(reader, filter, PAGE)) {
    signal?.throwIfAborted();
    for (const exchange of page) addExchange(tally, exchange);
  }
  return tally;
}

// Readiness of days without a stored verdict, from the audit chain: the verdict that a decision on a stage rested on.

/** A line for each day with a decision on a stage, by the last verdict of each merchant on that day. */
export function verdictDays(decisions: Report['decisions']): Line<'readiness_days'>[] {
  const days = new Map<string, Map<string, Verdict>>();
  for (const decision of decisions.toSorted((a, b) => a.sequence - b.sequence)) {
    const verdict = verdictOf(decision);
    if (verdict === null) continue;
    const day = decision.at.slice(0, 10);
    days.set(day, (days.get(day) ?? new Map<string, Verdict>()).set(decision.subject, verdict));
  }
  return [...days].map(([day, found]) => ({ day, ...countsOf([...found.values()]) }));
}

function verdictOf({ evidence: { evidence } }: Line<'decisions'>): Verdict | null {
  if (typeof evidence !== 'object' || evidence === null || !('verdict' in evidence)) return null;
  return verdicts.find((verdict) => verdict === evidence.verdict) ?? null;
}

function countsOf(found: readonly Verdict[]): Record<Verdict, number> {
  const of = (verdict: Verdict): number => found.filter((one) => one === verdict).length;
  return { ready: of('ready'), blocked: of('blocked'), inconclusive: of('inconclusive') };
}

// The sums alone, without what takes long to judge or to verify.

export const sumsView = report
  .pick({ merchant_id: true, made_at: true, period: true, deleted_before: true, lost_between: true, sums: true })
  .extend({
    move_sums: z.array(report.shape.move_sums.element.extend({ merchant_name })),
    left_out: z.object({ move_sums: z.int().min(0) }).describe('lines that are not in the list'),
  });

/**
 * To the end of this second by default: lists of sales are filtered by seconds. One at a time with reports.
 * @throws PuenteError bad_request when the period is empty.
 */
export function viewSums(
  ports: Ports,
  query: z.infer<typeof figuresQuery>,
  signal: AbortSignal,
): Promise<z.infer<typeof sumsView>> {
  const now = ports.clock.now();
  const ask = askOf(ports, { until: Math.floor(now / SECOND_MS + 1) * SECOND_MS, ...query });
  return ports.memory.mutex.run('report', async () => {
    signal.throwIfAborted();
    await ports.evidence.settled();
    const tally = await tallyOf(ports.store.exchanges, ask, signal);
    const { moves } = await decisionLines(ports, ask, signal);
    const { sums, move_sums, left_out } = await moneyOf(ports, ask, moves, tally, signal);
    const period = { since: iso(ask.since), until: iso(ask.until) };
    const gaps = await gapsOf(ports, ask);
    const of_moves = { move_sums: await named(ports, move_sums), left_out: { move_sums: left_out.move_sums } };
    return { merchant_id: ask.merchant_id, made_at: iso(now), period, ...gaps, sums, ...of_moves };
  });
}

const SECOND_MS = 1_000;

// The figures that charts are drawn of: a part of the report, without what takes long to judge or to verify.

export const figuresQuery = reportQuery.pick({ merchant: true, until: true }).extend({
  since: instant.exactOptional().describe('from (default: seven days before the end)'),
});

export const figuresView = z.object({
  ...report.pick({ merchant_id: true, made_at: true, period: true, days: true, waits: true }).shape,
  calls_since: time.nullable().describe('the oldest call that is still kept: nothing before it is shown'),
  readiness_since: z.iso.date().nullable().describe('the first day that a verdict is kept of'),
  losses: z.array(report.shape.losses.element.pick({ operation: true, path: true, count: true, would_be_count: true })),
  ...report.pick({ notice_days: true, readiness_days: true }).shape,
});
export type FiguresView = z.infer<typeof figuresView>;

/**
 * One at a time with reports; payments wait for none. Rejects with the signal's reason when the client disconnects.
 * @throws PuenteError bad_request when the period is empty.
 */
export function viewFigures(
  ports: Ports,
  query: z.infer<typeof figuresQuery>,
  signal: AbortSignal,
): Promise<FiguresView> {
  const ask = askOf(ports, query);
  return ports.memory.mutex.run('report', () => gatherFigures(ports, ask, signal));
}

async function gatherFigures(ports: Ports, ask: ReportAsk, signal: AbortSignal): Promise<FiguresView> {
  signal.throwIfAborted();
  await ports.evidence.settled();
  const tally = await tallyOf(ports.store.exchanges, ask, signal);
  const notices = await noticeLines(ports, ask, signal);
  const { decisions } = await decisionLines(ports, ask, signal);
  const today = await verdictNow(ports, ask.merchant_id);
  const [oldest] = await ports.store.exchanges.exchanges({}, 0, 1);
  return {
    merchant_id: ask.merchant_id,
    made_at: iso(ports.clock.now()),
    period: { since: iso(ask.since), until: iso(ask.until) },
    // The oldest kept call, of any merchant: nothing before it can be shown.
    calls_since: oldest === undefined ? null : iso(oldest.at),
    readiness_since: await readinessSince(ports),
    days: dayLines(tally),
    waits: waitLines(tally),
    losses: lossLines(ports, tally).map(({ operation, path, count, would_be_count }) => {
      return { operation, path, count, would_be_count };
    }),
    notice_days: notices.days,
    readiness_days: await readinessDays(ports, ask, verdictDays(decisions.lines), today),
  };
}

/** Null for all merchants: judging thousands takes too long for a page. */
async function verdictNow(ports: Ports, merchant_id: string | null): Promise<Record<Verdict, number> | null> {
  if (merchant_id === null) return null;
  return { ready: 0, blocked: 0, inconclusive: 0, [(await merchantReadiness(ports, merchant_id)).verdict]: 1 };
}
