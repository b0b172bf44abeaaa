/** A report as one HTML file: no script, no network, no font to load; it opens offline and prints well. */
import { drawCharts, type ReportCharts } from './charts.ts';
import {
  assumptionTable,
  differenceTable,
  limitationTable,
  lineTable,
  lossTable,
  noticeTable,
  shadowTable,
  unseenTable,
} from './html-tables.ts';
import { htmlPage, htmlSection, htmlVerdict } from './page.ts';
import type { CutList, Report } from './report.ts';
import { escaped, htmlTable, raw } from './tags.ts';

/** The whole file. */
export async function reportHtml(report: Report): Promise<string> {
  const charts = await drawCharts(report);
  const title = `Migration report: ${report.merchant_id === null ? 'all merchants' : `merchant ${report.merchant_id}`}`;
  const body = [
    header(report, title),
    brokenChain(report),
    verdict(report),
    fleet(report),
    findings(report),
    htmlSection(
      'Readiness over time',
      raw(charts.readiness.picture + charts.readiness.table),
      'Merchants by their verdict: of each UTC day as it was kept, else what decisions on stages rested on; of today as it is now. Other days have none.',
    ),
    traffic(report, charts),
    htmlSection(
      'Losses',
      raw(charts.losses.picture + lossTable(report)),
      'Fields that do not reach the orders API, money first. What is counted on paper was found in shadow.',
    ),
    htmlSection(
      'Differences',
      differenceTable(report),
      `Where the two sides did not say the same, grouped.${cut(report, 'differences')}`,
    ),
    htmlSection('Shadow', shadowTable(report), 'What would have become of legacy creates on orders.'),
    htmlSection(
      'Notices',
      raw(charts.topics + noticeTable(report)),
      'Notifications to the merchant. Stuck: refused by the receiver at least once, or waiting for more than 15 minutes.',
    ),
    htmlSection(
      'Notices over time',
      raw(charts.notices.picture + charts.notices.table),
      'By the UTC day on which they were made, and as they stand now.',
    ),
    htmlSection(
      'Incidents',
      lineTable(report.incidents),
      `What Puente noticed or did by itself.${cut(report, 'incidents')}`,
    ),
    htmlSection('Decisions', lineTable(report.decisions), `Who changed what, when and why.${cut(report, 'decisions')}`),
    htmlSection(
      'Limitations that applied',
      limitationTable(report),
      `Where tills saw something else than before. Hits: the calls that met it, or the delivered notices where it is about those; calls: those of its operations on orders.${uncounted(report)}`,
    ),
    htmlSection(
      'Limitations that nobody can count',
      unseenTable(report),
      'Where tills may have seen something else: no call tells. Those of the operations that were called on orders, with their calls.',
    ),
    htmlSection(
      'Assumptions in force',
      assumptionTable(report),
      'What the specification leaves open, and how it is set here.',
    ),
    footer(report),
  ];
  return htmlPage(title, body);
}

function header({ period, made_at, exchanges, tables_revision }: Report, title: string): string {
  const { shadow, evidence } = exchanges.shed;
  const shed =
    shadow + evidence === 0
      ? 'Nothing was left out.'
      : `Left out under load, and not in these sums: ${evidence} exchanges; ${shadow} shadow translations.`;
  return `<header>
<h1>${escaped(title)}</h1>
<p>From <time>${escaped(period.since)}</time> to <time>${escaped(period.until)}</time>; made ${escaped(made_at)}; tables ${escaped(tables_revision)}.
${exchanges.count} exchanges. ${shed}</p>
</header>`;
}

/** Said first: nothing below that rests on the chain is proven any more. */
function brokenChain({ audit }: Report): string {
  if (audit.broken === null) return '';
  const { sequence, reason } = audit.broken;
  return `<section><h2>The audit chain is broken</h2><p class="verdict blocked">At line ${sequence}: ${escaped(reason)}. Somebody changed the file. Decisions and incidents of this report are not proven; the ${audit.lines} lines before it hold.</p></section>`;
}

function verdict({ readiness }: Report): string {
  return readiness === null ? '' : `<section><h2>Verdict</h2>${htmlVerdict(readiness)}</section>`;
}

function fleet({ merchants, verdicts }: Report): string {
  const rows = merchants.map((one) => [
    one.merchant_id,
    one.site ?? '',
    one.stage === 'canary' ? `canary, ${one.share} %` : one.stage,
    one.stopped ? 'stopped' : '',
    one.verdict,
    one.blockers,
    one.calls,
    one.faults,
    one.losses,
    one.open_differences,
  ]);
  const head = [
    'Merchant',
    'Site',
    'Stage',
    'Safety stop',
    'Verdict',
    'In the way',
    'Calls',
    'Faults',
    'Losses',
    'Open differences',
  ];
  const counts = `${verdicts.ready} ready, ${verdicts.blocked} blocked, ${verdicts.inconclusive} inconclusive.`;
  return htmlSection('Merchants', htmlTable(head, rows), `Where each merchant stands: ${counts}`);
}

/** Of a merchant the verdict has them already. */
function findings(report: Report): string {
  if (report.merchant_id !== null) return '';
  const rows = report.findings.map(({ merchant_id, what, command }) => [merchant_id, what, command ?? '']);
  const lead = `What no merchant moves forward with.${cut(report, 'findings')}`;
  return htmlSection('In the way', htmlTable(['Merchant', 'What', 'Command'], rows), lead);
}

function cut({ left_out }: Report, list: CutList): string {
  return left_out[list] === 0
    ? ''
    : ` ${left_out[list]} more are left out here; a shorter period, or one merchant, shows them.`;
}

function uncounted({ exchanges: { uncounted: calls } }: Report): string {
  return calls === 0
    ? ''
    : ` ${calls} calls on orders are not among them: they were recorded before hits were counted.`;
}

function traffic(report: Report, charts: ReportCharts): string {
  const calls = report.traffic.map(({ operation, lane, calls, outcomes }) => [
    operation,
    lane,
    calls,
    outcomes.ok,
    outcomes.business,
    outcomes.auth,
    outcomes.fault,
  ]);
  const latency = report.latency.map((one) => [
    one.operation,
    one.lane,
    one.calls,
    one.p50_ms,
    one.p95_ms,
    one.p99_ms,
    one.max_ms,
  ]);
  const errors = report.errors.map((one) => [one.operation, one.lane, one.status, one.error, one.calls, one.sample]);
  return [
    htmlSection('Calls over time', raw(charts.traffic.picture + charts.traffic.table), 'Calls by lane, by UTC day.'),
    htmlSection(
      'Traffic',
      htmlTable(['Operation', 'Lane', 'Calls', 'Good', 'Business', 'Token', 'Faults'], calls),
      'Calls by operation and lane. Business: declines, busy terminals and mistakes of a till.',
    ),
    htmlSection(
      'How long tills waited',
      raw(charts.waits.picture + charts.waits.table),
      'Calls by lane and by what they took, in whole milliseconds rounded up.',
    ),
    htmlSection(
      'Latency',
      htmlTable(['Operation', 'Lane', 'Calls', 'Half, ms', '95 %, ms', '99 %, ms', 'Longest, ms'], latency),
      'What tills waited, by operation. Shares are upper bounds, at most an eighth above.',
    ),
    htmlSection(
      'Errors',
      htmlTable(['Operation', 'Lane', 'Status', 'Error', 'Calls', 'An exchange'], errors),
      'What tills were told.',
    ),
  ].join('\n');
}

function footer({ exchanges, audit_head, audit }: Report): string {
  const range = `exchanges ${exchanges.first_sequence} to ${exchanges.last_sequence}`;
  const checked = audit.intact
    ? `checked while this was made and intact, ${audit.lines} lines`
    : `broken at line ${audit.broken?.sequence ?? 0}`;
  return `<footer><p>Made of ${range}. Audit chain ${checked}; at line ${audit_head.sequence}: <code>${escaped(audit_head.hash)}</code>;
<code>puente audit verify --expect ${audit_head.sequence}:${escaped(audit_head.hash)}</code> proves that nothing was changed or cut off since.</p></footer>`;
}
