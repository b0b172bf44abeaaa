/** A report as data: what the store says happened in a period, for one merchant or the fleet; JSON, CSV and HTML are its forms. */

import { z } from 'zod';
import type { Said } from '../../error.ts';
import { languages } from '../../locales/words.ts';
import type { Exchange, Outcome } from '../../proxy/evidence/exchange.ts';
import type { DifferenceState, LossSeen, Verdict } from '../../proxy/records/evidence.ts';
import type { Stage } from '../../proxy/routing/merchant.ts';
import { instant, merchantId } from '../fields.ts';
import type { Ports } from '../ports.ts';
import type { Finding } from '../readiness/facts.ts';
import type { ReadinessView } from '../readiness/readiness.ts';

/** The form of the JSON; a reader refuses one that it does not know. */
export const REPORT_SCHEMA = 'puente-report/1';

type Lane = Exchange['lane'];

export interface TrafficLine {
  operation: string;
  lane: Lane;
  calls: number;
  outcomes: Record<Outcome, number>;
}

export interface LatencyLine {
  /** `all`, or one operation. */
  operation: string;
  lane: Lane;
  calls: number;
  /** Upper bounds of the histogram's class in which the share falls: at most 12 % above the true value. */
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  max_ms: number;
}

/** Calls of all operations that took so long, by lane. */
export interface WaitLine {
  /** Whole ms, rounded up, both ends among them; each class is twice as wide as the one before it. */
  from_ms: number;
  up_to_ms: number;
  legacy: number;
  orders: number;
}

export interface ErrorLine {
  operation: string;
  lane: Lane;
  status: number;
  /** Legacy error that the till was told. */
  error: string;
  calls: number;
  sample: string;
}

export interface DayLine {
  /** UTC day, ISO 8601. */
  day: string;
  legacy: number;
  orders: number;
  /** Of the calls on orders. */
  faults: number;
}

export interface LossLine extends Omit<LossSeen, 'would_be' | 'unknown'> {
  /** The sentence for the till's maker. */
  advice: string;
  /** On real orders, and on paper. */
  count: number;
  would_be_count: number;
}

export interface DifferenceLine {
  merchant_id: string;
  signature: string;
  operation: string;
  what: string;
  path: string;
  legacy: string;
  orders: string;
  state: DifferenceState;
  /** In the period. */
  count: number;
  first_at: string;
  last_at: string;
}

export interface ShadowLine {
  operation: string;
  verdict: 'accepted' | 'refused_here' | 'refused_there';
  code: string | null;
  error: string | null;
  count: number;
}

export interface NoticeLine {
  topic: string;
  made: number;
  delivered: number;
  /** Needed more than one attempt. */
  retried: number;
  pending: number;
  /** Of the pending: tried in vain, or waiting for longer than the first retry takes. */
  stuck: number;
  dead: number;
}

/** Notices that were made on a UTC day, as they stand now. */
export type NoticeDay = { day: string } & Pick<NoticeLine, 'made' | 'delivered' | 'pending' | 'stuck' | 'dead'>;
/** Merchants by their verdict on a UTC day. */
export type VerdictCounts = { day: string } & Record<Verdict, number>;

/** A line of the audit chain, as decision or incident. */
export interface DecisionLine {
  sequence: number;
  at: string;
  who: string;
  action: string;
  subject: string;
  reason: string;
  /** What Puente gave as its reason, by its code; null for a person's words. */
  said: Said | null;
  /** What it was and what it became; null where the line changed nothing. */
  before: unknown;
  after: unknown;
  /** The other facts of the line: the evidence it rests on, what was touched, who proposed it. */
  evidence: Record<string, unknown>;
}

/** What stands in a merchant's way. */
export interface FleetFinding extends Finding {
  merchant_id: string;
}

export interface MerchantLine {
  merchant_id: string;
  site: string | null;
  stage: Stage;
  share: number;
  stopped: boolean;
  /** At the time the report was made. */
  verdict: Verdict;
  blockers: number;
  /** In the period, as the next two. */
  calls: number;
  faults: number;
  /** Fields that did not reach an order, or would not have. */
  losses: number;
  /** At the time the report was made. */
  open_differences: number;
}

export interface Assumption {
  /** A setting's dotted name. */
  name: string;
  value: string;
  sentence: string;
}

export interface LimitationLine {
  id: string;
  title: string;
  effect: string;
  workaround: string;
  /** Calls in the period that met it, or notices where it is about those; null where it can't be counted. */
  hits: number | null;
  /** Calls of its operations on orders, each of which could have met it. */
  calls: number;
  /** Why it can't be counted; null where it is. */
  unseen: string | null;
}

/** What decisions and incidents rest on. */
export interface AuditProof {
  intact: boolean;
  /** Lines that hold, counted from the first. */
  lines: number;
  /** The last line that holds; null for an empty chain. */
  head: { sequence: number; hash: string } | null;
  /** The first line that does not follow from the one before it; null for an intact chain. */
  broken: { sequence: number; reason: string; said: Said } | null;
}

/** Lists that can be too long for one report. */
export type CutList = 'differences' | 'incidents' | 'decisions' | 'findings';

export interface Report {
  schema: typeof REPORT_SCHEMA;
  made_at: string;
  /** Null: all merchants. */
  merchant_id: string | null;
  /** [since, until), ISO 8601. */
  period: { since: string; until: string };
  /** Revisions of the tables that made the exchanges, with their calls; the one in force is `tables_revision`. */
  tables_revision: string;
  tables: { revision: string; calls: number }[];
  /** Exchanges that the sums below were made of, and what is known not to be among them. */
  exchanges: {
    count: number;
    first_sequence: number;
    last_sequence: number;
    shed: { shadow: number; evidence: number };
    /** Calls on orders that were recorded before limitations were counted, or could not be judged. */
    uncounted: number;
  };
  traffic: TrafficLine[];
  latency: LatencyLine[];
  waits: WaitLine[];
  errors: ErrorLine[];
  days: DayLine[];
  losses: LossLine[];
  differences: DifferenceLine[];
  shadow: ShadowLine[];
  notices: NoticeLine[];
  /** By the UTC day on which they were made. */
  notice_days: NoticeDay[];
  incidents: DecisionLine[];
  decisions: DecisionLine[];
  assumptions: Assumption[];
  limitations: LimitationLine[];
  /** Of a merchant's report. */
  readiness: ReadinessView | null;
  /** All of a fleet; of a merchant's report its own line. */
  merchants: MerchantLine[];
  /** How many of the merchants have which verdict. */
  verdicts: Record<Verdict, number>;
  /** The same by UTC day, of days with a verdict. */
  readiness_days: VerdictCounts[];
  /** What stands in the way of any of them. */
  findings: FleetFinding[];
  /** Lines that are not in the lists above because there are too many; the newest or most frequent ones are. */
  left_out: Record<CutList, number>;
  /** The audit chain's head when it was made: `puente audit verify --expect` proves that nothing was cut off since. */
  audit_head: { sequence: number; hash: string };
  /** The whole chain, checked while the report was made (`docs/protocol.md` P16). */
  audit: AuditProof;
}

// What may be asked of reports, and the defaults: the last seven days, as JSON.

const DEFAULT_PERIOD_MS = 7 * 86_400_000;

/** The lists of a report that are tables, and what was found of the audit chain as a table of one row. */
export const reportParts = [
  'traffic',
  'latency',
  'waits',
  'errors',
  'days',
  'losses',
  'differences',
  'shadow',
  'notices',
  'notice_days',
  'incidents',
  'decisions',
  'assumptions',
  'limitations',
  'merchants',
  'readiness_days',
  'findings',
  'audit',
] as const satisfies readonly (keyof Report)[];

export type ReportPart = (typeof reportParts)[number];

/** The query of `GET /api/report`. `part` is for CSV: one list of the report, or every exchange as it was kept; `language` for HTML, what programs read has one. */
export const reportQuery = z.strictObject({
  merchant: merchantId.exactOptional().describe('one merchant; all of them without'),
  since: instant.exactOptional().describe('from (default: seven days before the end)'),
  until: instant.exactOptional().describe('to, not included (default: now)'),
  format: z.enum(['json', 'csv', 'html']).default('json').describe('form of the file'),
  part: z
    .enum(['exchanges', ...reportParts])
    .default('traffic')
    .describe('with csv: which list'),
  language: z.enum(languages).default('en').describe('with html: in which language people read it'),
});
export type ReportQuery = z.infer<typeof reportQuery>;

export function askOf(
  ports: Ports,
  { merchant, since, until }: Pick<ReportQuery, 'merchant' | 'since' | 'until'>,
): ReportAsk {
  const end = until ?? ports.clock.now() + 1;
  return { merchant_id: merchant ?? null, since: since ?? end - DEFAULT_PERIOD_MS, until: end };
}

export interface ReportAsk {
  /** Null: the fleet. */
  merchant_id: string | null;
  /** Epoch ms, [since, until). */
  since: number;
  until: number;
}
