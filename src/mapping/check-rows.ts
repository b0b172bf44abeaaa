/** The proofs of one field table: every source field has a row, every target field is right, at every site. */

import { legacyError, legacyErrorNames } from '../contract/legacy-errors.ts';
import { intentStates } from '../contract/legacy-point.ts';
import { merchantOrderStates } from '../contract/merchant-orders.ts';
import { orderStatuses } from '../contract/orders.ts';
import { upstreamErrorCodes } from '../contract/upstream.ts';
import { UNKNOWN_STATUS } from './compile.ts';
import { contextSchema } from './context.ts';
import { contractNames, contractOf, findIn, leavesOf, looseObjectsOf, type Shape, shapeOf } from './contracts.ts';
import { converters } from './converters.ts';
import { detailConverters, wantsDetail } from './errors.ts';
import { misfitOf, takes } from './fits.ts';
import { whatFits } from './near.ts';
import { anyElement, contains, type Path, printPath } from './path.ts';
import { type Row, rowsOf, wholeRows } from './row.ts';
import {
  type Filed,
  numberOf,
  type WrittenErrorRow,
  type WrittenErrors,
  type WrittenOperation,
  type WrittenStates,
  type WrittenTable,
} from './schema.ts';

/** @param headers the table applied before a request's own rows, for the part `headers`; null for that table itself. */
export function checkTable(
  table: Filed<WrittenTable>,
  sites: readonly string[],
  headers: WrittenTable | null,
): Failure[] {
  const from = contractOf(table.from);
  const to = contractOf(table.to);
  const fail = (message: string): Failure => ({ file: table.file, row: null, message });
  if (!from) return [fail(`no contract schema is called '${table.from}'${whatFits(table.from, contractNames)}`)];
  if (!to) return [fail(`no contract schema is called '${table.to}'${whatFits(table.to, contractNames)}`)];
  const rows = wholeRows(rowsOf(table.table, table.rows));
  const view: View = { table, from: from.shape, to: to.shape, rows, headers };
  return [
    ...rows.flatMap((row) => checkRow(view, row, sites)),
    ...checkUnknown(view, sites),
    ...perSite(sites, (site) => uncovered(view, site)),
    ...perSite(sites, (site) => writtenTwice(view, site)),
    ...perSite(sites, (site) => unwritten(view, site)),
  ];
}

interface View {
  table: Filed<WrittenTable>;
  from: Shape;
  to: Shape;
  rows: Row[];
  headers: WrittenTable | null;
}

const contextShape = shapeOf(contextSchema);

function placeOf(row: Row): string {
  return row.id.slice(row.id.indexOf('#') + 1);
}

function checkRow({ table, from, to }: View, row: Row, sites: readonly string[]): Failure[] {
  const { failures, complain: complainOf } = complaints(table);
  const complain = (message: string, key?: string) => complainOf(placeOf(row), message, key);
  const sources = [...(row.verb === 'context' ? [] : [row.from]), ...row.reads];
  for (const path of sources) {
    if (!findIn(from, path))
      complain(`the source ${table.from} has no ${printPath(path)}${fitting(from, path)}`, keyOf(row, path));
  }
  if (row.verb === 'context' && !findIn(contextShape, row.from))
    complain(`the context has no ${printPath(row.from)}${fitting(contextShape, row.from)}`, 'context');
  if (row.to && !findIn(to, row.to))
    complain(`the target ${table.to} has no ${printPath(row.to)}${fitting(to, row.to)}`, 'to');
  const written = row.to && findIn(to, row.to)?.shape;
  const always = {
    ...(row.verb === 'const' ? { const: row.constant } : {}),
    ...(row.otherwise?.value === undefined ? {} : { otherwise: row.otherwise.value }),
  };
  for (const [key, value] of Object.entries(always))
    if (row.to && written && !takes(written, value))
      complain(`${printPath(row.to)} does not take ${JSON.stringify(value)}`, key);
  const read = row.verb === 'const' ? null : findIn(row.verb === 'context' ? contextShape : from, row.from)?.shape;
  if (row.converter !== null && !Object.hasOwn(converters, row.converter))
    complain(`no converter is called '${row.converter}'${whatFits(row.converter, Object.keys(converters))}`, 'with');
  else if (row.to && read && written) {
    const misfit = misfitOf(row, read, written, !table.to.endsWith('Call'));
    if (misfit !== null) complain(`${printPath(row.to)} ${misfit}`, row.converter === null ? row.verb : 'with');
  }
  for (const site of row.sites ?? []) {
    if (!sites.includes(site)) complain(`sites.yaml has no site ${site}${whatFits(site, sites)}`, 'sites');
  }
  return failures;
}

/** The paths of the shape that a wrong one may have meant. */
function fitting(shape: Shape, path: Path): string {
  const known = leavesOf(shape).map((leaf) => printPath(leaf));
  return whatFits(printPath(anyElement(path)), known);
}

/** The key of a row that names this source. */
function keyOf({ verb, from }: Row, path: Path): string {
  return path === from ? verb : 'reads';
}

/** A table has a policy for unknown keys exactly when its source accepts them. */
function checkUnknown({ table, from }: View, sites: readonly string[]): Failure[] {
  const loose = looseObjectsOf(from).length > 0;
  const fail = (message: string): Failure => ({ file: table.file, row: null, message });
  if (loose && table.unknown === undefined)
    return [fail(`${table.from} lets unknown keys in, but the table has no policy for them: unknown`)];
  if (!loose && table.unknown !== undefined)
    return [fail(`${table.from} lets no unknown keys in, so unknown means nothing`)];
  if (typeof table.unknown !== 'object') return [];
  const keys = Object.keys(table.unknown);
  const strange = keys.filter((key) => key !== 'elsewhere' && !sites.includes(key));
  return [
    ...strange.map((key) => fail(`unknown: sites.yaml has no site ${key}`)),
    ...(keys.includes('elsewhere') ? [] : [fail('unknown: needs a policy for all other sites: elsewhere')]),
  ];
}

function uncovered(view: View, site: string): Failure[] {
  const covered = view.rows.flatMap((row) => coverage(row, site));
  // Where an each walks a list, a row that reads the whole list accounts for none of its fields.
  const walked = view.rows.filter((row) => row.verb === 'each').map((row) => anyElement(row.from));
  const accounts = (path: Path, leaf: Path): boolean =>
    contains(path, leaf) && !walked.some((list) => contains(path, list) && contains(list, leaf));
  return leavesOf(view.from)
    .filter((leaf) => !covered.some((path) => accounts(path, leaf)) && !coveredByHeaders(view.headers, leaf))
    .map((leaf) => ({
      file: view.table.file,
      row: null,
      message: `the source field ${printPath(leaf)} has no row: copy it, or drop it and say why`,
    }));
}

function coverage(row: Row, site: string): Path[] {
  const fires = row.sites === null || row.sites.includes(site);
  if (!fires && row.elsewhere === null) return [];
  const own = row.verb === 'const' || row.verb === 'context' ? [] : [row.from];
  return [...own, ...row.reads].map(anyElement);
}

function coveredByHeaders(headers: WrittenTable | null, leaf: Path): boolean {
  const [part, ...rest] = leaf;
  if (headers === null || part !== 'headers') return false;
  return rowsOf(headers.table, headers.rows).some((row) => coverage(row, '').some((path) => contains(path, rest)));
}

function writtenTwice({ table, rows }: View, site: string): Failure[] {
  const writers = firing(rows, site).filter((row) => row.verb !== 'each');
  return writers.flatMap((row, index) => {
    const earlier = writers.slice(0, index).find((other) => overlaps(other.to, row.to));
    if (!earlier) return [];
    const message = `${printPath(row.to)} is already written by row ${placeOf(earlier)}`;
    return [{ file: table.file, row: placeOf(row), key: 'to', message }];
  });
}

function overlaps(one: Path, other: Path): boolean {
  return contains(one, other) || contains(other, one);
}

type Writer = Row & { to: Path };

function firing(rows: readonly Row[], site: string): Writer[] {
  const fires = (row: Row): row is Writer => row.to !== null && (row.sites === null || row.sites.includes(site));
  return rows.filter(fires);
}

/** Required target fields that no row writes, or only a row that may not fire. */
function unwritten({ table, from, to, rows }: View, site: string): Failure[] {
  const writers = firing(rows, site);
  return demanded(to, [], writers, true).flatMap(({ path, firmly }) => {
    const found = writers.filter((row) => row.verb !== 'each' && contains(anyElement(row.to), path));
    const fail = (message: string): Failure => ({
      file: table.file,
      row: found[0] ? placeOf(found[0]) : null,
      message,
    });
    if (found.length === 0) return [fail(`the required target field ${printPath(path)} is written by no row`)];
    if (!firmly || found.some((row) => alwaysFires(row, from))) return [];
    return [
      fail(`the required target field ${printPath(path)} hangs on an optional source field: give the row an otherwise`),
    ];
  });
}

/** Required leaves: of required objects, and of optional objects that some row begins to write. */
function demanded(
  shape: Shape,
  path: Path,
  writers: readonly Writer[],
  firmly: boolean,
): { path: Path; firmly: boolean }[] {
  if (shape.kind === 'array' && shape.item) {
    const item: Path = [...path, '[]'];
    const whole = writers.some((row) => row.verb !== 'each' && contains(anyElement(row.to), path));
    if (whole || (shape.least === 0 && !writers.some((row) => begins(row, item)))) return [{ path, firmly }];
    return demanded(shape.item, item, writers, firmly);
  }
  if (shape.kind !== 'object') return [{ path, firmly }];
  return [...shape.properties].flatMap(([key, child]) => {
    const below: Path = [...path, key];
    if (shape.required.has(key)) return demanded(child, below, writers, firmly);
    const begun = child.kind !== 'leaf' && child.kind !== 'any' && writers.some((row) => begins(row, below));
    return begun ? demanded(child, below, writers, false) : [];
  });
}

function begins(row: Writer, path: Path): boolean {
  const to = anyElement(row.to);
  return to.length > path.length && contains(path, to);
}

/** Stories provide context values, and constants are always written; a copy needs a source that is always present. */
function alwaysFires(row: Row, from: Shape): boolean {
  if (row.verb !== 'copy' || row.otherwise !== null) return true;
  return findIn(from, row.from)?.always ?? false;
}

/** Merges the same failure at several sites. */
function perSite(sites: readonly string[], proof: (site: string) => Failure[]): Failure[] {
  const found = new Map<string, { failure: Failure; at: string[] }>();
  for (const site of sites) {
    for (const failure of proof(site)) {
      const key = `${failure.row} ${failure.message}`;
      const known = found.get(key) ?? { failure, at: [] };
      known.at.push(site);
      found.set(key, known);
    }
  }
  return [...found.values()].map(({ failure, at }) =>
    at.length === sites.length ? failure : { ...failure, message: `${failure.message} (at ${at.join(', ')})` },
  );
}

// The proofs of the states and errors tables: every state and every documented code has a row, and every row is used.

/** Every order status has an unconditional row; every legacy state is produced or named as never produced. */
export function checkStates(table: Filed<WrittenStates>): Failure[] {
  const { failures, complain } = complaints(table);
  const statuses = table.rows.filter((row) => row.detail === undefined).map((row) => row.status);
  const taken = new Set<string>();
  const known: readonly string[] = [...orderStatuses, UNKNOWN_STATUS];
  for (const status of known) {
    if (!statuses.includes(status)) complain(null, `the order status ${status} has no row`);
  }
  const legacy: readonly string[] = table.family === 'point' ? intentStates : merchantOrderStates;
  table.rows.forEach((row, index) => {
    const number = numberOf(row, index);
    if (!known.includes(row.status))
      complain(number, `orders have no status '${row.status}'${whatFits(row.status, known)}`, 'status');
    if (taken.has(row.status)) complain(number, `the order status ${row.status} has a row already`);
    const detailed = `${row.status} with ${row.detail}`;
    if (taken.has(detailed)) complain(number, `the order status ${detailed} has a row already`);
    taken.add(row.detail === undefined ? row.status : detailed);
    for (const intent of shown(row)) {
      if (!legacy.includes(intent))
        complain(number, `${table.family} has no state '${intent}'${whatFits(intent, legacy)}`, 'shows');
    }
    if (row.status === UNKNOWN_STATUS && row.final) complain(number, 'an unknown status must not look final');
  });
  const produced = table.rows.flatMap(shown);
  table.never.forEach((row, index) => {
    if (!legacy.includes(row.shows))
      complain(`never ${index + 1}`, `${table.family} has no state '${row.shows}'${whatFits(row.shows, legacy)}`);
    if (produced.includes(row.shows)) complain(`never ${index + 1}`, `a row does produce ${row.shows}`);
  });
  for (const state of legacy) {
    const named = produced.includes(state) || table.never.some((row) => row.shows === state);
    if (!named) complain(null, `the state ${state} is neither produced nor named under never`);
  }
  return failures;
}

function codesOf(known: readonly (readonly [number, string])[], status: unknown): string[] {
  return known.filter(([one]) => one === status).map(([, code]) => code);
}

/** The legacy states that a row shows, sooner or later. */
export function shown(row: WrittenStates['rows'][number]): string[] {
  const states = typeof row.shows === 'string' ? [row.shows] : [row.shows.error, row.shows.finished];
  return row.settled === undefined ? states : [...states, row.settled];
}

/** Every documented [status, code] of the family's calls has an unconditional row; rows name only documented ones. */
export function checkErrors(table: Filed<WrittenErrors>, operations: readonly WrittenOperation[]): Failure[] {
  const { failures, complain } = complaints(table);
  const calls = Object.keys(upstreamErrorCodes) as (keyof typeof upstreamErrorCodes)[]; // the keys of that very object
  const used = new Set(operations.filter((one) => one.family === table.family).map((one) => one.upstream));
  for (const call of calls.filter((one) => used.has(one))) {
    for (const [status, code] of upstreamErrorCodes[call]) {
      const rows = (table.calls[call] ?? []).filter((row) => row.status === status && row.code === code);
      const name = `${call} ${status} ${code}`.trim();
      if (rows.length === 0) complain(null, `the error ${name} has no row`);
      else if (!rows.some(unconditional)) complain(null, `the error ${name} has no row without a condition to end on`);
    }
  }
  for (const [call, rows] of Object.entries(table.calls)) {
    const known: readonly (readonly [number, string])[] = calls.find((one) => one === call)
      ? upstreamErrorCodes[call as keyof typeof upstreamErrorCodes]
      : [];
    if (known.length === 0) complain(null, `no upstream call is named '${call}'${whatFits(call, calls)}`);
    else if (!used.has(call)) complain(null, `no operation of ${table.family} calls '${call}'`);
    rows.forEach((row, index) => {
      const number = `${call} ${numberOf(row, index)}`;
      failures.push(...checkErrorRow(table, number, row));
      if (known.length > 0 && !known.some(([status, code]) => row.status === status && row.code === code))
        complain(
          number,
          `${call} documents no error ${row.status} '${row.code}'${whatFits(String(row.code), codesOf(known, row.status))}`,
          'code',
        );
      const before = rows
        .slice(0, index)
        .some((one) => one.status === row.status && one.code === row.code && unconditional(one));
      if (before) complain(number, 'is never reached: a row before it always holds');
    });
  }
  return [...failures, ...checkCommonRows(table)];
}

function checkCommonRows(table: Filed<WrittenErrors>): Failure[] {
  const { failures, complain } = complaints(table);
  for (const [index, row] of table.any.entries()) {
    const number = `any ${numberOf(row, index)}`;
    if (row.status === undefined && index < table.any.length - 1) complain(number, 'the default row comes last');
    failures.push(...checkErrorRow(table, number, row));
  }
  const last = table.any.at(-1);
  if (last && (last.status !== undefined || !unconditional(last)))
    complain(null, 'any has no default row: one without a status and a condition, at the end');
  return failures;
}

function checkErrorRow(table: Filed<WrittenErrors>, number: string, row: WrittenErrorRow): Failure[] {
  const { failures, complain } = complaints(table);
  if (row.with !== undefined && !Object.hasOwn(detailConverters, row.with))
    complain(
      number,
      `no converter is called '${row.with}'${whatFits(row.with, Object.keys(detailConverters))}`,
      'with',
    );
  const wants = wantsDetail(table.family, row.error);
  if (legacyError(table.family, row.error) === null)
    complain(
      number,
      `the legacy catalogue has no error '${row.error}'${whatFits(row.error, legacyErrorNames(table.family))}`,
      'error',
    );
  else if (wants && row.with === undefined)
    complain(number, `the message of ${row.error} has a place for a detail: give a converter`);
  else if (!wants && row.with !== undefined) complain(number, `the message of ${row.error} has no place for a detail`);
  return failures;
}

function unconditional(row: WrittenErrorRow): boolean {
  return row.says === undefined && row.property === undefined && row.with === undefined;
}

export interface Failure {
  /** Relative to the directory of the tables. */
  file: string;
  /** Counted from 1; null for the whole file. */
  row: string | null;
  message: string;
  /** The key of the row, or of the file, that is wrong. */
  key?: string | undefined;
  /** In the file, counted from 1. */
  line?: number;
  column?: number;
}

/**
 * An empty list of failures of one file, and `complain`, which adds to it: row counted from 1 (null: the whole file),
 * message, and the key that is wrong.
 */
export function complaints({ file }: { file: string }) {
  const failures: Failure[] = [];
  const complain = (row: string | null, message: string, key?: string): void =>
    void failures.push({ file, row, message, ...(key === undefined ? {} : { key }) });
  return { failures, complain };
}
