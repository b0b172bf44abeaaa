/** An assessment of captured calls as people and scripts see it: data, and one HTML file. */
import type { Tables } from '../../mapping/tables.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import {
  type CoverageCellView,
  type LossView,
  type UnknownView,
  type VerdictView,
  viewCoverage,
  viewLosses,
  viewUnknowns,
  viewVerdicts,
} from '../readiness/coverage.ts';
import { type DifferenceView, viewDifferences } from '../readiness/differences.ts';
import { saidOf } from '../readiness/facts.ts';
import type { EvidenceSource, ReadinessView } from '../readiness/readiness.ts';
import type { Finding, Readiness } from '../readiness/verdict.ts';
import {
  escaped,
  type Html,
  htmlPage,
  htmlSection,
  htmlTable,
  htmlVerdict,
  raw,
  type ShownFinding,
} from '../report/page.ts';
import type { Assessment, AssessmentSums } from './assess.ts';

export interface AssessedMerchant {
  merchant_id: string;
  readiness: ReadinessView;
  losses: LossView[];
  differences: DifferenceView[];
  unknowns: UnknownView[];
  verdicts: VerdictView[];
  coverage: CoverageCellView[];
}

export interface AssessmentView {
  /** The worst of its merchants'. */
  verdict: Verdict;
  sums: AssessmentSums;
  unreadable: Assessment['unreadable'];
  remarks: string[];
  tables_revision: string;
  merchants: AssessedMerchant[];
}

/** More groups than one file has reasons for. */
const MOST_DIFFERENCES = 1_000;

/** @param now epoch ms. */
export async function viewAssessment(assessment: Assessment, tables: Tables, now: number): Promise<AssessmentView> {
  const { book, sums, unreadable, remarks, readiness, sites } = assessment;
  const merchant = async (id: string) => ({ site: sites.get(id) ?? null });
  const source: EvidenceSource = { store: { ...book, merchants: { merchant } }, tables, clock: { now: () => now } };
  const merchants = await Promise.all(
    readiness.map(async (verdict): Promise<AssessedMerchant> => {
      const { merchant_id } = verdict;
      const of = { merchant: merchant_id };
      return {
        merchant_id,
        readiness: withoutCommands(verdict),
        losses: await viewLosses(source, of),
        differences: await viewDifferences(source, { ...of, limit: MOST_DIFFERENCES }),
        unknowns: await viewUnknowns(source, of),
        verdicts: await viewVerdicts(source, of),
        coverage: (await viewCoverage(source, merchant_id, {})).cells,
      };
    }),
  );
  return { verdict: worst(merchants), sums, unreadable, remarks, tables_revision: tables.revision, merchants };
}

/** No running Puente has seen these calls, so findings send to the lists of this report instead of to its commands. */
function withoutCommands({ judged_at, ...readiness }: Readiness): ReadinessView {
  const here = (one: Finding): Finding => {
    const list = LISTS[one.code];
    return { ...one, what: list === undefined ? one.what : `${one.what} (${list} of this report)`, command: null };
  };
  const { blockers, unproven, remarks } = readiness;
  return {
    ...readiness,
    blockers: blockers.map(here),
    unproven: unproven.map(here),
    remarks: remarks.map(here),
    judged_at: new Date(judged_at).toISOString(),
  };
}

/** By the code of a finding, the list that shows it, as the report calls it. */
const LISTS: Readonly<Record<string, string>> = {
  predicted_refusal: 'see Differences',
  open_difference: 'see Differences',
  error_difference: 'see Differences',
  loss_money: 'see Losses',
  loss_identity: 'see Losses',
  loss_other: 'see Losses',
  unknown_carried: 'see the unknown names',
};

/** A file without a merchant proves nothing. */
function worst(merchants: readonly AssessedMerchant[]): Verdict {
  const verdicts = merchants.map(({ readiness }) => readiness.verdict);
  if (verdicts.includes('blocked')) return 'blocked';
  return verdicts.includes('inconclusive') || verdicts.length === 0 ? 'inconclusive' : 'ready';
}

// An assessment as one HTML file, for those who decide before a single call was routed.

const NONE = 'None in this capture.';

/** @param file how the capture is called, for the title. */
export function assessmentHtml(view: AssessmentView, file: string): string {
  const { sums, remarks, unreadable } = view;
  const counts: [string, number][] = [
    ['Lines', sums.lines],
    ['Assessed', sums.assessed],
    ['Of no operation: carried as they are', sums.no_operation],
    ['Unreadable', sums.unreadable],
    ['Creates translated on paper', sums.shadowed],
    ['Captured without an answer', sums.unanswered],
  ];
  return htmlPage('en', `Assessment of ${file}`, [
    `<header><h1>Assessment of ${escaped(file)}</h1><p>Tables ${escaped(view.tables_revision)}. Nothing was sent anywhere.</p>${remarks.map((remark) => `<p>${escaped(remark)}</p>`).join('')}</header>`,
    htmlSection('The capture', htmlTable(['What', 'Calls'], counts), 'Every line is in one of these.', NONE),
    htmlSection(
      'Lines that could not be read',
      htmlTable(
        ['Line', 'Why'],
        unreadable.map(({ line, why }) => [line, why]),
      ),
      'The first of them.',
      NONE,
    ),
    ...view.merchants.map(merchantSections),
  ]);
}

function merchantSections(merchant: AssessedMerchant): string {
  const { merchant_id, readiness, losses, differences, unknowns, verdicts, coverage } = merchant;
  return [
    htmlSection(`Merchant ${merchant_id}`, verdictOf(readiness), 'What this traffic says about the next move.', NONE),
    htmlSection(
      'What would have become of its creates',
      htmlTable(
        ['Operation', 'Verdict', 'Code', 'The till would be told', 'Why', 'Calls'],
        verdicts.map((one) => [
          one.operation,
          one.verdict,
          one.code ?? '',
          one.error ?? '',
          one.detail ?? '',
          one.count,
        ]),
      ),
      'Each was translated and judged by the rules of the orders API.',
      NONE,
    ),
    htmlSection(
      'Losses',
      htmlTable(
        ['Weight', 'Operation', 'Field', 'Calls', 'Why', "For the till's maker"],
        losses.map((one) => [one.weight, one.operation, one.field, one.count, one.why, one.advice]),
      ),
      'Fields that would not reach the order, money first.',
      NONE,
    ),
    htmlSection(
      'Differences',
      htmlTable(
        ['Operation', 'What', 'Legacy', 'Orders', 'Calls'],
        differences.map((one) => [
          one.operation,
          `${one.what} ${one.path}`.trim(),
          one.legacy,
          saidOf(one.orders),
          one.count,
        ]),
      ),
      'Where orders would not have said what legacy said.',
      NONE,
    ),
    htmlSection(
      'Unknown endpoints, fields and headers',
      htmlTable(
        ['What', 'Name', 'Calls'],
        unknowns.map((one) => [one.what, one.name, one.count]),
      ),
      'No table knows them.',
      NONE,
    ),
    coverageSection(coverage),
  ].join('\n');
}

const VERDICTS: Readonly<Record<Verdict, string>> = {
  ready: 'Ready: nothing stands in the way of the next move.',
  blocked: 'Blocked: no move forward before this is solved.',
  inconclusive: 'Inconclusive: too little was seen. Nothing is green by default.',
};

function verdictOf({ verdict, blockers, unproven, remarks }: AssessedMerchant['readiness']): Html {
  const shown = ({ what, command }: Finding): ShownFinding => {
    return { what: { html: raw(escaped(what)), letters: what.length }, command };
  };
  return htmlVerdict(verdict, VERDICTS[verdict], [
    ['In the way', blockers.map(shown)],
    ['Not proven', unproven.map(shown)],
    ['Worth knowing', remarks.map(shown)],
  ]);
}

function coverageSection(coverage: AssessedMerchant['coverage']): string {
  return htmlSection(
    'Coverage',
    htmlTable(
      ['Operation', 'Field', 'Equal', 'Different', 'State'],
      coverage.map((one) => [one.operation, one.field, one.equal, one.different, one.state.replace('_', ' ')]),
    ),
    'Every field of the operations that were called. Carried: such calls came, and nothing of them was translated.',
    NONE,
  );
}
