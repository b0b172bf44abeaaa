/** The lists of a report as rows of tables, in the reader's language. */
import type { Said } from '../../error.ts';
import { actionOf, factText } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { OTHERS } from '../../mapping/tables.ts';
import { changeOf } from '../audit.ts';
import {
  answered,
  type Content,
  code,
  durationIn,
  html,
  moneyOf,
  type Row,
  recorded,
  says,
  saysEach,
  timeOf,
  written,
} from '../html.ts';
import { namedAs } from '../seen.ts';
import type { Line, Report } from './report.ts';
import { OWN_VALUE } from './sections.ts';
import { MORE_FIELDS, NO_OPERATION } from './tally.ts';

/** The lists of a report as rows; each cell by the key of its column's name (`report.head`). */
export function rowsOf(report: Report, words: Words, advised: (loss: Line<'losses'>) => Said | null) {
  const { t } = words;
  const names = new Map(report.merchants.map(({ merchant_id, name }) => [merchant_id, name]));
  const merchantIn: MerchantIn = (id) => nameOf(words, id, names.get(id) ?? null);
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
      return { merchant: merchantIn(merchant_id), what: says(words, what, said), command: code(command) };
    }),
    ...moneyRows(report, words, merchantIn),
    ...callRows(report, words, advised, merchantIn),
    incidents: report.incidents.map((line) => auditRow(words, line, merchantIn)),
    decisions: report.decisions.map((line) => auditRow(words, line, merchantIn)),
    limitations: report.limitations.flatMap(({ hits, calls, ...one }) =>
      hits === null ? [] : [{ ...limitation({ ...one, hits, calls }), hits, calls }],
    ),
    // Limitations that tills may have met without a count.
    unseen: report.limitations
      .filter(({ hits }) => hits === null)
      .map((one) => ({ ...limitation(one), uncounted: written(words, one.unseen ?? ''), calls: one.calls })),
    assumptions: report.assumptions.map((one) => assumptionRow(words, one)),
  } satisfies Record<string, Row[]>;
}

function assumptionRow(words: Words, { name, value, sentence, is_default }: Line<'assumptions'>) {
  return {
    setting: is_default ? html`<span class="usual">${code(name)}</span>` : code(name),
    value: value.endsWith(OWN_VALUE)
      ? words.t('report.own_value', { value: value.slice(0, -OWN_VALUE.length) })
      : (durationIn(words, name, value) ?? code(value)),
    purpose: written(words, sentence),
  };
}

/** One sum as the cells of a row. */
export function sumRow(words: Words, { what, lane, family, outcome, count, without_amount, ...money }: Line<'sums'>) {
  const { t } = words;
  return {
    what: t(`money.${what}`),
    lane: t(`stage.${lane}`),
    family: t(`family.${family}`),
    outcome: t(`outcome.${outcome}`),
    count,
    amount: count === without_amount ? null : moneyOf(words, money),
    amount_unknown: without_amount,
  };
}

/** A sum between two moves of a merchant. @param move the line of the audit that it begins with, where it is at hand. */
export function moveSumRow(
  words: Words,
  { merchant_id: _merchant, since, until: _until, line, before, after, ...sum }: Line<'move_sums'>,
  move: Change = { ...changeOf({ action: 'stage', detail: { before, after } }), before, after },
) {
  const begins = line === null ? words.t('report.no_move') : changeIn(words, move);
  return { since: timeOf(words, since), move: begins, ...sumRow(words, sum) };
}

/** The options of `puente report --part sales` that choose the sales of a sum. */
function optionsOf({ what, lane, family, currency, outcome }: Line<'sums'>): string {
  return `--what ${what} --lane ${lane} --family ${family} --currency ${currency} --outcome ${outcome}`;
}

/** The id of a merchant, and its name. */
type MerchantIn = (id: string) => string;

function moneyRows(report: Report, words: Words, merchantIn: MerchantIn) {
  const { t } = words;
  const listed = new Map([...report.decisions, ...report.incidents].map((one) => [one.sequence, one]));
  return {
    sums: report.sums.map((sum) => sumRow(words, sum)),
    opens: report.sums.flatMap((sum) => {
      const { count, amount } = sumRow(words, sum);
      const { what, lane, family, currency, outcome } = sum;
      // Of calls on payments legacy alone has the rows.
      if (currency === null) return [];
      const names = [`money.${what}`, `stage.${lane}`, `family.${family}`, `outcome.${outcome}`];
      return [{ sum: names.map((name) => t(name)).join(', '), count, amount, command: code(optionsOf(sum)) }];
    }),
    move_sums: report.move_sums.map((one) => ({
      merchant: merchantIn(one.merchant_id),
      ...moveSumRow(words, one, listed.get(one.line ?? -1)),
      command: code(`${one.merchant_id} --since ${one.since} --until ${one.until} ${optionsOf(one)}`),
    })),
    unmatched: report.unmatched.map(
      ({ state, known_to, id, order_id, found_at, merchant_id, unit, what, said, ...one }) => ({
        sale: id,
        state: t(`unmatched.${state}`),
        known_to: t(`unmatched.${known_to}`),
        amount: moneyOf(words, one),
        what: [says(words, what, said), acceptedBy(words, one)],
        order: order_id,
        merchant: merchantIn(merchant_id),
        unit,
        since: timeOf(words, found_at),
      }),
    ),
    approvals: report.approvals.map(({ at, merchant_id, id, order_id, unit, outcome, approvals, state, ...one }) => ({
      sale: id,
      state: [t(`unmatched.${state}`), acceptedBy(words, one)],
      order: order_id,
      at: timeOf(words, at),
      merchant: merchantIn(merchant_id),
      unit,
      outcome: t(`outcome.${outcome}`),
      approvals,
      amount: moneyOf(words, one),
    })),
  };
}

/** Who has accepted a disagreement, when and why. */
function acceptedBy(
  words: Words,
  {
    acknowledged_by: who,
    acknowledged_at: at,
    acknowledged_why: why,
  }: Pick<Line<'approvals'>, `acknowledged_${'by' | 'at' | 'why'}`>,
): Content {
  return who === null ? null : html` ${who}, ${timeOf(words, at)}: ${why}`;
}

function callRows(
  report: Report,
  words: Words,
  advised: (loss: Line<'losses'>) => Said | null,
  merchantIn: MerchantIn,
) {
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
      merchant: merchantIn(merchant_id),
      operation,
      what: `${t(`report.difference.${what}`)} ${path}`.trimEnd(),
      legacy: code(legacy),
      orders: answered(words, orders),
      state: t(`difference.${one.state}`),
      calls: one.count,
      last: timeOf(words, one.last_at),
    })),
    shadow: report.shadow.map(({ operation, verdict, code: refusal, error, count }) => {
      const refused = { code: code(refusal), answer: code(error) };
      return { operation, verdict: t(`report.shadow.${verdict}`), ...refused, calls: count };
    }),
    receivers: report.receivers.map(({ merchant_id, receiver, success_rate: rate, ...one }) => ({
      receiver: receiver === null ? t('report.held_back') : nameOf(words, receiver),
      merchant: merchantIn(merchant_id),
      success: rate === null ? null : `${words.number(rate)} %`,
      delivered: one.delivered,
      late: one.late,
      refused: one.refused,
      held: one.held,
      last_delivered: timeOf(words, one.last_delivered_at),
      last_refused: timeOf(words, one.last_refused_at),
    })),
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

/** `OTHERS` stands for the merchants beyond the limit of a list. */
export function nameOf({ t }: Words, id: string, name: string | null = null): string {
  return id === OTHERS ? t('report.others') : namedAs(id, name);
}

/** A person's reason is shown as it was written. */
function auditRow(
  words: Words,
  { at, who, action, subject, reason, said, sequence, ...facts }: Report['decisions'][number],
  merchantIn: MerchantIn,
) {
  return {
    at: timeOf(words, at),
    who,
    what: actionOf(words, action),
    of: merchantIn(subject),
    why: said === null ? reason : says(words, reason, said),
    change: changeIn(words, facts),
    // Long; on paper its beginning.
    evidence: html`<div class="evidence">${recorded(words, factText(facts.evidence))}</div>`,
    // Line numbers are names: their digits are not grouped.
    line: String(sequence),
  };
}

type Change = Pick<Line<'decisions'>, 'change' | 'change_said' | 'before' | 'after'>;

/** In words; the recorded facts of a line that an earlier version wrote in another form. */
function changeIn(words: Words, { change, change_said, before, after }: Change): Content {
  if (change_said.length > 0) return saysEach(words, change, change_said, '; ');
  return after === null ? null : recorded(words, `${factText(before) || 'none'} → ${factText(after) || 'none'}`);
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
