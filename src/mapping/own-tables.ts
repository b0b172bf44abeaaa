/** Tables of an operator's own: rows laid over the shipped ones, each by its key, never silently instead of them. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Failure, shown } from './check-rows.ts';
import type { WrittenLimitation } from './limitations.ts';
import { whatFits } from './near.ts';
import {
  isReplacedBy,
  isSameInSubstance,
  keepsAnswer,
  keepsMeaning,
  keepsSale,
  keepsState,
  keepsTarget,
  type LaidFile,
  left,
  MADE,
} from './own-kept.ts';
import { why, writtenRow } from './row.ts';
import {
  type Documents,
  errorsTable,
  type Filed,
  fieldTable,
  type Numbered,
  statesTable,
  type WrittenErrors,
  type WrittenStates,
  type WrittenTable,
} from './schema.ts';
import type { Laid } from './tables.ts';

/** Whose rows: of the folder, for all merchants, or of one merchant. Row ids begin with it: `point.states#own.1`. */
type Layer = 'own' | 'merchant';

/** A file of the folder, read by its grammar. */
export interface OwnFile {
  /** The path as failures name it. */
  file: string;
  /** The shipped file below it. */
  shipped: string;
  /** Null: for all merchants. */
  merchant: string | null;
  written: OwnTable;
}

type WrittenRow = WrittenTable['rows'][number];
/** A row with its number, by which it is named. */
type WithNumber<Row> = Row & { number: string };
type FieldRow = WithNumber<WrittenRow>;
type StateRow = WrittenStates['rows'][number];
type ErrorRow = WrittenErrors['any'][number];

/** Takes the shipped row away that writes this target. */
const removal = z.strictObject({
  remove: z.string(),
  /** Only there; missing: everywhere. */
  sites: z.array(z.string()).min(1).optional(),
  why,
});
type Removal = z.infer<typeof removal>;

/** A union would hide which of the two a row with an error was meant to be. */
const ownRow = z
  .unknown()
  .transform((row, context): WrittenRow | Removal => {
    const is_removal = typeof row === 'object' && row !== null && Object.hasOwn(row, 'remove');
    const parsed = is_removal ? removal.safeParse(row) : writtenRow.safeParse(row);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) context.issues.push({ ...issue, input: row } as z.core.$ZodRawIssue); // an issue with its input is a raw one
    return z.NEVER;
  })
  .meta({ grammar: writtenRow });

const head = { table: z.string(), family: z.string(), role: z.string(), source: z.string() };
const heads = z.object(head).partial().shape;

/** As the shipped files; whatever the head repeats must be as it is there. */
const ownFields = z.strictObject({
  ...heads,
  from: z.string().optional(),
  to: z.string().optional(),
  unknown: fieldTable.shape.unknown,
  rows: z.array(ownRow).default([]),
});
const ownStates = z.strictObject({
  ...heads,
  rows: statesTable.shape.rows.default([]),
  never: statesTable.shape.never.default([]),
});
const ownErrors = z.strictObject({
  ...heads,
  calls: errorsTable.shape.calls.default({}),
  any: errorsTable.shape.any.or(z.tuple([])).default([]),
});
type OwnTable = z.infer<typeof ownFields> | z.infer<typeof ownStates> | z.infer<typeof ownErrors>;

/** The grammar of a file laid over a shipped one; null where nothing may be laid. */
export function ownGrammar(documents: Documents, shipped: string): z.ZodType<OwnTable> | null {
  const has = ({ file }: { file: string }): boolean => file === shipped;
  if (documents.tables.some(has)) return ownFields;
  if (documents.states.some(has)) return ownStates;
  return documents.errors.some(has) ? ownErrors : null;
}

interface Laying extends LaidFile {
  layer: Layer;
  /** Request tables whose calls are translated again for each repeat with the same key (`make-refund.ts`). */
  repeated: readonly (string | null)[];
  /** Tables of answers and notices, and the converters that their shipped rows use. */
  answers: { tables: readonly string[]; converters: readonly string[] };
  laid: Laid[];
  /** Ids of rows that lose the same field, or do the same: the one below, and that of one's own. */
  alike: [below: string, own: string][];
}

/**
 * Lays files over tables. Rows keep their numbers, so that ids in stored exchanges and in `limitations.yaml` keep their
 * meaning; rows of one's own have ids of their own.
 * @returns new documents, with the file of each changed table replaced by the one laid over it.
 */
export function layOver(
  documents: Documents,
  files: readonly OwnFile[],
  layer: Layer,
): { documents: Documents; laid: Laid[]; failures: Failure[] } {
  const laid: Laid[] = [];
  const failures: Failure[] = [];
  const alike: Laying['alike'] = [];
  const sites = documents.sites.map(({ id }) => id);
  const repeated = documents.operations.filter(({ upstream }) => upstream === 'refund').map(({ request }) => request);
  const requests = documents.operations.map(({ request }) => request);
  const back = documents.tables.filter(({ table, role }) => role !== 'headers' && !requests.includes(table));
  const convertersOf = (rows: readonly WrittenRow[]): string[] =>
    rows.flatMap((row) => [row.with ?? [], convertersOf(row.rows ?? [])].flat());
  const answers = {
    tables: back.map(({ table }) => table),
    converters: [...new Set(back.flatMap(({ rows }) => convertersOf(rows)))],
  };
  const layOne = <Table extends Filed<WrittenTable | WrittenStates | WrittenErrors>>(
    table: Table,
    lay: (table: Table, own: OwnFile, laying: Laying) => Table,
  ): Table => {
    const own = files.find(({ shipped }) => shipped === shippedOf(table));
    if (own === undefined) return table;
    const { file } = own;
    failures.push(...otherHead(table, own));
    return {
      ...lay(table, own, { layer, sites, repeated, answers, file, laid, alike, failures }),
      file,
      shipped: shippedOf(table),
    };
  };
  const overlaid = {
    tables: documents.tables.map((table) => layOne(table, layFields)),
    states: documents.states.map((table) => layOne(table, layStates)),
    errors: documents.errors.map((table) => layOne(table, layErrors)),
  };
  const limitations = documents.limitations.map((one) => countingToo(one, alike));
  return { documents: { ...documents, ...overlaid, limitations }, laid, failures };
}

/** A till meets a limitation by a row of one's own as by the row below that does the same. */
function countingToo(limitation: WrittenLimitation, alike: Laying['alike']): WrittenLimitation {
  const { counted } = limitation;
  if (!Array.isArray(counted) || alike.length === 0) return limitation;
  const also = (rows: string[] | undefined) =>
    rows && [...new Set([...rows, ...alike.filter(([below]) => rows.includes(below)).map(([, own]) => own)])];
  const extended = counted.map((one) => ({ ...one, rows: also(one.rows), without: also(one.without) }));
  return { ...limitation, counted: extended };
}

function shippedOf({ file, shipped }: { file: string; shipped?: string }): string {
  return shipped ?? file;
}

function otherHead(table: object, { file, written }: OwnFile): Failure[] {
  const shipped = table as Record<string, unknown>; // only compared
  return Object.entries(written)
    .filter(([key]) => ['table', 'family', 'role', 'from', 'to'].includes(key))
    .filter(([key, value]) => value !== undefined && value !== shipped[key])
    .map(([key]) => ({
      file,
      row: null,
      key,
      message: `${key}: the shipped file of this name has ${shipped[key] ?? 'none'}; leave it out, or give the same`,
    }));
}

// Rows of fields. A row that writes replaces what wrote its target, and a shipped drop of its source; a drop replaces
// what took its source. A row with sites does so at these sites.

function layFields(table: Filed<WrittenTable>, { written }: OwnFile, laying: Laying): Filed<WrittenTable> {
  const own = written as z.infer<typeof ownFields>; // `ownGrammar` chose it by the shipped table
  let rows = numbered<WrittenRow>(table.rows);
  const before = rows;
  own.rows.forEach((row, index) => {
    const number = `${laying.layer}.${index + 1}`;
    if (laying.repeated.includes(table.table)) {
      const message = `refunds are repeated with the same key and must then be the same, byte for byte, so no row can be laid over ${table.table}: leave the file out`;
      laying.failures.push({ file: laying.file, row: number, message });
    }
    const is_answer = laying.answers.tables.includes(table.table);
    if (is_answer && !('remove' in row)) keepsAnswer(row, number, laying.answers.converters, laying);
    if ('remove' in row) rows = without(table, rows, row, number, laying);
    else if (!before.some((one) => isSame(one, row))) {
      keepsSale(table, before, { ...row, number }, laying);
      rows = withRow(table, rows, { ...row, number }, laying);
    }
  });
  const unknown = own.unknown ?? table.unknown;
  if (JSON.stringify(own.unknown ?? '').includes('refuse') && laying.answers.tables.includes(table.table))
    laying.failures.push({ file: laying.file, row: null, key: 'unknown', message: `unknown: ${MADE}` });
  if (!isDeepStrictEqual(unknown, table.unknown)) {
    const why = `Of fields without a row: ${JSON.stringify(table.unknown ?? 'none')} → ${JSON.stringify(unknown)}.`;
    const replaces = table.unknown === undefined ? [] : [`${table.table}#unknown`];
    laying.laid.push({ row: `${table.table}#${laying.layer}.unknown`, replaces, removes: false, why });
  }
  return { ...table, rows, ...(unknown === undefined ? {} : { unknown }) };
}

function withRow(table: Filed<WrittenTable>, rows: FieldRow[], row: FieldRow, laying: Laying): FieldRow[] {
  const isHit = (one: FieldRow): boolean =>
    !isOf(laying.layer, one) && isReplacedBy(one, row) && left(one, row.sites, laying.sites).replaced.length > 0;
  const at = rows.findIndex(isHit);
  const isAlike = (one: FieldRow): boolean =>
    (one.drop !== undefined && row.drop !== undefined) || isSameInSubstance(one, row, table.role);
  for (const { number } of rows.filter((one) => isHit(one) && isAlike(one)))
    laying.alike.push([`${table.table}#${number}`, `${table.table}#${row.number}`]);
  const replaces: string[] = [];
  const kept = rows.flatMap((one) => (isHit(one) ? narrowed(table, one, row, laying, replaces) : [one]));
  laying.laid.push({ row: `${table.table}#${row.number}`, replaces, removes: false, why: row.why });
  // All rows before the first one that is hit stay where they are.
  return at === -1 ? [...kept, row] : kept.toSpliced(at, 0, row);
}

function without(
  table: Filed<WrittenTable>,
  rows: FieldRow[],
  row: Removal,
  number: string,
  laying: Laying,
): FieldRow[] {
  const replaces: string[] = [];
  keepsTarget(table, rows, { ...row, number }, laying);
  const kept = rows.flatMap((one) =>
    one.to === row.remove ? narrowed(table, one, { ...row, number }, laying, replaces) : [one],
  );
  if (replaces.length === 0) {
    const targets = [...new Set(rows.flatMap(({ to }) => to ?? []))];
    const message = `no row of ${table.table} writes ${row.remove}, so nothing is removed${whatFits(row.remove, targets)}`;
    laying.failures.push({ file: laying.file, row: number, key: 'remove', message });
  }
  laying.laid.push({ row: `${table.table}#${number}`, replaces, removes: true, why: row.why });
  return kept;
}

/** The shipped row at the sites that are left to it; none without such. */
function narrowed(
  { table }: WrittenTable,
  one: FieldRow,
  by: Pick<FieldRow, 'sites' | 'number'>,
  laying: Laying,
  replaces: string[],
): FieldRow[] {
  const { replaced, kept } = left(one, by.sites, laying.sites);
  if (replaced.length === 0) return [one];
  replaces.push(`${table}#${one.number}${kept.length === 0 ? '' : ` at ${replaced.join(', ')}`}`);
  if (kept.length === 0) return [];
  if (one.elsewhere === undefined) return [{ ...one, sites: kept }];
  const message = `row ${one.number} of ${table} says what happens elsewhere, so it can only be replaced at all sites: leave out sites`;
  laying.failures.push({ file: laying.file, row: by.number, key: 'sites', message });
  return [one];
}

// Rows of states: one's own replaces the row of the same status and detail, or stands before those of its status.

function layStates(table: Filed<WrittenStates>, { written }: OwnFile, laying: Laying): Filed<WrittenStates> {
  const own = written as z.infer<typeof ownStates>; // `ownGrammar` chose it by the shipped table
  let rows = numbered<StateRow>(table.rows);
  const before = rows;
  own.rows.forEach((row, index) => {
    const number = `${laying.layer}.${index + 1}`;
    if (before.some((one) => isSame(one, row))) return;
    const same = rows.findIndex((one) => one.status === row.status && one.detail === row.detail);
    const first = rows.findIndex((one) => one.status === row.status);
    const shipped = rows[same] ?? rows.findLast((one) => one.status === row.status);
    if (shipped !== undefined) keepsState(table, shipped, { ...row, number }, laying);
    const replaces = same === -1 ? [] : [`${table.table}#${rows[same]?.number}`];
    const at = same !== -1 ? same : first === -1 ? rows.length : first;
    rows = rows.toSpliced(at, same === -1 ? 0 : 1, { ...row, number });
    laying.laid.push({ row: `${table.table}#${number}`, replaces, removes: false, why: row.why });
  });
  const named = own.never.map(({ shows }) => shows);
  const produced = rows.filter((row) => isOf(laying.layer, row)).flatMap(shown);
  // A shipped sentence on what is never shown is not true any more once a row shows it.
  const never = table.never.filter(({ shows }) => !named.includes(shows) && !produced.includes(shows));
  return { ...table, rows, never: [...never, ...own.never] };
}

// Rows of errors: one's own rows of a call, status and code replace all shipped ones of the same three.

function layErrors(table: Filed<WrittenErrors>, { written }: OwnFile, laying: Laying): Filed<WrittenErrors> {
  const own = written as z.infer<typeof ownErrors>; // `ownGrammar` chose it by the shipped table
  const calls = Object.fromEntries(
    Object.entries({ ...table.calls, ...own.calls }).map(([call]) => {
      return [call, layErrorRows(table, call, table.calls[call] ?? [], own.calls[call] ?? [], laying)];
    }),
  );
  return { ...table, calls, any: layErrorRows(table, 'any', table.any, own.any, laying) };
}

function layErrorRows(
  table: WrittenErrors,
  call: string,
  shipped: readonly ErrorRow[],
  own: readonly ErrorRow[],
  laying: Laying,
): ErrorRow[] {
  const below = numbered<ErrorRow>(shipped);
  let rows = below;
  const fresh = own.map((row, index) => ({ ...row, number: `${laying.layer}.${index + 1}` }));
  const groups = Map.groupBy(fresh, keyOfError);
  for (const [key, group] of groups) {
    const hit = rows.filter((one) => keyOfError(one) === key);
    if (hit.length === group.length && hit.every((one, index) => isSame(one, group[index]))) continue;
    for (const row of group)
      keepsMeaning(table, call, hit.length > 0 ? hit : below.filter((one) => meets(one, row)), row, laying);
    const at = Math.max(
      0,
      rows.findIndex((one) => keyOfError(one) === key),
    );
    rows = rows.filter((one) => !hit.includes(one)).toSpliced(at, 0, ...group);
    const replaces = hit.map(({ number }) => `${table.table}#${call}.${number}`);
    for (const { number, why } of group)
      laying.laid.push({ row: `${table.table}#${call}.${number}`, replaces, removes: false, why });
  }
  return rows;
}

/** Both rows are for some status of upstream. */
function meets({ status: one }: ErrorRow, { status: other }: ErrorRow): boolean {
  const classOf = (status: ErrorRow['status']): string => `${String(status ?? '').charAt(0)}xx`;
  return (
    one === other || (classOf(one) === classOf(other) && [one, other].some((status) => typeof status === 'string'))
  );
}

function keyOfError({ status, code }: ErrorRow): string {
  return JSON.stringify([status, code]);
}

// Numbers, by which a row is named whatever stands before it.

function numbered<Row extends Numbered>(rows: readonly Row[]): WithNumber<Row>[] {
  return rows.map((row, index) => ({ ...row, number: row.number ?? String(index + 1) }));
}

function isOf(layer: Layer, { number }: Numbered): boolean {
  return number?.startsWith(`${layer}.`) === true;
}

/** A copied row changes nothing, and keeps the shipped id. */
function isSame(one: object, other: object | undefined): boolean {
  return isDeepStrictEqual({ ...one, number: undefined }, { ...other, number: undefined });
}
