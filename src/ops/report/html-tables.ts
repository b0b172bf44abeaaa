/** The lists of a report as HTML tables, in the reader's language. */
import type { Said } from '../../error.ts';
import { actionOf, type Part, partsOf, writtenPart } from '../../locales/says.ts';
import type { Words } from '../../locales/words.ts';
import { OTHERS } from '../../mapping/tables.ts';
import { type Cell, escaped, type Html, htmlTable, type Marked, raw } from './page.ts';
import type { LossLine, Report } from './report.ts';
import { OWN_VALUE } from './sections.ts';
import { MORE_FIELDS, NO_OPERATION } from './tally.ts';

/** @param head keys of `report.head`. */
function listed(words: Words, head: readonly string[], rows: readonly (readonly Cell[])[]): Html {
  const names = head.map((name) => words.t(`report.head.${name}`));
  return htmlTable(names, rows, words.number);
}

/** Operations and the two sums that are none. */
function operationOf({ t }: Words, name: string): string {
  if (name === 'all') return t('report.operation.all');
  return name === NO_OPERATION ? t('report.operation.none') : name;
}

function nameOf({ t }: Words, name: string): string {
  return name === OTHERS ? t('report.others') : name;
}

export function merchantTable(words: Words, { merchants }: Report): Html {
  const { t } = words;
  const rows = merchants.map((one) => [
    nameOf(words, one.merchant_id),
    one.site ?? '',
    one.stage === 'canary' ? t('report.canary', { share: words.number(one.share) }) : t(`stage.${one.stage}`),
    one.stopped ? t('report.stopped') : '',
    t(`verdict.${one.verdict}`),
    one.blockers,
    one.calls,
    one.faults,
    one.losses,
    one.open_differences,
  ]);
  const moved = ['merchant', 'site', 'stage', 'safety_stop', 'verdict', 'in_the_way'];
  return listed(words, [...moved, 'calls', 'faults', 'losses', 'open_differences'], rows);
}

export function findingTable(words: Words, { findings }: Report): Html {
  const rows = findings.map(({ merchant_id, what, said, command }) => [
    merchant_id,
    told(words, what, said),
    code(command ?? ''),
  ]);
  return listed(words, ['merchant', 'what', 'command'], rows);
}

export function trafficTable(words: Words, { traffic }: Report): Html {
  const rows = traffic.map(({ operation, lane, calls, outcomes: { ok, business, auth, fault } }) => [
    operationOf(words, operation),
    words.t(`stage.${lane}`),
    ...[calls, ok, business, auth, fault],
  ]);
  return listed(words, ['operation', 'lane', 'calls', 'good', 'business', 'token', 'faults'], rows);
}

export function latencyTable(words: Words, { latency }: Report): Html {
  const rows = latency.map(({ operation, lane, calls, p50_ms, p95_ms, p99_ms, max_ms }) => [
    operationOf(words, operation),
    words.t(`stage.${lane}`),
    ...[calls, p50_ms, p95_ms, p99_ms, max_ms],
  ]);
  const shares = ['half_ms', 'most_ms', 'nearly_all_ms', 'longest_ms'];
  return listed(words, ['operation', 'lane', 'calls', ...shares], rows);
}

export function errorTable(words: Words, { errors }: Report): Html {
  const rows = errors.map((one) => [
    operationOf(words, one.operation),
    words.t(`stage.${one.lane}`),
    one.status,
    nameOf(words, one.error),
    one.calls,
    one.sample,
  ]);
  return listed(words, ['operation', 'lane', 'status', 'error', 'calls', 'exchange'], rows);
}

/** @param advised the code of a line's advice, null for none. */
export function lossTable(words: Words, { losses }: Report, advised: (loss: LossLine) => Said | null): Html {
  const { t } = words;
  const rows = losses.map((one) => [
    t(`weight.${one.weight}`),
    one.operation,
    nameOf(words, one.path),
    one.count,
    one.would_be_count,
    one.why === MORE_FIELDS ? t('report.more_fields') : written(words, one.why),
    told(words, one.advice, advised(one)),
  ]);
  return listed(words, ['weight', 'operation', 'field', 'lost', 'on_paper', 'why', 'advice'], rows);
}

export function differenceTable(words: Words, { differences }: Report): Html {
  const { t } = words;
  const rows = differences.map((one) => [
    one.merchant_id,
    one.operation,
    `${t(`report.difference.${one.what}`)} ${one.path}`.trimEnd(),
    code(one.legacy),
    code(one.orders),
    t(`difference.${one.state}`),
    one.count,
    instant(words, one.last_at),
  ]);
  return listed(words, ['merchant', 'operation', 'what', 'legacy', 'orders', 'state', 'calls', 'last'], rows);
}

export function shadowTable(words: Words, { shadow }: Report): Html {
  const rows = shadow.map((one) => [
    one.operation,
    words.t(`report.shadow.${one.verdict}`),
    code(one.code ?? ''),
    code(one.error ?? ''),
    one.count,
  ]);
  return listed(words, ['operation', 'verdict', 'code', 'told', 'calls'], rows);
}

export function noticeTable(words: Words, { notices }: Report): Html {
  const rows = notices.map(({ topic, made, delivered, retried, pending, stuck, dead }) => [
    topic,
    ...[made, delivered, retried, pending, stuck, dead],
  ]);
  return listed(words, ['topic', 'made', 'delivered', 'retried', 'waiting', 'stuck', 'given_up'], rows);
}

/** What a person gave as a reason stays as it was written. */
export function lineTable(words: Words, lines: Report['decisions']): Html {
  const rows = lines.map((one) => [
    instant(words, one.at),
    one.who,
    actionOf(words, one.action),
    one.subject,
    one.said === null ? one.reason : told(words, one.reason, one.said),
    ...[one.before, one.after, one.evidence].map((fact) => recorded(words, factText(fact))),
    String(one.sequence),
  ]);
  return listed(words, ['at', 'who', 'what', 'of', 'why', 'before', 'after', 'evidence', 'line'], rows);
}

export function limitationTable(words: Words, { limitations }: Report): Html {
  const rows = limitations
    .filter(({ hits }) => hits !== null)
    .map((one) => [...limitationCells(words, one), one.hits ?? 0, one.calls]);
  return listed(words, ['number', 'what', 'effect', 'way_around', 'hits', 'calls'], rows);
}

/** What tills may have met without anybody seeing it. */
export function unseenTable(words: Words, { limitations }: Report): Html {
  const rows = limitations
    .filter(({ hits }) => hits === null)
    .map((one) => [...limitationCells(words, one), written(words, one.unseen ?? ''), one.calls]);
  return listed(words, ['number', 'what', 'effect', 'way_around', 'uncounted', 'calls'], rows);
}

function limitationCells(words: Words, { id, title, effect, workaround }: Report['limitations'][number]): Cell[] {
  return [id, ...[title, effect, workaround].map((text) => written(words, text))];
}

export function assumptionTable(words: Words, { assumptions }: Report): Html {
  const rows = assumptions.map(({ name, value, sentence }) => [
    code(name),
    value.endsWith(OWN_VALUE) ? words.t('report.own_value', { value: value.slice(0, -OWN_VALUE.length) }) : code(value),
    written(words, sentence),
  ]);
  return listed(words, ['setting', 'value', 'purpose'], rows);
}

// What a report shows in its reader's language; what nobody has translated is marked as English, for whoever has it
// read aloud.

/** A sentence. @param said its code; null for a text that has none, and is English. */
export function told(words: Words, text: string, said: Said | null): Marked {
  return markedOf(words, partsOf(words, text, said));
}

/** A text of tables, settings or the register. */
export function written(words: Words, text: string): Marked {
  return markedOf(words, [writtenPart(words, text)], withCode);
}

/** Facts as they were recorded: names and values of programs, which have no other language. */
export function recorded(words: Words, text: string): Marked {
  return markedOf(words, text === '' ? [] : [{ english: text }]);
}

/** An instant, RFC 3339, as the language writes it; the exact one is beside it. */
export function instant({ time }: Words, at: string): Marked {
  const text = time(at);
  return { html: raw(`<time datetime="${escaped(at)}">${escaped(text)}</time>`), letters: text.length };
}

/** What somebody may type, or what a program said. */
export function code(text: string): Marked {
  return { html: raw(text === '' ? '' : `<code>${escaped(text)}</code>`), letters: text.length };
}

/** @param shown HTML of a text; facts stay as they are, whatever is in them. */
function markedOf({ language }: Words, parts: readonly Part[], shown: (text: string) => string = escaped): Marked {
  const html = parts.map((part) => {
    if (typeof part === 'string') return shown(part);
    return language === 'en' ? shown(part.english) : `<span lang="en">${shown(part.english)}</span>`;
  });
  const letters = parts.reduce((sum, part) => sum + (typeof part === 'string' ? part : part.english).length, 0);
  return { html: raw(html.join('')), letters };
}

/** Names of settings, commands and paths stand between backticks, as in Markdown. */
function withCode(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

// A fact of the audit chain in words that people read; scripts read the JSON.

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

/** Yes and no, and numbers with two decimals at most. */
function plain(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? String(Math.round(value * 100) / 100) : String(value);
}
