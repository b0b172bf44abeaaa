/** An assessment as one HTML file, for those who decide before a single call was routed. */

import type { Verdict } from '../../proxy/records/evidence.ts';
import type { Finding } from '../readiness/verdict.ts';
import { saidOf } from '../readiness/words.ts';
import { htmlPage, htmlSection, htmlVerdict, type ShownFinding } from '../report/page.ts';
import { escaped, type Html, htmlTable, raw } from '../report/tags.ts';
import type { AssessedMerchant, AssessmentView } from './assessment-view.ts';

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
