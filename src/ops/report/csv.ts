/** A part of a report as CSV that a spreadsheet opens and never runs (`test/faults/README.md` F129). */

import { printable } from '../../locales/localize.ts';
import { outcomes } from '../../proxy/evidence/exchange.ts';
import type { StoredExchange } from '../../proxy/records/evidence.ts';
import { iso } from '../fields.ts';
import type { Report, ReportPart } from './report.ts';

const DECISION = ['sequence', 'at', 'who', 'action', 'subject', 'reason', 'before', 'after', 'evidence', 'said'];
/** The columns of each list, so that an empty one has them too. */
const COLUMNS: Record<ReportPart, readonly string[]> = {
  traffic: ['operation', 'lane', 'calls', ...outcomes],
  latency: ['operation', 'lane', 'calls', 'p50_ms', 'p95_ms', 'p99_ms', 'max_ms'],
  waits: ['from_ms', 'up_to_ms', 'legacy', 'orders'],
  errors: ['operation', 'lane', 'status', 'error', 'calls', 'sample'],
  days: ['day', 'legacy', 'orders', 'faults'],
  losses: ['weight', 'operation', 'table', 'path', 'count', 'would_be_count', 'why', 'advice'],
  differences: [
    'merchant_id',
    'signature',
    'operation',
    'what',
    'path',
    'legacy',
    'orders',
    'state',
    'count',
    'first_at',
    'last_at',
  ],
  shadow: ['operation', 'verdict', 'code', 'error', 'count'],
  notices: ['topic', 'made', 'delivered', 'retried', 'pending', 'stuck', 'dead'],
  notice_days: ['day', 'made', 'delivered', 'pending', 'stuck', 'dead'],
  incidents: DECISION,
  decisions: DECISION,
  assumptions: ['name', 'value', 'sentence'],
  limitations: ['id', 'title', 'effect', 'workaround', 'hits', 'calls', 'unseen'],
  merchants: [
    'merchant_id',
    'site',
    'stage',
    'share',
    'stopped',
    'verdict',
    'blockers',
    'calls',
    'faults',
    'losses',
    'open_differences',
  ],
  readiness_days: ['day', 'ready', 'inconclusive', 'blocked'],
  findings: ['merchant_id', 'code', 'what', 'command', 'operation', 'sample'],
  audit: ['intact', 'lines', 'head', 'broken'],
};

/** A number as JSON writes it: never a formula, whatever its sign. */
const NUMBER = /^-?\d+(\.\d+)?$/;
/** What a spreadsheet may take for the start of a formula, after any white space; full-width forms count too. */
const FORMULA = /^[\s\0]*[=+\-@|%\uff1d\uff0b\uff0d\uff20]/u;
/** Spreadsheets trim these and look at what follows. */
const LEADING_CONTROL = /^[\t\r\n\0]/;

/** One list of the report, header first. */
export function reportCsv(report: Report, part: ReportPart): string {
  const rows: readonly object[] = part === 'audit' ? [report.audit] : report[part];
  const names = COLUMNS[part];
  const lines = rows.map((row) => {
    const values: Record<string, unknown> = flat(row);
    return csvLine(names.map((name) => values[name]));
  });
  return [csvLine(names), ...lines].join('');
}

/** Columns of the streamed exchanges. */
const EXCHANGE_COLUMNS = [
  'sequence',
  'id',
  'at',
  'merchant_id',
  'operation',
  'lane',
  'stage',
  'unit',
  'legacy_id',
  'status',
  'error',
  'outcome',
  'duration_ms',
  'tables_revision',
  'losses',
  'differences',
  'verdict',
  'limitations',
] as const;

export function exchangesHeader(): string {
  return csvLine(EXCHANGE_COLUMNS);
}

export function exchangeCsv(exchange: StoredExchange): string {
  const { sequence, id, at, merchant_id, operation, lane, stage, unit, legacy_id, status, error, outcome } = exchange;
  const { duration_ms, tables_revision, lost, signatures, shadow, limitations } = exchange;
  return csvLine([
    sequence,
    id,
    iso(at),
    merchant_id,
    operation,
    lane,
    stage,
    unit,
    legacy_id,
    status,
    error,
    outcome,
    duration_ms,
    tables_revision,
    lost.length,
    signatures.length,
    shadow?.verdict ?? null,
    limitations?.join(' ') ?? null,
  ]);
}

/** RFC 4180 with every text quoted; a text that could be a formula begins with an apostrophe. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const risky = (FORMULA.test(text) && !NUMBER.test(text)) || LEADING_CONTROL.test(text);
  const safe = risky ? `'${text}` : text;
  return `"${printable(safe).replaceAll('"', '""')}"`;
}

/** Sums of outcomes become columns of their own. */
function flat(row: object): Record<string, unknown> {
  const entries = Object.entries(row).flatMap(([name, value]): [string, unknown][] =>
    name === 'outcomes' ? Object.entries(value as object) : [[name, value]],
  );
  return Object.fromEntries(entries);
}
