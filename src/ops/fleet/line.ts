/** One line of the fleet board per merchant, and pages of such lines: pure. */
import { z } from 'zod';
import { type CallSeen, verdicts } from '../../proxy/records/evidence.ts';
import type { OpenCount } from '../../proxy/records/routing.ts';
import { type Merchant, routedKinds, type Stage, stages } from '../../proxy/routing/merchant.ts';
import { type RoutingRules, stageInForce } from '../../proxy/routing/stage.ts';
import { whyOf } from '../audit.ts';
import { HOUR_MS, iso, lane, MINUTE_MS, rounded, said, time } from '../fields.ts';
import { isSought, labelOf } from '../merchants.ts';
import { classOf, shareOf } from '../report/tally.ts';

const lanePulse = z.object({
  calls: z.int(),
  per_minute: z.number(),
  faults: z.int().describe('5xx, timeouts, outcomes in doubt: caused by Puente or upstream, never by a shop or a card'),
  fault_share: z.number().describe('percent of the calls'),
  p50_ms: z.number().describe('as the next, the upper bound of a class (12.5 %)'),
  p99_ms: z.number(),
  trend: z.array(z.int()).describe('calls in each three minutes, oldest first'),
});
export type LanePulse = z.infer<typeof lanePulse>;
const lanePulses = z.object({ legacy: lanePulse.nullable(), orders: lanePulse.nullable() });

/** A readiness verdict in short, with the first blocker, or else the first unproven finding. */
const judged = z.object({
  verdict: z.enum(verdicts),
  blockers: z.int(),
  first: z.string().nullable(),
  first_said: said.nullable(),
  at: time,
});
export type Judged = z.infer<typeof judged>;

/** `what` is the audit line's action, as `safety stop`. */
const incident = z.object({ at: time, what: z.string(), why: z.string(), said: said.nullable() });
export type Incident = z.infer<typeof incident>;

/** What a merchant needs attention for: first what harms tills, last what waits for people. */
const attentions = ['safety_stop', 'faults', 'in_doubt', 'blocked', 'waiting_move'] as const;

const fleetLineView = z.object({
  merchant_id: z.string(),
  name: z.string().nullable(),
  tags: z.array(z.string()),
  site: z.string().nullable(),
  revision: z.int(),
  stage: z.enum(stages).describe("the merchant's own, in force"),
  intended: z.enum(stages).describe('as the operator set it'),
  share: z.number().describe('percent of the units, on canary'),
  apart: z
    .array(z.object({ kind: z.enum(routedKinds), stage: z.enum(stages), share: z.number() }))
    .describe("kinds of work whose stage in force is not the merchant's"),
  stopped: z.array(z.enum(routedKinds)).describe('kinds that a safety stop holds'),
  health: lanePulses.describe('of the last hour'),
  open: z
    .object({ orders: z.int(), legacy: z.int(), in_doubt: z.int(), notices_pending: z.int() })
    .describe('sales by lane of birth, creates in doubt, and notices that wait'),
  draining: z.object({ lane, open: z.int() }).nullable().describe('open sales on the lane that new work has left'),
  readiness: judged.nullable().describe('null while it was not judged yet'),
  last_incident: incident.nullable().describe('of the last thirty days'),
  waiting_moves: z.int().describe('moves that wait for a second person'),
  attention: z
    .array(z.enum(attentions))
    .describe('why it needs attention, what harms tills first; empty: it needs none'),
});
export type FleetLine = z.infer<typeof fleetLineView>;

export const fleetView = z.object({
  at: time,
  totals: z.object({
    merchants: z.int(),
    stages: z.record(z.enum(stages), z.int()),
    readiness: z.record(z.enum([...verdicts, 'unjudged']), z.int()),
    stopped: z.int(),
    attention: z.int(),
  }),
  found: z.int(),
  page: z.int(),
  pages: z.int(),
  merchants: z.array(fleetLineView),
});
export type FleetView = z.infer<typeof fleetView>;

export type Beside = Pick<FleetLine, 'health' | 'readiness' | 'last_incident' | 'waiting_moves'> & {
  open: OpenCount | undefined;
};

/**
 * Calculates only; reads nothing. Stages are those in force: a safety stop shows where work goes now, `intended` where
 * it was meant to go.
 */
export function fleetLine(rules: RoutingRules, merchant: Merchant, beside: Beside): FleetLine {
  const own = stageInForce(rules, merchant, null);
  const kinds = routedKinds.map((kind) => ({ kind, ...stageInForce(rules, merchant, kind) }));
  const stopped = kinds.filter(({ trip }) => trip !== null);
  const { orders = 0, legacy = 0, in_doubt = 0, notices_pending = 0 } = beside.open ?? {};
  const line = {
    merchant_id: merchant.id,
    ...labelOf(merchant.settings),
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
  return { ...line, attention: attentionOf(line) };
}

function attentionOf(line: Omit<FleetLine, 'attention'>): FleetLine['attention'] {
  const { stopped, health, open, readiness, stage, waiting_moves } = line;
  const needs: Record<FleetLine['attention'][number], boolean> = {
    safety_stop: stopped.length > 0,
    faults: (health.orders?.faults ?? 0) > 0,
    in_doubt: open.in_doubt > 0,
    blocked: readiness?.verdict === 'blocked' && stage !== 'legacy',
    waiting_move: waiting_moves > 0,
  };
  return attentions.filter((one) => needs[one]);
}

type Placed = Pick<ReturnType<typeof stageInForce>, 'stage' | 'share' | 'trip'>;

function differs(one: Placed, own: Placed): boolean {
  return one.stage !== own.stage || (one.stage === 'canary' && one.share !== own.share);
}

/** A lane drains when new work of every kind has left it; a canary leaves neither lane. */
function drainOf(stages: readonly Stage[], open: { orders: number; legacy: number }): FleetLine['draining'] {
  const is_off_orders = stages.every((stage) => stage === 'legacy' || stage === 'shadow');
  if (is_off_orders && open.orders > 0) return { lane: 'orders', open: open.orders };
  const is_off_legacy = stages.every((stage) => stage === 'orders');
  return is_off_legacy && open.legacy > 0 ? { lane: 'legacy', open: open.legacy } : null;
}

/** The newest safety stop in force counts as an incident, even if it is older than the incidents that are read. */
function newestStop(stopped: readonly Placed[]): Incident | null {
  const trips = stopped.flatMap(({ trip }) => trip ?? []);
  const [newest] = trips.toSorted((one, other) => other.at - one.at);
  return newest === undefined ? null : { at: iso(newest.at), what: 'safety stop', ...whyOf(newest.why) };
}

// Health of each merchant's lanes: calls of the last hour in slices, so that a busy merchant takes no more memory than
// a quiet one: pure.

/** The period of the board; reports cover older calls. */
export const PULSE_MS = HOUR_MS;
/** Points of a trend line: as many as the eye tells apart in a table's cell. */
const SLICES = 20;
const SLICE_MS = PULSE_MS / SLICES;

interface Slice {
  /** Number of the slice since 1970. */
  nth: number;
  calls: number;
  faults: number;
  /** Calls by class of duration. */
  waits: Map<number, number>;
}

type Lane = CallSeen['lane'];

export type Pulses = ReturnType<typeof createPulses>;

/**
 * Recent calls, faults and waits by merchant and lane, of the last `SLICES` slices. `of` returns null for a lane
 * without a call in them.
 */
export function createPulses() {
  const kept = new Map<string, Slice[]>();
  const laneOf = (merchant_id: string, lane: Lane, now: number): LanePulse | null =>
    pulseOf(kept.get(`${lane} ${merchant_id}`) ?? [], now);
  return {
    add({ merchant_id, lane, at, outcome, duration_ms }: CallSeen): void {
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
    of: (merchant_id: string, now: number): z.infer<typeof lanePulses> => ({
      legacy: laneOf(merchant_id, 'legacy', now),
      orders: laneOf(merchant_id, 'orders', now),
    }),
    forget: (): void => kept.clear(),
    trim(now: number): void {
      for (const [key, slices] of kept) {
        const fresh = slices.filter(({ nth }) => nth > lastSlice(now) - SLICES);
        if (fresh.length === 0) kept.delete(key);
        else if (fresh.length < slices.length) kept.set(key, fresh);
      }
    },
  };
}

function pulseOf(slices: readonly Slice[], now: number): LanePulse | null {
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
  const ascending = [...waits].toSorted(([one], [other]) => one - other);
  return {
    calls,
    per_minute: rounded(calls / minutes, 2),
    faults,
    fault_share: rounded((faults / calls) * 100, 2),
    p50_ms: shareOf(ascending, calls, 0.5),
    p99_ms: shareOf(ascending, calls, 0.99),
    trend,
  };
}

function lastSlice(now: number): number {
  return Math.floor(now / SLICE_MS);
}

/** Lines on a page for people; scripts request more. */
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
export const fleetVerdicts = [...verdicts, 'unjudged'] as const;

export const fleetQuery = z.strictObject({
  search: z.string().max(64).default('').describe('only those with this in id, name or tags'),
  tag: z.string().max(40).exactOptional().describe('only those with this tag'),
  stage: z.enum(stages).exactOptional().describe('only those on this stage'),
  readiness: z.enum(fleetVerdicts).exactOptional().describe('only those with this verdict'),
  attention: z
    .enum(['true', 'false'])
    .default('false')
    .describe('only those with a safety stop, faults, creates in doubt, blockers after shadow, or a move that waits'),
  sort: z.enum(fleetSorts).default('attention').describe('in this order'),
  order: z.enum(['usual', 'reversed']).default('usual').describe('reverse the order'),
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

/** The requested page; a page after the last is the last. */
export function selectLines(lines: readonly FleetLine[], query: FleetQuery) {
  const wanted = lines.filter((line) => passes(line, query)).toSorted(comparing(query));
  const pages = Math.max(1, Math.ceil(wanted.length / query.per_page));
  const page = Math.min(query.page, pages);
  const merchants = wanted.slice((page - 1) * query.per_page, page * query.per_page);
  return { found: wanted.length, page, pages, merchants };
}

/** A merchant counts for its own stage, not for those of single kinds. */
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
    if (line.attention.length > 0) totals.attention++;
  }
  return totals;
}

function passes(line: FleetLine, query: FleetQuery): boolean {
  const { stage, readiness, attention } = query;
  if (!isSought(line.merchant_id, line, query)) return false;
  if (stage !== undefined && line.stage !== stage) return false;
  if (readiness !== undefined && (line.readiness?.verdict ?? 'unjudged') !== readiness) return false;
  return attention === 'false' || line.attention.length > 0;
}

/** Sort keys: the largest numbers come first, by a negative key; ids and stages ascend. */
const KEYS: Readonly<Record<FleetSort, (line: FleetLine) => number | string>> = {
  attention: ({ attention: [first] }) => (first === undefined ? attentions.length : attentions.indexOf(first)),
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
