/** Evaluates an exchange: which source fields reached the other side, which were lost, how the sides differ. */
import { legacyError } from '../../contract/legacy-errors.ts';
import type { CallName, LimitationCondition } from '../../mapping/limitations.ts';
import type { Loss, Operation, SourceField, Tables } from '../../mapping/tables.ts';
import { createLru } from '../concurrency.ts';
import type { CoverageCell, DifferenceSeen, LossSeen, RecordedExchange } from '../records/evidence.ts';
import type { UpstreamCall } from '../upstream/upstream.ts';
import type { Exchange, UpstreamNote } from './exchange.ts';
import { redactLosses } from './redact.ts';

/** The result of a comparison; empty without one. */
export interface Found {
  differences: DifferenceSeen[];
  /** Of a double read: fields of the answer. */
  cells: CoverageCell[];
  compared: boolean;
  /** What the tables made of the request of a double read. */
  paper?: { fired: readonly string[]; losses: readonly Loss[] };
  /** Fields of the call that its fired rows don't prove (`fieldsThatCame` in `mapping/assemble.ts`). */
  came: readonly string[];
}

export const nothingFound: Found = { differences: [], cells: [], compared: false, came: [] };

/** One run of the tables over the request, for the real call or for its shadow. */
interface Run {
  fired: readonly string[];
  losses: readonly Loss[];
  would_be: boolean;
  /** A row refused the call: the last one that fired. */
  refused: boolean;
}

type Findings = Pick<RecordedExchange, 'losses' | 'limitations' | 'cells' | 'lost' | 'differences' | 'compared'>;

type Judged = JudgedCall & Pick<Exchange, 'outcome' | 'shadow'>;

export type Evaluate = (seen: Exchange, found: Found) => RecordedExchange;

/** An exchange with what the tables in force for its merchant find in it, as it is stored. */
export function recordedOf(tables: Tables, seen: Exchange, found: Found): RecordedExchange {
  return { ...seen, ...findingsOf(tables.of(seen.merchant_id), seen, found) };
}

/**
 * Cells and losses of a call. Every loss is one `different` cell, also when several elements of a list lost it. The
 * only other one is the field whose row refused the call, so that the ledger adds up to what was executed and not
 * mapped.
 */
function findingsOf(tables: Tables, seen: Judged, found: Found): Findings {
  const limitations = limitationsMet(tables, seen);
  const exchange = { ...seen, losses: redactLosses(seen.losses) };
  const operation = tables.operations.find(({ name }) => name === exchange.operation);
  const cells = new Map<string, CoverageCell>();
  const lost = new Map<string, LossSeen>();
  // A call with a refused token proves nothing about the merchant's calls.
  if (operation !== undefined && exchange.outcome !== 'auth') {
    const fields = tables.fields(operation, null);
    const came = new Set(found.came);
    for (const run of runsOf(exchange, found)) {
      for (const loss of run.losses) noteLoss(lost, tables, operation, loss, run.would_be);
      for (const field of seenFields(fields, run, lost, came)) mark(cells, operation.name, field, 'equal');
      const refused = refusedField(fields, run, came);
      if (refused !== null) mark(cells, operation.name, refused, 'different');
    }
    // Answer rows fire for each of Puente's own sales that a search finds; those of the event list always fire.
    const isSearched = isSearch(operation) && operation.story !== 'list_events';
    const has_found = isSearched && exchange.outcome === 'ok' && exchange.fired.length > 0;
    if (has_found) mark(cells, operation.name, FOUND, 'equal');
    for (const [field, { unknown }] of lost) mark(cells, operation.name, field, 'different', unknown);
  }
  for (const cell of found.cells) mark(cells, cell.operation, cell.field, cell.outcome, cell.unknown);
  const { differences, compared } = found;
  const { losses } = exchange;
  return { losses, limitations, cells: [...cells.values()], lost: [...lost.values()], differences, compared };
}

function runsOf(exchange: Judged, { paper: read }: Found): Run[] {
  const { shadow, fired, losses } = exchange;
  // A table refuses before anything is sent; a later refusal is upstream's.
  const refused = exchange.lane === 'orders' && exchange.error !== null && exchange.upstream.length === 0;
  const real: Run = { fired, losses, would_be: false, refused };
  if (read !== undefined) return [real, { ...read, would_be: true, refused: false }];
  if (shadow === null) return [real];
  return [
    real,
    { fired: shadow.fired, losses: shadow.losses, would_be: true, refused: shadow.verdict === 'refused_here' },
  ];
}

function noteLoss(
  lost: Map<string, LossSeen>,
  tables: Tables,
  operation: Operation,
  { table, path: where, why, unknown }: Loss,
  would_be: boolean,
): void {
  const path = where.replaceAll(/\[\d+\]/g, '[]');
  const field = fieldOfLoss(tables, operation, table, path);
  if (lost.has(field)) return;
  const { weight } = tables.facts(table, path);
  const seen = { operation: operation.name, table, path, why, weight, would_be };
  lost.set(field, unknown === true ? { ...seen, unknown } : seen);
}

/** The name in coverage: a table of headers omits the prefix `headers.`. */
export function fieldOfLoss(tables: Tables, operation: Operation | undefined, table: string, path: string): string {
  if (operation === undefined || table === operation.request) return path;
  const of_headers = tables.fields(operation, null).some((one) => one.table === table);
  return of_headers ? `headers.${path}` : path;
}

/** Fields that the call had and a row has handled. */
function seenFields(
  fields: readonly SourceField[],
  run: Run,
  lost: ReadonlyMap<string, LossSeen>,
  came: ReadonlySet<string>,
): string[] {
  const fired = new Set(run.fired);
  return fields
    .filter((one) => {
      if (fired.has(one.row)) return one.proves || came.has(one.field);
      // A quiet row fires only to object: its field passed unless it, or an object around it, was lost.
      return one.quiet && !run.refused && fired.size > 0 && came.has(one.field) && !isInside(one.field, lost);
    })
    .map(({ field }) => field);
}

function isInside(field: string, lost: ReadonlyMap<string, LossSeen>): boolean {
  return [...lost.keys()].some(
    (path) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`),
  );
}

/** The field of the row that refused; of several, the first that the call had. */
function refusedField(fields: readonly SourceField[], run: Run, came: ReadonlySet<string>): string | null {
  if (!run.refused) return null;
  const last = run.fired.at(-1);
  const blamed = fields.filter((one) => one.row === last && one.refuses);
  return (blamed.find(({ proves, field }) => proves || came.has(field)) ?? blamed[0])?.field ?? null;
}

/** `different` wins: a field may have several rows, and one that fails is enough. */
function mark(
  cells: Map<string, CoverageCell>,
  operation: string,
  field: string,
  outcome: CoverageCell['outcome'],
  unknown?: true,
): void {
  const key = `${operation} ${field}`;
  if (outcome === 'equal' && cells.has(key)) return;
  cells.set(key, { operation, field, outcome, ...(unknown === true ? { unknown } : {}) });
}

/** The coverage cell of a search that found one of Puente's own sales. */
export const FOUND = 'answer.found';

/** True for a search or a list, which may be empty. */
export function isSearch({ story }: Operation): boolean {
  return story.startsWith('search_') || story === 'list_events';
}

/** Remembered kinds of equal calls; polls and plain sales have some dozens. */
const WAYS = 1_000;
/** Calls with more losses, or longer keys, are hardly ever equal. */
const MOST_LOSSES = 16;
const LONGEST_WAY = 4_000;

/** Like `recordedOf`, but equal calls share their findings, frozen: the store sums a batch by them. */
export function createEvaluation(tables: Tables): Evaluate {
  const known = createLru<Findings & Pick<Exchange, 'fired'>>(WAYS);
  return (seen, found) => {
    const own = tables.of(seen.merchant_id);
    // Calls of merchants with tables of their own would need a key of them in each way.
    const way = own === tables && isPlain(found) ? wayOf(seen, found) : null;
    if (way === null) return recordedOf(tables, seen, found);
    let findings = known.get(way);
    if (findings === undefined) {
      findings = { ...findingsOf(tables, seen, found), fired: seen.fired };
      const { losses, limitations, cells, lost, fired } = findings;
      for (const list of [losses, limitations, cells, lost, fired]) Object.freeze(list);
      known.set(way, findings);
    }
    return { ...seen, ...findings };
  };
}

function isPlain({ differences, cells, compared, paper }: Found): boolean {
  return !compared && paper === undefined && differences.length + cells.length === 0;
}

/** Everything that `findingsOf` uses, as a key; null for a call that hardly equals another. */
function wayOf(
  { lane, operation, status, error, outcome, shadow, upstream, fired, losses, limitations }: Judged,
  { came }: Found,
): string | null {
  if (shadow !== null || losses.length > MOST_LOSSES || losses.some(({ unknown }) => unknown === true)) return null;
  // Puente's own names have no blanks; other texts are written as JSON, so that no two keys are equal.
  const named = `${lane} ${operation ?? ''} ${status} ${outcome} ${fired.length} ${fired.join(' ')} ${came.join(' ')}`;
  const is_plain = error === null && limitations.length + losses.length + upstream.length === 0;
  const lost = losses.map(({ table, path, why }) => [table, path, why]);
  const calls = upstream.map(({ name, status, code }) => [name, status, code]);
  const way = is_plain ? named : `${named} ${JSON.stringify([error, limitations, lost, calls])}`;
  return way.length > LONGEST_WAY ? null : way;
}

/** What decides the limitations of a call; `limitations` are those that code marked. */
export type JudgedCall = Pick<
  Exchange,
  'lane' | 'operation' | 'status' | 'error' | 'upstream' | 'fired' | 'losses' | 'limitations'
>;

/** The limitations (`limitations.yaml`) that the call met, in the order of the file; none on the legacy lane. */
export function limitationsMet(tables: Pick<Tables, 'operations' | 'limitations'>, call: JudgedCall): string[] {
  if (call.lane !== 'orders') return [];
  const operation = tables.operations.find(({ name }) => name === call.operation);
  if (operation === undefined) return [];
  return tables.limitations
    .filter(({ id, operations, counted }) => {
      if (!Array.isArray(counted) || !operations.includes(operation.name)) return false;
      return counted.some((condition) => holds(condition, call, operation, call.limitations.includes(id)));
    })
    .map(({ id }) => id);
}

/** @param is_marked code has marked the call with this limitation. */
function holds(condition: LimitationCondition, call: JudgedCall, operation: Operation, is_marked: boolean): boolean {
  const { ok, errors, rows, without, losses, upstream, unasked, noted } = condition;
  return (
    (noted === undefined || is_marked) &&
    (ok === undefined || ok === isOf('2xx', call.status)) &&
    (errors === undefined || errors.some((name) => hasError(call, operation, name))) &&
    (rows === undefined || rows.some((row) => call.fired.includes(row))) &&
    (without === undefined || !without.some((row) => call.fired.includes(row))) &&
    (losses === undefined || call.losses.some(({ path }) => losses.includes(path.replaceAll(/\[\d+\]/g, '[]')))) &&
    (upstream === undefined || upstream.every((wanted) => call.upstream.some((note) => wasAnswered(note, wanted)))) &&
    (unasked === undefined || !call.upstream.some(({ name }) => isOneOf(unasked, name)))
  );
}

function hasError({ status, error }: JudgedCall, { family }: Operation, name: string): boolean {
  const entry = legacyError(family, name);
  return entry !== null && entry.status === status && entry.error === error;
}

type Wanted = NonNullable<LimitationCondition['upstream']>[number];

function wasAnswered(note: UpstreamNote, { name, status, codes }: Wanted): boolean {
  if (note.name !== name) return false;
  if (status !== undefined && !isOf(status, note.status)) return false;
  return codes === undefined || (note.code !== null && codes.includes(note.code));
}

/** The type proves that every name in `limitations.yaml` is the name of an upstream call. */
function isOneOf(names: readonly (CallName & UpstreamCall['name'])[], name: string): boolean {
  return names.some((one) => one === name);
}

function isOf(status_class: '2xx' | '4xx', status: number | null): boolean {
  return status !== null && Math.floor(status / 100) === Number(status_class[0]);
}
