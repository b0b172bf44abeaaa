/** Reports on the ops door: JSON, CSV and one HTML file; and two periods compared. */

import { z } from 'zod';
import type { Said } from '../../error.ts';
import type { Language, Words } from '../../locales/words.ts';
import type { ExchangeFilter } from '../../proxy/records/evidence.ts';
import type { Ports } from '../ports.ts';
import { exchangeCsv, exchangesHeader, reportCsv } from '../report/csv.ts';
import { compareQuery, compareReports } from '../report/diff.ts';
import { figuresQuery, gatherReport, type ReportFacts, viewFigures } from '../report/gather.ts';
import { reportHtml } from '../report/html.ts';
import { askOf, type LossLine, type ReportQuery, reportQuery } from '../report/report.ts';
import { adviceFor } from '../report/sections.ts';
import { said } from './errors.ts';
import { incidentLine } from './fleet.ts';
import { type OpsRoute, opsRoute, streamed } from './router.ts';
import type { Streamed } from './stream.ts';

/** Exchanges read at once for a streamed file. */
const PAGE = 1_000;
const CONTENT_TYPES = { json: 'application/json', csv: 'text/csv; charset=utf-8', html: 'text/html; charset=utf-8' };

const compared = z.object({
  made_at: z.iso.datetime(),
  period: z.object({ since: z.iso.datetime(), until: z.iso.datetime() }),
});
const change = z.object({ before: z.string().nullable(), after: z.string().nullable() });
const counted = z.union([z.number(), z.string()]).nullable();

export const comparisonView = z.object({
  a: compared,
  b: compared,
  verdict: change,
  tables_revision: change,
  changes: z.array(
    z.object({
      ...{ part: z.string(), line: z.string(), before: counted, after: counted },
      ...{ before_said: said.nullable(), after_said: said.nullable() },
    }),
  ),
  decisions: z.array(incidentLine),
  incidents: z.array(incidentLine),
});

const count = z.int().min(0);
const lanes = { legacy: count, orders: count };
const day = z.iso.date().describe('a UTC day');

export const figuresView = z.object({
  merchant_id: z.string().nullable().describe('null: the fleet'),
  made_at: z.iso.datetime(),
  period: z.object({ since: z.iso.datetime(), until: z.iso.datetime() }),
  calls_since: z.iso.datetime().nullable().describe('the oldest call that is still kept: nothing before it is shown'),
  readiness_since: z.iso.date().nullable().describe('the first day that a verdict is kept of'),
  days: z.array(z.object({ day, ...lanes, faults: count.describe('of the calls on orders') })),
  waits: z.array(z.object({ from_ms: count, up_to_ms: count, ...lanes })).describe('calls by what they took'),
  losses: z.array(
    z.object({ operation: z.string(), path: z.string(), count, would_be_count: count.describe('on paper') }),
  ),
  notice_days: z
    .array(z.object({ day, made: count, delivered: count, pending: count, stuck: count, dead: count }))
    .describe('by the day on which they were made, as they stand now; stuck is a part of pending'),
  readiness_days: z
    .array(z.object({ day, ready: count, inconclusive: count, blocked: count }))
    .describe('merchants by their verdict'),
});

export const reportRoutes: OpsRoute[] = [
  opsRoute('viewer', 'GET /api/report', {
    summary:
      'A report of one merchant or the fleet for a period: JSON, one list as CSV, or one HTML file in Spanish, Portuguese or English.',
    query: reportQuery,
    answer: { streams: Object.values(CONTENT_TYPES) },
    command: 'report',
    run: async ({ ports, report_facts }, { query, signal }) =>
      streamed({
        content_type: CONTENT_TYPES[query.format],
        file_name: fileName(query),
        parts: partsOf(ports, query, report_facts, signal),
      } satisfies Streamed),
  }),
  opsRoute('viewer', 'GET /api/report/figures', {
    summary:
      'What the charts of a period are drawn of: calls by lane and day, waits, lost fields, notices and readiness by day.',
    query: figuresQuery,
    answer: figuresView,
    command: 'report',
    run: ({ ports }, { query, signal }) => viewFigures(ports, query, signal),
  }),
  opsRoute('viewer', 'GET /api/report/compare', {
    summary:
      'What changed from one period to another, for one merchant or the fleet, and what was decided after the first.',
    query: compareQuery,
    answer: comparisonView,
    command: 'report compare',
    run: ({ ports, report_facts }, { query, signal }) => compareReports(ports, query, report_facts, signal),
  }),
];

async function* partsOf(
  ports: Ports,
  query: ReportQuery,
  facts: ReportFacts,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const ask = askOf(ports, query);
  if (query.format === 'csv' && query.part === 'exchanges') return yield* exchangeLines(ports, ask);
  const report = await gatherReport(ports, ask, facts, signal);
  const advised = (loss: LossLine): Said => adviceFor(ports.tables, loss).said;
  if (query.format === 'html') yield await reportHtml(report, await wordsOf(query.language), advised);
  else if (query.format === 'csv' && query.part !== 'exchanges') yield reportCsv(report, query.part);
  else yield `${printable(JSON.stringify(report, null, 2))}\n`;
}

/** Loaded with the first report that people read: no start waits for them. */
async function wordsOf(language: Language): Promise<Words> {
  const { loadWords } = await import('../../locales/words.ts');
  return loadWords()[language];
}

/** JSON may hold the control characters above 126 as they are, and some terminals obey them (`test/faults/README.md` F132). */
function printable(json: string): string {
  return json.replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

/** Every exchange of the period, a page in memory at a time. */
async function* exchangeLines(ports: Ports, ask: ReturnType<typeof askOf>): AsyncGenerator<string> {
  const { merchant_id, since, until } = ask;
  const filter: ExchangeFilter = { since, until, ...(merchant_id === null ? {} : { merchant_id }) };
  await ports.evidence.settled();
  const last = await ports.store.exchanges.lastExchange();
  yield exchangesHeader();
  for (let after = 0; ; ) {
    const page = await ports.store.exchanges.exchanges(filter, after, PAGE);
    const wanted = page.filter(({ sequence }) => sequence <= last);
    if (wanted.length > 0) yield wanted.map(exchangeCsv).join('');
    await new Promise((resolve) => setImmediate(resolve));
    const newest = page.at(-1)?.sequence;
    if (newest === undefined || page.length < PAGE || newest >= last) return;
    after = newest;
  }
}

function fileName({ merchant, format, part, language }: ReportQuery): string {
  const subject = merchant ?? 'all-merchants';
  const form = { json: '', csv: `-${part}`, html: language === 'en' ? '' : `-${language}` }[format];
  return `puente-report-${subject}${form}.${format}`;
}
