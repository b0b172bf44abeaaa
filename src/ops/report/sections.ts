/** Sections of a report: the fleet, notices, losses and differences, limitations met, and assumptions in force. */

import type { Spoken } from '../../error.ts';
import { noticeTopics } from '../../mapping/schema.ts';
import type { Limitation, Tables } from '../../mapping/tables.ts';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import { lossWeights } from '../../proxy/records/evidence.ts';
import { LATE_AFTER_MS, type NoticeSum } from '../../proxy/records/notices.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import { stageInForce } from '../../proxy/routing/stage.ts';
import { dayOf, shown } from '../fields.ts';
import { slicesOf } from '../notices.ts';
import type { Ports } from '../ports.ts';
import { adviceOn, whyLost } from '../readiness/coverage.ts';
import { type Mismatches, merchantReadiness } from '../readiness/readiness.ts';
import type { ReportAsk } from './period.ts';
import type { Line, Report } from './report.ts';
import type { Tally } from './tally.ts';

/** Blockers per merchant in a fleet's report, so that a few merchants don't fill it; each line has the number. */
const MOST_OF_ONE = 5;
/** Blockers in one report: those of a thousand merchants. */
const MOST_FINDINGS = 5_000;

interface Fleet extends Pick<Report, 'merchants' | 'verdicts' | 'findings'> {
  left_out: number;
  /** Of the only merchant; null for all. */
  readiness: Report['readiness'];
}

/** Merchants by id: those with a row, and those whose calls were proxied. Other work runs between two of them. */
export async function fleetOf(
  ports: Ports,
  merchant_id: string | null,
  tally: Tally,
  mismatches: Mismatches,
  signal: AbortSignal | null,
): Promise<Fleet> {
  const known = new Map((await knownTo(ports, merchant_id)).map((merchant) => [merchant.id, merchant]));
  const called = [...tally.merchants].filter(([, { calls, refused }]) => calls > refused).map(([id]) => id);
  const ids = merchant_id === null ? [...new Set([...known.keys(), ...called])].toSorted() : [merchant_id];
  const filter = { states: ['new'] as const, ...(merchant_id === null ? {} : { merchant_id }) };
  const differences = await ports.store.evidence.differences(filter, ports.clock.now());
  const open = Map.groupBy(differences, (group) => group.merchant_id);
  const fleet: Fleet = {
    merchants: [],
    verdicts: { ready: 0, blocked: 0, inconclusive: 0 },
    findings: [],
    left_out: 0,
    readiness: null,
  };
  for (const id of ids) {
    signal?.throwIfAborted();
    const readiness = await merchantReadiness(ports, id, mismatches);
    const { verdict, blockers } = readiness;
    if (merchant_id !== null) fleet.readiness = readiness;
    const { calls, faults, losses } = tally.merchants.get(id) ?? { calls: 0, faults: 0, losses: 0 };
    const merchant = known.get(id) ?? null;
    const { intended: stage, share } = stageInForce(ports.settings, merchant, null);
    fleet.merchants.push({
      merchant_id: id,
      name: merchant?.settings.name ?? null,
      site: merchant?.site ?? null,
      stage,
      share,
      stopped: Object.keys(merchant?.trips ?? {}).length > 0,
      verdict,
      blockers: blockers.length,
      calls,
      faults,
      losses,
      open_differences: open.get(id)?.length ?? 0,
    });
    fleet.verdicts[verdict]++;
    const places = Math.min(merchant_id === null ? MOST_OF_ONE : MOST_FINDINGS, MOST_FINDINGS - fleet.findings.length);
    fleet.findings.push(...blockers.slice(0, places).map((one) => ({ merchant_id: id, ...one })));
    fleet.left_out += Math.max(0, blockers.length - places);
    await yieldToEventLoop();
  }
  return fleet;
}

async function knownTo({ store }: Ports, merchant_id: string | null): Promise<Merchant[]> {
  if (merchant_id === null) return store.merchants.merchants();
  const merchant = await store.merchants.merchant(merchant_id);
  return merchant === null ? [] : [merchant];
}

const NO_NOTICES = { made: 0, delivered: 0, pending: 0, stuck: 0, dead: 0 };

type NoticeTotals = Record<NoticeSum['form'], number>;

/** Topics with a notice, in their order; days on which one was made; and delivered notices by form. */
export async function noticeLines(
  ports: Ports,
  ask: ReportAsk,
  signal: AbortSignal | null,
): Promise<{ lines: Line<'notices'>[]; days: Line<'notice_days'>[]; totals: NoticeTotals }> {
  const { merchant_id } = ask;
  const fresh_since = ports.clock.now() - LATE_AFTER_MS; // a notice that still waits then, or was refused before, is stuck
  const lines = new Map(noticeTopics.map((topic) => [topic, { topic, retried: 0, ...NO_NOTICES }]));
  const days = new Map<string, Line<'notice_days'>>();
  const totals: NoticeTotals = { point: 0, ipn: 0, webhook: 0 };
  for (const [from, to] of slicesOf(ports, ask, fresh_since)) {
    signal?.throwIfAborted();
    const period = { since: from, until: to, ...(merchant_id === null ? {} : { merchant_id }) };
    for (const sum of await ports.store.notices.sumNotices(period)) {
      const day = dayOf(from);
      const [of_day, of_topic] = [days.get(day) ?? { day, ...NO_NOTICES }, lines.get(sum.topic)];
      days.set(day, of_day);
      for (const line of [of_day, of_topic]) if (line !== undefined) add(line, sum, from >= fresh_since);
      if (of_topic !== undefined && sum.attempts === 2) of_topic.retried += sum.count;
      if (sum.state === 'delivered') totals[sum.form] += sum.count;
    }
    await yieldToEventLoop();
  }
  return { lines: [...lines.values()].filter(({ made }) => made > 0), days: [...days.values()], totals };
}

function add(line: Omit<Line<'notice_days'>, 'day'>, sum: NoticeSum, is_fresh: boolean): void {
  line.made += sum.count;
  line[sum.state] += sum.count;
  if (isStuck(sum, is_fresh)) line.stuck += sum.count;
}

function isStuck({ state, attempts }: Pick<NoticeSum, 'state' | 'attempts'>, is_fresh: boolean): boolean {
  return state === 'pending' && (attempts > 0 || !is_fresh);
}

const MOST_DIFFERENCES = 5_000;

/** Money first, then identity, then by count, would-be losses of shadows included. */
export function lossLines({ tables }: Pick<Ports, 'tables'>, tally: Tally): Line<'losses'>[] {
  return [...tally.losses.values()]
    .map((one) => {
      const loss = { ...one, why: whyLost(tables, one) };
      return { ...loss, advice: adviceFor(tables, loss).text };
    })
    .toSorted(
      (a, b) =>
        lossWeights.indexOf(a.weight) - lossWeights.indexOf(b.weight) ||
        b.count + b.would_be_count - (a.count + a.would_be_count),
    );
}

/** The advice for the till's maker, on real and would-be losses together. */
export function adviceFor(tables: Tables, loss: Omit<Line<'losses'>, 'advice'>): Spoken {
  return adviceOn(tables, { ...loss, count: loss.count + loss.would_be_count });
}

/** Those that calls of the period showed, most frequent first. @param merchant_id null: of all. */
export async function differenceLines(
  ports: Ports,
  merchant_id: string | null,
  tally: Tally,
): Promise<{ lines: Line<'differences'>[]; left_out: number }> {
  const filter = merchant_id === null ? {} : { merchant_id };
  const groups = await ports.store.evidence.differences(filter, ports.clock.now());
  const lines = groups
    .map((group) => ({ group, count: tally.signatures.get(`${group.merchant_id} ${group.signature}`) ?? 0 }))
    .filter(({ count }) => count > 0)
    .map(({ group: { accepted_until: _until, note: _note, who: _who, revision: _revision, ...group }, count }) => {
      const { sample: _sample, tables_revision: _tables, ...line } = shown(group);
      return { ...line, count };
    })
    .toSorted((a, b) => b.count - a.count);
  return { lines: lines.slice(0, MOST_DIFFERENCES), left_out: Math.max(0, lines.length - MOST_DIFFERENCES) };
}

/** Inputs for the limitations that are about notices. */
interface NoticesSent {
  /** Made in the period, and delivered. */
  totals: NoticeTotals;
  /** `notices.user_agent` as it is set now. */
  notice_agent: string;
}

/** Limitations with hits, the most frequent first; then uncountable ones whose operations were called on orders. */
export function limitationLines(
  limitations: readonly Limitation[],
  tally: Tally,
  sent: NoticesSent,
): Line<'limitations'>[] {
  const lines = limitations.map((one): Line<'limitations'> => {
    const { id, title, effect, workaround, operations, counted } = one;
    const unseen = 'unseen' in counted ? counted.unseen : null;
    const hits = unseen === null ? hitsOf(one, tally, sent) : null;
    return { id, title, effect, workaround, hits, calls: callsOf(tally, operations), unseen };
  });
  return [
    ...lines.filter(({ hits }) => hits !== null && hits > 0).toSorted((a, b) => (b.hits ?? 0) - (a.hits ?? 0)),
    ...lines.filter(({ hits, calls }) => hits === null && calls > 0).toSorted((a, b) => b.calls - a.calls),
  ];
}

function hitsOf({ id, counted }: Limitation, tally: Tally, { totals, notice_agent }: NoticesSent): number {
  if (!('notices' in counted)) return tally.limitations.get(id) ?? 0;
  return counted.agent === undefined || counted.agent === notice_agent ? totals[counted.notices] : 0;
}

function callsOf(tally: Tally, operations: readonly string[]): number {
  return operations.reduce((calls, name) => calls + (tally.traffic.get(`${name} orders`)?.calls ?? 0), 0);
}

// Assumptions in force: a merchant's own settings replace the defaults.

const DEFAULTS = 'merchants.';
/** Appended to a merchant's own value. */
export const OWN_VALUE = ' (of this merchant)';

/** @param merchant null: the fleet, or a merchant without settings. */
export function assumptionsFor(
  assumptions: readonly Line<'assumptions'>[],
  merchant: Merchant | null,
): Line<'assumptions'>[] {
  if (merchant === null) return [...assumptions];
  const own = new Map<string, unknown>(
    Object.entries(merchant.settings).map(([key, value]) => [DEFAULTS + key, value]),
  );
  // The notice URL is sealed; the report says only that the merchant has its own.
  own.set(`${DEFAULTS}notice_url`, merchant.sealed_notice_url === null ? null : 'set');
  return assumptions.map((one) => {
    const value = own.get(one.name) ?? null;
    return value === null ? one : { ...one, value: `${value}${OWN_VALUE}`, is_default: false };
  });
}
