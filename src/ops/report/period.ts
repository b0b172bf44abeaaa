/** The period of a report: as asked for, else the last seven days; of a merchant on orders its whole migration. */
import { DAY_MS, dayOf, HOUR_MS, iso, refuseEmptyWindow } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { isAllOnOrders } from '../readiness/legacy-use.ts';
import { merchantOf } from '../seen.ts';
import type { Report, ReportQuery } from './report.ts';

export interface ReportAsk {
  /** Null: the fleet. */
  merchant_id: string | null;
  /** Epoch ms, [since, until). */
  since: number;
  until: number;
}

type Asked = Pick<ReportQuery, 'merchant' | 'since' | 'until'>;

/** Of a period without a start. */
const USUAL_MS = 7 * DAY_MS;
/** Of a certificate: its period ends less than this before it is issued. */
const FRESH_MS = DAY_MS;
/** A merchant has some ten moves, one for each step of its ramps. */
const MOST_MOVES = 10_000;

/** @throws PuenteError bad_request for a period that is empty or begins in the future. */
export function askOf({ clock }: Pick<Ports, 'clock'>, { merchant, since, until = clock.now() + 1 }: Asked): ReportAsk {
  const ask = { merchant_id: merchant ?? null, since: since ?? until - USUAL_MS, until };
  refuseEmptyWindow(ask.since, until, clock.now());
  return ask;
}

/** As `askOf`; without a start the report of a merchant whose work is all on orders covers its whole migration. */
export async function reportAskOf(ports: Ports, query: Asked): Promise<ReportAsk> {
  const { merchant, until = ports.clock.now() + 1 } = query;
  if (query.since !== undefined || merchant === undefined) return askOf(ports, query);
  if (!isAllOnOrders(ports.settings, await merchantOf(ports, merchant))) return askOf(ports, query);
  const since = (await beganOn(ports, merchant)) * DAY_MS;
  return askOf(ports, since < until ? { merchant, since, until } : query);
}

/**
 * First day (since 1970-01-01 UTC) of a call or a move; infinite where none is known. From what retention never
 * deletes, or after calls and sales: units, the audit chain, and sums by day.
 */
async function beganOn({ store }: Ports, merchant_id: string): Promise<number> {
  const [units, traffic, moves] = await Promise.all([
    store.evidence.units(merchant_id),
    store.evidence.traffic({ merchant_id }),
    store.audit.auditsOf({ subject: merchant_id, action: 'stage' }, MOST_MOVES),
  ]);
  const seen = [...units.map(({ first_at }) => first_at), ...moves.map(({ at }) => at)];
  return Math.min(...seen.map(dayIn), ...traffic.map(({ day }) => day));
}

/**
 * What a certificate says of its period. `whole_since`: epoch ms at which a period has to begin to cover the whole
 * migration until now; null: this one does.
 */
export async function coverageOf(
  ports: Ports,
  merchant_id: string,
  { since, until }: ReportAsk,
): Promise<{ began_on: string | null; whole_since: number | null }> {
  const first_day = await beganOn(ports, merchant_id);
  const is_whole = since <= first_day * DAY_MS && ports.clock.now() - until < FRESH_MS;
  return {
    began_on: Number.isFinite(first_day) ? dayOf(first_day * DAY_MS) : null,
    whole_since: is_whole ? null : Math.min(first_day * DAY_MS, since),
  };
}

/** What a report's numbers lack of its period, by age, and by a restored backup or a lost log. */
export async function gapsOf(ports: Ports, ask: ReportAsk): Promise<Pick<Report, 'deleted_before' | 'lost_between'>> {
  const lost = ports.store.upkeep.restoredGap();
  const is_of_period = lost !== null && lost.until >= ask.since && lost.from < ask.until;
  return {
    deleted_before: iso(await deletedBefore(ports, ask)),
    lost_between: is_of_period ? { since: iso(lost.from), until: iso(lost.until) } : null,
  };
}

/** Epoch ms before which calls or sales of the period may not be stored any more; null: all are. */
async function deletedBefore(ports: Ports, { merchant_id, since, until }: ReportAsk): Promise<number | null> {
  const { store, tables } = ports;
  const cut = ageCut(ports);
  // Of all merchants the sums by day are too many to read: by the settings alone, for a database that is older.
  if (merchant_id === null) return cut > since && cut > (await store.upkeep.condition()).created_at ? cut : null;
  // What retention keeps for longer says on which days of the period there were calls and sales.
  const [units, traffic] = await Promise.all([
    store.evidence.units(merchant_id),
    store.evidence.traffic({ merchant_id, since_day: dayIn(since), until_day: dayIn(until - 1) + 1 }),
  ]);
  const creates = new Set(tables.operations.filter(({ upstream }) => upstream === 'create').map(({ name }) => name));
  const sales = traffic.filter((row) => row.lane === 'orders' && row.outcome === 'ok' && creates.has(row.operation));
  const seen = units.map(({ first_at }) => first_at).filter((first_at) => first_at < until);
  // Before the oldest kept sums nothing says that there were no calls, once there had been some.
  const has_sums = since >= ports.clock.now() - ports.settings.retention.sums_ms;
  const days = seen.filter((first_at) => first_at >= since || !has_sums).map((at) => dayIn(Math.max(at, since)));
  const called_on = Math.min(...days, ...traffic.map(({ day }) => day));
  const sold_on = Math.min(...sales.map(({ day }) => day));
  const [call] = await store.exchanges.exchanges({ merchant_id }, 0, 1);
  const [sale] = await store.history.linksMade({ merchant_id, since: 0, until, after: null, limit: 1 });
  const [calls_since, sales_since] = [call?.at ?? until, sale?.created_at ?? until];
  const gaps = [
    // Some old sales stay (a notice or a refund waits): a stored one shows nothing of the others.
    ...(cut > Math.max(since, called_on * DAY_MS) ? [cut] : []),
    // What is not stored any more, whatever the settings are now. Sales on legacy are deleted with the calls.
    ...(dayIn(calls_since) > called_on ? [calls_since] : []),
    // A sale is created while its call lasts: perhaps on the next day.
    ...(dayIn(sales_since - HOUR_MS) > sold_on ? [sales_since] : []),
  ];
  return gaps.length === 0 ? null : Math.max(...gaps);
}

/** Epoch ms: calls, sales on legacy with them, and sales on orders of before are deleted. */
function ageCut({ clock, settings }: Pick<Ports, 'clock' | 'settings'>): number {
  return clock.now() - Math.min(settings.evidence.kept_ms, settings.retention.links_ms);
}

function dayIn(at: number): number {
  return Math.floor(at / DAY_MS);
}
