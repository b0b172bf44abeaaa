/** What no row of one's own may change: amounts, which sale and unit it is, how it is paid, and what became of it. */
import { isDeepStrictEqual } from 'node:util';
import { type Family, legacyError, legacyErrorNames } from '../contract/legacy-errors.ts';
import type { IntentState } from '../contract/legacy-point.ts';
import type { MerchantOrderState } from '../contract/merchant-orders.ts';
import type { Failure } from './check-rows.ts';
import { whatFits } from './near.ts';
import type { WrittenErrorRow, WrittenErrors, WrittenStates, WrittenTable } from './schema.ts';

type FieldRow = WrittenTable['rows'][number];
/** Of one's own, with the number by which it is named. */
type Own<Row> = Row & { number: string };
type StateRow = WrittenStates['rows'][number];

/** One file that is laid, and what is wrong with it. */
export interface LaidFile {
  file: string;
  /** All sites of `sites.yaml`. */
  sites: readonly string[];
  failures: Failure[];
}

/** Kinds of fields by the last name of their path, in both APIs. The rest of a message may be laid over. */
const KEPT: readonly (readonly [kind: string, name: RegExp])[] = [
  ['an amount', /(?:^|_)(?:amount|minor|fee|fees|price|cost|currency)(?:_|$)|^tax(?:es)?$|^discounts?$/],
  ['an amount', /^(?:quantity|installments|items|transactions|cash_outs?|payments?|refunds?)$/],
  ["the sale's identity", /^(?:id|external_reference|additional_info|order|body|x-idempotency-key|qr_data)$/],
  [
    "the sale's identity",
    /^(?:(?:order|in_store_order|merchant_order|payment|intent|refund|preference|transaction)_id|refund_number)$/,
  ],
  // Commissions are paid by these.
  ["the sale's identity", /^(?:platform|integrator|sponsor)_id$/],
  [
    "the sale's seller or unit",
    /^(?:(?:terminal|device|pos|external_pos|store|external_store|user|collector|caller)_id|operating_mode)$/,
  ],
  ['how, or how long, the sale can be paid', /^(?:type|mode|payment_mode|expiration_time|expires)$/],
  ['how, or how long, the sale can be paid', /^(?:default_type|payment_type(?:_id)?|payment_method_id|voucher_type)$/],
  ['what became of the sale', /^(?:state|status|status_detail|order_status|cancelled|captured|date_approved|events)$/],
  ['what became of the sale', /^(?:x-allow-cancelable-status|live_mode|is_test)$/],
];

/** A row whose field is of a kept kind, or in whose list one is. A silent drop passes nothing on. */
function isKept(row: FieldRow, role: WrittenTable['role']): boolean {
  return row.policy !== 'silent' && (kindOf(row, role) !== null || (row.rows ?? []).some((one) => isKept(one, role)));
}

/** In words, after "is". @param row a kept one. */
function whatIsKept(row: FieldRow, role: WrittenTable['role']): string {
  return kindOf(row, role) ?? "a list with the sale's identity or amounts";
}

function kindOf({ to, drop, weight }: FieldRow, role: WrittenTable['role']): string | null {
  if (role === 'headers' && to !== undefined) return 'read by the rows of every request';
  const last = lastName((to ?? drop) as string); // the grammar demands a target of every row but a drop
  for (const [kind, name] of KEPT) if (name.test(last)) return kind;
  if (weight === 'identity') return "the sale's identity";
  return weight === 'money' ? 'an amount, or decides about one' : null;
}

/** Without the indexes behind it. @param path of the grammar in `path.ts`. */
function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).replace(/\[.*$/, '');
}

/**
 * What moves, names or settles a sale is passed on as shipped; other words beside it, its reason and advice, may differ.
 * @param before the rows below.
 */
export function keepsSale(table: WrittenTable, before: readonly FieldRow[], row: Own<FieldRow>, laid: LaidFile): void {
  const sites = row.sites ?? laid.sites;
  const { role } = table;
  const near = before.filter((one) => isKept(one, role) && (isReplacedBy(one, row) || overlap(one.to, row.to)));
  const hit = near.filter((one) => left(one, row.sites, laid.sites).replaced.length > 0);
  const other = hit.find((one) => {
    const has = one.sites ?? laid.sites;
    return !isSameInSubstance(one, row, role) || !sites.every((site) => has.includes(site));
  });
  const [shipped] = other === undefined && hit.length === 0 ? near : [other];
  if (shipped !== undefined) refuseChange(table, shipped, row, row.to === undefined ? 'drop' : 'to', laid);
  else if (hit.length === 0 && row.to !== undefined && isKept(row, role))
    complain(
      laid,
      row.number,
      'to',
      `${row.to} is ${whatIsKept(row, role)}, and no row of the shipped ${table.table} writes it from this source, so no row of your own may; leave the row out`,
    );
}

/** @param row takes the target away. */
export function keepsTarget(
  table: WrittenTable,
  rows: readonly FieldRow[],
  row: Own<{ remove: string }>,
  laid: LaidFile,
): void {
  const guarded = rows.find((one) => one.to === row.remove && isKept(one, table.role));
  if (guarded !== undefined) refuseChange(table, guarded, row, 'remove', laid);
}

/**
 * An order has been made when its answer is translated: a refusal would mean to the till that it was not.
 * @param converters those of shipped answers, which refuse nothing.
 */
export function keepsAnswer(row: FieldRow, number: string, converters: readonly string[], laid: LaidFile): void {
  for (const key of ['policy', 'elsewhere'] as const) if (row[key] === 'refuse') complain(laid, number, key, MADE);
  if (row.with !== undefined && !converters.includes(row.with))
    complain(
      laid,
      number,
      'with',
      `no shipped answer uses ${row.with}, which may refuse${whatFits(row.with, converters)}`,
    );
  for (const inner of row.rows ?? []) keepsAnswer(inner, number, converters, laid);
}
export const MADE = 'an answer can not be refused, because its order has been made; choose silent or note';

function refuseChange(
  { table, role }: WrittenTable,
  shipped: FieldRow,
  { number }: { number: string },
  key: 'to' | 'drop' | 'remove',
  laid: LaidFile,
): void {
  const { to = takenBy(shipped) } = shipped;
  const message = `row ${shipped.number} of ${table} has ${to}, which is ${whatIsKept(shipped, role)}: it may be neither replaced nor removed, or a sale would be another than the till's; leave this row out, or keep source and converter as they are`;
  complain(laid, number, key, message);
}

function complain({ file, failures }: LaidFile, row: string, key: string, message: string): void {
  failures.push({ file, row, key, message: `${key}: ${message}` });
}

/** One path is the other, or a part of it: a value for the whole replaces the part. */
function overlap(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long.startsWith(short) && /^(?:$|[.[])/.test(long.slice(short.length));
}

/** Of a list the elements' kept rows, at the same sites; its other rows may differ. */
export function isSameInSubstance(one: FieldRow, other: FieldRow, role: WrittenTable['role']): boolean {
  const substance = ({ why: _why, advice: _advice, sites: _sites, number: _number, rows: _rows, ...rest }: FieldRow) =>
    rest;
  if (!isDeepStrictEqual(substance(one), substance(other))) return false;
  const [inner, theirs] = [one.rows ?? [], other.rows ?? []];
  const has = (rows: readonly FieldRow[], row: FieldRow): boolean =>
    rows.some((each) => isSameInSubstance(each, row, role) && isDeepStrictEqual(each.sites, row.sites));
  const keeps = (row: FieldRow): boolean => isKept(row, role);
  return [
    inner.every((row) => !keeps(row) || has(theirs, row)),
    theirs.every(
      (row) => !(keeps(row) || inner.some((each) => keeps(each) && overlap(each.to, row.to))) || has(inner, row),
    ),
  ].every(Boolean);
}

/** A row that writes replaces what wrote its target, and a drop of its source; a drop replaces what took its source. */
export function isReplacedBy(one: FieldRow, row: FieldRow): boolean {
  if (row.to !== undefined && row.to === one.to) return true;
  if (row.drop !== undefined) return takenBy(one) === row.drop;
  return one.drop !== undefined && one.drop === takenBy(row);
}

function takenBy({ copy, drop, each }: FieldRow): string | undefined {
  return copy ?? drop ?? each;
}

/** The sites of a row that another one takes, and those that are left to it. @param taken missing: all. */
export function left(
  one: FieldRow,
  taken: readonly string[] | undefined,
  sites: readonly string[],
): { replaced: string[]; kept: string[] } {
  const has = one.elsewhere !== undefined ? sites : (one.sites ?? sites);
  return {
    replaced: has.filter((site) => taken?.includes(site) ?? true),
    kept: has.filter((site) => taken !== undefined && !taken.includes(site)),
  };
}

// States: what an order may still become is a fact of upstream, by which units are freed and sales are settled. A till
// that sees a paid sale as open sells again, and one that sees an open sale as paid gives the goods away.

/** What a till takes for one outcome; a state in none of these stands for itself (`docs/field-notes.md` Point §2, QR §2). */
const ALIKE: readonly (readonly (IntentState | MerchantOrderState)[])[] = [
  ['OPEN', 'ON_TERMINAL', 'PROCESSING'],
  ['CANCELED', 'ERROR', 'ABANDONED'],
  ['payment_required', 'payment_in_process'],
];

/** @param shipped the row of the same order status. */
export function keepsState({ table }: WrittenStates, shipped: StateRow, row: Own<StateRow>, laid: LaidFile): void {
  for (const key of ['final', 'rank', 'settled'] as const) {
    if (row[key] === shipped[key]) continue;
    const message = `row ${shipped.number} of ${table} has ${shipped[key] ?? 'none'}, and so must this row: it says what the order may still become, not what is shown`;
    complain(laid, row.number, key, message);
  }
  for (const policy of ['error', 'finished'] as const) {
    const [before, after] = [shownBy(shipped, policy), shownBy(row, policy)];
    const fits: readonly string[] = ALIKE.find((states) => (states as readonly string[]).includes(before)) ?? [before];
    if (fits.includes(after)) continue;
    const message = `row ${shipped.number} of ${table} shows ${before}, and tills take ${after} for another outcome, so they would act on what is not so; what fits: ${fits.join(', ')}`;
    complain(laid, row.number, 'shows', message);
    break;
  }
  const removed = shipped.notices.filter((topic) => !row.notices.includes(topic));
  if (removed.length === 0) return;
  const message = `row ${shipped.number} of ${table} announces ${removed.join(', ')}, and so must this row: shops wait for it; notices can only be added`;
  complain(laid, row.number, 'notices', message);
}

function shownBy({ shows }: StateRow, policy: 'error' | 'finished'): string {
  return typeof shows === 'string' ? shows : shows[policy];
}

// Errors: a till that takes a charge or a refund that may have been made for refused makes it again.

/** What an error means to a till about its call; null for one that the family does not have. */
function meaningOf(family: Family, name: string): string | null {
  const status = legacyError(family, name)?.status;
  if (status === undefined) return null;
  if (['outcome_unknown', 'no_answer', 'bad_answer', 'internal'].includes(name)) return UNKNOWN;
  if (name === 'already_refunded') return 'that it was done before';
  if (status === 404) return 'that there is nothing of the kind';
  return status === 409 ? 'that something else is in the way' : 'that it was not done';
}
const UNKNOWN = 'that it may have been done';
const MOST_NAMED = 10;

/** Any error may become one that leaves the outcome open. @param answering the rows below, for the same answers of upstream. */
export function keepsMeaning(
  { table, family }: WrittenErrors,
  call: string,
  answering: readonly WrittenErrorRow[],
  row: Own<WrittenErrorRow>,
  laid: LaidFile,
): void {
  const meaning = meaningOf(family, row.error);
  const [shipped] = answering;
  if (meaning === null || meaning === UNKNOWN || shipped === undefined) return;
  if (answering.some(({ error }) => meaningOf(family, error) === meaning)) return;
  const before = meaningOf(family, shipped.error);
  // A long list is of no use.
  const fits = legacyErrorNames(family).filter((name) => [before, UNKNOWN].includes(meaningOf(family, name)));
  const message = `row ${call}.${shipped.number} of ${table} answers ${shipped.error}, which tells the till ${before}; ${row.error} would tell it ${meaning}, and it would act on what is not so${fits.length > MOST_NAMED ? '' : `; what fits: ${fits.join(', ')}`}`;
  complain(laid, `${call} ${row.number}`, 'error', message);
}
