/** What one exchange teaches: which source fields it had and whether they got through, what was lost, how the sides differ. */
import type { SourceField } from '../../mapping/fields.ts';
import type { Loss, Operation, Tables } from '../../mapping/tables.ts';
import type { CoverageCell, DifferenceSeen, LossSeen, RecordedExchange } from '../records/evidence.ts';
import type { Exchange } from './exchange.ts';
import { type Judged, limitationsMet } from './limits.ts';
import { redactLosses } from './redact.ts';

/** What comparing the sides has shown; nothing where they were not compared. */
export interface Found {
  differences: DifferenceSeen[];
  /** Of a double read: fields of the answer. */
  cells: CoverageCell[];
  compared: boolean;
  /** What the tables made of the request of a double read. */
  paper?: { fired: readonly string[]; losses: readonly Loss[] };
  /** Fields that the call had, of those whose rows don't prove it by firing (`fieldsThatCame` in `mapping/fields.ts`). */
  came: readonly string[];
}

export const nothingFound: Found = { differences: [], cells: [], compared: false, came: [] };

/** One run of the tables over the request: really, or on paper. */
interface Run {
  fired: readonly string[];
  losses: readonly Loss[];
  would_be: boolean;
  /** A row refused the call: the last one that fired. */
  refused: boolean;
}

/** What a call taught, beside what is its own: when, whose, how long. */
export type Lesson = Pick<RecordedExchange, 'losses' | 'limitations' | 'cells' | 'lost' | 'differences' | 'compared'>;

/** All of a call that decides what it taught. */
export type Taught = Judged & Pick<Exchange, 'outcome' | 'shadow'>;

/** An exchange with what it taught. */
export function recordedOf(tables: Tables, seen: Exchange, found: Found): RecordedExchange {
  return { ...seen, ...lessonOf(tables, seen, found) };
}

/**
 * Cells and losses of a call. Every loss is one cell that is `different`, however many elements of a list lost it; beside
 * those only the field whose row refused the call is: so the ledger adds up to what was executed and not mapped.
 */
export function lessonOf(tables: Tables, seen: Taught, found: Found): Lesson {
  const limitations = limitationsMet(tables, seen);
  const exchange = { ...seen, losses: redactLosses(seen.losses) };
  const operation = tables.operations.find(({ name }) => name === exchange.operation);
  const cells = new Map<string, CoverageCell>();
  const lost = new Map<string, LossSeen>();
  // A call whose token was refused may be anybody's, and shows nothing of the merchant's work.
  if (operation !== undefined && exchange.outcome !== 'auth') {
    const fields = tables.fields(operation, null);
    const came = new Set(found.came);
    for (const run of runsOf(exchange, found)) {
      for (const loss of run.losses) noteLoss(lost, tables, operation, loss, run.would_be);
      for (const field of seenFields(fields, run, lost, came)) mark(cells, operation.name, field, 'equal');
      const refused = refusedField(fields, run, came);
      if (refused !== null) mark(cells, operation.name, refused, 'different');
    }
    // Rows of an answer fire for each sale of Puente's own that a search finds; those of the list of events fire anyway.
    const isSearched = isSearch(operation) && operation.story !== 'list_events';
    const has_found = isSearched && exchange.outcome === 'ok' && exchange.fired.length > 0;
    if (has_found) mark(cells, operation.name, FOUND, 'equal');
    for (const [field, { unknown }] of lost) mark(cells, operation.name, field, 'different', unknown);
  }
  for (const cell of found.cells) mark(cells, cell.operation, cell.field, cell.outcome, cell.unknown);
  const { differences, compared } = found;
  return {
    losses: exchange.losses,
    limitations,
    cells: [...cells.values()],
    lost: [...lost.values()],
    differences,
    compared,
  };
}

function runsOf(exchange: Taught, { paper: read }: Found): Run[] {
  const { shadow, fired, losses } = exchange;
  // A table refuses before anything is sent; afterwards it is the service that does.
  const refused = exchange.lane === 'orders' && exchange.error !== null && exchange.upstream.length === 0;
  const real: Run = { fired, losses, would_be: false, refused };
  if (read !== undefined) return [real, { ...read, would_be: true, refused: false }];
  if (shadow === null) return [real];
  const paper: Run = {
    fired: shadow.fired,
    losses: shadow.losses,
    would_be: true,
    refused: shadow.verdict === 'refused_here',
  };
  return [real, paper];
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

/** As coverage names it: a table of headers names its fields without the part of the request that they stand in. */
export function fieldOfLoss(tables: Tables, operation: Operation | undefined, table: string, path: string): string {
  if (operation === undefined || table === operation.request) return path;
  const of_headers = tables.fields(operation, null).some((one) => one.table === table);
  return of_headers ? `headers.${path}` : path;
}

/** Fields that the call had and that a row has dealt with. */
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
      // What a quiet row has nothing against is as it should be, unless something larger around it was lost.
      return one.quiet && !run.refused && fired.size > 0 && came.has(one.field) && !isInside(one.field, lost);
    })
    .map(({ field }) => field);
}

function isInside(field: string, lost: ReadonlyMap<string, LossSeen>): boolean {
  return [...lost.keys()].some(
    (path) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`),
  );
}

/** Of a row that looks at several fields, the first that the call had. */
function refusedField(fields: readonly SourceField[], run: Run, came: ReadonlySet<string>): string | null {
  if (!run.refused) return null;
  const last = run.fired.at(-1);
  const blamed = fields.filter((one) => one.row === last && one.refuses);
  return (blamed.find(({ proves, field }) => proves || came.has(field)) ?? blamed[0])?.field ?? null;
}

/** Different is stronger: a field may have several rows, and one that fails is enough. */
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

/** The coverage cell of a search that has found a sale of Puente's own. */
export const FOUND = 'answer.found';

/** A search or a list may be empty; only what it found was read. */
export function isSearch({ story }: Operation): boolean {
  return story.startsWith('search_') || story === 'list_events';
}
