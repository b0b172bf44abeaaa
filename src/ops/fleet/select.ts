/** Which merchants of the fleet are asked for, in which order: pure. */
import { z } from 'zod';
import { type Verdict, verdicts } from '../../proxy/records/evidence.ts';
import { type Stage, stages } from '../../proxy/routing/merchant.ts';
import type { FleetLine } from './line.ts';

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

export interface FleetTotals {
  merchants: number;
  stages: Record<Stage, number>;
  readiness: Record<Verdict | 'unjudged', number>;
  stopped: number;
  attention: number;
}

export interface Selection {
  /** Merchants that pass the filters. */
  found: number;
  page: number;
  pages: number;
  merchants: FleetLine[];
}

/** The page that is asked for; one behind the last is the last. */
export function selectLines(lines: readonly FleetLine[], query: FleetQuery): Selection {
  const wanted = lines.filter((line) => passes(line, query)).toSorted(comparing(query));
  const pages = Math.max(1, Math.ceil(wanted.length / query.per_page));
  const page = Math.min(query.page, pages);
  const merchants = wanted.slice((page - 1) * query.per_page, page * query.per_page);
  return { found: wanted.length, page, pages, merchants };
}

export function totalsOf(lines: readonly FleetLine[]): FleetTotals {
  const totals: FleetTotals = {
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
