/** A report as one HTML file in the reader's language: no script, network or font; opens offline and prints well. */
import type { Said } from '../../error.ts';
import { actionOf } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { OTHERS } from '../../mapping/tables.ts';
import { chartsOf, picturesOf, topicChart } from '../charts/charts.ts';
import { rounded } from '../fields.ts';
import {
  type Content,
  code,
  type Html,
  html,
  plainTable,
  type Row,
  recorded,
  says,
  saysAll,
  tableOf,
  timeOf,
  written,
} from '../html.ts';
import { htmlPage, htmlSection, htmlVerdict } from './page.ts';
import type { CutList, Line, Report } from './report.ts';
import { OWN_VALUE } from './sections.ts';
import { MORE_FIELDS, NO_OPERATION } from './tally.ts';

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
  return htmlPage(words.language, title, [
    header(report, words, title),
    brokenChain(report, words),
    verdict(report, words),
    completion(report, words),
    ...sections(report, words, advised),
    certificate(report, words),
    footer(report, words),
  ]);
}

function sections(report: Report, words: Words, advised: (loss: Line<'losses'>) => Said | null): Content[] {
  const { t } = words;
  const rows = rowsOf(report, words, advised);
  const table = (list: keyof typeof rows): Html | null => tableOf(words, 'report.head', rows[list]);
  const part = (name: string, content: Content, more = '', counts = {}): Html =>
    htmlSection(t(`report.section.${name}`), content, t(`report.lead.${name}`, counts) + more, t('report.none'));
  const listed = (list: keyof typeof rows, more = '', counts = {}): Html => part(list, table(list), more, counts);
  const charts = chartsOf(report, words);
  const drawn = (name: string, { draw, table: { head, rows: lines } }: (typeof charts)['waits']): Html =>
    part(name, [picturesOf({ draw }, CHART_WIDTH), plainTable(head, lines, words.number)]);
  const cut = (list: CutList): string =>
    report.left_out[list] === 0 ? '' : ` ${t('report.cut', { count: report.left_out[list] })}`;
  const { uncounted: count } = report.exchanges;
  return [
    part('sums', [table('sums'), opening(report, words)]),
    listed('unmatched', cut('unmatched')),
    listed('approvals', cut('approvals')),
    // The verdict on one merchant already lists its findings.
    report.merchant_id === null ? listed('findings', cut('findings')) : null,
    html`<h1 class="annexes">${t('report.annexes')}</h1>`,
    listed('merchants', '', report.verdicts),
    listed('move_sums', cut('move_sums')),
    drawn('readiness_days', charts.readiness),
    drawn('days', charts.traffic),
    listed('traffic'),
    drawn('waits', charts.waits),
    listed('latency'),
    listed('errors'),
    part('losses', [picturesOf(charts.losses, CHART_WIDTH), table('losses')]),
    listed('differences', cut('differences')),
    listed('shadow'),
    part('notices', [picturesOf(topicChart(report.notices, words), CHART_WIDTH), table('notices')]),
    drawn('notice_days', charts.notices),
    listed('incidents', cut('incidents')),
    listed('decisions', cut('decisions')),
    listed('limitations', count === 0 ? '' : ` ${t('report.uncounted', { count })}`),
    listed('unseen'),
    listed('assumptions'),
  ];
}

/** The lists of a report as rows; each cell by the key of its column's name (`report.head`). */
function rowsOf(report: Report, words: Words, advised: (loss: Line<'losses'>) => Said | null) {
  const { t } = words;
  const limitation = ({ id, title, effect, workaround }: Report['limitations'][number]) => {
    return {
      number: id,
      what: written(words, title),
      effect: written(words, effect),
      way_around: written(words, workaround),
    };
  };
  return {
    merchants: report.merchants.map(({ stage, ...one }) => ({
      merchant: nameOf(words, one.merchant_id, one.name),
      site: one.site,
      stage: stage === 'canary' ? t('report.canary', { share: words.number(one.share) }) : t(`stage.${stage}`),
      safety_stop: one.stopped ? t('report.stopped') : null,
      verdict: t(`verdict.${one.verdict}`),
      in_the_way: one.blockers,
      calls: one.calls,
      faults: one.faults,
      losses: one.losses,
      open_differences: one.open_differences,
    })),
    findings: report.findings.map(({ merchant_id, what, said, command }) => {
      return { merchant: merchant_id, what: says(words, what, said), command: code(command) };
    }),
    ...moneyRows(report, words),
    ...callRows(report, words, advised),
    incidents: report.incidents.map((line) => auditRow(words, line)),
    decisions: report.decisions.map((line) => auditRow(words, line)),
    limitations: report.limitations.flatMap(({ hits, calls, ...one }) =>
      hits === null ? [] : [{ ...limitation({ ...one, hits, calls }), hits, calls }],
    ),
    // Limitations that tills may have met without a count.
    unseen: report.limitations
      .filter(({ hits }) => hits === null)
      .map((one) => ({ ...limitation(one), uncounted: written(words, one.unseen ?? ''), calls: one.calls })),
    assumptions: report.assumptions.map(({ name, value, sentence }) => ({
      setting: code(name),
      value: value.endsWith(OWN_VALUE)
        ? t('report.own_value', { value: value.slice(0, -OWN_VALUE.length) })
        : code(value),
      purpose: written(words, sentence),
    })),
  } satisfies Record<string, Row[]>;
}

function moneyRows(report: Report, words: Words) {
  const { t } = words;
  const summed = ({ what, lane, family, outcome, count, without_amount, ...money }: Line<'sums'>) => ({
    what: t(`money.${what}`),
    lane: t(`stage.${lane}`),
    family: t(`family.${family}`),
    outcome: t(`outcome.${outcome}`),
    count,
    amount: count === without_amount ? null : moneyOf(words, money),
    amount_unknown: without_amount,
  });
  return {
    sums: report.sums.map(summed),
    move_sums: report.move_sums.map(({ merchant_id, since, until: _until, line, before, after, ...one }) => ({
      merchant: merchant_id,
      since: timeOf(words, since),
      move: line === null ? t('report.no_move') : recorded(words, `${factText(before)} → ${factText(after)}`),
      ...summed(one),
    })),
    unmatched: report.unmatched.map(
      ({ state, known_to, id, order_id, found_at, merchant_id, unit, what, said, ...one }) => ({
        sale: id,
        state: t(`unmatched.${state}`),
        known_to: t(`unmatched.${known_to}`),
        amount: moneyOf(words, one),
        what: says(words, what, said),
        order: order_id,
        merchant: merchant_id,
        unit,
        since: timeOf(words, found_at),
      }),
    ),
    approvals: report.approvals.map(({ at, merchant_id, id, order_id, unit, outcome, approvals, ...money }) => ({
      sale: id,
      order: order_id,
      at: timeOf(words, at),
      merchant: merchant_id,
      unit,
      outcome: t(`outcome.${outcome}`),
      approvals,
      amount: moneyOf(words, money),
    })),
  };
}

function moneyOf(words: Words, { currency, amount }: { currency: string | null; amount: string | null }): Content {
  return amount === null ? null : html`<span class="money">${currency} ${words.decimal(amount)}</span>`;
}

/** How the sales of a sum are listed, for the first sum whose sales are stored. */
function opening({ merchant_id, period, sums }: Report, { t }: Words): Html | null {
  const first = sums.find(({ currency }) => currency !== null);
  if (first === undefined) return null;
  const { what, lane, family, currency, outcome } = first;
  const command = [
    'puente report',
    merchant_id,
    `--since ${period.since} --until ${period.until} --format csv --part sales`,
  ];
  const by = `--what ${what} --lane ${lane} --family ${family} --currency ${currency} --outcome ${outcome}`;
  return html`<p>${t('report.opening')} ${code([...command.filter((word) => word !== null), by].join(' '))}</p>`;
}

function callRows(report: Report, words: Words, advised: (loss: Line<'losses'>) => Said | null) {
  const { t } = words;
  return {
    traffic: report.traffic.map(({ calls, outcomes: { ok, business, auth, fault }, ...one }) => {
      return { ...laneOf(words, one), calls, good: ok, business, token: auth, faults: fault };
    }),
    latency: report.latency.map(({ calls, p50_ms, p95_ms, p99_ms, max_ms, ...one }) => {
      const shares = { half_ms: p50_ms, most_ms: p95_ms, nearly_all_ms: p99_ms, longest_ms: max_ms };
      return { ...laneOf(words, one), calls, ...shares };
    }),
    errors: report.errors.map(({ status, error, calls, sample, ...one }) => {
      return { ...laneOf(words, one), status, error: nameOf(words, error), calls, exchange: sample };
    }),
    losses: report.losses.map((one) => ({
      weight: t(`weight.${one.weight}`),
      operation: one.operation,
      field: nameOf(words, one.path),
      lost: one.count,
      on_paper: one.would_be_count,
      why: one.why === MORE_FIELDS ? t('report.more_fields') : written(words, one.why),
      advice: says(words, one.advice, advised(one)),
    })),
    differences: report.differences.map(({ merchant_id, operation, what, path, legacy, orders, ...one }) => ({
      merchant: merchant_id,
      operation,
      what: `${t(`report.difference.${what}`)} ${path}`.trimEnd(),
      legacy: code(legacy),
      orders: code(orders),
      state: t(`difference.${one.state}`),
      calls: one.count,
      last: timeOf(words, one.last_at),
    })),
    shadow: report.shadow.map(({ operation, verdict, code: refusal, error, count }) => {
      const refused = { code: code(refusal), told: code(error) };
      return { operation, verdict: t(`report.shadow.${verdict}`), ...refused, calls: count };
    }),
    notices: report.notices.map(({ topic, made, delivered, retried, pending, stuck, dead }) => {
      return { topic, made, delivered, retried, waiting: pending, stuck, given_up: dead };
    }),
  };
}

/** Operations, and the two sums that are no operation. */
function laneOf({ t }: Words, { operation, lane }: { operation: string; lane: string }) {
  const names: Readonly<Record<string, string>> = {
    all: t('report.operation.all'),
    [NO_OPERATION]: t('report.operation.none'),
  };
  return { operation: names[operation] ?? operation, lane: t(`stage.${lane}`) };
}

function nameOf({ t }: Words, id: string, name: string | null = null): string {
  if (id === OTHERS) return t('report.others');
  return name === null ? id : `${id} (${name})`;
}

/** A person's reason is shown as it was written. */
function auditRow(
  words: Words,
  { at, who, action, subject, reason, said, sequence, ...facts }: Report['decisions'][number],
) {
  return {
    at: timeOf(words, at),
    who,
    what: actionOf(words, action),
    of: subject,
    why: said === null ? reason : says(words, reason, said),
    change: changeIn(words, facts),
    evidence: recorded(words, factText(facts.evidence)),
    // Line numbers are names: their digits are not grouped.
    line: String(sequence),
  };
}

/** In words; the recorded facts of a line that an earlier version wrote in another form. */
function changeIn(
  words: Words,
  { change, change_said, before, after }: Pick<Line<'decisions'>, 'change' | 'change_said' | 'before' | 'after'>,
): Content {
  if (change_said.length > 0) return saysAll(words, change, change_said, '; ');
  return after === null ? null : recorded(words, `${factText(before) || 'none'} → ${factText(after) || 'none'}`);
}

function header({ period, made_at, exchanges, tables_revision }: Report, words: Words, title: string): Html {
  const { t, time } = words;
  const { shadow, evidence } = exchanges.shed;
  const shed = shadow + evidence === 0 ? t('report.shed.none') : t('report.shed.some', { shadow, evidence });
  const times = { since: time(period.since), until: time(period.until), made_at: time(made_at) };
  return html`<header>
<h1>${title}</h1>
<p>${t('report.made', { ...times, revision: tables_revision })}
${t('report.exchanges', { count: exchanges.count })} ${shed}</p>
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

function verdict({ readiness }: Report, words: Words): Content {
  if (readiness === null) return null;
  const found = htmlVerdict(words, readiness, ({ what, said }) => says(words, what, said));
  return html`<section><h2>${words.t('report.section.verdict')}</h2>${found}</section>`;
}

/** What still needs legacy, of a merchant on orders. */
function completion({ completion: found }: Report, words: Words): Content {
  if (found === null) return null;
  const { t } = words;
  const { open_on_legacy: open, last_legacy_day, quiet_days, quiet_days_needed: needed } = found;
  const last = last_legacy_day === null ? 'none' : words.day(last_legacy_day);
  const lead = t('report.lead.completion', { open, last, quiet: quiet_days ?? 0, needed });
  const rows = unitRows(words, found.units);
  return htmlSection(
    t('report.section.completion'),
    tableOf(words, 'report.head', rows),
    lead,
    t('decommission.no_unit'),
  );
}

/** The terminals and points of sale of a merchant, each with its last call on legacy. */
export function unitRows(words: Words, units: NonNullable<Report['completion']>['units']): Row[] {
  const { t } = words;
  return units.map((one) => ({
    unit: one.unit,
    new_work: t(`stage.${one.new_work}`),
    last_on_legacy: one.last_legacy_at === null ? t('decommission.never') : timeOf(words, one.last_legacy_at),
    operation: one.last_operation ?? (one.last_legacy_at === null ? null : t('decommission.or_earlier')),
    quiet_days: one.quiet_days,
    open: one.open_on_legacy,
    may_go: t(one.may_go ? 'decommission.yes' : 'decommission.no'),
    why: says(words, one.why, one.why_said),
  }));
}

/** To be printed and signed; of a merchant that needs legacy no more. */
function certificate({ certificate: found }: Report, words: Words): Content {
  if (found === null) return null;
  const { t } = words;
  const { merchant_id: id, last_legacy_day, quiet_days, units, audit_head, sign_off } = found;
  const last = last_legacy_day === null ? 'none' : words.day(last_legacy_day);
  const facts = { id, at: words.time(found.issued_at), last, quiet: quiet_days ?? 0, units };
  const rows = sign_off.map(({ as, name, signature, day }) => ({ as: t(`certificate.${as}`), name, signature, day }));
  return html`<section class="certificate"><h2>${t('certificate.title')}</h2><p>${t('certificate.says', facts)}</p>
${tableOf(words, 'certificate.head', rows)}
<p>${t('certificate.chain', { line: String(audit_head.sequence) })} <code>${audit_head.hash}</code></p></section>`;
}

function footer({ exchanges, audit_head, audit }: Report, { t }: Words): Html {
  const made = { first: String(exchanges.first_sequence), last: String(exchanges.last_sequence) };
  const sequence = String(audit_head.sequence);
  const checked =
    audit.broken === null
      ? t('report.footer.intact', { lines: audit.lines, sequence })
      : t('report.footer.broken', { at: String(audit.broken.sequence), sequence });
  return html`<footer><p>${t('report.footer.made', made)} ${checked} <code>${audit_head.hash}</code>.
${t('report.footer.proof')} <code>puente audit verify --expect ${sequence}:${audit_head.hash}</code></p></footer>`;
}

// A fact of the audit chain as text for people; scripts read the JSON.

/** `verdict ready, samples 120, target (stage orders, share none)`; '' for nothing. */
export function factText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return plain(value);
  return factParts(value).join(', ');
}

function factParts(value: object): string[] {
  if (Array.isArray(value)) return value.map(inside);
  return Object.entries(value).map(([name, part]) => `${name.replaceAll('_', ' ')} ${inside(part)}`);
}

function inside(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value !== 'object') return plain(value) || 'empty';
  const parts = factParts(value);
  return parts.length === 0 ? 'none' : `(${parts.join(', ')})`;
}

function plain(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? String(rounded(value, 2)) : String(value);
}
