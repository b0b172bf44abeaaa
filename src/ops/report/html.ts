/** A report as one HTML file in the reader's language: no script, network or font; opens offline and prints well. */
import type { Said } from '../../error.ts';
import type { Words } from '../../locales/words.ts';
import { type Chart, chartsOf, picturesOf, topicChart } from '../charts/charts.ts';
import {
  type Content,
  code,
  durationIn,
  type Html,
  html,
  plainTable,
  says,
  tableOf,
  withCode,
  written,
} from '../html.ts';
import { htmlPage, htmlSection, htmlVerdict } from './page.ts';
import type { CutList, Line, Report } from './report.ts';
import { nameOf, rowsOf, unitRows } from './rows.ts';

/** Pixels of a chart on a wide screen. */
const CHART_WIDTH = 720;

/** @param advised the code of a loss's advice, from the tables; null where unknown: the advice stays English. */
export function reportHtml(
  report: Report,
  words: Words,
  advised: (loss: Line<'losses'>) => Said | null = () => null,
): string {
  const { t } = words;
  const id = report.merchant_id;
  const [one] = report.merchants;
  const title =
    id === null ? t('report.title.fleet') : t('report.title.merchant', { id: nameOf(words, id, one?.name) });
  const sections = sectionsOf(words, rowsOf(report, words, advised));
  const annexes = annexesOf(report, words, sections);
  const found = (list: FirstList & CutList): Html => sections.begun(list, leftOut(report, words, list));
  return htmlPage(words.language, title, [
    header(report, words, title),
    brokenChain(report, words),
    verdict(report, words, MOST_FIRST),
    sections.begun('sums', null),
    html`<div class="findings">${[
      completion(report, words, MOST_FIRST_UNITS),
      found('unmatched'),
      found('approvals'),
      // The verdict on one merchant already lists its findings.
      id === null ? found('findings') : null,
    ]}</div>`,
    html`<h1 class="annexes">${t('report.annexes')}</h1>`,
    noneOf(words, annexes),
    html`<div class="annex">${annexes.map(({ shown }) => shown)}</div>`,
    certificate(report, words),
    footer(report, words),
  ]);
}

/** Lines of a list, and findings of each kind, on the first two pages: verdict and sums, then findings. An annex has all. */
const MOST_FIRST = 6;
const MOST_FIRST_UNITS = 8;
const MOST_FIRST_OF = { sums: 16, unmatched: 4, approvals: 4, findings: MOST_FIRST } as const;

interface Annex {
  title: string;
  /** Null content: nothing of it in the period. */
  is_empty: boolean;
  shown: Html;
}

type Rows = ReturnType<typeof rowsOf>;
type List = keyof Rows;
type FirstList = keyof typeof MOST_FIRST_OF;

/** Makes the sections of a report, each by the name of its texts. */
function sectionsOf(words: Words, rows: Rows) {
  const { t, number } = words;
  const table = (list: List, most = Number.POSITIVE_INFINITY): Html | null =>
    tableOf(words, 'report.head', rows[list].slice(0, most));
  const section = (name: string, content: Content, more: Content, counts = {}, place = ''): Html =>
    htmlSection(
      t(`report.section.${name}`),
      content,
      [t(`report.lead.${name}`, counts), more],
      t('report.none'),
      place,
    );
  const annex = (name: string, content: Content, more: Content = null, counts = {}, place = ''): Annex => {
    const shown = section(name, content, more, counts, place);
    return { title: t(`report.section.${name}`), is_empty: content === null, shown };
  };
  return {
    table,
    annex,
    listed: (list: List, more: Content = null, counts = {}, place = ''): Annex =>
      annex(list, table(list), more, counts, place),
    drawn(name: string, { draw, table: { head, rows: lines } }: Chart): Annex {
      const numbers = plainTable(head, lines, number);
      return annex(name, numbers && [picturesOf({ draw }, CHART_WIDTH), numbers], null, {}, 'quarter');
    },
    pictured(name: 'losses' | 'notices', chart: Pick<Chart, 'draw'>): Annex {
      const numbers = table(name);
      return annex(name, numbers && [picturesOf(chart, CHART_WIDTH), numbers]);
    },
    /** On the first pages, whole or as far as it has room. */
    begun(list: FirstList, more: Content): Html {
      const shown = table(list, MOST_FIRST_OF[list]);
      return section(list, shown && [shown, inAnnexes(words, rows[list].length - MOST_FIRST_OF[list])], more);
    },
    /** The whole of such a list, where the first pages have no room for it. */
    whole: (list: FirstList): Annex[] => (rows[list].length > MOST_FIRST_OF[list] ? [annex(list, table(list))] : []),
  };
}

/** @param count of lines that are not on the first pages. */
function inAnnexes({ t }: Words, count: number): Html | null {
  return count > 0 ? html`<p>${t('report.more_in_annexes', { count })}</p>` : null;
}

function annexesOf(report: Report, words: Words, { annex, listed, drawn, pictured, table, whole }: Sections): Annex[] {
  const cut = (list: CutList): Content => leftOut(report, words, list);
  const charts = chartsOf(report, words);
  const is_fleet = report.merchant_id === null;
  const [rows_of_sums, spans] = [table('opens'), table('move_sums')];
  const { uncounted: count } = report.exchanges;
  return [
    ...wholeVerdict(report, words),
    ...wholeCompletion(report, words),
    ...[whole('sums'), whole('unmatched'), whole('approvals'), is_fleet ? whole('findings') : []].flat(),
    // The command lists sales and refunds, a line each; the options of a sum choose its own.
    annex('opens', rows_of_sums && [html`<p>${commandFor(report, 'sales …')}</p>`, rows_of_sums]),
    // On paper the verdict of its only merchant says the same.
    listed('merchants', null, report.verdicts, is_fleet ? '' : 'screen'),
    // Paper has no room for the command of each line, its last cell.
    annex(
      'move_sums',
      spans && [
        html`<p class="screen">${words.t('report.span_command')} ${commandFor(null, 'sales …')}</p>`,
        html`<p class="printed">${words.t('report.paper.move_sums')}</p>`,
        spans,
      ],
      cut('move_sums'),
      {},
      'spans',
    ),
    listed('receivers'),
    pictured('notices', topicChart(report.notices, words)),
    drawn('notice_days', charts.notices),
    drawn('readiness_days', charts.readiness),
    drawn('days', charts.traffic),
    drawn('waits', charts.waits),
    listed('traffic', null, {}, 'half'),
    listed('latency', null, {}, 'half'),
    listed('errors', null, {}, 'half'),
    listed('shadow', null, {}, 'half'),
    pictured('losses', charts.losses),
    listed('differences', cut('differences')),
    listed('incidents', cut('incidents')),
    listed('decisions', cut('decisions')),
    listed('limitations', count === 0 ? null : ` ${words.t('report.uncounted', { count })}`),
    annex('unseen', onPaper(table('unseen'), unseenNames(report, words)), null, {}, 'unseen'),
    annex('assumptions', assumptionsIn(report, words, table('assumptions'))),
  ];
}

type Sections = ReturnType<typeof sectionsOf>;

/** What no annex has anything of, in one sentence on paper; on a screen each says so itself. */
function noneOf({ t, list }: Words, annexes: readonly Annex[]): Content {
  const names = annexes.filter(({ is_empty }) => is_empty).map(({ title }) => title);
  return names.length === 0 ? null : html`<p class="printed">${t('report.none_of', { names: list(names) })}</p>`;
}

/** The whole on a screen; on paper what fits. Null without a row. */
function onPaper(whole: Html | null, paper: Content): Content {
  return whole === null ? null : html`<div class="screen">${whole}</div><div class="printed">${paper}</div>`;
}

function unseenNames({ limitations }: Report, words: Words): Html {
  const items = limitations
    .filter(({ hits }) => hits === null)
    .map(({ id, title, calls }) => html`<li>${id} ${written(words, title)} (${words.number(calls)})</li>`);
  return html`<p>${withCode(words.t('report.paper.unseen'))}</p><ul class="compact">${items}</ul>`;
}

/** On paper a table of those that were changed; of the others names and values. */
function assumptionsIn({ assumptions }: Report, words: Words, table: Html | null): Content {
  const { t } = words;
  if (table === null) return null;
  const usual = assumptions.filter(({ is_default }) => is_default);
  const items = usual.map(({ name, value }) => html`<li>${name}: ${durationIn(words, name, value) ?? value}</li>`);
  return [
    usual.length === assumptions.length ? html`<div class="screen">${table}</div>` : table,
    html`<div class="printed"><p>${withCode(t('report.paper.assumptions'))}</p><ul class="compact">${items}</ul></div>`,
  ];
}

function wholeVerdict({ readiness }: Report, words: Words): Annex[] {
  if (readiness === null) return [];
  const { blockers, unproven, acknowledged, remarks } = readiness;
  if ([blockers, unproven, acknowledged, remarks].every(({ length }) => length <= MOST_FIRST)) return [];
  const title = words.t('report.section.verdict');
  const found = htmlVerdict(words, readiness, ({ what, said }) => says(words, what, said));
  return [{ title, is_empty: false, shown: html`<section><h2>${title}</h2>${found}</section>` }];
}

function wholeCompletion(report: Report, words: Words): Annex[] {
  const all = report.completion?.units.length ?? 0;
  const shown = all > MOST_FIRST_UNITS ? completion(report, words, all) : null;
  return shown === null ? [] : [{ title: words.t('report.section.completion'), is_empty: false, shown }];
}

/** How many lines are not in a list, and the command that lists all, where one does. */
function leftOut(report: Report, { t }: Words, list: CutList): Content {
  const count = report.left_out[list];
  if (count === 0) return null;
  const command = list === 'approvals' || list === 'unmatched' ? commandFor(report, list) : null;
  return html` ${t('report.cut', { count })} ${command}`;
}

/** @param report null where each line names its own merchant and period. */
function commandFor(report: Pick<Report, 'merchant_id' | 'period'> | null, part: string): Content {
  const { merchant_id = null, period } = report ?? {};
  const of = [merchant_id ?? '', period === undefined ? '' : `--since ${period.since} --until ${period.until}`];
  return code(['puente report', ...of, `--format csv --part ${part}`].filter((word) => word !== '').join(' '));
}

function header(report: Report, words: Words, title: string): Html {
  const { period, made_at, exchanges, tables_revision, deleted_before: gap, lost_between: lost } = report;
  const { t, time } = words;
  const { shadow, evidence } = exchanges.shed;
  const left_out = [
    ...(shadow + evidence === 0 ? [] : [t('report.shed.some', { shadow, evidence })]),
    ...(gap === null ? [] : [t('report.deleted', { at: time(gap) })]),
    ...(lost === null ? [] : [t('report.lost', { since: time(lost.since), until: time(lost.until) })]),
  ];
  const times = { since: time(period.since), until: time(period.until), made_at: time(made_at) };
  return html`<header>
<h1>${title}</h1>
<p>${t('report.made', { ...times, revision: tables_revision })}
${t('report.exchanges', { count: exchanges.count })} ${left_out.join(' ') || t('report.shed.none')}</p>
</header>`;
}

/** Shown first: with a broken chain, the parts below that rest on it are not proven. */
function brokenChain({ audit: { broken, lines } }: Report, words: Words): Content {
  if (broken === null) return null;
  const { t } = words;
  const { reason, said } = broken;
  const at = t('report.broken.at', { sequence: String(broken.sequence) });
  return html`<section><h2>${t('report.broken.title')}</h2><p class="verdict blocked">${at} ${says(words, reason, said)}. ${t('report.broken.so', { lines })}</p></section>`;
}

/** Of a merchant; of the fleet, how many stand where. */
function verdict({ merchant_id, readiness, verdicts }: Report, words: Words, most: number): Content {
  const of_fleet = merchant_id === null ? html`<p>${words.t('report.lead.merchants', verdicts)}</p>` : null;
  const found =
    readiness === null ? of_fleet : htmlVerdict(words, readiness, ({ what, said }) => says(words, what, said), most);
  return found && html`<section><h2>${words.t('report.section.verdict')}</h2>${found}</section>`;
}

/** What still needs legacy, of a merchant on orders. @param most units in the table. */
function completion({ completion: found }: Report, words: Words, most: number): Html | null {
  if (found === null) return null;
  const { t } = words;
  const { open_on_legacy: open, last_legacy_day, quiet_days, quiet_days_needed: needed } = found;
  const last = last_legacy_day === null ? 'none' : words.day(last_legacy_day);
  const lead = t('report.lead.completion', { open, last, quiet: quiet_days ?? 0, needed });
  // What still needs legacy comes first.
  const units = found.units.toSorted((a, b) => Number(a.may_go) - Number(b.may_go));
  const table = tableOf(words, 'report.head', unitRows(words, units.slice(0, most)));
  return htmlSection(
    t('report.section.completion'),
    table && [table, inAnnexes(words, units.length - most)],
    lead,
    t('decommission.no_unit'),
  );
}

/** To be printed and signed; of a merchant that needs legacy no more. */
function certificate(
  { certificate: found, certificate_since, completion: use, merchants: [one] }: Report,
  words: Words,
): Content {
  const { t } = words;
  if (found === null && certificate_since !== null)
    return html`<p>${t('certificate.whole', { since: words.time(certificate_since) })}</p>`;
  if (found === null) return null;
  const { merchant_id, last_legacy_day, quiet_days, units, acknowledged: accepted, audit_head, sign_off } = found;
  const { period, began_on: began, deleted_before: gap, units_new } = found;
  const id = nameOf(words, merchant_id, one?.name);
  const last = last_legacy_day === null ? 'none' : words.day(last_legacy_day);
  const facts = {
    ...{ id, at: words.time(found.issued_at), last, quiet: quiet_days ?? 0, units, units_new },
    ...{ accepted: accepted.length, needed: use?.quiet_days_needed ?? 0 },
  };
  const named = accepted.map(({ what, said }) => html`<li>${says(words, what, said)}</li>`);
  const rows = sign_off.map(({ as, name, signature, day }) => ({ as: t(`certificate.${as}`), name, signature, day }));
  return html`<section class="certificate"><h2>${t('certificate.title')}</h2><p>${t('certificate.says', facts)}</p>
<p>${t('certificate.period', { since: words.time(period.since), until: words.time(period.until) })}${
    began === null ? null : html` ${t('certificate.began', { on: words.day(began) })}`
  }${gap === null ? null : html` ${t('certificate.deleted', { at: words.time(gap) })}`}</p>
${named.length === 0 ? null : html`<ul>${named}</ul>`}${tableOf(words, 'certificate.head', rows)}
<p>${t('certificate.chain', { line: String(audit_head.sequence) })} <code>${audit_head.hash}</code></p></section>`;
}

function footer({ exchanges, audit_head, audit }: Report, { t }: Words): Html {
  const { count, first_sequence, last_sequence } = exchanges;
  const made = { count, first: String(first_sequence), last: String(last_sequence) };
  const sequence = String(audit_head.sequence);
  const checked =
    audit.broken === null
      ? t('report.footer.intact', { lines: audit.lines, sequence })
      : t('report.footer.broken', { at: String(audit.broken.sequence), sequence });
  return html`<footer><p>${t('report.footer.made', made)} ${checked} <code>${audit_head.hash}</code>.
${t('report.footer.proof')} <code>puente audit verify --expect ${sequence}:${audit_head.hash}</code></p></footer>`;
}
