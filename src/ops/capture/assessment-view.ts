/** An assessment as people and scripts see it: for each merchant the verdict and all the lists behind it. */
import type { Tables } from '../../mapping/tables.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import { type CoverageCellView, viewCoverage } from '../readiness/coverage.ts';
import { type DifferenceView, viewDifferences } from '../readiness/differences.ts';
import { type LossView, viewLosses } from '../readiness/losses.ts';
import type { ReadinessView } from '../readiness/readiness.ts';
import type { EvidenceSource } from '../readiness/source.ts';
import { type UnknownView, type VerdictView, viewUnknowns, viewVerdicts } from '../readiness/unknowns.ts';
import type { Finding, Readiness } from '../readiness/verdict.ts';
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
  const source: EvidenceSource = { store: { ...book, merchant }, tables, clock: { now: () => now } };
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
