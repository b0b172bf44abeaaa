/** A report as one HTML file, in its reader's language: no script, no network, no font to load; it opens offline and prints well. */
import type { Said } from '../../error.ts';
import { heard } from '../../locales/sentences.ts';
import type { Words } from '../../locales/words.ts';
import type { Finding } from '../readiness/verdict.ts';
import { drawCharts, type ReportCharts } from './charts.ts';
import {
  assumptionTable,
  differenceTable,
  errorTable,
  findingTable,
  latencyTable,
  limitationTable,
  lineTable,
  lossTable,
  merchantTable,
  noticeTable,
  shadowTable,
  told,
  trafficTable,
  unseenTable,
} from './html-tables.ts';
import { escaped, type Html, htmlPage, htmlSection, htmlVerdict, raw, type ShownFinding } from './page.ts';
import type { CutList, LossLine, Report } from './report.ts';

/**
 * The whole file.
 * @param advised the code of a loss's advice, which the tables know; null where it is not known, and the advice stays English.
 */
export async function reportHtml(
  report: Report,
  words: Words,
  advised: (loss: LossLine) => Said | null = () => null,
): Promise<string> {
  const { t } = words;
  const charts = await drawCharts(report, words);
  const id = report.merchant_id;
  const title = id === null ? t('report.title.fleet') : t('report.title.merchant', { id });
  return htmlPage(words.language, title, [
    header(report, words, title),
    brokenChain(report, words),
    verdict(report, words),
    ...sections(report, words, charts, lossTable(words, report, advised)),
    footer(report, words),
  ]);
}

function sections(report: Report, words: Words, charts: ReportCharts, losses: Html): string[] {
  const drawn = (chart: 'readiness' | 'traffic' | 'waits' | 'notices'): Html =>
    raw(charts[chart].picture + charts[chart].table);
  const part = (name: string, content: Html, more = '', counts = {}): string => {
    const lead = words.t(`report.lead.${name}`, counts) + more;
    return htmlSection(words.t(`report.section.${name}`), content, lead, words.t('report.none'));
  };
  const cut = (list: CutList): string => cutOf(report, words, list);
  // Of a merchant the verdict has its findings already.
  const in_the_way = report.merchant_id === null ? part('findings', findingTable(words, report), cut('findings')) : '';
  return [
    part('merchants', merchantTable(words, report), '', report.verdicts),
    in_the_way,
    part('readiness_days', drawn('readiness')),
    part('days', drawn('traffic')),
    part('traffic', trafficTable(words, report)),
    part('waits', drawn('waits')),
    part('latency', latencyTable(words, report)),
    part('errors', errorTable(words, report)),
    part('losses', raw(charts.losses.picture + losses)),
    part('differences', differenceTable(words, report), cut('differences')),
    part('shadow', shadowTable(words, report)),
    part('notices', raw(charts.topics + noticeTable(words, report))),
    part('notice_days', drawn('notices')),
    part('incidents', lineTable(words, report.incidents), cut('incidents')),
    part('decisions', lineTable(words, report.decisions), cut('decisions')),
    part('limitations', limitationTable(words, report), uncounted(report, words)),
    part('unseen', unseenTable(words, report)),
    part('assumptions', assumptionTable(words, report)),
  ];
}

function header({ period, made_at, exchanges, tables_revision }: Report, words: Words, title: string): string {
  const { t, time } = words;
  const { shadow, evidence } = exchanges.shed;
  const shed = shadow + evidence === 0 ? t('report.shed.none') : t('report.shed.some', { shadow, evidence });
  const times = { since: time(period.since), until: time(period.until), made_at: time(made_at) };
  return `<header>
<h1>${escaped(title)}</h1>
<p>${escaped(t('report.made', { ...times, revision: tables_revision }))}
${escaped(t('report.exchanges', { count: exchanges.count }))} ${escaped(shed)}</p>
</header>`;
}

/** Said first: nothing below that rests on the chain is proven any more. */
function brokenChain({ audit: { broken, lines } }: Report, words: Words): string {
  if (broken === null) return '';
  const { t } = words;
  const { text, said } = heard(broken.reason);
  const at = escaped(t('report.broken.at', { sequence: String(broken.sequence) }));
  const why = told(words, text, said).html;
  return `<section><h2>${escaped(t('report.broken.title'))}</h2><p class="verdict blocked">${at} ${why}. ${escaped(t('report.broken.so', { lines }))}</p></section>`;
}

function verdict({ readiness }: Report, words: Words): string {
  if (readiness === null) return '';
  const { t } = words;
  const shown = ({ what, said, command }: Finding): ShownFinding => ({ what: told(words, what, said), command });
  const lists = [
    [t('readiness.blockers'), readiness.blockers.map(shown)],
    [t('readiness.unproven'), readiness.unproven.map(shown)],
    [t('report.remarks'), readiness.remarks.map(shown)],
  ] as const;
  const found = htmlVerdict(readiness.verdict, t(`report.verdict.${readiness.verdict}`), lists);
  return `<section><h2>${escaped(t('report.section.verdict'))}</h2>${found}</section>`;
}

function cutOf({ left_out }: Report, { t }: Words, list: CutList): string {
  return left_out[list] === 0 ? '' : ` ${t('report.cut', { count: left_out[list] })}`;
}

function uncounted({ exchanges: { uncounted: count } }: Report, { t }: Words): string {
  return count === 0 ? '' : ` ${t('report.uncounted', { count })}`;
}

/** Numbers of lines are names: no language groups their digits. */
function footer({ exchanges, audit_head, audit }: Report, { t }: Words): string {
  const made = { first: String(exchanges.first_sequence), last: String(exchanges.last_sequence) };
  const sequence = String(audit_head.sequence);
  const checked =
    audit.broken === null
      ? t('report.footer.intact', { lines: audit.lines, sequence })
      : t('report.footer.broken', { at: String(audit.broken.sequence), sequence });
  const hash = escaped(audit_head.hash);
  return `<footer><p>${escaped(t('report.footer.made', made))} ${escaped(checked)} <code>${hash}</code>.
${escaped(t('report.footer.proof'))} <code>puente audit verify --expect ${sequence}:${hash}</code></p></footer>`;
}
