/** One merchant as the fleet board shows it, and the pages of such lines: pure. */

import { z } from 'zod';
import type { Said } from '../../error.ts';
import { type CallSeen, type Verdict, verdicts } from '../../proxy/records/evidence.ts';
import type { OpenCount } from '../../proxy/records/routing.ts';
import {
  type Merchant,
  type RoutedKind,
  routedKinds,
  type Stage,
  stages,
  type Trip,
} from '../../proxy/routing/merchant.ts';
import { type RoutingRules, stageInForce } from '../../proxy/routing/stage.ts';
import { whyOf } from '../audit.ts';
import { iso } from '../fields.ts';
import { classOf, upperBound } from '../report/tally.ts';

/** What a readiness verdict comes to, and when it was made. */
export interface Judged {
  verdict: Verdict;
  blockers: number;
  /** The first blocker, or else the first thing that is not proven; null when there is none. */
  first: string | null;
  first_said: Said | null;
  /** RFC 3339. */
  at: string;
}

export interface Incident {
  /** RFC 3339. */
  at: string;
  /** The audit line's action, as `safety stop`. */
  what: string;
  why: string;
  said: Said | null;
}

export interface FleetLine {
  merchant_id: string;
  site: string | null;
  revision: number;
  /** The merchant's own stage in force; a kind of work may have another. */
  stage: Stage;
  /** As the operator set it. */
  intended: Stage;
  /** Percent of the units, on canary. */
  share: number;
  /** Kinds of work whose stage in force is not the merchant's. */
  apart: { kind: RoutedKind; stage: Stage; share: number }[];
  /** Kinds that a safety stop holds. */
  stopped: RoutedKind[];
  health: LanePulses;
  /** Open sales by lane of birth, creates in doubt, and notices that wait. */
  open: Omit<OpenCount, 'merchant_id'>;
  /** Open sales on the lane that new work has left; null while both lanes get new work, or nothing is left behind. */
  draining: { lane: 'legacy' | 'orders'; open: number } | null;
  /** Null: not judged yet. */
  readiness: Judged | null;
  /** Of the last thirty days. */
  last_incident: Incident | null;
  /** Moves that wait for a second person. */
  waiting_moves: number;
}

/** What is known of a merchant beside its row. */
export interface Beside {
  health: LanePulses;
  open: OpenCount | undefined;
  readiness: Judged | null;
  last_incident: Incident | null;
  waiting_moves: number;
}

export function fleetLine(rules: RoutingRules, merchant: Merchant, beside: Beside): FleetLine {
  const own = stageInForce(rules, merchant, null);
  const kinds = routedKinds.map((kind) => ({ kind, ...stageInForce(rules, merchant, kind) }));
  const stopped = kinds.filter(({ trip }) => trip !== null);
  const { orders = 0, legacy = 0, in_doubt = 0, notices_pending = 0 } = beside.open ?? {};
  return {
    merchant_id: merchant.id,
    site: merchant.site,
    revision: merchant.revision,
    stage: own.stage,
    intended: own.intended,
    share: own.intended === 'canary' ? own.share : 0,
    apart: kinds.filter((one) => differs(one, own)).map(({ kind, stage, share }) => ({ kind, stage, share })),
    stopped: stopped.map(({ kind }) => kind),
    health: beside.health,
    open: { orders, legacy, in_doubt, notices_pending },
    draining: drainOf(
      kinds.map(({ stage }) => stage),
      { orders, legacy },
    ),
    readiness: beside.readiness,
    last_incident: beside.last_incident ?? newestStop(stopped),
    waiting_moves: beside.waiting_moves,
  };
}

interface Placed {
  stage: Stage;
  share: number;
  trip: Trip | null;
}

function differs(one: Placed, own: Placed): boolean {
  return one.stage !== own.stage || (one.stage === 'canary' && one.share !== own.share);
}

/** What new work of every kind has left drains; a canary leaves neither lane. */
function drainOf(stages: readonly Stage[], open: { orders: number; legacy: number }): FleetLine['draining'] {
  const is_off_orders = stages.every((stage) => stage === 'legacy' || stage === 'shadow');
  if (is_off_orders && open.orders > 0) return { lane: 'orders', open: open.orders };
  const is_off_legacy = stages.every((stage) => stage === 'orders');
  return is_off_legacy && open.legacy > 0 ? { lane: 'legacy', open: open.legacy } : null;
}

/** A stop that stands for longer than incidents are looked for is one all the same. */
function newestStop(stopped: readonly Placed[]): Incident | null {
  const trips = stopped.flatMap(({ trip }) => trip ?? []);
  const [newest] = trips.toSorted((one, other) => other.at - one.at);
  return newest === undefined ? null : { at: iso(newest.at), what: 'safety stop', ...whyOf(newest.why) };
}

// How each merchant's two lanes do now: calls of the last hour in slices, so that a busy shop takes no more room than
// a quiet one: pure.

/** What the board shows; older calls are the report's. */
export const PULSE_MS = 60 * 60_000;
/** Points of a trend line: what the eye tells apart in a table's cell. */
const SLICES = 20;
const SLICE_MS = PULSE_MS / SLICES;
const MINUTE_MS = 60_000;

export type LanePulse = NonNullable<ReturnType<typeof pulseOf>>;

export interface LanePulses {
  /** Null: no call in the last hour. */
  legacy: LanePulse | null;
  orders: LanePulse | null;
}

export interface Pulses {
  add(call: CallSeen): void;
  of(merchant_id: string, now: number): LanePulses;
  /** Lets go of what has left the hour. */
  trim(now: number): void;
}

interface Slice {
  /** Number of the slice since 1970. */
  nth: number;
  calls: number;
  faults: number;
  /** Calls by class of duration. */
  waits: Map<number, number>;
}

type Lane = CallSeen['lane'];

export function createPulses(): Pulses {
  const kept = new Map<string, Slice[]>();
  const laneOf = (merchant_id: string, lane: Lane, now: number): LanePulse | null =>
    pulseOf(kept.get(`${lane} ${merchant_id}`) ?? [], now);
  return {
    add({ merchant_id, lane, at, outcome, duration_ms }) {
      if (merchant_id === null) return; // a token that was not accepted counts for no merchant
      const key = `${lane} ${merchant_id}`;
      const slices = kept.get(key) ?? [];
      const nth = Math.floor(at / SLICE_MS);
      const slice = slices.find((one) => one.nth === nth) ?? { nth, calls: 0, faults: 0, waits: new Map() };
      if (slice.calls === 0) slices.push(slice);
      slice.calls++;
      if (outcome === 'fault') slice.faults++;
      const wait = classOf(duration_ms);
      slice.waits.set(wait, (slice.waits.get(wait) ?? 0) + 1);
      kept.set(key, slices);
    },
    of: (merchant_id, now) => ({
      legacy: laneOf(merchant_id, 'legacy', now),
      orders: laneOf(merchant_id, 'orders', now),
    }),
    trim(now) {
      for (const [key, slices] of kept) {
        const fresh = slices.filter(({ nth }) => nth > lastSlice(now) - SLICES);
        if (fresh.length === 0) kept.delete(key);
        else if (fresh.length < slices.length) kept.set(key, fresh);
      }
    },
  };
}

/** Faults are ours or upstream's: 5xx, timeouts, outcomes in doubt. Waits are upper bounds of their classes (12.5 %). */
function pulseOf(slices: readonly Slice[], now: number) {
  const first = lastSlice(now) - SLICES + 1;
  const trend = Array.from({ length: SLICES }, () => 0);
  const waits = new Map<number, number>();
  let calls = 0;
  let faults = 0;
  for (const slice of slices) {
    const place = slice.nth - first;
    if (place < 0 || place >= SLICES) continue;
    trend[place] = slice.calls;
    calls += slice.calls;
    faults += slice.faults;
    for (const [wait, count] of slice.waits) waits.set(wait, (waits.get(wait) ?? 0) + count);
  }
  if (calls === 0) return null;
  const minutes = PULSE_MS / MINUTE_MS;
  return {
    calls,
    per_minute: hundredths(calls / minutes),
    faults,
    fault_share: hundredths((faults / calls) * 100),
    p50_ms: waitOf(waits, calls, 0.5),
    p99_ms: waitOf(waits, calls, 0.99),
    trend,
  };
}

/** Upper bound of the class that holds the share of the calls, ms. @param share 0 to 1. */
function waitOf(waits: ReadonlyMap<number, number>, calls: number, share: number): number {
  const wanted = Math.ceil(calls * share);
  let seen = 0;
  for (const [wait, count] of [...waits].toSorted(([one], [other]) => one - other)) {
    seen += count;
    if (seen >= wanted) return upperBound(wait);
  }
  return 0;
}

function lastSlice(now: number): number {
  return Math.floor(now / SLICE_MS);
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

// Which merchants of the fleet are asked for, in which order.

/** A page of people; scripts ask for larger ones. */
const PER_PAGE = 50;
const MOST_PER_PAGE = 500;

export const fleetSorts = [
  'attention',
  'merchant',
  'stage',
  'rate',
  'faults',
  'p99',
  'open',
  'readiness',
  'incident',
] as const;
type FleetSort = (typeof fleetSorts)[number];
/** A verdict, or none yet. */
export const fleetVerdicts = [...verdicts, 'unjudged'] as const;

/** The query of `GET /api/fleet`. */
export const fleetQuery = z.strictObject({
  search: z.string().max(64).default('').describe("only those with this in their merchant's id"),
  stage: z.enum(stages).exactOptional().describe('only those on this stage'),
  readiness: z.enum(fleetVerdicts).exactOptional().describe('only those with this verdict'),
  attention: z
    .enum(['true', 'false'])
    .default('false')
    .describe('only those with a safety stop, faults, creates in doubt, blockers after shadow, or a move that waits'),
  sort: z.enum(fleetSorts).default('attention').describe('in this order'),
  order: z.enum(['usual', 'reversed']).default('usual').describe('the other way round'),
  page: z.coerce.number().int().min(1).default(1).describe('this page'),
  per_page: z.coerce
    .number()
    .int()
    .min(1)
    .max(MOST_PER_PAGE)
    .default(PER_PAGE)
    .describe(`so many on a page, at most ${MOST_PER_PAGE}`),
});
export type FleetQuery = z.infer<typeof fleetQuery>;

/** The page that is asked for; one behind the last is the last. */
export function selectLines(lines: readonly FleetLine[], query: FleetQuery) {
  const wanted = lines.filter((line) => passes(line, query)).toSorted(comparing(query));
  const pages = Math.max(1, Math.ceil(wanted.length / query.per_page));
  const page = Math.min(query.page, pages);
  const merchants = wanted.slice((page - 1) * query.per_page, page * query.per_page);
  return { found: wanted.length, page, pages, merchants };
}

export function totalsOf(lines: readonly FleetLine[]) {
  const totals = {
    merchants: lines.length,
    stages: { legacy: 0, shadow: 0, canary: 0, orders: 0 },
    readiness: { ready: 0, blocked: 0, inconclusive: 0, unjudged: 0 },
    stopped: 0,
    attention: 0,
  };
  for (const line of lines) {
    totals.stages[line.stage]++;
    totals.readiness[line.readiness?.verdict ?? 'unjudged']++;
    if (line.stopped.length > 0) totals.stopped++;
    if (attentionOf(line) > 0) totals.attention++;
  }
  return totals;
}

function passes(line: FleetLine, { search, stage, readiness, attention }: FleetQuery): boolean {
  if (!line.merchant_id.includes(search.trim())) return false;
  if (stage !== undefined && line.stage !== stage) return false;
  if (readiness !== undefined && (line.readiness?.verdict ?? 'unjudged') !== readiness) return false;
  return attention === 'false' || attentionOf(line) > 0;
}

/** How much a merchant wants to be looked at: what hurts tills now first, what waits for people last; 0 for nothing. */
function attentionOf({ stopped, health, open, readiness, stage, waiting_moves }: FleetLine): number {
  if (stopped.length > 0) return 5;
  if ((health.orders?.faults ?? 0) > 0) return 4;
  if (open.in_doubt > 0) return 3;
  if (readiness?.verdict === 'blocked' && stage !== 'legacy') return 2;
  return waiting_moves > 0 ? 1 : 0;
}

/** Numbers that grow stand first where much is what one looks for; ids and stages in their own order. */
const KEYS: Readonly<Record<FleetSort, (line: FleetLine) => number | string>> = {
  attention: (line) => -attentionOf(line),
  merchant: ({ merchant_id }) => merchant_id,
  stage: ({ stage, share }) => stages.indexOf(stage) * 1_000 + share,
  rate: ({ health }) => -((health.legacy?.calls ?? 0) + (health.orders?.calls ?? 0)),
  faults: ({ health }) => -Math.max(health.orders?.fault_share ?? 0, health.legacy?.fault_share ?? 0),
  p99: ({ health }) => -Math.max(health.orders?.p99_ms ?? 0, health.legacy?.p99_ms ?? 0),
  open: ({ open }) => -(open.orders + open.legacy),
  readiness: ({ readiness }) =>
    ['blocked', 'inconclusive', 'unjudged', 'ready'].indexOf(readiness?.verdict ?? 'unjudged'),
  incident: ({ last_incident }) => (last_incident === null ? 0 : -Date.parse(last_incident.at)),
};

function comparing({ sort, order }: FleetQuery): (one: FleetLine, other: FleetLine) => number {
  const key = KEYS[sort];
  const sign = order === 'reversed' ? -1 : 1;
  return (one, other) => sign * compared(key(one), key(other)) || compared(one.merchant_id, other.merchant_id);
}

function compared(one: number | string, other: number | string): number {
  return one < other ? -1 : Number(one > other);
}
