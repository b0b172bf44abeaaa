/** Assembles checked documents into the `Tables` that the stories in `proxy` use. */

import type { Family } from '../contract/legacy-errors.ts';
import type { UpstreamCallName } from '../contract/upstream.ts';
import { PuenteError } from '../error.ts';
import { type Applied, type CompiledTable, compileTable, OTHER_SITE, stateFinder } from './compile.ts';
import { describeRows } from './describe.ts';
import { errorFinder, refusal, sourceRefusal } from './errors.ts';
import { factsFinder, fieldFinder } from './fields.ts';
import { compareAnswers } from './match.ts';
import type { Sets } from './own-folder.ts';
import { anyElement, contains, hasValue, matcherOf, type Path, printPath, propertyName } from './path.ts';
import { flat } from './row.ts';
import { type Documents, numberOf, type WrittenOperation, type WrittenSite, type WrittenTable } from './schema.ts';
import type { LoadedTables, MappingContext, Operation, Tables, Translated } from './tables.ts';

/** The tables of all merchants, with those of merchants that have their own. Tables that several sets share are compiled once. */
export function assembleAll({ shipped, common, merchants }: Sets): LoadedTables {
  const compiled: Compiled = new Map();
  const facts = { shipped_revision: shipped.revision, laid: common.laid };
  const sets = new Map<string, LoadedTables>();
  const all: LoadedTables = {
    ...assemble(common.documents, compiled),
    ...facts,
    with_own: [...merchants.keys()],
    of: (id) => sets.get(String(id)) ?? all,
  };
  for (const [merchant, { documents, laid }] of merchants)
    sets.set(merchant, {
      ...assemble(documents, compiled),
      ...facts,
      laid: [...common.laid, ...laid],
      of: all.of,
    });
  return all;
}

/** Compiled tables by their documents. */
type Compiled = Map<WrittenTable, CompiledTable>;

/** One set of tables, without those of merchants. */
export function assemble(documents: Documents, known: Compiled = new Map()): LoadedTables {
  const sites = documents.sites.map((site) => site.id);
  const compiledOnce = (table: WrittenTable): CompiledTable => {
    const compiled = known.get(table) ?? compileTable(table, sites);
    known.set(table, compiled);
    return compiled;
  };
  const compiled = new Map(documents.tables.map((table) => [table.table, compiledOnce(table)]));
  const withRole = (role: string) =>
    needed(compiled, documents.tables.find((table) => table.role === role)?.table ?? role);
  const headersOf = new Map(
    documents.tables
      .filter((table) => table.role === 'headers')
      .map((table) => [table.family, needed(compiled, table.table)]),
  );
  const notice = withRole('notice');
  const payment = withRole('payment');
  const collection = withRole('collection');
  const answer = remembering(translate);
  const operations = documents.operations.map((operation) => operation as Operation); // `check` has proved the upstream's name
  const assembled: LoadedTables = {
    documents,
    revision: documents.revision,
    shipped_revision: documents.revision,
    laid: [],
    with_own: [],
    of: () => assembled,
    operations,
    isProxied(method, path) {
      const match = matcherOf(path);
      return documents.proxied.some((one) => one.method === method && match(one.path) !== null);
    },
    request: (operation, source, context) =>
      translateRequest(needed(compiled, operation.request), headersOf.get(operation.family) ?? null, source, context),
    answer: (operation, source, context) => answer(needed(compiled, operation.answer), source, context),
    notice: (source, context) => translate(notice, source, context),
    payment: (source, context) => translate(payment, source, context),
    collection: (source, context) => translate(collection, source, context),
    fields: fieldFinder(documents),
    ...factsFinder(documents.tables),
    compare: compareAnswers(documents),
    limitations: documents.limitations,
    describe: (fired) => describeRows(documents, fired),
    state: stateFinder(documents.states),
    site: siteFinder(documents.sites),
    error: errorFinder(documents.errors, renamer(documents.operations, compiled)),
  };
  return assembled;
}

function needed(compiled: ReadonlyMap<string, CompiledTable>, name: string | null): CompiledTable {
  const table = compiled.get(name ?? '');
  if (!table)
    throw new PuenteError('bad_tables', `There is no table '${name}' for this; the operation is not translated`);
  return table;
}

/** Headers first, because their results are in the context of the request's own rows. */
function translateRequest(
  table: CompiledTable,
  headers: CompiledTable | null,
  source: unknown,
  context: MappingContext,
): Translated {
  const parsed = table.from.schema.safeParse(source);
  if (!parsed.success) throw sourceRefusal(table.family, parsed.error.issues, source);
  const legacy = parsed.data as { headers?: unknown }; // the part is optional and only passed on
  if (headers === null) return checked(table, table.apply(legacy, context));
  const before = headers.apply(legacy.headers, context);
  const after = table.apply(legacy, { ...context, ...before.target });
  return checked(table, {
    target: after.target,
    fired: [...before.fired, ...after.fired],
    losses: [...before.losses, ...after.losses],
  });
}

function translate(table: CompiledTable, source: unknown, context: MappingContext): Translated {
  return checked(table, table.apply(source ?? {}, context));
}

type Translate = (table: CompiledTable, source: unknown, context: MappingContext) => Translated;

/** Caches answers of frozen contexts: tills poll terminal states, and the tables were a tenth of such a read. */
function remembering(work: Translate): Translate {
  const known = new WeakMap<MappingContext, { table: CompiledTable; source: unknown; translated: Translated }>();
  return (table, source, context) => {
    if (!Object.isFrozen(context)) return work(table, source, context);
    const before = known.get(context);
    if (before?.table === table && before.source === source) return before.translated;
    const translated = work(table, source, context);
    freezeAll(translated.value);
    known.set(context, { table, source, translated });
    return translated;
  };
}

/** Anything but an object counts as frozen. */
function freezeAll(value: unknown): void {
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const part of Object.values(value as object)) freezeAll(part); // only objects are not frozen
}

/** Checks the target against its schema; a refusal names the source field that caused it. */
function checked(table: CompiledTable, applied: Applied): Translated {
  const verdict = table.to.schema.safeParse(applied.target);
  if (verdict.success) return { value: applied.target, fired: applied.fired, losses: applied.losses };
  const path = verdict.error.issues.slice(0, 1).flatMap((issue) => issue.path) as Path; // Puente writes no symbol keys
  const row = table.rows.find((one) => one.to && contains(anyElement(one.to), anyElement(path)));
  if (row?.verb === 'copy') throw refusal('invalid_property', propertyName(row.from), row.id);
  throw refusal('internal', `${table.name}: ${printPath(path)}`, row?.id);
}

/** Renames a property of the orders API to the legacy property that fills it. */
function renamer(operations: readonly WrittenOperation[], compiled: ReadonlyMap<string, CompiledTable>) {
  const names = new Map<string, Map<string, string>>();
  for (const { family, upstream, request } of operations) {
    const key = `${family} ${upstream}`;
    if (request === null || names.has(key)) continue;
    const pairs = flat(needed(compiled, request).rows).flatMap((row): [string, string][] => {
      if (row.to === null || row.verb === 'const') return [];
      const legacy = row.verb === 'context' ? (row.reads[0] ?? row.from) : row.from;
      return [[propertyName(row.to), propertyName(legacy)]];
    });
    names.set(key, new Map(pairs));
  }
  return (family: Family, call: UpstreamCallName, property: string): string | null => {
    const known = names.get(`${family} ${call}`);
    if (known === undefined) return null;
    const [ending, ...more] = [...known].filter(([target]) => target.endsWith(`.${property}`));
    return known.get(property) ?? (ending !== undefined && more.length === 0 ? ending[1] : null);
  };
}

function siteFinder(sites: readonly WrittenSite[]): Tables['site'] {
  const known = new Map(sites.map(({ id, currency, exponent }) => [id, { currency, exponent }]));
  const other = known.get(OTHER_SITE) ?? { currency: 'XXX', exponent: 2 }; // `check` demands the row
  return (site) => known.get(site ?? OTHER_SITE) ?? other;
}

/**
 * The fields of a request whose rows don't prove them by firing.
 * @param request path, query, headers and body; null when it is not stored any more.
 */
export function fieldsThatCame(
  tables: Pick<Tables, 'operations' | 'fields'>,
  operation: string | null,
  request: unknown,
): string[] {
  const known = tables.operations.find(({ name }) => name === operation);
  if (known === undefined) return [];
  const unproved = tables.fields(known, null).filter((one) => !one.proves || one.quiet);
  const there = unproved.filter(({ path }) => hasValue(request, path));
  return [...new Set(there.map(({ field }) => field))];
}

/** Ids of every row of every table, so that a test can find rows that never fired. */
export function rowIds({ documents }: Pick<LoadedTables, 'documents'>): string[] {
  const nested = (table: string, rows: WrittenTable['rows'], parent = ''): string[] =>
    rows.flatMap((row, index) => {
      const number = row.number ?? `${parent}${index + 1}`;
      return [`${table}#${number}`, ...nested(table, row.rows ?? [], `${number}.`)];
    });
  return [
    ...documents.tables.flatMap((table) => nested(table.table, table.rows)),
    ...documents.states.flatMap((table) => table.rows.map((row, index) => `${table.table}#${numberOf(row, index)}`)),
    ...documents.errors.flatMap((table) => [
      ...Object.entries(table.calls).flatMap(([call, rows]) =>
        rows.map((row, index) => `${table.table}#${call}.${numberOf(row, index)}`),
      ),
      ...table.any.map((row, index) => `${table.table}#any.${numberOf(row, index)}`),
    ]),
  ];
}
