/** A part of a report as CSV that a spreadsheet opens and never runs (`test/faults/README.md` F129). */
import { printable } from '../../locales/message.ts';
import { outcomes } from '../../proxy/evidence/exchange.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import { shown } from '../fields.ts';
import type { Named } from '../seen.ts';
import { type CsvPart, fieldsOf, type MoneyLine, moneyLine, type Report, type ReportPart } from './report.ts';

/** A number as JSON writes it: never a formula, whatever its sign. */
const NUMBER = /^-?\d+(\.\d+)?$/;
/** May start a formula in a spreadsheet, after any white space; full-width forms count too. */
const FORMULA = /^[\s\0]*[=+\-@|%\uff1d\uff0b\uff0d\uff20]/u;
/** The same within a text: a spreadsheet whose language separates cells by semicolons, as Spanish and Portuguese do, begins one there, and a line behind a break. */
const INNER_FORMULA = /([;\r\n][\s\0"]*)(?=[=+\-@|%\uff1d\uff0b\uff0d\uff20])/gu;
/** Spreadsheets trim these characters and interpret the rest. */
const LEADING_CONTROL = /^[\t\r\n\0]/;

/** One list as CSV: an empty one has its columns too. */
export interface CsvList<Row> {
  header: string;
  /** Ends with CRLF, as the header does. */
  lineOf(row: Row): string;
}

/** One list of the report, header first. */
export function reportCsv(report: Report, part: ReportPart): string {
  const rows: readonly (object & { merchant_id?: string })[] = part === 'audit' ? [report.audit] : report[part];
  const names = new Map(report.merchants.map(({ merchant_id, name }) => [merchant_id, name]));
  const { header, lineOf } = listCsv(part);
  return header + rows.map((row) => lineOf({ ...row, merchant_name: names.get(row.merchant_id ?? '') })).join('');
}

/** Last in each list that has the id of a merchant and not its name, `merchant_name`. Findings have their sentence, so its code is left out. */
export function listCsv(part: CsvPart): CsvList<object> {
  const shown = fieldsOf(part).filter((name) => part !== 'findings' || name !== 'said');
  const name = shown.includes('merchant_id') && !shown.includes('name') ? ['merchant_name'] : [];
  const names = [...shown, ...name].flatMap((name) => (name === 'outcomes' ? outcomes : name));
  const valuesOf = (values: Record<string, unknown>): unknown[] => names.map((name) => values[name]);
  return { header: csvLine(names), lineOf: (row) => csvLine(valuesOf(flat(row))) };
}

const EXCHANGE = [
  ...['sequence', 'id', 'at', 'merchant_id', 'operation', 'lane', 'stage', 'unit', 'legacy_id', 'status', 'error'],
  ...['outcome', 'duration_ms', 'tables_revision', 'losses', 'differences', 'verdict', 'limitations', 'merchant_name'],
] as const;

export const exchangesCsv: CsvList<Named<StoredExchange>> = {
  header: csvLine(EXCHANGE),
  lineOf({ lost, signatures, shadow, limitations, ...exchange }) {
    const counts = { losses: lost.length, differences: signatures.length };
    const texts = { verdict: shadow?.verdict, limitations: limitations?.join(' ') };
    const row: Record<string, unknown> = { ...shown(exchange), ...counts, ...texts };
    return csvLine(EXCHANGE.map((name) => row[name]));
  },
};

const moneyNames = [...Object.keys(moneyLine.shape), 'merchant_name'] as (keyof Named<MoneyLine>)[]; // the keys of its own form
export const salesCsv: CsvList<Named<MoneyLine>> = {
  header: csvLine(moneyNames),
  lineOf: (line) => csvLine(moneyNames.map((name) => line[name])),
};

/** RFC 4180 with every text quoted; a text that could be a formula begins with an apostrophe, and so does one within a text. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const risky = (FORMULA.test(text) && !NUMBER.test(text)) || LEADING_CONTROL.test(text);
  const safe = (risky ? `'${text}` : text).replaceAll(INNER_FORMULA, "$1'");
  return `"${printable(safe).replaceAll('"', '""')}"`;
}

/** Counts by outcome become columns of their own. */
function flat(row: object): Record<string, unknown> {
  const entries = Object.entries(row).flatMap(([name, value]): [string, unknown][] =>
    name === 'outcomes' ? Object.entries(value as object) : [[name, value]],
  );
  return Object.fromEntries(entries);
}
