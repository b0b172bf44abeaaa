/** What changed between two reports, with the tables and decisions in between. */
import { z } from 'zod';
import { PuenteError, type Said, type Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { instant, merchantId, said } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { decisionLines, lastBefore } from './decisions.ts';
import { gatherReport, type ReportFacts } from './gather.ts';
import { askOf } from './period.ts';
import { REPORT_SCHEMA, type Report, report } from './report.ts';

const value = z.union([z.number(), z.string()]).nullable();
const comparedParts = [
  'sums',
  'traffic',
  'errors',
  'losses',
  'differences',
  'shadow',
  'notices',
  'receivers',
  'limitations',
  'merchants',
] as const;
type ComparedPart = (typeof comparedParts)[number];

const lines = z.array(z.looseObject({}));
/** The parts that are compared; a file edited by hand may break them. */
const readable = z.looseObject({
  ...report.pick({ schema: true, made_at: true, merchant_id: true, period: true, tables_revision: true }).shape,
  audit_head: z.looseObject({ sequence: z.number() }),
  readiness: z.looseObject({ verdict: z.string() }).nullable(),
  ...Object.fromEntries([...comparedParts, 'decisions', 'incidents'].map((part) => [part, lines])),
  sums: lines.optional(),
  receivers: lines.optional(),
});

const change = z.object({ before: z.string().nullable(), after: z.string().nullable() });
const compared = report.pick({ made_at: true, period: true, deleted_before: true, lost_between: true });

export const comparisonView = z.object({
  a: compared,
  b: compared,
  verdict: change,
  tables_revision: change,
  changes: z.array(
    z.object({
      part: z.enum(comparedParts),
      line: z.string().describe('what the line is about, as `point.create_intent orders`'),
      before: value.describe('null where the report has no such line'),
      after: value,
      before_said: said.nullable().describe('the text by its code'),
      after_said: said.nullable(),
    }),
  ),
  ...report.pick({ decisions: true, incidents: true }).shape,
  left_out: z.int().min(0).describe('older decisions and incidents that are not in the lists, which have the newest'),
});
export type ReportDiff = z.infer<typeof comparisonView>;

/** @throws PuenteError bad_request when the text is no report of this schema. */
export function readReport(text: string, name: string): Report {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PuenteError('bad_request', `${name} is no JSON: make it anew with puente report --format json.`, {
      cause: error,
    });
  }
  if (!readable.safeParse(value).success)
    throw new PuenteError(
      'bad_request',
      `${name} is no report of the form ${REPORT_SCHEMA}: make it anew with puente report --format json.`,
    );
  return value as Report; // written by this build's own form, whose name was just checked
}

/** @throws PuenteError bad_request when the two are not about the same merchant. */
export function diffReports(a: Report, b: Report): ReportDiff {
  if (a.merchant_id !== b.merchant_id)
    throw new PuenteError(
      'bad_request',
      `One report is about ${a.merchant_id ?? 'the fleet'}, the other about ${b.merchant_id ?? 'the fleet'}: compare two of the same.`,
    );
  const decisions = linesSince(a.audit_head.sequence, b, 'decisions');
  const incidents = linesSince(a.audit_head.sequence, b, 'incidents');
  return {
    a: comparedOf(a),
    b: comparedOf(b),
    verdict: { before: a.readiness?.verdict ?? null, after: b.readiness?.verdict ?? null },
    tables_revision: { before: a.tables_revision, after: b.tables_revision },
    changes: comparedParts
      .filter((part) => part !== 'limitations' || (countsHits(a) && countsHits(b)))
      // Reports of older builds have no sums and receivers: compared with them, every one would look new.
      .filter((part) => part in a && part in b)
      .flatMap((part) => changed(part, measures[part](a), measures[part](b))),
    decisions: decisions.lines,
    incidents: incidents.lines,
    left_out: decisions.left_out + incidents.left_out,
  };
}

/** What the later report lists since the earlier one. While it lists older lines too, none of those since is left out. */
function linesSince(sequence: number, { left_out, ...report }: Report, list: 'decisions' | 'incidents') {
  const lines = report[list].filter((line) => line.sequence > sequence);
  return { lines, left_out: lines.length < report[list].length ? 0 : (left_out?.[list] ?? 0) };
}

/** Reports of older builds say nothing of what was deleted or lost. */
function comparedOf({ made_at, period, deleted_before = null, lost_between = null }: Report): z.infer<typeof compared> {
  return { made_at, period, deleted_before, lost_between };
}

/** Reports of older builds have no hits of limitations: compared with them, every hit would look new. */
function countsHits({ limitations }: Report): boolean {
  return limitations.every((line) => 'hits' in line);
}

type Measure = (report: Report) => Map<string, number | Spoken>;

const measures: Record<ComparedPart, Measure> = {
  sums: ({ sums }) =>
    new Map(
      sums.map(({ what, lane, family, currency, outcome, count, without_amount, amount }) => [
        [what, lane, family, currency ?? '', outcome].join(' '),
        // An earlier version wrote 0 where no amount is known.
        say('compared.sum', { count, sum: count === without_amount ? null : amount }),
      ]),
    ),
  traffic: ({ traffic }) => new Map(traffic.map((line) => [`${line.operation} ${line.lane}`, line.calls])),
  errors: ({ errors }) =>
    new Map(errors.map((line) => [`${line.operation} ${line.lane} ${line.status} ${line.error}`, line.calls])),
  losses: ({ losses }) =>
    new Map(losses.map((line) => [`${line.operation} ${line.table} ${line.path}`, line.count + line.would_be_count])),
  differences: ({ differences }) =>
    new Map(
      differences.map((line) => [
        `${line.merchant_id} ${line.operation} ${line.signature}`,
        say('compared.difference', { state: line.state, count: line.count }),
      ]),
    ),
  shadow: ({ shadow }) =>
    new Map(
      shadow.map((line) => [
        [line.operation, line.verdict, line.code, line.error].filter((word) => word !== null).join(' '),
        line.count,
      ]),
    ),
  notices: ({ notices }) =>
    new Map(
      notices.flatMap(({ topic, ...counts }) =>
        Object.entries(counts).map(([name, count]) => [`${topic} ${name}`, count] as const),
      ),
    ),
  receivers: ({ receivers }) =>
    new Map(
      receivers.map(({ merchant_id, receiver, delivered, late, refused, held }) => [
        `${merchant_id} ${receiver ?? 'held'}`,
        say('compared.receiver', { delivered, late, refused, held }),
      ]),
    ),
  limitations: ({ limitations }) => new Map(limitations.flatMap(({ id, hits }) => (hits === null ? [] : [[id, hits]]))),
  merchants: ({ merchants }) =>
    new Map(
      merchants.map(({ merchant_id, stage, share, stopped, verdict, blockers }) => {
        const on_canary = stage === 'canary' ? share : null;
        return [merchant_id, say('compared.merchant', { stage, share: on_canary, stopped, verdict, blockers })];
      }),
    ),
};

function changed(
  part: ComparedPart,
  before: Map<string, number | Spoken>,
  after: Map<string, number | Spoken>,
): ReportDiff['changes'] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((line) => {
      const [was, is] = [shownOf(before.get(line)), shownOf(after.get(line))];
      return { part, line, before: was.value, after: is.value, before_said: was.said, after_said: is.said };
    })
    .filter((one) => one.before !== one.after);
}

function shownOf(measured: number | Spoken | undefined): { value: number | string | null; said: Said | null } {
  if (typeof measured === 'object') return { value: measured.text, said: measured.said };
  return { value: measured ?? null, said: null };
}

// Two periods of the same merchants compared: the sums of both, and decisions and incidents after the first.

/** The query of `GET /api/report/compare`: two periods [since, until), with the defaults that the fields describe. */
export const compareQuery = z.strictObject({
  merchant: merchantId.exactOptional().describe('one merchant; all of them without'),
  since: instant.exactOptional().describe('the later period: from (default: seven days before its end)'),
  until: instant.exactOptional().describe('to, not included (default: now)'),
  before_since: instant.exactOptional().describe('the earlier period: from (default: as long as the later one)'),
  before_until: instant.exactOptional().describe('to, not included (default: where the later one begins)'),
});

/** Both are made now, with verdicts and stages of today. @throws PuenteError bad_request as `askOf`. */
export async function compareReports(
  ports: Ports,
  { before_since, before_until, ...later }: z.infer<typeof compareQuery>,
  facts: ReportFacts,
  signal: AbortSignal | null = null,
): Promise<ReportDiff> {
  const ask = askOf(ports, later);
  const until = before_until ?? ask.since;
  const since = before_since ?? until - (ask.until - ask.since);
  const before = await gatherReport(ports, askOf(ports, { ...later, since, until }), facts, signal);
  const after = await gatherReport(ports, ask, facts, signal);
  // Lines from the end of the first period on, also where the later one begins after it: its own lists have its own alone.
  const { decisions, incidents } = await decisionLines(ports, { ...ask, since: Math.min(until, ask.since) }, signal);
  // The chain's head at the end of the first period: later lines were decided in between.
  const sequence = await lastBefore(ports.store, until);
  return diffReports(
    { ...before, audit_head: { ...before.audit_head, sequence } },
    {
      ...after,
      decisions: decisions.lines,
      incidents: incidents.lines,
      left_out: { ...after.left_out, decisions: decisions.left_out, incidents: incidents.left_out },
    },
  );
}
