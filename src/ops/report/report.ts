/** A report as data: what happened in a period, for one merchant or the fleet; its forms are JSON, CSV and HTML. */
import { z } from 'zod';
import { languages } from '../../locales/words.ts';
import { outcomes, shadowVerdicts } from '../../proxy/evidence/exchange.ts';
import { lossWeights, verdicts } from '../../proxy/records/evidence.ts';
import { stages } from '../../proxy/routing/merchant.ts';
import { mismatchKinds } from '../../proxy/sales/orphans.ts';
import { auditLine, chainView } from '../audit.ts';
import { currency, instant, lane, merchantId, said, time } from '../fields.ts';
import { receiverSums } from '../notices.ts';
import { decommissionView } from '../readiness/decommission.ts';
import { difference } from '../readiness/differences.ts';
import { findingView, readinessView } from '../readiness/facts.ts';
import { acceptedView } from '../reconcile/mismatches.ts';
import { refundFields } from '../refunded.ts';
import type { SaleState } from '../sale-state.ts';

/** The version of the JSON; a reader refuses any other. */
export const REPORT_SCHEMA = 'puente-report/1';

const count = z.int().min(0);
const lanes = { legacy: count, orders: count };
const day = z.iso.date().describe('a UTC day');
const byVerdict = { ready: count, inconclusive: count, blocked: count };

const decisionLine = z.object({
  ...auditLine.omit({ detail: true, hash: true, said: true }).shape,
  before: z.unknown().describe('what it was; null where the line changed nothing'),
  after: z.unknown(),
  evidence: z
    .record(z.string(), z.unknown())
    .describe('the other facts of the line: what it rests on, who proposed it'),
  said: auditLine.shape.said,
});

/** The states of sales, and `refunded`: a refund that was made. */
export const outcomesOfMoney = [
  'paid',
  'refunded',
  'canceled',
  'declined',
  'expired',
  'refused',
  'lost',
  'in_doubt',
  'open',
  'not_known',
] as const satisfies readonly (SaleState | 'refunded')[];

const summedBy = {
  what: z.enum(['sale', 'refund']),
  lane,
  family: z
    .enum(['point', 'qr', 'payments'])
    .describe(
      'payments: a refund of a payment that was requested from legacy; without a currency where only its call is known',
    ),
  currency: z.string().nullable().describe("of the merchant's site; null where the merchant of a call is not counted"),
  outcome: z
    .enum(outcomesOfMoney)
    .describe(
      'not_known: Puente has seen no end of it; open: also a refund that upstream accepted and still processes',
    ),
};
const sum = {
  ...summedBy,
  count,
  without_amount: count.describe('of these, those whose amount Puente does not know'),
  amount_minor: z.string().nullable().describe("exact, in the currency's smallest unit; null where no amount is known"),
  amount: z.string().nullable().describe('the same in decimal'),
};

/** A sale or a refund, as one line of CSV; every sum is made of such lines. */
export const moneyLine = z.object({
  at: time.describe('when it was created'),
  merchant_id: z.string(),
  ...summedBy,
  unit: z.string().nullable(),
  id: z.string().describe('the legacy id of a sale; the id of a refund'),
  order_id: z
    .string()
    .nullable()
    .describe("upstream's id of the order, or of the refund; of a refund on legacy its payment"),
  approvals: z.int().nullable().describe('approved payments of the order; null where no order shows payments'),
  amount_minor: z
    .string()
    .nullable()
    .describe(
      'as the till requested it, of a refund as upstream or legacy answered it; null where Puente does not know it',
    ),
  amount: z.string().nullable(),
  ...refundFields,
});
export type MoneyLine = z.infer<typeof moneyLine>;

/** Null until a person has accepted it. */
const acceptance = {
  acknowledged_by: z.string().nullable(),
  acknowledged_at: time.nullable(),
  acknowledged_why: z.string().nullable(),
};

/** The tables of a report, with fields in column order; the check of the audit chain is a table of one row. */
const parts = {
  sums: z.array(z.object(sum)).describe('sales and refunds by the time of their creation'),
  move_sums: z
    .array(
      z.object({
        merchant_id: z.string(),
        since: time,
        until: time,
        line: z.int().nullable().describe('of the audit: the move that it begins with; null: the period begins'),
        before: z.unknown(),
        after: z.unknown(),
        ...sum,
      }),
    )
    .describe('the same between two moves of a merchant, for merchants with a move in the period'),
  unmatched: z
    .array(
      z.object({
        known_to: z.enum(['puente', 'upstream', 'both']).describe('both: they differ'),
        state: z
          .enum(['open', 'acknowledged', 'repaired'])
          .describe(
            'open: nothing has shown since that both agree; acknowledged: accepted, a person has said since that nothing can repair it',
          ),
        kind: z.enum([...mismatchKinds, 'lost', 'in_doubt']),
        found_at: time,
        merchant_id: z.string(),
        unit: z.string().nullable(),
        id: z.string().describe('the legacy id of the sale, or else the order'),
        order_id: z.string().nullable(),
        currency: z.string(),
        amount_minor: z.string().nullable().describe('as the till requested it; null where its sale is not stored'),
        amount: z.string().nullable(),
        what: z.string().describe('both sides in one sentence'),
        said: said.nullable(),
        ...acceptance,
      }),
    )
    .describe(
      'sales that Puente knows and upstream does not, orders that upstream knows and Puente does not, differences',
    ),
  approvals: z
    .array(moneyLine.extend({ state: z.enum(['open', 'acknowledged']), ...acceptance }))
    .describe(
      'paid sales without exactly one approved payment, open ones with several, and other unpaid ones with any',
    ),
  traffic: z.array(
    z.object({ operation: z.string(), lane, calls: z.int(), outcomes: z.record(z.enum(outcomes), z.int()) }),
  ),
  /** Upper bounds of the histogram's class: at most 12.5 % above the true value. */
  latency: z.array(
    z.object({
      operation: z.string().describe('`all`, or one operation'),
      lane,
      calls: z.int(),
      p50_ms: z.number(),
      p95_ms: z.number(),
      p99_ms: z.number(),
      max_ms: z.number(),
    }),
  ),
  /** Whole ms, rounded up, both bounds included; each class is twice as wide as the one before it. */
  waits: z.array(z.object({ from_ms: count, up_to_ms: count, ...lanes })).describe('calls by what they took'),
  errors: z.array(
    z.object({
      operation: z.string(),
      lane,
      status: z.int(),
      error: z.string().describe('as answered to the till'),
      calls: z.int(),
      sample: z.string(),
    }),
  ),
  days: z.array(z.object({ day, ...lanes, faults: count.describe('of the calls on orders') })),
  losses: z.array(
    z.object({
      weight: z.enum(lossWeights),
      operation: z.string(),
      table: z.string(),
      path: z.string(),
      count: count.describe('on real orders'),
      would_be_count: count.describe('on paper'),
      why: z.string(),
      advice: z.string().describe("the sentence for the till's maker"),
    }),
  ),
  differences: z.array(
    difference
      .omit({ accepted_until: true, note: true, who: true, sample: true, tables_revision: true, revision: true })
      .extend({ count: count.describe('in the period') }),
  ),
  shadow: z.array(
    z.object({
      operation: z.string(),
      verdict: z.enum(shadowVerdicts),
      code: z.string().nullable(),
      error: z.string().nullable(),
      count,
    }),
  ),
  /** `stuck` is a part of `pending`: tried in vain, or waiting for longer than the first retry takes. */
  notices: z.array(
    z.object({
      topic: z.string(),
      made: count.describe('without those that a newer one of the same topic and id replaced (`superseded`)'),
      delivered: count,
      retried: count.describe('needed more than one attempt'),
      pending: count,
      stuck: count,
      dead: count,
    }),
  ),
  receivers: z
    .array(
      z.object({
        merchant_id: z.string(),
        receiver: z.string().nullable().describe('without path and query; null: held back by Puente'),
        ...receiverSums,
      }),
    )
    .describe('attempts at the notices made in the period, the worst receiver first'),
  notice_days: z
    .array(z.object({ day, made: count, delivered: count, pending: count, stuck: count, dead: count }))
    .describe(
      'by the day on which they were made, in their present state, without superseded ones; stuck is a part of pending',
    ),
  incidents: z.array(decisionLine),
  decisions: z.array(decisionLine),
  assumptions: z.array(
    z.object({
      name: z.string().describe("a setting's dotted name"),
      value: z.string(),
      sentence: z.string(),
      is_default: z.boolean().describe('as `config/default.yaml` has it'),
    }),
  ),
  limitations: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      effect: z.string(),
      workaround: z.string(),
      hits: z.int().nullable().describe('calls that met it, or notices where it is about those; null: not countable'),
      calls: z.int().describe('of its operations on orders, each of which could have met it'),
      unseen: z.string().nullable().describe("why it can't be counted"),
    }),
  ),
  merchants: z.array(
    z.object({
      merchant_id: z.string(),
      name: z.string().nullable(),
      site: z.string().nullable(),
      stage: z.enum(stages),
      share: z.number(),
      stopped: z.boolean(),
      verdict: z.enum(verdicts).describe('at the time the report was made'),
      blockers: count,
      calls: count.describe('in the period, as the next two'),
      faults: count,
      losses: count.describe('fields that did not reach an order, or would not have'),
      open_differences: count.describe('at the time the report was made'),
    }),
  ),
  readiness_days: z.array(z.object({ day, ...byVerdict })).describe('merchants by their verdict'),
  findings: z.array(z.object({ merchant_id: z.string(), ...findingView.shape })),
  audit: chainView.omit({ expected: true }),
};

export type ReportPart = keyof typeof parts;
export const reportParts = Object.keys(parts) as ReportPart[]; // the keys of the line above

const { units, ...ofMerchant } = decommissionView.omit({ why_said: true }).shape;
const { why_said: _said, ...ofUnit } = units.element.shape;
/** What still needs legacy, of merchants whose work is all on orders: in JSON the `completion` of each. */
const completionParts = {
  completion: z.object(ofMerchant),
  units: z.object({ merchant_id: ofMerchant.merchant_id, name: ofMerchant.name, ...ofUnit }),
};

export type CsvPart = ReportPart | keyof typeof completionParts;
export const csvParts = [...reportParts, ...(Object.keys(completionParts) as CsvPart[])]; // the keys of both

/** Columns of the part's table, in their order. */
export function fieldsOf(part: CsvPart): readonly string[] {
  const form =
    part === 'completion' || part === 'units'
      ? completionParts[part]
      : part === 'audit'
        ? parts.audit
        : parts[part].element;
  return Object.keys(form.shape);
}

const cutLists = ['differences', 'incidents', 'decisions', 'findings', 'move_sums', 'approvals', 'unmatched'] as const;
export type CutList = (typeof cutLists)[number];

const auditHead = z.object({ sequence: z.int(), hash: z.string() });
const lost_between = z
  .object({ since: time, until: time })
  .nullable()
  .describe(
    'what was stored then was lost, by a restored backup or a lost log: the newest such loss alone, earlier ones are incidents of the fleet; null: it took nothing of the period',
  );
const deleted_before = time
  .nullable()
  .describe(
    'calls or sales of the period before it may have been deleted by age; null: the period is whole, for the fleet by the retention in force (what a shorter one deleted earlier is not known)',
  );

export const report = z.object({
  schema: z.literal(REPORT_SCHEMA),
  made_at: time,
  merchant_id: z.string().nullable().describe('null: the fleet'),
  period: z.object({ since: time, until: time }).describe('[since, until)'),
  deleted_before,
  lost_between,
  tables_revision: z.string().describe('of the tables in force'),
  tables: z.array(z.object({ revision: z.string(), calls: z.int() })).describe('that made the exchanges'),
  exchanges: z.object({
    count,
    first_sequence: z.int(),
    last_sequence: z.int(),
    shed: z.object({ shadow: count, evidence: count }),
    uncounted: count.describe('calls on orders recorded before limitations were counted, or that could not be judged'),
  }),
  ...parts,
  readiness: readinessView.nullable().describe("of a merchant's report"),
  completion: decommissionView
    .nullable()
    .describe('of the report of a merchant whose work is all on orders: what still needs legacy'),
  certificate: z
    .object({
      merchant_id: z.string(),
      issued_at: time,
      period: z.object({ since: time, until: time }).describe('of the report'),
      began_on: z.iso.date().nullable().describe('the UTC day of the first known call or move of the merchant'),
      deleted_before,
      last_legacy_day: z.iso.date().nullable(),
      quiet_days: z.int().nullable(),
      units: count.describe('terminals and points of sale, none of which needs legacy'),
      units_new: count.describe('of these, first seen too lately to be quiet for as long; they never called legacy'),
      acknowledged: z
        .array(acceptedView)
        .describe('sales that do not agree with upstream, which a person has accepted'),
      audit_head: auditHead,
      sign_off: z
        .array(
          z.object({ as: z.enum(['operator', 'auditor']), name: z.string(), signature: z.string(), day: z.string() }),
        )
        .describe('empty, for people to fill in'),
    })
    .nullable()
    .describe(
      'that legacy may be switched off; null while it may not, an unmatched sale is open, the audit chain is broken, or the period is not the whole migration',
    ),
  certificate_since: time
    .nullable()
    .describe(
      'where only its period stands in the way of a certificate: from when to now it has to be, which it is without `since` and `until`',
    ),
  verdicts: z.object(byVerdict).describe('how many of the merchants have which verdict'),
  left_out: z.record(z.enum(cutLists), count).describe('lines that are not in the lists because there are too many'),
  audit_head: auditHead.describe(
    'when it was made: `puente audit verify --expect` proves that nothing was cut off since',
  ),
});
export type Report = z.infer<typeof report>;
export type Line<Part extends Exclude<ReportPart, 'audit'>> = Report[Part][number];

/** Opens one sum: the sales with its lane, outcome and so on. */
const saleQuery = z.strictObject({
  what: summedBy.what.exactOptional().describe('with part sales: sales or refunds alone'),
  lane: lane.exactOptional().describe('with part sales: of this lane'),
  family: summedBy.family.exactOptional().describe('with part sales: of this family'),
  currency: currency.exactOptional().describe('with part sales: in this currency'),
  outcome: summedBy.outcome.exactOptional().describe('with part sales: with this outcome'),
});
export type SaleQuery = z.infer<typeof saleQuery>;

/** The query of `GET /api/report`. `part` (one list, or every exchange) is for CSV, `language` for HTML. */
export const reportQuery = z.strictObject({
  merchant: merchantId.exactOptional().describe('one merchant; all of them without'),
  since: instant
    .exactOptional()
    .describe('from (default: seven days before the end; of a merchant on orders its first known call or move)'),
  until: instant.exactOptional().describe('to, not included (default: now)'),
  format: z.enum(['json', 'csv', 'html']).default('json').describe('form of the file'),
  part: z
    .enum(['exchanges', 'sales', ...csvParts])
    .exactOptional()
    .describe('with csv: which list; by default `sums`: sales and refunds by lane, family, currency and outcome'),
  ...saleQuery.shape,
  language: z.enum(languages).default('en').describe('with html: in which language people read it'),
});
export type ReportQuery = z.infer<typeof reportQuery>;
