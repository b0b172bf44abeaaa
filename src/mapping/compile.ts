/** Compiles the rows of a table into closures, once, so that applying them costs microseconds. */
import type { Family } from '../contract/legacy-errors.ts';
import { PuenteError } from '../error.ts';
import { type Contract, contractOf, looseObjectsOf } from './contracts.ts';
import { converters } from './converters.ts';
import { refusal } from './errors.ts';
import { anyElement, type Path, printPath, propertyName, reader, writer } from './path.ts';
import { type Policy, type Row, rowsOf } from './row.ts';
import { numberOf, type WrittenStates, type WrittenTable } from './schema.ts';
import { type Loss, type MappingContext, type OrderState, OTHERS, type StateRow, type Tables } from './tables.ts';
import type { Converted, Converter } from './values.ts';

export interface Applied {
  target: Record<string, unknown>;
  fired: string[];
  losses: Loss[];
}

export interface CompiledTable {
  name: string;
  family: Family;
  from: Contract;
  to: Contract;
  rows: readonly Row[];
  /** @throws PuenteError refused, when a row refuses the source. */
  apply(source: unknown, context: MappingContext): Applied;
}

/** Unknown fields of one call that one table records by name: a till has tens. All further ones are one loss. */
const MOST_UNKNOWN = 50;
/** Elements of a list whose loss of one field is recorded; further elements lose the same field. */
const MOST_ELEMENTS = 50;

/** The site of a merchant whose site is not known, or not in the tables. */
export const OTHER_SITE = 'other';

/** @param sites ids of `sites.yaml`; the table gets one program for each of them. */
export function compileTable(table: WrittenTable, sites: readonly string[]): CompiledTable {
  const from = namedContract(table.from);
  const to = namedContract(table.to);
  const rows = rowsOf(table.table, table.rows);
  const programs = new Map<unknown, Step[]>(sites.map((site) => [site, program(table, rows, from, site)]));
  const parts = [...to.shape.properties].filter(
    ([key, shape]) => shape.kind === 'object' && to.shape.required.has(key),
  );
  const names = parts.map(([key]) => key);
  return {
    name: table.table,
    family: table.family,
    from,
    to,
    rows,
    apply(source, context) {
      const run: Run = { source, context, target: {}, fired: [], losses: [], element: '', listed: new Map() };
      for (const name of names) run.target[name] = {};
      const steps = programs.get(context.site) ?? programs.get(OTHER_SITE) ?? [];
      for (const step of steps) step(run);
      return { target: run.target, fired: run.fired, losses: run.losses };
    },
  };
}

interface Run extends Applied {
  source: unknown;
  context: MappingContext;
  /** Place inside an `each`, such as `data.terminals[2].`; empty outside. */
  element: string;
  /** How often a loss was recorded: of each unknown field by its name, and of each row in a list. */
  listed: Map<string, number>;
}

type Step = (run: Run) => void;

function namedContract(name: string): Contract {
  const contract = contractOf(name);
  if (!contract) throw new PuenteError('bad_tables', `No contract schema is called '${name}'`);
  return contract;
}

function program(table: WrittenTable, rows: readonly Row[], from: Contract, site: string): Step[] {
  return [...unknownKeySteps(table, from, site), ...rowSteps(table.table, rows, site)];
}

function rowSteps(table: string, rows: readonly Row[], site: string): Step[] {
  return rows.flatMap((row) => {
    if (!row.sites || row.sites.includes(site)) return [rowStep(table, row, site)];
    return row.elsewhere ? [dropStep(table, row, row.elsewhere)] : [];
  });
}

function rowStep(table: string, row: Row, site: string): Step {
  if (row.verb === 'drop') return row.policy ? dropStep(table, row, row.policy) : convertStep(table, row);
  if (row.verb === 'each') return eachStep(table, row, site);
  if (row.verb === 'const') return constStep(row);
  return convertStep(table, row);
}

function constStep(row: Row): Step {
  const write = writer(row.to as Path); // the grammar demands it of this verb
  return (run) => {
    fire(run, row.id);
    write(run.target, row.constant);
  };
}

/** Copy and context rows, and drops that a converter decides. */
function convertStep(table: string, row: Row): Step {
  const read = reader(row.from);
  const fromContext = row.verb === 'context';
  const write = row.to ? writer(row.to) : null;
  const reads = row.reads.map(reader);
  const path = printPath(row.from);
  const convert = row.converter === null ? null : namedConverter(row.converter).convert;
  const { otherwise } = row;
  return (run) => {
    const value = read(fromContext ? run.context : run.source);
    // A converter that reads source fields runs even without the context value.
    if ((value === undefined || value === null) && !anyPresent(fromContext ? reads : NO_READS, run.source)) {
      if (!otherwise || !write) return;
      fire(run, row.id);
      write(run.target, otherwise.value);
      return;
    }
    if (!convert) {
      if (value === undefined || value === null) return;
      fire(run, row.id);
      write?.(run.target, value);
      return;
    }
    const given = { reads: reads.length === 0 ? NO_VALUES : reads.map((one) => one(run.source)), context: run.context };
    const converted = convert(value, given);
    if (converted.value === undefined && !converted.loss && !converted.refusal) return;
    fire(run, row.id);
    reportLoss(run, table, row.id, path, converted);
    if (converted.value !== undefined) write?.(run.target, converted.value);
  };
}

const NO_READS: readonly ((from: unknown) => unknown)[] = [];
const NO_VALUES: readonly unknown[] = [];

function anyPresent(reads: readonly ((from: unknown) => unknown)[], source: unknown): boolean {
  for (const read of reads) {
    const value = read(source);
    if (value !== undefined && value !== null) return true;
  }
  return false;
}

function reportLoss(run: Run, table: string, row: string, path: string, converted: Converted): void {
  if (converted.refusal) {
    const { error, detail, limitation } = converted.refusal;
    throw refusal(error, detail, row, limitation);
  }
  if (converted.loss) lose(run, row, { table, path: run.element + path, why: converted.loss });
}

function lose(run: Run, row: string, loss: Loss): void {
  if (isListedAgain(run, row)) run.losses.push(loss);
}

function isListedAgain({ listed }: Run, name: string): boolean {
  const times = listed.get(name) ?? 0;
  if (times >= MOST_ELEMENTS) return false;
  listed.set(name, times + 1);
  return true;
}

/** A row inside an `each` fires for many elements and is listed once. */
function fire(run: Run, id: string): void {
  if (!run.fired.includes(id)) run.fired.push(id);
}

function namedConverter(name: string): Converter {
  const converter = Object.hasOwn(converters, name) ? converters[name] : undefined;
  if (!converter) throw new PuenteError('bad_tables', `No converter is called '${name}'`);
  return converter;
}

function dropStep(table: string, row: Row, policy: Policy): Step {
  const read = reader(row.from);
  const path = printPath(row.from);
  const detail = String(row.from.at(-1));
  return (run) => {
    const value = read(run.source);
    if (value === undefined || value === null) return;
    fire(run, row.id);
    if (policy === 'refuse') throw refusal('additional_property', detail, row.id);
    if (policy === 'note') lose(run, row.id, { table, path: run.element + path, why: row.why });
  };
}

function eachStep(table: string, row: Row, site: string): Step {
  const read = reader(row.from);
  const write = writer(row.to as Path); // the grammar demands it of this verb
  const steps = rowSteps(table, row.rows, site);
  const path = printPath(row.from);
  // The converter of an each gets the whole list, after its elements are made.
  const convert = row.converter === null ? null : namedConverter(row.converter).convert;
  return (run) => {
    const elements = read(run.source);
    if (!Array.isArray(elements)) return;
    fire(run, row.id);
    const made = elements.map((source, index) => {
      const inner: Run = { ...run, source, target: {}, element: `${run.element}${path}[${index}].` };
      for (const step of steps) step(inner);
      return inner.target;
    });
    const converted = convert ? convert(made, { reads: NO_VALUES, context: run.context }) : { value: made };
    reportLoss(run, table, row.id, path, converted);
    if (converted.value !== undefined) write(run.target, converted.value);
  };
}

function unknownKeySteps(table: WrittenTable, from: Contract, site: string): Step[] {
  if (table.unknown === undefined) return [];
  const policy =
    typeof table.unknown === 'string' ? table.unknown : (table.unknown[site] ?? table.unknown.elsewhere ?? 'note');
  if (policy === 'silent') return [];
  return looseObjectsOf(from.shape).map(({ path, known }) => unknownKeyStep(table.table, path, new Set(known), policy));
}

function unknownKeyStep(table: string, path: Path, known: ReadonlySet<string>, policy: 'note' | 'refuse'): Step {
  const look = visitor(path, (run, found, at) => {
    for (const key of Object.keys(found)) {
      if (known.has(key)) continue;
      if (policy === 'refuse') throw refusal('additional_property', key);
      // All further fields are counted already.
      if (run.listed.has(OTHERS)) return;
      const where = [...at, key];
      const name = printPath(anyElement(where));
      if (run.listed.size < MOST_UNKNOWN || run.listed.has(name)) {
        const why = `orders have no counterpart of ${propertyName(where)}`;
        if (isListedAgain(run, name)) run.losses.push({ table, path: printPath(where), why, unknown: true });
      } else {
        run.listed.set(OTHERS, 1);
        run.losses.push({ table, path: OTHERS, why: 'orders have no counterpart of more fields', unknown: true });
      }
    }
  });
  return (run) => look(run, run.source, []);
}

type Visit = (run: Run, source: unknown, at: Path) => void;

/** Visits every object at a path of a shape (`[]` is any element), with its own path. */
function visitor(path: Path, visit: (run: Run, found: object, at: Path) => void): Visit {
  const every = path.indexOf('[]');
  const own = every === -1 ? path : path.slice(0, every);
  const read = reader(own);
  if (every === -1) {
    return (run, source, at) => {
      const found = read(source);
      if (typeof found === 'object' && found !== null) visit(run, found, [...at, ...own]);
    };
  }
  const inner = visitor(path.slice(every + 1), visit);
  return (run, source, at) => {
    const elements = read(source);
    if (!Array.isArray(elements)) return;
    for (const [index, element] of elements.entries()) inner(run, element, [...at, ...own, index]);
  };
}

// The states tables as a function: from an order's status and the setting for declined payments to the legacy state.

/** The row for a status without a row; it must never look final (`test/faults/README.md` F25). */
export const UNKNOWN_STATUS = 'unknown';

type Declined = Parameters<Tables['state']>[2];
type Found = StateRow & { known: boolean; detail: string | undefined };
type ByStatus = ReadonlyMap<string, Record<Declined, Found>[]>;

/** Never fails: an unknown status gives the row `unknown`. */
export function stateFinder(tables: readonly WrittenStates[]): Tables['state'] {
  const byFamily = new Map(tables.map((table) => [table.family, rowsByStatus(table)]));
  return (family, order, declined) => {
    const rows = byFamily.get(family) as ByStatus; // `check` demands a table for each family of links
    const known = rows.get(order.status) ?? (rows.get(UNKNOWN_STATUS) as Record<Declined, Found>[]); // and this row
    return known.find((row) => fits(row[declined], order))?.[declined] as Found; // the last row of a status names no detail
  };
}

function fits(row: Found, order: OrderState): boolean {
  return row.detail === undefined || row.detail === order.status_detail;
}

function rowsByStatus({ table, rows }: WrittenStates): ByStatus {
  const found = new Map<string, Record<Declined, Found>[]>();
  rows.forEach((row, index) => {
    const under = (declined: Declined): Found => ({
      shows: typeof row.shows === 'string' ? row.shows : row.shows[declined],
      rank: row.rank,
      final: row.final,
      held: row.settled !== undefined,
      notices: row.notices,
      row: `${table}#${numberOf(row, index)}`,
      known: row.status !== UNKNOWN_STATUS,
      detail: row.detail,
    });
    const same = found.get(row.status) ?? [];
    found.set(row.status, [...same, { error: under('error'), finished: under('finished') }]);
  });
  return found;
}
