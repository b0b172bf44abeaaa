/** Reports on the ops API: JSON, CSV and one HTML file; figures for charts; and two periods compared. */
import { PuenteError, type Said } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Language, Words } from '../../locales/words.ts';
import { defined, exchangePages } from '../fields.ts';
import type { Ports } from '../ports.ts';
import { completionLines } from '../readiness/decommission.ts';
import { type CsvList, exchangesCsv, listCsv, reportCsv, salesCsv } from '../report/csv.ts';
import { compareQuery, compareReports, comparisonView } from '../report/diff.ts';
import {
  figuresQuery,
  figuresView,
  gatherReport,
  mismatchesOfAll,
  type ReportFacts,
  sumsView,
  viewFigures,
  viewSums,
} from '../report/gather.ts';
import { reportHtml } from '../report/html.ts';
import { type ReportAsk, reportAskOf } from '../report/period.ts';
import { type Line, type ReportQuery, reportQuery } from '../report/report.ts';
import { salePages, wholeList } from '../report/sales.ts';
import { adviceFor } from '../report/sections.ts';
import { type Named, named, refuseUnseenRead } from '../seen.ts';
import { opsRoute } from './route.ts';
import type { Streamed } from './stream.ts';

/** Exchanges per page of a streamed file. */
const PAGE = 1_000;
const CONTENT_TYPES = { json: 'application/json', csv: 'text/csv; charset=utf-8', html: 'text/html; charset=utf-8' };

export const reportRoutes = [
  opsRoute('viewer', 'GET /api/report', {
    summary:
      'A report of one merchant or the fleet for a period: JSON, one list as CSV, or one HTML file in Spanish, Portuguese or English.',
    query: reportQuery,
    answer: { streams: Object.values(CONTENT_TYPES) },
    command: 'report',
    async run({ ports, report_facts }, { query, signal }): Promise<Streamed> {
      await refuseUnseenRead(ports, query.merchant);
      return {
        streamed: true,
        content_type: CONTENT_TYPES[query.format],
        file_name: fileName(query),
        parts: partsOf(ports, query, report_facts, signal),
      };
    },
  }),
  opsRoute('viewer', 'GET /api/report/figures', {
    summary:
      'What the charts of a period are drawn of: calls by lane and day, waits, lost fields, notices and readiness by day.',
    query: figuresQuery,
    answer: figuresView,
    command: 'report',
    async run({ ports }, { query, signal }) {
      await refuseUnseenRead(ports, query.merchant);
      return viewFigures(ports, query, signal);
    },
  }),
  opsRoute('viewer', 'GET /api/report/sums', {
    summary:
      'Sales and refunds of a period, summed by lane, family, currency and outcome, also between two moves of a merchant.',
    query: figuresQuery,
    answer: sumsView,
    command: 'report',
    async run({ ports }, { query, signal }) {
      await refuseUnseenRead(ports, query.merchant);
      return viewSums(ports, query, signal);
    },
  }),
  opsRoute('viewer', 'GET /api/report/compare', {
    summary:
      'What changed from one period to another, for one merchant or the fleet, and what was decided after the first.',
    query: compareQuery,
    answer: comparisonView,
    command: 'report compare',
    async run({ ports, report_facts }, { query, signal }) {
      await refuseUnseenRead(ports, query.merchant);
      return compareReports(ports, query, report_facts, signal);
    },
  }),
];

async function* partsOf(
  ports: Ports,
  query: ReportQuery,
  facts: ReportFacts,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { format, part = 'sums', what, lane, family, currency, outcome } = query;
  const only = defined({ what, lane, family, currency, outcome });
  if (format !== 'csv' || part !== 'sales') refuseUnread(Object.keys(only), 'format=csv, part=sales');
  if (format !== 'csv') refuseUnread(query.part === undefined ? [] : ['part'], 'format=csv');
  const ask = await reportAskOf(ports, query);
  if (format === 'csv') {
    if (part === 'exchanges') return yield* csvOf(ports, exchangesCsv, await exchangesOf(ports, ask));
    if (part === 'sales') return yield* csvOf(ports, salesCsv, salePages(ports, ask, signal, only));
    if (part === 'approvals' || part === 'unmatched')
      return yield* csvOf(ports, listCsv(part), wholeList(ports, ask, part, signal));
    if (part === 'completion' || part === 'units')
      return yield* csvOf(
        ports,
        listCsv(part),
        completionLines(ports, ask.merchant_id, part, mismatchesOfAll(ports, signal), signal),
      );
    return yield reportCsv(await gatherReport(ports, ask, facts, signal), part);
  }
  const report = await gatherReport(ports, ask, facts, signal);
  const advised = (loss: Line<'losses'>): Said => adviceFor(ports.tables.of(ask.merchant_id), loss).said;
  if (format === 'html') yield await reportHtml(report, await wordsOf(query.language), advised);
  else yield `${printable(JSON.stringify(report, null, 2))}\n`;
}

/** A file of everything would be taken for one of these alone. @param needs what reads them. @throws PuenteError bad_request. */
function refuseUnread(names: string[], needs: string): void {
  if (names.length > 0) throw new PuenteError('bad_request', say('refusal.unread', { names, needs }));
}

/** Loaded with the first HTML report, so that no start of the process waits for it. */
async function wordsOf(language: Language): Promise<Words> {
  const { loadWords } = await import('../../locales/words.ts');
  return loadWords()[language];
}

/** Escapes the control characters above 126, which some terminals obey (`test/faults/README.md` F132). */
function printable(json: string): string {
  return json.replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

/** With one page in memory at a time. */
async function* csvOf<Row extends { merchant_id: string | null }>(
  ports: Ports,
  { header, lineOf }: CsvList<Named<Row>>,
  pages: AsyncIterable<Row[]>,
): AsyncGenerator<string> {
  yield header;
  for await (const page of pages) if (page.length > 0) yield (await named(ports, page)).map(lineOf).join('');
}

async function exchangesOf(ports: Ports, { merchant_id, since, until }: ReportAsk) {
  await ports.evidence.settled();
  const filter = defined({ since, until, merchant_id: merchant_id ?? undefined });
  return exchangePages(ports.store.exchanges, filter, PAGE);
}

function fileName({ merchant, format, part, language }: ReportQuery): string {
  const subject = merchant ?? 'all-merchants';
  const form = { json: '', csv: `-${part}`, html: language === 'en' ? '' : `-${language}` }[format];
  return `puente-report-${subject}${form}.${format}`;
}
