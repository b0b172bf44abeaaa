/** The output of an assessment: data for scripts, lists for the terminal, and one HTML file. */
import { wordsOf } from '../../locales/words.ts';
import type { Tables } from '../../mapping/tables.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import { iso } from '../fields.ts';
import { type Content, type Html, html, plainTable } from '../html.ts';
import { type CoverageCellView, viewCoverage, viewLosses, viewUnknowns, viewVerdicts } from '../readiness/coverage.ts';
import { viewDifferences } from '../readiness/differences.ts';
import type { Finding, Readiness } from '../readiness/facts.ts';
import type { EvidenceSource } from '../readiness/readiness.ts';
import { saidOf } from '../readiness/side.ts';
import { htmlPage, htmlSection, htmlVerdict } from '../report/page.ts';
import type { Assessment } from './assess.ts';

export type AssessmentView = Awaited<ReturnType<typeof viewAssessment>>;
export type AssessedMerchant = AssessmentView['merchants'][number];

/** More groups than one capture is expected to have. */
const MOST_DIFFERENCES = 1_000;

/** With the worst verdict of all merchants. @param now epoch ms. */
export async function viewAssessment(assessment: Assessment, tables: Tables, now: number) {
  const { book, tally, sums, unreadable, remarks, readiness, sites } = assessment;
  const merchant = async (id: string) => ({ site: sites.get(id) ?? null });
  const source: EvidenceSource = { store: { ...book, merchants: { merchant } }, tables, clock: { now: () => now } };
  const merchants = await Promise.all(
    readiness.map(async (verdict) => {
      const { merchant_id } = verdict;
      const of = { merchant: [merchant_id] };
      const operations = tally.operations(merchant_id);
      const logged = operations.filter((one) => one.logged === one.calls).map(({ operation }) => operation);
      // Of headers and bodies a log says nothing, not even that they were there.
      const isOfLogs = ({ operation, state }: CoverageCellView) => state === 'unchecked' && logged.includes(operation);
      return {
        merchant_id,
        readiness: withoutCommands(verdict),
        operations,
        units: tally.units(merchant_id),
        losses: await viewLosses(source, of),
        differences: await viewDifferences(source, { ...of, limit: MOST_DIFFERENCES }),
        unknowns: await viewUnknowns(source, of),
        verdicts: await viewVerdicts(source, of),
        coverage: (await viewCoverage(source, merchant_id, {})).cells.filter((cell) => !isOfLogs(cell)),
      };
    }),
  );
  return { verdict: worst(merchants), sums, unreadable, remarks, tables_revision: tables.revision, merchants };
}

/** No running Puente has these calls, so findings name lists of this report instead of commands. */
function withoutCommands(readiness: Readiness): Readiness {
  const here = (one: Finding): Finding => {
    const list = LISTS[one.code];
    return { ...one, what: list === undefined ? one.what : `${one.what} (${list} of this report)`, command: null };
  };
  const { blockers, unproven, remarks } = readiness;
  return { ...readiness, blockers: blockers.map(here), unproven: unproven.map(here), remarks: remarks.map(here) };
}

/** The list of the report that shows a finding, by the finding's code. */
const LISTS: Readonly<Record<string, string>> = {
  predicted_refusal: 'see Differences',
  open_difference: 'see Differences',
  error_difference: 'see Differences',
  loss_money: 'see Losses',
  loss_identity: 'see Losses',
  loss_other: 'see Losses',
  unknown_allowed: 'see the unknown names',
};

/** A capture without a merchant is inconclusive. */
function worst(merchants: readonly { readiness: Readiness }[]): Verdict {
  const verdicts = merchants.map(({ readiness }) => readiness.verdict);
  if (verdicts.includes('blocked')) return 'blocked';
  return verdicts.includes('inconclusive') || verdicts.length === 0 ? 'inconclusive' : 'ready';
}

/** @param file name of the capture, for the title. */
export function assessmentHtml(view: AssessmentView, file: string): string {
  const { sums, remarks, unreadable, merchants, tables_revision } = view;
  const counts = {
    Lines: sums.lines,
    Assessed: sums.assessed,
    'Of no operation: proxied as they are': sums.no_operation,
    'To other hosts: left out': sums.foreign,
    Unreadable: sums.unreadable,
    'Creates translated on paper': sums.shadowed,
    'Captured without an answer': sums.unanswered,
    'Of an access log, without bodies': sums.logged,
  };
  const bad = unreadable.map(({ line, why }) => ({ Line: line, Why: why }));
  return htmlPage('en', `Assessment of ${file}`, [
    html`<header><h1>Assessment of ${file}</h1><p>Tables ${tables_revision}. Nothing was sent anywhere.</p>${remarks.map((remark) => html`<p>${remark}</p>`)}</header>`,
    listed({
      title: 'The capture',
      lead: 'Every line is in one of these.',
      rows: Object.entries(counts).map(([name, calls]) => ({ What: name, Calls: calls })),
    }),
    listed({ title: 'Lines that could not be read', lead: 'The first of them.', rows: bad }),
    merchants.map(merchantSections),
  ]);
}

const NONE = 'None in this capture.';

function listed({ title, lead, rows }: AssessedList): Html {
  const table = plainTable(Object.keys(rows[0] ?? {}), rows.map(Object.values<Content>));
  return htmlSection(title, table, lead, NONE);
}

function merchantSections(merchant: AssessedMerchant): Content {
  const verdict = htmlVerdict(wordsOf('en'), merchant.readiness, ({ what }) => what);
  return [
    htmlSection(`Merchant ${merchant.merchant_id}`, verdict, 'The verdict on the next move, from this traffic.', NONE),
    ...listsOf(merchant).map(listed),
  ].map((section) => html`${section}\n`);
}

/** Cells are keyed by column heading. */
interface AssessedList {
  title: string;
  lead: string;
  rows: Record<string, string | number | null>[];
}

function time(at: number): string {
  return wordsOf('en').time(iso(at));
}

/** For the HTML file and the terminal. @param fields title of the list of fields. */
export function listsOf(
  { operations, units, losses, differences, unknowns, verdicts, coverage }: AssessedMerchant,
  fields = 'Coverage',
): AssessedList[] {
  return [
    {
      title: 'Its calls',
      lead: 'Each operation that was called, and how legacy answered.',
      rows: operations.map(({ operation, calls, statuses, first_at, last_at }) => {
        const answers = statuses.map(({ status, calls: count }) => `${status ?? 'no answer'}: ${count}`).join(', ');
        return { Operation: operation, Calls: calls, Answered: answers, First: time(first_at), Last: time(last_at) };
      }),
    },
    {
      title: 'Its terminals and points of sale',
      lead: 'Those that a path names.',
      rows: units.map(({ unit, calls, creates }) => ({ Unit: unit, Calls: calls, Creates: creates })),
    },
    {
      title: 'Its creates, translated to orders',
      lead: 'Each was translated and judged by the rules of the orders API.',
      rows: verdicts.map(({ operation, verdict, code, error, detail, count }) => {
        const refusal = { 'The till would be answered': error, Why: detail, Calls: count };
        return { Operation: operation, Verdict: verdict.replace('_', ' '), Code: code, ...refusal };
      }),
    },
    {
      title: 'Losses',
      lead: 'Fields that would not reach the order, money first.',
      rows: losses.map(({ weight, operation, field, count, why, advice }) => {
        const words = { Why: why, "For the till's maker": advice };
        return { Weight: weight, Operation: operation, Field: field, Calls: count, ...words };
      }),
    },
    {
      title: 'Differences',
      lead: 'Where orders would have answered otherwise than legacy.',
      rows: differences.map(({ operation, what, path, legacy, orders, count, sample }) => {
        const sides = { Legacy: legacy, Orders: saidOf(orders) };
        return { Operation: operation, What: `${what} ${path}`.trim(), ...sides, Calls: count, 'Shown by': sample };
      }),
    },
    {
      title: 'Unknown endpoints, fields and headers',
      lead: 'They are in no table.',
      rows: unknowns.map(({ what, name, count }) => ({ What: what, Name: name, Calls: count })),
    },
    {
      title: fields,
      lead: 'Every field of the operations that were called. Carried: the operation was called, but its calls were not translated.',
      rows: coverage.map(({ operation, field, equal, different, state }) => {
        const counts = { Equal: equal, Different: different, State: state.replace('_', ' ') };
        return { Operation: operation, Field: field, ...counts };
      }),
    },
  ];
}
