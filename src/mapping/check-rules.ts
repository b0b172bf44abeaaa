/** The proofs of the states and errors tables: every state and every documented code has a row, and no row is idle. */
import { intentStates, pointErrors } from '../contract/legacy-point.ts';
import { orderStatuses, upstreamErrorCodes } from '../contract/orders.ts';
import type { Filed } from './assemble.ts';
import type { Failure } from './check.ts';
import { detailConverters } from './detail.ts';
import { wantsDetail } from './errors.ts';
import type { WrittenErrorRow, WrittenErrors, WrittenStates } from './schema.ts';
import { UNKNOWN_STATUS } from './states.ts';

/** Every order status has one row, and every intent state is produced or named as never produced. */
export function checkStates(table: Filed<WrittenStates>): Failure[] {
  const failures: Failure[] = [];
  const complain = (row: string | null, message: string) => failures.push({ file: table.file, row, message });
  const statuses = table.rows.map((row) => row.status);
  const known: readonly string[] = [...orderStatuses, UNKNOWN_STATUS];
  for (const status of known) {
    if (!statuses.includes(status)) complain(null, `the order status ${status} has no row`);
  }
  const legacy: readonly string[] = intentStates;
  table.rows.forEach((row, index) => {
    const number = String(index + 1);
    if (!known.includes(row.status)) complain(number, `orders know no status '${row.status}'`);
    if (statuses.indexOf(row.status) < index) complain(number, `the order status ${row.status} has a row already`);
    for (const intent of shown(row)) {
      if (!legacy.includes(intent)) complain(number, `intents know no state '${intent}'`);
    }
    if (row.status === UNKNOWN_STATUS && row.final) complain(number, 'a status nobody knows must not look final');
  });
  const produced = table.rows.flatMap(shown);
  table.never.forEach((row, index) => {
    if (!legacy.includes(row.intent)) complain(`never ${index + 1}`, `intents know no state '${row.intent}'`);
    if (produced.includes(row.intent)) complain(`never ${index + 1}`, `a row does produce ${row.intent}`);
  });
  for (const state of legacy) {
    const named = produced.includes(state) || table.never.some((row) => row.intent === state);
    if (!named) complain(null, `the intent state ${state} is neither produced nor named under never`);
  }
  return failures;
}

function shown(row: WrittenStates['rows'][number]): string[] {
  const states = typeof row.intent === 'string' ? [row.intent] : [row.intent.error, row.intent.finished];
  return row.settled === undefined ? states : [...states, row.settled];
}

/** Every documented [status, code] of every call has a row that always holds; rows name only documented ones. */
export function checkErrors(table: Filed<WrittenErrors>): Failure[] {
  const failures: Failure[] = [];
  const calls = Object.keys(upstreamErrorCodes) as (keyof typeof upstreamErrorCodes)[]; // the keys of that very object
  for (const call of calls) {
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
  const name = Object.keys(pointErrors).find((one) => one === row.error) as keyof typeof pointErrors | undefined; // a key of that very object
  if (name === undefined) complain(`the legacy catalogue has no error '${row.error}'`);
  else if (wantsDetail(name) && row.with === undefined)
    complain(`the message of ${name} has a place for a detail: give a converter`);
  else if (!wantsDetail(name) && row.with !== undefined) complain(`the message of ${name} has no place for a detail`);
  return failures;
}

function unconditional(row: WrittenErrorRow): boolean {
  return row.says === undefined && row.property === undefined && row.with === undefined;
}
