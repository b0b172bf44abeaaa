/** The proofs of the states and errors tables: every state and every documented code has a row, and no row is idle. */
import { legacyError } from '../contract/legacy-errors.ts';
import { intentStates } from '../contract/legacy-point.ts';
import { merchantOrderStates } from '../contract/merchant-orders.ts';
import { orderStatuses } from '../contract/orders.ts';
import { upstreamErrorCodes } from '../contract/upstream.ts';
import type { Filed } from './assemble.ts';
import type { Failure } from './check.ts';
import { detailConverters } from './detail.ts';
import { wantsDetail } from './errors.ts';
import type { WrittenErrorRow, WrittenErrors, WrittenOperation, WrittenStates } from './schema.ts';
import { UNKNOWN_STATUS } from './states.ts';

/** Every order status has a row that always holds, and every legacy state is produced or named as never produced. */
export function checkStates(table: Filed<WrittenStates>): Failure[] {
  const failures: Failure[] = [];
  const complain = (row: string | null, message: string) => failures.push({ file: table.file, row, message });
  const statuses = table.rows.filter((row) => row.detail === undefined).map((row) => row.status);
  const ended = new Set<string>();
  const known: readonly string[] = [...orderStatuses, UNKNOWN_STATUS];
  for (const status of known) {
    if (!statuses.includes(status)) complain(null, `the order status ${status} has no row`);
  }
  const legacy: readonly string[] = table.family === 'point' ? intentStates : merchantOrderStates;
  table.rows.forEach((row, index) => {
    const number = String(index + 1);
    if (!known.includes(row.status)) complain(number, `orders know no status '${row.status}'`);
    if (ended.has(row.status)) complain(number, `the order status ${row.status} has a row already`);
    const detailed = `${row.status} with ${row.detail}`;
    if (ended.has(detailed)) complain(number, `the order status ${detailed} has a row already`);
    ended.add(row.detail === undefined ? row.status : detailed);
    for (const intent of shown(row)) {
      if (!legacy.includes(intent)) complain(number, `${table.family} knows no state '${intent}'`);
    }
    if (row.status === UNKNOWN_STATUS && row.final) complain(number, 'a status nobody knows must not look final');
  });
  const produced = table.rows.flatMap(shown);
  table.never.forEach((row, index) => {
    if (!legacy.includes(row.shows)) complain(`never ${index + 1}`, `${table.family} knows no state '${row.shows}'`);
    if (produced.includes(row.shows)) complain(`never ${index + 1}`, `a row does produce ${row.shows}`);
  });
  for (const state of legacy) {
    const named = produced.includes(state) || table.never.some((row) => row.shows === state);
    if (!named) complain(null, `the state ${state} is neither produced nor named under never`);
  }
  return failures;
}

function shown(row: WrittenStates['rows'][number]): string[] {
  const states = typeof row.shows === 'string' ? [row.shows] : [row.shows.error, row.shows.finished];
  return row.settled === undefined ? states : [...states, row.settled];
}

/** Every documented [status, code] of every call of the family has a row that always holds; rows name only documented ones. */
export function checkErrors(table: Filed<WrittenErrors>, operations: readonly WrittenOperation[]): Failure[] {
  const failures: Failure[] = [];
  const calls = Object.keys(upstreamErrorCodes) as (keyof typeof upstreamErrorCodes)[]; // the keys of that very object
  const used = new Set(operations.filter((one) => one.family === table.family).map((one) => one.upstream));
  for (const call of calls.filter((one) => used.has(one))) {
    for (const [status, code] of upstreamErrorCodes[call]) {
      const rows = (table.calls[call] ?? []).filter((row) => row.status === status && row.code === code);
      const name = `${call} ${status} ${code}`.trim();
      if (rows.length === 0) failures.push({ file: table.file, row: null, message: `the error ${name} has no row` });
      else if (!rows.some(unconditional)) {
        failures.push({
          file: table.file,
          row: null,
          message: `the error ${name} has no row without a condition to end on`,
        });
      }
    }
  }
  for (const [call, rows] of Object.entries(table.calls)) {
    const known: readonly (readonly [number, string])[] = calls.find((one) => one === call)
      ? upstreamErrorCodes[call as keyof typeof upstreamErrorCodes]
      : [];
    if (known.length === 0)
      failures.push({ file: table.file, row: null, message: `no upstream call is named '${call}'` });
    else if (!used.has(call))
      failures.push({ file: table.file, row: null, message: `no operation of ${table.family} calls '${call}'` });
    rows.forEach((row, index) => {
      const number = `${call} ${index + 1}`;
      failures.push(...checkErrorRow(table, number, row));
      if (known.length > 0 && !known.some(([status, code]) => row.status === status && row.code === code)) {
        failures.push({
          file: table.file,
          row: number,
          message: `${call} documents no error ${row.status} '${row.code}'`,
        });
      }
      const before = rows
        .slice(0, index)
        .some((one) => one.status === row.status && one.code === row.code && unconditional(one));
      if (before)
        failures.push({ file: table.file, row: number, message: 'is never reached: a row before it always holds' });
    });
  }
  return [...failures, ...checkCommonRows(table)];
}

function checkCommonRows(table: Filed<WrittenErrors>): Failure[] {
  const failures = table.any.flatMap((row, index) => {
    const number = `any ${index + 1}`;
    const early = row.status === undefined && index < table.any.length - 1;
    const own = early ? [{ file: table.file, row: number, message: 'the default row stands last' }] : [];
    return [...own, ...checkErrorRow(table, number, row)];
  });
  const last = table.any.at(-1);
  if (last && (last.status !== undefined || !unconditional(last))) {
    failures.push({
      file: table.file,
      row: null,
      message: 'any has no default row: one without a status and a condition, at the end',
    });
  }
  return failures;
}

function checkErrorRow(table: Filed<WrittenErrors>, number: string, row: WrittenErrorRow): Failure[] {
  const failures: Failure[] = [];
  const complain = (message: string) => failures.push({ file: table.file, row: number, message });
  if (row.with !== undefined && !Object.hasOwn(detailConverters, row.with))
    complain(`no converter is called '${row.with}'`);
  const wants = wantsDetail(table.family, row.error);
  if (legacyError(table.family, row.error) === null) complain(`the legacy catalogue has no error '${row.error}'`);
  else if (wants && row.with === undefined)
    complain(`the message of ${row.error} has a place for a detail: give a converter`);
  else if (!wants && row.with !== undefined) complain(`the message of ${row.error} has no place for a detail`);
  return failures;
}

function unconditional(row: WrittenErrorRow): boolean {
  return row.says === undefined && row.property === undefined && row.with === undefined;
}
